"""Servos: parameters, friction, actuator, model, catalogue, and the bench on which one is mounted."""
