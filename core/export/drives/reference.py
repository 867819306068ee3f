"""Rhoban/bam's drive as mjlab and Isaac Lab run it in MuJoCo: its error with a model's values, and carried-over values.

    found = as_reference_drive(load_model("mx106", "m6"), bench, settings)
    found.plain.mean_mrad, found.carried.mean_mrad

The drive computes law and motor at the beginning of a time step and passes the friction budget to MuJoCo, whose solver
stops the joint within it. Budgets use the loads of the previous step. MuJoCo advances the velocity, then the position
with the new velocity. At the usual 5 ms of training, forces act half a step early.

`reference_motion` implements this update order in one dimension; it is checked against MuJoCo itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, lru_cache

import numpy as np

from core.base.arrays import Array
from core.export.drives.carrying import Carried, Errors, compared
from core.export.notes import lost_terms
from core.export.references import GridRun, converged_positions
from core.kernel.compilation import fingerprint, kept_on_disk
from core.kernel.layout import Law, Slot, bind
from core.kernel.mechanics import clip, dry_friction
from core.motion.trajectories import make_trajectory
from core.servo.actuator import FAST_DECAY, SLOW_DECAY
from core.servo.bench import Bench
from core.servo.model import ServoModel, with_contact, without_terms
from core.servo.settings import ServoSettings
from core.servo.terms import CONTACT_TITLES

STEP = 5e-3
"""Usual time step of a simulation for training [s]."""
FIRMWARE = {
    "mx64": (0.158, 0.9625, math.inf),
    "mx106": (0.158, 0.9625, math.inf),
    "xl320": (0.05048199, 1.0, math.inf),
    "xl330": (4096.0 / math.tau / (256.0 * 885.0), 1.0, 1.75),
}
"""Constants that release 1.0.2 fixes for the servos of its actuator: duty cycle per rad and unit of gain, largest duty
cycle, current limit [A]. Its STS3215 fails in mjlab and it refuses its eRobs."""
KEPT = ("command_delay", "error_gain_ratio")
"""Command path terms that it has: a delay of whole steps, and the gain."""
SOLVER_RATE, SOLVER_SHARE = 200.0 / 0.9999, 0.99
"""Its `stiff_frictionloss`: largest decay rate of the velocity [1/s], and share of the stopping torque."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Limits of an engine's drive besides its motor."""

    duty: float
    """Largest duty cycle."""
    current: float = math.inf
    """Current limit that the firmware tries to hold through the duty cycle [A]."""
    sag: float = 0.0
    """Drop of the supply voltage per motor torque [V/(N·m)]."""


@dataclass(frozen=True, kw_only=True)
class ReferenceDrive(Carried):
    """Model as mjlab's actuator holds it."""

    delay_steps: int
    """Command delay in time steps of `STEP`, rounded up."""
    gain: float
    """Gain that replaces the one written into the servo."""
    lost: tuple[str, ...]
    """Terms of the model that it lacks, and terms that it adds, in words."""


def refusal(model: ServoModel) -> str:
    """Return the reason why mjlab's actuator cannot hold a model; empty if it can."""
    if model.control.law != "voltage":
        return "it has the voltage law only"
    if model.control.current_limit:
        return "its current limit is a constant of its own"
    return "" if model.servo in FIRMWARE else f"it does not run the servo {model.servo}"


def as_reference_drive(model: ServoModel, bench: Bench, settings: ServoSettings) -> ReferenceDrive:
    """Measure mjlab's actuator with a model's values at `STEP`, and carry them over if that pays off.

    The model must not have a `refusal`.
    """
    lost = lost_terms(model, KEPT)
    lost += ["fast decay of the drive"] if model.control.drive == FAST_DECAY else []
    lost += [] if model.contact == "rigid" else [f"{CONTACT_TITLES[model.contact].lower()} contact"]
    lost += ["integral gain"] if settings.ki > 0.0 else []
    error_gain, largest_duty, current_limit = FIRMWARE[model.servo]
    if math.isfinite(current_limit):
        lost.append(f"a motor without its current limit of {current_limit:g} A")
    if not math.isclose(largest_duty, model.output_limit):
        lost.append(f"a largest duty cycle other than {largest_duty:g}")
    terms = [name for name in model.command_path if name != "error_gain_ratio"]
    control = replace(model.control, drive=SLOW_DECAY)
    reduced = replace(without_terms(with_contact(model, "rigid"), terms), control=control)
    found = in_engine_order(model, reduced, bench, settings, STEP, Limits(duty=largest_duty, current=current_limit))
    return ReferenceDrive(
        plain=found.plain,
        carried=found.carried,
        delay_steps=delay_steps(model, STEP),
        gain=settings.kp * model.control.error_gain * model.values.get("error_gain_ratio", 1.0) / error_gain,
        lost=tuple(lost),
    )


def delay_steps(model: ServoModel, step: float) -> int:
    """Return the command delay in time steps of the physics, rounded up; `step` in s."""
    return math.ceil(model.values.get("command_delay", 0.0) / step - 1e-9)


def in_engine_order(
    model: ServoModel, held: ServoModel, bench: Bench, settings: ServoSettings, step: float, limits: Limits
) -> Carried:
    """Compare `held` in the drive with the model's own motion, cached; `step` is the physics' time step [s]."""
    texts = [replace(one, name="", provenance={}).to_json_text() for one in (model, held)]
    return _in_engine_order(*texts, bench, settings, step, limits)


