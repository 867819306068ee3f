"""Place page: the servo holds a torque, the user finds the angles between which the pendulum rests."""
