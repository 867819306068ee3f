"""Motion of an arm of two joints with friction in both: many candidates over many windows, compiled.

    M(q)·q̈ + C(q, q̇) + G(q) = τ_m − τ_f,   |τ_f,i| ≤ budget_i(θ̇_i, τ_m,i, τ_e,i)

The budgets are M1–M6 of each joint (Duclusaud et al., eqs 3, 6–10). The load on a joint is what an engine calls the
bias force, τ_e = −(C + G) (section IV-E). The torques that would stop both joints within a step are coupled by the mass
matrix. Friction is the point within the budgets that is nearest to them in the kinetic metric. For one joint this is
the clipping of Algorithm 1, lines 4–6.

A step is Algorithm 1 at the midpoint state, which a half step predicts. It is of second order, and a joint held by
friction does not move at all. Candidates share windows of measured motion, as in `core.kernel.population`.
"""

# pyright: basic

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from core.base.arrays import Array
from core.kernel.bristle import INLINE
from core.kernel.compilation import compiled, fingerprint, step
from core.kernel.layout import Law, Slot
from core.kernel.mathops import sine
from core.kernel.mechanics import clip, friction_budget
from core.studies.arm.links import ArmLinks

Indices = NDArray[np.int64]

LANES = 8
"""Number of candidates simulated together."""

FRICTION_SLOTS = (
    Slot.FRICTION_BASE,
    Slot.FRICTION_VISCOUS,
    Slot.LOAD_MOTOR,
    Slot.LOAD_EXTERNAL,
    Slot.FRICTION_STRIBECK,
    Slot.LOAD_MOTOR_STRIBECK,
    Slot.LOAD_EXTERNAL_STRIBECK,
    Slot.LOAD_MOTOR_QUAD,
    Slot.LOAD_EXTERNAL_QUAD,
    Slot.STRIBECK_VELOCITY,
    Slot.STRIBECK_EXPONENT,
    Slot.OPPOSING_GATE,
)

_LINKS = ("inertia_1", "inertia_2", "coupling", "gravity_1", "gravity_2", "delay")
_JOINT = ("armature", "angle_offset", "torque_ratio", "torque_offset", *(slot.name.lower() for slot in FRICTION_SLOTS))
ARM_ROW = (*_LINKS, *(f"{name}_of_{joint}" for joint in (1, 2) for name in _JOINT))
"""Numbers of a candidate: those of `ArmBase`, the command delay [s], then each joint's own."""
ARM_AT = {name: place for place, name in enumerate(ARM_ROW)}


def arm_rows(links: ArmLinks, count: int = 1) -> Array:
    """Return candidates with these links, ideal motors and no friction, shape (count, len(ARM_ROW))."""
    rows = np.zeros((count, len(ARM_ROW)))
    for name, value in vars(links.base).items():
        rows[:, ARM_AT[name]] = value
    for joint, armature, offset in zip((1, 2), links.armatures, links.angle_offsets, strict=True):
        rows[:, ARM_AT[f"armature_of_{joint}"]] = armature
        rows[:, ARM_AT[f"angle_offset_of_{joint}"]] = offset
        rows[:, ARM_AT[f"torque_ratio_of_{joint}"]] = 1.0
        rows[:, ARM_AT[f"stribeck_velocity_of_{joint}"]] = 1.0
        rows[:, ARM_AT[f"stribeck_exponent_of_{joint}"]] = 1.0
    return rows


