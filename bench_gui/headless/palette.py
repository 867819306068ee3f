"""Colours of curves in reports and files: the light palette of the window, available without Qt."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from itertools import cycle

import resources
from core.servo.terms import FRICTION_MODELS

_LIGHT = tomllib.loads((files(resources) / "palettes" / "light.toml").read_text("utf-8"))
_CURVES = _LIGHT["curve"]

MEASURED_COLOUR: str = _CURVES["measured"]
GOAL_COLOUR: str = _CURVES["goal"]
DRIVE_COLOUR: str = _CURVES["drive"]
BACKDRIVE_COLOUR: str = _CURVES["backdrive"]
BAR_COLOUR: str = _CURVES["drive"]
"""Colour of bars whose models are labelled on the axis."""
MODEL_COLOURS: dict[str, str] = dict(zip(FRICTION_MODELS, cycle(_CURVES["models"]), strict=False))

_MEANINGS = {
    **_LIGHT["text"],
    **_LIGHT["state"],
    **_CURVES,
    **MODEL_COLOURS,
    "accent": _LIGHT["accent"]["colour"],
}


def paper_colour(meaning: str) -> str:
    """Return the colour of a meaning in a plot, see `core.document.plot`."""
    return meaning if meaning.startswith("#") else _MEANINGS[meaning]


def shade(place: int, count: int) -> str:
    """Return one of `count` shades of BAR_COLOUR, from pale to full, as "#RRGGBB"."""
    share = 0.15 + 0.85 * ((place + 1) / count) ** 1.5
    channels = (int(BAR_COLOUR[k : k + 2], 16) for k in (1, 3, 5))
    return "#" + "".join(f"{round(255 + share * (channel - 255)):02x}" for channel in channels)
