"""The bench as it is set up: load, gains, direction and rate of the next runs.

`set_…` is for the program, `edit_…` for a person: the same, but it can be undone.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QUndoStack

from bench_gui.headless.run_header import DIRECTIONS, run_header
from bench_gui.undo import change
from core.bench import Bench
from core.catalogue import ServoSpec
from core.errors import InputError
from core.finite import is_finite
from core.recording import RunHeader, ServoSettings
from core.trajectories import Trajectory
from drivers.simulated.servo import starting_bench

RATE = 200.0
"""[Hz]"""
LARGEST_GAIN = 10_000.0


@dataclass(frozen=True)
class Gains:
    """Gains of the servo's position law, in its own units."""

    kp: float
    ki: float = 0.0
    kd: float = 0.0
    damping: float | None = None
    """Velocity gain of laws that have one; None: the catalogue's."""

    @classmethod
    def of(cls, settings: ServoSettings) -> Gains:
        """Those among a servo's settings."""
        return cls(settings.kp, settings.ki, settings.kd, settings.damping)

    @classmethod
    def from_json(cls, data: Any) -> Gains:
        """Inverse of `dataclasses.asdict`; raises InputError."""
        try:
            gains = cls(**data)
        except TypeError as error:
            raise InputError(f"gains: {error}") from None
        for value in (gains.kp, gains.ki, gains.kd, gains.damping or 0.0):
            if not is_finite(value) or not 0.0 <= value < 1e9:
                raise InputError(f"gains: {value!r} is no number of at least 0")
        return gains

    def settings(self, spec: ServoSpec) -> ServoSettings:
        """As the drivers take them."""
        return ServoSettings(servo=spec.name, supply_voltage=spec.supply_voltage, **asdict(self))


@dataclass(frozen=True)
class Hanging:
    """What hangs on the servo, how it is mounted, and the gains it is moved with."""

    bench: Bench
    gains: Gains
    direction: int = 1


class BenchSetup(QObject):
    """What every view shows and edits of the bench; one place, so that they agree.

    Angles of the servo and of the bench differ by the mounting: a bench's angle is 0 at the lowest point and grows
    counter-clockwise for whoever stands before it, a servo's is what it reports and is told. Seen from its other side
    a pendulum is the same pendulum: the direction changes what is drawn, not what is recorded or identified.
    """

    changed = Signal()

    def __init__(self, spec: ServoSpec, undo: QUndoStack | None = None) -> None:
        """undo: where a person's edits are noted."""
        super().__init__()
        self._undo = QUndoStack(self) if undo is None else undo
        self.spec = spec
        self.rate = RATE
        self._now = _suitable(spec)

    @property
    def now(self) -> Hanging:
        """All of it."""
        return self._now

    @property
    def bench(self) -> Bench:
        """What hangs on the servo."""
        return self._now.bench

    @property
    def gains(self) -> Gains:
        """What is written into the servo with each run."""
        return self._now.gains

    @property
    def kp(self) -> float:
        """The position gain, in the servo's own units."""
        return self._now.gains.kp

    @property
    def direction(self) -> int:
        """One of DIRECTIONS."""
        return self._now.direction

    @property
    def settings(self) -> ServoSettings:
        """What is written into the servo with each run, as the drivers take it."""
        return self.gains.settings(self.spec)

    def bench_angle(self, servo_angle: float) -> float:
        """Angle from the lowest point, counter-clockwise positive for whoever looks [rad]."""
        return self.direction * (servo_angle + self.bench.angle_offset)

    def servo_angle(self, bench_angle: float) -> float:
        """Inverse of `bench_angle` [rad]."""
        return self.direction * bench_angle - self.bench.angle_offset

    # For the program.

    def suit(self, spec: ServoSpec) -> None:
        """Take over the gains that suit another servo, and its typical load where nobody entered another."""
        if spec.name != self.spec.name:
            untouched = self.bench == _suitable(self.spec).bench
            usual = _suitable(spec)
            self.spec = spec
            self.take(replace(usual if untouched else replace(usual, bench=self.bench), direction=self.direction))

    def take(self, hanging: Hanging) -> None:
        """Take over everything, e.g. what hung there last."""
        if hanging != self._now:
            self._now = hanging
            self.changed.emit()

    def set_bench(self, **values: float | None) -> None:
        """Change fields of the bench, SI units. Raises InputError for what no bench can be."""
        self.take(replace(self._now, bench=replace(self.bench, **values)))

    def set_kp(self, kp: float) -> None:
        """Change the position gain, in the servo's own units."""
        self.set_gains(replace(self.gains, kp=kp))

    def set_rate(self, rate: float) -> None:
        """Change the rate of the next runs [Hz]. Raises InputError for one that is not possible."""
        if not is_finite(rate) or rate <= 0.0:
            raise InputError(f"a rate of {rate!r} Hz is not possible; give a positive number")
        if rate != self.rate:
            self.rate = rate
            self.changed.emit()

    def set_gains(self, gains: Gains) -> None:
        """Change the gains of the next runs."""
        self.take(replace(self._now, gains=gains))

    # For a person.

    def edit_bench(self, text: str, **values: float | None) -> None:
        """Change fields of the bench; text: what is undone. Raises InputError for what no bench can be."""
        replace(self.bench, **values)
        before = {name: getattr(self.bench, name) for name in values}
        key = f"bench {' '.join(values)}"
        change(self._undo, text, lambda some: self.set_bench(**some), before, values, key)

    def edit_new(self) -> None:
        """Begin with another bench: the servo's typical load and gains, the zero not measured."""
        self.edit_all("new bench", _suitable(self.spec))

    def edit_typical_load(self) -> None:
        """Hang what is usual for the servo; how it is mounted stays."""
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
        """Say which way the pendulum turns when the servo's angle grows; raises InputError."""
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
        """Take over everything, e.g. a preset."""
        change(self._undo, text, self.take, self._now, hanging)

    # Of a run.

    def header(self, trajectory: Trajectory, address: str) -> RunHeader:
        """What is known about a run of a trajectory, at the servo of an address, before its first sample."""
        return run_header(trajectory, self.bench, self.settings, self.rate, address, self.direction)

    # Behind the scenes.

    def _set_kp_of(self, servo: str, kp: float) -> None:
        # Gains are in a servo's own units: undoing an edit for another one must not reach this one.
        if self.spec.name == servo:
            self.set_kp(kp)


def _suitable(spec: ServoSpec) -> Hanging:
    bench = starting_bench(spec)
    bench = replace(bench, mass=round(bench.mass, 2) or round(bench.mass, 4))
    return Hanging(bench, Gains(spec.default_kp))
