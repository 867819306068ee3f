"""A servo for tests of the contract and the recorder: does what it is told at once, and writes down what was done.

Its log lives in anonymous shared memory, so that a test sees what happened in the recorder's process, even one whose
program was killed.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field
from multiprocessing import get_context

from core.servo.settings import ServoSettings
from drivers import timing
from drivers.clock import RealClock
from drivers.errors import BusError, DriverError, NoAnswer
from drivers.limits import Limits
from drivers.reading import Reading
from drivers.servo import PositionGoal, Servo, ServoIdentity, TorqueGoal

FIELDS = (
    "pid",
    "driven",
    "enables",
    "releases",
    "commands",
    "reads",
    "closes",
    "released_at",
    "blind_releases",
    "blind_releases_alone",
)


class FakeLog:
    """Integers by name, shared between processes; times are perf_counter nanoseconds, only for comparing."""

    def __init__(self) -> None:
        self._values = get_context("spawn").RawArray("q", len(FIELDS))

    def __getitem__(self, name: str) -> int:
        return self._values[FIELDS.index(name)]

    def __setitem__(self, name: str, value: int) -> None:
        self._values[FIELDS.index(name)] = value


@dataclass(frozen=True, kw_only=True)
class FakeSource:
    """What the fake servo does wrong, and when."""

    log: FakeLog = field(default_factory=FakeLog)
    fail_read: int = -1
    """From this driven read on the servo stays silent."""
    break_read: int = -1
    """From this driven read on the bus is broken."""
    lost_reads: tuple[int, ...] = ()
    """Driven reads with these numbers are not answered."""
    lost_idle_reads: tuple[int, ...] = ()
    """Reads of the released servo with these numbers are not answered."""
    mute: bool = False
    """Connecting fails."""
    jump: int = -1
    """From this driven read on the position is far outside the limits."""
    glitch: int = -1
    """At this driven read the position is wrong by 200 of 4096 counts of a turn."""
    shaking: bool = False
    """The position never rests."""
    failing_releases: int = 0
    """So many attempts to release raise."""
    speed: float = 1.0
    """Seconds of its clock in one of the machine's."""
    watchdog: float = 0.0
    """Time after which it stops on a silent bus [s]; 0 for none."""

    def open(self) -> FakeServo:
        return FakeServo(self)


@dataclass(frozen=True, kw_only=True)
class GuardedSource(FakeSource):
    """One whose servo can be released by somebody else."""

    deaf: int = 0
    """So many blind releases fail first."""
    failure: type[DriverError] = BusError
    """Error that they raise."""

    def release_blindly(self, alone: bool = False) -> None:
        self.log["blind_releases"] += 1
        self.log["blind_releases_alone"] += alone
        if self.log["blind_releases"] <= self.deaf:
            raise self.failure("fake servo 1: no blind release this time")
        self.log["driven"] = 0
        self.log["released_at"] = timing.now_ns()


class FakeServo(Servo):
    hazardous = False

    def __init__(self, source: FakeSource | None = None) -> None:
        super().__init__(Limits(speed=1000.0))
        self.source = source or FakeSource()
        self.log = self.source.log
        self.clock = RealClock(self.source.speed)
        self.position = 0.0
        self.sent: list[object] = []
        self._failing = self.source.failing_releases
        self._driven_reads = self._idle_reads = 0

    def _connect(self) -> None:
        if self.source.mute:
            raise NoAnswer("fake servo 1: no answer to the ping; check its power")
        self.log["pid"] = os.getpid()

    def _identify(self) -> ServoIdentity:
        return ServoIdentity(model="fake", title="Fake servo", position_step=0.001, watchdog=self.source.watchdog)

    def _configure(self, settings: ServoSettings) -> None:
        self.sent.append(settings)

    def _enable(self, goal: PositionGoal | TorqueGoal) -> None:
        self.log["driven"] = 1
        self.log["enables"] += 1
        self.sent.append("enable")

    def _command(self, goal: PositionGoal | TorqueGoal) -> None:
        self.log["commands"] += 1
        self.sent.append(goal)
        if isinstance(goal, PositionGoal):
            self.position = goal.position

    def _read(self) -> Reading:
        self.log["reads"] += 1
        position = self.position
        if self.log["driven"]:
            self._driven_reads += 1
            if 0 <= self.source.break_read <= self._driven_reads:
                raise BusError("fake servo 1: the bus is broken; check its cable")
            silent = 0 <= self.source.fail_read <= self._driven_reads
            if silent or self._driven_reads in self.source.lost_reads:
                raise NoAnswer("fake servo 1: no answer to a read; check its cable")
            if 0 <= self.source.jump <= self._driven_reads:
                position = 9.0
            position += 200 / 4096 * math.tau * (self._driven_reads == self.source.glitch)
        else:
            self._idle_reads += 1
            if self._idle_reads in self.source.lost_idle_reads:
                raise NoAnswer("fake servo 1: no answer to a read; check its cable")
        if self.source.shaking:
            position += 0.1 * math.sin(self.log["reads"])
        return Reading(position=position, velocity=0.0, current=0.0, supply_voltage=12.0, temperature=30.0)

    def _release(self) -> None:
        if self._failing:
            self._failing -= 1
            raise NoAnswer("fake servo 1: no answer to torque off")
        self.log["driven"] = 0
        self.log["releases"] += 1
        self.log["released_at"] = timing.now_ns()
        self.sent.append("release")

    def _close(self) -> None:
        self.log["closes"] += 1
