"""Friction and motion of one time step: the budget of M6 and a bristle, and motor and load with backlash.

Backlash makes two bodies of motor and load, whose teeth neither give nor rebound; it needs the leapfrog. The motor
carries the armature and all friction of the gears, the load its inertia, gravity and the sensor: law and command path
see the angle of the load, and back-EMF and friction the speed of the motor. While the teeth touch, both move as above,
and the load is accelerated by a torque through the teeth. Where that would have to pull, the motor leaves the load:
without a load its friction is that of τ_e = 0. Teeth that meet within a step go on with the speed that conserves the
momentum, and their angle is that of the end of the gap. The step takes the forces of both kinds of motion, weighted by
their shares of the step. Its error is proportional to h² where the law's output hardly jumps at an impact, and to h
where a large velocity gain answers to the load's jump.

Memory of the load: friction in a contact follows a change of its load late (Prakash 1998, J. Tribol. 120, 97). In the
form of Cochard and Rice (2000, J. Geophys. Res. 105, 25891), load friction λ follows |K_m·τ_m − K_e·τ_e| with a time
constant: dλ/dt = (|K_m·τ_m − K_e·τ_e| − λ)/t_λ. Its extra at rest, which already differs with speed, has none.
"""

import math
from functools import cache

from numba import njit

from core.kernel.bristle import INLINE, make_bristle
from core.kernel.layout import Contact
from core.kernel.mathops import LOG2_E, exp2_below, log2

UNSETTLED = -1.0
"""Load friction before the first step, which starts settled [N·m]."""
_TINY = 1e-300
_STILL = 1e-12
"""Speed below which a motor that its gears do not turn is at rest [rad/s]."""
_SHORTEST = 1e-9
"""Shortest share of a step, which its inverse bounds."""


@njit(**INLINE)
def clip(x: float, limit: float) -> float:
    """Limit x to ±limit."""
    return min(max(x, -limit), limit)


@njit(**INLINE)
def dry_friction(
    tm: float, te: float, kc: float, km: float, ke: float, kcs: float, kms: float, kes: float, kmq: float, keq: float,
    gate: float,
) -> tuple[float, float]:  # fmt: skip
    """Return M6's friction at this load [N·m]: F_C, and F_S − F_C (seed 004, eq. 10 without speed)."""
    am = abs(tm)
    ae = abs(te)
    quad = keq * te * te if am > ae else (kmq * tm * tm if ae > am else 0.0)
    quad = quad * (1.0 - gate) if tm * te >= 0.0 else quad
    return kc + abs(km * tm - ke * te), kcs + abs(kms * tm - kes * te) + quad


@njit(**INLINE)
def friction_budget(v, tm, te, kc, kv, km, ke, kcs, kms, kes, kmq, keq, inverse_vs, alpha, gate):
    """Return the friction budget τ_f^m of M6 [N·m], seed 004, eq. (10); M1–M5 have zeros in place of terms."""
    speed = abs(v)
    exponent = exp2_below(alpha * log2(max(speed * inverse_vs, _TINY)))
    stribeck = exp2_below(-LOG2_E * exponent)
    sliding, at_rest = dry_friction(tm, te, kc, km, ke, kcs, kms, kes, kmq, keq, gate)
    return kv * speed + sliding + stribeck * at_rest


@njit(**INLINE)
def mean_friction(momentum, torque, budget):
    """Return the mean of dry friction [N·m] over a step.

    Let T be the torque against the motion and F the budget. The shaft stops after the share p = J·|v|/(h·(T + F)) of
    the step. For p ≥ 1 it keeps moving, and friction is F. For T ≤ F it stays where it stopped, and friction is J·|v|/h
    − T. For T > F it reverses; friction is F until it stops and −F afterwards.

    Args:
        momentum: Momentum at the beginning per step, J·v/h [N·m].
        torque: Torque of everything but dry friction [N·m].
        budget: Friction budget F [N·m].
    """
    against = -torque if momentum >= 0.0 else torque
    size = abs(momentum)
    turning = budget * (2.0 * size / max(against + budget, _TINY) - 1.0)
    friction = min(max(size - against, turning), budget)
    return friction if momentum >= 0.0 else -friction


