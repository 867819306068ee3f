"""Compliant actuators (seed 003): curves of their springs and motion of a joint."""
