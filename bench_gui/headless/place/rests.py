"""Finding one extreme: each rest of the pendulum is a candidate, the outermost one on its side is the point.

Without Qt, because the window, `bench place` and the tests share it. A rest counts when a hand has moved the pendulum
since the one before, has let go, and the pendulum then stayed where it is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from core.bench import Bench
from core.placement import DRIVE, PlacedPoint, Side, Steadiness

DOCUMENT = "placed_points"
"""Name of the session's document that holds the points."""
HOLD_NAME = "hold"
"""Stands in a header where a run has its trajectory."""
SAME_TORQUE = 1e-6
"""A held torque this close to the wanted one has arrived [N·m]."""
READINGS = ("supply_voltage", "current", "temperature")
"""What is kept of the servo with a point."""


@dataclass(frozen=True)
class Target:
    """One extreme to find."""

    torque: float
    """[N·m]"""
    repeat: int
    side: Side

    @property
    def place(self) -> str:
        """Which extreme, as a person calls it."""
        return "lowest" if self.side == DRIVE else "highest"

    @property
    def outwards(self) -> float:
        """Sign of the servo's angle in the direction in which this extreme lies."""
        lifting = math.copysign(1.0, self.torque)
        return -lifting if self.side == DRIVE else lifting

    def matches(self, point: PlacedPoint) -> bool:
        """Whether a point is this extreme."""
        return (round(point.motor_torque, 9), point.repeat, point.side) == (
            round(self.torque, 9),
            self.repeat,
            self.side,
        )

    def outermost(self, one: PlacedPoint, other: PlacedPoint) -> PlacedPoint:
        """Return the lower or the higher of two points, by this target's side; the first if they are equal."""
        return other if self.outwards * (other.angle - one.angle) > 0.0 else one


@dataclass(frozen=True)
class Rest:
    """Where the pendulum stayed."""

    angle: float
    """[rad]"""
    spread: float
    """[rad]"""
    span: tuple[float, float] = (math.nan, math.nan)
    """Lowest and highest position since the rest before, or since a hand that is known of let go [rad]."""
    before: float = math.nan
    """Where it rested before [rad]."""

    def refusal(self, torque: float, bench: Bench) -> str:
        """Why this is no point of the diagram, for a person; empty when it is one."""
        elevation = math.copysign(1.0, torque) * (self.angle + bench.angle_offset)
        if elevation >= 0.5 * math.pi:
            return "beyond the horizontal gravity pulls less again: hold a smaller torque or hang more mass on the rod"
        if elevation <= 0.0:
            return "it rests on the other side of hanging down: friction alone holds this torque, hold a larger one"
        return ""


class Falls:
    """From where the pendulum fell while one extreme was sought: let go there, it came to rest further in."""

    def __init__(self, target: Target) -> None:
        self._outwards = target.outwards
        self._angles: list[float] = []

    def note(self, rest: Rest, band: float) -> bool:
        """Return whether the pendulum fell to this rest, by more than a band [rad], and remember from where."""
        outermost = rest.span[0] if self._outwards < 0.0 else rest.span[1]
        fell = all(self._outwards * (outermost - angle) > band for angle in (rest.angle, rest.before))
        if fell:
            self._angles.append(outermost)
        return fell

    def beyond(self, angle: float) -> float | None:
        """Return the nearest fall beyond an angle [rad]; None where there was none."""
        beyond = [fall for fall in self._angles if self._outwards * (fall - angle) > 0.0]
        return min(beyond, key=lambda fall: abs(fall - angle), default=None)


def placed_point(
    target: Target, rest: Rest, bench: Bench, servo: str, readings: dict[str, float], fell: float | None = None
) -> PlacedPoint:
    """A rest as a point of the session.

    readings: of the servo now, NaN where it gives none; fell: nearest angle beyond from which it fell [rad].
    """
    known: dict[str, Any] = {name: value for name, value in readings.items() if math.isfinite(value)}
    return PlacedPoint(
        motor_torque=target.torque,
        angle=rest.angle,
        side=target.side,
        bench=bench,
        servo=servo,
        repeat=target.repeat,
        spread=rest.spread,
        fell=fell,
        when=datetime.now(UTC).astimezone().isoformat(timespec="seconds"),
        **known,
    )


class RestFinder:
    """Tells each new rest once."""

    def __init__(self, position_step: float, time: float) -> None:
        """position_step: the encoder's [rad]; time: how long the pendulum has to stay [s]."""
        self.steadiness = Steadiness(position_step, time)
        self._free = True
        self._moved = False
        self._last = math.nan
        self._span = (math.nan, math.nan)

    @property
    def settled(self) -> bool:
        """Whether the pendulum has come to rest since `restart`."""
        return math.isfinite(self._last)

    @property
    def level(self) -> float:
        """How steady the pendulum is without a hand, 0 … 1."""
        return self.steadiness.level if self._free else 0.0

    def restart(self) -> None:
        """Take the next rest as the place a hand begins from, not as a candidate."""
        self.steadiness.clear()
        self._moved, self._last = False, math.nan

    def expect_move(self) -> None:
        """Take the next rest as a candidate only if the pendulum is moved from where it rests now."""
        self._moved = False

    def feed(self, time: float, position: float, free: bool) -> Rest | None:
        """Take a sample [s, rad] and return a rest that is new; free: no hand is known to hold the pendulum."""
        steadiness = self.steadiness
        if free and not self._free:
            # What stood still in the hand still has to prove that it stays without it.
            steadiness.clear()
            self._span = (position, position)
        self._free = free
        steadiness.feed(time, position)
        if free and math.isfinite(position):
            self._span = min(position, self._span[0]), max(position, self._span[1])
        if abs(position - self._last) > steadiness.band:
            self._moved = True
        if not (free and steadiness.steady):
            return None
        if not self.settled:
            self._last = steadiness.angle
        if not self._moved:
            self._span = (position, position)
            return None
        rest = self.now()
        self._moved, self._last = False, steadiness.angle
        self._span = (position, position)
        return rest

    def now(self) -> Rest | None:
        """Where the pendulum rests at this moment; None while it moves."""
        steadiness = self.steadiness
        return (
            Rest(steadiness.angle, steadiness.spread, self._span, self._last)
            if steadiness.steady and self._free
            else None
        )
