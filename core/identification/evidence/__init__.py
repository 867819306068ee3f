"""How far the runs determine what was found: intervals, profiles, bootstrap, residuals."""
