"""A planar arm with two compliant joints: links, springs, motors and their controllers (Mengacci et al., eqs 1 to 11).

Each joint has one of the actuators of `core.studies.compliant.elastic` with position-controlled motors. Its inputs are
an equilibrium position and a stiffness: operation mode 6, which the paper uses for its arms (sections 4.2 and 4.3). The
arm moves in a vertical plane, or with zero gravity in a horizontal one.

The paper does not print the masses and lengths of its arms. `TWO_JOINTS` is composed of what its authors publish: the
arm of their toolbox's example (joints 0.085 m apart, Richi90/ROS-Gazebo-plugin-qbmove, multidof_template.urdf), a
qbMove of 0.75 kg with motors and shaft on a flange of 0.14 kg (qb_move_description there), and at the end the load of
the paper's single joint, 0.2 kg at 0.04 m, with the inertia of such a flange. It is our assumption that the carried
qbMove's mass is on the second joint's axis.

This module loads no compiler before something is simulated.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from core.base.arrays import Array
from core.base.errors import InputError, ModelError
from core.studies.arm.links import ArmLinks, Pair
from core.studies.compliant.elastic import CompliantActuator, QbMove, constants
from core.studies.compliant.motor import Motor, Pid, motor_constants, pid_constants


@dataclass(frozen=True, kw_only=True)
class Box:
    """Box that the arm's tip may push (section 4.2.3), in its plane, whose axes x and z start at joint 1.

    The box slides along x without tipping; its dry friction holds it until it is pushed by more than μ·m·g. The tip
    meets its near face, a stiff spring with a damper that can only push, and slides along the face without friction.
    Mass, size and friction are those of the paper. Stiffness and damping of the face are chosen so that the tip sinks
    in by fractions of a millimetre.
    """

    face: float
    """Start position x of the near face [m]; infinite without a box."""
    edge: float
    """z of the lower edge of the near face [m]: the ground in a vertical plane, a side in a horizontal one."""
    mass: float = 2.0
    """Mass [kg]."""
    side: float = 0.265
    """Length of the edges [m]."""
    friction: float = 0.23
    """μ between box and ground: wood on cardboard."""
    gravity: float = 9.81
    """Gravity that presses the box onto the ground [m/s²]."""
    contact_stiffness: float = 1e4
    """Stiffness of the face [N/m]."""
    contact_damping: float = 20.0
    """Damping of the face [N·s/m]."""

    def __post_init__(self) -> None:
        for name in ("mass", "side", "contact_stiffness"):
            if not 0.0 < getattr(self, name) < math.inf:
                raise ModelError(f"box: {name} = {getattr(self, name)!r} must be a positive number")
        for name in ("friction", "gravity", "contact_damping"):
            if not 0.0 <= getattr(self, name) < math.inf:
                raise ModelError(f"box: {name} = {getattr(self, name)!r} must be a number of 0 or more")
        if math.isnan(self.face) or not math.isfinite(self.edge):
            raise ModelError(f"box: a face at x = {self.face!r} m with its edge at z = {self.edge!r} m is not possible")

    @property
    def holding_force(self) -> float:
        """Push that the box withstands, μ·m·g [N]."""
        return self.friction * self.mass * self.gravity


NO_BOX = Box(face=math.inf, edge=0.0)
"""Box of an arm without contact."""


def box_constants(box: Box) -> Array:
    """Return a box for the compiled code, shape (6,): mass, holding force, stiffness, damping, both edges."""
    return np.array(
        [box.mass, box.holding_force, box.contact_stiffness, box.contact_damping, box.edge, box.edge + box.side]
    )


LINK_DAMPING = 0.065
"""Damping of a link's joint, section 4.2 [N·m·s/rad]."""
LINK_FRICTION = 0.025
"""Dry friction of a link's joint, section 4.2 [N·m]."""
PHASE = 0.1
"""Largest phase advance of the fastest oscillation per substep [rad]."""
_HALVINGS = 60
"""Bisections of an interval of some radians, down to rounding."""

