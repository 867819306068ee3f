"""Choice between models: held-out errors, their comparison, and the recommendation in words."""
