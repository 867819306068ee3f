"""Where a pendulum hangs plumb, measured by hand: first a sweep through its range, then rests from both sides.

The sweep comes first because it shows what a zero taken at once would hide: a joint that is not free, and a reading
that jumps by a full turn on the way. Friction then holds a pendulum off its lowest point: lowered from one side it
stops before it, from the other side beyond it (seed 004, section II-C: between driving and backdriving lies a band of
rest). The middle between the rests of both sides is free of this as far as friction is the same both ways.

    zeroing = Zeroing(encoder_step)
    zeroing.take(time, position)      # again and again, the motor being off
    zeroing.end_sweep()               # raises ZeroingError for a joint that was not moved
    zeroing.take(time, position)
    zeroing.result()                  # a Zero once both sides were seen
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from core.errors import ServoBenchError

SMALLEST_SWEEP = 0.5
"""A hand that moves the pendulum through less than this [rad] has not shown its range."""
STILL = 0.03
"""A joint that moved less than this [rad] has not been moved at all."""
EDGE = 0.1
"""A rest within this share of the swept range from its ends is a pendulum that is held, not one that hangs."""
REST_TIME = 0.8
"""A pendulum within the rest band for this long rests [s]."""
REST_BAND = 0.008
"""Largest spread of a resting pendulum's reading [rad], or three steps of the encoder if those are more."""
TRAVEL = 0.05
"""A movement counts, and has a direction, from here on [rad]."""
LIFT = 0.1
"""A pendulum has to leave its place of rest by this much to rest again [rad]."""
LARGEST_BAND = 0.5
"""Rests of the two sides further from their middle than this say little about the lowest point [rad]."""
LARGEST_OFFSET = math.pi / 2
"""Beyond this a run's way to the servo's 0 rad would lift the load above the shaft [rad]."""

_STUDENT_95 = (12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23)
"""Two-sided 95 % quantiles of Student's distribution for 1, 2, … degrees of freedom."""


class ZeroingError(ServoBenchError):
    """The zero cannot be taken from what was measured."""


class Side(Enum):
    """From where a pendulum came to rest."""

    BELOW = "below"
    """From smaller angles of the servo."""
    ABOVE = "above"


class Stage(Enum):
    """What is measured."""

    SWEEP = "sweep"
    HANG = "hang"


@dataclass(frozen=True)
class Rest:
    """One place where the pendulum came to rest."""

    angle: float
    """Median reading, continuous through the sweep [rad]."""
    side: Side


@dataclass(frozen=True, kw_only=True)
class Zero:
    """The servo's reading with the pendulum at its lowest point."""

    angle: float
    """In (−π, π] [rad]."""
    uncertainty: float
    """With 95 % confidence the lowest point lies this close [rad]; see `estimate`."""
    band: float
    """Half of the distance between the rests of both sides; friction lets it rest at least so far off [rad]."""
    rests: tuple[Rest, ...]

    @property
    def angle_offset(self) -> float:
        """What `Bench.angle_offset` becomes: gravity acts at the reading plus this [rad]."""
        return -self.angle


@dataclass
class _Sweep:
    lowest: float = math.inf
    highest: float = -math.inf
    jumped: bool = False

    def take(self, position: float) -> None:
        self.lowest, self.highest = min(self.lowest, position), max(self.highest, position)


@dataclass
class _Travel:
    """Direction of the last movement of at least TRAVEL."""

    direction: int = 0
    _lowest: float = math.inf
    _highest: float = -math.inf

    def take(self, position: float) -> None:
        self._lowest, self._highest = min(self._lowest, position), max(self._highest, position)
        if self.direction <= 0 and position - self._lowest >= TRAVEL:
            self.direction, self._highest = 1, position
        elif self.direction >= 0 and self._highest - position >= TRAVEL:
            self.direction, self._lowest = -1, position


