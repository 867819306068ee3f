"""Export target that writes a Servo node of Webots, fitted to a model."""
