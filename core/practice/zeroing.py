"""Servo reading of a plumb pendulum, measured by hand: a sweep through its range, then rests from both sides.

The sweep comes first because it reveals two faults that a single reading would hide: a joint that is not free, and a
reading that jumps by a full turn. Friction then holds a pendulum off its lowest point: lowered from one side, it stops
before it, and from the other side beyond it (seed 004, section II-C: a band of rest lies between drive and backdrive).
The middle between the rests of both sides is free of this error as far as friction is the same in both directions.

    zeroing = Zeroing(encoder_step)
    zeroing.take(time, position)      # repeatedly, with the motor off
    zeroing.end_sweep()               # raises ZeroingError for a joint that was not moved
    zeroing.take(time, position)
    zeroing.result()                  # a Zero once there are rests from both sides
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from core.base.errors import ServoBenchError

SMALLEST_SWEEP = 0.5
"""Smallest sweep [rad]: a smaller movement does not show the range."""
STILL = 0.03
"""Movement below which a joint counts as not moved at all [rad]."""
EDGE = 0.1
"""A pendulum that rests within this share of the swept range from its ends is held, not hanging."""
REST_TIME = 0.8
"""A pendulum that stays within the rest band for this long rests [s]."""
REST_BAND = 0.008
"""Largest spread of a resting pendulum's reading [rad], or three encoder steps if those are larger."""
TRAVEL = 0.05
"""Smallest movement that counts and has a direction [rad]."""
LIFT = 0.1
"""Distance by which a pendulum has to leave its place of rest before it can rest again [rad]."""
LARGEST_BAND = 0.5
"""Largest distance of the rests of both sides from their middle [rad]; beyond it, they hardly show the lowest point."""
LARGEST_OFFSET = math.pi / 2
"""Largest offset [rad]: beyond it, a run's way to the servo's 0 rad would lift the load above the shaft."""

_STUDENT_95 = (12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23)
"""Two-sided 95 % quantiles of Student's distribution for 1, 2, … degrees of freedom."""


class ZeroingError(ServoBenchError):
    """The measurements do not give a zero."""


class Side(Enum):
    """Side from which a pendulum came to rest."""

    BELOW = "below"
    """From smaller angles of the servo."""
    ABOVE = "above"


class Stage(Enum):
    """Part of the measurement."""

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
    """Angle in (−π, π] [rad]."""
    uncertainty: float
    """Half width of the 95 % interval of the lowest point [rad]; see `estimate`."""
    band: float
    """Half the distance between the rests of both sides; friction lets it rest at least this far off [rad]."""
    rests: tuple[Rest, ...]

    @property
    def angle_offset(self) -> float:
        """New value of `Bench.angle_offset` [rad]: gravity acts at the reading plus this."""
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
    """Readings of the last REST_TIME."""

    samples: deque[tuple[float, float]] = field(default_factory=deque[tuple[float, float]])

    def take(self, time: float, position: float) -> None:
        self.samples.append((time, position))
        while len(self.samples) > 1 and time - self.samples[1][0] >= REST_TIME:
            self.samples.popleft()

    @property
    def span(self) -> float:
        return self.samples[-1][0] - self.samples[0][0] if self.samples else 0.0

    def steady_time(self, band: float) -> float:
        """Return the time for which the newest reading has been within the band [s]."""
        lowest, highest = math.inf, -math.inf
        end = begin = self.samples[-1][0] if self.samples else 0.0
        for time, position in reversed(self.samples):
            lowest, highest = min(lowest, position), max(highest, position)
            if highest - lowest > band:
                break
            begin = time
        return end - begin

    def middle(self) -> float:
        # The median ignores the end of the approach.
        return float(np.median([position for _, position in self.samples]))