@dataclass
class _Window:
    """The last REST_TIME of a reading."""

    samples: deque[tuple[float, float]] = field(default_factory=deque[tuple[float, float]])

    def take(self, time: float, position: float) -> None:
        self.samples.append((time, position))
        while len(self.samples) > 1 and time - self.samples[1][0] >= REST_TIME:
            self.samples.popleft()

    @property
    def span(self) -> float:
        return self.samples[-1][0] - self.samples[0][0] if self.samples else 0.0

    def steady_time(self, band: float) -> float:
        """For how long the newest reading has not left the band [s]."""
        lowest, highest = math.inf, -math.inf
        end = begin = self.samples[-1][0] if self.samples else 0.0
        for time, position in reversed(self.samples):
            lowest, highest = min(lowest, position), max(highest, position)
            if highest - lowest > band:
                break
            begin = time
        return end - begin

    def middle(self) -> float:
        # The median, so that the last bit of the way here does not count.
        return float(np.median([position for _, position in self.samples]))


class Zeroing:
    """One measurement of a zero; feed it every reading of the released servo."""

    def __init__(self, encoder_step: float = 0.0) -> None:
        """encoder_step: smallest difference the servo reports [rad]."""
        self.stage = Stage.SWEEP
        self.rests: list[Rest] = []
        self.position = math.nan
        """The newest reading, continuous [rad]."""
        self.held = False
        """Whether the pendulum rested last at an end of the swept range, where only a hand can hold it."""
        self._step = encoder_step
        self._band = max(REST_BAND, 3.0 * encoder_step)
        self._turns = 0.0
        self._sweep = _Sweep()
        self._travel = _Travel()
        self._window = _Window()
        self._resting_at = math.nan

    def take(self, time: NDArray[np.float64], position: NDArray[np.float64]) -> None:
        """Take readings in the order they were made; time [s], position [rad], both (k,). NaN is passed over."""
        for t, reading in zip(time.tolist(), position.tolist(), strict=True):
            if math.isfinite(reading):
                self._take(t, reading)

    @property
    def lowest(self) -> float:
        """Of the sweep [rad]; +inf before the first reading."""
        return self._sweep.lowest

    @property
    def highest(self) -> float:
        """Of the sweep [rad]; −inf before the first reading."""
        return self._sweep.highest

    @property
    def jumped(self) -> bool:
        """Whether the reading jumped by a full turn within the sweep."""
        return self._sweep.jumped

    @property
    def steadiness(self) -> float:
        """How far the pendulum is on its way to a rest, 0 … 1."""
        return min(1.0, self._window.steady_time(self._band) / REST_TIME)

    def end_sweep(self) -> None:
        """Go on to the rests. Raises ZeroingError for a joint that was not moved, or not far enough."""
        moved = self.highest - self.lowest
        if not moved >= STILL:
            raise ZeroingError(
                "the pendulum has not moved; move it by hand to both sides. If it will not move, the motor still "
                "holds it or it is blocked; if it moves and the numbers do not, look at the coupling to the servo"
            )
        if moved < SMALLEST_SWEEP:
            raise ZeroingError(
                f"the pendulum moved through {_both(moved)} only; move it further to both sides, "
                f"{_both(SMALLEST_SWEEP)} at least"
            )
        self.stage = Stage.HANG
        self._window = _Window()

    def result(self) -> Zero | None:
        """The zero, as soon as the rests tell it. Raises ZeroingError when they contradict each other."""
        return None if self.missing() or self.swung_past else estimate(self.rests, self._step)

    @property
    def swung_past(self) -> bool:
        """Whether the pendulum came to rest beyond its lowest point and was not repeated, so that nothing bounds it."""
        below, above = _by_side(self.rests)
        return len(below) > 0 < len(above) and not _sank(below, above) and min(len(below), len(above)) < 2

    def missing(self) -> tuple[Side, ...]:
        """Sides from which no rest was seen yet."""
        seen = {rest.side for rest in self.rests}
        return tuple(side for side in Side if side not in seen)

    def _take(self, time: float, reading: float) -> None:
        position = reading + self._turns
        if math.isfinite(self.position) and abs(position - self.position) > math.pi:
            turns = 2.0 * math.pi * round((position - self.position) / (2.0 * math.pi))
            self._turns -= turns
            position -= turns
            self._sweep.jumped |= self.stage is Stage.SWEEP and turns != 0.0
        self.position = position
        self._travel.take(position)
        self._window.take(time, position)
        if self.stage is Stage.SWEEP:
            self._sweep.take(position)
            return
        if abs(position - self._resting_at) > LIFT:
            self._resting_at = math.nan
            self.held = False
        if math.isnan(self._resting_at) and self._window.steady_time(self._band) >= REST_TIME * (1.0 - 1e-9):
            self._rest(self._window.middle())

    def _rest(self, angle: float) -> None:
        self._resting_at = angle
        margin = EDGE * (self.highest - self.lowest)
        self.held = not self.lowest + margin <= angle <= self.highest - margin
        if not self.held:
            self.rests.append(Rest(angle, Side.BELOW if self._travel.direction > 0 else Side.ABOVE))


