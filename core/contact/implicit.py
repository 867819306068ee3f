"""The implicit transformation Φ_Z of seed 001, compiled, and one step of its Algorithm 1.

Φ is odd, so x is taken by its magnitude and the result gets its sign. This replaces the seed's formulas for x < 0, of
which (45) has a wrong sign: the root there is (b₋ + √(b₋² − 4ac₋))/(2a), with b₋ and c₋ of (47), (48).

Numbers that need many digits are slips v = x − Z·y ≥ 0, never differences of slips: friction is Φ(v).
"""

# pyright: basic

from __future__ import annotations

import math
from functools import partial
from pathlib import Path

from numba import njit

from core.contact.lambert import lambert_w0
from core.contact.laws import HYPERBOLIC
from core.kernel.compilation import kept_on_disk

MOST_STEPS = 80
"""Limit of the guarded Newton iteration; bisection alone would end sooner."""
kept = partial(kept_on_disk, folder=Path(__file__).parent, nogil=True, error_model="numpy")
"""Compiles a function that contains code of this folder, and keeps it on disk."""


@njit(error_model="numpy")
def friction_function(law, velocity):
    """Return Φ [N·m] at a velocity [rad/s], eqs (19), (21), (33), and 0 at 0; law is a `Row`."""
    shape, static, coulomb, speed, viscous, exponent = law
    v = abs(velocity)
    if v == 0.0:
        return 0.0
    torque = coulomb + (static - coulomb) * _stiction(shape, v / speed, exponent) + viscous * v
    return math.copysign(torque, velocity)


@njit(error_model="numpy")
def implicit_friction(law, z, wished):
    """Return Φ_Z [N·m] at the hypothetical velocity v* [rad/s], eqs (16), (20), (30).

    The law and Z have to be valid (`core.contact.bristle.require_sound`); this is not checked here.

    Args:
        law: A `Row`.
        z: Z [rad/s per N·m].
        wished: v* [rad/s].
    """
    shape, static, coulomb, speed, viscous, exponent = law
    x = abs(wished)
    if x <= z * static:
        return wished / z
    d = 1.0 + z * viscous
    if shape == HYPERBOLIC:
        torque = _rational(x, z, static, coulomb, speed, viscous)
    elif static == coulomb:
        torque = (coulomb + viscous * x) / d
    elif exponent == 1.0:
        torque = _stribeck(x, z, static, coulomb, speed, viscous)
    else:
        torque = _general(x, z, static, coulomb, speed, viscous, exponent)
    return math.copysign(torque, wished)


@njit(error_model="numpy")
def elastoplastic_step(
    law: tuple[float, ...], bristle: tuple[float, float, float], deflection: float, velocity: float
) -> tuple[float, float]:
    """Return friction f [N·m] and the deflection after it [rad]: Algorithm 1 of seed 001, with eqs (13), (17), (18).

    Args:
        law: A `Row`.
        bristle: K, B, T.
        deflection: Deflection before the step [rad].
        velocity: Velocity at its beginning [rad/s].
    """
    stiffness, damping, step = bristle
    z = 1.0 / (stiffness * step + damping)
    torque = implicit_friction(law, z, velocity + z * stiffness * deflection)
    return torque, z * (damping * deflection + torque * step)


@njit(error_model="numpy")
def _stiction(shape, ratio, exponent):
    """Return s(v/v_S), see `core.contact.laws`."""
    if shape == HYPERBOLIC:
        return 1.0 / (1.0 + ratio)
    return math.exp(-ratio) if exponent == 1.0 else math.exp(-(ratio**exponent))


@njit(error_model="numpy")
def _stribeck(x, z, static, coulomb, speed, viscous):
    """Solve eq. (27) with (25), for x > Z·F_S."""
    d = 1.0 + z * viscous
    scale = speed * d
    psi = -z * (static - coulomb) / scale * math.exp((z * coulomb - x) / scale)
    return -speed / z * lambert_w0(psi) + (coulomb + viscous * x) / d


@njit(error_model="numpy")
def _rational(x, z, static, coulomb, speed, viscous):
    """Solve eq. (44), for x > Z·F_S, written for the slip v.

    v + Z·Φ(v) = x times (v + δ), with δ = v_S, is D'·v² + p·v − δ·(x − Z·F_S) = 0 with D' = 1 + Z·D. Its last term is
    negative, so there is one root v > 0, and the discriminant is positive.
    """
    d = 1.0 + z * viscous
    p = d * speed + z * coulomb - x
    beyond = speed * (x - z * static)
    root = math.sqrt(p * p + 4.0 * d * beyond)
    slip = 2.0 * beyond / (p + root) if p > 0.0 else (root - p) / (2.0 * d)
    return coulomb + (static - coulomb) * speed / (speed + slip) + viscous * slip


@njit(error_model="numpy")
def _general(x, z, static, coulomb, speed, viscous, exponent):
    """Solve for Stribeck's function of any α and x > Z·F_S.

    Newton's method on g(v) = v + Z·Φ(v) − x runs within a bracket. Φ lies between F_C + D·v and F_S + D·v, which
    brackets v; g rises for a valid law.
    """
    d = 1.0 + z * viscous
    stiction = static - coulomb
    low, high = (x - z * static) / d, (x - z * coulomb) / d
    slip = high
    for _ in range(MOST_STEPS):
        ratio = slip / speed
        power = ratio**exponent
        falling = stiction * math.exp(-power)
        g = d * slip + z * (coulomb + falling) - x
        if g > 0.0:
            high = slip
        else:
            low = slip
        slope = d - z * falling * exponent * power / slip
        following = slip - g / slope if slope > 0.0 else low
        if not low < following < high:
            following = 0.5 * (low + high)
        if following == slip or abs(g) <= 1e-16 * x:
            break
        slip = following
    return coulomb + stiction * math.exp(-((slip / speed) ** exponent)) + viscous * slip
