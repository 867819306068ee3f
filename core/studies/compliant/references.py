"""What the links of compliant joints shall do over time: steps, sinusoids, chirps and minimum-jerk motions (seed 003).

A reference is sampled at a regular step; sample k is asked for at time k·step and held until the next.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from core.errors import InputError

Array = NDArray[np.float64]

STEP = 5e-3
"""Between samples, where nobody asks for another [s]."""
LARGEST_TEXT = 64 << 20
"""Of a file with a reference [B]."""
UNEVEN = 1e-3
"""Share of the step by which times of a file may be off its regular grid."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Reference:
    """Joint angles over time."""

    step: float
    """[s]"""
    angles: Array
    """(n, joints) rad, n at least 2"""

    def __post_init__(self) -> None:
        if not 0.0 < self.step < math.inf:
            raise InputError(f"reference: a step of {self.step} s is not possible; give a positive one")
        shape = np.shape(self.angles)
        if len(shape) != 2 or shape[0] < 2 or not np.all(np.isfinite(self.angles)):
            raise InputError(f"reference: angles of shape {shape}; give two or more rows of finite angles [rad]")

    @property
    def time(self) -> Array:
        """(n,) s"""
        return self.step * np.arange(len(self.angles), dtype=np.float64)

    @property
    def duration(self) -> float:
        """[s]"""
        return self.step * (len(self.angles) - 1)


def minimum_jerk(goal: Sequence[float], duration: float, step: float = STEP, hold: float = 0.0) -> Reference:
    """From 0 to `goal` [rad] of each joint in `duration` [s], then held for `hold` [s].

    The fifth-order polynomial 10·s³ − 15·s⁴ + 6·s⁵, s = t/duration, which starts and ends at rest without acceleration
    (seed 003, section 4.3).
    """
    share = np.clip(_times(duration + hold, step) / duration, 0.0, 1.0)
    return Reference(step=step, angles=np.outer(share**3 * (10.0 - 15.0 * share + 6.0 * share**2), goal))


def held_step(goal: Sequence[float], duration: float, step: float = STEP) -> Reference:
    """0 at the first sample, where motors begin, then `goal` [rad] of each joint (seed 003, Figs 7 and 12)."""
    return Reference(step=step, angles=np.outer(_times(duration, step) > 0.0, goal))


def sinusoid(amplitude: Sequence[float], rate: float, duration: float, step: float = STEP) -> Reference:
    """H·sin(ω·t) of each joint, H [rad], ω = rate [rad/s] (seed 003, eq. 12)."""
    return Reference(step=step, angles=np.outer(np.sin(rate * _times(duration, step)), amplitude))


def chirp(amplitude: Sequence[float], lowest: float, highest: float, duration: float, step: float = STEP) -> Reference:
    """A sinusoid whose frequency grows evenly from `lowest` to `highest` [Hz] within `duration` [s].

    H·sin(2π·(f₀·t + (f₁ − f₀)·t²/(2·T))), as seed 003, section 4.2.1.
    """
    if not 0.0 < lowest < highest:
        raise InputError(f"a chirp from {lowest} to {highest} Hz is not possible; give rising, positive frequencies")
    phase = chirp_phase(lowest, highest, duration, _times(duration, step))
    return Reference(step=step, angles=np.outer(np.sin(phase), amplitude))


def chirp_phase(lowest: float, highest: float, duration: float, time: Array) -> Array:
    """Phase of a `chirp` at times (n,) s, (n,) rad."""
    return 2.0 * math.pi * (lowest * time + (highest - lowest) * time**2 / (2.0 * duration))


def read_reference(path: Path | str) -> Reference:
    """Read a CSV file with the columns time [s], q1, q2 [rad] on a regular grid; raises InputError on any other."""
    file = Path(path)
    try:
        if file.stat().st_size > LARGEST_TEXT:
            raise InputError(f"{file}: too large for a reference")
        rows = list(csv.DictReader(io.StringIO(file.read_text("utf-8-sig"))))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{file}: cannot be read as a reference: {error}") from None
    names = ("time", "q1", "q2")
    try:
        columns = np.array([[float(row[name]) for name in names] for row in rows]).reshape(-1, len(names))
    except (KeyError, TypeError, ValueError):
        raise InputError(f"{file}: a reference needs numbers in the columns time [s], q1 and q2 [rad]") from None
    if len(columns) < 2:
        raise InputError(f"{file}: a reference needs two or more rows, this has {len(columns)}")
    steps = np.diff(columns[:, 0])
    step = float(steps.mean())
    if not step > 0.0 or np.max(np.abs(steps - step)) > UNEVEN * step:
        raise InputError(f"{file}: the times of a reference must be evenly spaced; resample it first")
    return Reference(step=step, angles=columns[:, 1:])


def _times(duration: float, step: float) -> Array:
    """Sample times from 0 to duration, both included (n,) s."""
    if not (0.0 < step < math.inf and step <= duration < math.inf):
        raise InputError(f"a motion of {duration} s in steps of {step} s is not possible")
    return step * np.arange(round(duration / step) + 1, dtype=np.float64)
