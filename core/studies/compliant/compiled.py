"""Compiled twins of `core.studies.compliant.elastic` and `core.studies.compliant.motor` for loops over time.

Everything works on float64 scalars and small arrays; nothing is compiled before its first call. A motor's state is
(4,): position [rad], velocity [rad/s], anchor w of its friction [rad], integral of the controller [N·m].

A motion advances by kicks (velocities, from torques at the current positions) and drifts (positions, with the new
velocities). Springs without damping therefore neither gain nor lose energy in the long run (symplectic Euler). Half a
drift before and after each kick makes this second-order for the springs; see `core.studies.compliant.joint`.

An arm's links follow `core.studies.arm.dynamics`: M(q)·q̈ + C(q, q̇) + G(q) = τ_springs + τ_contact − τ_f (Mengacci et
al., eq. 1), with dry and viscous friction τ_f as its M1 budget. Coriolis torques and damping depend on velocities, so
the kick of the links uses those in its middle, from half a kick. All of it is of second order except dry friction,
which stops what it can, and the controllers, which are sampled once per step.
"""

# pyright: basic

from __future__ import annotations

import math
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from core.kernel import mathops
from core.kernel.compilation import kept_on_disk
from core.studies.arm import dynamics
from core.studies.arm.dynamics import arm_acceleration
from core.studies.compliant.kinds import PIVOT_REACH, Kind

POSITION, VELOCITY, ANCHOR, INTEGRAL = 0, 1, 2, 3

_OPTIONS = {"error_model": "numpy", "nogil": True}
_SEA, _AWAS2, _BAVS, _QBMOVE = (int(kind) for kind in (Kind.SEA, Kind.AWAS2, Kind.BAVS, Kind.QBMOVE))


@njit(**_OPTIONS)
def limited(value, limit):
    """Limit a value to ±limit."""
    return min(max(value, -limit), limit)


@njit(**_OPTIONS)
def elastic(kind: int, p: NDArray[np.float64], q1: float, q2: float, q: float) -> tuple[float, float, float, float]:
    """Return (link, motor_1, motor_2, stiffness) of a `Kind` at angles [rad]: the twin of `elastic_torque`.

    p (8,) comes from `core.studies.compliant.elastic.constants`. An unknown kind gives NaN.
    """
    if kind == _SEA:
        torque = -p[0] * limited(q - q1, p[1])
        return torque, -torque, 0.0, p[0]
    if kind == _AWAS2:
        spring, lever, radius = p[0], p[1], p[2]
        pivot = min(max(q2, 0.0), PIVOT_REACH * lever)
        ratio = lever / radius * pivot / (lever - pivot)
        gain = 2.0 * spring * ratio * ratio
        deflection = limited(q - q1, p[3])
        sine, cosine = math.sin(deflection), math.cos(deflection)
        torque = -gain * sine * cosine
        slope = 4.0 * spring * ratio * lever * lever / (radius * (lever - pivot) ** 2)
        force = -slope * (0.5 * sine * sine + sine * cosine * (q - q1 - deflection))
        return torque, -torque, force, gain * (2.0 * cosine * cosine - 1.0)
    if kind == _BAVS:
        a, b, k, rate = p[0], p[1], p[2], p[3]
        along_1 = math.exp(rate * limited(q1 - q, p[4]))
        along_2 = math.exp(rate * limited(q2 - q, p[4]))
        torque_1 = k * (b * along_1 - a / along_1)
        torque_2 = k * (a * along_2 - b / along_2)
        stiffness = rate * k * (b * along_1 + a / along_1 + a * along_2 + b / along_2)
        return torque_1 + torque_2, -torque_1, -torque_2, stiffness
    if kind == _QBMOVE:
        turned_1 = p[0] * limited(q - q1, p[4])
        turned_2 = p[2] * limited(q - q2, p[4])
        torque_1 = -p[1] * math.sinh(turned_1)
        torque_2 = -p[3] * math.sinh(turned_2)
        stiffness = p[0] * p[1] * math.cosh(turned_1) + p[2] * p[3] * math.cosh(turned_2)
        # Coupling torque between the motors, 0 unless they are coupled.
        between = p[5] * (q1 - q2)
        return torque_1 + torque_2, -torque_1 - between, -torque_2 + between, stiffness
    return math.nan, math.nan, math.nan, math.nan


