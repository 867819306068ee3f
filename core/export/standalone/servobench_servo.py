# SPDX-License-Identifier: Apache-2.0
"""A servo as numbers and a few functions: control law, motor, command path and friction M1–M6, step by step.

Stand-alone: needs numpy, and compiles its functions if numba is installed. Read servos with `load_servo`, keep them in
a `Bank` and pass it to the program of your engine (`servobench_mujoco`, a Webots controller, a Drake system), or call

    torque, slope = drive(numbers, state, position, velocity, goal, enable, step)
    budget = static_friction(numbers, torque, external_torque, velocity)
    budget += remembered(numbers, state, torque, external_torque, step)

yourself. Goals are in the servo's angles, or in the `command_unit` of its file if it has another `command`. If your
joint is not at 0 where its servo reads 0, write its angle there into the servo file as `joint_zero`. Friction of an
elastoplastic contact (Cisneros et al.) also depends on a deflection, which the caller keeps: see `bristle_friction` and
`bent`. SI units and radians; positive torques turn the joint towards larger angles.
"""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

__all__ = [
    "FIELDS",
    "Bank",
    "applied_friction",
    "bent",
    "bristle_friction",
    "drive",
    "drives",
    "dry_friction",
    "late",
    "load_servo",
    "load_zero",
    "named",
    "remembered",
    "static_friction",
    "stopping",
]

Function = TypeVar("Function", bound=Callable[..., Any])

try:
    from numba import njit
except ImportError:
    njit = None
COMPILED = njit is not None


def compiled(function: Function) -> Function:
    """Compile a function, cached on disk if possible; without numba, return it unchanged."""
    if njit is None:
        return function
    made: Any
    try:
        made = njit(cache=True, error_model="numpy")(function)
    except RuntimeError:
        made = njit(error_model="numpy")(function)
    return made


SOURCE = zlib.crc32(Path(__file__).read_bytes()) + 1
"""Checksum of this file, part of the cache key of compiled functions elsewhere that call functions of this file."""
FIELDS = (
    "torque_constant", "resistance", "armature",
    "friction_base", "friction_viscous", "load_motor", "load_external",
    "friction_stribeck", "load_motor_stribeck", "load_external_stribeck", "load_motor_quad", "load_external_quad",
    "stribeck_velocity", "stribeck_exponent",
    "delay", "goal_slew", "dead_band", "pwm_lag", "supply_sag", "release_braking",
    "inductance", "pwm_period",
    "kp", "ki", "kd", "kv", "output_limit", "opposing_gate", "release_delay",
    "supply_voltage", "law", "contact", "bristle_stiffness", "bristle_damping", "control_period",
    "angle_ignored", "speed_feedback", "current_limit", "output_offset", "pulse_sag", "backlash",
    "load_memory",
)  # fmt: skip
"""Names of a servo's numbers in order: N·m/A, Ω, kg·m², N·m, N·m·s/rad, 1, N·m, 1, 1/(N·m), rad/s, 1, s, rad/s, rad, s,
Ω, 1, H, s; gains per rad in duty cycle or A; V; law: 0 voltage, 1 current, 2 coast; contact: 0 rigid, 1 elastoplastic,
2 elastoplastic with the rational function; N·m/rad, N·m·s/rad; s, 0: the law acts in every step; 1: the law does not
compare the command with the angle; 1: it compares it with the speed; A, 1e9: no limit; share of output_limit;
Ω; rad; s, 0: friction follows the load at once."""
(
    KT, R, ARMATURE, KC, KV_FRICTION, KM, KE, KCS, KMS, KES, KMQ, KEQ, VS, ALPHA, DELAY, SLEW, BAND, LAG, SAG, BRAKING,
    L, PERIOD, KP, KI, KD, KV, LIMIT, GATE, RELEASE_DELAY, SUPPLY, LAW, CONTACT, STIFFNESS, BRISTLE_DAMPING, BETWEEN,
    ANGLE_IGNORED, SPEED, CURRENT_LIMIT, OFFSET, PULSE, BACKLASH,
    LOAD_MEMORY,
) = range(len(FIELDS))  # fmt: skip
LAWS = ("voltage", "current", "coast")
VOLTAGE, CURRENT, COAST = 0.0, 1.0, 2.0
CONTACTS = ("rigid", "elastoplastic", "elastoplastic_rational")
RIGID, STRIBECK, RATIONAL = 0.0, 1.0, 2.0
STATE = (
    "slewed_goal",
    "output",
    "integral",
    "error",
    "bus_current",
    "held_output",
    "since_law_acted",
    "velocity_before",
    "load_friction",
)
SLEWED, OUTPUT, INTEGRAL, ERROR, BUS, HELD, SINCE, BEFORE, LOAD_FRICTION = range(len(STATE))
UNSETTLED = -1.0
"""Load friction before the first step, which starts settled [N·m]."""
_OFFSET_WIDTH = math.tau / 4096
"""Error over which the output offset grows from 0 to its value [rad]."""
_ENDS = 1.0 - 1e-6
"""Share of a step after which a control law acts in the next one."""
_TINY = 1e-300
_STEEPEST = 0.98  # largest fall of u·E(s) per unit of s; above 1 there would be several roots
_LARGEST = 1.7976931348623157e308
_SLOWEST = 1e-12
"""Slip velocities below this share of the Stribeck velocity count as zero."""
_SWEEPS = 100
"""Limit of the sweeps over the joints that find their friction."""
_SETTLED = 1e-12
"""Velocity change in a sweep below which the search ends [rad/s]."""


