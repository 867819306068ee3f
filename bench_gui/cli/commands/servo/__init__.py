"""Commands about servos, recording and this installation."""
