"""MuJoCo: its own actuators, the friction at run time as a program and as a plugin."""
