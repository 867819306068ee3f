"""Elastoplastic friction of seed 001 in SIMD lanes: a bristle in front of any of the budgets M1–M6.

The budget's parts are those of the friction function: F_C and F_S − F_C at this step's load, D = K_v, v_S. The contact
is a spring K and a damper B (eqs 4–6). Its velocity is that of the shaft at the end of the step, which depends on the
friction itself. Eliminating both velocities leaves one equation for the friction y,

    y = Φ(x − Z·y),   x = v + h/J·(τ_m + τ_e) + K·e/(K·h + B),   Z = 1/(K·h + B) + h/J.

This is eq. (11) with the joint's own inertia in series with the bristle. The leapfrog takes both velocities and the
spring at the middle of the step, which halves h/J and h in Z and x. Algorithm 1 of seed 001 takes the velocity at the
beginning of the step instead (Z without h/J), which is stable only for K·h² + 2·B·h < 4·J. Here any stiffness and any
step are stable.

With the slip velocity w = x − Z·y, s = w/v_S, u = Z·(F_S − F_C)/(v_S·(1 + Z·D)) and
d = (x/Z − F_C)·Z/(v_S·(1 + Z·D)), both functions need the root of s + u·E(s) = d in [d − u, d], where E is exp(−s^α)
(eq. 21) or 1/(1 + s), to which eqs (33)–(42) reduce. The root is unique if u·max(−E′) ≤ 1 (eq. 14).

The damping of a model (`core.servo.friction.needed_damping`) guarantees this for the bristle alone, without h/J. Where
the step is too long for the inertia, friction would have two values and jump between them. E is then taken at the
smaller slip s of s + u'·E(s) = d − u + u', whose u' just has a single root. Friction still begins to slip at F_S and
falls to F_C, without a jump, and the equation above holds again as soon as the step is short enough.

A joint breaks away, or comes to rest, somewhere within a step. Friction as a function of time has a kink there, and its
value in the middle of the step is not its mean: an error of h² whose factor depends on the moment. `_onset` removes it.
"""

import math

from numba import njit

from core.kernel.layout import Contact
from core.kernel.mathops import FASTMATH, LOG2_E, exp2, log2, rough_exp2, rough_log2

INLINE = {"fastmath": FASTMATH, "error_model": "numpy", "forceinline": True}

STEEPEST = 0.98
"""Largest fall of u·E per unit of s. Above 1 friction would have two values; Halley's steps are exact below."""
_TINY = 1e-60
_SLOWEST = 1e-12
"""Slip velocities below this share of v_S count as 0.

Powers and squares of smaller ones would be denormal numbers, which are a hundred times as slow.
"""


