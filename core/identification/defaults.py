"""What is asked of an evaluation unless a person says otherwise; importing it loads nothing else."""

CONDITIONS = ("mass", "length", "kp", "trajectory")
"""Held out by a cross-validation, one value after the other."""

COMMAND_PATHS = {"both": (False, True), "on": (True,), "off": (False,)}
"""Choice of a cross-validation to whether its variants have a command path."""

DRAWS = 20
"""Of a bootstrap over runs."""

PROFILED = "flagged"
"""Parameters whose profile is computed: those whose linearised interval is in doubt."""