def load_servo(source: str | Path | Mapping[str, Any]) -> np.ndarray:
    """Read a servo's numbers (len(FIELDS),) from its JSON file or content; raise ValueError if invalid."""
    name, data = _read(source)
    if not isinstance(data, dict) or data.get("format") != "servobench-servo" or data.get("version") not in range(1, 9):
        raise ValueError(f"{name}: not a servo file of version 1 to 8")
    if data.get("law") not in LAWS:
        raise ValueError(f"{name}: no control law {data.get('law')!r}; available: {', '.join(LAWS)}")
    data["law"] = float(LAWS.index(data["law"]))
    if data["version"] == 1:
        data |= {"contact": "rigid", "bristle_stiffness": 0.0, "bristle_damping": 0.0}
    if data["version"] < 3:
        data["control_period"] = 0.0
    if data["version"] < 4:
        data |= {"angle_ignored": 0.0, "speed_feedback": 0.0}
    if data["version"] < 5:
        data |= {"current_limit": 1e9, "output_offset": 0.0}
    if data["version"] < 6:
        data["pulse_sag"] = 0.0
    if data["version"] < 7:
        data["backlash"] = 0.0
    if data["version"] < 8:
        data["load_memory"] = 0.0
    else:
        data.setdefault("backlash", 0.0)
    if data.get("contact") not in CONTACTS:
        raise ValueError(f"{name}: no contact {data.get('contact')!r}; available: {', '.join(CONTACTS)}")
    data["contact"] = float(CONTACTS.index(data["contact"]))
    wrong = [f for f in FIELDS if not isinstance(data.get(f), (int, float)) or not 0 <= data[f] <= _LARGEST]
    positive = ["torque_constant", "resistance", "stribeck_velocity"]
    if data["contact"] != RIGID:
        positive += ["bristle_stiffness", "bristle_damping"]
    wrong += [f for f in positive if f not in wrong and not data[f] > 0]
    if wrong:
        raise ValueError(f"{name}: {', '.join(f'{f} = {data.get(f)!r}' for f in wrong)}: impossible value")
    return np.array([float(data[field]) for field in FIELDS])


def load_zero(source: str | Path | Mapping[str, Any]) -> float:
    """Read `joint_zero`, the joint's angle where the servo reads 0 [rad]; 0 if missing or if commands are no angles.

    Raises ValueError.
    """
    name, data = _read(source)
    zero = data.get("joint_zero", 0.0)
    if not isinstance(zero, (int, float)) or not math.isfinite(zero):
        raise ValueError(f"{name}: joint_zero = {zero!r} is not an angle")
    return 0.0 if data.get("angle_ignored") else float(zero)


