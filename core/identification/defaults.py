"""Defaults shared by command line and window; importing them loads nothing else."""

DEFAULT_RULE = "25%"
"""Share of the runs that is held out to score a model, see `split_recordings`."""

CONDITIONS = ("mass", "length", "kp", "trajectory")
"""Conditions that a cross-validation holds out, one value after the other."""

COMMAND_PATHS = {"both": (False, True), "on": (True,), "off": (False,)}
"""Command path of a cross-validation's variants, by the name of the choice."""

DRAWS = 20
"""Number of bootstrap draws over runs."""

PROFILED = "flagged"
"""Parameters to profile by default: those whose linearised interval is in doubt."""

SEARCH_SHARE = 0.1
"""Share of the fit's mean absolute error that the time step may cost."""
