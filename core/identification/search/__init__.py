"""Search for a model's values: objective, start, CMA-ES, descents, and its record."""
