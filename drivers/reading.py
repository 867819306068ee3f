"""What is read of a servo."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Reading:
    """One block read from a servo; NaN marks what it does not give."""

    position: float
    """[rad]"""
    velocity: float = math.nan
    """[rad/s]"""
    current: float = math.nan
    """[A]"""
    duty_cycle: float = math.nan
    """Signed share of the supply voltage on the motor."""
    supply_voltage: float = math.nan
    """[V]"""
    temperature: float = math.nan
    """[degC]"""
    moment: float = math.nan
    """When it was measured, on the servo's clock [s]; NaN where only the middle of the read is known."""
