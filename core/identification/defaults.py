"""Defaults of cross-validation and certainty, for command line and window; importing them loads nothing else."""

CONDITIONS = ("mass", "length", "kp", "trajectory")
"""Held out by a cross-validation, one value after the other."""

COMMAND_PATHS = {"both": (False, True), "on": (True,), "off": (False,)}
"""Choice of a cross-validation to whether its variants have a command path."""

DRAWS = 20
"""Draws of a bootstrap over runs."""

PROFILED = "flagged"
"""Parameters whose profile is computed: those whose linearised interval is in doubt."""
