"""One compliant joint on the bench: springs, motors, controllers and a pendulum as the link (eqs 1, 2, 7–11).

    I·q̈ + d·q̇ + F·sign(q̇) + G·sin(q + offset) = τ_e + τ_ext

A step is half a drift of all positions, a kick of all velocities by the torques there, and half a drift. This is Verlet
integration: of second order for springs and gravity, and symplectic, so that without damping the energy stays bounded.
Damping uses the mean velocity, and the link's friction stops within a step what it can stop. The play of the motors'
friction only dissipates, so nothing passive creates energy. Controllers are sampled once per step, which makes powered
motions converge with first order.

`safe_substeps` returns the required number of substeps; `simulate_joint` and the stepper use it by default.
This module loads no compiler before it simulates.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from core.base.arrays import Array
from core.base.errors import ModelError
from core.servo.bench import Bench
from core.studies.compliant.elastic import CompliantActuator, QbMove, constants
from core.studies.compliant.modes import Mode, commands_of
from core.studies.compliant.motor import LINK_PID, Motor, Pid, motor_constants, pid_constants

STEP_SHARE = 0.05
"""Largest step times the joint's fastest rate; the energy of that oscillation then varies by 0.03 %."""
UNLIMITED_REACH = 1.0
"""Deflection range in which the largest stiffness of springs without `max_deflection` is searched [rad]."""
JOINT_OUTPUTS = (
    "position",
    "velocity",
    "motor_1",
    "motor_1_velocity",
    "motor_2",
    "motor_2_velocity",
    "link_torque",
    "stiffness",
    "spring_torque_1",
    "spring_torque_2",
    "motor_torque_1",
    "motor_torque_2",
)
"""Columns written by a `JointKernel`; NaN for quantities that the mode lacks."""
_SHARES = np.linspace(0.0, 1.0, 101)
"""Shares of the largest deflection."""


@dataclass(frozen=True, kw_only=True)
class CompliantLink:
    """Link moved by the joint."""

    inertia: float
    """I about the joint [kg·m²]."""
    gravity_torque: float = 0.0
    """G with the link horizontal [N·m]."""
    angle_offset: float = 0.0
    """Angle from hanging down at q = 0 [rad]."""
    damping: float = 0.065
    """d [N·m·s/rad], section 4.2."""
    friction: float = 0.025
    """F [N·m], section 4.2."""

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not math.isfinite(value) or (name != "angle_offset" and value < 0.0):
                raise ModelError(f"compliant link: {name} = {value!r} must be a finite number of 0 or more")
        if self.inertia <= 0.0:
            raise ModelError("compliant link: an inertia of 0 cannot be moved; give the load a mass and a length")

    @classmethod
    def of_bench(cls, bench: Bench, *, damping: float = 0.065, friction: float = 0.025) -> CompliantLink:
        """Return a bench's pendulum as a link; damping in N·m·s/rad, friction in N·m."""
        return cls(
            inertia=bench.inertia,
            gravity_torque=bench.gravity_torque,
            angle_offset=bench.angle_offset,
            damping=damping,
            friction=friction,
        )


SEED_BENCH = Bench(mass=0.2, length=0.04)
"""Load of the paper's 1-DOF tests (section 4.1): 0.2 kg at 0.04 m."""


@dataclass(frozen=True, kw_only=True)
class CompliantJoint:
    """Actuator with its motors and controllers on a link."""

    actuator: CompliantActuator = field(default_factory=QbMove)
    link: CompliantLink = field(default_factory=lambda: CompliantLink.of_bench(SEED_BENCH))
    motors: tuple[Motor, Motor] = (Motor(), Motor())
    """Motors; the second is unused for an actuator with one motor."""
    pids: tuple[Pid, Pid] = (Pid(), Pid())
    """Controllers of the motors in operation modes 5 and 6."""
    link_pid: Pid = LINK_PID
    """Controller of the link in operation mode 1."""