def _read(source: str | Path | Mapping[str, Any]) -> tuple[str, Any]:
    if isinstance(source, Mapping):
        return "servo", dict(source)
    try:
        return str(source), json.loads(Path(source).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ValueError(f"{source}: cannot read the servo: {error}") from None


def named(rows: np.ndarray) -> np.ndarray:
    """View rows (servos, len(FIELDS) or more) as a structured array (servos,) with named numbers."""
    return rows[:, : len(FIELDS)].view([(field, "f8") for field in FIELDS])[:, 0]


@compiled
def dry_friction(p, motor_torque, external_torque):
    """Return dry friction at this load [N·m]: while sliding fast, and the excess at rest.

    The formula is M6, Duclusaud et al. eq. (10); M1–M5 have zeros in it. `p` holds a servo's numbers; torques in N·m.
    """
    am, ae = abs(motor_torque), abs(external_torque)
    quadratic = 0.0
    if p[GATE] <= 0.0 or motor_torque * external_torque < 0.0:
        if am > ae:
            quadratic = p[KEQ] * ae * ae
        elif ae > am:
            quadratic = p[KMQ] * am * am
    at_rest = p[KCS] + abs(p[KMS] * motor_torque - p[KES] * external_torque) + quadratic
    return p[KC] + abs(p[KM] * motor_torque - p[KE] * external_torque), at_rest


@compiled
def static_friction(p, motor_torque, external_torque, velocity):
    """Return the friction budget without its viscous part [N·m], Duclusaud et al. eq. (10).

    `p` holds a servo's numbers; torques in N·m, velocity in rad/s.
    """
    stribeck = math.exp(-((max(abs(velocity) / p[VS], _TINY)) ** p[ALPHA]))
    sliding, at_rest = dry_friction(p, motor_torque, external_torque)
    return sliding + stribeck * at_rest


@compiled
def remembered(p, state, motor_torque, external_torque, step, lead=0.0):
    """Return how far friction by the load exceeds that of this load [N·m]; advance the state, once per step.

    Friction by the load follows the load with the time constant `load_memory`. Add the result to `static_friction`, or
    to the sliding friction of `dry_friction`. As in `drive`, it is the mean over the step with a `lead`, otherwise the
    value at its end.
    """
    time = p[LOAD_MEMORY]
    if time <= 0.0:
        return 0.0
    load = abs(p[KM] * motor_torque - p[KE] * external_torque)
    before = state[LOAD_FRICTION] if state[LOAD_FRICTION] >= 0.0 else load
    share = 1.0 - math.exp(-step / time)
    state[LOAD_FRICTION] = before + share * (load - before)
    return (1.0 - share if lead == 0.0 else share * time / step) * (before - load)


@compiled
def applied_friction(p, inertia, step, velocity, motor_torque, external_torque, excess=0.0):
    """Return the friction torque [N·m] of Algorithm 1, lines 4–6, for engines that accept only torques.

    `inertia` is the joint's total, armature included [kg·m²]; step in s; `excess` is that of `remembered` [N·m].
    """
    static = static_friction(p, motor_torque, external_torque, velocity) + excess
    budget = static + p[KV_FRICTION] * abs(velocity)
    to_stop = inertia / step * velocity + motor_torque + external_torque
    return -min(max(to_stop, -budget), budget)


@compiled
def slip_share(p, u, d):
    """Return the root s ≥ 0 of s + u·E(s) = d, the slip velocity in units of the Stribeck velocity; d ≥ u ≥ 0.

    E is 1/(1 + s) for a rational contact, otherwise exp(−s^α), solved by Halley steps from the root of the steepest
    tangent. If u·E falls so steeply that there would be several roots, because the step is too long for the inertia, E
    is taken at a smaller slip, so that friction does not jump.
    """
    alpha = p[ALPHA]
    level = slope = 1.0
    if alpha > 1.0 and p[CONTACT] != RATIONAL:
        power = (alpha - 1.0) / alpha
        where = power ** (1.0 / alpha)
        height = math.exp(-power)
        slope = alpha * power / where * height
        level = height + slope * where
    ratio = max(u * slope / _STEEPEST, 1.0)
    d += u / ratio - u
    u /= ratio
    if p[CONTACT] == RATIONAL:
        half = 0.5 * (d - 1.0)
        root = math.sqrt(max(half * half + d - u, 0.0))
        s = half + root if half > 0.0 else (d - u) / max(root - half, _TINY)
        return d - ratio * (d - s) + (ratio - 1.0) * u
    s = min(max((d - u * level) / (1.0 - u * slope), d - u), d)
    for _ in range(4):
        s = max(s, _SLOWEST)
        power = s**alpha
        fallen = u * math.exp(-power)
        # Value, slope times s and curvature times s².
        f = s + fallen - d
        bend = alpha * power * fallen
        first = s - bend
        second = bend * (alpha * power - (alpha - 1.0))
        square = first * first
        s = min(max(s - 2.0 * f * s * first / max(2.0 * square - f * second, square, _TINY), d - u), d)
    return d - ratio * (d - s) + (ratio - 1.0) * u


@compiled
def bristle_friction(p, sliding, at_rest, deflection, free, mobility, step):
    """Return the friction torque [N·m] of an elastoplastic contact during a step, and its slip velocity [rad/s].

    The slip velocity is 0 while the contact sticks. See Cisneros et al., eqs 11–16, with the velocity at the end of the
    step.

    Args:
        p: Numbers of a servo.
        sliding: Friction while sliding fast, from `dry_friction` [N·m].
        at_rest: Excess at rest, from `dry_friction` [N·m].
        deflection: Deflection of the contact [rad].
        free: Velocity at the end of the step without this friction [rad/s].
        mobility: Change of that velocity per torque [rad/(s·N·m)]; 0 if it is already the final velocity.
        step: Time step [s].
    """
    stiff = p[STIFFNESS] * step + p[BRISTLE_DAMPING]
    z = 1.0 / stiff + mobility
    wished = free + p[STIFFNESS] * deflection / stiff
    size = abs(wished)
    if size <= z * (sliding + at_rest):
        return -wished / z, 0.0
    scale = z / (p[VS] * (1.0 + z * p[KV_FRICTION]))
    u = scale * at_rest
    slip = p[VS] * slip_share(p, u, max(scale * (size / z - sliding), u))
    side = 1.0 if wished > 0.0 else -1.0
    return -side * (size - slip) / z, side * slip


@compiled
def bent(p, deflection, friction, step):
    """Return the deflection [rad] after a step with a friction torque [N·m], Cisneros et al. eq. (18)."""
    stiff = p[STIFFNESS] * step + p[BRISTLE_DAMPING]
    return (p[BRISTLE_DAMPING] * deflection - step * friction) / stiff


@compiled
def coast_current(duty, supply, emf, resistance, inductance, period):
    """Return the mean current [A] of a bridge that releases the motor between its pulses; emf, supply in V."""
    direction = 1.0 if duty >= 0.0 else -1.0
    share = min(abs(duty), 1.0)
    along = direction * emf
    rising = (supply - along) / resistance
    falling = (supply + along) / resistance
    if rising <= 0.0:
        return direction * rising
    continuous = ((2.0 * share - 1.0) * supply - along) / resistance
    if falling <= 0.0:
        return direction * continuous
    electric = inductance / resistance
    on_time = share * period
    peak = rising * (1.0 - math.exp(-on_time / electric))
    fall_time = electric * math.log(1.0 + peak / falling)
    if on_time + fall_time < period:
        return direction * (rising * on_time - falling * fall_time) / period
    return direction * continuous


@compiled
def series(p, duty, supply, emf):
    """Return the resistance in series with the motor [Ω] at a duty cycle; emf, supply in V."""
    return p[R] + (p[PULSE] * abs(duty) if duty * (duty * supply - emf) > 0.0 else 0.0)


@compiled
def duty_for(p, current, supply, emf):
    """Return the duty cycle that drives a current [A]; emf, supply in V."""
    voltage = current * p[R] + emf
    dropped = p[PULSE] * abs(current) if voltage * current > 0.0 else 0.0
    return voltage / max(supply - dropped, 1e-9)


@compiled
def held_back(p, duty, supply, velocity):
    """Return the duty cycle to which a current limit changes that of a voltage law, as far as the bridge can."""
    emf = p[KT] * velocity
    least, most = duty_for(p, -p[CURRENT_LIMIT], supply, emf), duty_for(p, p[CURRENT_LIMIT], supply, emf)
    return min(max(min(max(duty, least), most), -p[LIMIT]), p[LIMIT])


@compiled
def motor_current(p, output, enable, supply, velocity):
    """Return the motor current [A] and its decrease with velocity [A·s/rad].

    `output` is the control law's, duty cycle or A; `enable` is the share of the step with the torque on.
    """
    emf = p[KT] * velocity
    if p[LAW] == CURRENT:
        wanted = output * enable
        at_limit = p[R] + (p[PULSE] if abs(emf) < supply else 0.0)
        current = min(max(wanted, (-supply - emf) / at_limit), (supply - emf) / at_limit)
        return current, (0.0 if current == wanted else p[KT] / at_limit)
    released = p[BRAKING] * (1.0 - enable)
    if p[LAW] == VOLTAGE:
        passed = series(p, output, supply, emf)
        slope = (enable / passed + released / p[R]) * p[KT]
        return enable * (output * supply - emf) / passed - released * emf / p[R], slope
    supply = max(supply, 1e-9)
    small = 1e-4 * supply
    passed = p[R] + p[PULSE] * abs(output)
    driven = coast_current(output, supply, emf, passed, p[L], p[PERIOD])
    higher = coast_current(output, supply, emf + small, passed, p[L], p[PERIOD])
    lower = coast_current(output, supply, emf - small, passed, p[L], p[PERIOD])
    slope = max((lower - higher) / (2.0 * small), 0.0) * p[KT]
    return enable * driven - released * emf / p[R], enable * slope + released * p[KT] / p[R]


@compiled
def offset(p, error):
    """Return the output that is added in the direction of the error [duty cycle or A]."""
    return p[OFFSET] * p[LIMIT] * min(max(error / _OFFSET_WIDTH, -1.0), 1.0)


@compiled
def continuous_law(p, state, position, velocity, goal, step, share_now):
    """Return the output of a law that acts in every step, and its decrease with velocity; advance the state.

    Quantities that grow with time act with their value after `share_now` of the step.
    """
    lowest, highest = -p[LIMIT], p[LIMIT]
    reach = p[SLEW] * step
    before = state[SLEWED]
    state[SLEWED] += min(max(goal - before, -reach), reach)
    slewed = state[SLEWED]
    if abs(goal - before) > reach:
        slewed = before + share_now * (slewed - before)
    error = slewed - (1.0 - p[ANGLE_IGNORED]) * position - p[SPEED] * velocity
    error -= min(max(error, -p[BAND]), p[BAND])
    # A speed loop integrates the angle that the shaft has turned: correct the last step by its change of speed.
    summed = state[INTEGRAL] - 0.5 * step * p[KI] * p[SPEED] * (velocity - state[BEFORE])
    state[BEFORE] = velocity
    state[INTEGRAL] = min(max(summed + p[KI] * error * step, lowest), highest)
    summed += share_now * (state[INTEGRAL] - summed)
    wanted = p[KP] * error + summed + p[KD] * (error - state[ERROR]) / step - p[KV] * velocity + offset(p, error)
    state[ERROR] = error
    control = min(max(wanted, lowest), highest)
    return control, (p[KV] + p[KP] * p[SPEED] if control == wanted else 0.0)


@compiled
def sampled_law(p, state, position, velocity, goal, step):
    """Return the mean output of a law that acts once a period, and its decrease with velocity; advance the state.

    Position and velocity are those at the beginning of the step [rad, rad/s]. Between two actions the output is held.
    """
    between = p[BETWEEN]
    reach = p[SLEW] * between
    at, total, damping = 0.0, 0.0, 0.0
    acted = state[SINCE] > 0.0
    due = max(between - state[SINCE], 0.0) if acted else 0.0
    if not acted:
        state[SLEWED] = position
    state[SINCE] += step
    while due < _ENDS * step:
        total += state[HELD] * (due - at)
        at = due
        state[SLEWED] += min(max(goal - state[SLEWED], -reach), reach)
        error = state[SLEWED] - (1.0 - p[ANGLE_IGNORED]) * (position + velocity * due) - p[SPEED] * velocity
        error -= min(max(error, -p[BAND]), p[BAND])
        rise = error - state[ERROR] if acted else 0.0
        acted = True
        state[ERROR] = error
        state[INTEGRAL] = min(max(state[INTEGRAL] + p[KI] * error * between, -p[LIMIT]), p[LIMIT])
        wanted = p[KP] * error + state[INTEGRAL] + p[KD] * rise / between - p[KV] * velocity + offset(p, error)
        state[HELD] = min(max(wanted, -p[LIMIT]), p[LIMIT])
        # The actions after the first one would see the velocity of this step change.
        slope = p[KD] + p[KV] + p[KP] * p[SPEED]
        damping = max(1.0 - between / step, 0.0) * slope if state[HELD] == wanted else 0.0
        state[SINCE] = step - due
        due += between
    return (total + state[HELD] * (step - at)) / step, damping


@compiled
def drive(p, state, position, velocity, goal, enable, step, lead=0.0, slide=0.0):
    """Return the motor torque [N·m] of one step and its decrease with velocity [N·m·s/rad]; advance the state.

    Args:
        p: Numbers of a servo.
        state: State of the servo, shape (len(STATE),).
        position: Position [rad].
        velocity: Velocity [rad/s].
        goal: Goal as it arrives, see `late` [rad, or the unit of another command].
        enable: Enable as it arrives, see `late`.
        step: Time step [s].
        lead: Additional delay of commands as a share of the step (`Bank`). Half a step centres the step on `position`,
            and quantities that grow with time (limited goal, integral, lagging output) act with their mean over the
            step. With 0 they act with their value at its end.
        slide: Speed of the motor relative to that of the load, which the law sees [rad/s]; 0 without backlash.
    """
    if p[BETWEEN] > 0.0:
        control, damping = sampled_law(p, state, position - lead * step * velocity, velocity, goal, step)
    else:
        control, damping = continuous_law(p, state, position, velocity, goal, step, 1.0 - lead)
    velocity += slide
    supply = max(p[SUPPLY] - p[SAG] * state[BUS], 0.0)
    feedback = output = 0.0
    if enable > 1.0 - _ENDS:  # not a rest of rounding
        share, acting = 1.0, 1.0
        if p[LAG] > 0.0:
            share = 1.0 - math.exp(-step / p[LAG])
            acting = share if lead == 0.0 else 1.0 - share * p[LAG] / step
        output = state[OUTPUT] + acting * (control - state[OUTPUT])
        state[OUTPUT] += share * (control - state[OUTPUT])
        feedback = acting * damping * enable
    else:
        state[OUTPUT] = state[INTEGRAL] = state[HELD] = state[SINCE] = 0.0
        state[SLEWED] = position
    wanted = output
    if p[LAW] == VOLTAGE:
        output = held_back(p, wanted, max(supply, 1e-9), velocity)
    current, slope = motor_current(p, output, enable, supply, velocity)
    if p[LAW] == CURRENT:
        duty = duty_for(p, current, supply, p[KT] * velocity)
        slope += feedback if slope == 0.0 else 0.0
    else:
        duty = output * enable
        passed = series(p, output, supply, p[KT] * velocity)
        if output == wanted:
            dropped = p[PULSE] * abs(current) if passed > p[R] else 0.0
            slope += feedback * (supply - dropped) / passed
        elif abs(output) < p[LIMIT]:
            slope -= enable * p[KT] / passed
    state[BUS] = max(duty * current, 0.0)
    return p[KT] * current, p[KT] * slope


@compiled
def late(past, head, steps):
    """Interpolate the command of `steps` steps ago in the ring buffer `past` (n,), newest entry at `head`."""
    length = past.shape[0]
    whole = min(math.ceil(steps), length - 1)
    older = head - whole
    newer = min(older + 1, head)
    if older < 0:
        older += length
    if newer < 0:
        newer += length
    return past[older] + min(max(whole - steps, 0.0), 1.0) * (past[newer] - past[older])


@compiled
def drives(rows, states, past, head, lead, step, positions, velocities, rates, external, mobilities):
    """Evaluate all joints for engines whose velocities lag half a step behind their positions.

    Args:
        rows: Numbers of the servos, shape (joints, len(FIELDS)).
        states: See `Bank`.
        past: See `Bank`.
        head: See `Bank`.
        lead: See `Bank`.
        step: See `Bank`.
        positions: Positions [rad].
        velocities: Velocities [rad/s].
        rates: Change of the velocities in the previous step [rad/s].
        external: Loads [N·m].
        mobilities: Acceleration per torque [rad/(s²·N·m)].

    Returns:
        For each joint: motor torque, implicit part of its slope, torque without static friction, implicit part of that
        torque's slope, and budget of the static friction.
    """
    count = rows.shape[0]
    motor, slopes, smooth, damping, budget = (
        np.empty(count), np.empty(count), np.empty(count), np.empty(count), np.empty(count),
    )  # fmt: skip
    for j in range(count):
        p, velocity = rows[j], velocities[j]
        goal = late(past[j, 0], head, p[DELAY] / step + lead)
        enable = late(past[j, 1], head, p[RELEASE_DELAY] / step + lead)
        torque, slope = drive(p, states[j], positions[j], velocity, goal, enable, step, lead)
        mean = torque - 0.5 * slope * rates[j]
        budget[j] = static_friction(p, mean, external[j], velocity + 0.5 * rates[j])
        budget[j] += remembered(p, states[j], mean, external[j], step, lead)
        stiffness = (slope + p[KV_FRICTION]) * step * mobilities[j]
        share = 0.5 if stiffness <= 1.0 else 1.0 - 0.5 / stiffness
        motor[j] = torque
        slopes[j] = share * slope
        smooth[j] = torque - p[KV_FRICTION] * velocity
        damping[j] = share * (slope + p[KV_FRICTION])
    return motor, slopes, smooth, damping, budget


@compiled
def stopping(response, velocities, budgets):
    """Return the friction within ±budgets that best stops the joints [N·m]; response: (joints, joints)."""
    friction = np.zeros(velocities.shape[0])
    left = velocities.copy()
    for _ in range(_SWEEPS):
        largest = 0.0
        for j in range(friction.shape[0]):
            wanted = friction[j] - left[j] / response[j, j]
            change = min(max(wanted, -budgets[j]), budgets[j]) - friction[j]
            friction[j] += change
            left += response[:, j] * change
            largest = max(largest, abs(response[j, j] * change))
        if largest < _SETTLED:
            break
    return friction


class Bank:
    """Servos of several joints with their state, one row per joint."""

    def __init__(
        self,
        servos: Sequence[str | Path | Mapping[str, Any]],
        step: float,
        lead: float = 0.0,
        contacts: Sequence[str] = ("rigid",),
    ) -> None:
        """Load the servos.

        Args:
            servos: Servo file, or its content, of each joint.
            step: Time step [s].
            lead: Additional delay of commands, as a share of a time step.
            contacts: Contacts whose friction the caller computes.

        Raises:
            ValueError: A file is not a servo file, or a servo has another contact.
        """
        self.rows = np.array([load_servo(servo) for servo in servos]).reshape(len(servos), len(FIELDS))
        for contact in self.rows[:, CONTACT]:
            if CONTACTS[int(contact)] not in contacts:
                raise ValueError(
                    f"a servo's contact is {CONTACTS[int(contact)]} and only {', '.join(contacts)} is possible here; "
                    "use the servo file of this program's own export"
                )
        if self.rows[:, BACKLASH].any():
            raise ValueError("a servo has backlash, which this program does not compute: set it to 0 in the servo file")
        self.joint_zero = np.array([load_zero(servo) for servo in servos])
        """Joint angles at which the servos read 0 [rad]; `command` adds them to goals."""
        self.states = np.zeros((len(servos), len(STATE)))
        self.states[:, LOAD_FRICTION] = UNSETTLED
        self.lead = lead
        self.step = step
        longest = self.rows[:, [DELAY, RELEASE_DELAY]].max() if len(servos) else 0.0
        self.past = np.zeros((len(servos), 2, math.ceil(longest / step + lead) + 2))
        self.head = 0
        self.fresh = True

    @property
    def numbers(self) -> np.ndarray:
        """Structured array (joints,) with the names of FIELDS.

        Change it to randomise or to set gains, e.g. `bank.numbers["kp"] *= 0.5`.
        """
        return named(self.rows)

    def reset(self, positions: np.ndarray) -> None:
        """Set the servos to rest at `positions` [rad]; the next command also counts as all earlier ones."""
        self.states[:] = 0.0
        self.states[:, SLEWED] = positions
        self.states[:, LOAD_FRICTION] = UNSETTLED
        self.fresh = True

    def command(self, goals: Any, enable: Any) -> None:
        """Set a step's commands in the order of the joints: goals [rad, or the unit of another command] and enable.

        An enable of 1 drives the motor, 0 releases it.
        """
        self.head = (self.head + 1) % self.past.shape[2]
        self.past[:, 0, self.head] = goals + self.joint_zero
        self.past[:, 1, self.head] = enable
        if self.fresh:
            self.past[:] = self.past[:, :, self.head : self.head + 1]
            self.fresh = False

    def drive(self, positions: Any, velocities: Any) -> np.ndarray:
        """Return each joint's motor torque (joints,) [N·m]; call it once per step, after `command`."""
        torques = np.empty(len(self.rows))
        for j, p in enumerate(self.rows):
            goal = late(self.past[j, 0], self.head, p[DELAY] / self.step + self.lead)
            enable = late(self.past[j, 1], self.head, p[RELEASE_DELAY] / self.step + self.lead)
            torques[j] = drive(p, self.states[j], positions[j], velocities[j], goal, enable, self.step, self.lead)[0]
        return torques
