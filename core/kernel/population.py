"""Many candidates on many recordings: the hot path of identification.

The loop over time is outside, and a loop over a fixed number of SIMD lanes is inside; each lane is one candidate. All
lane state is in one flat array at constant offsets with unsigned indices: LLVM can then prove that lanes do not alias,
and vectorise the loop. Only error sums leave the kernel, and positions on request.
"""

import math
from functools import cache

import numpy as np

from core.kernel.bristle import bristle_constants
from core.kernel.compilation import compiled, fingerprint, step
from core.kernel.layout import Contact, Law, Load, Setup, Slot
from core.kernel.mechanics import UNSETTLED, resting_gap
from core.kernel.step import delayed_command, lag_constants, make_step, offset_constants, period_constants

LANES = 16
"""Number of candidates simulated together; a population is padded to a multiple of it."""

SUMS = 4
"""Error sums per candidate: Σ|e|, Σe², Σ|e_v|, Σe_v² (rad, rad², rad/s, rad²/s²)."""

_STATE = (
    "q", "v", "slewed", "output", "integral", "error", "bus", "deflection", "friction", "held", "since", "gap", "slide",
    "load_friction",
)  # fmt: skip
_INPUT = ("goal", "next_goal", "next_share", "enable")
_SUM = ("abs", "square", "v_abs", "v_square")
_BRISTLE = ("spring", "decay", "gain", "compliance", "stribeck_speed", "level", "slope")
"""What `bristle_constants` returns."""
_DERIVED = (
    "inverse_r",
    "inertia",
    "inverse_inertia",
    "inverse_vs",
    "slew_step",
    "inverse_slew_step",
    "lag_share",
    "lag_mean",
    "between",
    "inverse_between",
    "sampled",
    "offset",
    "offset_slope",
    "memory_share",
    "memory_mean",
    *_BRISTLE,
)
_BLOCKS = (*_STATE, *_INPUT, *_SUM, *_DERIVED, *(slot.name for slot in Slot))
_AT = {name: np.uint64(i * LANES) for i, name in enumerate(_BLOCKS)}


def population_kernel(
    full: bool, law: Law, contact: Contact = Contact.RIGID, leapfrog: bool = False, play: bool = False,
    memory: bool = False, moving: bool = False,
):  # fmt: skip
    """Return the compiled kernel of one control law, contact and integrator, with or without backlash and memory.

    `full=False` leaves out the command path, see `core.kernel.step.make_step`. With `moving`, the load is that of a
    joint in a robot whose other joints move: it differs from step to step and replaces the bench of the setups.

    The kernel releases the global interpreter lock. A recording's first position and velocity are its initial state.
    Flags of a model (gate, feedback, integrator, velocity limit) are read from the first row.

    The function is kernel(rows, setups, chosen, first, samples, substeps, first_step, resets, goal, lasts, enable,
    supply, loads, position, velocity, sums, motions). Its arguments are:

    - rows: candidates without a bench (see `Setup`), (P, ROW), with P a multiple of LANES
    - setups: one row per recording, (R, len(Setup))
    - chosen: recordings to simulate, (c,)
    - first, samples: start of each recording in position and velocity, and its number of samples, (R,)
    - substeps: time steps between samples, (R,)
    - first_step: start of each recording in the commands, (R,)
    - resets: number of samples after which the shaft is reset to the measured state, repeatedly, while the command path
      continues (multiple shooting), (R,); 0 for never
    - goal [rad], lasts, enable, supply [V]: commands of each time step, see `core.motion.simulation.Commands`, (S,)
    - loads: load of each time step with `moving`, see `Load`, (S, len(Load)); otherwise (0, len(Load))
    - position [rad], velocity [rad/s]: measurements, (N,)
    - sums: receives the error sums of the chosen recordings, (R, P, SUMS)
    - motions: receives the positions of the chosen recordings one after the other [rad], (n, P); (0, P) if not wanted
    """
    return _population_kernel(full, law, contact, leapfrog, play, memory, moving)


