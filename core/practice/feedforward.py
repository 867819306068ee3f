"""Feed-forward friction compensation: the goal that makes a servo follow a motion, from its identified model.

A position servo lags, sags and sticks because its motor pulls only in response to a position error. Seed 001 states the
remedy: predict the torque that the wanted motion needs, friction included, and command it before an error arises. Here
the torque goes through the servo's own control law, as an offset of its goal, so any position servo can be compensated.

For a wanted motion q, q̇, q̈, an external torque τ_e and the inertia J, the motor torque is

    τ_m = J·q̈ − τ_e + σ·τ_f^m(τ_m, τ_e, q̇)

(seed 004, Algorithm 1, solved for the motor). The budget of M3–M6 depends on this same torque. Between the points where
an absolute value or the quadratic term changes its branch, the equation is a polynomial in τ_m of at most degree two.
It is solved in closed form on each branch, within the range of the motor at that speed.

- **Several solutions** exist only where friction grows faster than the torque (by K_m^q, a jump of Q, or K_m ≥ 1). The
  one with the least torque along the motion is taken. If the jump of Q at |τ_m| = |τ_e| skips the solution, the
  solution is the jump.
- **A motor that locks itself**, σ·(K_m + s·K_m^s) ≥ 1, may have no solution: more torque causes more friction. The
  result is then the end of the motor's range, and `saturated` is set. The same holds for any motion beyond the motor's
  range. K_e ≥ 1, a worm gear, is not such a case: the motor drives the load down as it drives it up.

**Direction.** σ = tanh((q̇ + q̈·t_p)/w) is the direction in which the servo is about to move, t_p [s] ahead. At rest it
is the direction of the *next* motion, or 0 if none follows. w [rad/s] smooths the change: noise of δ in the wanted
velocity changes σ by δ/w at most. Measured velocities are not used, so the result cannot chatter.

**Control law.** The torque is converted to the goal that requests it, through the motor (eqs 13, 15), supply sag,
output limit, dead band and gain. Looking ahead compensates the delay of commands and half the time for which one is
held. The output is looked up one lag later, since it lags behind the error. Integral and derivative gains would act on
the offset as on an error, so they must be 0.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from core.base.arrays import Array
from core.base.errors import ModelError
from core.kernel.layout import OFFSET_WIDTH, Law, Slot
from core.kernel.step import coast_current
from core.motion.simulation import Motion, simulate_trajectory
from core.motion.trajectories import Trajectory, recorded_trajectory
from core.servo.bench import Bench
from core.servo.friction import BudgetOfLoad, budget_of_load
from core.servo.model import ServoModel
from core.servo.settings import ServoSettings

MODES = ("none", "friction", "rigid", "full")
"""Compensation modes.

"none": the goal is the wanted position. "friction": plus the torque of friction. "rigid": plus inertia, external torque
and back-EMF, as if there were no friction. "full": plus everything.
"""

PREVIEW = 0.003
"""Time ahead at which the direction of motion is looked up, t_p [s]."""
SMOOTHING = 0.01
"""Speed over which the direction changes, w [rad/s]."""
FINEST_STEP = 1e-4
"""Longest time step of the experiment's simulations [s]."""
SETTLING = 0.25
"""Errors count from here on [s]: the experiment starts in motion, before its first command can act."""
DIFFERENCE = 1e-3
"""Half the span of the differences that give a trajectory's velocity and acceleration [s]."""
HALVINGS = 50
"""Number of bisections of the duty cycle's range when a drive with fast decay is inverted."""


@dataclass(frozen=True, kw_only=True, eq=False)
class WantedMotion:
    """Motion that the servo should follow; arrays (n,)."""

    time: Array
    """Time [s]."""
    position: Array
    """Position [rad]."""
    velocity: Array
    """Velocity [rad/s]."""
    acceleration: Array
    """Acceleration [rad/s²]."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Feedforward:
    """Torques and goal offsets that a wanted motion needs; arrays (n,)."""

    motor_torque: Array
    """Motor torque τ_m [N·m]."""
    friction_torque: Array
    """Part of the motor torque that overcomes friction, σ·τ_f^m [N·m]."""
    direction: Array
    """Direction of motion σ, −1 to 1."""
    output: Array
    """Duty cycle (voltage laws) or current [A] that gives the motor torque, within the output limit."""
    goal_offset: Array
    """Goal minus wanted position with which the servo's law gives the output [rad]."""
    friction_offset: Array
    """Goal offset for the friction torque alone, for a servo whose position error provides the rest [rad]."""
    saturated: NDArray[np.bool_]
    """True where the motion is beyond the motor's range or the motor locks itself; the torque is then limited."""


