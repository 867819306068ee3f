"""What the simulated servo consists of besides its electronics: motor, friction, pendulum, supply and heat.

Motion comes from `core.simulation.Stepper`, or from the stepper of another actuator in its place, see
`drivers.simulated.actuators`, and nothing else; this module feeds it on a fine grid of time and adds the two slow
quantities around it, the supply that sags under load and the temperature. An emulator of a real servo's wire protocol
moves the same plant.
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
"""Commands take effect on this grid, as in firmware [s]."""
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
    """From a command to its effect [s], rounded up to the plant's grid of 1 ms."""
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
        self._delay_ticks = math.ceil(imperfections.command_delay / TICK - 1e-9)
        resistance = model.values["R"]
        self._resistance = resistance
        continuous_power = (CONTINUOUS_SHARE * spec.max_current) ** 2 * resistance
        self._thermal_resistance = (spec.max_temperature - AMBIENT) / continuous_power
        self._heat_capacity = THERMAL_TIME / self._thermal_resistance
        self.temperature = AMBIENT
        self._longest_catch_up = round(LONGEST_CATCH_UP * speed / TICK)
        self._ticks = 0
        self._goal: PlantGoal | None = None
        self._delayed: deque[tuple[int, PlantGoal]] = deque()
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

    def command(self, goal: PlantGoal) -> None:
        """Drive towards a goal once the command delay has passed."""
        if self._delay_ticks:
            self._delayed.append((self._ticks + self._delay_ticks, goal))
        else:
            self._goal = goal

    def release(self) -> None:
        """Let the motor go at once; commands on their way are forgotten."""
        self._delayed.clear()
        self._goal = None

    def advance_to(self, time: float) -> None:
        """Move on to a time since the plant was made [s]."""
        due = math.floor(time / TICK + 1e-6)
        self._ticks = max(self._ticks, due - self._longest_catch_up)
        while self._ticks < due:
            self._tick()

    def _tick(self) -> None:
        stepper = self._stepper
        while self._delayed and self._delayed[0][0] <= self._ticks:
            self._goal = self._delayed.popleft()[1]
        goal = self._goal
        supply = self._settings.supply_voltage
        if self._supply_resistance:
            # The bridge draws its share of the motor's current; the sag follows one tick later.
            supply -= self._supply_resistance * abs(stepper.current * stepper.duty_cycle)
        hand = self._hand(self._ticks * TICK, stepper.position, stepper.velocity)
        if goal is None:
            stepper.step(stepper.position, False, supply_voltage=supply, hand_torque=hand)
        elif isinstance(goal, PositionGoal):
            stepper.step(goal.position, True, supply_voltage=supply, hand_torque=hand)
        else:
            torque = goal.torque if isinstance(goal, TorqueGoal) else self._voltage_torque(goal.duty_cycle * supply)
            stepper.step(stepper.position, True, supply_voltage=supply, hand_torque=hand, motor_torque=torque)
        loss = stepper.current**2 * self._resistance
        self.temperature += (
            TICK * (loss - (self.temperature - AMBIENT) / self._thermal_resistance) / self._heat_capacity
        )
        self._positions.append(stepper.position)
        self._electrics.append((stepper.current, stepper.duty_cycle, stepper.supply_voltage))
        self._ticks += 1

    def _voltage_torque(self, voltage: float) -> float:
        """Torque of the motor with this voltage on its terminals [N·m], seed 004 eq. (13)."""
        kt = self._model.values["kt"]
        return kt * (voltage - kt * self._stepper.velocity) / self._resistance

    def position_at(self, time: float) -> float:
        """Position at a time less than a tick after the last one [rad]."""
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
    def driven(self) -> bool:
        """Whether the motor is driven."""
        return self._goal is not None

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
