"""Drives for engines without a motor model: the servo's law in torque, and the plain drive that replaces a model.

A drive with kp, kd and a torque limit equals the voltage law unless it saturates, because the limit then also includes
the back-EMF. If that makes no difference, the model's own numbers are written. If it does, or if friction or command
path do not fit, the drive is refitted to the model's motion (`core.export.approximation`).
"""

from __future__ import annotations

from dataclasses import dataclass

from core.base.errors import ExportError
from core.export.approximation import Approximation, Form, approximate
from core.export.drives.plain import PlainDrive, drive_of
from core.export.notes import fit_notes, missing_terms
from core.kernel.layout import Slot
from core.servo.bench import Bench
from core.servo.model import ServoModel
from core.servo.settings import ServoSettings


@dataclass(frozen=True, kw_only=True)
class DriveFit:
    """Plain drive that replaces a model, with its notes."""

    approximation: Approximation
    drive: PlainDrive
    notes: tuple[str, ...]


def fit_drive(model: ServoModel, bench: Bench, settings: ServoSettings, form: Form, engine: str) -> DriveFit:
    """Fit the plain drive that replaces a model; takes one second if the model's own numbers do, ten otherwise.

    Args:
        model: The identified model.
        bench: Pendulum of the comparison.
        settings: Settings of the servo.
        form: Form with `plain_drive`.
        engine: Name of the engine in notes and errors.

    Raises:
        ExportError: The settings have an integral gain, which a plain drive lacks.
    """
    require_gains(settings, engine)
    approximation = approximate(model, bench, settings, form)
    return DriveFit(
        approximation=approximation,
        drive=drive_of(approximation.model, model, settings),
        notes=tuple(fit_notes(approximation, engine, missing_terms(model, form))),
    )


@dataclass(frozen=True, kw_only=True)
class TorqueLaw:
    """Eqs (12, 13) or (14, 15) in torque: clip(stiffness·e − velocity_gain·q̇, ±limit) − back_emf·q̇."""

    stiffness: float
    """Stiffness [N·m/rad]."""
    velocity_gain: float
    """Velocity gain [N·m·s/rad]."""
    limit: float
    """Stall torque [N·m]."""
    back_emf: float
    """k_t²/R [N·m·s/rad]; 0 if the current is controlled."""
    no_load_speed: float
    """No-load speed [rad/s]."""


def torque_law(model: ServoModel, settings: ServoSettings) -> TorqueLaw:
    """Return a servo's control law and motor in torque; a current law loses its limit by the supply voltage."""
    row = model.bound_row(Bench(mass=0.0, length=0.0), settings, model.dt)
    kt, resistance, limit = (float(row[slot]) for slot in (Slot.TORQUE_CONSTANT, Slot.RESISTANCE, Slot.OUTPUT_LIMIT))
    current = model.control.law == "current"
    per_output = kt if current else settings.supply_voltage * kt / resistance
    return TorqueLaw(
        stiffness=per_output * float(row[Slot.KP]),
        velocity_gain=per_output * float(row[Slot.KV]),
        limit=per_output * limit,
        back_emf=0.0 if current else kt * kt / resistance,
        no_load_speed=settings.supply_voltage * (1.0 if current else limit) / kt,
    )


def require_gains(settings: ServoSettings, engine: str) -> None:
    """Raise ExportError for an integral gain, which a plain drive lacks."""
    if settings.ki > 0.0:
        raise ExportError(f"export to {engine}: a plain drive has no integral gain; leave ki at 0")