def estimate(rests: list[Rest], encoder_step: float = 0.0) -> Zero:
    """The zero from rests of both sides, with its uncertainty. Raises ZeroingError.

    A pendulum that sank slowly stopped before its lowest point, from either side, which therefore lies between the
    rests: half of their distance is a bound. One that was dropped swings past it and stops anywhere in the band of
    friction; by symmetry the middle of the sides' means is still the lowest point, and only repeats tell how well: the
    95 % interval of that middle (pooled scatter, Student). The narrower of those that hold is said, and half a step of
    the encoder [rad] is added.
    """
    below, above = _by_side(rests)
    if not (len(below) and len(above)):
        raise ZeroingError("the pendulum has to come to rest once from each side; let it sink from the other one too")
    sank = _sank(below, above)
    if not sank and min(len(below), len(above)) < 2:
        raise ZeroingError("the pendulum swung past its lowest point; let it sink slowly, or repeat it from both sides")
    middle = 0.5 * (float(below.mean()) + float(above.mean()))
    band = 0.5 * abs(float(above.mean()) - float(below.mean()))
    if band > LARGEST_BAND:
        raise ZeroingError(
            f"the pendulum rested {_both(2.0 * band)} apart, so its lowest point is not known; let it go instead of "
            "holding it, or hang a heavier load on it for this measurement"
        )
    angle = math.pi - (math.pi - middle) % (2.0 * math.pi)
    if abs(angle) > LARGEST_OFFSET:
        raise ZeroingError(
            f"the servo reads {_both(angle)} with the pendulum hanging, so that its way to 0 would lift the load "
            "over the shaft; mount the arm anew so that it reads nearly 0 hanging down"
        )
    uncertainty = band if sank else math.inf
    if min(len(below), len(above)) > 1:
        freedom = len(below) + len(above) - 2
        scatter = math.sqrt(float(below.var() * len(below) + above.var() * len(above)) / freedom)
        error = 0.5 * scatter * math.sqrt(1.0 / len(below) + 1.0 / len(above))
        uncertainty = min(uncertainty, _STUDENT_95[min(freedom, len(_STUDENT_95)) - 1] * error)
    return Zero(angle=angle, uncertainty=uncertainty + 0.5 * encoder_step, band=band, rests=tuple(rests))


def _by_side(rests: list[Rest]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    below, above = (np.array([rest.angle for rest in rests if rest.side is side]) for side in Side)
    return below, above


def _sank(below: NDArray[np.float64], above: NDArray[np.float64]) -> bool:
    """Whether every rest lies on the side it was reached from."""
    return bool(below.max() <= above.min())


def _both(angle: float) -> str:
    return f"{angle:.2f} rad ({math.degrees(angle):.0f}°)"
