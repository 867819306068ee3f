"""Identification: what is asked, the search for each model and repeat, and what was found.

Models are fitted in nested order, the simpler one's optimum among the richer one's starts, so that a richer model
never scores worse on the recordings it was trained on.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.actuator import COMMAND_PATH_TERMS
from core.errors import IdentificationError, ModelError
from core.friction import FRICTION_MODELS, QUADRATIC_GATES, lift_friction, require_friction_model
from core.identification.evaluate import discretisation_error, evaluate
from core.identification.objective import METRICS, Batch
from core.identification.search import Generation, SearchResult, search
from core.identification.split import DEFAULT_RULE, Split, split_recordings
from core.identification.study import StudyRecord
from core.model import INTEGRATORS, ServoModel, build_model
from core.parameters import ParameterSet
from core.recording import Recording

Array = NDArray[np.float64]

TRIALS_PER_PARAMETER = 1000
"""Default budget: evaluations per free parameter; a search that has converged twice uses less."""

DEFAULT_COMMAND_PATH = (
    "command_delay",
    "error_gain_ratio",
    "goal_slew",
    "dead_band",
    "pwm_lag",
    "release_braking",
)
"""The terms that "command path on" adds. Supply sag is left to those who ask: it trades off with R and k_t."""


@dataclass(frozen=True, kw_only=True)
class IdentificationRequest:
    """What is asked of an identification. The same request on the same recordings gives the same result."""

    servo: str
    """Catalogue name."""
    models: tuple[str, ...] = FRICTION_MODELS
    """Friction models, fitted in nested order whatever order they are given in."""
    command_path: tuple[str, ...] = ()
    """Command path terms to identify with each model."""
    trials: int | None = None
    """Evaluations per model and repeat; None: TRIALS_PER_PARAMETER per free parameter."""
    repeats: int = 1
    seed: int = 0
    validation: str = DEFAULT_RULE
    """See `split_recordings`."""
    metric: str = "mae"
    quadratic_gate: str = "larger_torque"
    integrator: str = "algorithm1"
    substeps: int = 1
    dt: float | None = None
    """Grid of the simulation [s]; None: a regular recording's own, 5 ms for others."""
    supply: str = "logged"
    """"logged": the measured supply voltage where there is one; "header": the nominal one."""
    frozen: tuple[tuple[str, float], ...] = ()
    """Parameters held at a value, by name, SI units."""
    threads: int | None = None
    """None: one per processor."""
    data_hash: str = ""
    """Of the recordings, for the provenance of the models."""

    def __post_init__(self) -> None:
        wanted = tuple(m for m in FRICTION_MODELS if m in {require_friction_model(name) for name in self.models})
        object.__setattr__(self, "models", wanted)
        if not wanted:
            raise IdentificationError("no model to identify was named")
        if self.trials is not None and self.trials < 1:
            raise IdentificationError(f"{self.trials} trials are too few")
        if self.repeats < 1:
            raise IdentificationError(f"{self.repeats} repeats are too few")
        for name, value, known in (
            ("metric", self.metric, METRICS),
            ("quadratic gate", self.quadratic_gate, QUADRATIC_GATES),
            ("integrator", self.integrator, INTEGRATORS),
            ("supply", self.supply, ("logged", "header")),
        ):
            if value not in known:
                raise IdentificationError(f"no {name} {value!r}; there are {', '.join(known)}")
        for name in self.command_path:
            if name not in COMMAND_PATH_TERMS:
                raise IdentificationError(f"no command path term {name!r}; there are {', '.join(COMMAND_PATH_TERMS)}")


@dataclass(frozen=True)
class Progress:
    """Where a running identification stands."""

    model: str
    repeat: int
    models: tuple[str, ...]
    repeats: int
    generation: Generation
    candidate: ServoModel | None
    """The best model so far, given whenever it has improved."""
    trials: int
    """Budget of this search."""
    done: float
    """Share of the whole identification that is done, 0 … 1."""
    remaining: float
    """Estimated time to the end [s]; searches that converge early end sooner."""


@dataclass(frozen=True)
class Repeat:
    """One search of one model."""

    seed: int
    train_mae: float
    validation_mae: float | None
    evaluations: int
    parameters: ParameterSet