@dataclass(frozen=True, kw_only=True, eq=False)
class CompensatedRun:
    """One simulated run of the experiment."""

    title: str
    mode: str
    model: ServoModel
    """Model whose friction is compensated, not the simulated one."""
    goal: Array
    """Commanded goal [rad], (n,)."""
    motion: Motion
    error: Array
    """Position minus wanted position [rad], (n,); NaN during the settling time and while the motor is released."""
    saturated_share: float
    """Share of saturated samples, 0 to 1."""

    @property
    def rms_mrad(self) -> float:
        """Root mean square of the tracking error [mrad]."""
        return 1e3 * math.sqrt(float(np.nanmean(self.error**2)))

    @property
    def mean_mrad(self) -> float:
        """Mean absolute tracking error [mrad]."""
        return 1e3 * float(np.nanmean(np.abs(self.error)))

    @property
    def worst_mrad(self) -> float:
        """Largest tracking error [mrad]."""
        return 1e3 * float(np.nanmax(np.abs(self.error)))


def feedforward(
    model: ServoModel,
    bench: Bench,
    settings: ServoSettings,
    motion: WantedMotion,
    external_torque: ArrayLike | None = None,
    *,
    preview: float = PREVIEW,
    smoothing: float = SMOOTHING,
) -> Feedforward:
    """Return motor torque and goal offset for a wanted motion.

    Args:
        model: The model.
        bench: Bench with the inertia of the load, and its gravity if `external_torque` is None.
        settings: Gains and supply voltage.
        motion: Wanted motion.
        external_torque: External torque [N·m], (n,). None: gravity of the bench.
        preview: t_p of the module's docstring [s].
        smoothing: w of the module's docstring [rad/s]. Infinite: leave friction out.

    Raises:
        ModelError: The servo has an integral or derivative gain or no proportional gain, or the motion is not finite.
    """
    row = _row(model, bench, settings)
    if not (0.0 <= preview < math.inf and smoothing > 0.0):
        raise ModelError(
            f"feed-forward: a preview of {preview} s with a smoothing of {smoothing} rad/s is not possible"
        )
    q, v, a = motion.position, motion.velocity, motion.acceleration
    gravity = -row[Slot.GRAVITY_TORQUE] * np.sin(q + row[Slot.ANGLE_OFFSET])
    te = gravity if external_torque is None else np.broadcast_to(np.asarray(external_torque, dtype=np.float64), q.shape)
    if not (np.isfinite(v).all() and np.isfinite(a).all() and np.isfinite(te).all()):
        raise ModelError("feed-forward: the wanted motion or its external torque contains numbers that are not finite")
    direction = np.tanh((v + preview * a) / smoothing)
    needed = (row[Slot.INERTIA] + row[Slot.ARMATURE]) * a - te
    lowest, highest = _torque_range(model.control.kernel_law, row, settings.supply_voltage, v)
    budget = budget_of_load(model.friction, model.values, v, model.contact)
    opposing = model.quadratic_gate == "opposing"
    torque, saturated = _solve(budget, opposing, needed, direction, te, lowest, highest)
    output = _output(model.control.kernel_law, row, settings.supply_voltage, torque, v)
    limit = row[Slot.OUTPUT_LIMIT]
    saturated = saturated | (np.abs(output) > limit)
    output = np.clip(output, -limit, limit)
    friction = torque - needed
    asked = output + row[Slot.KV] * v
    # Beyond the width of the output's offset, or within it, whichever error is larger.
    pushed, kp = row[Slot.OUTPUT_OFFSET] * limit, row[Slot.KP]
    error = np.maximum((np.abs(asked) - pushed) / kp, np.abs(asked) / (kp + pushed / OFFSET_WIDTH))
    current_law = model.control.kernel_law == Law.CURRENT
    per_torque = 1.0 if current_law else row[Slot.RESISTANCE] / settings.supply_voltage
    return Feedforward(
        motor_torque=torque,
        friction_torque=friction,
        direction=direction,
        output=output,
        goal_offset=np.sign(asked) * (error + row[Slot.DEAD_BAND]),
        friction_offset=friction * per_torque / (row[Slot.TORQUE_CONSTANT] * row[Slot.KP]),
        saturated=saturated,
    )


