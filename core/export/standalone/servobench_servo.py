# SPDX-License-Identifier: Apache-2.0
"""A servo as numbers and a few functions: control law, motor, command path and friction M1–M6, step by step.

Stand-alone: needs numpy; with numba the functions are compiled. Read servos with `load_servo`, keep them in a `Bank`
and give it to the program of your engine (`servobench_mujoco`, a Webots controller, a Drake system), or call

    torque, slope = drive(numbers, state, position, velocity, goal, enable, step)
    budget = static_friction(numbers, torque, external_torque, velocity)

yourself. Goals are the servo's; where a joint of yours is not 0 where its servo reads 0, its angle there goes into the
servo's file as `joint_zero`. Friction of an elastoplastic contact (Cisneros et al.) is a torque that also depends on a
deflection, which the caller keeps: `bristle_friction` and `bent`. SI units and radians; torques that turn the joint
towards larger angles are positive.
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
    """Compile a function, kept on disk where that is possible; without numba the function as it is."""
    if njit is None:
        return function
    made: Any
    try:
        made = njit(cache=True, error_model="numpy")(function)
    except RuntimeError:
        made = njit(error_model="numpy")(function)
    return made


SOURCE = zlib.crc32(Path(__file__).read_bytes()) + 1
"""Of this file. Compiled functions elsewhere that call those here name it: a change here compiles them anew."""
FIELDS = (
    "torque_constant", "resistance", "armature",
    "friction_base", "friction_viscous", "load_motor", "load_external",
    "friction_stribeck", "load_motor_stribeck", "load_external_stribeck", "load_motor_quad", "load_external_quad",
    "stribeck_velocity", "stribeck_exponent",
    "delay", "goal_slew", "dead_band", "pwm_lag", "supply_sag", "release_braking",
    "inductance", "pwm_period",
    "kp", "ki", "kd", "kv", "output_limit", "opposing_gate", "release_delay",
    "supply_voltage", "law", "contact", "bristle_stiffness", "bristle_damping",
)  # fmt: skip
"""Numbers of a servo in order: N·m/A, Ω, kg·m², N·m, N·m·s/rad, 1, N·m, 1, 1/(N·m), rad/s, 1, s, rad/s, rad, s, Ω, 1,
H, s; gains per rad in duty cycle or A; V; law: 0 voltage, 1 current, 2 coast; contact: 0 rigid, 1 elastoplastic,
2 elastoplastic with the rational function; N·m/rad, N·m·s/rad."""
(
    KT, R, ARMATURE, KC, KV_FRICTION, KM, KE, KCS, KMS, KES, KMQ, KEQ, VS, ALPHA, DELAY, SLEW, BAND, LAG, SAG, BRAKING,
    L, PERIOD, KP, KI, KD, KV, LIMIT, GATE, RELEASE_DELAY, SUPPLY, LAW, CONTACT, STIFFNESS, BRISTLE_DAMPING,
) = range(len(FIELDS))  # fmt: skip
LAWS = ("voltage", "current", "coast")
VOLTAGE, CURRENT, COAST = 0.0, 1.0, 2.0
CONTACTS = ("rigid", "elastoplastic", "elastoplastic_rational")
RIGID, STRIBECK, RATIONAL = 0.0, 1.0, 2.0
STATE = ("slewed_goal", "output", "integral", "error", "bus_current")
SLEWED, OUTPUT, INTEGRAL, ERROR, BUS = range(len(STATE))
_TINY = 1e-300
_LARGEST = 1.7976931348623157e308
_SLOWEST = 1e-12
"""Slip velocities below this share of the Stribeck velocity are as good as none."""
_SWEEPS = 100
"""Most sweeps over the joints to find the friction of all of them."""
_SETTLED = 1e-12
"""Change of velocity in a sweep that ends the search [rad/s]."""


def load_servo(source: str | Path | Mapping[str, Any]) -> np.ndarray:
    """Numbers of a servo from its JSON file or that file's content, (len(FIELDS),); ValueError says what is wrong."""
    name, data = _read(source)
    if not isinstance(data, dict) or data.get("format") != "servobench-servo" or data.get("version") not in (1, 2):
        raise ValueError(f"{name}: not a servo file of version 1 or 2")
    if data.get("law") not in LAWS:
        raise ValueError(f"{name}: no control law {data.get('law')!r}; there are {', '.join(LAWS)}")
    data["law"] = float(LAWS.index(data["law"]))
    if data["version"] == 1:
        data |= {"contact": "rigid", "bristle_stiffness": 0.0, "bristle_damping": 0.0}
    if data.get("contact") not in CONTACTS:
        raise ValueError(f"{name}: no contact {data.get('contact')!r}; there are {', '.join(CONTACTS)}")
    data["contact"] = float(CONTACTS.index(data["contact"]))
    wrong = [f for f in FIELDS if not isinstance(data.get(f), (int, float)) or not 0 <= data[f] <= _LARGEST]
    positive = ["torque_constant", "resistance", "stribeck_velocity"]
    if data["contact"] != RIGID:
        positive += ["bristle_stiffness", "bristle_damping"]
    wrong += [f for f in positive if f not in wrong and not data[f] > 0]
    if wrong:
        raise ValueError(f"{name}: {', '.join(f'{f} = {data.get(f)!r}' for f in wrong)}: not possible")
    return np.array([float(data[field]) for field in FIELDS])


