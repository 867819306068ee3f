"""A planar arm whose two joints are compliant: links, springs, motors and their controllers (seed 003, eqs 1 to 11).

Each joint has one of the actuators of `core.studies.compliant.elastic` with its motors under position control, and is
told where its equilibrium shall be and how stiff it shall be: operation mode 6, in which the seed drives its arms
(sections 4.2 and 4.3). The arm moves in a vertical plane; without gravity in its links, in a horizontal one.

The seed does not print the masses and lengths of its arms. `TWO_JOINTS` is put together from what its authors publish:
the arm of their toolbox's example (joints 0.085 m apart, Richi90/ROS-Gazebo-plugin-qbmove, multidof_template.urdf), a
qbMove of 0.75 kg with its motors and shaft that is carried by a flange of 0.14 kg (qb_move_description there), and at
the end the load of the seed's single joint, 0.2 kg at 0.04 m, on such a flange's inertia. That the carried qbMove's
mass is on the second joint's axis is ours.

This module loads no compiler before something is simulated.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from core.arrays import Array
from core.errors import InputError, ModelError
from core.studies.arm.links import ArmLinks, Pair
from core.studies.compliant.elastic import CompliantActuator, QbMove, constants
from core.studies.compliant.motor import Motor, Pid, motor_constants, pid_constants


@dataclass(frozen=True, kw_only=True)
class Box:
    """A box that the arm's tip may push (seed 003, section 4.2.3), in its plane, whose axes x and z start at joint 1.

    The box slides along x without tipping; its dry friction holds it until it is pushed by more than μ·m·g. The tip
    meets its near face, a stiff spring with a damper that can only push, and slides along the face without friction. Of
    the seed are mass, size and friction; stiffness and damping of the face are ours, such that the tip sinks in by
    fractions of a millimetre.
    """

    face: float
    """x of its near face at the start [m]; infinite for a box that is nowhere."""
    edge: float
    """z of the lower edge of that face [m]: the ground in a vertical plane, a side's edge in a horizontal one."""
    mass: float = 2.0
    """[kg]"""
    side: float = 0.265
    """Length of its edges [m]"""
    friction: float = 0.23
    """μ between box and ground: wood on cardboard"""
    gravity: float = 9.81
    """That presses it onto the ground [m/s²]"""
    contact_stiffness: float = 1e4
    """Of the face [N/m]"""
    contact_damping: float = 20.0
    """Of the face [N·s/m]"""

    def __post_init__(self) -> None:
        for name in ("mass", "side", "contact_stiffness"):
            if not 0.0 < getattr(self, name) < math.inf:
                raise ModelError(f"box: {name} = {getattr(self, name)!r} must be a positive number")
        for name in ("friction", "gravity", "contact_damping"):
            if not 0.0 <= getattr(self, name) < math.inf:
                raise ModelError(f"box: {name} = {getattr(self, name)!r} must be a number of 0 or more")
        if math.isnan(self.face) or not math.isfinite(self.edge):
            raise ModelError(f"box: a face at x = {self.face!r} m with its edge at z = {self.edge!r} m is nowhere")

    @property
    def holding_force(self) -> float:
        """Push that it withstands, μ·m·g [N]."""
        return self.friction * self.mass * self.gravity


NO_BOX = Box(face=math.inf, edge=0.0)
"""For an arm with nothing to touch."""


def box_constants(box: Box) -> Array:
    """Numbers for `core.studies.compliant.compiled`, (6,): mass, holding force, stiffness, damping, both edges."""
    return np.array(
        [box.mass, box.holding_force, box.contact_stiffness, box.contact_damping, box.edge, box.edge + box.side]
    )


LINK_DAMPING = 0.065
"""Of a link's joint, seed 003, section 4.2 [N·m·s/rad]"""
LINK_FRICTION = 0.025
"""Dry, of a link's joint, as above [N·m]"""
PHASE = 0.1
"""Most radians of the fastest oscillation in a step of the simulation."""
_HALVINGS = 60
"""Of an interval of some radians: down to rounding."""

FLANGE, FLANGE_INERTIA = 0.14, 1e-3
"""Mass and inertia of what connects qbMoves [kg, kg·m²]"""
QBMOVE, QBMOVE_INERTIA = 0.75, 1e-3
"""Mass and inertia of a qbMove with its motors and shaft [kg, kg·m²]"""
_APART, _LOAD, _LOAD_AT = 0.085, 0.2, 0.04