def compensated_goal(
    model: ServoModel,
    bench: Bench,
    settings: ServoSettings,
    trajectory: Trajectory,
    time: ArrayLike,
    mode: str,
    held: float = 0.0,
) -> tuple[Array, NDArray[np.bool_]]:
    """Return the goals with which the servo follows a smooth trajectory, and where it is saturated.

    Args:
        model: The model.
        bench: Bench.
        settings: Gains and supply voltage.
        trajectory: Wanted motion.
        time: Times of the commands [s], (n,).
        mode: One of MODES.
        held: Time for which each command is held [s]; the goal is computed for the middle of it.

    Raises:
        ModelError: The mode is unknown, or the motion cannot be compensated, see `feedforward`.
    """
    now = np.asarray(time, dtype=np.float64)
    if mode not in MODES:
        raise ModelError(f"no compensation {mode!r}; there are {', '.join(MODES)}")
    if mode == "none":
        return trajectory.goal(now), np.zeros(now.shape, dtype=bool)
    arrival = now + look_ahead(model, held)
    motion = wanted_motion(trajectory, arrival + model.values.get("pwm_lag", 0.0))
    asked = feedforward(model, bench, settings, motion, smoothing=math.inf if mode == "rigid" else SMOOTHING)
    if mode == "friction":
        return trajectory.goal(now) + asked.friction_offset, asked.saturated
    return trajectory.goal(arrival) + asked.goal_offset, asked.saturated


def look_ahead(model: ServoModel, held: float) -> float:
    """Return the time from a command to the middle of its effect [s]: the delay, and half the time it is held."""
    return model.values.get("command_delay", 0.0) + 0.5 * held


def compensation_experiment(
    model: ServoModel,
    bench: Bench,
    settings: ServoSettings,
    trajectory: Trajectory,
    dt: float,
    simpler: ServoModel | None = None,
) -> list[CompensatedRun]:
    """Simulate a servo on a trajectory in every mode, starting without compensation.

    The servo moves in time steps of 0.1 ms or less. It starts on the trajectory, with its velocity.

    Args:
        model: Model of the servo that is simulated.
        bench: Bench.
        settings: Gains and supply voltage.
        trajectory: Wanted motion.
        dt: Time for which each command is held [s].
        simpler: Another model of the same servo. Two further runs compensate friction and everything with it, which
            shows the benefit of the richer model.

    Raises:
        ModelError: The trajectory is too short for `dt`, or the motion cannot be compensated, see `feedforward`.
    """
    if not 0.0 < dt < trajectory.duration - SETTLING:
        raise ModelError(f"commands every {dt} s are not possible on {trajectory.duration} s")
    plan = [("uncompensated", "none", model), ("all but friction", "rigid", model)]
    for used in (model,) if simpler is None else (simpler, model):
        name = used.friction.upper()
        plan += [(f"friction by {name}", "friction", used), (f"everything by {name}", "full", used)]
    plan.sort(key=lambda entry: MODES.index(entry[1]))
    return [_run(title, mode, used, model, bench, settings, trajectory, dt) for title, mode, used in plan]


def wanted_motion(trajectory: Trajectory, time: ArrayLike) -> WantedMotion:
    """Return position, velocity and acceleration of a trajectory at times (n,) [s]; at rest before and after it."""
    t = np.asarray(time, dtype=np.float64)
    inside = (t >= 0.0) & (t <= trajectory.duration)
    middle = np.clip(t, DIFFERENCE, trajectory.duration - DIFFERENCE)
    before, here, after = (trajectory.goal(middle + shift) for shift in (-DIFFERENCE, 0.0, DIFFERENCE))
    acceleration = (after - 2.0 * here + before) / DIFFERENCE**2
    velocity = (after - before) / (2.0 * DIFFERENCE) + acceleration * (t - middle)
    return WantedMotion(
        time=t,
        position=trajectory.goal(t),
        velocity=np.where(inside, velocity, 0.0),
        acceleration=np.where(inside, acceleration, 0.0),
    )


