"""Operation modes of a compliant joint and their references (sections 3.1 and 3.2)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import ArrayLike

from core.base.arrays import Array
from core.studies.compliant.elastic import CompliantActuator


class Mode(IntEnum):
    """Operation mode, with the paper's numbers and the toolbox's names."""

    LINK_TORQUE = 0
    LINK_PID = 1
    SPRING_REFS = 2
    SPRING_EQ_PRES = 3
    MOTOR_TORQUES = 4
    PID_REFS = 5
    PID_EQ_PRES = 6

    @property
    def title(self) -> str:
        """Mode in words."""
        return _TITLES[self]

    @property
    def has_springs(self) -> bool:
        """True if springs move the link; otherwise the joint is rigid."""
        return self >= Mode.SPRING_REFS

    @property
    def has_motors(self) -> bool:
        """True if the motors have dynamics; otherwise they are at their references."""
        return self >= Mode.MOTOR_TORQUES

    @property
    def takes_preset(self) -> bool:
        """True if the references are an equilibrium and a stiffness preset."""
        return self in (Mode.SPRING_EQ_PRES, Mode.PID_EQ_PRES)


_TITLES = {
    Mode.LINK_TORQUE: "Link torque",
    Mode.LINK_PID: "Link position",
    Mode.SPRING_REFS: "Motor positions, ideal motors",
    Mode.SPRING_EQ_PRES: "Equilibrium and preset, ideal motors",
    Mode.MOTOR_TORQUES: "Motor torques",
    Mode.PID_REFS: "Motor positions, controlled",
    Mode.PID_EQ_PRES: "Equilibrium and preset, controlled",
}


@dataclass(frozen=True, kw_only=True)
class ReferenceName:
    """Description of one of a mode's two references."""

    title: str
    unit: str
    topic: str
    """Topic as in section 3.1, relative to the joint's name."""


def reference_names(mode: Mode, actuator: CompliantActuator) -> tuple[ReferenceName, ReferenceName | None]:
    """Return both references of a mode; None if the second is not used (section 3.2).

    For an actuator with one motor and an adjuster, every second reference is the adjuster's position, because its
    dynamics are neglected (section 2.3).
    """
    if mode is Mode.LINK_TORQUE:
        return ReferenceName(title="Link torque", unit="N·m", topic="torque_command"), None
    if mode is Mode.LINK_PID:
        return ReferenceName(title="Link position", unit="rad", topic="link_command"), None
    if mode.takes_preset:
        first = ReferenceName(title="Equilibrium", unit="rad", topic="equilibrium_position")
        second = ReferenceName(title=actuator.preset_name, unit=actuator.preset_unit, topic="stiffness_preset")
        return first, second if actuator.preset_unit else None
    torques = mode is Mode.MOTOR_TORQUES
    title, unit = ("torque", "N·m") if torques else ("position", "rad")
    topics = ("motor_1_command", "motor_2_command") if torques else ("reference_1", "reference_2")
    first = ReferenceName(title=f"Motor 1 {title}", unit=unit, topic=topics[0])
    if actuator.motors == 2:
        return first, ReferenceName(title=f"Motor 2 {title}", unit=unit, topic=topics[1])
    if not actuator.preset_unit:
        return first, None
    return first, ReferenceName(title=actuator.preset_name, unit=actuator.preset_unit, topic=topics[1])


def commands_of(
    mode: Mode, actuator: CompliantActuator, reference_1: ArrayLike, reference_2: ArrayLike
) -> tuple[Array, Array]:
    """Return the commands of motors or link: the references, in modes 3 and 6 converted to motor positions."""
    if mode.takes_preset:
        return actuator.references(reference_1, reference_2)
    first, second = np.broadcast_arrays(
        np.asarray(reference_1, dtype=np.float64), np.asarray(reference_2, dtype=np.float64)
    )
    return first.copy(), second.copy()
