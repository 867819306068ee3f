"""Actuators that can move the simulated servo's shaft in place of its motor: a Webots Servo, or a compliant one.

Only the mechanics change. Limits, encoder, supply, temperature and the times of reads and commands remain those of the
catalogue servo, which carries the other actuator behind its electronics; its gains then have no effect. A torque goal
is the torque of all motors together. With the torque off, motors are unpowered: a Webots Servo's joint swings against
its damper, and motors, springs and link of a compliant actuator move freely. A hand always acts on the link. After a
change of the load, the motors of a compliant actuator begin where the link has its equilibrium.

Current is derived from the motors' torque: at their largest torques they together draw the catalogue servo's largest
current. Nothing here loads the compiler before a servo is connected.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from core.base.errors import ModelError
from core.base.numbers import parse_number
from core.servo.bench import Bench
from core.servo.catalogue import ServoSpec
from core.servo.model import ServoModel
from core.servo.settings import ServoSettings
from core.studies.compliant.elastic import ACTUATORS
from core.studies.compliant.files import CompliantUnit, read_unit
from core.studies.compliant.modes import Mode
from core.studies.compliant.stepper import CompliantStepper
from core.studies.webots.fields import ServoFields
from core.studies.webots.stepper import WebotsStepper

SERVO, WEBOTS = "servo", "webots"
SOFT, STIFF = "soft", "stiff"
ACTUATOR_TITLES = {
    SERVO: "Servo",
    WEBOTS: "Webots Servo",
    **{name: kind.title for name, kind in ACTUATORS.items()},
}
"""Name in an address to the displayed title."""
WITH_PRESET = tuple(name for name, kind in ACTUATORS.items() if kind.preset_unit)
"""Actuators with a stiffness preset."""


class PlantStepper(Protocol):
    """A motion computed step by step, as by `core.motion.simulation.Stepper`."""

    def step(
        self,
        goal: float,
        torque_enable: float = True,
        *,
        supply_voltage: float | None = None,
        hand_torque: float = 0.0,
        motor_torque: float | None = None,
        torque_share: float = 1.0,
        next_goal: float | None = None,
        next_share: float = 0.0,
    ) -> None:
        """Advance by one step with a held command.

        Args:
            goal: Goal [rad].
            torque_enable: Share of the rest of the step in which the position law drives the motor, 0 … 1.
            supply_voltage: Supply voltage [V].
            hand_torque: Torque of a hand [N·m].
            motor_torque: Torque that replaces the position law for `torque_share` of the step [N·m].
            torque_share: See `motor_torque`, 0 … 1.
            next_goal: Goal that replaces `goal` for the last `next_share` of the step [rad].
            next_share: See `next_goal`, 0 … 1.
        """
        ...

    @property
    def position(self) -> float:
        """Position of the link [rad]."""
        ...

    @property
    def velocity(self) -> float:
        """Velocity of the link [rad/s]."""
        ...

    @property
    def current(self) -> float:
        """Mean current during the last step [A]."""
        ...

    @property
    def duty_cycle(self) -> float:
        """Duty cycle during the last step, −1 … 1."""
        ...

    @property
    def supply_voltage(self) -> float:
        """Supply voltage during the last step [V]."""
        ...


class PlantActuator(Protocol):
    """Another actuator, as a picklable description."""

    @property
    def name(self) -> str:
        """Name in an address and in `ServoSettings.actuator`."""
        ...

    @property
    def preset(self) -> float | None:
        """Stiffness preset in the actuator's own unit; None if it has none."""
        ...

    @property
    def title(self) -> str:
        """Displayed title."""
        ...

    @property
    def description(self) -> str:
        """Further information, in place of a firmware version."""
        ...

    def stepper(
        self,
        spec: ServoSpec,
        model: ServoModel,
        bench: Bench,
        settings: ServoSettings,
        dt: float,
        *,
        position: float,
        velocity: float,
    ) -> PlantStepper:
        """Begin a motion, released.

        Args:
            spec: The catalogue servo.
            model: Its model.
            bench: The bench.
            settings: Gains and nominal supply voltage.
            dt: Time step [s].
            position: Initial position [rad].
            velocity: Initial velocity [rad/s].
        """
        ...


