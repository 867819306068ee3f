"""Elastoplastic friction of seed 001 in SIMD lanes: the bristle in front of any of the budgets M1–M6.

The budget's parts are the friction function's: F_C and F_S − F_C at this step's load, D = K_v, v_S. The contact is a
spring K and a damper B (eqs 4–6), and its velocity is the shaft's at the end of the step, which the friction itself
decides. Eliminating both velocities leaves one equation for the friction y,

    y = Φ(x − Z·y),   x = v + h/J·(τ_m + τ_e) + K·e/(K·h + B),   Z = 1/(K·h + B) + h/J,

which is eq. (11) with the joint's own inertia in series with the bristle. The leapfrog halves h/J and h in Z and x, as
it takes both velocities and the spring at the middle of the step. Algorithm 1 of seed 001 takes the velocity at
the beginning of the step instead (Z without h/J), which is stable only for K·h² + 2·B·h < 4·J; here any stiffness and
any step are.

With the slip velocity w = x − Z·y, s = w/v_S, u = Z·(F_S − F_C)/(v_S·(1 + Z·D)) and
d = (x/Z − F_C)·Z/(v_S·(1 + Z·D)), both functions ask for the root of s + u·E(s) = d in [d − u, d], where E is
exp(−s^α) (eq. 21) or 1/(1 + s), which is what eqs (33)–(42) come to. Where u·max(−E′) ≤ 1 (eq. 14) it is the only one.
"""

import math

from numba import njit

from core.kernel.layout import Contact
from core.kernel.mathops import FASTMATH, LOG2_E, exp2, log2, rough_exp2, rough_log2

INLINE = {"fastmath": FASTMATH, "error_model": "numpy", "forceinline": True}

_TINY = 1e-60
_SLOWEST = 1e-12
"""Slip velocities below this share of v_S are as good as none. Powers and squares of smaller ones would be denormal
numbers, which cost processors a hundred times as much."""


@njit(**INLINE)
def _halley(s, power, fallen, u, d, alpha):
    """Halley's step from s with s^α and u·exp(−s^α) known, at most twice Newton's, within the bracket.

    Slope and curvature times s and s², so that there is one division.
    """
    f = s + fallen - d
    bend = alpha * power * fallen
    slope = s - bend
    square = slope * slope
    curvature = bend * (alpha * power - (alpha - 1.0))
    moved = s - 2.0 * f * s * slope / max(max(2.0 * square - f * curvature, square), _TINY)
    return min(max(moved, d - u), d)


@njit(**INLINE)
def _roughly(s, u, d, alpha):
    """The same with exponentials to 1e-4, at a third of the price."""
    s = max(s, _SLOWEST)
    power = rough_exp2(alpha * rough_log2(s))
    return _halley(s, power, u * rough_exp2(-LOG2_E * power), u, d, alpha)


@njit(**INLINE)
def stribeck_slip(u, d, alpha, level, slope):
    """Root of s + u·exp(−s^α) = d, by three of Halley's steps from where the tangent at the steepest point has it.

    level, slope: of that tangent, see `steepest_fall`. s + u·exp(−s^α) is within 1e-12 of d for u·slope up to 0.6,
    1e-10 up to 0.9 and 1e-3 up to 1.
    """
    s = min(max((d - u * level) / max(1.0 - u * slope, 1e-3), d - u), d)
    s = _roughly(_roughly(s, u, d, alpha), u, d, alpha)
    s = max(s, _SLOWEST)
    power = exp2(alpha * log2(s))
    return _halley(s, power, u * exp2(-LOG2_E * power), u, d, alpha)


@njit(error_model="numpy")
def steepest_fall(alpha):
    """Tangent of exp(−s^α) where it falls most: its value at s = 0 and how much it falls per unit of s.

    At s^α = (α − 1)/α, for α ≥ 1; below, the slope at 0 has no bound, and that of α = 1 is given.
    """
    if alpha <= 1.0:
        return 1.0, 1.0
    power = (alpha - 1.0) / alpha
    where = power ** (1.0 / alpha)
    height = math.exp(-power)
    slope = alpha * power / where * height
    return height + slope * where, slope


@njit(**INLINE)
def rational_slip(u, d, _alpha, _level, _slope):
    """Root of s + u/(1 + s) = d: the positive one of s² + (1 − d)·s + u − d = 0, as eq. (44)."""
    half = 0.5 * (d - 1.0)
    root = math.sqrt(max(half * half + d - u, 0.0))
    return half + root if half > 0.0 else (d - u) / max(root - half, _TINY)


def slip_of(contact):
    """The search for the slip velocity of a contact."""
    return rational_slip if contact == Contact.RATIONAL else stribeck_slip


@njit(error_model="numpy")
def bristle_constants(speed, alpha, stiffness, damping, h, leapfrog=False):
    """Constants of a bristle, the same in every step: (spring, decay, gain, compliance, v_S, level,
    slope).

    speed v_S [rad/s]; alpha; stiffness K [N·m/rad], damping B [N·m·s/rad]; h [s]. e' = decay·e + gain·y is eq. (18),
    spring·e the bristle's part of v* (eq. 13), compliance 1/(ϑ·K·h + B). The spring acts at the share ϑ of the step:
    at its end (ϑ = 1), or for the leapfrog in its middle, later only as far as keeps the decay from being negative.
    """
    share = max(0.5, 1.0 - damping / (stiffness * h)) if leapfrog else 1.0
    compliance = 1.0 / (share * stiffness * h + damping)
    decay = compliance * (damping - (1.0 - share) * stiffness * h)
    level, slope = steepest_fall(alpha)
    return compliance * stiffness, decay, compliance * h, compliance, speed, level, slope


def make_bristle(contact):
    """Return the compiled friction of a contact.

    friction(free, mobility, free_middle, mobility_middle, deflection, sliding, breaking, viscous, alpha,
    *bristle_constants): free: velocity at the end of the step without friction [rad/s]; mobility
    h/J [rad/(s·N·m)]; the same for the moment of the step whose velocity decides about friction that slips, its end or
    its middle; deflection of the bristle [rad]; sliding F_C, breaking F_S − F_C [N·m]; viscous D [N·m·s/rad]. Returns
    the friction torque, along the velocity [N·m], and the new deflection.
    """
    slip = slip_of(contact)

    @njit(**INLINE)
    def friction(
        free, mobility, free_middle, mobility_middle, deflection, sliding, breaking, viscous, alpha,
        spring, decay, gain, compliance, speed, level, slope,
    ):  # fmt: skip
        static = sliding + breaking
        wished = free + spring * deflection
        # Friction that leaves no slip at the end of the step.
        stuck = abs(wished) / (compliance + mobility)
        z = compliance + mobility_middle
        slowing = speed * (1.0 + z * viscous)
        inverse = 1.0 / (z * slowing)
        inverse_z = slowing * inverse
        scale = z * z * inverse
        size = free_middle + spring * deflection
        size = max(size if wished >= 0.0 else -size, z * static)
        u = scale * breaking
        d = max(scale * (size * inverse_z - sliding), u)
        slipping = (size - speed * slip(u, d, alpha, level, slope)) * inverse_z
        torque = min(slipping, stuck) if stuck > static else stuck
        torque = torque if wished >= 0.0 else -torque
        return torque, decay * deflection + gain * torque

    return friction