@njit(**_OPTIONS)
def pid_torque(state, reference, gains, h):
    """Return the commanded torque of the controller, eq. (11) [N·m], and advance its integral by h [s].

    state (4,) is a motor's, or begins with any position and velocity; reference [rad]; gains (3,).
    """
    error = reference - state[POSITION]
    state[INTEGRAL] += gains[1] * error * h
    return gains[0] * error + state[INTEGRAL] - gains[2] * state[VELOCITY]


@njit(**_OPTIONS)
def motor_kick(state, command, spring_torque, constants, h):
    """Advance a motor's velocity by h [s] at its current position; return its own torque within the limit [N·m].

    state (4,) is changed. command is the commanded torque and spring_torque the springs' torque on the motor [N·m].
    constants (8,) come from `core.studies.compliant.motor.motor_constants`. Damping uses the mean of both velocities.
    """
    inertia, damping, max_torque, max_velocity = constants[0], constants[1], constants[2], constants[3]
    torque = limited(command, max_torque)
    play = constants[6] / constants[7]
    state[ANCHOR] = min(max(state[ANCHOR], state[POSITION] - play), state[POSITION] + play)
    friction = constants[7] * (state[POSITION] - state[ANCHOR])
    loss = 0.5 * h * damping / inertia
    velocity = (state[VELOCITY] * (1.0 - loss) + h * (torque + spring_torque - friction) / inertia) / (1.0 + loss)
    state[VELOCITY] = limited(velocity, max_velocity)
    return torque


@njit(**_OPTIONS)
def motor_drift(state, constants, h):
    """Advance a motor's position by h [s] at its velocity; it stops at a position limit."""
    position = state[POSITION] + h * state[VELOCITY]
    state[POSITION] = min(max(position, constants[4]), constants[5])
    if position != state[POSITION]:
        state[VELOCITY] = 0.0


LINK_NUMBERS = 8
"""Numbers of a link: inertia, gravity torque, angle offset, damping, friction, and its controller's kp, ki, kd."""


def _joint_run(kind, p, rule, motors, links, state, references, powered, external, h, substeps, out):
    """Advance a joint through all samples; `joint_kernel` describes the arguments."""
    mode, motor_count = rule
    springs = mode >= 2
    driven = mode >= 4
    inertia, gravity, offset, damping, friction = links[0], links[1], links[2], links[3], links[4]
    loss = 0.5 * h * damping / inertia
    half = 0.5 * h
    moving = motor_count if driven else 0
    link = state[0]
    for k in range(len(out)):
        for part in range(substeps):
            if springs:
                for i in range(moving, 2):
                    state[1 + i, POSITION] = references[k, i]
            if part == 0:
                row = out[k]
                row[:] = math.nan
                row[0], row[1] = link[POSITION], link[VELOCITY]
                if springs:
                    row[2], row[4] = state[1, POSITION], state[2, POSITION]
                    if driven:
                        row[3] = state[1, VELOCITY]
                        row[5] = state[2, VELOCITY] if motor_count == 2 else math.nan
                    row[6], row[8], row[9], row[7] = elastic(
                        kind, p, state[1, POSITION], state[2, POSITION], link[POSITION]
                    )
            link[POSITION] += half * link[VELOCITY]
            for i in range(moving):
                motor_drift(state[1 + i], motors[i], half)
            if springs:
                torque, load_1, load_2, _ = elastic(kind, p, state[1, POSITION], state[2, POSITION], link[POSITION])
            else:
                load_1 = load_2 = 0.0
                torque = references[k, 0] if mode == 0 else pid_torque(link, references[k, 0], links[5:8], h)
                torque *= powered[k]
                if part == 0:
                    out[k, 6] = torque
            for i in range(moving):
                command = references[k, i]
                if mode >= 5:
                    command = pid_torque(state[1 + i], command, motors[i, 8:11], h)
                command = powered[k] * limited(command, motors[i, 2])
                applied = motor_kick(state[1 + i], command, load_1 if i == 0 else load_2, motors[i], h)
                if part == 0:
                    out[k, 10 + i] = applied
            torque += external[k] - gravity * math.sin(link[POSITION] + offset)
            velocity = (link[VELOCITY] * (1.0 - loss) + h * torque / inertia) / (1.0 + loss)
            link[VELOCITY] = velocity - limited(velocity, h * friction / (inertia * (1.0 + loss)))
            link[POSITION] += half * link[VELOCITY]
            for i in range(moving):
                motor_drift(state[1 + i], motors[i], half)
        if powered[k] == 0.0:  # a controller that is off must not wind up
            state[:, INTEGRAL] = 0.0


