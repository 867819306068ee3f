"""Help pages from `resources/help`, on F1."""
