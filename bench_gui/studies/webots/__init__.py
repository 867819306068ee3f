"""The Servo node of Webots (seed 002)."""
