"""Runs of an identification: their conditions, and how they are divided."""
