"""Identifiable parameters of an arm: the friction of its joints, its motors, and corrections of its links.

A parameter of a joint ends with the joint's number. Optional groups of terms are "motor" (effects between commands and
torques) and "links" (corrections of the given links). Used together, they leave out parameters that the motion cannot
separate: the motor inertia at joint 1 from that of the links, and the torque constant of joint 1 from the scale of all
masses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from core.base.arrays import Array
from core.base.errors import ModelError
from core.servo.friction import friction_parameters
from core.servo.parameters import Parameter, ParameterSet
from core.servo.terms import FRICTION
from core.studies.arm.dynamics import ARM_AT, FRICTION_SLOTS, arm_rows
from core.studies.arm.links import ArmLinks

NO_FRICTION = "none"
"""Name used instead of a friction model for an arm without friction."""
TERM_GROUPS = ("motor", "links")
LEAST_MARGIN = 1.02
"""Smallest I₁·I₂ of a candidate relative to the square of its coupling."""

_RATIOS = {
    "inertia_ratio_1": ("inertia_1",),
    "inertia_ratio_2": ("inertia_2",),
    "moment_ratio_2": ("coupling", "gravity_2"),
    "gravity_ratio_1": ("gravity_1",),
}
"""Numbers of `ArmBase` that each ratio multiplies."""


def arm_parameters(friction: str, terms: Sequence[str], links: ArmLinks, speed_scale: float) -> ParameterSet:
    """Return parameters with start values and bounds, scaled to the arm.

    Args:
        friction: Friction model of both joints, "m1" to "m6" or "none".
        terms: Groups of terms, from TERM_GROUPS.
        links: The given links.
        speed_scale: Typical measured speed [rad/s].

    Raises:
        ModelError: Unknown friction model or group.
    """
    for term in terms:
        if term not in TERM_GROUPS:
            raise ModelError(f"no group of terms {term!r} of an arm; available: {', '.join(TERM_GROUPS)}")
    torque_scale = links.base.gravity_1 + links.base.gravity_2
    found: list[Parameter] = []
    if friction != NO_FRICTION:
        per_joint = friction_parameters(friction, torque_scale, speed_scale)
        found = [replace(p, name=f"{p.name}_{joint}") for joint in (1, 2) for p in per_joint]
    if "motor" in terms:
        found += _motor(links, torque_scale, alone="links" not in terms)
    if "links" in terms:
        found += [_parameter(name, "1", 1.0, 0.6, 1.5) for name in _RATIOS]
        found += [_parameter(f"angle_offset_{joint}", "rad", 0.0, -0.1, 0.1) for joint in (1, 2)]
    return ParameterSet(found)


def _motor(links: ArmLinks, torque_scale: float, alone: bool) -> list[Parameter]:
    largest = 0.5 * min(links.inertias)
    offset = 0.1 * torque_scale
    return [
        *(
            _parameter(f"armature_{joint}", "kg·m²", links.armatures[joint - 1], 0.0, largest)
            for joint in (1, 2)
            if alone or joint == 2
        ),
        *(_parameter(f"torque_ratio_{joint}", "1", 1.0, 0.6, 1.5) for joint in (1, 2) if alone or joint == 2),
        *(_parameter(f"torque_offset_{joint}", "N·m", 0.0, -offset, offset) for joint in (1, 2)),
        _parameter("command_delay", "s", 0.002, 0.0, 0.02),
    ]


def _parameter(name: str, unit: str, value: float, lower: float, upper: float) -> Parameter:
    return Parameter(
        name=name,
        symbol=name,
        unit=unit,
        value=value,
        lower=min(lower, value),
        upper=max(upper, value),
        description=name.replace("_", " "),
    )


def candidate_rows(links: ArmLinks, parameters: ParameterSet, matrix: Array | None = None) -> Array:
    """Return kernel rows (p, len(ARM_ROW)) of candidates (p, n_free), by default the set's own values."""
    values = parameters.vector()[None] if matrix is None else matrix
    rows = arm_rows(links, len(values))
    columns = {p.name: values[:, place] for place, p in enumerate(parameters.free)}
    for name, parameter in parameters.items():
        value = columns.get(name, parameter.value)
        kind, _, joint = name.rpartition("_")
        if name == "command_delay":
            rows[:, ARM_AT["delay"]] = value
        elif name in _RATIOS:
            for number in _RATIOS[name]:
                rows[:, ARM_AT[number]] *= value
        elif kind in FRICTION:
            for slot in FRICTION[kind].slots:
                assert slot in FRICTION_SLOTS
                rows[:, ARM_AT[f"{slot.name.lower()}_of_{joint}"]] = value
        else:
            rows[:, ARM_AT[f"{kind}_of_{joint}"]] = value
    return rows


def possible(rows: Array) -> NDArray[np.bool_]:
    """Return True for candidates with a positive definite mass matrix at every elbow angle, shape (p,)."""
    first, second, coupling = (rows[:, ARM_AT[name]] for name in ("inertia_1", "inertia_2", "coupling"))
    return first * second > LEAST_MARGIN * coupling**2


def corrected_links(links: ArmLinks, parameters: ParameterSet) -> ArmLinks:
    """Return the identified links, with the corrections, armatures and offsets among the parameters.

    Many links move identically. These have the given masses, or smaller ones if the corrections leave no room for the
    mass on the elbow's axis; centres and inertias take the corrections.
    """
    values = parameters.numbers()
    ratio = {name: values.get(name, 1.0) for name in _RATIOS}
    share = min(1.0, ratio["inertia_ratio_1"], ratio["gravity_ratio_1"])
    (m1, m2), l1, (r1, r2) = links.masses, links.lengths[0], links.centres
    moment_1 = ratio["gravity_ratio_1"] * (m1 * r1 + m2 * l1) - share * m2 * l1
    moment_2 = ratio["moment_ratio_2"] * m2 * r2
    inertia_1 = ratio["inertia_ratio_1"] * links.base.inertia_1 - share * m2 * l1**2
    a1, a2 = (values.get(f"armature_{joint}", links.armatures[joint - 1]) for joint in (1, 2))
    o1, o2 = (values.get(f"angle_offset_{joint}", links.angle_offsets[joint - 1]) for joint in (1, 2))
    return replace(
        links,
        masses=(share * m1, share * m2),
        centres=(moment_1 / (share * m1), moment_2 / (share * m2)),
        inertias=(inertia_1, ratio["inertia_ratio_2"] * links.inertias[1]),
        armatures=(a1, a2),
        angle_offsets=(o1, o2),
    )
