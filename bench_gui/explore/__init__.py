"""Exploring: systems of the other papers that need no recordings, each simulated as a person turns its knobs."""