def carrying(length: float) -> tuple[float, float, float]:
    """Mass [kg], centre [m], inertia about the joint [kg·m²] of a flange of `length` [m] with a qbMove at its end."""
    mass = FLANGE + QBMOVE
    return mass, (0.5 * FLANGE + QBMOVE) * length / mass, QBMOVE_INERTIA + (FLANGE / 3.0 + QBMOVE) * length**2


def two_joints(load: float = _LOAD) -> ArmLinks:
    """The arm of two qbMoves with another load [kg] at 0.04 m on the second link; raises InputError for 0 or less."""
    mass, centre, inertia = carrying(_APART)
    return ArmLinks(
        masses=(mass, load),
        lengths=(_APART, 2.0 * _LOAD_AT),
        centres=(centre, _LOAD_AT),
        inertias=(inertia, FLANGE_INERTIA + load * _LOAD_AT**2),
    )


TWO_JOINTS = two_joints()
"""The arm of two qbMoves in the seed's Fig. 10; see above for where its numbers are from."""

DATASHEET = QbMove(k1=0.0227, a1=6.7328, k2=0.0216, a2=6.9602)
"""Springs of a qbMove by its data sheet, as NMMI/ILC-code has them (cube_parameters.m): nearly alike, so that the link
rests where it is told."""
IDENTIFIED = (
    QbMove(a1=6.257, k1=0.01038, a2=3.9, k2=0.08918),
    QbMove(a1=3.383, k1=0.1015, a2=7.011, k2=0.05944),
)
"""Springs of both joints as the seed identified them (section 4.3, where a and k have each other's units)."""


@dataclass(frozen=True, kw_only=True)
class CompliantArm:
    """An arm of two compliant joints; each pair holds joint 1 and joint 2."""

    links: ArmLinks = TWO_JOINTS
    """Gravity 0 for a horizontal plane; their angle offsets are those of the links, not of the motors."""
    actuators: tuple[CompliantActuator, CompliantActuator] = IDENTIFIED
    presets: Pair = (0.2, 0.2)
    """Stiffness presets, in the unit of each actuator's"""
    motors: tuple[Motor, Motor] = (Motor(), Motor())
    """All motors of a joint are alike."""
    pids: tuple[Pid, Pid] = (Pid(), Pid())
    damping: Pair = (LINK_DAMPING, LINK_DAMPING)
    """Of the links' joints [N·m·s/rad]"""
    friction: Pair = (LINK_FRICTION, LINK_FRICTION)
    """Dry, of the links' joints [N·m]"""

    def __post_init__(self) -> None:
        for name in ("damping", "friction"):
            if not all(0.0 <= value < math.inf for value in getattr(self, name)):
                raise ModelError(f"compliant arm: {name} = {getattr(self, name)} must be two numbers of 0 or more")
        for actuator, preset in zip(self.actuators, self.presets, strict=True):
            low, high = actuator.preset_limits()
            if not math.isfinite(preset) or (low < high and not low <= preset <= high):
                raise ModelError(
                    f"compliant arm: {actuator.preset_name.lower()} {preset:g} {actuator.preset_unit} of the "
                    f"{actuator.title} must lie within {low:g} … {high:g}"
                )

    def with_gravity(self, gravity: float) -> CompliantArm:
        """The same arm in a plane along which gravity is this [m/s²]."""
        return replace(self, links=replace(self.links, gravity=gravity))


@dataclass(frozen=True, kw_only=True, eq=False)
class CompliantArmMotion:
    """A simulated arm; row k is the state when the k-th input is given, columns are joints 1 and 2."""

    time: Array
    """(n,) s"""
    equilibrium: Array
    """(n, 2) rad: the input"""
    position: Array
    """(n, 2) rad, of the links"""
    velocity: Array
    """(n, 2) rad/s, of the links"""
    motor_1: Array
    """(n, 2) rad: motor 1 of each joint"""
    motor_2: Array
    """(n, 2) rad: motor 2 of each joint, where there is one; an adjuster's position in its own unit"""
    spring_torque: Array
    """(n, 2) N·m on the links"""
    tip_force: Array
    """(n,) N: horizontal push of the tip on the box"""
    box: Array
    """(n,) m: x of the box's near face, infinite without a box"""


