"""Webots targets: a controller in torque mode, and the format of its worlds."""
