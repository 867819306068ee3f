"""A robot of servos that a controller steps: time, devices by name, and what happened."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from core.bench import Bench
from core.errors import InputError
from core.studies.webots.chain import Chain
from core.studies.webots.fields import Load, ServoFields, load_of
from core.studies.webots.servo import MILLISECOND, ServoDevice
from core.studies.webots.trace import Trace, TraceLog

BASIC_TIME_STEP = 8
"""Of a world where nobody says another [ms]."""
PENDULUM = Bench(mass=0.5, length=0.15)
"""What a servo moves where nobody says another."""


@dataclass(frozen=True, kw_only=True)
class MountedServo:
    """A servo, the body it moves, and what it is mounted on.

    pan = MountedServo(name="pan", fields=ServoFields(), load=Load(inertia=0.01))
    tilt = MountedServo(name="tilt", fields=ServoFields(), load=Load(inertia=0.002, gravity_torque=0.1))
    robot = robot_of([pan, tilt])
    """

    name: str
    """Empty for the first name that a controller asks for"""
    fields: ServoFields
    load: Load
    parent: int | None = None
    """Place of the servo it is in series with, before its own; None if no other servo feels its motion (3.42.12)"""


class SimulationOver(SystemExit):
    """A controller goes on stepping though it has been told that the simulation is over."""


class SimulatedRobot:
    """Servos, alone or in series; a nameless one takes the first name that it is asked for by."""

    def __init__(
        self, chains: Sequence[Chain], *, basic_time_step: int = BASIC_TIME_STEP, duration: float = math.inf
    ) -> None:
        """basic_time_step: `basicTimeStep` of WorldInfo [ms]; duration: when the simulation is over [s]."""
        if basic_time_step < 1 or int(basic_time_step) != basic_time_step:
            raise InputError(
                f"a basic time step of {basic_time_step} ms is not possible; give a whole number from 1 on"
            )
        if not duration > 0.0:
            raise InputError(f"a simulation of {duration} s is not possible; give more than 0")
        self.chains = tuple(chains)
        self.servos: tuple[ServoDevice, ...] = tuple(servo for chain in self.chains for servo in chain.servos)
        names = [servo.name for servo in self.servos]
        if not names or len(set(names)) < len(names):
            raise InputError(f"a robot's servos need a name each, there are {names}")
        self.basic_time_step, self.duration = int(basic_time_step), duration
        self._log = TraceLog(self.servos)
        self._steps = 0
        self._end_reported = False

    @property
    def time(self) -> float:
        """Simulated so far [s]."""
        return self._steps * self.basic_time_step * MILLISECOND

    def traces(self) -> list[Trace]:
        """What each servo did so far."""
        return self._log.traces()

    def device(self, name: str) -> ServoDevice:
        """The servo of a name; raises InputError."""
        for servo in self.servos:
            if servo.name == name:
                return servo
        nameless = [servo for servo in self.servos if not servo.name]
        if nameless and name:
            nameless[0].name = name
            return nameless[0]
        known = ", ".join(repr(servo.name) for servo in self.servos)
        raise InputError(f"this robot has no device {name!r}; it has {known}")

    def step(self, milliseconds: int) -> int:
        """Simulate so long, a multiple of the basic time step; 0, or −1 once the simulation is over.

        Raises InputError for another duration, and SimulationOver at the next call after −1.
        """
        count, rest = divmod(milliseconds, self.basic_time_step)
        if rest or count < 1:
            raise InputError(
                f"a step of {milliseconds} ms is not possible here: it must be a multiple of the basic time step, "
                f"{self.basic_time_step} ms; ask for such a step or choose another basic time step"
            )
        if self.time >= self.duration - 0.5 * MILLISECOND:
            if self._end_reported:
                raise SimulationOver
            self._end_reported = True
            return -1
        for _ in range(int(count)):
            self._log.begin(self.time)
            for chain in self.chains:
                chain.step(self.basic_time_step * MILLISECOND)
            self._log.end()
            self._steps += 1
        return 0


def robot_of(
    servos: Sequence[MountedServo], *, basic_time_step: int = BASIC_TIME_STEP, duration: float = math.inf
) -> SimulatedRobot:
    """Robot of independent servos and series of them; raises ModelError and InputError for what is not possible."""
    series: list[list[int]] = []
    for place, servo in enumerate(servos):
        if servo.parent is None:
            series.append([place])
        else:
            next(each for each in series if servo.parent in each).append(place)
    chains: list[Chain] = []
    for places in series:
        within = [servos[place] for place in places]
        chains.append(
            Chain(
                [ServoDevice(servo.fields, servo.name) for servo in within],
                [servo.load for servo in within],
                [None if servo.parent is None else places.index(servo.parent) for servo in within],
            )
        )
    return SimulatedRobot(chains, basic_time_step=basic_time_step, duration=duration)


def bench_robot(
    fields: ServoFields,
    bench: Bench = PENDULUM,
    *,
    name: str = "",
    armature: float = 0.0,
    basic_time_step: int = BASIC_TIME_STEP,
    duration: float = math.inf,
) -> SimulatedRobot:
    """One servo on a bench's pendulum, with an inertia of its own [kg·m²]."""
    servo = MountedServo(name=name, fields=fields, load=load_of(bench, armature))
    return robot_of([servo], basic_time_step=basic_time_step, duration=duration)