def _row(model: ServoModel, bench: Bench, settings: ServoSettings) -> Array:
    model.require_goal_angles("feed-forward")
    row = model.bound_row(bench, settings, model.dt)
    if row[Slot.KI] != 0.0 or row[Slot.KD] != 0.0:
        raise ModelError("feed-forward: the goal's offset would be integrated or differentiated; set ki and kd to 0")
    if not row[Slot.KP] > 0.0:
        raise ModelError(f"feed-forward: with a gain of {settings.kp} a goal has no effect; set kp above 0")
    return row


def _torque_range(law: Law, row: Array, supply: float, velocity: Array) -> tuple[Array, Array]:
    """Return the smallest and largest motor torque at full supply voltage [N·m] (eqs 12–15)."""
    kt, resistance, limit = row[Slot.TORQUE_CONSTANT], row[Slot.RESISTANCE], row[Slot.OUTPUT_LIMIT]
    emf = kt * velocity
    if law == Law.COAST:
        full = np.asarray(supply)
        lowest, highest = (_coast_current(row, np.asarray(side * limit), full, emf) for side in (-1.0, 1.0))
    else:
        voltage = supply if law == Law.CURRENT else limit * supply
        lowest, highest = (-voltage - emf) / resistance, (voltage - emf) / resistance
    if law == Law.CURRENT:
        lowest, highest = np.clip(-limit, lowest, highest), np.clip(limit, lowest, highest)
    elif law == Law.LIMITED:
        most = row[Slot.CURRENT_LIMIT]
        lowest, highest = np.maximum(lowest, np.minimum(-most, highest)), np.minimum(highest, np.maximum(most, lowest))
    return kt * lowest, kt * highest


def _solve(
    budget: BudgetOfLoad,
    opposing: bool,
    needed: Array,
    direction: Array,
    external: Array,
    lowest: Array,
    highest: Array,
) -> tuple[Array, NDArray[np.bool_]]:
    """Solve τ_m − σ·τ_f^m(τ_m) = needed within the range.

    Everything is seen along the motion: x = ±τ_m, so that σ ≥ 0.

    Args:
        budget: Friction budget at each sample.
        opposing: True if the quadratic term acts only where the torques oppose each other.
        needed: Torque without friction [N·m], (n,).
        direction: σ, (n,).
        external: External torque [N·m], (n,).
        lowest: Smallest motor torque [N·m], (n,).
        highest: Largest motor torque [N·m], (n,).

    Returns:
        Motor torque [N·m], and True where there is no solution, (n,) each.
    """
    side = np.where(direction < 0.0, -1.0, 1.0)
    share, t, e = np.abs(direction), side * needed, side * external
    low, high = np.where(side > 0.0, lowest, -highest), np.where(side > 0.0, highest, -lowest)
    km, ke, kms, kes = budget.motor, budget.external, budget.motor_at_rest, budget.external_at_rest
    stribeck = budget.stribeck
    constant = budget.sliding + stribeck * budget.at_rest
    # The branch changes at these torques. Terms that a model lacks add a point at 0, which has no effect.
    points = np.stack(
        [e * (ke / km if km > 0.0 else 0.0), e * (kes / kms if kms > 0.0 else 0.0), e, -e, np.zeros_like(e)]
    )
    edges = np.sort(np.clip(np.concatenate([low[None], points, high[None]]), low, high), axis=0)

    x, found, below = low.copy(), np.zeros(low.shape, dtype=bool), np.zeros(low.shape, dtype=bool)
    for left, right in itertools.pairwise(edges):
        middle = 0.5 * (left + right)
        moving = np.sign(km * middle - ke * e)
        resting = stribeck * np.sign(kms * middle - kes * e)
        quadratic = np.where((middle * e >= 0.0) & opposing, 0.0, stribeck)
        by_motor = np.abs(middle) < np.abs(e)
        fixed = constant - (moving * ke + resting * kes) * e
        fixed = fixed + np.where(by_motor, 0.0, quadratic * budget.external_quad * e * e)
        # On this branch, x − σ·τ_f^m − t is c + b·x − a·x².
        a = share * np.where(by_motor, quadratic * budget.motor_quad, 0.0)
        b = 1.0 - share * (moving * km + resting * kms)
        c = -t - share * fixed
        top = np.where(a > 0.0, np.clip(_quotient(b, 2.0 * a), left, right), right)
        # Positive at the left end already: a jump skips the solution, or the solution lies below the range.
        passed = c + (b - a * left) * left > 0.0
        hit = ~found & (passed | (c + (b - a * top) * top >= 0.0))
        x = np.where(hit, np.where(passed, left, np.clip(_rising_root(a, b, c), left, right)), x)
        below |= hit & passed & (left <= low)
        found |= hit
    return side * np.where(found, x, high), below | ~found


