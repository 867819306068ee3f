"""Evidence for the values that were found: intervals, profiles, bootstrap, residuals."""
