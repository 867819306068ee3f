"""Placement by hand: rests, the measurement and the virtual hand."""