def _rising_root(a: Array, b: Array, c: Array) -> Array:
    """Return the root at which c + b·x − a·x² rises through 0, a ≥ 0; any number if there is none."""
    root = np.sqrt(np.maximum(b * b + 4.0 * a * c, 0.0))
    return np.where(b > 0.0, _quotient(-2.0 * c, b + root), _quotient(b - root, 2.0 * a))


def _quotient(over: Array, under: Array) -> Array:
    """Return the quotient; infinite for a divisor close to 0, 0 for a divisor of 0."""
    with np.errstate(over="ignore"):
        return np.divide(over, under, out=np.zeros(np.shape(over)), where=under > 0.0)


def _output(law: Law, row: Array, supply: float, torque: Array, velocity: Array) -> Array:
    """Return the duty cycle or current [A] for a motor torque, without limits."""
    current = torque / row[Slot.TORQUE_CONSTANT]
    if law == Law.CURRENT:
        return current
    emf = row[Slot.TORQUE_CONSTANT] * velocity
    if law == Law.COAST:
        return _coast_duty(row, supply, current, emf)
    # d·(U − R_s·d·I − R_p·I) = V: only a current that the supply provides makes it sag.
    voltage = current * row[Slot.RESISTANCE] + emf
    draws = voltage * current > 0.0
    drawn = np.where(draws, row[Slot.SUPPLY_SAG] * current * voltage, 0.0)
    left = supply - np.where(draws, row[Slot.PULSE_SAG] * np.abs(current), 0.0)
    return 2.0 * voltage / (left + np.sqrt(np.maximum(left * left - 4.0 * drawn, 0.0)))


def _coast_duty(row: Array, supply: float, current: Array, emf: Array) -> Array:
    low, high = np.full(current.shape, -row[Slot.OUTPUT_LIMIT]), np.full(current.shape, row[Slot.OUTPUT_LIMIT])
    for _ in range(HALVINGS):
        duty = 0.5 * (low + high)
        sagged = np.maximum(supply - row[Slot.SUPPLY_SAG] * np.maximum(duty * current, 0.0), 1e-9)
        too_much = _coast_current(row, duty, sagged, emf) > current
        high, low = np.where(too_much, duty, high), np.where(too_much, low, duty)
    return 0.5 * (low + high)


def _coast_current(row: Array, duty: Array, supply: Array, emf: Array) -> Array:
    motor, series = (row[Slot.INDUCTANCE], row[Slot.PWM_PERIOD]), row[Slot.RESISTANCE] + row[Slot.PULSE_SAG] * abs(duty)
    values = np.broadcast(duty, supply, emf, series)
    each: Iterator[float] = (coast_current(d, u, e, r, *motor) for d, u, e, r in values)
    return np.fromiter(each, dtype=np.float64).reshape(np.broadcast_shapes(duty.shape, supply.shape, emf.shape))


def _run(
    title: str,
    mode: str,
    used: ServoModel,
    model: ServoModel,
    bench: Bench,
    settings: ServoSettings,
    trajectory: Trajectory,
    dt: float,
) -> CompensatedRun:
    time = dt * np.arange(math.ceil(trajectory.duration / dt - 1e-9) + 1)
    goal, saturated = compensated_goal(used, bench, settings, trajectory, time, mode, held=dt)
    wanted, driven = wanted_motion(trajectory, time), trajectory.torque_enable(time)
    fine = replace(model, integrator="leapfrog", dt=FINEST_STEP, substeps=1)
    commands = recorded_trajectory(trajectory.name, time, goal, driven)
    position, velocity = float(wanted.position[0]), float(wanted.velocity[0])
    motion = simulate_trajectory(fine, commands, bench, settings, dt, position, velocity)
    count = len(motion.time)
    return CompensatedRun(
        title=title,
        mode=mode,
        model=used,
        goal=goal[:count],
        motion=motion,
        error=np.where((driven & (time >= SETTLING))[:count], motion.position - wanted.position[:count], np.nan),
        saturated_share=float(saturated[:count].mean()),
    )
