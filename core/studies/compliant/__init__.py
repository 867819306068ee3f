"""Compliant actuators of seed 003: springs, motors, arms, their experiments and iterative learning control."""
