"""Comparing: measured and simulated motion of any runs and models, and their errors."""
