"""One time step of a servo on the bench, written once and inlined into every kernel.

Everything is branch-free so that LLVM can put candidates into SIMD lanes: a choice is a select between two values that
are both computed. `make_step(law, full, contact, leapfrog, play, memory)` returns the step for one control law, contact
and integrator, with or without backlash and memory of the load; `full=False` leaves out the command path and the
integral and derivative gains.

First order. Algorithm 1 of seed 004 (comments refer to its line numbers) evaluates all forces at the beginning of the
step, at q and v, clips friction to its budget, and integrates. Rhoban/bam integrates the position with the velocity
after the step. The error of both is proportional to the time step h.

Second order. The leapfrog, or drift-kick-drift, is a Strang splitting into a drift (q' = v) and a kick (J·v' = τ):

1. drift: q½ = q + h·v/2.
2. kick: all forces at q½. The part of the torque that is linear in speed, −D·v (back-EMF, velocity feedback, viscous
   friction), is taken at the mean of old and new velocity. J·(v' − v) = h·(τ(v) + D·v − D·(v + v')/2) gives
   v' = v + h·τ(v)/J' with J' = J + h·D/2, which is stable for any h·D/J. Friction that stops the shaft,
   to_stop = J'·v/h + τ, gives v' = 0 exactly. The parts that are not linear in speed (the Stribeck term, friction by
   the motor's load) are evaluated at the predicted velocity of the middle, v½ = v + h·(τ(v) − τ_f)/(2·J'), with the
   friction τ_f of the previous step.
3. drift: q' = q½ + h·v'/2.

Friction reverses with the shaft, also within a step: see `mean_friction`. The bristle of an elastoplastic contact and
its slip are taken at the middle of the step. A bristle that is so stiff that it would ring is taken later, up to the
end of the step, which is stable at any stiffness.

The command path is also taken at its mean over the step. A limited goal and a first-order lag are integrated exactly,
the integral advances by half a step before the forces, and the sag of the supply is solved together with the current
that causes it. One step costs one evaluation of the forces, like a first-order step, and its error is proportional to
h², also in motion that sticks, reverses and is released. tests/core/test_convergence.py shows this for every law,
contact and command path term.

A voltage law with a current limit changes its duty cycle so that the current stays within the limit, as far as the
bridge can: a shaft that is driven faster than the bridge can turn it has a larger current.

A law with integral or derivative gain, or with a known control period, is sampled: once a period it takes the goal and
the angle of that moment, and its output is held until the next. The response of a derivative gain to a goal that jumps
lasts one period, whatever the time step. No time step is longer than the period, so the law acts at most once in it; a
step in which it acts has the held output before that moment and the new one after it. Without a period the law acts
continuously. Algorithm 1 evaluates its law once a step.

With backlash, law and command path see the angle of the load; `core.kernel.mechanics` describes its two bodies, and the
memory of the load.

The command is an angle that the law compares with the shaft's, a speed that it compares with the shaft's, or an output
that it passes on: a duty cycle or a current.
"""

import math
from functools import cache

from numba import njit

from core.kernel.bristle import INLINE, bristle_constants
from core.kernel.layout import OFFSET_WIDTH, Contact, Law, Slot
from core.kernel.mathops import LN_2, LOG2_E, exp2, log2, sine
from core.kernel.mechanics import clip, make_friction, make_parted

_TINY = 1e-300
_ENDS = 1.0 - 1e-6
"""Share of a step after which the next one begins: at its boundary a law must see the goal that begins there."""


@njit(**INLINE)
def delayed_command(goal, lasts, i, first, last, whole, share):
    """Return the command during step i, delayed by `whole` − `share` steps.

    If it changes twice in the step, a single change with the same mean stands for both.

    Args:
        goal: Goal at the beginning of each step.
        lasts: Share of each step for which its goal holds before the next one.
        i: Index of the step.
        first: First existing step.
        last: Last existing step.
        whole: Delay in whole steps, rounded up.
        share: Share of a step by which `whole` exceeds the delay.

    Returns:
        Goal at the beginning and at the end of the step, and the share of the step for which it has the latter.
    """
    older, newer = max(i - whole, first), min(max(i - whole + 1, first), last)
    old_goal, new_goal = goal[older], goal[newer]
    # The goal may change in the part of the older step, in that of the newer one, or in both.
    early = max(lasts[older] - share, 0.0)
    if lasts[newer] >= share:
        return (old_goal, new_goal, 1.0 - early) if early > 0.0 else (new_goal, new_goal, 0.0)
    last_goal = goal[min(newer + 1, last)]
    late = share - lasts[newer]
    if early <= 0.0 or last_goal == old_goal:
        return new_goal, last_goal, late
    mean_rise = (1.0 - early) * (new_goal - old_goal) + late * (last_goal - new_goal)
    return old_goal, last_goal, min(max(mean_rise / (last_goal - old_goal), 0.0), 1.0)