@njit(**INLINE)
def remembered(load, before, share, mean):
    """Return the mean over a step and the end of what follows a load as a first-order lag.

    Args:
        load: The load's friction in this step [N·m].
        before: That of the lag at the beginning of the step [N·m]; negative before the first step, see UNSETTLED.
        share: Share of the way to the load that the lag covers in the step, see `lag_constants`.
        mean: Share that is missing on average over the step.
    """
    before = before if before >= 0.0 else load
    return load + mean * (before - load), before + share * (load - before)


@njit(error_model="numpy")
def resting_gap(torque, half_gap):
    """Return the angle of the motor ahead of a load at rest that leans on the teeth with a torque [N·m]."""
    return -half_gap if torque > 0.0 else half_gap


@cache
def make_friction(contact: Contact, leapfrog: bool, memory: bool = False):
    """Return the compiled friction of a contact and integrator, with or without memory: lines 4–6 of Algorithm 1.

    The function takes the velocity [rad/s], the torques of motor and load [N·m], the decrease of the motor's torque
    with velocity, the inertia [kg·m²] and its inverse, the friction of the previous step, the deflection of the
    bristle [rad] and the load friction at the beginning of the step. It returns the acceleration [rad/s²], the
    friction, the deflection and the load friction at the end [N·m].
    """
    rigid = contact == Contact.RIGID
    bristle = make_bristle(contact, leapfrog)

    @njit(**INLINE)
    def slowed(
        v, tm, te, drag, inertia, inverse_inertia, friction, deflection, load_friction, h, inverse_h,
        kc, kv, km, ke, kcs, kms, kes, kmq, keq, inverse_vs, alpha, gate,
        spring, decay, gain, compliance, stribeck_speed, level, slope, memory_share, memory_mean,
    ):  # fmt: skip
        half_h = 0.5 * h
        if leapfrog:
            # J': the part linear in speed acts at the mean of old and new velocity.
            inertia = inertia + half_h * (drag + kv) if rigid else inertia + half_h * drag
            inverse_inertia = 1.0 / inertia
        if rigid:
            # Budget, torque to stop, applied friction.
            if leapfrog:
                # A shaft at rest may be held. Its friction is unknown at the start of a simulation.
                gained = half_h * inverse_inertia * (tm + te - friction) if v != 0.0 else 0.0
                tm_mean = tm - drag * gained
                base = kc
                if memory:
                    # What the load adds to the Coulomb friction, in place of its friction of this moment.
                    load = abs(km * tm_mean - ke * te)
                    lagged, load_friction = remembered(load, load_friction, memory_share, memory_mean)
                    base = kc + lagged - load
                budget = friction_budget(
                    v + gained, tm_mean, te, base, 0.0, km, ke, kcs, kms, kes, kmq, keq, inverse_vs, alpha, gate
                ) + kv * abs(v)
            else:
                budget = friction_budget(v, tm, te, kc, kv, km, ke, kcs, kms, kes, kmq, keq, inverse_vs, alpha, gate)
            if leapfrog:
                friction = mean_friction(inertia * inverse_h * v, tm + te, budget)
            else:
                friction = clip(inertia * inverse_h * v + tm + te, budget)
        else:
            mobility = h * inverse_inertia
            tm_mean = tm
            if leapfrog:
                tm_mean = tm - 0.5 * drag * mobility * (tm + te - friction)
                # The middle of the step; later only as far as a stiff bristle needs in order not to ring.
                mobility = max(0.5 * mobility, mobility - compliance)
            free = v + mobility * (tm + te)
            sliding, at_rest = dry_friction(tm_mean, te, kc, km, ke, kcs, kms, kes, kmq, keq, gate)
            if memory:
                lagged, load_friction = remembered(sliding - kc, load_friction, memory_share, memory_mean)
                sliding = kc + lagged
            friction, deflection = bristle(
                v, free, mobility, deflection, sliding, at_rest, kv, alpha,
                spring, decay, gain, compliance, stribeck_speed, level, slope,
            )  # fmt: skip
        return (tm + te - friction) * inverse_inertia, friction, deflection, load_friction

    return slowed