def link_equilibrium(arm: CompliantArm, motion: CompliantArmMotion) -> Array:
    """Where the springs of each joint alone would hold its link, by its motors' positions, (n, 2) rad."""
    pairs = zip(arm.actuators, motion.motor_1.T, motion.motor_2.T, strict=True)
    return np.column_stack([actuator.equilibrium(first, second) for actuator, first, second in pairs])


def simulate_compliant_arm(
    arm: CompliantArm,
    equilibrium: ArrayLike,
    step: float,
    *,
    start: ArrayLike = (0.0, 0.0),
    rest: float = 0.0,
    box: Box = NO_BOX,
    substeps: int | None = None,
) -> CompliantArmMotion:
    """Move an arm by equilibrium positions (n, 2) rad, each held for `step` [s].

    start: links at rest there (2,) rad, motors where the first input wants them; rest: the first input is held for so
    long [s] before time 0; substeps: parts of a step, None for as many as `PHASE` asks for. Raises InputError for an
    input that is not possible, ModelError when the simulation leaves the numbers.
    """
    wanted = np.asarray(equilibrium, dtype=np.float64)
    _require_possible(wanted, step, rest, arm.links)
    parts = substeps or substeps_of(arm, step, box)
    before = round(rest / step)
    references = _references(arm, np.vstack([np.repeat(wanted[:1], before, axis=0), wanted]))
    out = np.empty((before + len(wanted), 12))
    first = references[0].reshape(4)
    motor_states = np.column_stack([first, np.zeros(4), first, np.zeros(4)])
    state = np.array([*np.asarray(start, dtype=np.float64), 0.0, 0.0, box.face, 0.0])
    _program(arm)(
        np.array([*vars(arm.links.base).values(), *arm.links.armatures]),
        np.array(arm.links.lengths),
        np.column_stack([arm.friction, arm.damping]),
        np.array([int(actuator.kind) for actuator in arm.actuators]),
        np.array([constants(actuator) for actuator in arm.actuators]),
        np.array([actuator.motors == 1 for actuator in arm.actuators]),
        np.array([motor_constants(motor) for motor in arm.motors]),
        np.array([pid_constants(pid) for pid in arm.pids]),
        box_constants(box),
        references,
        state,
        motor_states,
        step / parts,
        parts,
        out,
    )
    kept = out[before:]
    if not np.all(np.isfinite(kept[:, :10])):
        raise ModelError(f"the arm cannot be simulated with {parts} parts of a step of {step} s; take more of them")
    return CompliantArmMotion(
        time=step * np.arange(len(wanted), dtype=np.float64),
        equilibrium=wanted,
        position=kept[:, 0:2],
        velocity=kept[:, 2:4],
        motor_1=kept[:, 4:8:2],
        motor_2=kept[:, 5:8:2],
        spring_torque=kept[:, 8:10],
        tip_force=kept[:, 11],
        box=kept[:, 10],
    )


def _require_possible(wanted: Array, step: float, rest: float, links: ArmLinks) -> None:
    """Raise InputError for what cannot be simulated; wanted: equilibrium positions [rad]; step, rest [s]."""
    if wanted.ndim != 2 or wanted.shape[1] != 2 or len(wanted) == 0 or not np.all(np.isfinite(wanted)):
        raise InputError(f"input of a compliant arm of shape {wanted.shape}: give finite angles (n, 2), one a joint")
    if not (0.0 < step < math.inf and 0.0 <= rest < math.inf):
        raise InputError(f"a compliant arm in steps of {step} s after a rest of {rest} s: not possible")
    if any(links.angle_offsets):
        raise InputError(f"links of a compliant arm with angle offsets {links.angle_offsets} rad: give links without")


def gravity_torque(links: ArmLinks, angles: ArrayLike) -> Array:
    """Torque (n, 2) N·m that holds links at angles (n, 2) rad against gravity, G(q) of seed 003, eq. (1)."""
    at, base = np.asarray(angles, dtype=np.float64), links.base
    both = base.gravity_2 * np.sin(at.sum(axis=1))
    return np.column_stack([base.gravity_1 * np.sin(at[:, 0]) + both, both])