FLANGE, FLANGE_INERTIA = 0.14, 1e-3
"""Mass and inertia of the flange between qbMoves [kg, kg·m²]."""
QBMOVE, QBMOVE_INERTIA = 0.75, 1e-3
"""Mass and inertia of a qbMove with its motors and shaft [kg, kg·m²]."""
_APART, _LOAD, _LOAD_AT = 0.085, 0.2, 0.04


def carrying(length: float) -> tuple[float, float, float]:
    """Return mass [kg], centre [m] and inertia [kg·m²] of a flange of `length` [m] with a qbMove at its end."""
    mass = FLANGE + QBMOVE
    return mass, (0.5 * FLANGE + QBMOVE) * length / mass, QBMOVE_INERTIA + (FLANGE / 3.0 + QBMOVE) * length**2


def two_joints(load: float = _LOAD, distance: float = _LOAD_AT) -> ArmLinks:
    """Return the arm of two qbMoves with a load [kg] at a distance from joint 2 [m].

    Raises:
        InputError: The load is 0 or less.
    """
    mass, centre, inertia = carrying(_APART)
    return ArmLinks(
        masses=(mass, load),
        lengths=(_APART, 2.0 * _LOAD_AT),
        centres=(centre, distance),
        inertias=(inertia, FLANGE_INERTIA + load * distance**2),
    )


TWO_JOINTS = two_joints()
"""The arm of two qbMoves in Fig. 10; see the module for the sources of its numbers."""

DATASHEET = QbMove(k1=0.0227, a1=6.7328, k2=0.0216, a2=6.9602)
"""Springs of a qbMove by its data sheet, as in NMMI/ILC-code (cube_parameters.m): nearly equal, so that the link rests
at the commanded equilibrium."""
IDENTIFIED = (
    QbMove(a1=6.257, k1=0.01038, a2=3.9, k2=0.08918),
    QbMove(a1=3.383, k1=0.1015, a2=7.011, k2=0.05944),
)
"""Springs of both joints as identified in the paper (section 4.3, where the units of a and k are swapped)."""


@dataclass(frozen=True, kw_only=True)
class CompliantArm:
    """Arm with two compliant joints; each pair holds joint 1 and joint 2."""

    links: ArmLinks = TWO_JOINTS
    """Links; gravity is 0 in a horizontal plane, and angle offsets must be 0."""
    actuators: tuple[CompliantActuator, CompliantActuator] = IDENTIFIED
    presets: Pair = (0.2, 0.2)
    """Stiffness presets, in the unit of each actuator."""
    motors: tuple[Motor, Motor] = (Motor(), Motor())
    """Motor of each joint; all motors of a joint are equal."""
    pids: tuple[Pid, Pid] = (Pid(), Pid())
    damping: Pair = (LINK_DAMPING, LINK_DAMPING)
    """Damping of the links' joints [N·m·s/rad]."""
    friction: Pair = (LINK_FRICTION, LINK_FRICTION)
    """Dry friction of the links' joints [N·m]."""

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
        """Return the arm in a plane with this gravity [m/s²]."""
        return replace(self, links=replace(self.links, gravity=gravity))


@dataclass(frozen=True, kw_only=True, eq=False)
class CompliantArmMotion:
    """Motion of a simulated arm; row k is the state at the k-th input, columns are joints 1 and 2."""

    time: Array
    """Time [s], shape (n,)."""
    equilibrium: Array
    """Input [rad], shape (n, 2)."""
    position: Array
    """Positions of the links [rad], shape (n, 2)."""
    velocity: Array
    """Velocities of the links [rad/s], shape (n, 2)."""
    motor_1: Array
    """Positions of motor 1 of each joint [rad], shape (n, 2)."""
    motor_2: Array
    """Positions of motor 2 of each joint, if any [rad], or of the adjuster in its own unit, shape (n, 2)."""
    spring_torque: Array
    """Spring torques on the links [N·m], shape (n, 2)."""
    tip_force: Array
    """Horizontal push of the tip on the box [N], shape (n,)."""
    box: Array
    """x of the box's near face [m], infinite without a box, shape (n,)."""


