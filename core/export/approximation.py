"""Approximate a model by the best servo an engine can represent, fitted to the model's motion.

The values are fitted to the model's own simulated motion over a grid of runs, not truncated. If the engine has the
model's friction law and the model's own values are good enough, they are kept. Otherwise three candidates compete:
those values, refitted friction, and refitted friction and motor. The one with the smallest error on held-out runs wins.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from core.base.arrays import Array
from core.export.references import GridRun, bench_grid, converged_positions, held_back_grid
from core.kernel.population import LANES, SUMS, population_kernel
from core.motion.simulation import NO_LOAD
from core.motion.trajectories import make_trajectory
from core.servo.actuator import SLOW_DECAY, setup_row
from core.servo.bench import Bench
from core.servo.friction import friction_budget
from core.servo.model import ServoModel
from core.servo.parameters import Parameter, ParameterSet
from core.servo.settings import ServoSettings
from core.servo.terms import FRICTION_TERMS

FRICTION = ("friction_base", "friction_viscous")
STRIBECK = (*FRICTION, "friction_stribeck", "dtheta_stribeck")
MOTOR = ("kt", "R", "armature")
PLAIN = ("kt", "error_gain_ratio", "armature")
NO_LIMIT = 1e9
"""Supply voltage that never limits a current [V]."""
SPAN = np.log(30.0)
"""A refit searches each value between 1/30 and 30 times its start value."""
FIT_STEP = 2e-3
"""Time step of the search's simulations [s]. The full model uses it too, so most of the integration error cancels."""
GENERATIONS_OF_FRICTION, GENERATIONS_OF_ALL = 25, 60
FIRST_STEP = 0.3
GOOD_ENOUGH = 5e-4
"""Mean error below which the model's own values are kept without a refit [rad]."""
UNSTABLE = 1e9
"""Error assigned to a candidate whose simulation is not finite [rad]."""
SEEDS = (1, 2)
"""Each search runs once per seed and the better result is kept: the error has several local minima."""


@dataclass(frozen=True, kw_only=True)
class Form:
    """Servo that an engine's joint and drive can represent, as a subset of our models."""

    friction: str = "m1"
    """"m1", "m2", or "viscous" for engines without Coulomb friction."""
    alpha: float = 2.0
    """Stribeck exponent that the engine fixes; for "m2" only."""
    kept: tuple[str, ...] = ()
    """Command path terms that the engine has."""
    plain_drive: bool = False
    """True for a drive with kp, kd and a torque limit instead of a motor. The back-EMF is then part of kd, inside the
    torque limit, and a current law's limit by the supply voltage is lost."""

    @property
    def refitted(self) -> tuple[str, ...]:
        """Names of the friction parameters that a refit changes."""
        return {"m1": FRICTION, "m2": STRIBECK, "viscous": FRICTION[1:]}[self.friction]

    @property
    def motor(self) -> tuple[str, ...]:
        """Names of the motor parameters that a refit changes."""
        return PLAIN if self.plain_drive else MOTOR

    def holds_friction(self, model: ServoModel) -> bool:
        """True if the model's own friction budget can be written unchanged."""
        return model.friction == self.friction and model.values.get("alpha", self.alpha) == self.alpha

    def holds(self, model: ServoModel) -> bool:
        """True if the model's own friction, contact included, can be written unchanged."""
        return model.contact == "rigid" and self.holds_friction(model)


@dataclass(frozen=True, kw_only=True)
class Approximation:
    """Model that an engine can represent, and its error against the full model."""

    model: ServoModel
    refitted: tuple[str, ...]
    """Names of the changed values; empty if the model's own were best."""
    errors: Array
    """Mean absolute position error of each run [rad], (n,)."""
    runs: tuple[GridRun, ...]
    held_back_error: float
    """Mean error over held-out runs, which the refit did not use [rad]."""

    @property
    def mean_mrad(self) -> float:
        """Mean over the runs [mrad]."""
        return 1e3 * float(self.errors.mean())

    @property
    def worst_mrad(self) -> float:
        """Mean error of the worst run [mrad]."""
        return 1e3 * float(self.errors.max())


