"""Defaults that command line and window share; importing them loads nothing else."""

DEFAULT_RULE = "25%"
"""Share of the runs that is held out to judge a model, see `split_recordings`."""

CONDITIONS = ("mass", "length", "kp", "trajectory")
"""Held out by a cross-validation, one value after the other."""

COMMAND_PATHS = {"both": (False, True), "on": (True,), "off": (False,)}
"""Choice of a cross-validation to whether its variants have a command path."""

DRAWS = 20
"""Draws of a bootstrap over runs."""

PROFILED = "flagged"
"""Parameters whose profile is computed: those whose linearised interval is in doubt."""
