"""Webots: the controller in torque mode, and the Servo node of versions before 7."""
