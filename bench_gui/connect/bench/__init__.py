"""The bench the servo hangs on: load, gains, zero, and benches by name."""
