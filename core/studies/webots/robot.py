"""Robot of servos stepped by a controller: time, devices by name, and traces."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from core.base.errors import InputError
from core.servo.bench import Bench
from core.studies.webots.chain import Chain
from core.studies.webots.fields import Load, ServoFields, load_of
from core.studies.webots.servo import MILLISECOND, ServoDevice
from core.studies.webots.trace import Trace, TraceLog

BASIC_TIME_STEP = 8
"""Default `basicTimeStep` of a world [ms]."""
PENDULUM = Bench(mass=0.5, length=0.15)
"""Default load of a servo."""


@dataclass(frozen=True, kw_only=True)
class MountedServo:
    """Servo with the body it moves and its parent.

    pan = MountedServo(name="pan", fields=ServoFields(), load=Load(inertia=0.01))
    tilt = MountedServo(name="tilt", fields=ServoFields(), load=Load(inertia=0.002, gravity_torque=0.1))
    robot = robot_of([pan, tilt])
    """

    name: str
    """Name; if empty, the servo takes the first name a controller requests."""
    fields: ServoFields
    load: Load
    parent: int | None = None
    """Index of the previous servo in its series, lower than its own; None if independent (3.42.12)."""


class SimulationOver(SystemExit):
    """Raised when a controller steps again after the end of the simulation was reported."""


class SimulatedRobot:
    """Servos, independent or in series; a nameless servo takes the first requested name."""

    def __init__(
        self, chains: Sequence[Chain], *, basic_time_step: int = BASIC_TIME_STEP, duration: float = math.inf
    ) -> None:
        """Set up the robot; `basic_time_step` is WorldInfo's [ms], `duration` the end of the simulation [s]."""
        if basic_time_step < 1 or int(basic_time_step) != basic_time_step:
            raise InputError(
                f"a basic time step of {basic_time_step} ms is not possible; give a whole number, 1 or more"
            )
        if not duration > 0.0:
            raise InputError(f"a simulation of {duration} s is not possible; give a value above 0")
        self.chains = tuple(chains)
        self.servos: tuple[ServoDevice, ...] = tuple(servo for chain in self.chains for servo in chain.servos)
        names = [servo.name for servo in self.servos]
        if not names or len(set(names)) < len(names):
            raise InputError(f"a robot's servos need different names, but have {names}")
        self.basic_time_step, self.duration = int(basic_time_step), duration
        self._log = TraceLog(self.servos)
        self._steps = 0
        self._end_reported = False

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        return self._steps * self.basic_time_step * MILLISECOND

    def traces(self) -> list[Trace]:
        """Return the trace of each servo."""
        return self._log.traces()

    def device(self, name: str) -> ServoDevice:
        """Return a servo by its name; raise InputError if unknown."""
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
        """Simulate for a multiple of the basic time step; return 0, or −1 once the simulation is over.

        Raises InputError for other durations, and SimulationOver at the next call after −1.
        """
        count, rest = divmod(milliseconds, self.basic_time_step)
        if rest or count < 1:
            raise InputError(
                f"a step of {milliseconds} ms is not possible: it must be a multiple of the basic time step, "
                f"{self.basic_time_step} ms; use such a step or another basic time step"
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
    """Build a robot of independent servos and series; raise ModelError or InputError if impossible."""
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
    """Build a robot with one servo, of its own inertia [kg·m²], on a bench's pendulum."""
    servo = MountedServo(name=name, fields=fields, load=load_of(bench, armature))
    return robot_of([servo], basic_time_step=basic_time_step, duration=duration)