@dataclass(frozen=True, kw_only=True)
class WebotsActuator:
    """A Webots Servo node (seed 002, section 3.42) as strong and as fast as the catalogue servo.

    The node has no friction except its damper. The damper and the inertia it turns are taken from the viscous friction
    and the armature of the servo's model.
    """

    name: str = WEBOTS
    preset: None = None
    title: str = ACTUATOR_TITLES[WEBOTS]
    description: str = ACTUATOR_TITLES[WEBOTS]

    def stepper(
        self,
        spec: ServoSpec,
        model: ServoModel,
        bench: Bench,
        settings: ServoSettings,
        dt: float,
        *,
        position: float,
        velocity: float,
    ) -> PlantStepper:
        """Begin a motion, see `PlantActuator.stepper`."""
        values = model.values
        fields = ServoFields(
            max_velocity=spec.no_load_speed, max_force=spec.stall_torque, damping_constant=values["friction_viscous"]
        )
        return WebotsStepper(
            fields,
            bench,
            dt,
            armature=values["armature"],
            supply_voltage=settings.supply_voltage,
            torque_constant=spec.stall_torque / spec.max_current,
            position=position,
            velocity=velocity,
        )


@dataclass(frozen=True, kw_only=True)
class CompliantPlant:
    """A compliant actuator in the seed's operation mode 6: commanded equilibrium, preset stiffness (seed 003, 3.2)."""

    unit: CompliantUnit
    preset: float | None = None
    """In the actuator's unit; None if it has none. Raises ModelError for a preset that it cannot take."""

    def __post_init__(self) -> None:
        if self.preset is None and self.unit.actuator.preset_unit:
            raise ModelError(f"a {self.title} needs a stiffness preset [{self.unit.actuator.preset_unit}]; give one")
        if self.preset is not None:
            self.unit.checked_preset(self.preset)

    @property
    def name(self) -> str:
        """Name of the actuator."""
        return self.unit.actuator.name

    @property
    def title(self) -> str:
        """Title of the actuator."""
        return self.unit.actuator.title

    @property
    def description(self) -> str:
        """The preset, or the title if there is none."""
        return self.title if self.preset is None else f"preset {self.preset:g} {self.unit.actuator.preset_unit}"

    def stepper(
        self,
        spec: ServoSpec,
        model: ServoModel,
        bench: Bench,
        settings: ServoSettings,
        dt: float,
        *,
        position: float,
        velocity: float,
    ) -> PlantStepper:
        """Begin a motion, see `PlantActuator.stepper`; the model is not used."""
        strength = self.unit.actuator.motors * self.unit.motor.max_torque
        return CompliantStepper(
            self.unit.joint(bench),
            dt,
            mode=Mode.PID_EQ_PRES,
            preset=0.0 if self.preset is None else self.preset,
            position=position,
            velocity=velocity,
            nominal_supply=settings.supply_voltage,
            torque_constant=strength / spec.max_current,
        )


def plant_actuator(name: str, preset: str = "") -> PlantActuator | None:
    """Return the actuator of an address; None for the servo's own motor.

    Args:
        name: One of ACTUATOR_TITLES, or a file of `core.studies.compliant.files`.
        preset: A number in the actuator's unit, "soft" (the seed's, also for "") or "stiff". The words have no effect
            on an actuator without presets.

    Raises:
        ModelError: for an unknown actuator or an invalid preset.
        InputError: for an invalid file.
    """
    if name in (SERVO, WEBOTS):
        unit, soft, stiff = None, None, None
    else:
        unit = _unit(name)
        actuator = unit.actuator
        soft, stiff = (actuator.soft_preset, actuator.stiff_preset) if actuator.preset_unit else (None, None)
    named = {"": soft, SOFT: soft, STIFF: stiff}
    try:
        value = named[preset] if preset in named else parse_number(preset)
    except ValueError:
        raise ModelError(f"a stiffness preset is {SOFT}, {STIFF} or a number, not {preset!r}") from None
    if value is not None and soft is None:
        title = ACTUATOR_TITLES[name] if unit is None else unit.actuator.title
        raise ModelError(f"a {title} has no stiffness preset; leave {preset} out")
    if unit is not None:
        return CompliantPlant(unit=unit, preset=value)
    return None if name == SERVO else WebotsActuator()


def _unit(name: str) -> CompliantUnit:
    """Return the seed's actuator of a name with its toolbox's motors, or that of a file."""
    if name in ACTUATORS:
        return CompliantUnit(actuator=ACTUATORS[name]())
    if name.endswith(".json"):
        return read_unit(name)
    raise ModelError(f"unknown actuator {name!r}; there are {', '.join(ACTUATOR_TITLES)}, or a file of a compliant one")
