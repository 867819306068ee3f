"""Help pages from `resources/help`, opened with F1."""
