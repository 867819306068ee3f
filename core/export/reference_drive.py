"""Rhoban/bam's actuator as mjlab runs it: what it makes of a model, and values that move there as the model does.

    found = as_reference_drive(load_model("mx106", "m6"), bench, settings)
    found.plain.mean_mrad, found.carried.mean_mrad

The actuator computes law and motor at the beginning of a step and writes the friction budget into MuJoCo, whose solver
stops the joint within it; budgets know the loads of the step before. MuJoCo advances the velocity, then the position
with it. At the 5 ms of a training all this takes forces half a step ahead. Values that were identified with a converged
step err by that; values carried over to this order and step absorb most of it, and belong to it.

`reference_motion` is this order of update in one dimension, checked against MuJoCo itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray

from core.actuator import setup_row
from core.bench import Bench
from core.export.approximation import MOTOR
from core.export.grid import GridRun, bench_grid, converged_positions, held_back_grid
from core.friction import CONTACT_TITLES, FRICTION_TERMS
from core.kernel.compilation import fingerprint, kept_on_disk
from core.kernel.layout import Law, Slot, bind
from core.kernel.step import clip, dry_friction
from core.model import ServoModel
from core.parameters import ParameterSet
from core.recording import ServoSettings
from core.trajectories import make_trajectory

Array = NDArray[np.float64]

STEP = 5e-3
"""Usual step of a training's simulation [s]."""
FIRMWARE = {
    "mx64": (0.158, 0.9625, math.inf),
    "mx106": (0.158, 0.9625, math.inf),
    "xl320": (0.05048199, 1.0, math.inf),
    "xl330": (4096.0 / math.tau / (256.0 * 885.0), 1.0, 1.75),
}
"""Constants that release 1.0.2 fixes for the servos its actuator runs: duty cycle per rad and unit of gain, largest
duty cycle, current limit [A]. Its STS3215 fails in mjlab, its eRobs are refused."""
KEPT = ("command_delay", "error_gain_ratio")
"""Command path terms that it has a place for: whole steps of delay, and the gain."""
SOLVER_RATE, SOLVER_SHARE = 200.0 / 0.9999, 0.99
"""Its `stiff_frictionloss`: velocity falls at this rate [1/s] at most, and friction gives this share of what stops."""
WORTH_CARRYING = 1e-4
"""Mean error above which values are carried over [rad]."""
RANGE = math.log(3.0)
"""A value may move by this factor either way."""
PRIOR = 1e-2
"""Weight of the values' own logarithms [rad]: it decides only what the motions leave open."""
SHIFT = 1e-3
"""Step of a derivative by differences, in logarithms."""


@dataclass(frozen=True, kw_only=True)
class Moved:
    """Values in the reference's drive and how far their motion is from the model's."""

    model: ServoModel
    errors: Array
    """Mean absolute position error of each run of the grid [rad], (16,)."""
    held_back_error: float
    """The same over runs at a load and gain that no fit saw [rad]."""

    @property
    def mean_mrad(self) -> float:
        """Mean over the grid [mrad]."""
        return 1e3 * float(self.errors.mean())

    @property
    def worst_mrad(self) -> float:
        """Mean error of the worst run [mrad]."""
        return 1e3 * float(self.errors.max())


@dataclass(frozen=True, kw_only=True)
class ReferenceDrive:
    """What the reference's drive makes of a model."""

    plain: Moved
    carried: Moved | None
    """None where the plain values are as good."""
    delay_steps: int
    """Delay of the commands in steps of `STEP`, rounded up."""
    gain: float
    """What takes the place of the gain written into the servo."""
    lost: tuple[str, ...]
    """Terms of the model that it has no place for, and what it adds, in words."""


def refusal(model: ServoModel) -> str:
    """Why the reference's actuator cannot hold a model at all; empty where it can."""
    if model.control.law != "voltage":
        return "it knows the voltage law only"
    return "" if model.servo in FIRMWARE else f"it does not run the servo {model.servo}"


