"""Points of a drive/backdrive diagram placed by hand on the pendulum (seed 004, section II-C and Fig. 3).

The servo holds a motor torque τ_m while the user moves the pendulum and lets go. Friction keeps it in place where

    |drive torque(τ_m)| ≤ G·|sin(θ + θ₀)| ≤ |backdrive torque(τ_m)|,   G the gravity torque of the bench.

The lowest angle at which it still rests therefore gives the drive torque, the highest the backdrive torque. Beyond 90°
the external torque falls again, so both angles have to stay below. This module defines placed points and when a
pendulum counts as at rest. It suggests torques that a bench can balance, and compares points with a model.
"""

from __future__ import annotations

import math
import uuid
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from core.base.arrays import Array
from core.base.errors import InputError
from core.base.guards import is_finite, is_object
from core.practice.diagram import backdrive_torque, drive_torque, reachable_torque
from core.servo.bench import Bench
from core.servo.catalogue import ServoSpec
from core.servo.model import ServoModel

DRIVE, BACKDRIVE = "drive", "backdrive"
Side = Literal["drive", "backdrive"]
SIDES: tuple[Side, Side] = (DRIVE, BACKDRIVE)
"""Boundaries: the lowest angle of rest lies on the drive boundary, the highest on the backdrive boundary."""

REST_BAND = 0.001
"""A pendulum at rest stays within this band [rad], or within BAND_STEPS encoder steps if those are coarser."""
BAND_STEPS = 2.5
REST_TIME = 0.6
"""Time for which it has to stay there [s]."""

LOWEST_ANGLE = math.radians(3.0)
HIGHEST_ANGLE = math.radians(75.0)
"""Suggested torques have both extremes between these angles, so that both can be placed and read."""
GRID = 400
_NICE = (1.0, 2.0, 2.5, 5.0, 10.0)

FORMAT = "servobench-placed-points"
FORMAT_VERSION = 3
"""Version 2 adds the angle from which the pendulum fell, version 3 the kind of servo."""
DISAGREEMENT = 3.0
"""A point further from a model than this many standard deviations is marked."""
ASSUMED_ERROR = 0.02
"""Error assumed for a model that states none [rad]."""


@dataclass(frozen=True, kw_only=True)
class PlacedPoint:
    """An extreme at which the pendulum still rested. Readings that a servo does not provide are None."""

    motor_torque: float
    """Motor torque held by the servo [N·m]."""
    angle: float
    """Angle reported by the servo [rad]."""
    side: Side
    bench: Bench
    servo: str
    """Catalogue name."""
    kind: str = ""
    """Kind of servo, see `sessions.servo_kind.kind_of`; empty for points of versions that did not note it."""
    repeat: int = 1
    """Number of this measurement of the extreme, from 1."""
    spread: float = 0.0
    """Difference between the highest and lowest position while it rested [rad]."""
    fell: float | None = None
    """Nearest angle beyond, as reported by the servo, from which the pendulum fell back [rad].

    The boundary lies between `angle` and this one. None if no fall was seen.
    """
    supply_voltage: float | None = None
    """Supply voltage [V]."""
    current: float | None = None
    """Motor current [A]."""
    temperature: float | None = None
    """Temperature [°C]."""
    when: str = ""
    """Time of the measurement, ISO 8601 with zone."""
    uid: str = field(default_factory=lambda: str(uuid.uuid4()))

    def __post_init__(self) -> None:
        for name in ("motor_torque", "angle", "spread"):
            _require_number(name, getattr(self, name))
        for name in ("fell", "supply_voltage", "current", "temperature"):
            if getattr(self, name) is not None:
                _require_number(name, getattr(self, name))
        if self.side not in SIDES:
            raise InputError(f"placed point: side {self.side!r} is not one of {', '.join(SIDES)}")
        _require_count("repeat", self.repeat)
        for name in ("servo", "kind", "when", "uid"):
            if not isinstance(getattr(self, name), str):
                raise InputError(f"placed point: {name} = {getattr(self, name)!r} is not a text")
        if not self.servo or not self.uid:
            raise InputError("placed point: servo and uid must not be empty")
        if self.motor_torque == 0.0:
            raise InputError(
                "placed point: at a motor torque of 0 N·m there is no drive direction; hold another torque"
            )

    @property
    def external_torque(self) -> float:
        """Gravity torque at this angle [N·m], with the bench's own angle offset."""
        return self.bench.external_torque(self.angle)

    @property
    def error(self) -> float:
        """Largest distance of the boundary from the middle of the measured range [rad]."""
        return max(self.spread, 0.0 if self.fell is None else 0.5 * abs(self.fell - self.angle))

    @property
    def elevation(self) -> float:
        """Angle from hanging down, positive in the direction in which the motor lifts [rad]."""
        return math.copysign(1.0, self.motor_torque) * (self.angle + self.bench.angle_offset)

    def to_json(self) -> dict[str, Any]:
        """Return plain data for a file; absent readings are left out."""
        data = {name: value for name, value in self.__dict__.items() if value not in (None, "")}
        return {**data, "bench": self.bench.to_json(), "external_torque": self.external_torque}

    @classmethod
    def from_json(cls, data: object) -> PlacedPoint:
        """Read the data of `to_json`.

        Raises:
            InputError: A name is unknown or missing, or a value is wrong.
        """
        if not is_object(data):
            raise InputError(f"placed point: {data!r} is not a JSON object")
        values = dict(data)
        stated = values.pop("external_torque", None)
        bench = values.get("bench")
        if not is_object(bench):
            raise InputError("placed point: bench is missing")
        try:
            values["bench"] = Bench.from_json(dict(bench))
            point = cls(**values)
        except TypeError as error:
            raise InputError(f"placed point: {error}") from None
        if stated is not None:
            _require_number("external_torque", stated)
            if not math.isclose(stated, point.external_torque, rel_tol=1e-6, abs_tol=1e-9):
                raise InputError(
                    f"placed point: an external torque of {stated} N·m does not fit its angle and bench, which give "
                    f"{point.external_torque:.6g} N·m"
                )
        return point


