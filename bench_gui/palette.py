"""Colours of curves on white paper, for reports and files: the light palette of the window, read without Qt."""

from __future__ import annotations

import tomllib
from importlib.resources import files

from core.friction import FRICTION_MODELS

_CURVES = tomllib.loads((files("resources") / "palettes" / "light.toml").read_text("utf-8"))["curve"]

MEASURED_COLOUR: str = _CURVES["measured"]
GOAL_COLOUR: str = _CURVES["goal"]
DRIVE_COLOUR: str = _CURVES["drive"]
BACKDRIVE_COLOUR: str = _CURVES["backdrive"]
MODEL_COLOURS: dict[str, str] = dict(zip(FRICTION_MODELS, _CURVES["models"], strict=True))
