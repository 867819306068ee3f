"""Settings of a servo for one run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from core.base.errors import InputError


@dataclass(frozen=True, kw_only=True)
class ServoSettings:
    """Settings written to the servo before the run, in the servo's own gain units.

    Example:
        >>> sb.ServoSettings(servo="xl330", kp=400.0, supply_voltage=5.0).kp
        400.0
    """

    servo: str
    """Catalogue name, e.g. "mx106"."""
    kp: float
    ki: float = 0.0
    kd: float = 0.0
    supply_voltage: float
    """Nominal supply [V]; a recording's `supply_voltage` channel holds the measured one."""
    damping: float | None = None
    """Velocity gain of laws that have one (eRob: amps = kp·e − damping·√kp·θ̇). None: the catalogue's."""
    actuator: str | None = None
    """Actuator that moves the shaft in place of the servo's own motor.

    "webots", "sea", "awas2", "bavs" or "qbmove"; None for the servo itself. With an actuator, the gains above have no
    effect.
    """
    preset: float | None = None
    """Stiffness preset of a compliant actuator, in its own unit (Mengacci et al., section 2.3); None if it has none."""

    def to_json(self) -> dict[str, Any]:
        """Return plain data for a file; absent values are left out."""
        return {name: value for name, value in self.__dict__.items() if value is not None}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ServoSettings:
        """Read the data of `to_json`."""
        try:
            return cls(**data)
        except TypeError as error:
            raise InputError(f"servo settings: {error}") from None
