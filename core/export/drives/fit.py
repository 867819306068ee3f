"""Drives for engines that know no motor: the servo's law in torque, and the plain drive in a model's place.

A drive with kp, kd and a torque limit holds the voltage law as long as it does not saturate: the back-EMF then counts
against the limit, too. Where that makes no difference the model's own numbers are written; where it does, or friction
or command path do not fit, the drive is refitted to the model's motion (`core.export.approximation`).
"""

from __future__ import annotations

from dataclasses import dataclass

from core.bench import Bench
from core.errors import ExportError
from core.export.approximation import Approximation, Form, approximate
from core.export.drives.plain import PlainDrive, drive_of
from core.export.notes import fit_notes, missing_terms
from core.kernel.layout import Slot
from core.model import ServoModel
from core.recording import ServoSettings


@dataclass(frozen=True, kw_only=True)
class DriveFit:
    """What an engine with a plain drive is given."""

    approximation: Approximation
    drive: PlainDrive
    notes: tuple[str, ...]

    @property
    def error_mrad(self) -> float:
        """Mean over the grid [mrad]."""
        return self.approximation.mean_mrad


def fit_drive(model: ServoModel, bench: Bench, settings: ServoSettings, form: Form, engine: str) -> DriveFit:
    """The plain drive in place of a model; form: with `plain_drive`; engine: its name in the notes.

    Takes a second where the model's own numbers do, ten where they do not. Raises ExportError for gains it cannot have.
    """
    require_gains(settings, engine)
    approximation = approximate(model, bench, settings, form)
    return DriveFit(
        approximation=approximation,
        drive=drive_of(approximation.model, model, settings),
        notes=tuple(fit_notes(model, approximation, engine, missing_terms(model, form))),
    )


@dataclass(frozen=True, kw_only=True)
class TorqueLaw:
    """Eqs (12, 13) or (14, 15) in torque: clip(stiffness·e − velocity_gain·q̇, ±limit) − back_emf·q̇."""

    stiffness: float
    """[N·m/rad]"""
    velocity_gain: float
    """[N·m·s/rad]"""
    limit: float
    """Stall torque [N·m]"""
    back_emf: float
    """k_t²/R; 0 where the current is controlled [N·m·s/rad]"""
    no_load_speed: float
    """[rad/s]"""


def torque_law(model: ServoModel, settings: ServoSettings) -> TorqueLaw:
    """What a servo's control law and motor are in torque, the current law without its limit by the supply."""
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
    """Raise ExportError for an integral gain, which a plain drive does not have."""
    if settings.ki > 0.0:
        raise ExportError(f"export to {engine}: a plain drive has no integral gain; leave ki at 0")
