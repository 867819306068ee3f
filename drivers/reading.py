"""Values read from a servo."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Reading:
    """One block read from a servo; NaN marks a value that the servo does not report."""

    position: float
    """[rad]"""
    velocity: float = math.nan
    """[rad/s]"""
    current: float = math.nan
    """[A]"""
    duty_cycle: float = math.nan
    """Share of the supply voltage on the motor, signed."""
    supply_voltage: float = math.nan
    """[V]"""
    temperature: float = math.nan
    """[degC]"""
    moment: float = math.nan
    """Time of the measurement on the servo's clock [s]; NaN if only the middle of the read is known."""