def link_equilibrium(arm: CompliantArm, motion: CompliantArmMotion) -> Array:
    """Return the link angles at which the springs alone are in equilibrium, (n, 2) [rad]."""
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
    """Move an arm by equilibrium positions, each held for `step` [s].

    Args:
        arm: The arm.
        equilibrium: Equilibrium positions [rad], shape (n, 2).
        step: Duration of each position [s].
        start: Start angles of the links, at rest [rad], shape (2,). Motors start where the first input needs them.
        rest: Time for which the first input is held before time 0 [s].
        box: Box in the arm's way.
        substeps: Substeps of a step. None: as many as `PHASE` needs.

    Raises:
        InputError: An impossible input.
        ModelError: The simulation becomes unstable.
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
        raise ModelError(f"the arm cannot be simulated with {parts} substeps of a step of {step} s; use more")
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
    """Raise InputError for inputs that cannot be simulated; `wanted` in rad, `step` and `rest` in s."""
    if wanted.ndim != 2 or wanted.shape[1] != 2 or len(wanted) == 0 or not np.all(np.isfinite(wanted)):
        raise InputError(f"input of a compliant arm of shape {wanted.shape}: give finite angles (n, 2), one per joint")
    if not (0.0 < step < math.inf and 0.0 <= rest < math.inf):
        raise InputError(f"a compliant arm in steps of {step} s after a rest of {rest} s: not possible")
    if any(links.angle_offsets):
        raise InputError(f"links of a compliant arm with angle offsets {links.angle_offsets} rad: give links without")


def gravity_torque(links: ArmLinks, angles: ArrayLike) -> Array:
    """Return the torque (n, 2) [N·m] that holds links at angles (n, 2) [rad] against gravity, G(q) of eq. (1)."""
    at, base = np.asarray(angles, dtype=np.float64), links.base
    both = base.gravity_2 * np.sin(at.sum(axis=1))
    return np.column_stack([base.gravity_1 * np.sin(at[:, 0]) + both, both])


def equilibrium_for(arm: CompliantArm, angles: ArrayLike) -> Array:
    """Return the input (n, 2) [rad] at which springs hold the links at angles (n, 2) [rad] against gravity.

    It is the sum of the angles and the springs' deflections under gravity, as in the paper's gravity compensation
    (section 4.2.3). Raises ModelError if the springs are too weak.
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
        if not np.all(missing <= 1e-6 * (1.0 + np.abs(needed[:, joint]))):
            raise ModelError(
                f"joint {joint + 1}: the {actuator.title} at preset {preset:g} {actuator.preset_unit} cannot hold "
                f"{np.max(np.abs(needed[:, joint])):.3g} N·m; make it stiffer or the load smaller"
            )
        columns.append(found)
    return np.column_stack(columns)


def substeps_of(arm: CompliantArm, step: float, box: Box = NO_BOX) -> int:
    """Return the number of substeps in which the fastest oscillation advances by at most `PHASE`."""
    return max(1, math.ceil(step * _fastest(arm, box) / PHASE))


def _link_torque(actuator: CompliantActuator, equilibrium: Array, preset: float, link: Array) -> Array:
    return actuator.elastic_torque(*actuator.references(equilibrium, preset), link).link


def _references(arm: CompliantArm, equilibrium: Array) -> Array:
    """Return the references of the motors, shape (n, joint, motor)."""
    pairs = [a.references(e, p) for a, e, p in zip(arm.actuators, equilibrium.T, arm.presets, strict=True)]
    return np.ascontiguousarray(np.array(pairs).transpose(2, 0, 1))


def _fastest(arm: CompliantArm, box: Box) -> float:
    """Return the fastest possible oscillation of links on their stiffest springs or of a motor [rad/s]."""
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
    """Return the simulation of this arm: compiled, unless a user's actuator has no compiled twin."""
    from core.studies.compliant.compiled import arm_motion, arm_motion_with, elastic, interpreted_arm_motion

    first, second = (actuator.compiled_elastic() for actuator in arm.actuators)
    if first is elastic and second is elastic:
        return arm_motion()
    if first is not None and second is not None:
        return arm_motion_with(first, second)
    return interpreted_arm_motion(*(actuator.interpreted_elastic for actuator in arm.actuators))