@cache
def joint_kernel(own: Callable[..., Any] | None = None) -> Callable[..., None]:
    """Compile the run of one joint; `own` replaces `elastic` by a user's compiled springs.

    Arguments of the kernel: kind and p of the springs; rule (mode, number of motors with dynamics); motors (2, 11),
    constants and gains of each; links (LINK_NUMBERS,); state (3, 4) of link and motors, which is changed; references
    (n, 2) of link or motors; powered (n,), the acting share of the motors' torque; external (n,), torque on the link
    [N·m]; h, duration of a substep [s]; substeps; out (n, 12), the columns JOINT_OUTPUTS of
    `core.studies.compliant.joint` before each sample.

    A substep is half a drift, a kick and half a drift. All compiled code is in this file, so that the disk cache
    detects every change.
    """
    if own is None:
        return kept_on_disk(_joint_run, **_OPTIONS)
    return njit(**_OPTIONS)(_with_springs(own))


def interpreted_joint(springs: Callable[..., tuple[float, float, float, float]]) -> Callable[..., None]:
    """Return the run in Python, for uncompiled springs (kind, p, q1, q2, q); about a hundred times slower."""
    return _with_springs(springs)


def _with_springs(springs: Callable[..., Any]) -> Callable[..., None]:
    """Return the run with other springs bound to the name `elastic`."""
    assert isinstance(_joint_run, FunctionType)
    return FunctionType(_joint_run.__code__, {**_joint_run.__globals__, "elastic": springs}, _joint_run.__name__)


elastic_1 = elastic_2 = elastic
"""Springs of joints 1 and 2, which a user's springs replace; see `_arm_with_springs`."""


@njit(**_OPTIONS)
def contact_force(depth, speed, along, box):
    """Return the push of a tip on the face of a box [N], never a pull.

    depth is that of the tip in the face [m], speed its rate [m/s], along the tip's z [m]; box (6,) comes from
    `core.studies.compliant.arm.box_constants`.
    """
    if depth <= 0.0 or along < box[4] or along > box[5]:
        return 0.0
    return max(box[2] * depth + box[3] * speed, 0.0)


@njit(**_OPTIONS)
def box_kick(velocity, force, box, h):
    """Return a box's velocity [m/s] after a push [N] of h [s]; friction stops or holds it if it can."""
    mass, holding = box[0], box[1]
    stopping = mass * velocity / h + force
    return velocity + h / mass * (force - min(max(stopping, -holding), holding))


@cache
def arm_motion() -> Callable[..., None]:
    """Compile the simulation of an arm with the paper's springs.

    It takes (links, lengths, friction, kinds, springs, alone, motors, pids, box, references, links_state, motor_states,
    h, substeps, out). links (7,) are the numbers of `ArmBase` and both armatures; lengths (2,) in m; friction (2, 2)
    dry [N·m] and viscous [N·m·s/rad] of each joint; kinds (2,) and springs (2, 8) for the elastic functions; alone (2,)
    is True for a joint with one motor; motors (2, 8), pids (2, 3), box (6,); references (n, 2, 2) of each joint's two
    motors. links_state (6,) holds q1, q2, v1, v2, the box's face and its velocity; motor_states (4, 4) both motors of
    joint 1 first. States are changed. out (n, 12) gets the state before each sample, whose references are held for
    `substeps` substeps of h [s]: q1, q2, v1, v2, the four motors, torques of both springs, face and the push on it.
    """
    return kept_on_disk(_program(), **_OPTIONS)


@cache
def arm_motion_with(own_1: Callable[..., Any], own_2: Callable[..., Any]) -> Callable[..., None]:
    """Compile `arm_motion` with a user's compiled springs."""
    return njit(**_OPTIONS)(_arm_with_springs(own_1, own_2))


def interpreted_arm_motion(springs_1: Callable[..., Any], springs_2: Callable[..., Any]) -> Callable[..., None]:
    """Return `arm_motion` in Python, for uncompiled springs (kind, p, q1, q2, q); about a hundred times slower."""
    return _arm_with_springs(springs_1, springs_2)


def _arm_with_springs(springs_1: Callable[..., Any], springs_2: Callable[..., Any]) -> Callable[..., None]:
    """Return the simulation with other springs bound to the names `elastic_1` and `elastic_2`."""
    program = _program()
    assert isinstance(program, FunctionType)
    names = {**program.__globals__, "elastic_1": springs_1, "elastic_2": springs_2}
    return FunctionType(program.__code__, names, program.__name__, None, program.__closure__)


