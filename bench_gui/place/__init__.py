"""Placing by hand: the servo holds a torque, a person finds the angles between which the pendulum rests."""
