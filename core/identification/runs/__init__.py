"""The runs an identification is made of: their conditions, and how they are divided."""