@lru_cache(maxsize=32)
def _in_engine_order(
    text: str, held_text: str, bench: Bench, settings: ServoSettings, step: float, limits: Limits
) -> Carried:
    model, held = ServoModel.from_json_text(text), ServoModel.from_json_text(held_text)
    return compared(held, bench, settings, lambda runs: engine_errors(model, runs, step, limits))


def engine_errors(model: ServoModel, runs: list[GridRun], step: float, limits: Limits) -> Errors:
    """Return a function from a model's values to the drive's errors against `model`, goals held over each step."""
    paths = [make_trajectory(run.trajectory) for run in runs]
    counts = [round(path.duration / step) for path in paths]
    time = step * np.arange(max(counts))
    goals = np.array([path.goal(time) for path in paths])
    driven = np.array([path.torque_enable(time) for path in paths], dtype=np.float64)
    supply = np.array([run.settings.supply_voltage for run in runs])
    expected = [converged_positions(model, run, step, held=True) for run in runs]

    def errors(held: ServoModel) -> list[Array]:
        setups = [held.setup(run.bench, run.settings, step) for run in runs]
        row = held.rows()[0]
        bound = np.array([bind(row, setup) for setup in setups])
        bound[:, Slot.OUTPUT_LIMIT] = limits.duty
        late = delay_steps(model, step)
        found = reference_motion(
            bound, supply, goals, driven, step, delay_steps=late, current_limit=limits.current, sag=limits.sag
        )
        return [
            positions[: min(count, len(path))] - path[:count]
            for positions, count, path in zip(found, counts, expected, strict=True)
        ]

    return errors


def reference_motion(
    rows: Array,
    supply: Array,
    goals: Array,
    driven: Array,
    step: float,
    *,
    delay_steps: int = 0,
    current_limit: float = math.inf,
    sag: float = 0.0,
) -> Array:
    """Simulate the drive's update order from rest at 0.

    Args:
        rows: Kernel rows bound to their benches, shape (runs, ROW).
        supply: Supply voltages [V], shape (runs,).
        goals: Goals held over each time step [rad], shape (runs, steps).
        driven: 1 where the motor is driven, 0 where it is an open circuit, shape (runs, steps).
        step: Time step of the engine [s].
        delay_steps: Delay of goals in time steps.
        current_limit: Current limit that the firmware tries to hold through the duty cycle [A].
        sag: Drop of the supply voltage per motor torque of the previous step [V/(N·m)].

    Returns:
        Positions before each time step [rad], shape (runs, steps).
    """
    positions = np.empty(goals.shape)
    _kernel()(rows, supply, goals, driven, step, delay_steps, current_limit, sag, positions)
    return positions


@cache
def _kernel() -> Callable[..., None]:
    """Compile the loop of `reference_motion`."""
    variant = fingerprint(Law.VOLTAGE, False)
    limit_slot, armature, inertia_slot = Slot.OUTPUT_LIMIT, Slot.ARMATURE, Slot.INERTIA
    gravity, offset, gain = Slot.GRAVITY_TORQUE, Slot.ANGLE_OFFSET, Slot.KP
    kt_slot, r_slot, kc, kv, km, ke = (
        Slot.TORQUE_CONSTANT, Slot.RESISTANCE, Slot.FRICTION_BASE, Slot.FRICTION_VISCOUS, Slot.LOAD_MOTOR,
        Slot.LOAD_EXTERNAL,
    )  # fmt: skip
    kcs, kms, kes, kmq, keq, vs, alpha = (
        Slot.FRICTION_STRIBECK, Slot.LOAD_MOTOR_STRIBECK, Slot.LOAD_EXTERNAL_STRIBECK, Slot.LOAD_MOTOR_QUAD,
        Slot.LOAD_EXTERNAL_QUAD, Slot.STRIBECK_VELOCITY, Slot.STRIBECK_EXPONENT,
    )  # fmt: skip

    def motion(
        rows: Array, supply: Array, goals: Array, driven: Array, step: float, delay_steps: int, current_limit: float,
        sag: float, positions: Array,
    ) -> None:  # fmt: skip
        if variant == 0:  # never; naming it here puts it into the closure and thus into the cache key
            return
        for j in range(len(rows)):
            p = rows[j]
            inertia, viscous = p[inertia_slot] + p[armature], p[kv]
            per_speed = p[kt_slot] ** 2 / p[r_slot]
            limit = supply[j] * p[kt_slot] / p[r_slot]
            q, v, motor, unclipped, load = 0.0, 0.0, 0.0, 0.0, -p[gravity] * math.sin(p[offset])
            for k in range(goals.shape[1]):
                positions[j, k] = q
                asked = p[gain] * (goals[j, max(k - delay_steps, 0)] - q)
                volts = supply[j] - sag * abs(unclipped)
                middle, span = p[kt_slot] * v / volts, p[r_slot] * current_limit / volts
                duty = clip(middle + clip(asked - middle, span), p[limit_slot])
                sliding, at_rest = dry_friction(
                    motor, load, p[kc], p[km], p[ke], p[kcs], p[kms], p[kes], p[kmq], p[keq], 0.0
                )
                budget = sliding + at_rest * math.exp(-((abs(v) / p[vs]) ** p[alpha]))
                unclipped = driven[j, k] * (volts * p[kt_slot] / p[r_slot] * duty - per_speed * v)
                motor = clip(unclipped, limit)
                load = -p[gravity] * math.sin(q + p[offset])
                free = motor + load - viscous * v
                friction = clip(-SOLVER_SHARE * (SOLVER_RATE * inertia * v + free), budget)
                v += step * (free + friction) / (inertia + step * viscous)
                q += step * v

    return kept_on_disk(motion, error_model="numpy", nogil=True)
