"""What the simulated servo consists of besides its electronics: motor, friction, pendulum, supply and heat.

Motion comes from `core.simulation.Stepper`, or from the stepper of another actuator in its place, see
`drivers.simulated.actuators`, and nothing else; this module feeds it on a fine grid of time and adds the two slow
quantities around it, the supply that sags under load and the temperature. An emulator of a real servo's wire protocol
moves the same plant.

A command acts from its own instant on. A tick of the grid is computed once its end has passed, when everything that was
commanded during it is known. A change from one position goal to another acts within the tick; one change stands for
several, with the same mean. Everything else acts with its mean over the tick: the motor's impulse is exact, and
positions at the end of a tick are off by at most an eighth of the tick's length squared times the change of the
acceleration.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Protocol

from core.errors import InputError
from drivers.servo import PositionGoal, TorqueGoal

if TYPE_CHECKING:
    from core.bench import Bench
    from core.catalogue import ServoSpec
    from core.model import ServoModel
    from core.recording import ServoSettings
    from drivers.simulated.actuators import PlantActuator, PlantStepper

TICK = 1e-3
"""Grid of time on which the motion is computed [s]."""
SUBSTEPS = 2
"""Steps of physics in a tick."""
LONGEST_CATCH_UP = 1.0
"""A plant nobody looked at for longer [s of the machine's time] lost that time."""
AMBIENT = 25.0
"""[degC]"""
THERMAL_TIME = 600.0
"""Time constant of heating and cooling [s]."""
CONTINUOUS_SHARE = 0.25
"""This share of the largest current, held for ever, heats the servo to its highest temperature."""


@dataclass(frozen=True, slots=True)
class DutyGoal:
    """Drive the motor with a share of the supply voltage, whatever the position."""

    duty_cycle: float
    """−1 … 1"""


class DutyLaw(Protocol):
    """A loop of an emulated firmware: asked for its duty cycle once in each tick."""

    @property
    def duty_cycle(self) -> float:
        """−1 … 1"""
        ...


PlantGoal = PositionGoal | TorqueGoal | DutyGoal | DutyLaw

Hand = Callable[[float, float, float], float]
"""Time since the plant was made [s], position [rad], velocity [rad/s] → torque of a hand on the shaft [N·m]."""


@dataclass(frozen=True, kw_only=True)
class Imperfections:
    """What a real servo adds to what it measures and is told. Everything 0 (IDEAL) reports the true state."""

    encoder_step: float | None = None
    """Smallest step of the reported position [rad]; None is the catalogue's."""
    read_duration: float = 3e-4
    """Time a read takes on the bus [s]; the position is that of its middle."""
    read_jitter: float = 5e-5
    """Standard deviation of that time [s]."""
    command_delay: float = 0.0
    """From a command to its effect [s]."""
    supply_resistance: float = 0.05
    """Of supply and cable [Ω]."""
    velocity_window: float = 0.016
    """The reported velocity is the difference of encoder positions over this time [s]; 0 reports the true one."""
    current_window: float = 0.01
    """Reported current, duty cycle and supply voltage are means over this time [s]; 0 reports those of the last tick.

    A goal that moves in steps makes the current a saw-tooth of the same period, and one tick of it would depend on
    which side of a step the read falls.
    """

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if value is not None and not (math.isfinite(value) and value >= 0):
                raise InputError(f"simulated servo: {field.name} = {value} must be a finite number of at least 0")


IDEAL = Imperfections(
    encoder_step=0.0, read_duration=0.0, read_jitter=0.0, supply_resistance=0.0, velocity_window=0.0, current_window=0.0
)


class Plant:
    """Servo and pendulum in motion; starts hanging at rest, released."""

    def __init__(
        self,
        spec: ServoSpec,
        model: ServoModel,
        bench: Bench,
        imperfections: Imperfections,
        hand: Hand,
        speed: float = 1.0,
        actuator: PlantActuator | None = None,
    ) -> None:
        """speed: how many seconds of the plant pass in one of the machine's; actuator: None is the servo's own."""
        self._spec = spec
        self._actuator = actuator
        self._model = model
        self._bench = bench
        self._settings = model.default_settings()
        self._hand = hand
        self._supply_resistance = imperfections.supply_resistance
        self._command_delay = imperfections.command_delay
        resistance = model.values["R"]
        self._resistance = resistance
        continuous_power = (CONTINUOUS_SHARE * spec.max_current) ** 2 * resistance
        self._thermal_resistance = (spec.max_temperature - AMBIENT) / continuous_power
        self._heat_capacity = THERMAL_TIME / self._thermal_resistance
        self.temperature = AMBIENT
        self._longest_catch_up = round(LONGEST_CATCH_UP * speed / TICK)
        self._ticks = 0
        # What drives the motor at the begin of the tick under way, and what it is changed to at which times [s].
        self._goal: PlantGoal | None = None
        self._changes: deque[tuple[float, PlantGoal | None]] = deque()
        # One position a tick, the newest last: what a velocity estimate looks back on.
        past = round(imperfections.velocity_window / TICK)
        self._positions = deque([0.0] * (past + 1), maxlen=past + 1)
        # Current, duty cycle and supply voltage of each tick, the newest last.
        self._electrics: deque[tuple[float, float, float]] = deque(
            [(0.0, 0.0, self._settings.supply_voltage)], maxlen=max(1, round(imperfections.current_window / TICK))
        )
        self._stepper = self._make_stepper(0.0, 0.0)

    def _make_stepper(self, position: float, velocity: float) -> PlantStepper:
        if self._actuator is not None:
            return self._actuator.stepper(
                self._spec, self._model, self._bench, self._settings, TICK, position=position, velocity=velocity
            )
        from core.simulation import Stepper  # numba takes a third of a second to import

        return Stepper(
            self._model,
            self._bench,
            self._settings,
            TICK,
            substeps=SUBSTEPS,
            position=position,
            velocity=velocity,
        )

    def mount(self, bench: Bench) -> None:
        """Put another load on the shaft, where it is; motion goes on."""
        if bench != self._bench:
            self._bench = bench
            self._stepper = self._make_stepper(self.position, self.velocity)

    def configure(self, settings: ServoSettings) -> None:
        """Set the gains and the nominal supply; motion goes on. Raises ModelError for gains the law lacks."""
        if settings != self._settings:
            self._settings = settings
            self._stepper = self._make_stepper(self.position, self.velocity)

    def command(self, goal: PlantGoal, time: float) -> None:
        """Drive towards a goal, from `time` and the command delay on.

        time: since the plant was made [s]; not less than that of an earlier command.
        """
        self._changes.append((time + self._command_delay, goal))

    def release(self, time: float) -> None:
        """Let the motor go at `time` since the plant was made [s]; commands on their way are forgotten."""
        while self._changes and self._changes[-1][0] > time:
            self._changes.pop()
        self._changes.append((time, None))

    def advance_to(self, time: float) -> None:
        """Compute all ticks that end by a time since the plant was made [s]."""
        due = math.floor(time / TICK + 1e-6)
        self._ticks = max(self._ticks, due - self._longest_catch_up)
        while self._ticks < due:
            self._tick()

    def _tick(self) -> None:
        stepper = self._stepper
        supply = self._settings.supply_voltage
        if self._supply_resistance:
            # The bridge draws its share of the motor's current; the sag follows one tick later.
            supply -= self._supply_resistance * abs(stepper.current * stepper.duty_cycle)
        # Shares of the tick by position law and by torque, and integrals of position and torque over it.
        by_law = by_torque = position = torque = 0.0
        shares = self._commanded()
        for goal, share in shares.items():
            if isinstance(goal, PositionGoal):
                by_law += share
                position += share * goal.position
            elif goal is not None:
                by_torque += share
                torque += share * self._torque(goal, supply)
        goal = next_goal = position / by_law if by_law else stepper.position
        next_share = 0.0
        first, last = next(iter(shares)), self._goal
        if isinstance(first, PositionGoal) and isinstance(last, PositionGoal) and first != last:
            share = (goal - first.position) / (last.position - first.position)
            if 0.0 <= share <= 1.0:
                goal, next_goal, next_share = first.position, last.position, share
        stepper.step(
            goal,
            by_law / (1.0 - by_torque) if by_torque < 1.0 else 1.0,
            supply_voltage=supply,
            hand_torque=self._hand(self._ticks * TICK, stepper.position, stepper.velocity),
            motor_torque=torque / by_torque if by_torque else None,
            torque_share=by_torque,
            next_goal=next_goal,
            next_share=next_share,
        )
        loss = stepper.current**2 * self._resistance
        self.temperature += (
            TICK * (loss - (self.temperature - AMBIENT) / self._thermal_resistance) / self._heat_capacity
        )
        self._positions.append(stepper.position)
        self._electrics.append((stepper.current, stepper.duty_cycle, stepper.supply_voltage))
        self._ticks += 1

    def _commanded(self) -> dict[PlantGoal | None, float]:
        """What is commanded during the tick under way, first to last, and its share; what comes later is left."""
        shares: dict[PlantGoal | None, float] = {}
        since, end = float(self._ticks), self._ticks + 1.0
        while self._changes and self._changes[0][0] / TICK < end:
            time, goal = self._changes.popleft()
            if time / TICK > since:
                shares[self._goal] = shares.get(self._goal, 0.0) + time / TICK - since
                since = time / TICK
            self._goal = goal
        shares[self._goal] = shares.get(self._goal, 0.0) + end - since
        return shares

    def _torque(self, goal: TorqueGoal | DutyGoal | DutyLaw, supply: float) -> float:
        """Torque of the motor [N·m]; that of a voltage by seed 004 eq. (13)."""
        if isinstance(goal, TorqueGoal):
            return goal.torque
        kt = self._model.values["kt"]
        return kt * (goal.duty_cycle * supply - kt * self._stepper.velocity) / self._resistance

    def position_at(self, time: float) -> float:
        """Position at a time within the tick under way [rad]."""
        return self._stepper.position + self._stepper.velocity * (time - self._ticks * TICK)

    @property
    def bench(self) -> Bench:
        """What hangs on the shaft."""
        return self._bench

    @property
    def model(self) -> ServoModel:
        """The truth this plant moves by, unless another actuator moves it."""
        return self._model

    @property
    def settings(self) -> ServoSettings:
        """Gains and nominal supply of its position law."""
        return self._settings

    @property
    def goal(self) -> PlantGoal | None:
        """What the latest command drives the motor to, though it may still be on its way; None after a release."""
        return self._changes[-1][1] if self._changes else self._goal

    @property
    def driven(self) -> bool:
        """Whether the motor is driven, or a command is on its way that will drive it."""
        return self.goal is not None

    @property
    def past_positions(self) -> deque[float]:
        """One a tick over the velocity window, oldest first [rad]."""
        return self._positions

    @property
    def position(self) -> float:
        """True position [rad]."""
        return self._stepper.position

    @property
    def velocity(self) -> float:
        """True velocity [rad/s]."""
        return self._stepper.velocity

    @property
    def electrics(self) -> tuple[float, float, float]:
        """Current [A], duty cycle and supply voltage [V], means over the current window."""
        count = len(self._electrics)
        current, duty_cycle, supply_voltage = (sum(values) / count for values in zip(*self._electrics, strict=True))
        return current, duty_cycle, supply_voltage
