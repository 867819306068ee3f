"""Colours of stiction's curves, on the screen and on paper: each has that of a friction model."""

from __future__ import annotations

LAW_MODELS = {"stribeck": "m2", "rational": "m6", "coulomb": "m1"}
"""Published law → friction model."""
FRICTION_COLOURS = {"elastoplastic": "m2", "sign": "m1", "tanh": "m4", "Karnopp": "m6"}
"""Friction of a joint, by its name → friction model."""