def _sources() -> int:
    """Return a positive checksum of all sources that are compiled into the simulation."""
    own = [Path(__file__), Path(str(dynamics.__file__))]
    kernel = sorted(Path(str(mathops.__file__)).parent.glob("*.py"))
    return zlib.crc32(b"".join(path.read_bytes() for path in (*own, *kernel))) + 1


def _program() -> Callable[..., None]:
    """Return the loop to compile; `core.kernel.compilation` explains why it refers to its sources."""
    variant = _sources()

    def run(
        links, lengths, friction, kinds, springs, alone, motors, pids, box, references, state, motor_states, h,
        substeps, out,
    ):  # fmt: skip
        if variant == 0:  # never; naming it here puts it into the closure and thus into the cache key
            return
        i1, i2, coupling, g1, g2, j1, j2 = links
        c1, d1 = friction[0]
        c2, d2 = friction[1]
        l1, l2 = lengths
        half, inverse_h = 0.5 * h, 1.0 / h
        q1, q2, v1, v2, face, slide = state
        t1 = t2 = push = 0.0
        for k in range(references.shape[0]):
            for joint in range(2):
                # An adjuster or a missing motor has no dynamics: it is at its reference.
                if alone[joint]:
                    adjuster = motor_states[2 * joint + 1]
                    adjuster[POSITION] = references[k, joint, 1]
                    adjuster[ANCHOR] = adjuster[POSITION]
            out[k, 0], out[k, 1], out[k, 2], out[k, 3] = q1, q2, v1, v2
            for place in range(4):
                out[k, 4 + place] = motor_states[place, POSITION]
            out[k, 8], out[k, 9], out[k, 10], out[k, 11] = t1, t2, face, push
            for _ in range(substeps):
                q1 += half * v1
                q2 += half * v2
                face += half * slide
                for place in range(4):
                    if place % 2 == 0 or not alone[place // 2]:
                        motor_drift(motor_states[place], motors[place // 2], half)
                t1, on_11, on_12, _s1 = elastic_1(
                    kinds[0], springs[0], motor_states[0, POSITION], motor_states[1, POSITION], q1
                )
                t2, on_21, on_22, _s2 = elastic_2(
                    kinds[1], springs[1], motor_states[2, POSITION], motor_states[3, POSITION], q2
                )
                across_1, across_2 = l1 * math.cos(q1), l2 * math.cos(q1 + q2)
                depth = l1 * math.sin(q1) + l2 * math.sin(q1 + q2) - face
                sinking = (across_1 + across_2) * v1 + across_2 * v2 - slide
                push = contact_force(depth, sinking, -across_1 - across_2, box)
                u1 = t1 - push * (across_1 + across_2)
                u2 = t2 - push * across_2
                a1, a2 = arm_acceleration(
                    q1, q2, v1, v2, v1, v2, 2.0 * inverse_h, u1, u2,
                    i1, i2, coupling, g1, g2, j1, j2,
                    c1, d1, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0,
                    c2, d2, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0,
                )  # fmt: skip
                a1, a2 = arm_acceleration(
                    q1, q2, v1 + half * a1, v2 + half * a2, v1, v2, inverse_h, u1, u2,
                    i1, i2, coupling, g1, g2, j1, j2,
                    c1, d1, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0,
                    c2, d2, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0,
                )  # fmt: skip
                for joint in range(2):
                    first = motor_states[2 * joint]
                    wanted = pid_torque(first, references[k, joint, 0], pids[joint], h)
                    motor_kick(first, wanted, on_11 if joint == 0 else on_21, motors[joint], h)
                    if not alone[joint]:
                        second = motor_states[2 * joint + 1]
                        wanted = pid_torque(second, references[k, joint, 1], pids[joint], h)
                        motor_kick(second, wanted, on_12 if joint == 0 else on_22, motors[joint], h)
                v1 += h * a1
                v2 += h * a2
                slide = box_kick(slide, push, box, h)
                q1 += half * v1
                q2 += half * v2
                face += half * slide
                for place in range(4):
                    if place % 2 == 0 or not alone[place // 2]:
                        motor_drift(motor_states[place], motors[place // 2], half)
        state[0], state[1], state[2], state[3], state[4], state[5] = q1, q2, v1, v2, face, slide

    return run
