"""The plant of a simulated servo, without its electronics: motor, friction, pendulum, supply and heat.

Motion comes only from `core.motion.simulation.Stepper`, or from the stepper of another actuator, see
`drivers.simulated.actuators`. This module advances it with a fine time step and adds two slow quantities: the supply
that sags under load, and the temperature. An emulator of a real servo's wire protocol moves the same plant.

A command acts from its own instant on. A tick is computed once its end has passed, when all commands during it are
known. A change from one position goal to another acts within the tick; one change stands for several, with the same
mean. Everything else acts with its mean over the tick: the motor's impulse is exact, and positions at the end of a tick
are off by at most an eighth of the tick's length squared times the change of the acceleration.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Protocol

from core.base.errors import InputError
from core.servo.bench import Bench
from core.servo.catalogue import ServoSpec
from core.servo.model import ServoModel
from core.servo.settings import ServoSettings
from drivers.servo import PositionGoal, TorqueGoal
from drivers.simulated.actuators import PlantActuator, PlantStepper

TICK = 1e-3
"""Time step of the motion [s]."""
SUBSTEPS = 2
"""Physics steps per tick."""
LONGEST_CATCH_UP = 1.0
"""Longest time that a plant catches up [s of the machine's time]; a longer pause is lost."""
AMBIENT = 25.0
"""[degC]"""
THERMAL_TIME = 600.0
"""Time constant of heating and cooling [s]."""
CONTINUOUS_SHARE = 0.25
"""Share of the largest current that, held for ever, heats the servo to its highest temperature."""


@dataclass(frozen=True, slots=True)
class DutyGoal:
    """Drive the motor with a share of the supply voltage, regardless of the position."""

    duty_cycle: float
    """−1 … 1"""


class DutyLaw(Protocol):
    """A control loop of an emulated firmware, which computes its duty cycle once per tick."""

    @property
    def duty_cycle(self) -> float:
        """Duty cycle, −1 … 1."""
        ...


PlantGoal = PositionGoal | TorqueGoal | DutyGoal | DutyLaw

Hand = Callable[[float, float, float], float]
"""Time since the plant was created [s], position [rad], velocity [rad/s] → torque of a hand on the shaft [N·m]."""


@dataclass(frozen=True, kw_only=True)
class Imperfections:
    """Imperfections of a real servo's measurements and commands. With all at 0 (IDEAL) it reports the true state."""

    encoder_step: float | None = None
    """Smallest step of the reported position [rad]; None for the catalogue's."""
    read_duration: float = 3e-4
    """Time that a read takes on the bus [s]; the reported position is that of its middle."""
    read_jitter: float = 5e-5
    """Standard deviation of that time [s]."""
    command_delay: float = 0.0
    """Time from a command to its effect [s]."""
    supply_resistance: float = 0.05
    """Resistance of supply and cable [Ω]."""
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
        """Create a plant.

        Args:
            spec: The catalogue servo.
            model: Its true model.
            bench: The load.
            imperfections: Delays, noise and resolution.
            hand: Torque of a hand.
            speed: Seconds of the plant per second of the machine.
            actuator: Actuator that moves the shaft; None for the servo's own motor.
        """
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
        # The goal at the beginning of the current tick, and later changes with their times [s].
        self._goal: PlantGoal | None = None
        self._changes: deque[tuple[float, PlantGoal | None]] = deque()
        # One position per tick, the newest last, for the velocity estimate.
        past = round(imperfections.velocity_window / TICK)
        self._positions = deque([0.0] * (past + 1), maxlen=past + 1)
        # Current, duty cycle and supply voltage of each tick, the newest last.
        self._electrics: deque[tuple[float, float, float]] = deque(
            [(0.0, 0.0, self._settings.supply_voltage)], maxlen=max(1, round(imperfections.current_window / TICK))
        )
        self._stepper = self._make_stepper(self._settings, 0.0, 0.0)

    def _make_stepper(self, settings: ServoSettings, position: float, velocity: float) -> PlantStepper:
        if self._actuator is not None:
            return self._actuator.stepper(
                self._spec, self._model, self._bench, settings, TICK, position=position, velocity=velocity
            )
        from core.motion.simulation import Stepper  # numba takes a third of a second to import

        return Stepper(
            self._model,
            self._bench,
            settings,
            TICK,
            substeps=SUBSTEPS,
            position=position,
            velocity=velocity,
        )

    def mount(self, bench: Bench) -> None:
        """Replace the load on the shaft at its current position; the motion continues."""
        if bench != self._bench:
            self._bench = bench
            self._stepper = self._make_stepper(self._settings, self.position, self.velocity)

    def configure(self, settings: ServoSettings) -> None:
        """Set gains and nominal supply voltage; the motion continues.

        Raises:
            ModelError: for gains that the law lacks.
        """
        if settings != self._settings:
            # Settings that are refused must not stay: the next bench would be refused too.
            self._stepper = self._make_stepper(settings, self.position, self.velocity)
            self._settings = settings

    def command(self, goal: PlantGoal, time: float) -> None:
        """Drive towards a goal, from `time` plus the command delay.

        Args:
            goal: The goal.
            time: Time since the plant was created [s]; not less than that of an earlier command.
        """
        self._changes.append((time + self._command_delay, goal))

    def release(self, time: float) -> None:
        """Switch the motor off at `time` since the plant was created [s]; pending commands are dropped."""
        while self._changes and self._changes[-1][0] > time:
            self._changes.pop()
        self._changes.append((time, None))

    def advance_to(self, time: float) -> None:
        """Compute all ticks that end by a time since the plant was created [s]."""
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
        # Shares of the tick driven by position law and by torque, and integrals of position and torque over it.
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
        """Return the commands of the current tick, first to last, with their shares; later ones stay queued."""
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
        """Return the torque of the motor [N·m]; for a voltage by seed 004 eq. (13), with the sag of the supply."""
        if isinstance(goal, TorqueGoal):
            return goal.torque
        values, duty = self._model.values, goal.duty_cycle
        voltage = duty * supply - values["kt"] * self._stepper.velocity
        series = self._resistance
        if duty * voltage > 0.0:
            size = abs(duty)
            series += size * (size * values.get("supply_sag", 0.0) + values.get("pulse_sag", 0.0))
        return values["kt"] * voltage / series

    def position_at(self, time: float) -> float:
        """Return the position at a time within the current tick [rad]."""
        return self._stepper.position + self._stepper.velocity * (time - self._ticks * TICK)

    @property
    def bench(self) -> Bench:
        """Load on the shaft."""
        return self._bench

    @property
    def model(self) -> ServoModel:
        """True model of this plant, unless another actuator moves it."""
        return self._model

    @property
    def settings(self) -> ServoSettings:
        """Gains and nominal supply voltage of its position law."""
        return self._settings

    @property
    def goal(self) -> PlantGoal | None:
        """Goal of the latest command, though it may still be pending; None after a release."""
        return self._changes[-1][1] if self._changes else self._goal

    @property
    def driven(self) -> bool:
        """True if the motor is driven, or a pending command will drive it."""
        return self.goal is not None

    @property
    def past_positions(self) -> deque[float]:
        """One position per tick over the velocity window, oldest first [rad]."""
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
        """Current [A], duty cycle and supply voltage [V], averaged over the current window."""
        count = len(self._electrics)
        current, duty_cycle, supply_voltage = (sum(values) / count for values in zip(*self._electrics, strict=True))
        return current, duty_cycle, supply_voltage