@dataclass(frozen=True, kw_only=True, eq=False)
class JointMotion:
    """Simulated run; sample k is the state before step k. All arrays have shape (n,).

    Angles in rad, torques in N·m. Quantities that the mode lacks are NaN: a rigid joint has no springs and no motors,
    and ideal motors have no velocity and no torque of their own.
    """

    time: Array
    """Time [s]."""
    reference_1: Array
    """First reference, see `reference_names`."""
    reference_2: Array
    external_torque: Array
    position: Array
    """Position of the link [rad]."""
    velocity: Array
    """Velocity of the link [rad/s]."""
    motor_1: Array
    """Position of motor 1 [rad]."""
    motor_1_velocity: Array
    """Velocity of motor 1 [rad/s]."""
    motor_2: Array
    """Position of motor 2 [rad], or of the adjuster [m]."""
    motor_2_velocity: Array
    link_torque: Array
    """Torque on the link, from springs, command or the link's controller [N·m]."""
    stiffness: Array
    """Stiffness [N·m/rad]."""
    spring_torque_1: Array
    """Spring torque on motor 1 [N·m]."""
    spring_torque_2: Array
    """Spring torque on motor 2 [N·m], or force on the adjuster [N]."""
    motor_torque_1: Array
    """Torque of motor 1, within its limit [N·m]."""
    motor_torque_2: Array


def largest_stiffness(actuator: CompliantActuator, reference_2: ArrayLike) -> float:
    """Return the springs' largest stiffness [N·m/rad]; reference_2 (n,) are positions of an adjuster, if any."""
    limit = actuator.parameters().get("max_deflection")
    pushed = (UNLIMITED_REACH if limit is None else limit.value) * _SHARES[:, None, None]
    first = pushed * np.array([-1.0, 1.0])
    if actuator.motors == 2:
        second = pushed * np.array([-1.0, 0.0, 1.0])[:, None, None, None]
    else:
        positions = np.asarray(reference_2, dtype=np.float64)
        second = np.array([positions.min(), positions.max()])[:, None, None, None]
    return float(np.max(np.abs(actuator.elastic_torque(first, second, 0.0).stiffness)))


def safe_step(joint: CompliantJoint, mode: Mode, reference_2: ArrayLike = 0.0) -> float:
    """Return the longest time step that keeps the joint stable and its energy bounded [s].

    It is STEP_SHARE over the fastest rate: √(σ·(1/I + 1/J) + K/J + G/I) of springs, friction play and gravity, plus
    (k_d + D)/J + √(k_p/J) of damping and controllers.
    """
    rate = 0.0
    inverse = 1.0 / joint.link.inertia
    if mode.has_motors:
        pairs = list(zip(joint.motors, joint.pids, strict=True))[: joint.actuator.motors]
        inverse += max(1.0 / motor.inertia for motor, _ in pairs)
        play = max(motor.friction_stiffness / motor.inertia for motor, _ in pairs)
        rate += max(
            (pid.kd + motor.damping) / motor.inertia + math.sqrt(pid.kp / motor.inertia) for motor, pid in pairs
        )
    else:
        play = 0.0
    if mode is Mode.LINK_PID:
        rate += joint.link_pid.kd * inverse + math.sqrt(joint.link_pid.kp * inverse)
    stiffness = largest_stiffness(joint.actuator, reference_2) if mode.has_springs else 0.0
    rate += math.sqrt(stiffness * inverse + play + joint.link.gravity_torque / joint.link.inertia)
    return STEP_SHARE / max(rate, STEP_SHARE)


def safe_substeps(joint: CompliantJoint, mode: Mode, dt: float, reference_2: ArrayLike = 0.0) -> int:
    """Return the number of substeps of dt [s], each no longer than `safe_step`."""
    if not (math.isfinite(dt) and dt > 0.0):
        raise ModelError(f"a time step of {dt} s is not possible; use a positive number of seconds")
    return max(1, math.ceil(dt / safe_step(joint, mode, reference_2) - 1e-9))