@njit(error_model="numpy")
def lag_constants(time, h):
    """Return the constants of a first-order lag over a step.

    Args:
        time: Time constant [s].
        h: Time step [s].

    Returns:
        Share of the way to its input that the output covers, and the share that is missing on average over the step.
    """
    if time <= 0.0:
        return 1.0, 0.0
    share = 1.0 - math.exp(-h / time)
    return share, share * time / h


@njit(**INLINE)
def coast_current(duty: float, supply: float, emf: float, resistance: float, inductance: float, period: float) -> float:
    """Return the mean motor current of a drive/coast bridge over one PWM period [A], see `coast_bridge`."""
    current, _, _ = coast_bridge(duty, supply, emf, resistance, inductance, period)
    return current


@njit(**INLINE)
def coast_bridge(duty, supply, emf, resistance, inductance, period):
    """Return the mean motor current of a drive/coast bridge and its slopes (seed 004, section IV-B).

    While the switch is on, the motor sees +U, and its current tends to I₁ = (U − e)/R with the time constant T_e = L/R.
    While it is off, the current freewheels through the diodes into the supply. The motor then sees −U, and the current
    tends to −I₂ = −(U + e)/R until it reaches zero. With e the back-EMF in the direction of the drive:

    - discontinuous conduction: from zero, the current reaches i_p = I₁·(1 − exp(−D·T/T_e)) and is zero again after t_f
      = T_e·ln(1 + i_p/I₂). If D·T + t_f < T, integrating L·di/dt = u − R·i − e over the period, which starts and ends
      at zero current, gives the mean ī = (I₁·D·T − I₂·t_f)/T;
    - continuous conduction: the current never reaches zero; over a steady period L·di/dt integrates to zero and ī =
      ((2·D − 1)·U − e)/R. Both agree where D·T + t_f = T;
    - a back-EMF above U in the direction of the drive conducts through the diodes all the time: ī = (U − e)/R.

    Electrical transients between PWM periods are neglected.

    Args:
        duty: Duty cycle D.
        supply: Supply voltage U [V], positive.
        emf: Back-EMF [V].
        resistance: R [Ω].
        inductance: L [H], positive.
        period: PWM period T [s].

    Returns:
        ī [A], −R·∂ī/∂e (the share of the period in which the back-EMF drives a current), and ∂ī/∂D [A].
    """
    direction = 1.0 if duty >= 0.0 else -1.0
    share = min(abs(duty), 1.0)
    emf_along = direction * emf
    rising = (supply - emf_along) / resistance
    falling = (supply + emf_along) / resistance
    electric_time = inductance / resistance
    on_time = share * period
    risen = 1.0 - exp2(-LOG2_E * on_time / electric_time)
    peak = rising * risen
    fall_time = electric_time * LN_2 * log2(max(1.0 + peak / max(falling, _TINY), 1.0))
    interrupted = (rising * on_time - falling * fall_time) / period
    continuous = ((2.0 * share - 1.0) * supply - emf_along) / resistance
    current = interrupted if on_time + fall_time < period else continuous
    current = continuous if falling <= 0.0 else current
    current = rising if rising <= 0.0 else current
    # ∂t_f/∂e by the chain rule, with ∂I₁/∂e = −1/R and ∂I₂/∂e = 1/R.
    inverse_sum = 1.0 / max(falling + peak, _TINY)
    decay = electric_time * (peak + falling * risen)
    share_of_period = (on_time + fall_time - decay * inverse_sum) / period
    conducting = share_of_period if on_time + fall_time < period else 1.0
    conducting = 1.0 if min(rising, falling) <= 0.0 else conducting
    gain = rising * (1.0 - falling * (1.0 - risen) * inverse_sum)
    gain = gain if on_time + fall_time < period else 2.0 * supply / resistance
    gain = 2.0 * supply / resistance if falling <= 0.0 else gain
    gain = 0.0 if rising <= 0.0 else gain
    return direction * current, conducting, gain


