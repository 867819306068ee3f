"""Placing by hand without the window: rests, the measurement, the virtual hand."""
