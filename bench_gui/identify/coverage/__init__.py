"""What the chosen runs can tell, and whether their headers are true, before a fit."""
