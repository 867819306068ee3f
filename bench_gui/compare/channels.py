"""Channels that an overlay can show, with their names and units."""

from __future__ import annotations

from dataclasses import dataclass

from core.base.units import AngleUnit
from core.motion.recording import CHANNELS

_SYMBOLS = {"1": "", "degC": "°C"}


@dataclass(frozen=True)
class Shown:
    """Display of a channel and of the error of its simulation."""

    name: str
    title: str
    unit: str
    factor: float
    """Factor from the stored unit to the shown one."""
    error_unit: str
    error_factor: float


NAMES = tuple(channel.name for channel in CHANNELS if channel.name != "time")


def shown(name: str, angle: AngleUnit) -> Shown:
    """Return the display of a channel; angles in the user's unit, errors of angles in mrad."""
    stored = next(channel.unit for channel in CHANNELS if channel.name == name)
    title = name.replace("_", " ").capitalize()
    unit, factor = _SYMBOLS.get(stored, stored), 1.0
    if stored.startswith("rad"):
        unit, factor = stored.replace("rad", angle.symbol), angle.per_radian
    error = ("mrad", 1e3) if stored == "rad" else (unit, factor)
    return Shown(name, title, unit, factor, *error)
