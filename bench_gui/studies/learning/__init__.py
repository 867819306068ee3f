"""Iterative learning control of a soft arm (seed 003, section 4.3)."""