def in_form(model: ServoModel, bench: Bench, form: Form) -> ServoModel:
    """Reduce a model to a form: the start of a refit, and exact if nothing is lost.

    Start values of friction are read from the model's budget at half the bench's load: at rest, at a slow speed and at
    four times that speed.
    """
    load = 0.5 * bench.gravity_torque
    scale = 0.5 * model.values.get("dtheta_stribeck", 1.0) + 0.5
    rest, slow, fast = friction_budget(
        model.friction, model.values, load, -load, [0.0, scale, 4.0 * scale], model.quadratic_gate, model.contact
    )
    viscous = max((fast - slow) / (3.0 * scale), 0.01 * slow / scale, 1e-6)
    base = max(float(slow - viscous * scale), 0.05 * float(slow), 1e-6)
    start = {"friction_base": base, "friction_viscous": viscous}
    if form.friction == "m2":
        speed = model.values.get("dtheta_stribeck", 0.2 * scale)
        start |= {"friction_stribeck": max(float(rest) - base, 0.05 * base), "dtheta_stribeck": speed}
    if form.friction == "viscous":
        start["friction_base"] = 0.0
    if form.holds(model):
        start = {name: model.values[name] for name in FRICTION_TERMS[model.friction]}
    start |= {"alpha": form.alpha} if form.friction == "m2" else {}
    control = replace(model.control, drive=SLOW_DECAY)
    if form.plain_drive:
        start |= {"error_gain_ratio": model.values.get("error_gain_ratio", 1.0)}
        if control.law == "voltage":
            supply, kt = model.supply_voltage, model.values["kt"]
            start["kt"] = supply * kt / model.values["R"]
            control = replace(control, law="current", damping=kt / supply)
    own = [p for p in model.parameters.values() if p.name in (*MOTOR, "q_offset", *form.kept) and p.name not in start]
    missing = [
        Parameter(name=name, symbol="", unit="", value=value, lower=0.0, upper=value) for name, value in start.items()
    ]
    return replace(
        model,
        friction="m2" if form.friction == "m2" else "m1",
        contact="rigid",
        parameters=ParameterSet([*own, *missing]),
        control=control,
        integrator="leapfrog",
        dt=FIT_STEP,
        substeps=1,
        provenance={},
    )


def settings_in_form(written: ServoModel, model: ServoModel, form: Form, settings: ServoSettings) -> ServoSettings:
    """Return the settings under which the written model behaves as the model does under `settings`."""
    if not form.plain_drive:
        return settings
    own = replace(settings, supply_voltage=NO_LIMIT)
    if model.control.law == "current":
        return own
    # The back-EMF does not depend on kp, but the law's own velocity gain does: it scales with its square root.
    given = model.control.damping if settings.damping is None else settings.damping
    return replace(own, damping=written.control.damping / math.sqrt(settings.kp) + given)


def approximate(model: ServoModel, bench: Bench, settings: ServoSettings, form: Form) -> Approximation:
    """Return the model of a form whose motion is closest to the model's.

    Takes a few seconds; the result is cached for the next target and does not depend on the model's name.
    """
    found = _approximate(replace(model, name="", provenance={}).to_json_text(), bench, settings, form)
    return replace(found, model=replace(found.model, name=model.name))


@lru_cache(maxsize=32)
def _approximate(text: str, bench: Bench, settings: ServoSettings, form: Form) -> Approximation:
    model = ServoModel.from_json_text(text)
    start = in_form(replace(model, supply_voltage=settings.supply_voltage), bench, form)
    runs, others = bench_grid(bench, settings), held_back_grid(bench, settings)
    candidates: list[tuple[ServoModel, tuple[str, ...]]] = []
    if form.holds(model):
        errors = _errors(runs, model, start, form)
        if errors.mean() < GOOD_ENOUGH:
            held_back = float(_errors(others, model, start, form).mean())
            return Approximation(model=start, refitted=(), errors=errors, runs=tuple(runs), held_back_error=held_back)
        candidates.append((start, ()))
    names = form.refitted
    search = _Search(model, start, runs, form)
    friction = search.refit(start, names, GENERATIONS_OF_FRICTION)
    every = names + form.motor
    candidates += [(friction, names), (search.refit(friction, every, GENERATIONS_OF_ALL), every)]
    scored = [(float(_errors(others, model, candidate, form).mean()), candidate) for candidate, _ in candidates]
    best = int(np.argmin([score for score, _ in scored]))
    score, chosen = scored[best]
    return Approximation(
        model=chosen,
        refitted=candidates[best][1],
        errors=_errors(runs, model, chosen, form),
        runs=tuple(runs),
        held_back_error=score,
    )


