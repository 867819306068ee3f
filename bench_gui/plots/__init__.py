"""Plots shared by all tasks."""