@cache
def make_parted(contact: Contact, memory: bool = False):
    """Return the compiled second-order mechanics of motor and load with backlash.

    The function takes the numbers of the step and returns the next q [rad], v [rad/s], friction [N·m], deflection
    [rad], load friction [N·m], and the motor's angle [rad] and speed [rad/s] relative to those of the load.
    """
    slowed = make_friction(contact, True, memory)
    rigid = contact == Contact.RIGID

    @njit(**INLINE)
    def parted(
        q, v, gap, slide, tm, te, drag, law_drag, inertia, inverse_inertia, armature, half_gap, velocity_limit,
        friction, deflection, load_friction, h, inverse_h, numbers,
    ):  # fmt: skip
        half_h = 0.5 * h
        motor_share = armature * inverse_inertia
        load_inertia = inertia - armature
        # The motor alone, and the load alone. The difference of two equal speeds is not always exactly 0.
        motor_v = v + slide if abs(v + slide) > _STILL else 0.0
        motor_drag = drag - law_drag
        load_a = te / max(load_inertia, _TINY)
        motor_a, free_friction, free_deflection, free_load = slowed(
            motor_v, tm - half_h * law_drag * load_a, 0.0, motor_drag, armature, 1.0 / armature,
            friction, deflection, load_friction, h, inverse_h, *numbers,
        )  # fmt: skip
        free_a = motor_share * motor_a + (1.0 - motor_share) * load_a
        free_slide = slide + h * (motor_a - load_a)
        free_gap = gap + half_h * (slide + free_slide)
        reached = clip(free_gap, half_gap)
        # The share of the step before the teeth meet: way = first·share + second·share².
        way, first, second = reached - gap, h * slide, half_h * (free_slide - slide)
        root = math.sqrt(max(first * first + 4.0 * second * way, 0.0))
        divisor = first + (root if way >= 0.0 else -root)
        met = min(max(2.0 * way / divisor, 0.0), 1.0) if divisor != 0.0 else 0.0
        # Both as one body from then on, with the speed that conserves their momentum.
        joint_v = v + motor_share * slide
        joint_tm = tm + motor_drag * (motor_v - joint_v) + law_drag * (v - joint_v)
        in_contact = slide == 0.0 and abs(gap) >= half_gap
        part = 1.0 if in_contact or not rigid else max(1.0 - met, _SHORTEST)
        joint_a, joint_friction, joint_deflection, joint_load = slowed(
            joint_v, joint_tm, te, drag, inertia, inverse_inertia,
            friction, deflection, load_friction, part * h, inverse_h / part, *numbers,
        )  # fmt: skip
        push = load_inertia * joint_a - te
        touching = in_contact and push * gap >= 0.0
        apart = not touching and reached == free_gap
        alone = 0.0 if touching else (1.0 if apart else met)
        rest = 1.0 - alone
        new_joint_v = clip(joint_v + (joint_a + alone * (free_a - joint_a)) * h, velocity_limit)
        # Teeth that have met and do not push part again for the rest of the step.
        parting = rest * h * (joint_a - load_a) / motor_share if push * reached < 0.0 else 0.0
        left = reached + half_h * rest * parting
        met_gap = clip(left, half_gap)
        new_slide = free_slide if apart else (parting if met_gap == left and not touching else 0.0)
        new_gap = gap if touching else (reached if apart else met_gap)
        new_v = new_joint_v - motor_share * new_slide
        new_q = (q + half_h * joint_v) + half_h * new_joint_v - motor_share * (new_gap - gap)
        friction = joint_friction + alone * (free_friction - joint_friction)
        deflection = joint_deflection + alone * (free_deflection - joint_deflection)
        load_friction = joint_load + alone * (free_load - joint_load)
        return new_q, new_v, friction, deflection, load_friction, new_gap, new_slide

    return parted
