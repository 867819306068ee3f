"""The bench that carries the servo: load, gains, zero and saved benches."""