def _errors(runs: list[GridRun], model: ServoModel, written: ServoModel, form: Form) -> Array:
    """Return the mean absolute position error of each run [rad]."""
    return np.array(
        [
            np.abs(
                converged_positions(model, run)
                - converged_positions(
                    written, replace(run, settings=settings_in_form(written, model, form, run.settings))
                )
            ).mean()
            for run in runs
        ]
    )


class _Search:
    """Runs of a refit in the layout of the population kernel."""

    def __init__(self, target: ServoModel, start: ServoModel, runs: list[GridRun], form: Form) -> None:
        motions = [converged_positions(target, run, FIT_STEP, step=FIT_STEP) for run in runs]
        times = [FIT_STEP * (np.arange(len(motion)) + 0.5) for motion in motions]
        settings = [settings_in_form(start, target, form, run.settings) for run in runs]
        trajectories = [make_trajectory(run.trajectory) for run in runs]
        self._position = np.concatenate(motions)
        self._samples = np.array([len(motion) for motion in motions])
        self._first = np.cumsum(self._samples) - self._samples
        self._goal = np.concatenate([t.goal(time) for t, time in zip(trajectories, times, strict=True)])
        self._enable = np.concatenate(
            [t.torque_enable(time).astype(np.float64) for t, time in zip(trajectories, times, strict=True)]
        )
        self._supply = np.full(len(self._position), settings[0].supply_voltage)
        self._setups = np.array(
            [setup_row(start.control, run.bench, own, FIT_STEP) for run, own in zip(runs, settings, strict=True)]
        )
        full = any(start.needs_full_step(own) for own in settings)
        self._kernel = population_kernel(full, *start.kernel_variant)

    def _errors(self, rows: Array) -> Array:
        """Return each candidate's mean absolute error over all runs [rad]."""
        sums = np.empty((len(self._setups), len(rows), SUMS))
        chosen = np.arange(len(self._setups))
        self._kernel(
            rows, self._setups, chosen, self._first, self._samples, np.ones_like(self._samples), self._first,
            np.zeros_like(self._samples), self._goal, np.ones_like(self._goal), self._enable, self._supply, NO_LOAD,
            self._position, np.zeros_like(self._position), sums, np.empty((0, len(rows))),
        )  # fmt: skip
        return sums[:, :, 0].sum(axis=0) / len(self._position)

    def refit(self, start: ServoModel, names: tuple[str, ...], generations: int) -> ServoModel:
        """Minimise the error over the logarithms of the named values by CMA-ES."""
        # cmaes imports scipy.stats, which takes half a second; most exports need neither.
        from cmaes import CMA

        others = {name: value for name, value in start.values.items() if name not in names}
        model = start.with_parameters(_all_free(start.parameters).frozen_at(others))
        free = model.parameters.vector()
        origin = np.maximum(free, 1e-9)
        bounds = np.tile([-SPAN, SPAN], (len(free), 1))
        best, best_error = free, np.inf
        for seed in SEEDS:
            optimizer = CMA(np.zeros(len(free)), FIRST_STEP, bounds=bounds, seed=seed, population_size=LANES)
            for _ in range(generations):
                asked = np.array([optimizer.ask() for _ in range(LANES)])
                errors = self._errors(model.rows(origin * np.exp(asked)))
                errors = np.where(np.isfinite(errors), errors, UNSTABLE)
                optimizer.tell([(x, float(error)) for x, error in zip(asked, errors, strict=True)])
                if errors.min() < best_error:
                    best_error, best = float(errors.min()), origin * np.exp(asked[errors.argmin()])
                if optimizer.should_stop():
                    break
        return start.with_values(dict(zip(_names(model), best.tolist(), strict=True)))


def _all_free(parameters: ParameterSet) -> ParameterSet:
    return ParameterSet([replace(p, frozen=False) for p in parameters.values()])


def _names(model: ServoModel) -> list[str]:
    return [parameter.name for parameter in model.parameters.free]
