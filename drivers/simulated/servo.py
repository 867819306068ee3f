"""A simulated servo of the catalogue: known parameters, its own clock, and measurements of limited resolution."""

from __future__ import annotations

import math
import random
from dataclasses import replace

from core.servo.bench import STANDARD_GRAVITY, Bench
from core.servo.catalogue import ServoSpec, load_servo
from core.servo.model import ServoModel
from core.servo.settings import ServoSettings
from core.servo.shipped import nominal_model
from drivers.clock import Clock, RealClock
from drivers.errors import ServoFault
from drivers.limits import Limits
from drivers.reading import Reading
from drivers.servo import PositionGoal, Servo, ServoIdentity, TorqueGoal
from drivers.simulated.actuators import PlantActuator
from drivers.simulated.plant import TICK, Hand, Imperfections, Plant

REST_LENGTH = 0.1
"""Length of the rod of the bench, until another one is mounted [m]."""
GRAVITY_SHARE = 0.2
"""Gravity torque of that bench as a share of the servo's stall torque."""


def starting_bench(spec: ServoSpec) -> Bench:
    """Return a bench that a servo lifts with ease."""
    return Bench(mass=GRAVITY_SHARE * spec.stall_torque / (STANDARD_GRAVITY * REST_LENGTH), length=REST_LENGTH)


def no_hand(time: float, position: float, velocity: float) -> float:
    """Return 0: no hand touches the pendulum."""
    return 0.0


class SimulatedServo(Servo):
    """Simulated servo, which advances its `Plant` to its clock's time on every call."""

    hazardous = False

    def __init__(
        self,
        name: str = "mx106",
        *,
        model: ServoModel | None = None,
        bench: Bench | None = None,
        imperfections: Imperfections | None = None,
        hand: Hand = no_hand,
        clock: Clock | None = None,
        seed: int = 0,
        actuator: PlantActuator | None = None,
    ) -> None:
        """Create a servo.

        Args:
            name: Catalogue servo.
            model: True model; None for the servo's M6.
            bench: The load; None for one that the servo lifts with ease.
            imperfections: Delays, noise and resolution.
            hand: Torque of a hand.
            clock: Clock; None for the machine's.
            seed: Random seed of the read jitter.
            actuator: Actuator behind the servo's electronics; None for its own motor.

        Raises:
            ModelError: if the catalogue lacks the servo or its model.
        """
        self.spec = load_servo(name)
        super().__init__(Limits.for_spec(self.spec))
        self.clock = RealClock() if clock is None else clock
        self.model = nominal_model(self.spec) if model is None else model
        self._bench = starting_bench(self.spec) if bench is None else bench
        self._imperfections = Imperfections() if imperfections is None else imperfections
        step = self._imperfections.encoder_step
        self._step = self.spec.encoder_step if step is None else step
        self._hand = hand
        self._actuator = actuator
        self._seed = seed
        self._random = random.Random(seed)
        self._begin = 0.0
        self._made: Plant | None = None

    @property
    def plant(self) -> Plant:
        """The moving parts with their true state; available once the servo is connected."""
        if self._made is None:
            self._require("look into")
        assert self._made is not None
        return self._made

    def mount(self, bench: Bench) -> None:
        """Replace the load on the shaft."""
        self._bench = bench
        if self._made is not None:
            self._advance()
            self._made.mount(bench)

    def _connect(self) -> None:
        self._random.seed(self._seed)
        self._made = Plant(
            self.spec, self.model, self._bench, self._imperfections, self._hand, self.clock.speed, self._actuator
        )
        # The first steps load the compiled kernel; afterwards no cycle waits for that.
        self._made.advance_to(2 * TICK)
        self._begin = self.clock.now() - 2 * TICK

    def _identify(self) -> ServoIdentity:
        identity = ServoIdentity(
            model=self.spec.name,
            title=f"{self.spec.title} (simulated)",
            firmware=self.model.title,
            serial=f"seed {self._seed}",
            id="simulated",
            origin="simulated",
            position_step=self._step,
        )
        if self._actuator is None:
            return identity
        return replace(
            identity,
            title=f"{self.spec.title} (simulated, {self._actuator.title})",
            firmware=self._actuator.description,
            actuator=self._actuator.name,
            preset=self._actuator.preset,
        )

    def _configure(self, settings: ServoSettings) -> None:
        self._advance()
        self.plant.configure(settings)

    def _settings(self) -> ServoSettings:
        return self.plant.settings

    def _enable(self, goal: PositionGoal | TorqueGoal) -> None:
        """Do nothing: the first goal drives the motor."""

    def _command(self, goal: PositionGoal | TorqueGoal) -> None:
        self._advance()
        # Advancing took time, which is not part of the command's delay.
        self.plant.command(goal, self._time())

    def _read(self) -> Reading:
        lasting = self._imperfections.read_duration
        if self._imperfections.read_jitter:
            lasting = max(0.0, self._random.gauss(lasting, self._imperfections.read_jitter))
        begin = self.clock.now()
        if lasting:
            self.clock.wait_until(begin + 0.5 * lasting, _never)
        # The position is that of the middle of the read, as on a real bus.
        time = self._advance()
        plant = self.plant
        current, duty_cycle, supply_voltage = plant.electrics
        reading = Reading(
            position=self._counted(plant.position_at(time)),
            velocity=self._estimated_velocity(),
            current=current,
            duty_cycle=duty_cycle,
            supply_voltage=supply_voltage,
            temperature=plant.temperature,
            moment=self._begin + time,
        )
        if lasting:
            self.clock.wait_until(begin + lasting, _never)
        return reading

    def _release(self) -> None:
        if self._made is not None:
            self._made.release(self._time())

    def _close(self) -> None:
        self._made = None

    def _time(self) -> float:
        """Return the time since the plant was created [s]."""
        return self.clock.now() - self._begin

    def _advance(self) -> float:
        """Advance the plant to the current time and return it, since the plant was created [s]."""
        time = self._time()
        self.plant.advance_to(time)
        if not math.isfinite(self.plant.position):
            raise ServoFault("the simulated motion is no longer finite; check the model's parameters and the bench")
        return time

    def _counted(self, position: float) -> float:
        """Return a position as the encoder reports it [rad]."""
        return round(position / self._step) * self._step if self._step else position

    def _estimated_velocity(self) -> float:
        past = self.plant.past_positions
        if len(past) < 2:
            return self.plant.velocity
        return (self._counted(past[-1]) - self._counted(past[0])) / ((len(past) - 1) * TICK)


def _never() -> bool:
    return False
