"""A servo as most engines model it: a position drive with a torque limit, on a joint with friction and armature.

    drive torque = clip(kp·(goal − q) − kd·q̇, ±limit)       joint torque = −viscous·q̇ − friction

The voltage law of Duclusaud et al., eqs (12, 13), is of this kind as long as it does not saturate. The current law, eqs
(14, 15), is of this kind without its limit by the supply voltage. `as_model` returns the model that an engine with such
a drive simulates.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from core.base.errors import ExportError
from core.export.approximation import NO_LIMIT, Form, settings_in_form
from core.kernel.layout import Slot
from core.servo.actuator import ControlLaw
from core.servo.bench import Bench
from core.servo.model import ServoModel
from core.servo.parameters import Parameter, ParameterSet
from core.servo.settings import ServoSettings


@dataclass(frozen=True, kw_only=True)
class PlainDrive:
    """Parameters of a drive and its joint, at the joint."""

    stiffness: float
    """kp [N·m/rad]."""
    damping: float
    """kd, within the torque limit [N·m·s/rad]"""
    torque_limit: float
    """Torque limit [N·m]."""
    no_load_speed: float
    """Speed at which the motor has no torque left [rad/s]."""
    friction: float
    """Coulomb friction of the joint [N·m]."""
    viscous: float
    """Viscous friction of the joint [N·m·s/rad]."""
    armature: float
    """Armature [kg·m²]."""
    extra_at_rest: float = 0.0
    """Additional friction at rest, K_c^s of the Stribeck term [N·m]."""
    stribeck_speed: float = 1.0
    """Stribeck speed v_s [rad/s]."""
    stribeck_exponent: float = 1.0
    delay: float = 0.0
    """Delay from command to effect [s]."""

    def __post_init__(self) -> None:
        wrong = [
            f"{name} = {value!r}"
            for name, value in self.__dict__.items()
            if not (math.isfinite(value) and value >= 0.0)
        ]
        if wrong:
            raise ExportError(f"a drive with {', '.join(wrong)} is not possible")


def drive_of(written: ServoModel, model: ServoModel, settings: ServoSettings) -> PlainDrive:
    """Return the drive of `written`, a model in the form of a plain drive; `settings` are the full model's."""
    own = settings_in_form(written, model, Form(plain_drive=True), settings)
    row = written.bound_row(Bench(mass=0.0, length=0.0), own, written.dt)
    values = written.values
    limit = row[Slot.OUTPUT_LIMIT] if model.control.law == "voltage" else 1.0
    return PlainDrive(
        stiffness=float(values["kt"] * row[Slot.KP]),
        damping=float(values["kt"] * row[Slot.KV]),
        torque_limit=float(values["kt"] * row[Slot.OUTPUT_LIMIT]),
        no_load_speed=float(settings.supply_voltage * limit / model.values["kt"]),
        friction=values["friction_base"],
        viscous=values["friction_viscous"],
        armature=values["armature"],
        extra_at_rest=values.get("friction_stribeck", 0.0),
        stribeck_speed=values.get("dtheta_stribeck", 1.0),
        stribeck_exponent=values.get("alpha", 1.0),
        delay=values.get("command_delay", 0.0),
    )


def as_model(drive: PlainDrive, servo: str) -> tuple[ServoModel, ServoSettings]:
    """Return the model that an engine with this drive simulates, and its settings; `servo` is a catalogue name.

    Raises:
        ExportError: The drive has no torque or no stiffness.
    """
    limit = drive.torque_limit
    if not (limit > 0.0 and drive.stiffness > 0.0):
        raise ExportError("a drive with a torque limit or a stiffness of 0 cannot move anything")
    values: Mapping[str, float] = {
        "kt": limit,
        "R": 1.0,
        "armature": drive.armature,
        "friction_base": drive.friction,
        "friction_viscous": drive.viscous,
        "friction_stribeck": drive.extra_at_rest,
        "dtheta_stribeck": drive.stribeck_speed,
        "alpha": drive.stribeck_exponent,
        "command_delay": drive.delay,
    }
    kp = drive.stiffness / limit
    control = ControlLaw(law="current", output_limit=1.0, damping=drive.damping / limit / math.sqrt(kp))
    parameters = [
        Parameter(name=name, symbol="", unit="", value=value, lower=0.0, upper=value) for name, value in values.items()
    ]
    model = ServoModel(
        servo=servo,
        friction="m2",
        control=control,
        supply_voltage=NO_LIMIT,
        parameters=ParameterSet(parameters),
        dt=1e-4,
    )
    return model, ServoSettings(servo=servo, kp=kp, supply_voltage=NO_LIMIT)
