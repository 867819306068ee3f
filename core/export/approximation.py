"""The best Coulomb–viscous (M1) servo in place of a richer one, for engines whose joints know nothing else.

Not a truncation: the values are refitted to the model's own simulated motion over the bench's grid. Up to three
candidates compete — the model's own values where it is M1 already, friction refitted, friction and motor refitted —
and the one with the smallest error on runs it was not fitted to is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from cmaes import CMA
from numpy.typing import NDArray

from core.actuator import setup_row
from core.bench import Bench
from core.export.grid import GridRun, bench_grid, converged_positions, held_back_grid, mean_errors
from core.friction import friction_budget
from core.kernel.population import LANES, SUMS, population_kernel
from core.model import ServoModel
from core.parameters import Parameter, ParameterSet
from core.recording import ServoSettings
from core.trajectories import make_trajectory

Array = NDArray[np.float64]

FRICTION = ("friction_base", "friction_viscous")
MOTOR = ("kt", "R", "armature")
SPAN = np.log(30.0)
"""A refit searches each value from a thirtieth to thirty times its start."""
FIT_STEP = 1e-3
"""Step of the search's simulations [s], of the richer model's motion too, so that its error cancels."""
GENERATIONS = {FRICTION: 25, FRICTION + MOTOR: 60}
FIRST_STEP = 0.3
UNSTABLE = 1e9
"""Error of a candidate whose simulation left the numbers [rad]."""
SEEDS = (1, 2)
"""Each search is run with both and the better end is kept: the error has more than one valley."""


@dataclass(frozen=True, kw_only=True)
class M1Approximation:
    """A Coulomb–viscous model in place of another, and how far it is from it."""

    model: ServoModel
    refitted: tuple[str, ...]
    """Names of the values that were changed; empty when the model's own did best."""
    errors: Array
    """Mean absolute position error of each run of the grid [rad], (16,)."""
    runs: tuple[GridRun, ...]
    held_back_error: float
    """The same over runs the refit did not see [rad]."""

    @property
    def mean_mrad(self) -> float:
        """Mean over the grid [mrad]."""
        return 1e3 * float(self.errors.mean())

    @property
    def worst_mrad(self) -> float:
        """Mean error of the worst run [mrad]."""
        return 1e3 * float(self.errors.max())

    @property
    def worst_run(self) -> str:
        """Which one it is."""
        return self.runs[int(self.errors.argmax())].title


def as_m1(model: ServoModel, bench: Bench, kept: Sequence[str]) -> ServoModel:
    """The model cut down to Coulomb–viscous friction, a drive/brake bridge and the command path terms in `kept`.

    Friction starts at the richer model's budget at half the bench's load: moving slowly, and its slope from there to
    four times the speed.
    """
    load = 0.5 * bench.gravity_torque
    scale = 0.5 * model.values.get("dtheta_stribeck", 1.0) + 0.5
    slow, fast = friction_budget(model.friction, model.values, load, -load, [scale, 4.0 * scale], model.quadratic_gate)
    viscous = max((fast - slow) / (3.0 * scale), 0.01 * slow / scale, 1e-6)
    start = {"friction_base": max(float(slow - viscous * scale), 0.05 * float(slow), 1e-6), "friction_viscous": viscous}
    if model.friction == "m1":
        start = {name: model.values[name] for name in FRICTION}
    own = [p for name, p in model.parameters.items() if name in (*MOTOR, "q_offset", *FRICTION, *kept)]
    missing = [
        Parameter(name=name, symbol="", unit="", value=value, lower=0.0, upper=value)
        for name, value in start.items()
        if name not in model.parameters
    ]
    parameters = ParameterSet([*own, *missing]).with_values(start)
    return replace(
        model, friction="m1", parameters=parameters, control=replace(model.control, bridge="brake"), provenance={}
    )