def equilibrium_for(arm: CompliantArm, angles: ArrayLike) -> Array:
    """Input (n, 2) rad at which springs hold the links at angles (n, 2) rad against gravity.

    The angles and the springs' deflections under gravity, as the seed compensates gravity on its arm (section 4.2.3).
    Raises ModelError where the springs are too weak.
    """
    at = np.asarray(angles, dtype=np.float64)
    needed = gravity_torque(arm.links, at)
    columns: list[Array] = []
    for joint, (actuator, preset) in enumerate(zip(arm.actuators, arm.presets, strict=True)):
        low, high = at[:, joint] - math.pi, at[:, joint] + math.pi
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            short = _link_torque(actuator, middle, preset, at[:, joint]) < needed[:, joint]
            low, high = np.where(short, middle, low), np.where(short, high, middle)
        found = 0.5 * (low + high)
        missing = np.abs(_link_torque(actuator, found, preset, at[:, joint]) - needed[:, joint])
        if np.any(missing > 1e-6 * (1.0 + np.abs(needed[:, joint]))):
            raise ModelError(
                f"joint {joint + 1}: the {actuator.title} at preset {preset:g} {actuator.preset_unit} cannot hold "
                f"{np.max(np.abs(needed[:, joint])):.3g} N·m; make it stiffer or the load smaller"
            )
        columns.append(found)
    return np.column_stack(columns)


def substeps_of(arm: CompliantArm, step: float, box: Box = NO_BOX) -> int:
    """Parts of a step [s] such that the fastest oscillation turns by at most `PHASE` in each."""
    return max(1, math.ceil(step * _fastest(arm, box) / PHASE))


def _link_torque(actuator: CompliantActuator, equilibrium: Array, preset: float, link: Array) -> Array:
    return actuator.elastic_torque(*actuator.references(equilibrium, preset), link).link


def _references(arm: CompliantArm, equilibrium: Array) -> Array:
    """Of the motors, (n, joint, motor)."""
    pairs = [a.references(e, p) for a, e, p in zip(arm.actuators, equilibrium.T, arm.presets, strict=True)]
    return np.ascontiguousarray(np.array(pairs).transpose(2, 0, 1))


def _fastest(arm: CompliantArm, box: Box) -> float:
    """Rate of the fastest oscillation that links on their stiffest springs or a motor can have [rad/s]."""
    stiffest: list[float] = []
    rates: list[float] = []
    for actuator, preset, motor, pid in zip(arm.actuators, arm.presets, arm.motors, arm.pids, strict=True):
        found = actuator.elastic_torque(*actuator.references(0.0, preset), np.linspace(-math.pi, math.pi, 1257))
        stiffest.append(float(np.max(np.abs(found.stiffness))))
        stiffness = pid.kp + stiffest[-1] + motor.friction_stiffness
        rates += [math.sqrt(stiffness / motor.inertia), (pid.kd + motor.damping) / motor.inertia]
    touching = 0.0 if math.isinf(box.face) else box.contact_stiffness
    way = np.array([sum(arm.links.lengths), arm.links.lengths[1]])
    stiffness = np.diag(stiffest) + touching * np.outer(way, way)
    base, (j1, j2) = arm.links.base, arm.links.armatures
    for elbow in np.linspace(0.0, math.pi, 19):
        swing = base.coupling * math.cos(elbow)
        mutual = base.inertia_2 + swing
        inertia = np.array(
            [[base.inertia_1 + base.inertia_2 + 2.0 * swing + j1, mutual], [mutual, base.inertia_2 + j2]]
        )
        rates.append(math.sqrt(float(np.max(np.abs(np.linalg.eigvals(np.linalg.solve(inertia, stiffness)))))))
    return max(rates)


def _program(arm: CompliantArm) -> Callable[..., None]:
    """What moves this arm: compiled, unless a user's actuator has no compiled twin."""
    from core.studies.compliant.compiled import arm_motion, arm_motion_with, elastic, interpreted_arm_motion

    first, second = (actuator.compiled_elastic() for actuator in arm.actuators)
    if first is elastic and second is elastic:
        return arm_motion()
    if first is not None and second is not None:
        return arm_motion_with(first, second)
    return interpreted_arm_motion(*(actuator.interpreted_elastic for actuator in arm.actuators))
