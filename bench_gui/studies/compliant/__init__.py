"""Compliant actuators (seed 003): springs' curves and a joint's motion."""
