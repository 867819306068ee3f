"""A servo as a drive whose torque limit falls with speed, for engines with a torque-speed envelope.

    drive = clip(kp·(goal − q) − kd·q̇, ±limit)    limit = min(largest − r·|q̇|, (v_max − |q̇|) / g)

    voltage law:  kp = kp·U·k_t/R   kd = k_t²/R           largest = U·D·k_t/R   r = k_t²/R       (12, 13)
    current law:  kp = k_t·kp       kd = k_t·damping·√kp  largest = k_t·I_heat  v_max = U/k_t, g = R/k_t²     (14, 15)

Equation numbers are those of Duclusaud et al. D is the largest duty cycle. The drive equals the identified motor except
for a motor that brakes at its limit, because the envelope is symmetric. Engines without an envelope use
`core.export.drives.plain`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from core.kernel.layout import Slot
from core.servo.actuator import ControlLaw
from core.servo.bench import Bench
from core.servo.model import ServoModel
from core.servo.parameters import Parameter, ParameterSet
from core.servo.settings import ServoSettings


@dataclass(frozen=True, kw_only=True)
class EnvelopeDrive:
    """Parameters of the drive and its joint, at the joint."""

    stiffness: float
    """kp [N·m/rad]"""
    damping: float
    """kd [N·m·s/rad]"""
    largest_torque: float
    """Torque limit at rest [N·m]."""
    resistance: float
    """r, decrease of the torque limit with speed [N·m·s/rad]."""
    gradient: float
    """g, decrease of the speed limit with torque [rad/s/(N·m)]; 0 without a speed limit."""
    largest_speed: float
    """v_max [rad/s]; 0: no limit."""
    friction: float
    """Coulomb friction [N·m]."""
    viscous: float
    """Viscous friction [N·m·s/rad]."""
    armature: float
    """Armature [kg·m²]."""


def envelope_drive_of(written: ServoModel, settings: ServoSettings) -> EnvelopeDrive:
    """Return the drive of a model with friction M1."""
    row = written.bound_row(Bench(mass=0.0, length=0.0), settings, written.dt)
    values, supply = written.values, settings.supply_voltage
    kt, resistance, limit = values["kt"], values["R"], float(row[Slot.OUTPUT_LIMIT])
    voltage = written.control.law == "voltage"
    torque = supply * kt / resistance if voltage else kt
    back_emf = kt * kt / resistance
    return EnvelopeDrive(
        stiffness=float(torque * row[Slot.KP]),
        damping=float(torque * row[Slot.KV]) + (back_emf if voltage else 0.0),
        largest_torque=torque * limit,
        resistance=back_emf if voltage else 0.0,
        gradient=0.0 if voltage else 1.0 / back_emf,
        largest_speed=0.0 if voltage else supply / kt,
        friction=values["friction_base"],
        viscous=values["friction_viscous"],
        armature=values["armature"],
    )


def as_model(drive: EnvelopeDrive, name: str) -> tuple[ServoModel, ServoSettings]:
    """Return the model that an engine with this drive simulates, except for braking at the limit, and its settings.

    The motor runs at 1 V, or has 1 N·m/A if the drive has a speed limit. `name` is a servo of the catalogue.
    """
    if drive.largest_speed > 0.0:
        law, unit, limit = "current", 1.0, drive.largest_torque
        supply, kt, resistance, damping = drive.largest_speed, 1.0, drive.gradient, drive.damping
    else:
        law, unit, limit = "voltage", drive.largest_torque, 1.0
        kt, resistance = drive.resistance / unit, drive.resistance / unit**2
        supply, damping = 1.0, max(drive.damping - drive.resistance, 0.0)
    kp = drive.stiffness / unit
    values = {
        "kt": kt,
        "R": resistance,
        "armature": drive.armature,
        "friction_base": drive.friction,
        "friction_viscous": drive.viscous,
    }
    model = ServoModel(
        servo=name,
        friction="m1",
        control=ControlLaw(law=law, output_limit=limit, damping=damping / unit / math.sqrt(kp)),
        supply_voltage=supply,
        parameters=ParameterSet(
            [Parameter(name=n, symbol="", unit="", value=v, lower=0.0, upper=v) for n, v in values.items()]
        ),
        dt=1e-4,
    )
    return model, ServoSettings(servo=name, kp=kp, supply_voltage=supply)
