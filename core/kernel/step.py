"""One time step of a servo on the bench, written once and inlined into every kernel.

Order and meaning follow Algorithm 1 of seed 004; line numbers in comments are its. Everything is branch-free, so that
LLVM can put candidates into SIMD lanes: a choice is a select between two values that are both computed.

`make_step(law, full, contact)` returns the step for one control law and contact; `full=False` leaves the command path
and the integral and derivative gains out, for the plain models that need none of them.
"""

from functools import cache

from numba import njit

from core.kernel.bristle import INLINE, make_bristle
from core.kernel.layout import Contact, Law
from core.kernel.mathops import LN_2, LOG2_E, exp2, log2, sine

_TINY = 1e-300


@njit(**INLINE)
def clip(x, limit):
    """Limit x to ±limit."""
    return min(max(x, -limit), limit)


@njit(**INLINE)
def dry_friction(tm, te, kc, km, ke, kcs, kms, kes, kmq, keq, gate):
    """Friction of M6 at this load [N·m]: F_C, and F_S − F_C beyond it at rest (seed 004 eq. 10 without speed)."""
    am = abs(tm)
    ae = abs(te)
    quad = keq * te * te if am > ae else (kmq * tm * tm if ae > am else 0.0)
    quad = quad * (1.0 - gate) if tm * te >= 0.0 else quad
    return kc + abs(km * tm - ke * te), kcs + abs(kms * tm - kes * te) + quad


@njit(**INLINE)
def friction_budget(v, tm, te, kc, kv, km, ke, kcs, kms, kes, kmq, keq, inverse_vs, alpha, gate):
    """Friction budget τ_f^m of M6 [N·m], seed 004 eq. (10); M1–M5 by their zeros."""
    speed = abs(v)
    exponent = exp2(alpha * log2(max(speed * inverse_vs, _TINY)))
    stribeck = exp2(-LOG2_E * exponent)
    sliding, at_rest = dry_friction(tm, te, kc, km, ke, kcs, kms, kes, kmq, keq, gate)
    return kv * speed + sliding + stribeck * at_rest


@njit(**INLINE)
def coast_current(duty, supply, emf, resistance, inductance, period):
    """Mean motor current [A] of a drive/coast bridge over one PWM period, in two regimes (seed 004, section IV-B).

    While the switch is on the motor sees +U and its current tends to I₁ = (U − e)/R with the time constant
    T_e = L/R; while it is off the current freewheels through the diodes into the supply, the motor sees −U and the
    current tends to −I₂ = −(U + e)/R until it dies out. With e the back-EMF in the direction of the drive:

    - discontinuous conduction: from zero, the current reaches i_p = I₁·(1 − exp(−D·T/T_e)) and is gone after
      t_f = T_e·ln(1 + i_p/I₂). If D·T + t_f < T, integrating L·di/dt = u − R·i − e over the period, which starts
      and ends at zero current, gives the mean ī = (I₁·D·T − I₂·t_f)/T;
    - continuous conduction: the current never dies out; over a steady period L·di/dt integrates to zero and
      ī = ((2·D − 1)·U − e)/R. Both agree where D·T + t_f = T;
    - a back-EMF above U in the direction of the drive conducts through the diodes all the time: ī = (U − e)/R.

    supply and inductance must be positive. Electrical transients between PWM periods are taken as settled.
    """
    direction = 1.0 if duty >= 0.0 else -1.0
    share = min(abs(duty), 1.0)
    emf_along = direction * emf
    rising = (supply - emf_along) / resistance
    falling = (supply + emf_along) / resistance
    electric_time = inductance / resistance
    on_time = share * period
    peak = rising * (1.0 - exp2(-LOG2_E * on_time / electric_time))
    fall_time = electric_time * LN_2 * log2(max(1.0 + peak / max(falling, _TINY), 1.0))
    interrupted = (rising * on_time - falling * fall_time) / period
    continuous = ((2.0 * share - 1.0) * supply - emf_along) / resistance
    current = interrupted if on_time + fall_time < period else continuous
    current = continuous if falling <= 0.0 else current
    current = rising if rising <= 0.0 else current
    return direction * current