@dataclass(frozen=True)
class ModelResult:
    """What was found for one friction model: the best repeat and their spread. Errors in rad."""

    model: ServoModel
    train_mae: float
    validation_mae: float | None
    evaluations: int
    wall_seconds: float
    repeats: tuple[Repeat, ...]

    def to_json(self, file: Path | None = None) -> dict[str, Any]:
        """Plain data, as `bench identify --json` prints it."""
        return {
            "model": self.model.friction,
            "servo": self.model.servo,
            "train_mae": self.train_mae,
            "validation_mae": self.validation_mae,
            "evaluations": self.evaluations,
            "wall_seconds": self.wall_seconds,
            "repeats": [
                {
                    "seed": repeat.seed,
                    "train_mae": repeat.train_mae,
                    "validation_mae": repeat.validation_mae,
                    "evaluations": repeat.evaluations,
                    "parameters": repeat.parameters.numbers(),
                }
                for repeat in self.repeats
            ],
            "parameters": {
                p.name: {
                    "value": p.value,
                    "unit": p.unit,
                    "symbol": p.symbol,
                    "lower": p.lower,
                    "upper": p.upper,
                    "at_bound": p.at_bound,
                    "frozen": p.frozen,
                }
                for p in self.model.parameters.values()
            },
            "discretisation_error": self.model.provenance.get("discretisation_error"),
            "file": None if file is None else str(file),
        }


@dataclass(frozen=True)
class Identification:
    """The outcome: the split and one result per model, in nested order."""

    request: IdentificationRequest
    split: Split
    results: tuple[ModelResult, ...]
    stopped: bool
    """Whether it was stopped before the end; what had been found is kept."""

    @property
    def recommended(self) -> ModelResult:
        """The model with the lowest error on recordings it did not see; on its own if there are none."""
        return min(self.results, key=lambda r: r.train_mae if r.validation_mae is None else r.validation_mae)