def load_zero(source: str | Path | Mapping[str, Any]) -> float:
    """Angle of the joint where the servo reads 0 [rad], `joint_zero` of its file, 0 where there is none; ValueError."""
    name, data = _read(source)
    zero = data.get("joint_zero", 0.0)
    if not isinstance(zero, (int, float)) or not math.isfinite(zero):
        raise ValueError(f"{name}: joint_zero = {zero!r} is no angle")
    return float(zero)


def _read(source: str | Path | Mapping[str, Any]) -> tuple[str, Any]:
    if isinstance(source, Mapping):
        return "servo", dict(source)
    try:
        return str(source), json.loads(Path(source).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ValueError(f"{source}: cannot read the servo: {error}") from None


def named(rows: np.ndarray) -> np.ndarray:
    """The numbers of servos by name, structured (servos,), as a view of rows (servos, len(FIELDS) or more)."""
    return rows[:, : len(FIELDS)].view([(field, "f8") for field in FIELDS])[:, 0]


@compiled
def dry_friction(p, motor_torque, external_torque):
    """Friction at this load [N·m]: while sliding fast, and what it is more at rest; M6 of Duclusaud et al. eq. (10),
    M1–M5 by their zeros.

    p: numbers of a servo; torques [N·m].
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
    """Friction budget without its viscous part [N·m], Duclusaud et al. eq. (10).

    p: numbers of a servo; torques [N·m]; velocity [rad/s].
    """
    stribeck = math.exp(-((max(abs(velocity) / p[VS], _TINY)) ** p[ALPHA]))
    sliding, at_rest = dry_friction(p, motor_torque, external_torque)
    return sliding + stribeck * at_rest


@compiled
def applied_friction(p, inertia, step, velocity, motor_torque, external_torque):
    """Friction torque [N·m] of Algorithm 1, lines 4–6, for engines that take torques only.

    inertia: what the joint turns, armature included [kg·m²]; step [s].
    """
    budget = static_friction(p, motor_torque, external_torque, velocity) + p[KV_FRICTION] * abs(velocity)
    to_stop = inertia / step * velocity + motor_torque + external_torque
    return -min(max(to_stop, -budget), budget)


@compiled
def slip_share(p, u, d):
    """Root s ≥ 0 of s + u·E(s) = d, the slip velocity in Stribeck velocities; d ≥ u ≥ 0.

    E is exp(−s^α) or, rational, 1/(1 + s). By Halley's steps from where the tangent at E's steepest has its root.
    """
    if p[CONTACT] == RATIONAL:
        half = 0.5 * (d - 1.0)
        root = math.sqrt(max(half * half + d - u, 0.0))
        return half + root if half > 0.0 else (d - u) / max(root - half, _TINY)
    alpha = p[ALPHA]
    level = slope = 1.0
    if alpha > 1.0:
        power = (alpha - 1.0) / alpha
        where = power ** (1.0 / alpha)
        height = math.exp(-power)
        slope = alpha * power / where * height
        level = height + slope * where
    s = min(max((d - u * level) / max(1.0 - u * slope, 1e-3), d - u), d)
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
    return s


@compiled
def bristle_friction(p, sliding, at_rest, deflection, free, mobility, step):
    """Friction torque [N·m] of an elastoplastic contact during a step, and the velocity [rad/s] at which it slips,
    0 while it sticks (Cisneros et al., eqs 11–16, with the velocity at the end of the step).

    sliding, at_rest [N·m]: of `dry_friction`; deflection [rad]; free: the joint's velocity at the end of the step
    without this friction [rad/s]; mobility: what that velocity changes by per torque [rad/(s·N·m)], 0 where it is the
    velocity at the end already; step [s].
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
    """Deflection [rad] of an elastoplastic contact after a step of a friction torque [N·m], Cisneros et al. (18)."""
    stiff = p[STIFFNESS] * step + p[BRISTLE_DAMPING]
    return (p[BRISTLE_DAMPING] * deflection - step * friction) / stiff


@compiled
def coast_current(duty, supply, emf, resistance, inductance, period):
    """Mean current [A] of a bridge that lets go of the motor between its pulses; emf, supply [V]."""
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
def motor_current(p, output, enable, supply, velocity):
    """Motor current [A] and its decrease per rad/s [A·s/rad].

    output: of the control law, duty cycle or A; enable: share of the step in which the torque is on.
    """
    emf = p[KT] * velocity
    by_emf = p[KT] / p[R]
    if p[LAW] == CURRENT:
        wanted = output * enable
        current = min(max(wanted, (-supply - emf) / p[R]), (supply - emf) / p[R])
        return current, (0.0 if current == wanted else by_emf)
    released = p[BRAKING] * (1.0 - enable)
    if p[LAW] == VOLTAGE:
        return enable * (output * supply - emf) / p[R] - released * emf / p[R], (enable + released) * by_emf
    supply = max(supply, 1e-9)
    small = 1e-4 * supply
    driven = coast_current(output, supply, emf, p[R], p[L], p[PERIOD])
    higher = coast_current(output, supply, emf + small, p[R], p[L], p[PERIOD])
    lower = coast_current(output, supply, emf - small, p[R], p[L], p[PERIOD])
    slope = max((lower - higher) / (2.0 * small), 0.0) * p[KT]
    return enable * driven - released * emf / p[R], enable * slope + released * by_emf


@compiled
def drive(p, state, position, velocity, goal, enable, step, lead=0.0):
    """Motor torque [N·m] and its decrease per rad/s [N·m·s/rad] for one step; advances the servo's state.

    p: numbers; state: (len(STATE),); goal [rad] and enable as they arrive, see `late`; step [s]; lead: share of a step
    by which commands act later (`Bank`): half a step centres a step on `position`, and what grows with time, a limited
    goal, the integral and a lagging output, acts with its mean over the step; with 0 it acts as at the step's end.
    """
    lowest, highest = -p[LIMIT], p[LIMIT]
    share_now = 1.0 - lead
    reach = p[SLEW] * step
    before = state[SLEWED]
    state[SLEWED] += min(max(goal - before, -reach), reach)
    slewed = state[SLEWED]
    if abs(goal - before) > reach:
        slewed = before + share_now * (slewed - before)
    error = slewed - position
    error -= min(max(error, -p[BAND]), p[BAND])
    summed = state[INTEGRAL]
    state[INTEGRAL] = min(max(summed + p[KI] * error * step, lowest), highest)
    summed += share_now * (state[INTEGRAL] - summed)
    wanted = p[KP] * error + summed + p[KD] * (error - state[ERROR]) / step - p[KV] * velocity
    state[ERROR] = error
    supply = max(p[SUPPLY] - p[SAG] * state[BUS], 0.0)
    feedback = output = 0.0
    if enable > 0.0:
        share, acting = 1.0, 1.0
        if p[LAG] > 0.0:
            share = 1.0 - math.exp(-step / p[LAG])
            acting = share if lead == 0.0 else 1.0 - share * p[LAG] / step
        control = min(max(wanted, lowest), highest)
        output = state[OUTPUT] + acting * (control - state[OUTPUT])
        state[OUTPUT] += share * (control - state[OUTPUT])
        if control == wanted:
            feedback = acting * p[KV] * enable
    else:
        state[OUTPUT] = state[INTEGRAL] = 0.0
        state[SLEWED] = position
    current, slope = motor_current(p, output, enable, supply, velocity)
    if p[LAW] == CURRENT:
        duty = (current * p[R] + p[KT] * velocity) / max(supply, 1e-9)
        slope += feedback if slope == 0.0 else 0.0
    else:
        duty = output * enable
        slope += feedback * supply / p[R]
    state[BUS] = max(duty * current, 0.0)
    return p[KT] * current, p[KT] * slope


@compiled
def late(past, head, steps):
    """A command as it was `steps` steps ago, between steps linearly; past: (n,), a ring whose newest entry is head."""
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
    """Of each joint, for engines whose velocities stand half a step before their positions: motor torque, the new
    velocity's share of its slope, torque and such share without the static part of its friction, budget of that part.

    rows: (joints, len(FIELDS)); states, past, head, lead, step: as in `Bank`; positions [rad], velocities [rad/s] and
    what they changed by in the step before; external: loads [N·m]; mobilities: what a velocity changes by per torque
    [rad/(s²·N·m)].
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
        budget[j] = static_friction(p, torque - 0.5 * slope * rates[j], external[j], velocity + 0.5 * rates[j])
        stiffness = (slope + p[KV_FRICTION]) * step * mobilities[j]
        share = 0.5 if stiffness <= 1.0 else 1.0 - 0.5 / stiffness
        motor[j] = torque
        slopes[j] = share * slope
        smooth[j] = torque - p[KV_FRICTION] * velocity
        damping[j] = share * (slope + p[KV_FRICTION])
    return motor, slopes, smooth, damping, budget


@compiled
def stopping(response, velocities, budgets):
    """Friction within ±budgets that stops the joints as far as it can [N·m]; response: (joints, joints)."""
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
    """Servos of several joints with their state; one row each."""

    def __init__(
        self,
        servos: Sequence[str | Path | Mapping[str, Any]],
        step: float,
        lead: float = 0.0,
        contacts: Sequence[str] = ("rigid",),
    ) -> None:
        """step [s]; lead: share of a step by which a command acts later, on top of the servo's own delay; contacts:
        those whose friction the caller computes.

        Raises ValueError for a file that is not a servo, and for a servo with another contact.
        """
        self.rows = np.array([load_servo(servo) for servo in servos]).reshape(len(servos), len(FIELDS))
        for contact in self.rows[:, CONTACT]:
            if CONTACTS[int(contact)] not in contacts:
                raise ValueError(
                    f"a servo's contact is {CONTACTS[int(contact)]} and only {', '.join(contacts)} is possible here; "
                    "take the servo file of this program's own export"
                )
        self.joint_zero = np.array([load_zero(servo) for servo in servos])
        """Angles of the joints where the servos read 0 [rad]; `command` adds them to goals."""
        self.states = np.zeros((len(servos), len(STATE)))
        self.lead = lead
        self.step = step
        longest = self.rows[:, [DELAY, RELEASE_DELAY]].max() if len(servos) else 0.0
        self.past = np.zeros((len(servos), 2, math.ceil(longest / step + lead) + 2))
        self.head = 0
        self.fresh = True

    @property
    def numbers(self) -> np.ndarray:
        """Structured (joints,) with the names of FIELDS: change them to randomise or to set gains, e.g.
        `bank.numbers["kp"] *= 0.5`."""
        return named(self.rows)

    def reset(self, positions: np.ndarray) -> None:
        """Servos at rest at `positions` [rad]; the next command is taken for what was commanded before, too."""
        self.states[:] = 0.0
        self.states[:, SLEWED] = positions
        self.fresh = True

    def command(self, goals: Any, enable: Any) -> None:
        """Take a step's commands, in the order of the joints: goals [rad], enable (1 drives, 0 releases)."""
        self.head = (self.head + 1) % self.past.shape[2]
        self.past[:, 0, self.head] = goals + self.joint_zero
        self.past[:, 1, self.head] = enable
        if self.fresh:
            self.past[:] = self.past[:, :, self.head : self.head + 1]
            self.fresh = False

    def drive(self, positions: Any, velocities: Any) -> np.ndarray:
        """Motor torque of each joint at its state, (joints,) N·m; call once a step, after `command`."""
        torques = np.empty(len(self.rows))
        for j, p in enumerate(self.rows):
            goal = late(self.past[j, 0], self.head, p[DELAY] / self.step + self.lead)
            enable = late(self.past[j, 1], self.head, p[RELEASE_DELAY] / self.step + self.lead)
            torques[j] = drive(p, self.states[j], positions[j], velocities[j], goal, enable, self.step, self.lead)[0]
        return torques
