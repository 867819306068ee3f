"""Evidence for the identified values: intervals, profiles, bootstrap, residuals."""