@njit(**INLINE)
def sagged_supply(supply: float, current: float, emf: float, resistance: float, sag: float, pulse: float) -> float:
    """Return the supply voltage at a motor current [V]: d·U = R·I + e with U = U₀ − R_s·d·I − R_p·I."""
    drawn = max((current * resistance + emf) * current, 0.0)
    supply = supply - pulse * abs(current) if drawn > 0.0 else supply
    return 0.5 * (supply + math.sqrt(max(supply * supply - 4.0 * sag * drawn, 0.0)))


@njit(error_model="numpy")
def offset_constants(share, limit):
    """Return the output offset [duty or A] and its growth with the error [per rad] from its share of the limit."""
    return share * limit, share * limit / OFFSET_WIDTH


@njit(error_model="numpy")
def period_constants(period, h):
    """Return the constants of a law that acts once a period.

    Args:
        period: Control period [s]; 0 for a law that acts continuously.
        h: Time step [s].

    Returns:
        Time between two actions [s], at least a step, its inverse [1/s], and 1 for a sampled law, otherwise 0.
    """
    between = max(period, h)
    return between, 1.0 / between, 1.0 if period > 0.0 else 0.0


@njit(error_model="numpy")
def step_numbers(row, h, leapfrog):
    """Return the last arguments of the step, from h on, for a candidate's row on a bench (ROW,) and time step h [s]."""
    inertia = row[Slot.INERTIA] + row[Slot.ARMATURE]
    lag_share, lag_mean = lag_constants(row[Slot.PWM_LAG], h)
    spring, decay, gain, compliance, speed, level, slope = bristle_constants(
        row[Slot.STRIBECK_VELOCITY], row[Slot.STRIBECK_EXPONENT], row[Slot.BRISTLE_STIFFNESS],
        row[Slot.BRISTLE_DAMPING], h, leapfrog,
    )  # fmt: skip
    between, inverse_between, sampled = period_constants(row[Slot.CONTROL_PERIOD], h)
    offset, offset_slope = offset_constants(row[Slot.OUTPUT_OFFSET], row[Slot.OUTPUT_LIMIT])
    memory_share, memory_mean = lag_constants(row[Slot.LOAD_MEMORY], h)
    return (
        h, 1.0 / h, row[Slot.TORQUE_CONSTANT], row[Slot.RESISTANCE], 1.0 / row[Slot.RESISTANCE], inertia, 1.0 / inertia,
        row[Slot.GRAVITY_TORQUE], row[Slot.ANGLE_OFFSET],
        row[Slot.FRICTION_BASE], row[Slot.FRICTION_VISCOUS], row[Slot.LOAD_MOTOR], row[Slot.LOAD_EXTERNAL],
        row[Slot.FRICTION_STRIBECK], row[Slot.LOAD_MOTOR_STRIBECK], row[Slot.LOAD_EXTERNAL_STRIBECK],
        row[Slot.LOAD_MOTOR_QUAD], row[Slot.LOAD_EXTERNAL_QUAD],
        1.0 / row[Slot.STRIBECK_VELOCITY], row[Slot.STRIBECK_EXPONENT], row[Slot.OPPOSING_GATE],
        1.0 - row[Slot.ANGLE_IGNORED], row[Slot.SPEED_FEEDBACK],
        row[Slot.KP], row[Slot.KV], row[Slot.OUTPUT_LIMIT], row[Slot.VELOCITY_AFTER], row[Slot.VELOCITY_LIMIT],
        row[Slot.KI], row[Slot.KD], between, inverse_between, sampled,
        row[Slot.GOAL_SLEW] * h, 1.0 / (row[Slot.GOAL_SLEW] * h), row[Slot.DEAD_BAND],
        lag_share, lag_mean, row[Slot.SUPPLY_SAG], row[Slot.RELEASE_BRAKING], row[Slot.INDUCTANCE],
        row[Slot.PWM_PERIOD], spring, decay, gain, compliance, speed, level, slope, row[Slot.CURRENT_LIMIT],
        offset, offset_slope, row[Slot.PULSE_SAG], row[Slot.ARMATURE], 0.5 * row[Slot.BACKLASH],
        memory_share, memory_mean,
    )  # fmt: skip


