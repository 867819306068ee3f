"""Styles of curves, the same in every plot: measured motion is solid and black, the goal dashed and grey.

A model has its own colour, with dashes that encode its origin; a band is filled.
"""

from __future__ import annotations

from typing import NamedTuple

from core.document.plot import DASH_DOTTED, DASHED, DOTTED

IDENTIFIED_DASH, CATALOGUE_DASH, FILE_DASH = DASHED, DOTTED, DASH_DOTTED


class Style(NamedTuple):
    """Appearance of a curve and of its entry in the legend."""

    colour: str
    """A meaning or "#RRGGBB", see `core.document.plot`."""
    width: float = 1.0
    """Width [px]; live curves keep 1, because wider lines cost several times as much."""
    dash: tuple[float, ...] | None = None
    """Dash pattern in widths of the line."""


MEASURED, GOAL = Style("measured"), Style("goal", dash=DASHED)
BAND_OPACITY = 0.25