@njit(**INLINE)
def _halley(s, power, fallen, u, d, alpha):
    """Return Halley's step from s, at most twice Newton's and within the bracket.

    `power` is s^α and `fallen` is u·exp(−s^α). Slope and curvature are multiplied by s and s², which leaves one
    division.
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
    """Return the same with exponentials accurate to 1e-4, at a third of the cost."""
    s = max(s, _SLOWEST)
    power = rough_exp2(alpha * rough_log2(s))
    return _halley(s, power, u * rough_exp2(-LOG2_E * power), u, d, alpha)


@njit(**INLINE)
def _gentle(u, d, slope):
    """Return the factor by which u exceeds the largest one with a single root, and the equation with u lowered by it.

    The left-hand side keeps its value at s = 0, so that slip begins at the same torque.
    """
    ratio = max(u * slope * (1.0 / STEEPEST), 1.0)
    lowered = u / ratio
    return ratio, lowered, d - (u - lowered)


@njit(**INLINE)
def _total(ratio, s, u, d):
    """Return the slip d − u·E(s) of the equation before `_gentle`, from the root s of the one after it."""
    return d - ratio * (d - s) + (ratio - 1.0) * u


@njit(**INLINE)
def stribeck_slip(u, d, alpha, level, slope):
    """Return the root of s + u·exp(−s^α) = d.

    Three of Halley's steps start where the tangent at the steepest point has its root. s + u·exp(−s^α) is within 1e-12
    of d for u·slope up to 0.6, 1e-10 up to 0.9 and 1e-3 up to 1.

    Args:
        u: Scaled F_S − F_C, see the module's docstring.
        d: Right-hand side.
        alpha: Exponent.
        level: Value of the tangent at s = 0, see `steepest_fall`.
        slope: Fall of the tangent per unit of s.
    """
    ratio, u, d = _gentle(u, d, slope)
    s = min(max((d - u * level) / (1.0 - u * slope), d - u), d)
    s = _roughly(_roughly(s, u, d, alpha), u, d, alpha)
    s = max(s, _SLOWEST)
    power = exp2(alpha * log2(s))
    return _total(ratio, _halley(s, power, u * exp2(-LOG2_E * power), u, d, alpha), u, d)


@njit(error_model="numpy")
def steepest_fall(alpha):
    """Return the tangent of exp(−s^α) at its steepest point: its value at s = 0, and its fall per unit of s.

    The point is at s^α = (α − 1)/α for α ≥ 1. For α < 1 the slope at 0 is unbounded, and the tangent for α = 1 is
    returned.
    """
    if alpha <= 1.0:
        return 1.0, 1.0
    power = (alpha - 1.0) / alpha
    where = power ** (1.0 / alpha)
    height = math.exp(-power)
    slope = alpha * power / where * height
    return height + slope * where, slope


@njit(**INLINE)
def rational_slip(u, d, _alpha, _level, slope):
    """Return the root of s + u/(1 + s) = d: the positive one of s² + (1 − d)·s + u − d = 0, as in eq. (44)."""
    ratio, u, d = _gentle(u, d, slope)
    half = 0.5 * (d - 1.0)
    root = math.sqrt(max(half * half + d - u, 0.0))
    return _total(ratio, half + root if half > 0.0 else (d - u) / max(root - half, _TINY), u, d)


@njit(**INLINE)
def _onset(velocity, wished, stuck, static, deflection, spring, decay, compliance, mobility):
    """Return the excess of friction in the middle of a step over its mean if slip begins or ends within the step [N·m].

    The torque of a bristle that sticks is y₀ = K·e + B·v at the beginning and rises by a over the step, to `stuck` in
    its middle. It reaches F_S after the share p = (F_S − y₀)/a, where friction stops rising. The mean of such a line
    with a kink is below its value in the middle by |a|/2·min(p, 1 − p)². Without this, the motion after a step of the
    goal depends on the moment within a time step at which the joint breaks away.
    """
    begin = (0.5 * (1.0 + decay) * velocity + spring * deflection) / compliance
    begin = begin if wished >= 0.0 else -begin
    rise = 2.0 * (stuck - begin)
    rise = rise if abs(rise) > _TINY else _TINY
    share = (static - begin) / rise
    kink = max(min(share, 1.0 - share), 0.0)
    # A bristle that is taken later than the middle, because it would ring, has no such line.
    return 0.5 * abs(rise) * kink * kink if decay > 0.0 and compliance >= mobility else 0.0


def slip_of(contact):
    """Return the function that finds the slip velocity of a contact."""
    return rational_slip if contact == Contact.RATIONAL else stribeck_slip


@njit(error_model="numpy")
def bristle_constants(speed, alpha, stiffness, damping, h, leapfrog=False):
    """Return constants of a bristle that are the same in every step.

    e' = decay·e + gain·y is eq. (18), spring·e is the bristle's part of v* (eq. 13), and compliance is 1/(ϑ·K·h + B).
    The spring acts at the share ϑ of the step: at its end (ϑ = 1), or with the leapfrog in its middle. ϑ is larger
    where the decay would become negative.

    Args:
        speed: v_S [rad/s].
        alpha: Exponent.
        stiffness: K [N·m/rad].
        damping: B [N·m·s/rad].
        h: Time step [s].
        leapfrog: True for the second-order step.

    Returns:
        (spring, decay, gain, compliance, v_S, level, slope).
    """
    share = max(0.5, 1.0 - damping / (stiffness * h)) if leapfrog else 1.0
    compliance = 1.0 / (share * stiffness * h + damping)
    decay = compliance * (damping - (1.0 - share) * stiffness * h)
    level, slope = steepest_fall(alpha)
    return compliance * stiffness, decay, compliance * h, compliance, speed, level, slope


def make_bristle(contact, leapfrog=False):
    """Return the compiled friction of a contact.

    The function is friction(velocity, free, mobility, deflection, sliding, breaking, viscous, alpha,
    *bristle_constants). It returns the friction torque along the velocity [N·m] and the new deflection [rad]. Its
    arguments are:

    - velocity: velocity at the beginning of the step [rad/s]
    - free: velocity without friction at the end of the step, or with the leapfrog in its middle [rad/s]
    - mobility: change of that velocity by friction, h/J or half of it [rad/(s·N·m)]
    - deflection: deflection of the bristle [rad]
    - sliding, breaking: F_C and F_S − F_C [N·m]
    - viscous: D [N·m·s/rad]
    """
    slip = slip_of(contact)

    @njit(**INLINE)
    def friction(
        velocity, free, mobility, deflection, sliding, breaking, viscous, alpha,
        spring, decay, gain, compliance, speed, level, slope,
    ):  # fmt: skip
        static = sliding + breaking
        wished = free + spring * deflection
        z = compliance + mobility
        # Friction with which nothing slips.
        stuck = abs(wished) / z
        slowing = speed * (1.0 + z * viscous)
        inverse = 1.0 / (z * slowing)
        inverse_z = slowing * inverse
        scale = z * z * inverse
        size = max(abs(wished), z * static)
        u = scale * breaking
        d = max(scale * (size * inverse_z - sliding), u)
        slipping = (size - speed * slip(u, d, alpha, level, slope)) * inverse_z
        torque = min(slipping, stuck) if stuck > static else stuck
        if leapfrog:
            torque = torque - _onset(velocity, wished, stuck, static, deflection, spring, decay, compliance, mobility)
        torque = torque if wished >= 0.0 else -torque
        return torque, decay * deflection + gain * torque

    return friction
