"""Comparison of friction models on an arm of two servos (seed 004, section VI-B)."""