def as_reference_drive(model: ServoModel, bench: Bench, settings: ServoSettings) -> ReferenceDrive:
    """Measure the drive with a model's values at `STEP`, and carry them over where that is worth it.

    Takes seconds, and is remembered. model: one without a `refusal`.
    """
    return _as_reference_drive(replace(model, name="", provenance={}).to_json_text(), bench, settings)


@lru_cache(maxsize=16)
def _as_reference_drive(text: str, bench: Bench, settings: ServoSettings) -> ReferenceDrive:
    model = ServoModel.from_json_text(text)
    lost = [name.replace("_", " ") for name in model.command_path if name not in KEPT and model.values[name] > 0.0]
    lost += ["drive/coast bridge"] if model.control.bridge == "coast" else []
    lost += [] if model.contact == "rigid" else [f"{CONTACT_TITLES[model.contact].lower()} contact"]
    lost += ["integral gain"] if settings.ki > 0.0 else []
    error_gain, largest_duty, current_limit = FIRMWARE[model.servo]
    if math.isfinite(current_limit):
        lost.append(f"a motor without its current limit of {current_limit:g} A")
    if not math.isclose(largest_duty, model.control.output_limit):
        lost.append(f"a largest duty cycle other than {largest_duty:g}")
    start = _reduced(model)
    runs, others = _Runs(model, bench_grid(bench, settings)), _Runs(model, held_back_grid(bench, settings))
    plain = _moved(start, runs, others)
    carried = _moved(carried_over(start, runs.errors), runs, others) if plain.errors.mean() > WORTH_CARRYING else None
    better = carried is not None and carried.held_back_error < plain.held_back_error
    return ReferenceDrive(
        plain=plain,
        carried=carried if better else None,
        delay_steps=_delay_steps(model),
        gain=settings.kp * model.control.error_gain * model.values.get("error_gain_ratio", 1.0) / error_gain,
        lost=tuple(lost),
    )


def reference_motion(
    rows: Array,
    supply: Array,
    goals: Array,
    driven: Array,
    step: float,
    *,
    delay_steps: int = 0,
    current_limit: float = math.inf,
) -> Array:
    """Positions before each step [rad], (runs, steps), from rest at 0.

    Args:
        rows: Kernel rows on their benches, (runs, ROW).
        supply: [V], (runs,).
        goals: Held over each step [rad], (runs, steps).
        driven: 1 where the motor is driven, 0 where it is an open circuit, (runs, steps).
        step: Of the engine [s].
        delay_steps: By which goals come late.
        current_limit: To which the firmware's duty cycle tries to hold the current [A].
    """
    positions = np.empty(goals.shape)
    _kernel()(rows, supply, goals, driven, step, delay_steps, current_limit, positions)
    return positions


@cache
def _kernel() -> Callable[..., None]:
    """`reference_motion`, compiled."""
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

    def motion(rows, supply, goals, driven, step, delay_steps, current_limit, positions):
        if variant == 0:  # never; naming it here puts it into the closure, and so into the cache's key
            return
        for j in range(len(rows)):
            p = rows[j]
            inertia, viscous = p[inertia_slot] + p[armature], p[kv]
            per_speed = p[kt_slot] ** 2 / p[r_slot]
            limit = supply[j] * p[kt_slot] / p[r_slot]
            q, v, motor, load = 0.0, 0.0, 0.0, -p[gravity] * math.sin(p[offset])
            for k in range(goals.shape[1]):
                positions[j, k] = q
                asked = p[gain] * (goals[j, max(k - delay_steps, 0)] - q)
                middle, span = p[kt_slot] * v / supply[j], p[r_slot] * current_limit / supply[j]
                duty = clip(middle + clip(asked - middle, span), p[limit_slot])
                sliding, at_rest = dry_friction(
                    motor, load, p[kc], p[km], p[ke], p[kcs], p[kms], p[kes], p[kmq], p[keq], 0.0
                )
                budget = sliding + at_rest * math.exp(-((abs(v) / p[vs]) ** p[alpha]))
                motor = clip(driven[j, k] * (limit * duty - per_speed * v), limit)
                load = -p[gravity] * math.sin(q + p[offset])
                free = motor + load - viscous * v
                friction = clip(-SOLVER_SHARE * (SOLVER_RATE * inertia * v + free), budget)
                v += step * (free + friction) / (inertia + step * viscous)
                q += step * v

    return kept_on_disk(motion, error_model="numpy", nogil=True)


