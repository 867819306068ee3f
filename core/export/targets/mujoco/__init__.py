"""MuJoCo targets: its own actuators, and friction at run time by a Python program or an engine plugin."""
