"""Backlash measured by pushing the load gently both ways while the friction of the gears holds the motor.

A push of the torque T moves the load until it leans on the teeth, and what lies between yields like a spring:

    θ = θ_m + sign(T)·b/2 + T/K

Pushes with several torques separate the backlash b from the spring K. The motor must not turn: its friction exceeds T,
and it does not control the angle.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.base.errors import InputError


@dataclass(frozen=True, kw_only=True)
class Push:
    """Angle of rest of a load that is pushed."""

    torque: float
    """Torque of the push [N·m]; its sign is the direction. Its size does not matter if all pushes have the same."""
    angle: float
    """Angle reported by the servo [rad]."""


@dataclass(frozen=True, kw_only=True)
class MeasuredBacklash:
    """Result of pushes."""

    backlash: float
    """Way of the load between its two contacts [rad]."""
    error: float
    """Standard error of it, from scatter and resolution of the angles [rad]; infinite if no push was repeated."""
    compliance: float
    """Angle per torque of what yields between load and motor [rad/(N·m)]; 0 if all pushes have the same torque."""


def measure_backlash(pushes: Sequence[Push], position_step: float = 0.0) -> MeasuredBacklash:
    """Find the backlash from pushes both ways by least squares.

    Args:
        pushes: Angles of rest.
        position_step: Resolution of the encoder [rad].

    Raises:
        InputError: There is no push in one of the directions, or a number is not finite.
    """
    torque = np.array([push.torque for push in pushes])
    angle = np.array([push.angle for push in pushes])
    if not (np.isfinite(torque).all() and np.isfinite(angle).all()):
        raise InputError("backlash: torques and angles of pushes must be finite")
    if not ((torque > 0.0).any() and (torque < 0.0).any()):
        raise InputError("backlash: push the load both ways")
    columns = [np.ones(len(torque)), 0.5 * np.sign(torque)]
    several = np.ptp(np.abs(torque)) > 1e-9
    terms = np.column_stack([*columns, torque] if several else columns)
    found, _, rank, _ = np.linalg.lstsq(terms, angle, rcond=None)
    left, spare = angle - terms @ found, len(angle) - int(rank)
    variance = np.linalg.pinv(terms.T @ terms)[1, 1] * float(left @ left) / spare if spare > 0 else math.inf
    return MeasuredBacklash(
        backlash=max(float(found[1]), 0.0),
        # The difference of two angles, each of which is rounded to a step.
        error=math.hypot(math.sqrt(variance), position_step / math.sqrt(6.0)),
        compliance=float(found[2]) if several else 0.0,
    )