@cache
def _population_kernel(
    full: bool, law: Law, contact: Contact, leapfrog: bool, play: bool, memory: bool, moving: bool
):  # fmt: skip
    variant = fingerprint(law, full, contact, leapfrog, play, memory, moving)
    lanes = np.uint64(LANES)
    zero = np.uint64(0)
    size = len(_BLOCKS) * LANES
    q_, v_, slewed_, output_ = _AT["q"], _AT["v"], _AT["slewed"], _AT["output"]
    integral_, error_, bus_ = _AT["integral"], _AT["error"], _AT["bus"]
    deflection_, friction_ = _AT["deflection"], _AT["friction"]
    held_, since_, gap_, slide_ = _AT["held"], _AT["since"], _AT["gap"], _AT["slide"]
    load_friction_, memory_share_, memory_mean_ = _AT["load_friction"], _AT["memory_share"], _AT["memory_mean"]
    memory_slot, unsettled = Slot.LOAD_MEMORY, UNSETTLED
    between_, inverse_between_, sampled_ = _AT["between"], _AT["inverse_between"], _AT["sampled"]
    goal_, next_goal_, next_share_, enable_ = (_AT[name] for name in _INPUT)
    abs_, square_, v_abs_, v_square_ = (_AT[name] for name in _SUM)
    inverse_r_, inertia_, inverse_inertia_ = _AT["inverse_r"], _AT["inertia"], _AT["inverse_inertia"]
    inverse_vs_ = _AT["inverse_vs"]
    slew_step_, inverse_slew_step_ = _AT["slew_step"], _AT["inverse_slew_step"]
    lag_share_, lag_mean_ = _AT["lag_share"], _AT["lag_mean"]
    push_, push_slope_ = _AT["offset"], _AT["offset_slope"]
    spring_, decay_, gain_, compliance_, speed_, level_, slope_ = (_AT[name] for name in _BRISTLE)
    bristle_ = _AT[_BRISTLE[0]]
    bristles = len(_BRISTLE)
    kt_, r_, offset_, gravity_ = (
        _AT[s.name] for s in (Slot.TORQUE_CONSTANT, Slot.RESISTANCE, Slot.ANGLE_OFFSET, Slot.GRAVITY_TORQUE)
    )
    kc_, kvis_, km_, ke_, kcs_, kms_, kes_, kmq_, keq_ = (
        _AT[s.name]
        for s in (
            Slot.FRICTION_BASE,
            Slot.FRICTION_VISCOUS,
            Slot.LOAD_MOTOR,
            Slot.LOAD_EXTERNAL,
            Slot.FRICTION_STRIBECK,
            Slot.LOAD_MOTOR_STRIBECK,
            Slot.LOAD_EXTERNAL_STRIBECK,
            Slot.LOAD_MOTOR_QUAD,
            Slot.LOAD_EXTERNAL_QUAD,
        )
    )
    alpha_, kp_, ki_, kd_, kv_, limit_ = (
        _AT[s.name] for s in (Slot.STRIBECK_EXPONENT, Slot.KP, Slot.KI, Slot.KD, Slot.KV, Slot.OUTPUT_LIMIT)
    )
    dead_band_, sag_, braking_, inductance_, period_, current_limit_, pulse_, armature_, backlash_ = (
        _AT[s.name]
        for s in (
            Slot.DEAD_BAND,
            Slot.SUPPLY_SAG,
            Slot.RELEASE_BRAKING,
            Slot.INDUCTANCE,
            Slot.PWM_PERIOD,
            Slot.CURRENT_LIMIT,
            Slot.PULSE_SAG,
            Slot.ARMATURE,
            Slot.BACKLASH,
        )
    )
    slots = len(Slot)
    first_slot = int(_AT[Slot(0).name])
    gate_slot, after_slot, guard_slot = Slot.OPPOSING_GATE, Slot.VELOCITY_AFTER, Slot.VELOCITY_LIMIT
    angle_slot, speed_slot = Slot.ANGLE_IGNORED, Slot.SPEED_FEEDBACK
    armature_slot, offset_slot = Slot.ARMATURE, Slot.ANGLE_OFFSET
    delay_slot, release_slot = Slot.DELAY, Slot.RELEASE_DELAY
    stiffness_slot, damping_slot = Slot.BRISTLE_STIFFNESS, Slot.BRISTLE_DAMPING
    vs_slot, alpha_slot, slew_slot, lag_slot, r_slot = (
        Slot.STRIBECK_VELOCITY,
        Slot.STRIBECK_EXPONENT,
        Slot.GOAL_SLEW,
        Slot.PWM_LAG,
        Slot.RESISTANCE,
    )
    kp_slot, ki_slot, kd_slot, kv_slot = Slot.KP, Slot.KI, Slot.KD, Slot.KV
    push_slot, limit_slot = Slot.OUTPUT_OFFSET, Slot.OUTPUT_LIMIT
    period_slot, sampled_setup = Slot.CONTROL_PERIOD, Setup.SAMPLED
    kp_setup, ki_setup, kd_setup, kv_setup = Setup.KP, Setup.KI, Setup.KD, Setup.KV
    h_setup, inertia_setup, gravity_setup, offset_setup = (
        Setup.STEP,
        Setup.INERTIA,
        Setup.GRAVITY_TORQUE,
        Setup.ANGLE_OFFSET,
    )
    inertia_load, gravity_load, phase_load, torque_load = Load.INERTIA, Load.GRAVITY_TORQUE, Load.PHASE, Load.TORQUE

    def kernel(
        rows, setups, chosen, first, samples, substeps, first_steps, resets,
        goal, lasts, enable, supply, loads, position, velocity, sums, motions,
    ):  # fmt: skip
        if variant == 0:  # This is never true. It brings `variant` into the closure and thus into the cache's key.
            return
        f = np.zeros(size)
        delay_steps = np.zeros(LANES, dtype=np.int64)
        delay_share = np.zeros(LANES)
        release_steps = np.zeros(LANES, dtype=np.int64)
        release_share = np.zeros(LANES)
        gate = rows[0, gate_slot]
        velocity_after = rows[0, after_slot]
        angle_feedback, speed_feedback = 1.0 - rows[0, angle_slot], rows[0, speed_slot]
        velocity_limit = rows[0, guard_slot]
        blocks = rows.shape[0] // LANES
        keep = motions.shape[0] > 0
        kept = 0
        for c in range(chosen.shape[0] * blocks):
            recording = chosen[c // blocks]
            block = c % blocks
            setup = setups[recording]
            h = setup[h_setup]
            inverse_h = 1.0 / h
            begin = first[recording]
            count = samples[recording]
            reset = resets[recording]
            until_reset = reset
            parts = substeps[recording]
            first_step = first_steps[recording]
            last = first_step + count * parts - 1
            changes_within, released = False, False
            for i in range(first_step, last + 1):
                changes_within |= lasts[i] < 1.0
                released |= enable[i] != enable[first_step]
            for lane in range(LANES):
                at = np.uint64(lane)
                row = rows[block * LANES + lane]
                for slot in range(slots):
                    f[first_slot + slot * LANES + lane] = row[slot]
                inertia = setup[inertia_setup] + row[armature_slot]
                f[kp_ + at] = row[kp_slot] * setup[kp_setup]
                f[ki_ + at] = row[ki_slot] * setup[ki_setup]
                f[kd_ + at] = row[kd_slot] * setup[kd_setup]
                f[kv_ + at] = row[kv_slot] * setup[kv_setup]
                f[gravity_ + at] = setup[gravity_setup]
                f[offset_ + at] = row[offset_slot] + setup[offset_setup]
                f[inverse_r_ + at] = 1.0 / row[r_slot]
                f[inertia_ + at] = inertia
                f[inverse_inertia_ + at] = 1.0 / inertia
                f[inverse_vs_ + at] = 1.0 / row[vs_slot]
                constants = bristle_constants(
                    row[vs_slot], row[alpha_slot], row[stiffness_slot], row[damping_slot], h, leapfrog
                )
                for i in range(bristles):
                    f[bristle_ + np.uint64(i * LANES) + at] = constants[i]
                f[slew_step_ + at] = row[slew_slot] * h
                f[inverse_slew_step_ + at] = 1.0 / (row[slew_slot] * h)
                f[lag_share_ + at], f[lag_mean_ + at] = lag_constants(row[lag_slot], h)
                f[memory_share_ + at], f[memory_mean_ + at] = lag_constants(row[memory_slot], h)
                f[between_ + at], f[inverse_between_ + at], f[sampled_ + at] = period_constants(
                    row[period_slot] * setup[sampled_setup], h
                )
                f[push_ + at], f[push_slope_ + at] = offset_constants(row[push_slot], row[limit_slot])
                whole = math.ceil(row[delay_slot] * inverse_h)
                delay_steps[lane] = int(whole)
                delay_share[lane] = whole - row[delay_slot] * inverse_h
                f[next_share_ + at] = delay_share[lane]
                f[next_goal_ + at] = goal[first_step]
                f[enable_ + at] = enable[first_step]
                whole = math.ceil(row[release_slot] * inverse_h)
                release_steps[lane] = int(whole)
                release_share[lane] = 1.0 - (whole - row[release_slot] * inverse_h)
                f[q_ + at] = position[begin]
                f[v_ + at] = velocity[begin]
                f[slewed_ + at] = position[begin]
                f[output_ + at] = 0.0
                f[integral_ + at] = 0.0
                f[error_ + at] = 0.0
                f[bus_ + at] = 0.0
                f[deflection_ + at] = 0.0
                f[friction_ + at] = 0.0
                f[held_ + at] = 0.0
                f[since_ + at] = 0.0
                if play:
                    if moving:
                        weight = loads[first_step, gravity_load]
                        turned = f[offset_ + at] + loads[first_step, phase_load]
                        weight = loads[first_step, torque_load] - weight * math.sin(position[begin] + turned)
                    else:
                        weight = -f[gravity_ + at] * math.sin(position[begin] + f[offset_ + at])
                    f[gap_ + at] = resting_gap(weight, 0.5 * f[backlash_ + at])
                f[slide_ + at] = 0.0
                f[load_friction_ + at] = unsettled
                f[abs_ + at] = 0.0
                f[square_ + at] = 0.0
                f[v_abs_ + at] = 0.0
                f[v_square_ + at] = 0.0
            for k in range(count):
                measured_q = position[begin + k]
                measured_v = velocity[begin + k]
                for lane in range(zero, lanes):
                    e = f[q_ + lane] - measured_q
                    e_v = f[v_ + lane] - measured_v
                    f[abs_ + lane] += abs(e)
                    f[square_ + lane] += e * e
                    f[v_abs_ + lane] += abs(e_v)
                    f[v_square_ + lane] += e_v * e_v
                if keep:
                    for lane in range(LANES):
                        motions[kept + k, block * LANES + lane] = f[q_ + np.uint64(lane)]
                if reset > 0:
                    if until_reset == 0:
                        until_reset = reset
                        for lane in range(LANES):
                            f[q_ + np.uint64(lane)] = measured_q
                            f[v_ + np.uint64(lane)] = measured_v
                            f[since_ + np.uint64(lane)] = 0.0
                    until_reset -= 1
                for sub in range(parts):
                    i = first_step + k * parts + sub
                    held_goal = goal[i] + (1.0 - lasts[i]) * (goal[min(i + 1, last)] - goal[i])
                    held_enable = enable[i]
                    held_supply = supply[i]
                    push, turned = 0.0, 0.0
                    if moving:
                        load, weight = loads[i, inertia_load], loads[i, gravity_load]
                        push, turned = loads[i, torque_load], loads[i, phase_load]
                        for lane in range(zero, lanes):
                            inertia = load + f[armature_ + lane]
                            f[inertia_ + lane] = inertia
                            f[inverse_inertia_ + lane] = 1.0 / inertia
                            f[gravity_ + lane] = weight
                    if full:
                        # The held command, delayed.
                        if changes_within:
                            for lane in range(LANES):
                                at = np.uint64(lane)
                                f[goal_ + at], f[next_goal_ + at], f[next_share_ + at] = delayed_command(
                                    goal, lasts, i, first_step, last, delay_steps[lane], delay_share[lane]
                                )
                        else:
                            for lane in range(LANES):
                                at = np.uint64(lane)
                                f[goal_ + at] = f[next_goal_ + at]
                                f[next_goal_ + at] = goal[min(max(i - delay_steps[lane] + 1, first_step), last)]
                        if released:
                            for lane in range(LANES):
                                newer = min(max(i - release_steps[lane] + 1, first_step), last)
                                older = max(i - release_steps[lane], first_step)
                                share = release_share[lane]
                                f[enable_ + np.uint64(lane)] = enable[older] + (1.0 - share) * (
                                    enable[newer] - enable[older]
                                )
                        for lane in range(zero, lanes):
                            (
                                q, v, slewed, output, integral, error, bus, deflection, friction, held, since,
                                gap, slide, load_friction, _, _, _, _, _,
                            ) = step(
                                f[q_ + lane], f[v_ + lane], f[slewed_ + lane], f[output_ + lane],
                                f[integral_ + lane], f[error_ + lane], f[bus_ + lane],
                                f[deflection_ + lane], f[friction_ + lane], f[held_ + lane], f[since_ + lane],
                                f[gap_ + lane], f[slide_ + lane], f[load_friction_ + lane],
                                f[goal_ + lane], f[next_goal_ + lane], f[next_share_ + lane],
                                f[enable_ + lane], held_supply, push, 0.0, 0.0,
                                h, inverse_h, f[kt_ + lane], f[r_ + lane], f[inverse_r_ + lane],
                                f[inertia_ + lane], f[inverse_inertia_ + lane], f[gravity_ + lane],
                                f[offset_ + lane] + turned, f[kc_ + lane], f[kvis_ + lane], f[km_ + lane],
                                f[ke_ + lane],
                                f[kcs_ + lane], f[kms_ + lane], f[kes_ + lane], f[kmq_ + lane], f[keq_ + lane],
                                f[inverse_vs_ + lane], f[alpha_ + lane], gate,
                                angle_feedback, speed_feedback,
                                f[kp_ + lane], f[kv_ + lane], f[limit_ + lane], velocity_after, velocity_limit,
                                f[ki_ + lane], f[kd_ + lane], f[between_ + lane], f[inverse_between_ + lane],
                                f[sampled_ + lane], f[slew_step_ + lane],
                                f[inverse_slew_step_ + lane], f[dead_band_ + lane],
                                f[lag_share_ + lane], f[lag_mean_ + lane], f[sag_ + lane], f[braking_ + lane],
                                f[inductance_ + lane], f[period_ + lane],
                                f[spring_ + lane], f[decay_ + lane], f[gain_ + lane], f[compliance_ + lane],
                                f[speed_ + lane], f[level_ + lane], f[slope_ + lane], f[current_limit_ + lane],
                                f[push_ + lane], f[push_slope_ + lane], f[pulse_ + lane],
                                f[armature_ + lane], 0.5 * f[backlash_ + lane],
                                f[memory_share_ + lane], f[memory_mean_ + lane],
                            )  # fmt: skip
                            f[q_ + lane] = q
                            f[v_ + lane] = v
                            f[deflection_ + lane] = deflection
                            f[friction_ + lane] = friction
                            f[slewed_ + lane] = slewed
                            f[output_ + lane] = output
                            f[integral_ + lane] = integral
                            f[error_ + lane] = error
                            f[bus_ + lane] = bus
                            f[held_ + lane] = held
                            f[since_ + lane] = since
                            if play:
                                f[gap_ + lane] = gap
                                f[slide_ + lane] = slide
                            if memory:
                                f[load_friction_ + lane] = load_friction
                    else:
                        for lane in range(zero, lanes):
                            (
                                q, v, _, _, _, _, _, deflection, friction, _, _,
                                gap, slide, load_friction, _, _, _, _, _,
                            ) = step(
                                f[q_ + lane], f[v_ + lane], 0.0, 0.0, 0.0, 0.0, 0.0,
                                f[deflection_ + lane], f[friction_ + lane], 0.0, 0.0,
                                f[gap_ + lane], f[slide_ + lane], f[load_friction_ + lane],
                                held_goal, held_goal, 0.0, held_enable, held_supply, push, 0.0, 0.0,
                                h, inverse_h, f[kt_ + lane], f[r_ + lane], f[inverse_r_ + lane],
                                f[inertia_ + lane], f[inverse_inertia_ + lane], f[gravity_ + lane],
                                f[offset_ + lane] + turned, f[kc_ + lane], f[kvis_ + lane], f[km_ + lane],
                                f[ke_ + lane],
                                f[kcs_ + lane], f[kms_ + lane], f[kes_ + lane], f[kmq_ + lane], f[keq_ + lane],
                                f[inverse_vs_ + lane], f[alpha_ + lane], gate,
                                angle_feedback, speed_feedback,
                                f[kp_ + lane], f[kv_ + lane], f[limit_ + lane], velocity_after, velocity_limit,
                                0.0, 0.0, h, inverse_h, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, f[braking_ + lane],
                                f[inductance_ + lane], f[period_ + lane],
                                f[spring_ + lane], f[decay_ + lane], f[gain_ + lane], f[compliance_ + lane],
                                f[speed_ + lane], f[level_ + lane], f[slope_ + lane], f[current_limit_ + lane],
                                0.0, 0.0, 0.0, f[armature_ + lane], 0.5 * f[backlash_ + lane],
                                f[memory_share_ + lane], f[memory_mean_ + lane],
                            )  # fmt: skip
                            f[q_ + lane] = q
                            f[v_ + lane] = v
                            f[deflection_ + lane] = deflection
                            f[friction_ + lane] = friction
                            if play:
                                f[gap_ + lane] = gap
                                f[slide_ + lane] = slide
                            if memory:
                                f[load_friction_ + lane] = load_friction
            for lane in range(LANES):
                sums[recording, block * LANES + lane, 0] = f[abs_ + np.uint64(lane)]
                sums[recording, block * LANES + lane, 1] = f[square_ + np.uint64(lane)]
                sums[recording, block * LANES + lane, 2] = f[v_abs_ + np.uint64(lane)]
                sums[recording, block * LANES + lane, 3] = f[v_square_ + np.uint64(lane)]
            if block == blocks - 1:
                kept += count

    return compiled(kernel, make_step(law, full, contact, leapfrog, play, memory), vectors=2 if full else 4)
