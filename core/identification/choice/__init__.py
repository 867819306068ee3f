"""Which model to use: held-out errors, their comparison, and the choice in words."""
