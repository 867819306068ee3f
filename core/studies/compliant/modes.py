"""Operation modes of a compliant joint and what commands it in each (seed 003, sections 3.1 and 3.2)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import ArrayLike

from core.arrays import Array
from core.studies.compliant.elastic import CompliantActuator


class Mode(IntEnum):
    """The seed's numbers; names of its toolbox."""

    LINK_TORQUE = 0
    LINK_PID = 1
    SPRING_REFS = 2
    SPRING_EQ_PRES = 3
    MOTOR_TORQUES = 4
    PID_REFS = 5
    PID_EQ_PRES = 6

    @property
    def title(self) -> str:
        """In words."""
        return _TITLES[self]

    @property
    def has_springs(self) -> bool:
        """Whether springs move the link; a rigid joint else."""
        return self >= Mode.SPRING_REFS

    @property
    def has_motors(self) -> bool:
        """Whether the motors move by their own dynamics; else they are where the references put them."""
        return self >= Mode.MOTOR_TORQUES

    @property
    def takes_preset(self) -> bool:
        """Whether the references are an equilibrium and a stiffness preset."""
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
    """What one of a mode's two references is."""

    title: str
    unit: str
    topic: str
    """As section 3.1 of the seed prints it, below the joint's name"""


def reference_names(mode: Mode, actuator: CompliantActuator) -> tuple[ReferenceName, ReferenceName | None]:
    """Both references of a mode; None where the second is not used (seed 003, section 3.2).

    An actuator with one motor and an adjuster takes the adjuster's position wherever there is a second reference: its
    dynamics are neglected (seed 003, section 2.3).
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
    """What motors or link are told in a mode, broadcast together: its references, in modes 3 and 6 through the map."""
    if mode.takes_preset:
        return actuator.references(reference_1, reference_2)
    first, second = np.broadcast_arrays(
        np.asarray(reference_1, dtype=np.float64), np.asarray(reference_2, dtype=np.float64)
    )
    return first.copy(), second.copy()
