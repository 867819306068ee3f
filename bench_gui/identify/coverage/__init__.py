"""Check of the chosen runs before a fit: what they determine, and whether their headers are correct."""
