"""Paths of an arm's tip: circle, square, square wave and triangular wave (Duclusaud et al., Fig. 6).

Each is a closed curve in the arm's plane, traced at constant speed; waves run to the right and back. The size follows
the arm: a path lies in the middle of the tip's reach, in front of the shoulder and a little below it, away from the
stretched and the folded elbow. The arm starts at rest on the path.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from core.base.arrays import Array
from core.base.errors import InputError
from core.motion.smoothing import interpolated
from core.studies.arm.kinematics import joint_angles
from core.studies.arm.links import ArmLinks

CENTRE, HALF = 0.6, 0.18
"""Distance of a path's centre from the inner edge of the tip's reach, and half a path's width, as shares of the reach's
ring. The outermost corner stays 14 % of the ring from its outer edge and 34 % from its inner one."""
DIRECTION = math.radians(60.0)
"""Angle from hanging down to a path's centre [rad]."""
WAVE_HEIGHT = 0.5
"""Half the height of a wave, relative to half its width."""

_H = WAVE_HEIGHT
_SQUARE_WAVE = ((-1, -_H), (-1, _H), (-0.5, _H), (-0.5, -_H), (0, -_H), (0, _H), (0.5, _H), (0.5, -_H), (1, -_H))
_TRIANGULAR_WAVE = ((-1, -_H), (-0.5, _H), (0, -_H), (0.5, _H), (1, -_H))
_CORNERS: dict[str, tuple[tuple[float, float], ...]] = {
    "square": ((-1, -1), (1, -1), (1, 1), (-1, 1), (-1, -1)),
    "square_wave": (*_SQUARE_WAVE, *reversed(_SQUARE_WAVE[:-1])),
    "triangular_wave": (*_TRIANGULAR_WAVE, *reversed(_TRIANGULAR_WAVE[:-1])),
}
"""Corners within a square of side 2 around 0; the circle has none."""

PATHS = {
    "circle": "Circle",
    "square": "Square",
    "square_wave": "Square wave",
    "triangular_wave": "Triangular wave",
}
"""Titles by name, in the order of Fig. 6."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ArmPath:
    """Path as joint goals; sample k is commanded at time k·step and held."""

    name: str
    step: float
    """Interval between commands [s]."""
    points: Array
    """Points [m], shape (n, 2)."""
    goals: Array
    """Joint goals [rad], shape (n, 2)."""

    @property
    def time(self) -> Array:
        """Times of the commands [s], shape (n,)."""
        return self.step * np.arange(len(self.goals), dtype=np.float64)


def path_points(name: str, links: ArmLinks, phase: ArrayLike) -> Array:
    """Return points (n, 2) [m] of a path at phases (n,), 0 … 1 once around; raise InputError if unknown."""
    if name not in PATHS:
        raise InputError(f"no path {name!r}; available: {', '.join(PATHS)}")
    turn = np.asarray(phase, dtype=np.float64) % 1.0
    inner, outer = abs(links.lengths[0] - links.lengths[1]), sum(links.lengths)
    distance = inner + CENTRE * (outer - inner)
    centre = distance * np.array([math.sin(DIRECTION), -math.cos(DIRECTION)])
    return centre + HALF * (outer - inner) * _shape(name, turn)


def arm_path(name: str, links: ArmLinks, period: float, step: float, rounds: float = 1.0) -> ArmPath:
    """Return joint goals along a path: `rounds` times around in `period` [s] each, a command every `step` [s].

    Raises InputError if the path is unknown or the times are impossible.
    """
    if not (0.0 < step <= period < math.inf and 0.0 < rounds < math.inf):
        raise InputError(f"path {name}: a period of {period} s, commands every {step} s, {rounds} rounds: not possible")
    phase = np.arange(math.ceil(rounds * period / step - 1e-9)) * (step / period)
    points = path_points(name, links, phase)
    return ArmPath(name=name, step=step, points=points, goals=joint_angles(links, points))


def _shape(name: str, turn: Array) -> Array:
    if name == "circle":
        return np.column_stack([np.cos(2.0 * np.pi * turn), np.sin(2.0 * np.pi * turn)])
    corners = np.array(_CORNERS[name])
    travelled = np.append(0.0, np.cumsum(np.hypot(*np.diff(corners, axis=0).T)))
    return interpolated(turn * travelled[-1], travelled, corners)
