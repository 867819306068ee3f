"""Plots that every task shares."""
