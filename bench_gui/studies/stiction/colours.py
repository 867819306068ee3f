"""Colours of the stiction curves on the screen and on paper, taken from the friction models."""

from __future__ import annotations

LAW_MODELS = {"stribeck": "m2", "rational": "m6", "coulomb": "m1"}
"""Friction model whose colour each published law uses."""
FRICTION_COLOURS = {"elastoplastic": "m2", "sign": "m1", "tanh": "m4", "Karnopp": "m6"}
"""Friction model whose colour each kind of joint friction uses."""
