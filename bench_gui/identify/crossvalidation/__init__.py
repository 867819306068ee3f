"""Cross-validation: the models compared on conditions they were not fitted to."""
