"""Arms with two joints: links, measured and simulated motion, and the friction of both joints."""

from core.servo.terms import FRICTION_MODELS, RICHEST

DEFAULT_MODELS = (FRICTION_MODELS[0], "m4", RICHEST)
"""Friction models compared by default: the simplest, the richest and one in between."""
