"""Search for one extreme: each rest of the pendulum is a candidate, and the outermost one is the point.

A rest counts if the pendulum was moved since the previous rest, was released, and then stayed where it is. The window,
`bench place` and the tests share this module.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from core.motion.recording import RunHeader
from core.practice.placement import DRIVE, PlacedPoint, Side, Steadiness
from core.servo.bench import Bench
from sessions.servo_kind import kind_of

DOCUMENT = "placed_points"
"""Name of the session's document with the points."""
HOLD_NAME = "hold"
"""Trajectory name in the header of a placement."""
SAME_TORQUE = 1e-6
"""Tolerance of a held torque [N·m]."""
READINGS = ("supply_voltage", "current", "temperature")
"""Servo readings that are stored with a point."""


@dataclass(frozen=True)
class Target:
    """One extreme to find."""

    torque: float
    """Held motor torque [N·m]."""
    repeat: int
    side: Side

    @property
    def place(self) -> str:
        """Name of the extreme for the user."""
        return "lowest" if self.side == DRIVE else "highest"

    @property
    def outwards(self) -> float:
        """Sign of the servo's angle towards this extreme."""
        lifting = math.copysign(1.0, self.torque)
        return -lifting if self.side == DRIVE else lifting

    def matches(self, point: PlacedPoint) -> bool:
        """Return whether a point is this extreme."""
        return (round(point.motor_torque, 9), point.repeat, point.side) == (
            round(self.torque, 9),
            self.repeat,
            self.side,
        )

    def outermost(self, one: PlacedPoint, other: PlacedPoint) -> PlacedPoint:
        """Return the outer one of two points, the first if they are equal."""
        return other if self.outwards * (other.angle - one.angle) > 0.0 else one


@dataclass(frozen=True)
class Rest:
    """Position at which the pendulum stayed."""

    angle: float
    """Mean position [rad]."""
    spread: float
    """Variation of the position [rad]."""
    span: tuple[float, float] = (math.nan, math.nan)
    """Lowest and highest position since the previous rest, or since the hand released the pendulum [rad]."""
    before: float = math.nan
    """Position of the previous rest [rad]."""

    def refusal(self, torque: float, bench: Bench) -> str:
        """Return why this is not a point of the diagram, as a message; empty if it is one."""
        elevation = math.copysign(1.0, torque) * (self.angle + bench.angle_offset)
        if elevation >= 0.5 * math.pi:
            return "beyond horizontal, gravity decreases again; hold a smaller torque or hang more mass on the rod"
        if elevation <= 0.0:
            return (
                "it rests on the other side of the lowest position: friction alone holds this torque; hold a larger one"
            )
        return ""


class Falls:
    """Angles from which the pendulum fell during the search for one extreme: released there, it rested further in."""

    def __init__(self, target: Target) -> None:
        self._outwards = target.outwards
        self._angles: list[float] = []

    def note(self, rest: Rest, band: float) -> bool:
        """Return whether the pendulum fell to this rest by more than a band [rad], and store the angle."""
        # A fall leaves both the previous and the new rest further in than the outermost position between them.
        outermost = rest.span[0] if self._outwards < 0.0 else rest.span[1]
        fell = all(self._outwards * (outermost - angle) > band for angle in (rest.angle, rest.before))
        if fell:
            self._angles.append(outermost)
        return fell

    def note_last(self, span: tuple[float, float]) -> None:
        """Store a fall that ended the hold; span: lowest and highest position since the previous rest [rad]."""
        outermost = span[0] if self._outwards < 0.0 else span[1]
        if math.isfinite(outermost):
            self._angles.append(outermost)

    def beyond(self, angle: float) -> float | None:
        """Return the nearest fall beyond an angle [rad]; None if there was none."""
        beyond = [fall for fall in self._angles if self._outwards * (fall - angle) > 0.0]
        return min(beyond, key=lambda fall: abs(fall - angle), default=None)


def placed_point(
    target: Target, rest: Rest, header: RunHeader, readings: dict[str, float], fell: float | None = None
) -> PlacedPoint:
    """Convert a rest into a point of the session.

    Args:
        target: Extreme that was found.
        rest: Rest of the pendulum.
        header: Bench and servo of the measurement, signed by the servo.
        readings: Current readings of the servo, NaN if it reports none.
        fell: Nearest angle beyond from which the pendulum fell [rad].
    """
    known: dict[str, Any] = {name: value for name, value in readings.items() if math.isfinite(value)}
    return PlacedPoint(
        motor_torque=target.torque,
        angle=rest.angle,
        side=target.side,
        bench=header.bench,
        servo=header.settings.servo,
        kind=kind_of(header.settings, header.provenance),
        repeat=target.repeat,
        spread=rest.spread,
        fell=fell,
        when=datetime.now(UTC).astimezone().isoformat(timespec="seconds"),
        **known,
    )


class RestFinder:
    """Detects rests of the pendulum and returns each new one once."""

    def __init__(self, position_step: float, time: float) -> None:
        """Start a search; position_step: resolution of the encoder [rad], time: minimum duration of a rest [s]."""
        self.steadiness = Steadiness(position_step, time)
        self._free = True
        self._moved = False
        self._last = math.nan
        self._span = (math.nan, math.nan)

    @property
    def span(self) -> tuple[float, float]:
        """Lowest and highest position of the free pendulum since the previous rest [rad]; NaN if unknown."""
        return self._span

    @property
    def settled(self) -> bool:
        """True if the pendulum has come to rest since `restart`."""
        return math.isfinite(self._last)

    @property
    def level(self) -> float:
        """Steadiness of the free pendulum, 0 … 1."""
        return self.steadiness.level if self._free else 0.0

    def restart(self) -> None:
        """Use the next rest as the start of a movement, not as a candidate."""
        self.steadiness.clear()
        self._moved, self._last = False, math.nan

    def expect_move(self) -> None:
        """Accept the next rest as a candidate only if the pendulum moves away from its current position first."""
        self._moved = False

    def feed(self, time: float, position: float, free: bool) -> Rest | None:
        """Process a sample [s, rad] and return a new rest, if any; free: False while a hand holds the pendulum."""
        steadiness = self.steadiness
        if free and not self._free:
            # Standing still in the hand proves nothing; the pendulum must stay after its release.
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
        """Return the current rest; None while the pendulum moves."""
        steadiness = self.steadiness
        return (
            Rest(steadiness.angle, steadiness.spread, self._span, self._last)
            if steadiness.steady and self._free
            else None
        )
