"""Motion of an arm with compliant joints over time, compiled: links, springs, motors, and a box at its tip.

Links obey `core.studies.arm.dynamics`: M(q)·q̈ + C(q, q̇) + G(q) = τ_springs + τ_contact − τ_f (seed 003, eq. 1), with
dry and viscous friction τ_f as its M1 budget. Springs and motors are those of `core.studies.compliant.compiled`. A step
is half a drift, a kick and half a drift, as theirs; the kick of the links takes velocities in its middle, from half a
kick before, since Coriolis torques and damping depend on them. All of it is of second order but the dry friction, which
stops what it can, and the controllers, which are sampled once a step.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any

from numba import njit

from core.kernel import mathops
from core.kernel.compilation import kept_on_disk
from core.studies.arm import dynamics
from core.studies.arm.dynamics import arm_acceleration
from core.studies.compliant import compiled
from core.studies.compliant.compiled import ANCHOR, POSITION, elastic, motor_drift, motor_kick, pid_torque

_OPTIONS = {"error_model": "numpy", "nogil": True}

elastic_1 = elastic_2 = elastic
"""Springs of joints 1 and 2, which a user's take the places of; see `_with_springs`."""


@njit(**_OPTIONS)
def contact_force(depth, speed, along, box):
    """Push of a tip on the face of a box [N]: never a pull.

    depth: of the tip in the face [m]; speed of its sinking in [m/s]; along: z of the tip [m]; box (6,) from
    `core.studies.compliant.contact.box_constants`.
    """
    if depth <= 0.0 or along < box[4] or along > box[5]:
        return 0.0
    return max(box[2] * depth + box[3] * speed, 0.0)


@njit(**_OPTIONS)
def box_kick(velocity, force, box, h):
    """Velocity of a box [m/s] after h [s] of a push [N]; its friction stops it or holds it where it can."""
    mass, holding = box[0], box[1]
    stopping = mass * velocity / h + force
    return velocity + h / mass * (force - min(max(stopping, -holding), holding))


@cache
def arm_motion() -> Callable[..., None]:
    """The compiled program that moves an arm with the seed's springs.

    It takes (links, lengths, friction, kinds, springs, alone, motors, pids, box, references, links_state,
    motor_states, h, substeps, out): links (7,): the numbers of `ArmBase` and both armatures; lengths (2,) m; friction
    (2, 2): dry N·m and viscous N·m·s/rad of each joint; kinds (2,) and springs (2, 8) for the elastic functions; alone
    (2,): whether a joint has one motor; motors (2, 8), pids (2, 3); box (6,); references (n, 2, 2): of each joint's two
    motors; links_state (6,): q1, q2, v1, v2, face of the box and its velocity; motor_states (4, 4), both of joint 1
    first. States are changed; out (n, 12) gets the state before each sample's references are held for
    substeps parts of h [s]: q1, q2, v1, v2, the four motors, torques of both springs, face and the push on it.
    """
    return kept_on_disk(_program(), **_OPTIONS)


@cache
def arm_motion_with(own_1: Callable[..., Any], own_2: Callable[..., Any]) -> Callable[..., None]:
    """As `arm_motion`, with compiled springs of a user's."""
    return njit(**_OPTIONS)(_with_springs(own_1, own_2))


def interpreted_arm_motion(springs_1: Callable[..., Any], springs_2: Callable[..., Any]) -> Callable[..., None]:
    """As `arm_motion` in Python, for springs (kind, p, q1, q2, q) that are not compiled; some hundred times slower."""
    return _with_springs(springs_1, springs_2)


def _with_springs(springs_1: Callable[..., Any], springs_2: Callable[..., Any]) -> Callable[..., None]:
    """The program with other springs under the names it calls them by."""
    program = _program()
    assert isinstance(program, FunctionType)
    names = {**program.__globals__, "elastic_1": springs_1, "elastic_2": springs_2}
    return FunctionType(program.__code__, names, program.__name__, None, program.__closure__)


def _sources() -> int:
    """A positive number that changes with whatever is compiled into the program."""
    own = [Path(__file__), *(Path(str(module.__file__)) for module in (compiled, dynamics))]
    kernel = sorted(Path(str(mathops.__file__)).parent.glob("*.py"))
    return zlib.crc32(b"".join(path.read_bytes() for path in (*own, *kernel))) + 1


def _program() -> Callable[..., None]:
    """What is compiled; see `core.kernel.compilation` for why it names its sources."""
    variant = _sources()

    def run(
        links, lengths, friction, kinds, springs, alone, motors, pids, box, references, state, motor_states, h,
        substeps, out,
    ):  # fmt: skip
        if variant == 0:  # never; naming it here puts it into the closure, and so into the cache's key
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
                # An adjuster, or what is not there, has no dynamics: it is where it is asked to be.
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
