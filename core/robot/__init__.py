"""Robots: the load on each joint from the motion of the others, so that each is identified as a servo on the bench."""