def points_to_json(points: Sequence[PlacedPoint]) -> dict[str, Any]:
    """Return the points as a session stores them; earlier versions read points without a kind or a fall."""
    version = 3 if any(point.kind for point in points) else 2 if any(point.fell is not None for point in points) else 1
    return {"format": FORMAT, "version": version, "points": [point.to_json() for point in points]}


def points_from_json(data: Any) -> tuple[PlacedPoint, ...]:
    """Read the data of `points_to_json`; None gives no points.

    Raises:
        InputError: The data are not placed points, or are of a later version.
    """
    if data is None:
        return ()
    if not is_object(data) or data.get("format") != FORMAT or not isinstance(data.get("points"), list):
        raise InputError("placed points: this is not a list of placed points")
    version = data.get("version")
    if not isinstance(version, int) or version > FORMAT_VERSION:
        raise InputError(f"placed points: format version {version!r} cannot be read; update this program")
    return tuple(PlacedPoint.from_json(point) for point in data["points"])


def _require_number(name: str, value: Any) -> None:
    if not is_finite(value):
        raise InputError(f"placed point: {name} = {value!r} is not a finite number")


def _require_count(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InputError(f"placed point: {name} {value!r} is not a whole number of at least 1")


class Steadiness:
    """Detect from positions, as they arrive, whether a pendulum rests.

    It rests when its position has stayed within a band for some time. The band is wider than the flicker of an encoder
    between neighbouring steps, and much narrower than a movement by hand.
    """

    def __init__(self, position_step: float = 0.0, time: float = REST_TIME) -> None:
        """Start without samples.

        Args:
            position_step: Encoder step [rad], 0 if unknown.
            time: Time for which the pendulum has to stay in the band [s].
        """
        if not (math.isfinite(time) and time > 0.0):
            raise InputError(f"a pendulum cannot rest for {time} s; choose a time above 0")
        self.band = max(REST_BAND, BAND_STEPS * position_step)
        """Largest spread of the positions of a pendulum at rest [rad]."""
        self.time = time
        """Time in the band after which the pendulum rests [s]."""
        self._samples: deque[tuple[float, float]] = deque()
        # Candidates for the extremes of the samples, oldest first: rising positions and falling positions.
        self._lowest: deque[tuple[float, float]] = deque()
        self._highest: deque[tuple[float, float]] = deque()

    def clear(self) -> None:
        """Forget all samples."""
        for line in (self._samples, self._lowest, self._highest):
            line.clear()

    def feed(self, time: float, position: float) -> None:
        """Take a sample [s, rad]; one that is not finite or older than the last is ignored."""
        if not (math.isfinite(time) and math.isfinite(position)) or (self._samples and time <= self._samples[-1][0]):
            self.clear()
            return
        sample = (time, position)
        self._samples.append(sample)
        while self._lowest and self._lowest[-1][1] >= position:
            self._lowest.pop()
        while self._highest and self._highest[-1][1] <= position:
            self._highest.pop()
        self._lowest.append(sample)
        self._highest.append(sample)
        while self.spread > self.band or (len(self._samples) > 2 and time - self._samples[1][0] >= self.time):
            gone = self._samples.popleft()
            for line in (self._lowest, self._highest):
                if line[0] is gone:
                    line.popleft()

    @property
    def level(self) -> float:
        """Progress towards rest: 0 while it moves, 1 once it has rested long enough, else the share of the time."""
        if len(self._samples) < 2:
            return 0.0
        return min(1.0, (self._samples[-1][0] - self._samples[0][0]) / self.time + 1e-9)

    @property
    def steady(self) -> bool:
        """True if the pendulum rests."""
        return self.level >= 1.0

    @property
    def spread(self) -> float:
        """Difference between the highest and lowest position while it stayed in the band [rad]."""
        return self._highest[0][1] - self._lowest[0][1] if self._samples else 0.0

    @property
    def angle(self) -> float:
        """Median position while it stayed in the band [rad]; NaN before the first sample."""
        if not self._samples:
            return math.nan
        return float(np.median([position for _, position in self._samples]))


def boundary_torque(model: ServoModel, motor_torque: float, side: Side) -> float:
    """Return a model's drive or backdrive torque at standstill [N·m]; NaN and infinite as in `practice.diagram`."""
    return float((drive_torque if side == DRIVE else backdrive_torque)(model, motor_torque))


def expected_angles(model: ServoModel, bench: Bench, motor_torque: float) -> tuple[float, float]:
    """Return the lowest and highest angle at which a model's pendulum rests [rad], as reported by the servo.

    The lowest is NaN if friction holds even the unloaded shaft. The highest is NaN if not even a horizontal arm moves
    the servo back.
    """
    sign = math.copysign(1.0, motor_torque)
    offset = bench.angle_offset + model.values.get("q_offset", 0.0)
    angles: list[float] = []
    for side in SIDES:
        needed = abs(boundary_torque(model, motor_torque, side))
        rests = bench.gravity_torque > 0.0 and needed <= bench.gravity_torque
        angles.append(sign * math.asin(needed / bench.gravity_torque) - offset if rests else math.nan)
    return angles[0], angles[1]


def placement_residuals(model: ServoModel, points: Sequence[PlacedPoint]) -> Array:
    """Return the external torque of each point beyond the model's boundary [N·m], (n,).

    Positive: the real servo still moves (drive) or still holds (backdrive) where the model's does not. The model's own
    angle offset is added to the bench's. NaN where the model has no such boundary, −inf where it locks itself.
    """
    expected = np.array([abs(boundary_torque(model, point.motor_torque, point.side)) for point in points])
    return nearest_torques(points, expected, model.values.get("q_offset", 0.0)) - expected


def nearest_torques(points: Sequence[PlacedPoint], expected: Array, offset: float) -> Array:
    """Return the possible external torque of each point that is nearest to an expected one [N·m], (n,).

    A point without a fall has only the torque of its angle. A point with a fall has all torques from its last rest to
    its first fall.

    Args:
        points: The points.
        expected: Expected external torques [N·m], (n,).
        offset: Angle offset in addition to the bench's [rad].
    """

    def torques(angles: Sequence[float]) -> Array:
        pairs = zip(points, angles, strict=True)
        return np.array([abs(point.bench.external_torque(angle + offset)) for point, angle in pairs])

    rested = torques([point.angle for point in points])
    fell = torques([point.angle if point.fell is None else point.fell for point in points])
    return np.clip(expected, np.minimum(rested, fell), np.maximum(rested, fell))


def disagreement(model: ServoModel, point: PlacedPoint) -> float:
    """Return the distance of a point from a model's boundary in standard deviations; infinite without a boundary."""
    stated = model.provenance.get("validation_mae")
    own = stated if is_finite(stated) and stated > 0.0 else ASSUMED_ERROR
    angle = abs(float(placement_residuals(model, [point])[0])) / max(point.bench.gravity_torque, 1e-9)
    return angle / math.hypot(own, point.error) if math.isfinite(angle) else math.inf


@dataclass(frozen=True)
class TorqueSuggestion:
    """Motor torques that are worth holding on a bench."""

    torques: tuple[float, ...]
    """Motor torques [N·m], rising; empty if the bench can balance none."""
    reason: str
    """Reason for these torques, or for their absence, as text."""


def suggest_torques(servo: ServoModel | ServoSpec, bench: Bench, count: int = 5) -> TorqueSuggestion:
    """Suggest about `count` motor torques whose extremes both lie well between hanging down and horizontal.

    A catalogue entry in place of a model gives no friction; the middle of the bench's range is then used.
    """
    gravity = bench.gravity_torque
    if isinstance(servo, ServoSpec):
        lowest, highest = 0.2 * gravity, min(0.6 * gravity, servo.stall_torque)
        if not lowest < highest:
            return TorqueSuggestion((), _too_light_or_heavy(gravity, servo.stall_torque))
        return TorqueSuggestion(
            _round_values(lowest, highest, count),
            f"20 to 60 % of the gravity torque of {gravity:.3g} N·m; no model yet gives the width due to friction",
        )
    torques = np.linspace(0.0, min(reachable_torque(servo), gravity), GRID + 1)[1:]
    drive, backdrive = np.abs(drive_torque(servo, torques)), np.abs(backdrive_torque(servo, torques))
    possible = torques[(drive >= gravity * math.sin(LOWEST_ANGLE)) & (backdrive <= gravity * math.sin(HIGHEST_ANGLE))]
    if not len(possible):
        return TorqueSuggestion((), _no_balance(gravity, float(backdrive[0]), reachable_torque(servo)))
    return TorqueSuggestion(
        _round_values(float(possible[0]), float(possible[-1]), count),
        f"with {servo.title} the pendulum rests at both extremes between {possible[0]:.3g} and {possible[-1]:.3g} N·m",
    )


def _no_balance(gravity: float, unloaded: float, peak: float) -> str:
    if unloaded >= gravity * math.sin(HIGHEST_ANGLE):
        return (
            f"the load is too light: its gravity torque of {gravity:.3g} N·m does not overcome friction; "
            "hang more mass on it or make the rod longer"
        )
    return (
        f"no motor torque up to {min(peak, gravity):.3g} N·m has both extremes between hanging and horizontal; "
        "hang more mass on it or make the rod longer"
    )


def _too_light_or_heavy(gravity: float, stall: float) -> str:
    if gravity <= 0.0:
        return "there is no load on the bench; hang one on it"
    return (
        f"the load's gravity torque of {gravity:.3g} N·m is too much for a servo of {stall:.3g} N·m; "
        "hang less mass on it or make the rod shorter"
    )


def _round_values(lowest: float, highest: float, count: int) -> tuple[float, ...]:
    """Return about `count` round numbers between two values, at least one."""
    if highest > lowest:
        decade = 10.0 ** math.floor(math.log10((highest - lowest) / count))
        for step in (decade * nice for nice in _NICE):
            values = range(math.ceil(lowest / step - 1e-9), math.floor(highest / step + 1e-9) + 1)
            if 0 < len(values) <= count + 1:
                return tuple(round(k * step, 9) for k in values)
    return (float(f"{0.5 * (lowest + highest):.3g}"),)


def redone(points: Sequence[PlacedPoint], point: PlacedPoint) -> tuple[PlacedPoint, ...]:
    """Return the points with a new one, which replaces an earlier measurement of the same extreme."""
    return (*(old for old in points if not same_extreme(old, point)), point)


def same_extreme(one: PlacedPoint, other: PlacedPoint) -> bool:
    """Return True if two points are the same extreme on the same bench with the same repeat number."""
    return _extreme(one) == _extreme(other)


def _extreme(point: PlacedPoint) -> tuple[Any, ...]:
    return (point.servo, replace(point.bench), round(point.motor_torque, 9), point.side, point.repeat)