class _Runs:
    """Runs of a grid: commands of each step, and where the model is before it."""

    def __init__(self, model: ServoModel, runs: list[GridRun]) -> None:
        paths = [make_trajectory(run.trajectory) for run in runs]
        self._steps = [round(path.duration / STEP) for path in paths]
        time = STEP * np.arange(max(self._steps))
        self._goals = np.array([path.goal(time) for path in paths])
        self._driven = np.array([path.torque_enable(time) for path in paths], dtype=np.float64)
        self._delay, self._firmware = _delay_steps(model), FIRMWARE[model.servo]
        self._supply = np.array([run.settings.supply_voltage for run in runs])
        self._runs = runs
        self._expected = [converged_positions(model, run, STEP, held=True) for run in runs]

    def errors(self, model: ServoModel) -> list[Array]:
        """Position errors [rad] of each run, (steps,) each."""
        setups = [setup_row(model.control, run.bench, run.settings, STEP) for run in self._runs]
        row = model.rows()[0]
        bound = np.array([bind(row, setup) for setup in setups])
        _, bound[:, Slot.OUTPUT_LIMIT], limit = self._firmware
        found = reference_motion(
            bound, self._supply, self._goals, self._driven, STEP, delay_steps=self._delay, current_limit=limit
        )
        counts = [min(steps, len(path)) for steps, path in zip(self._steps, self._expected, strict=True)]
        return [found[i, :n] - self._expected[i][:n] for i, n in enumerate(counts)]


def _reduced(model: ServoModel) -> ServoModel:
    """The model without what the drive has no place for."""
    kept = [p for p in model.parameters.values() if p.name not in model.command_path or p.name == "error_gain_ratio"]
    others = ("bristle_stiffness", "bristle_damping")
    return replace(
        model,
        contact="rigid",
        parameters=ParameterSet([p for p in kept if p.name not in others]),
        control=replace(model.control, bridge="brake"),
    )


def _delay_steps(model: ServoModel) -> int:
    return math.ceil(model.values.get("command_delay", 0.0) / STEP - 1e-9)


def _moved(model: ServoModel, runs: _Runs, others: _Runs) -> Moved:
    errors, held_back = (np.array([np.abs(run).mean() for run in grid.errors(model)]) for grid in (runs, others))
    return Moved(model=model, errors=errors, held_back_error=float(held_back.mean()))


def carried_over(start: ServoModel, errors: Callable[[ServoModel], list[Array]]) -> ServoModel:
    """Return the model of the smallest errors, by Gauss–Newton steps over the logarithms of friction and motor values.

    Args:
        start: The identified values.
        errors: Position errors of runs [rad] that an order of update with a model's values makes.
    """
    # With it comes half a second, which most exports need not wait for.
    from scipy.optimize import least_squares

    names = [name for name in (*FRICTION_TERMS[start.friction], *MOTOR) if start.values[name] > 0.0]
    origin = np.array([start.values[name] for name in names])

    def moved(shift: Array) -> ServoModel:
        values = dict(zip(names, (origin * np.exp(shift)).tolist(), strict=True))
        return start.with_parameters(start.parameters.with_values(values))

    def residuals(shift: Array) -> Array:
        return np.concatenate([*errors(moved(shift)), PRIOR * shift])

    def jacobian(shift: Array) -> Array:
        here = residuals(shift)
        return np.stack([residuals(shift + SHIFT * way) - here for way in np.eye(len(shift))], axis=1) / SHIFT

    found = least_squares(
        residuals,
        np.zeros(len(names)),
        jacobian,  # pyright: ignore[reportArgumentType]
        (-RANGE, RANGE),
        max_nfev=12,
    )
    return moved(found.x)
