"""Setup of the bench: load, gains, direction and rate of the next runs.

`edit_…` methods are for edits of the user, which can be undone; `set_…` methods are for the program.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QUndoStack

from bench_gui.undo import change
from core.base.errors import InputError
from core.base.guards import is_finite
from core.motion.recording import DIRECTIONS, RunHeader, run_header
from core.motion.trajectories import Trajectory
from core.servo.bench import Bench
from core.servo.catalogue import ServoSpec
from core.servo.settings import ServoSettings
from drivers.simulated.servo import starting_bench

RATE = 200.0
"""Default sample rate [Hz]."""
LARGEST_GAIN = 10_000.0


@dataclass(frozen=True)
class Gains:
    """Gains of the servo's position law, in the servo's units."""

    kp: float
    ki: float = 0.0
    kd: float = 0.0
    damping: float | None = None
    """Velocity gain of laws with one; None: the catalogue's."""

    @classmethod
    def of(cls, settings: ServoSettings) -> Gains:
        """Return the gains of a servo's settings."""
        return cls(settings.kp, settings.ki, settings.kd, settings.damping)

    @classmethod
    def from_json(cls, data: Any) -> Gains:
        """Invert `dataclasses.asdict`; raise InputError for invalid data."""
        try:
            gains = cls(**data)
        except TypeError as error:
            raise InputError(f"gains: {error}") from None
        for value in (gains.kp, gains.ki, gains.kd, gains.damping or 0.0):
            if not is_finite(value) or not 0.0 <= value < 1e9:
                raise InputError(f"gains: {value!r} is not a number of at least 0")
        return gains

    def settings(self, spec: ServoSpec) -> ServoSettings:
        """Return the settings for the drivers."""
        return ServoSettings(servo=spec.name, supply_voltage=spec.supply_voltage, **asdict(self))


@dataclass(frozen=True)
class Hanging:
    """Load, mounting and gains."""

    bench: Bench
    gains: Gains
    direction: int = 1


class BenchSetup(QObject):
    """Bench setup shared by all views.

    Angles of the bench and of the servo differ by the mounting. The bench angle is 0 at the lowest point and increases
    counter-clockwise as seen by the user; the servo angle is what the servo reports and receives. The direction changes
    only the drawing, not what is recorded or identified, since a pendulum is the same from either side.
    """

    changed = Signal()

    def __init__(self, spec: ServoSpec, undo: QUndoStack | None = None) -> None:
        """Create the setup; undo: stack for edits of the user."""
        super().__init__()
        self._undo = QUndoStack(self) if undo is None else undo
        self.spec = spec
        self.rate = RATE
        self._now = _suitable(spec)

    @property
    def now(self) -> Hanging:
        """Current load, mounting and gains."""
        return self._now

    @property
    def bench(self) -> Bench:
        """Current bench."""
        return self._now.bench

    @property
    def gains(self) -> Gains:
        """Gains written to the servo with each run."""
        return self._now.gains

    @property
    def kp(self) -> float:
        """Position gain in the servo's units."""
        return self._now.gains.kp

    @property
    def direction(self) -> int:
        """One of DIRECTIONS."""
        return self._now.direction

    @property
    def settings(self) -> ServoSettings:
        """Settings written to the servo with each run."""
        return self.gains.settings(self.spec)

    def bench_angle(self, servo_angle: float) -> float:
        """Return the angle from the lowest point, counter-clockwise positive as seen by the user [rad]."""
        return self.direction * (servo_angle + self.bench.angle_offset)

    def servo_angle(self, bench_angle: float) -> float:
        """Invert `bench_angle` [rad]."""
        return self.direction * bench_angle - self.bench.angle_offset

    # For the program.

    def suit(self, spec: ServoSpec) -> None:
        """Set the gains of another servo, and its typical load, undoably, unless the user entered one."""
        if spec.name != self.spec.name:
            untouched = self.bench == _suitable(self.spec).bench
            self.spec = spec
            self._now = replace(self._now, gains=_suitable(spec).gains)
            self.changed.emit()
            if untouched:
                self.edit_typical_load()

    def take(self, hanging: Hanging) -> None:
        """Replace load, mounting and gains, e.g. by the last ones."""
        if hanging != self._now:
            self._now = hanging
            self.changed.emit()

    def set_bench(self, **values: float | None) -> None:
        """Change fields of the bench, SI units; raise InputError for impossible values."""
        self.take(replace(self._now, bench=replace(self.bench, **values)))

    def set_kp(self, kp: float) -> None:
        """Change the position gain, in the servo's units."""
        self.set_gains(replace(self.gains, kp=kp))

    def set_rate(self, rate: float) -> None:
        """Change the rate of the next runs [Hz]; raise InputError unless it is positive."""
        if not is_finite(rate) or rate <= 0.0:
            raise InputError(f"a rate of {rate!r} Hz is not possible; give a positive number")
        if rate != self.rate:
            self.rate = rate
            self.changed.emit()

    def set_gains(self, gains: Gains) -> None:
        """Change the gains of the next runs."""
        self.take(replace(self._now, gains=gains))

    # For the user.

    def edit_bench(self, text: str, **values: float | None) -> None:
        """Change fields of the bench; text: name of the undo step. Raises InputError for impossible values."""
        replace(self.bench, **values)
        before = {name: getattr(self.bench, name) for name in values}
        key = f"bench {' '.join(values)}"
        change(self._undo, text, lambda some: self.set_bench(**some), before, values, key)

    def edit_new(self) -> None:
        """Start another bench: typical load and gains of the servo, and no measured zero."""
        self.edit_all("new bench", _suitable(self.spec))

    def edit_typical_load(self) -> None:
        """Set the typical load of the servo and keep the mounting."""
        usual = _suitable(self.spec).bench
        load = ("mass", "length", "arm_mass", "measured_inertia", "measured_gravity_torque")
        self.edit_bench("typical load", **{name: getattr(usual, name) for name in load})

    def edit_kp(self, kp: float) -> None:
        """Change the gain of the next runs."""
        servo = self.spec.name
        change(self._undo, "gain", lambda value: self._set_kp_of(servo, value), self.kp, kp, "bench kp")

    def edit_rate(self, rate: float) -> None:
        """Change the rate of the next runs [Hz]."""
        change(self._undo, "rate", self.set_rate, self.rate, rate, "bench rate")

    def edit_direction(self, direction: int) -> None:
        """Set the direction in which the pendulum turns when the servo's angle increases; raise InputError."""
        if direction not in DIRECTIONS:
            raise InputError(f"a direction of {direction!r} is not possible; it is 1 or −1")
        change(
            self._undo,
            "direction",
            lambda value: self.take(replace(self._now, direction=value)),
            self.direction,
            direction,
        )

    def edit_all(self, text: str, hanging: Hanging) -> None:
        """Replace load, mounting and gains, e.g. by a preset."""
        change(self._undo, text, self.take, self._now, hanging)

    # Run header.

    def header(self, trajectory: Trajectory, address: str) -> RunHeader:
        """Return the header of a run of a trajectory with the servo at an address."""
        return run_header(trajectory, self.bench, self.settings, self.rate, address, self.direction)

    # Internals.

    def _set_kp_of(self, servo: str, kp: float) -> None:
        # Gains are in servo units: undoing an edit made for another servo must not change this one.
        if self.spec.name == servo:
            self.set_kp(kp)


def _suitable(spec: ServoSpec) -> Hanging:
    bench = starting_bench(spec)
    bench = replace(bench, mass=round(bench.mass, 2) or round(bench.mass, 4))
    return Hanging(bench, Gains(spec.default_kp))
