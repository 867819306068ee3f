"""Arms of two joints: their links and motion, measured and simulated, and the friction of both joints."""

from core.terms import FRICTION_MODELS, RICHEST

DEFAULT_MODELS = (FRICTION_MODELS[0], "m4", RICHEST)
"""Friction models that are compared where none are named: the simplest, the richest and one between."""