def identify(
    request: IdentificationRequest,
    recordings: Sequence[Recording],
    *,
    folder: Path | None = None,
    resume: bool = False,
    on_progress: Callable[[Progress], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> Identification:
    """Fit every model asked for.

    folder: where the Optuna study is kept (models are written by the caller); resume: go on with the searches on
    record there; should_stop: polled between generations, the best so far is kept. Raises IdentificationError.
    """
    split = split_recordings(recordings, request.validation, request.seed)
    by_id = {recording.id: recording for recording in recordings}
    if len(by_id) != len(recordings):
        raise IdentificationError("two recordings share an id")
    train = [by_id[i] for i in split.train]
    validation = [by_id[i] for i in split.validation]
    job = _Job(request, train, validation, folder, resume, on_progress, should_stop)
    results: list[ModelResult] = []
    for friction in request.models:
        results.append(job.fit(friction, split, results))
        if job.stopped:
            break
    return Identification(request, split, tuple(results), job.stopped)


def _template(request: IdentificationRequest, friction: str) -> ServoModel:
    model = build_model(
        request.servo,
        friction,
        command_path=request.command_path,
        quadratic_gate=request.quadratic_gate,
        integrator=request.integrator,
        substeps=request.substeps,
    )
    known = {name: value for name, value in request.frozen if name in model.parameters}
    template = model.with_parameters(model.parameters.frozen_at(known))
    if not template.parameters.free:
        raise IdentificationError("every parameter is frozen; there is nothing to identify")
    return template


def _lifted_starts(template: ServoModel, simpler: Sequence[ModelResult]) -> list[Array]:
    """The optima of simpler models, expressed in this one: the same motion, exactly."""
    starts = []
    for result in simpler:
        values = result.model.values
        try:
            friction = lift_friction(values, result.model.friction, template.friction)
        except ModelError:
            continue
        shared = {name: value for name, value in values.items() if name in template.parameters}
        start = template.parameters.with_values({**shared, **friction})
        within = all(p.lower <= p.value <= p.upper for p in start.free)
        if within:
            starts.append(start.vector())
    return starts


class _Job:
    """The searches of one identification, one after the other."""

    def __init__(
        self,
        request: IdentificationRequest,
        train: Sequence[Recording],
        validation: Sequence[Recording],
        folder: Path | None,
        resume: bool,
        on_progress: Callable[[Progress], None] | None,
        should_stop: Callable[[], bool] | None,
    ) -> None:
        self.request = request
        self.train = train
        self.validation = validation
        self.folder = folder
        self.resume = resume
        self.on_progress = on_progress
        self.should_stop = should_stop
        self.stopped = False
        self.started = time.monotonic()
        self._budgets = {
            friction: request.trials or TRIALS_PER_PARAMETER * len(_template(request, friction).parameters.free)
            for friction in request.models
        }

    def fit(self, friction: str, split: Split, simpler: Sequence[ModelResult]) -> ModelResult:
        """Search K times, keep the best."""
        started = time.monotonic()
        template = _template(self.request, friction)
        batch = Batch(
            template,
            self.train,
            dt=self.request.dt,
            supply=self.request.supply,
            threads=self.request.threads,
        )
        template = replace(template, dt=float(np.median(batch.steps)))
        starts = [template.parameters.vector(), *self._best_lifted(template, batch, simpler)]
        repeats = []
        for repeat in range(self.request.repeats):
            found = self._search(template, batch, repeat, starts)
            parameters = template.parameters.with_vector(found.best)
            fitted = template.with_parameters(parameters)
            repeats.append(
                Repeat(
                    seed=self._seed(repeat),
                    train_mae=self._mae(fitted, self.train),
                    validation_mae=self._mae(fitted, self.validation) if self.validation else None,
                    evaluations=found.evaluations,
                    parameters=parameters,
                )
            )
            if found.stopped:
                self.stopped = True
                break
        best = min(repeats, key=lambda r: r.train_mae)
        model = self._finished(template.with_parameters(best.parameters), best, repeats, split)
        return ModelResult(
            model=model,
            train_mae=best.train_mae,
            validation_mae=best.validation_mae,
            evaluations=sum(r.evaluations for r in repeats),
            wall_seconds=time.monotonic() - started,
            repeats=tuple(repeats),
        )

    def _best_lifted(self, template: ServoModel, batch: Batch, simpler: Sequence[ModelResult]) -> list[Array]:
        """The simpler optimum that scores best, if any: a start that makes a richer model never worse."""
        starts = _lifted_starts(template, simpler)
        if not starts:
            return []
        return [starts[int(batch.scores(np.array(starts)).combined(self.request.metric).argmin())]]

    def _seed(self, repeat: int) -> int:
        return int(np.random.SeedSequence([self.request.seed, repeat]).generate_state(1)[0])

    def _mae(self, model: ServoModel, recordings: Sequence[Recording]) -> float:
        request = self.request
        return evaluate(model, recordings, dt=request.dt, supply=request.supply, threads=request.threads).mean_mae

    def _search(self, template: ServoModel, batch: Batch, repeat: int, starts: list[Array]) -> SearchResult:
        friction = template.friction
        budget = self._budgets[friction]
        record = None
        if self.folder is not None:
            settings = self._search_settings(template, batch, budget)
            record = StudyRecord(self.folder, f"{friction}/{repeat}", template.parameters.free, settings, self.resume)

        def objective(matrix: Array) -> Array:
            return batch.scores(matrix).combined(self.request.metric)

        def report(generation: Generation) -> None:
            if record is not None:
                record.add(generation)
            if self.on_progress is not None:
                self.on_progress(self._progress(template, repeat, generation))

        def run() -> SearchResult:
            return search(
                objective,
                template.parameters.bounds(),
                starts,
                budget,
                self._seed(repeat),
                recorded=() if record is None else record.recorded,
                on_generation=report,
                should_stop=self.should_stop,
            )

        if record is None:
            return run()
        with record:
            return run()

    def _search_settings(self, template: ServoModel, batch: Batch, budget: int) -> dict[str, Any]:
        request = self.request
        return {
            "servo": template.servo,
            "friction": template.friction,
            "parameters": {p.name: [p.lower, p.upper] for p in template.parameters.free},
            "frozen": dict(request.frozen),
            "metric": request.metric,
            "quadratic_gate": request.quadratic_gate,
            "integrator": request.integrator,
            "substeps": request.substeps,
            "dt": request.dt,
            "supply": request.supply,
            "seed": request.seed,
            "trials": budget,
            "recordings": list(batch.ids),
            "data_hash": request.data_hash,
        }

    def _progress(self, template: ServoModel, repeat: int, generation: Generation) -> Progress:
        request = self.request
        weights = self._budgets
        total = sum(weights.values()) * request.repeats
        before = sum(weights[m] for m in request.models[: request.models.index(template.friction)])
        here = weights[template.friction]
        done = (before * request.repeats + repeat * here + min(generation.evaluations, here)) / total
        elapsed = time.monotonic() - self.started
        candidate = None
        if generation.improved:
            candidate = template.with_parameters(template.parameters.with_vector(generation.best))
        return Progress(
            model=template.friction,
            repeat=repeat,
            models=request.models,
            repeats=request.repeats,
            generation=generation,
            candidate=candidate,
            trials=here,
            done=done,
            remaining=elapsed * (1.0 - done) / max(done, 1e-9),
        )

    def _finished(self, model: ServoModel, best: Repeat, repeats: Sequence[Repeat], split: Split) -> ServoModel:
        request = self.request
        maes = [repeat.train_mae for repeat in repeats]
        provenance: dict[str, Any] = {
            "source": "identified from recordings",
            "data_hash": request.data_hash,
            "split": split.rule,
            "train": list(split.train),
            "validation": list(split.validation),
            "metric": request.metric,
            "supply": request.supply,
            "seed": request.seed,
            "repeat_seed": best.seed,
            "trials": self._budgets[model.friction],
            "evaluations": best.evaluations,
            "train_mae": best.train_mae,
            "validation_mae": best.validation_mae,
            "repeat_spread": max(maes) - min(maes),
            "discretisation_error": discretisation_error(model, self.train, dt=request.dt, supply=request.supply),
            "versions": {name: version(name) for name in ("servobench", "numpy", "numba", "cmaes", "optuna")}
            | {"python": platform.python_version()},
        }
        return replace(model, provenance=provenance)