@cache
def make_step(
    law: Law, full: bool, contact: Contact = Contact.RIGID, leapfrog: bool = False, play: bool = False,
    memory: bool = False,
):  # fmt: skip
    """Return the compiled step of one control law, contact and integrator, with or without backlash and memory.

    The step takes the state, the inputs of this step and the candidate's numbers. It returns the next state and the
    motor in this step:

    - state: q [rad], v [rad/s], slewed goal [rad], output [duty or A], integral [duty or A], error [rad], supply
      current [A], deflection of the bristle [rad], friction [N·m], held output of a sampled law [duty or A], time
      since it acted [s], 0 before it has acted for the first time, with backlash the motor's angle [rad] and speed
      [rad/s] relative to those of the load, and with memory the load friction [N·m], negative before the first step
    - motor: motor torque [N·m], motor current [A], duty cycle [1], supply voltage [V], control [V or A]

    The control is the output of the law, regardless of torque enable. The command is goal, then next_goal for
    next_share of the step. enable is the share of the step in which the motor is driven. In torque_share of the step,
    torque_command [N·m] replaces the control law.
    """
    limited = law == Law.LIMITED
    voltage = law == Law.VOLTAGE or limited
    current_law = law == Law.CURRENT
    slowed = make_friction(contact, leapfrog, memory)
    parted = make_parted(contact, memory)

    @njit(**INLINE)
    def step(
        q, v, slewed, output, integral, error, bus_current, deflection, friction, held, since, gap, slide,
        load_friction, goal, next_goal, next_share, enable, supply, hand_torque, torque_command, torque_share,
        h, inverse_h, kt, resistance, inverse_r, inertia, inverse_inertia, gravity_torque, angle_offset,
        kc, kv, km, ke, kcs, kms, kes, kmq, keq, inverse_vs, alpha, gate,
        angle_feedback, speed_feedback, kp, kv_feedback, output_limit, velocity_after, velocity_limit,
        ki, kd, between, inverse_between, sampled, slew_step, inverse_slew_step, dead_band,
        lag_share, lag_mean, sag, braking, inductance, period,
        spring, decay, gain, compliance, stribeck_speed, level, slope, current_limit, offset, offset_slope,
        pulse, armature, half_gap, memory_share, memory_mean,
    ):  # fmt: skip
        half_h = 0.5 * h
        # A delay of whole steps must not leave a rest of rounding, in which the law would stay on.
        enable = enable if enable > 1.0 - _ENDS else 0.0
        # Forces act at this angle.
        x = q + half_h * v if leapfrog else q
        speed_gain = kv_feedback + kp * speed_feedback
        # Line 1: control law and motor of the servo, preceded by the command path.
        if full:
            if leapfrog:
                # A sampled law acts after this time, unless the step ends before; a continuous one acts at its mean.
                wait = max(between - since, 0.0) if since > 0.0 else 0.0
                acts = wait < _ENDS * h
                before = min(wait * inverse_h, 1.0)
                arrived = goal if before < 1.0 - next_share else next_goal
                reached = slewed + clip(arrived - slewed, slew_step * inverse_h * between)
                # The limited goal follows the old command, then the new one; forces use its mean.
                old_share = 1.0 - next_share
                first = clip(goal - slewed, old_share * slew_step)
                middle = slewed + first
                second = clip(next_goal - middle, next_share * slew_step)
                slewed_after = middle + second
                ramps = first * abs(first) + second * abs(second)
                mean = old_share * middle + next_share * slewed_after - 0.5 * inverse_slew_step * ramps
                if sampled > 0.0:
                    slewed_after = reached if acts else slewed
                seen = q + v * wait if sampled > 0.0 else x
                new_error = (reached if sampled > 0.0 else mean) - angle_feedback * seen - speed_feedback * v
                new_error = new_error - clip(new_error, dead_band)
                rise = new_error - error if since > 0.0 else 0.0
                summed = clip(integral + ki * between * new_error, output_limit) if acts else integral
                summed = summed if enable > 0.0 else 0.0
                mean_sum = summed if sampled > 0.0 else 0.5 * (integral + summed)
                integral = summed
                raw = kp * new_error + mean_sum + kd * rise * inverse_between - kv_feedback * v
                raw = raw + clip(offset_slope * new_error, offset)
                wanted = clip(raw, output_limit)
                # Its mean over the step.
                control = wanted + before * (held - wanted)
                held = wanted if acts else held
                held = held if enable > 0.0 else 0.0
                error = new_error if acts else error
                since = h - wait if acts else since + h
                since = since if enable > 0.0 else 0.0
                feedback = speed_gain if sampled <= 0.0 and wanted == raw else 0.0
            else:
                late_goal = goal + next_share * (next_goal - goal)
                slewed = slewed + clip(late_goal - slewed, slew_step)
                new_error = slewed - angle_feedback * x - speed_feedback * v
                new_error = new_error - clip(new_error, dead_band)
                integral = clip(integral + ki * new_error * h, output_limit)
                integral = integral if enable > 0.0 else 0.0
                raw = kp * new_error + integral + kd * (new_error - error) * inverse_h - kv_feedback * v
                raw = raw + clip(offset_slope * new_error, offset)
                error = new_error
                control = clip(raw, output_limit)
                feedback = speed_gain if control == raw else 0.0
            output_before = output
            output = output + lag_share * (control - output) if enable > 0.0 else 0.0
            # The mean over the step; Algorithm 1 takes the value at its end.
            acting = control + lag_mean * (output_before - control) if leapfrog else output
            acting = acting if enable > 0.0 else 0.0
            late_feedback = lag_share * feedback
            feedback = feedback * (1.0 - lag_mean)
        else:
            raw = kp * (goal - angle_feedback * x) - speed_gain * v
            control = clip(raw, output_limit)
            acting = control
            feedback = speed_gain if control == raw else 0.0
        # The motor's speed; the law and its sensor have the load's.
        motor_v = v + slide if play else v
        emf = kt * motor_v
        nominal = supply
        if full and not (leapfrog and (voltage or current_law)):
            supply = max(supply - sag * bus_current, 0.0)
        if current_law:
            # Torque off sets the current to zero; if the bridge cannot hold it there against the back-EMF, eq. (14)
            # applies.
            wanted = acting * enable
            wanted = wanted + torque_share * (torque_command / kt - wanted) if torque_share > 0.0 else wanted
            limit_r = inverse_r
            own_sag = sag if leapfrog else 0.0
            if full:
                # At full duty, the supply current passes the supply's resistance too.
                limit_r = 1.0 / (resistance + own_sag + pulse) if abs(emf) < supply else inverse_r
            current = min(max(wanted, (-supply - emf) * limit_r), (supply - emf) * limit_r)
            law_drag = kt * feedback * enable * (1.0 - torque_share) if current == wanted else 0.0
            drag = law_drag if current == wanted else kt * kt * limit_r
            if full:
                supply = sagged_supply(supply, current, emf, resistance, own_sag, pulse)
            duty = (current * resistance + emf) / max(supply, 1e-9)
            tm = kt * current
        else:
            duty = acting
            if voltage:
                sagging_r = inverse_r
                if full:
                    # d·U = R·I + e with U = U₀ − R_s·d·I − R_p·I, while the motor draws current.
                    drawing = acting * (acting * supply - emf) > 0.0
                    size = abs(acting)
                    series = (pulse + sag * size if leapfrog else pulse) * size
                    sagging_r = 1.0 / (resistance + series) if drawing else inverse_r
                driven = (acting * supply - emf) * sagging_r
                conducting = resistance * sagging_r
                reduced = False
                if limited:
                    # At full duty cycle against the current, the bridge can do no more.
                    most = max(current_limit, (-output_limit * supply - emf) * inverse_r)
                    least = min(-current_limit, (output_limit * supply - emf) * inverse_r)
                    held_back = min(max(driven, least), most)
                    reduced = held_back != driven
                    driven = held_back
                    if reduced:
                        conducting = 1.0 if abs(driven) > current_limit else 0.0
                dropped = 0.0
                if full:
                    dropped = pulse * abs(driven) if drawing else 0.0
                    supply = supply - dropped
                if full and leapfrog:
                    supply = supply - sag * max(acting * driven, 0.0)
                per_duty = (2.0 * supply - nominal + dropped) * sagging_r
                if reduced:
                    if full and leapfrog:
                        supply = sagged_supply(nominal, driven, emf, resistance, sag, pulse)
                    duty = (driven * resistance + emf) / max(supply, 1e-9)
                    per_duty = 0.0
            else:
                supply = max(supply, 1e-9)
                series = resistance + pulse * abs(acting) if full else resistance
                driven, conducting, per_duty = coast_bridge(acting, supply, emf, series, inductance, period)
                conducting = conducting * resistance / series if full else conducting
                if full and leapfrog:
                    # One Newton step from the supply voltage of the previous step; ī is homogeneous in U and e.
                    lost = emf * conducting * inverse_r
                    per_volt = (driven + lost) / supply
                    drawing = sag if acting * driven > 0.0 else 0.0
                    share = 1.0 / (1.0 + drawing * acting * per_volt)
                    sagged = (nominal + drawing * acting * lost) * share
                    per_duty = (per_duty - drawing * per_volt * driven) * share
                    driven = driven + per_volt * (sagged - supply)
                    conducting = conducting * share
                    supply = sagged
            released = -braking * emf * inverse_r
            current = enable * driven + (1.0 - enable) * released
            drag = (
                enable * (conducting * kt * inverse_r + per_duty * feedback) + (1.0 - enable) * braking * kt * inverse_r
            )
            drag = kt * drag
            law_drag = kt * enable * per_duty * feedback
            duty = duty * enable
            if torque_share > 0.0:
                current = current + torque_share * (torque_command / kt - current)
                if full and leapfrog and voltage:
                    supply = sagged_supply(nominal, current, emf, resistance, sag, pulse)
                drag = (1.0 - torque_share) * drag
                law_drag = (1.0 - torque_share) * law_drag
                duty = (current * resistance + emf) / max(supply, 1e-9)
            tm = kt * current
            control = control * supply
        if full:
            bus_current = max(duty * current, 0.0)
        # Line 2: the bench, with the torque of a hand.
        te = -gravity_torque * sine(x + angle_offset) + hand_torque
        numbers = (
            kc, kv, km, ke, kcs, kms, kes, kmq, keq, inverse_vs, alpha, gate,
            spring, decay, gain, compliance, stribeck_speed, level, slope, memory_share, memory_mean,
        )  # fmt: skip
        # Lines 4–9: friction and integration.
        if play:
            new_q, new_v, friction, deflection, load_friction, gap, slide = parted(
                q, v, gap, slide, tm, te, drag, law_drag, inertia, inverse_inertia, armature, half_gap, velocity_limit,
                friction, deflection, load_friction, h, inverse_h, numbers,
            )  # fmt: skip
        else:
            a, friction, deflection, load_friction = slowed(
                v, tm, te, drag, inertia, inverse_inertia, friction, deflection, load_friction, h, inverse_h, *numbers
            )
            new_v = clip(v + a * h, velocity_limit)
            if leapfrog:
                new_q = x + half_h * new_v
            else:
                # "bam" integrates the velocity after the update.
                moving = v + velocity_after * (new_v - v)
                new_q = q + (moving * h + 0.5 * a * h * h)
        if full and leapfrog:
            slewed = slewed_after if enable > 0.0 else new_q
            output = output - 0.5 * late_feedback * (new_v - v) if enable > 0.0 else 0.0
            # A continuous speed loop integrates the angle that the shaft has turned.
            late_speed = half_h * ki * speed_feedback * (new_v - v)
            integral = integral - late_speed if sampled <= 0.0 and enable > 0.0 else integral
        elif full:
            slewed = slewed if enable > 0.0 else q
        return (
            new_q, new_v, slewed, output, integral, error, bus_current, deflection, friction, held, since, gap, slide,
            load_friction, tm, current, duty, supply, control,
        )  # fmt: skip

    return step