def approximate_as_m1(model: ServoModel, bench: Bench, settings: ServoSettings, kept: Sequence[str]) -> M1Approximation:
    """Return the Coulomb–viscous model whose motion is closest to the model's; a few seconds.

    kept: command path terms the target can express. The same model gives the same result.
    """
    start = as_m1(model, bench, kept)
    runs, others = bench_grid(bench, settings), held_back_grid(bench, settings)
    candidates: list[tuple[ServoModel, tuple[str, ...]]] = [(start, ())] if model.friction == "m1" else []
    search = _Search(model, start, runs)
    friction = search.refit(start, FRICTION)
    candidates += [(friction, FRICTION), (search.refit(friction, FRICTION + MOTOR), FRICTION + MOTOR)]
    scored = [(float(mean_errors(others, model, candidate).mean()), candidate) for candidate, _ in candidates]
    best = int(np.argmin([score for score, _ in scored]))
    score, chosen = scored[best]
    return M1Approximation(
        model=chosen,
        refitted=candidates[best][1],
        errors=mean_errors(runs, model, chosen),
        runs=tuple(runs),
        held_back_error=score,
    )


class _Search:
    """The runs of a refit, laid out for the population kernel."""

    def __init__(self, target: ServoModel, start: ServoModel, runs: list[GridRun]) -> None:
        motions = [converged_positions(target, run, FIT_STEP, substeps=1) for run in runs]
        times = [FIT_STEP * np.arange(len(motion)) for motion in motions]
        trajectories = [make_trajectory(run.trajectory) for run in runs]
        self._position = np.concatenate(motions)
        self._samples = np.array([len(motion) for motion in motions])
        self._first = np.cumsum(self._samples) - self._samples
        self._goal = np.concatenate([t.goal(time) for t, time in zip(trajectories, times, strict=True)])
        self._enable = np.concatenate(
            [t.torque_enable(time).astype(np.float64) for t, time in zip(trajectories, times, strict=True)]
        )
        self._supply = np.full(len(self._position), runs[0].settings.supply_voltage)
        self._setups = np.array([setup_row(start.control, r.bench, r.settings, FIT_STEP) for r in runs])
        self._kernel = population_kernel(
            start.control.kernel_law, any(start.needs_full_step(run.settings) for run in runs)
        )

    def _errors(self, rows: Array) -> Array:
        """Mean absolute error of each candidate over all runs [rad]."""
        sums = np.empty((len(self._setups), len(rows), SUMS))
        chosen = np.arange(len(self._setups))
        self._kernel(
            rows, self._setups, chosen, self._first, self._samples, np.zeros_like(self._samples), self._goal,
            self._enable, self._supply, self._position, np.zeros_like(self._position), 1, sums,
            np.empty((0, len(rows))),
        )  # fmt: skip
        return sums[:, :, 0].sum(axis=0) / len(self._position)

    def refit(self, start: ServoModel, names: tuple[str, ...]) -> ServoModel:
        """Move the named values of a model to where its error is smallest, by CMA-ES over their logarithms."""
        others = {name: value for name, value in start.values.items() if name not in names}
        model = start.with_parameters(_all_free(start.parameters).frozen_at(others))
        free = model.parameters.vector()
        origin = np.maximum(free, 1e-9)
        bounds = np.tile([-SPAN, SPAN], (len(free), 1))
        best, best_error = free, np.inf
        for seed in SEEDS:
            optimizer = CMA(np.zeros(len(free)), FIRST_STEP, bounds=bounds, seed=seed, population_size=LANES)
            for _ in range(GENERATIONS[names]):
                asked = np.array([optimizer.ask() for _ in range(LANES)])
                errors = self._errors(model.rows(origin * np.exp(asked)))
                errors = np.where(np.isfinite(errors), errors, UNSTABLE)
                optimizer.tell([(x, float(error)) for x, error in zip(asked, errors, strict=True)])
                if errors.min() < best_error:
                    best_error, best = float(errors.min()), origin * np.exp(asked[errors.argmin()])
                if optimizer.should_stop():
                    break
        return start.with_parameters(start.parameters.with_values(dict(zip(_names(model), best.tolist(), strict=True))))


def _all_free(parameters: ParameterSet) -> ParameterSet:
    return ParameterSet([replace(p, frozen=False) for p in parameters.values()])


def _names(model: ServoModel) -> list[str]:
    return [parameter.name for parameter in model.parameters.free]