@cache
def make_step(law: Law, full: bool, contact: Contact = Contact.RIGID):
    """Return the compiled step of one control law and contact.

    The step takes the state, this step's inputs and the candidate's numbers and returns the next state:
    (q, v, slewed goal, output, integral, error, supply current, bristle's deflection) and, of this step, (motor
    torque, motor current, duty cycle, supply voltage, control). Units: rad, rad/s, rad, duty or A, duty or A, rad, A,
    rad; N·m, A, 1, V, and V or A. The control is what the law asks for, whether or not the torque is enabled.
    """
    voltage = law == Law.VOLTAGE
    current_law = law == Law.CURRENT
    rigid = contact == Contact.RIGID
    bristle = make_bristle(contact)

    @njit(**INLINE)
    def step(
        q, v, slewed, output, integral, error, bus_current, deflection,
        goal, enable, supply, hand_torque, torque_command, torque_mode,
        h, inverse_h, kt, resistance, inverse_r, inertia, inverse_inertia, gravity_torque, angle_offset,
        kc, kv, km, ke, kcs, kms, kes, kmq, keq, inverse_vs, alpha, gate,
        kp, kv_feedback, output_limit, velocity_after, velocity_limit,
        ki, kd, slew_step, dead_band, lag_share, sag, braking, inductance, period,
        spring, decay, gain, inverse_z, scale, stribeck_speed, level, slope,
    ):  # fmt: skip
        # Line 1: the servo's control law and motor, with the command path in front of them.
        if full:
            slewed = slewed + clip(goal - slewed, slew_step)
            new_error = slewed - q
            new_error = new_error - clip(new_error, dead_band)
            integral = clip(integral + ki * new_error * h, output_limit)
            integral = integral if enable > 0.0 else 0.0
            raw = kp * new_error + integral + kd * (new_error - error) * inverse_h - kv_feedback * v
            error = new_error
            control = clip(raw, output_limit)
            output = output + lag_share * (control - output) if enable > 0.0 else 0.0
            supply = max(supply - sag * bus_current, 0.0)
            slewed = slewed if enable > 0.0 else q
        else:
            output = clip(kp * (goal - q) - kv_feedback * v, output_limit)
            control = output
        emf = kt * v
        if current_law:
            # Torque off sets the current to zero; a bridge that cannot hold it there against the back-EMF is eq. (14).
            current = output * enable
            current = torque_command / kt if torque_mode > 0.0 else current
            current = min(max(current, (-supply - emf) * inverse_r), (supply - emf) * inverse_r)
            duty = (current * resistance + emf) / max(supply, 1e-9)
            tm = kt * current
        else:
            duty = output
            if voltage:
                driven = (output * supply - emf) * inverse_r
            else:
                driven = coast_current(output, max(supply, 1e-9), emf, resistance, inductance, period)
            released = -braking * emf * inverse_r
            current = enable * driven + (1.0 - enable) * released
            current = torque_command / kt if torque_mode > 0.0 else current
            duty = (current * resistance + emf) / max(supply, 1e-9) if torque_mode > 0.0 else duty * enable
            tm = kt * current
            control = control * supply
        if full:
            bus_current = max(duty * current, 0.0)
        # Line 2: the bench; a hand may add its torque.
        te = -gravity_torque * sine(q + angle_offset) + hand_torque
        if rigid:
            # Lines 4–6: budget, torque to stop, applied friction.
            budget = friction_budget(v, tm, te, kc, kv, km, ke, kcs, kms, kes, kmq, keq, inverse_vs, alpha, gate)
            to_stop = inertia * inverse_h * v + tm + te
            net = tm + te - clip(to_stop, budget)
        else:
            sliding, at_rest = dry_friction(tm, te, kc, km, ke, kcs, kms, kes, kmq, keq, gate)
            friction, deflection = bristle(
                v + h * inverse_inertia * (tm + te), deflection, sliding, at_rest, alpha,
                spring, decay, gain, inverse_z, scale, stribeck_speed, level, slope,
            )  # fmt: skip
            net = tm + te - friction
        # Lines 7–9: integration; "bam" integrates the velocity after the update.
        a = net * inverse_inertia
        new_v = clip(v + a * h, velocity_limit)
        moving = v + velocity_after * (new_v - v)
        new_q = q + (moving * h + 0.5 * a * h * h)
        return (
            new_q, new_v, slewed, output, integral, error, bus_current, deflection, tm, current, duty, supply, control,
        )  # fmt: skip

    return step