def simulate_joint(
    joint: CompliantJoint,
    mode: Mode,
    reference_1: ArrayLike,
    reference_2: ArrayLike,
    dt: float,
    *,
    external_torque: ArrayLike = 0.0,
    position: float | None = None,
    velocity: float = 0.0,
    substeps: int | None = None,
) -> JointMotion:
    """Simulate a joint through commands that are held for dt [s] each.

    Args:
        joint: The joint.
        mode: Operation mode.
        reference_1: First reference of the mode, see `reference_names`, shape (n,).
        reference_2: Second reference, shape (n,) or a number.
        dt: Duration of each command [s].
        external_torque: Torque on the link [N·m], shape (n,) or a number.
        position: Start position of the link [rad]. None: the springs' equilibrium, or 0 in modes 0, 1 and 4. Motors
            start at rest at the first references, in mode 4 where the link's start is their equilibrium.
        velocity: Start velocity of the link [rad/s].
        substeps: Substeps of dt. None: `safe_substeps`.

    Raises:
        ModelError: References that are not finite (n,) arrays, or a time step that is too long to stay finite.
    """
    first = np.asarray(reference_1, dtype=np.float64)
    if first.ndim != 1 or len(first) == 0:
        raise ModelError(
            f"compliant joint: reference 1 of shape {first.shape}; it must be a row of numbers, one per sample"
        )
    second, external = (
        np.broadcast_to(np.asarray(v, dtype=np.float64), first.shape) for v in (reference_2, external_torque)
    )
    for name, values in (("reference 1", first), ("reference 2", second), ("external torque", external)):
        if not np.isfinite(values).all():
            raise ModelError(f"compliant joint: {name} is not a finite number at every sample")
    parts = safe_substeps(joint, mode, dt, second) if substeps is None else substeps
    if parts < 1:
        raise ModelError(f"compliant joint: {parts} substeps; 1 or more are required")
    commands = np.column_stack(commands_of(mode, joint.actuator, first, second))
    state = initial_state(joint, mode, commands[0], position, velocity)
    out = JointKernel(joint, mode).advance(state, commands, external, dt / parts, parts)
    columns = {name: np.ascontiguousarray(column) for name, column in zip(JOINT_OUTPUTS, out.T, strict=True)}
    if not np.isfinite(columns["position"]).all():
        raise ModelError(
            f"compliant joint: the motion becomes unstable at a time step of {dt / parts:g} s; "
            f"use more substeps, {safe_substeps(joint, mode, dt, second)} or more"
        )
    return JointMotion(
        time=np.arange(len(first), dtype=np.float64) * dt,
        reference_1=first,
        reference_2=second,
        external_torque=external,
        **columns,
    )


def equilibrium_of(actuator: CompliantActuator, motion: JointMotion) -> Array:
    """Return the link angle with zero spring torque at each sample, (n,) [rad]; NaN in modes 0 and 1."""
    if np.isnan(motion.motor_1).all():
        return motion.motor_1
    return actuator.equilibrium(motion.motor_1, motion.motor_2)


class JointKernel:
    """Kernel with a joint's numbers, for `simulate_joint` and for a stepper."""

    def __init__(self, joint: CompliantJoint, mode: Mode) -> None:
        self._joint, self._mode = joint, mode
        actuator, link = joint.actuator, joint.link
        self._kernel = _kernel_of(actuator)
        self._constants = constants(actuator)
        self._motors = np.array(
            [np.hstack([motor_constants(m), pid_constants(p)]) for m, p in zip(joint.motors, joint.pids, strict=True)]
        )
        self._link = np.hstack([list(vars(link).values()), pid_constants(joint.link_pid)])

    @cached_property
    def by_torque(self) -> JointKernel:
        """Kernel of the same joint under torque commands of the motors, or of the link without motors."""
        return JointKernel(self._joint, Mode.MOTOR_TORQUES if self._mode.has_motors else Mode.LINK_TORQUE)

    def advance(
        self, state: Array, commands: Array, external: Array, h: float, parts: int, powered: ArrayLike = 1.0
    ) -> Array:
        """Advance the state (3, 4) by commands (n, 2) and external torques (n,); return columns JOINT_OUTPUTS (n, 12).

        `powered`, (n,) or a number, is the acting share of the motors' torque, 0 … 1.
        """
        out = np.empty((len(commands), len(JOINT_OUTPUTS)))
        rule = (int(self._mode), self._joint.actuator.motors)
        shares = np.full(len(commands), powered, dtype=np.float64)
        kind = int(self._joint.actuator.kind)
        self._kernel(
            kind, self._constants, rule, self._motors, self._link, state, commands,
            shares, np.array(external), h, parts, out,
        )  # fmt: skip
        return out


def _kernel_of(actuator: CompliantActuator) -> Callable[..., Any]:
    from core.studies.compliant.compiled import elastic, interpreted_joint, joint_kernel

    own = actuator.compiled_elastic()
    if own is elastic:
        return joint_kernel()
    if own is not None:
        return joint_kernel(own)
    return interpreted_joint(actuator.interpreted_elastic)


def initial_state(joint: CompliantJoint, mode: Mode, commands: Array, position: float | None, velocity: float) -> Array:
    """Return the state (3, 4) with motors at rest and relaxed friction."""
    first, second = (float(value) for value in commands)
    if mode is Mode.MOTOR_TORQUES:
        at = 0.0 if position is None else position
        first, second = (float(v) for v in joint.actuator.references(at, second if joint.actuator.motors == 1 else 0.0))
    if position is None:
        position = float(joint.actuator.equilibrium(first, second)) if mode.has_springs else 0.0
    state = np.zeros((3, 4))
    state[0, :2] = position, velocity
    if mode.has_springs:
        state[1:, 0] = state[1:, 2] = first, second
    return state
