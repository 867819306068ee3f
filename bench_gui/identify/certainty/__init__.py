"""Certainty of each value: profiles and a bootstrap."""