class Zeroing:
    """One measurement of a zero from all readings of the released servo."""

    def __init__(self, encoder_step: float = 0.0) -> None:
        """Start with the sweep.

        Args:
            encoder_step: Smallest difference that the servo reports [rad].
        """
        self.stage = Stage.SWEEP
        self.rests: list[Rest] = []
        self.position = math.nan
        """Newest reading, continuous [rad]."""
        self.held = False
        """True if the pendulum last rested at an end of the swept range, where only a hand can hold it."""
        self._step = encoder_step
        self._band = max(REST_BAND, 3.0 * encoder_step)
        self._turns = 0.0
        self._sweep = _Sweep()
        self._travel = _Travel()
        self._window = _Window()
        self._resting_at = math.nan

    def take(self, time: NDArray[np.float64], position: NDArray[np.float64]) -> None:
        """Take readings in the order in which they were made. NaN is ignored.

        Args:
            time: Time [s], (k,).
            position: Position [rad], (k,).
        """
        for t, reading in zip(time.tolist(), position.tolist(), strict=True):
            if math.isfinite(reading):
                self._take(t, reading)

    @property
    def lowest(self) -> float:
        """Lowest reading of the sweep [rad]; +inf before the first one."""
        return self._sweep.lowest

    @property
    def highest(self) -> float:
        """Highest reading of the sweep [rad]; −inf before the first one."""
        return self._sweep.highest

    @property
    def jumped(self) -> bool:
        """True if the reading jumped by a full turn within the sweep."""
        return self._sweep.jumped

    @property
    def steadiness(self) -> float:
        """Progress of the pendulum towards a rest, 0 to 1."""
        return min(1.0, self._window.steady_time(self._band) / REST_TIME)

    def end_sweep(self) -> None:
        """End the sweep and continue with the rests.

        Raises:
            ZeroingError: The joint was not moved, or not far enough.
        """
        moved = self.highest - self.lowest
        if not moved >= STILL:
            raise ZeroingError(
                "the pendulum has not moved; move it by hand to both sides. If it will not move, the motor still "
                "holds it or it is blocked; if it moves but the numbers do not, check the coupling to the servo"
            )
        if moved < SMALLEST_SWEEP:
            raise ZeroingError(
                f"the pendulum moved through only {_both(moved)}; move it further to both sides, "
                f"{_both(SMALLEST_SWEEP)} at least"
            )
        self.stage = Stage.HANG
        self._window = _Window()

    def result(self) -> Zero | None:
        """Return the zero, None until the rests determine it.

        Raises:
            ZeroingError: The rests contradict each other.
        """
        return None if self.missing() or self.swung_past else estimate(self.rests, self._step)

    @property
    def swung_past(self) -> bool:
        """True if the pendulum came to rest beyond its lowest point once only, so that nothing bounds that point."""
        below, above = _by_side(self.rests)
        return len(below) > 0 < len(above) and not _sank(below, above) and min(len(below), len(above)) < 2

    def missing(self) -> tuple[Side, ...]:
        """Sides from which there is no rest yet."""
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
    """Compute the zero and its uncertainty from rests of both sides.

    A pendulum that sank slowly stopped before its lowest point, which then lies between the rests of both sides: half
    their distance is a bound. A pendulum that was dropped swings past it and stops anywhere in the band of friction. By
    symmetry, the middle of the sides' means is still the lowest point, and only repetitions show its uncertainty: the
    95 % interval of that middle (pooled scatter, Student). The narrower of the valid bounds is used, plus half an
    encoder step.

    Args:
        rests: Rests of both sides.
        encoder_step: Smallest difference that the servo reports [rad].

    Raises:
        ZeroingError: A side is missing, or the rests do not determine the lowest point.
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
            f"the servo reads {_both(angle)} with the pendulum hanging, so its way to 0 would lift the load "
            "over the shaft; mount the arm again so that it reads nearly 0 hanging down"
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
    """Return True if every rest lies on the side from which it was reached."""
    return bool(below.max() <= above.min())


def _both(angle: float) -> str:
    return f"{angle:.2f} rad ({math.degrees(angle):.0f}°)"
