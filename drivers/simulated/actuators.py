"""What can move the simulated servo's shaft in place of its own motor: a Webots Servo, or a compliant actuator.

Only the mechanics change. Limits, encoder, supply, temperature and the times of reads and commands stay those of the
catalogue servo, which is thought to carry the other actuator behind its electronics; its gains then do nothing. A
torque goal is the torque of all motors together. With the torque off, motors are unpowered: a Webots Servo's joint
swings against its damper, and of a compliant actuator motors, springs and link move freely. A hand always acts on the
link. When a load is changed the motors of a compliant actuator begin where the link has its equilibrium.

Current is told from the motors' torque so that their largest torques together draw the catalogue servo's largest
current. Nothing here loads the compiler before a servo is connected.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from core.errors import ModelError
from core.studies.compliant.elastic import ACTUATORS
from core.studies.compliant.files import CompliantUnit, read_unit

if TYPE_CHECKING:
    from core.bench import Bench
    from core.catalogue import ServoSpec
    from core.model import ServoModel
    from core.recording import ServoSettings

SERVO, WEBOTS = "servo", "webots"
SOFT, STIFF = "soft", "stiff"
ACTUATOR_TITLES = {
    SERVO: "Servo",
    WEBOTS: "Webots Servo",
    **{name: kind.title for name, kind in ACTUATORS.items()},
}
"""Name in an address → what a person reads."""


class PlantStepper(Protocol):
    """A motion step by step, as `core.simulation.Stepper`."""

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
        """Advance with a held command: goal [rad], torques [N·m], supply [V].

        motor_torque replaces the position law for torque_share of the step, 0 … 1; torque_enable is the share of the
        rest in which the position law drives the motor; next_goal [rad] replaces the goal for the last next_share of
        the step.
        """
        ...

    @property
    def position(self) -> float:
        """[rad]"""
        ...

    @property
    def velocity(self) -> float:
        """[rad/s]"""
        ...

    @property
    def current(self) -> float:
        """During the last step [A]"""
        ...

    @property
    def duty_cycle(self) -> float:
        """During the last step, −1 … 1"""
        ...

    @property
    def supply_voltage(self) -> float:
        """During the last step [V]"""
        ...


class PlantActuator(Protocol):
    """Another actuator, as a picklable description."""

    @property
    def name(self) -> str:
        """As in an address and in `ServoSettings.actuator`"""
        ...

    @property
    def preset(self) -> float | None:
        """Of its stiffness, in its own unit; None where there is none"""
        ...

    @property
    def title(self) -> str:
        """What a person reads"""
        ...

    @property
    def description(self) -> str:
        """What else there is to say, in place of a firmware"""
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
        """Begin a motion [rad, rad/s] in steps of dt [s], released."""
        ...


@dataclass(frozen=True, kw_only=True)
class WebotsActuator:
    """A Webots Servo node (seed 002, section 3.42) as strong and as fast as the catalogue servo.

    The node has no friction but its damper; that and the inertia it turns are the viscous friction and the armature of
    the servo's model.
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
        """As `PlantActuator.stepper`."""
        from core.studies.webots.fields import ServoFields
        from core.studies.webots.stepper import WebotsStepper

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
    """A compliant actuator in the seed's operation mode 6: told an equilibrium, stiff by a preset (seed 003, 3.2)."""

    unit: CompliantUnit
    preset: float | None = None
    """In the actuator's unit; None where it has none. Raises ModelError for one it cannot take."""

    def __post_init__(self) -> None:
        if self.preset is None and self.unit.actuator.preset_unit:
            raise ModelError(f"a {self.title} needs a stiffness preset [{self.unit.actuator.preset_unit}]; give one")
        if self.preset is not None:
            self.unit.checked_preset(self.preset)

    @property
    def name(self) -> str:
        """Of the actuator"""
        return self.unit.actuator.name

    @property
    def title(self) -> str:
        """Of the actuator"""
        return self.unit.actuator.title

    @property
    def description(self) -> str:
        """The preset; the title where there is none"""
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
        """As `PlantActuator.stepper`; the model is not used."""
        from core.studies.compliant.modes import Mode
        from core.studies.compliant.stepper import CompliantStepper

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
    """The actuator of an address; None for the servo's own.

    name: of ACTUATOR_TITLES, or a file of `core.studies.compliant.files`; preset: a number in the actuator's unit, or
    "soft" (the seed's, also for "") or "stiff", which mean nothing to an actuator without presets. Raises ModelError or
    InputError.
    """
    if name in (SERVO, WEBOTS):
        unit, soft, stiff = None, None, None
    else:
        unit = _unit(name)
        actuator = unit.actuator
        soft, stiff = (actuator.soft_preset, actuator.stiff_preset) if actuator.preset_unit else (None, None)
    named = {"": soft, SOFT: soft, STIFF: stiff}
    try:
        value = named[preset] if preset in named else float(preset)
    except ValueError:
        raise ModelError(f"a stiffness preset is {SOFT}, {STIFF} or a number, not {preset!r}") from None
    if value is not None and soft is None:
        title = ACTUATOR_TITLES[name] if unit is None else unit.actuator.title
        raise ModelError(f"a {title} has no stiffness preset; leave {preset} out")
    if unit is not None:
        return CompliantPlant(unit=unit, preset=value)
    return None if name == SERVO else WebotsActuator()


def _unit(name: str) -> CompliantUnit:
    """The seed's actuator of a name with its toolbox's motors, or that of a file."""
    if name in ACTUATORS:
        return CompliantUnit(actuator=ACTUATORS[name]())
    if name.endswith(".json"):
        return read_unit(name)
    raise ModelError(f"no actuator {name!r}; there are {', '.join(ACTUATOR_TITLES)}, or a file of a compliant one")