def simulate_windows(
    rows: Array,
    torque: Array,
    begins: Indices,
    starts: Indices,
    states: Array,
    steps: int,
    dt: float,
    *,
    substeps: int = 1,
    every: int = 1,
) -> Array:
    """Simulate candidates over windows.

    Args:
        rows: Candidates, shape (p, len(ARM_ROW)); see `arm_rows`.
        torque: Commanded torques [N·m], held over each time step, shape (n, 2).
        begins: First index of each window's recording in `torque`, shape (w,). Nothing before it is known.
        starts: First index of each window in `torque`, shape (w,).
        states: q1, q2 [rad], v1, v2 [rad/s] at the start of each window, shape (w, 4).
        steps: Time steps of a window.
        dt: Time step [s].
        substeps: Substeps of a time step.
        every: Time steps between stored positions.

    Returns:
        Positions at the start of each window and every `every` steps [rad], shape (w, 1 + steps // every, 2, p).
    """
    candidates = len(rows)
    padded = np.vstack([rows, np.repeat(rows[-1:], -candidates % LANES, axis=0)])
    out = np.empty((len(starts), 1 + steps // every, 2, len(padded)))
    _kernel()(
        np.ascontiguousarray(padded),
        np.ascontiguousarray(torque),
        begins.astype(np.int64),
        starts.astype(np.int64),
        np.ascontiguousarray(states),
        steps,
        dt,
        substeps,
        every,
        out,
    )
    return out[..., :candidates]


@njit(**INLINE)
def stopping_friction(w1, w2, b1, b2, m11, m12, m22):
    """Return the friction within ±b1, ±b2 [N·m] nearest to the stopping torques w1, w2 in the metric of M⁻¹.

    This minimises a convex quadratic over a box: at w inside the box, otherwise on the best of its four edges.
    """
    f1 = w1
    f2 = w2
    inside = (abs(w1) <= b1) & (abs(w2) <= b2)
    least = -1.0 if inside else 1e300
    by_second = m12 / m22
    by_first = m12 / m11
    for side in (-1.0, 1.0):
        d2 = w2 - side * b2
        d1 = w1 - clip(w1 - by_second * d2, b1)
        cost = m22 * d1 * d1 - 2.0 * m12 * d1 * d2 + m11 * d2 * d2
        better = cost < least
        f1 = w1 - d1 if better else f1
        f2 = w2 - d2 if better else f2
        least = cost if better else least
        d1 = w1 - side * b1
        d2 = w2 - clip(w2 - by_first * d1, b2)
        cost = m22 * d1 * d1 - 2.0 * m12 * d1 * d2 + m11 * d2 * d2
        better = cost < least
        f1 = w1 - d1 if better else f1
        f2 = w2 - d2 if better else f2
        least = cost if better else least
    return f1, f2


@njit(**INLINE)
def arm_acceleration(
    q1, q2, v1, v2, s1, s2, inverse_h, u1, u2,
    i1, i2, coupling, g1, g2, j1, j2,
    kc1, kv1, km1, ke1, kcs1, kms1, kes1, kmq1, keq1, ivs1, alpha1, gate1,
    kc2, kv2, km2, ke2, kcs2, kms2, kes2, kmq2, keq2, ivs2, alpha2, gate2,
):  # fmt: skip
    """Return accelerations [rad/s²] from forces at (q, v) and friction that may stop s within 1/inverse_h."""
    swing = coupling * sine(q2 + 0.5 * math.pi)
    pull = coupling * sine(q2)
    both = g2 * sine(q1 + q2)
    m11 = i1 + i2 + 2.0 * swing + j1
    m12 = i2 + swing
    m22 = i2 + j2
    e1 = pull * v2 * (2.0 * v1 + v2) - g1 * sine(q1) - both
    e2 = -pull * v1 * v1 - both
    b1 = friction_budget(v1, u1, e1, kc1, kv1, km1, ke1, kcs1, kms1, kes1, kmq1, keq1, ivs1, alpha1, gate1)
    b2 = friction_budget(v2, u2, e2, kc2, kv2, km2, ke2, kcs2, kms2, kes2, kmq2, keq2, ivs2, alpha2, gate2)
    w1 = u1 + e1 + (m11 * s1 + m12 * s2) * inverse_h
    w2 = u2 + e2 + (m12 * s1 + m22 * s2) * inverse_h
    f1, f2 = stopping_friction(w1, w2, b1, b2, m11, m12, m22)
    n1 = u1 + e1 - f1
    n2 = u2 + e2 - f2
    scale = 1.0 / (m11 * m22 - m12 * m12)
    return (m22 * n1 - m12 * n2) * scale, (m11 * n2 - m12 * n1) * scale


@njit(**INLINE)
def arm_step(
    q1, q2, v1, v2, h, inverse_h, u1, u2,
    i1, i2, coupling, g1, g2, j1, j2,
    kc1, kv1, km1, ke1, kcs1, kms1, kes1, kmq1, keq1, ivs1, alpha1, gate1,
    kc2, kv2, km2, ke2, kcs2, kms2, kes2, kmq2, keq2, ivs2, alpha2, gate2,
):  # fmt: skip
    """Return the state after h [s] with constant motor torques u1, u2 [N·m]."""
    a1, a2 = arm_acceleration(
        q1, q2, v1, v2, v1, v2, 2.0 * inverse_h, u1, u2,
        i1, i2, coupling, g1, g2, j1, j2,
        kc1, kv1, km1, ke1, kcs1, kms1, kes1, kmq1, keq1, ivs1, alpha1, gate1,
        kc2, kv2, km2, ke2, kcs2, kms2, kes2, kmq2, keq2, ivs2, alpha2, gate2,
    )  # fmt: skip
    half = 0.5 * h
    a1, a2 = arm_acceleration(
        q1 + (v1 + 0.5 * a1 * half) * half, q2 + (v2 + 0.5 * a2 * half) * half, v1 + a1 * half, v2 + a2 * half,
        v1, v2, inverse_h, u1, u2,
        i1, i2, coupling, g1, g2, j1, j2,
        kc1, kv1, km1, ke1, kcs1, kms1, kes1, kmq1, keq1, ivs1, alpha1, gate1,
        kc2, kv2, km2, ke2, kcs2, kms2, kes2, kmq2, keq2, ivs2, alpha2, gate2,
    )  # fmt: skip
    return q1 + v1 * h + 0.5 * a1 * h * h, q2 + v2 * h + 0.5 * a2 * h * h, v1 + a1 * h, v2 + a2 * h


_STATE = ("q1", "q2", "v1", "v2", "u1", "u2")
_BLOCKS = (*_STATE, *ARM_ROW)
_BLOCK = {name: np.uint64(place * LANES) for place, name in enumerate(_BLOCKS)}
_SPEEDS = tuple(ARM_AT[f"stribeck_velocity_of_{joint}"] for joint in (1, 2))


@cache
def _kernel() -> Callable[..., Any]:
    """Compile the kernel of `simulate_windows`, with its arguments; the number of rows is a multiple of LANES."""
    variant = fingerprint(Law.CURRENT, True)
    lanes = np.uint64(LANES)
    zero = np.uint64(0)
    size = len(_BLOCKS) * LANES
    slots = len(ARM_ROW)
    first_slot = len(_STATE) * LANES
    speed_1, speed_2 = _SPEEDS
    delay = ARM_AT["delay"]
    q1_, q2_, v1_, v2_, u1_, u2_ = (_BLOCK[name] for name in _STATE)
    i1_, i2_, coupling_, g1_, g2_ = (_BLOCK[name] for name in _LINKS[:-1])
    j1_, o1_, ratio1_, bias1_ = (_BLOCK[f"{name}_of_1"] for name in _JOINT[:4])
    j2_, o2_, ratio2_, bias2_ = (_BLOCK[f"{name}_of_2"] for name in _JOINT[:4])
    kc1_, kv1_, km1_, ke1_, kcs1_, kms1_, kes1_, kmq1_, keq1_, ivs1_, al1_, ga1_ = (
        _BLOCK[f"{name}_of_1"] for name in _JOINT[4:]
    )
    kc2_, kv2_, km2_, ke2_, kcs2_, kms2_, kes2_, kmq2_, keq2_, ivs2_, al2_, ga2_ = (
        _BLOCK[f"{name}_of_2"] for name in _JOINT[4:]
    )

    def kernel(rows, torque, begins, starts, states, steps, dt, substeps, every, out):
        if variant == 0:  # never; naming it here puts it into the closure and thus into the cache key
            return
        f = np.zeros(size)
        delay_steps = np.zeros(LANES, dtype=np.int64)
        delay_share = np.zeros(LANES)
        h = dt / substeps
        inverse_h = 1.0 / h
        last = torque.shape[0] - 1
        blocks = rows.shape[0] // LANES
        for c in range(starts.shape[0] * blocks):
            window = c // blocks
            block = c % blocks
            base = block * LANES
            for lane in range(LANES):
                at = np.uint64(lane)
                row = rows[base + lane]
                for slot in range(slots):
                    f[first_slot + slot * LANES + lane] = row[slot]
                f[ivs1_ + at] = 1.0 / row[speed_1]
                f[ivs2_ + at] = 1.0 / row[speed_2]
                whole = math.ceil(row[delay] / dt)
                delay_steps[lane] = int(whole)
                delay_share[lane] = 1.0 - (whole - row[delay] / dt)
                f[q1_ + at] = states[window, 0] + f[o1_ + at]
                f[q2_ + at] = states[window, 1] + f[o2_ + at]
                f[v1_ + at] = states[window, 2]
                f[v2_ + at] = states[window, 3]
                out[window, 0, 0, base + lane] = states[window, 0]
                out[window, 0, 1, base + lane] = states[window, 1]
            begin = begins[window]
            for k in range(steps):
                i = starts[window] + k
                # Mean of the held, delayed command over this step.
                for lane in range(LANES):
                    at = np.uint64(lane)
                    newer = min(max(i - delay_steps[lane] + 1, begin), last)
                    older = min(max(i - delay_steps[lane], begin), last)
                    share = 1.0 - delay_share[lane]
                    late = torque[older, 0] + share * (torque[newer, 0] - torque[older, 0])
                    f[u1_ + at] = f[ratio1_ + at] * late + f[bias1_ + at]
                    late = torque[older, 1] + share * (torque[newer, 1] - torque[older, 1])
                    f[u2_ + at] = f[ratio2_ + at] * late + f[bias2_ + at]
                for _ in range(substeps):
                    for lane in range(zero, lanes):
                        q1, q2, v1, v2 = step(
                            f[q1_ + lane], f[q2_ + lane], f[v1_ + lane], f[v2_ + lane], h, inverse_h,
                            f[u1_ + lane], f[u2_ + lane],
                            f[i1_ + lane], f[i2_ + lane], f[coupling_ + lane], f[g1_ + lane], f[g2_ + lane],
                            f[j1_ + lane], f[j2_ + lane],
                            f[kc1_ + lane], f[kv1_ + lane], f[km1_ + lane], f[ke1_ + lane], f[kcs1_ + lane],
                            f[kms1_ + lane], f[kes1_ + lane], f[kmq1_ + lane], f[keq1_ + lane], f[ivs1_ + lane],
                            f[al1_ + lane], f[ga1_ + lane],
                            f[kc2_ + lane], f[kv2_ + lane], f[km2_ + lane], f[ke2_ + lane], f[kcs2_ + lane],
                            f[kms2_ + lane], f[kes2_ + lane], f[kmq2_ + lane], f[keq2_ + lane], f[ivs2_ + lane],
                            f[al2_ + lane], f[ga2_ + lane],
                        )  # fmt: skip
                        f[q1_ + lane] = q1
                        f[q2_ + lane] = q2
                        f[v1_ + lane] = v1
                        f[v2_ + lane] = v2
                if (k + 1) % every == 0:
                    kept = (k + 1) // every
                    for lane in range(LANES):
                        at = np.uint64(lane)
                        out[window, kept, 0, base + lane] = f[q1_ + at] - f[o1_ + at]
                        out[window, kept, 1, base + lane] = f[q2_ + at] - f[o2_ + at]

    return compiled(kernel, arm_step)
