"""Fits of one identification: for each model its searches, the polish of their results, and the evidence."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cache, cached_property, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from core.base.arrays import Array
from core.base.errors import ModelError
from core.base.words import counted
from core.identification.defaults import SEARCH_SHARE
from core.identification.evaluate import Evaluation, discretisation_error, evaluate
from core.identification.evidence.extrapolation import disagreement, saturated_share
from core.identification.evidence.model import Evidence, RunOffset
from core.identification.evidence.sensitivity import judge
from core.identification.request import TRIALS_PER_PARAMETER, IdentificationRequest, search_template
from core.identification.result import ModelResult, Repeat
from core.identification.runs.conditions import (
    DivergingError,
    UnusableRuns,
    held_terms,
    suited,
    unused_channels,
)
from core.identification.runs.split import Split
from core.identification.search.beyond import (
    MISLED,
    NEEDED,
    left_out,
    logarithmic,
    nearest_neutral,
    optimum_beyond,
    up_to_goals,
    without,
)
from core.identification.search.objective import Batch
from core.identification.search.offsets import with_offsets
from core.identification.search.placed import PlacedResiduals
from core.identification.search.polish import FINE, WIDE, best_end, polish, smooth_losses
from core.identification.search.search import (
    SURROGATE_EVALUATIONS,
    End,
    Generation,
    SearchResult,
    Surrogate,
    confirmed,
    search,
)
from core.identification.search.study import StudyRecord, search_settings, study_place
from core.identification.search.timestep import (
    MOST_FINAL,
    PARTS,
    Simulated,
    chosen_parts,
    expected_error,
    fewest_parts,
    final_share,
    with_one_period,
)
from core.identification.workload import Workload
from core.motion.recording import Recording
from core.motion.simulation import sampling_interval
from core.practice.reach import REACH, reach_of
from core.servo.friction import lift_friction
from core.servo.model import ServoModel
from core.servo.parameters import ParameterSet
from core.servo.terms import CHOSEN_TERMS, NEUTRAL

MOST_TRIALS = 3
"""Largest budget of a search while its best value is not confirmed, as a multiple of the default.

Repeats confirm each other instead.
"""
PIECE = 1.0
"""Length of the pieces of motion, each from a measured state, that guide a search (multiple shooting) [s]."""
MOST_LEADING_SAMPLES, MOST_SEARCHED_SAMPLES = 20_000, 30_000
"""Largest sessions that are used whole.

Of a larger one, a random selection of runs guides a search, and another one is searched with. The ends are polished
with all runs.
"""


@dataclass(frozen=True)
class Progress:
    """Progress of a running identification."""

    model: str
    trial: str
    """Trial before the models are fitted, e.g. "with the command path"; empty during the fits."""
    repeat: int
    models: tuple[str, ...]
    repeats: int
    generation: Generation
    candidate: ServoModel | None
    """Best model so far, given whenever it has improved."""
    trials: int
    """Budget of this search."""
    done: float
    """Share of the whole identification that is done, 0 to 1."""


def _lifted_starts(template: ServoModel, earlier: Sequence[ServoModel]) -> list[Array]:
    """Return those optima that this model can express: exactly the same motion."""
    starts: list[Array] = []
    for model in earlier:
        values = model.values
        try:
            friction = lift_friction(values, model.friction, template.friction)
        except ModelError:
            continue
        shared = {name: value for name, value in values.items() if name in template.parameters}
        start = template.parameters.with_values({**shared, **friction})
        start = start.with_bounds({p.name: (p.lower, p.upper) for p in start.free if p.neutral_beyond})
        within = all(p.lower <= p.value <= p.upper for p in start.free)
        if within:
            starts.append(start.vector())
    return starts


def _certainty(evidence: Evidence) -> dict[str, Any]:
    """Return the part of a model's file about its values: start values, and approximate standard errors if known."""
    known = {p.name: p.standard_error if p.narrowed and not p.frozen else None for p in evidence.parameters}
    return {"initial": {p.name: p.initial for p in evidence.parameters}, "standard_error": known}


def _unconfirmed(random_ends: Sequence[End]) -> str:
    count = counted(len(random_ends), "independent search", "independent searches")
    return (
        f"{count} did not reach this fit, so a better one may exist (the intervals include the other results): "
        "increase the evaluations, or freeze parameters you know"
    )


def budget_of(request: IdentificationRequest, template: ServoModel) -> int:
    """Return the evaluations of one search of a model with these parameters."""
    return request.trials or TRIALS_PER_PARAMETER * len(template.parameters.free)


def _better_half(random_ends: Sequence[End]) -> list[Array]:
    """Return the ends of those descents from random points that came nearest to the best."""
    ranked = sorted(random_ends, key=lambda end: end.value)
    return [end.point for end in ranked[: (len(ranked) + 1) // 2]]


@dataclass(frozen=True)
class _Found:
    """Results of the searches of one model."""

    model: ServoModel
    best: Repeat
    repeats: list[Repeat]
    value: float
    """Smallest value of the searches' objective [rad]."""
    random_ends: list[End]
    others: list[Array]
    """Other optima, polished."""
    evaluations: int
    offsets: tuple[RunOffset, ...] = ()


@dataclass(eq=False)
class ModelFits:
    """Searches of one identification, one after the other."""

    request: IdentificationRequest
    train: Sequence[Recording]
    validation: Sequence[Recording]
    _: KW_ONLY
    trial: str = ""
    reasons: Mapping[str, str] = field(default_factory=dict[str, str])
    """Reasons of choices, kept in the provenance of the models."""
    work: Workload = field(default_factory=Workload)
    """Work of the whole identification."""
    later: Sequence[int] = ()
    """Budgets of the fits that follow these."""
    folder: Path | None = None
    storage: str = ""
    resume: bool = False
    on_progress: Callable[[Progress], None] | None = None
    on_recorded: Callable[[Progress], None] | None = None
    on_stage: Callable[[float, str], object] = lambda done, text: None
    """Called with the share done and the next stage outside the searches."""
    should_stop: Callable[[], bool] | None = None
    should_yield: Callable[[], bool] | None = None

    def __post_init__(self) -> None:
        self.request = request = suited(self.request, self.train)
        self.stopped = False
        self._options: dict[str, Any] = {"dt": request.dt, "supply": request.supply, "threads": request.threads}
        """Options of every simulation of recordings."""
        self._placed = PlacedResiduals(request.points) if request.points else None
        self._steps: int | None = None
        """Time steps between two samples, once chosen."""
        self._first_steps: dict[str, int] = {}
        """Time steps between two samples with which each model's searches began."""
        self._held = held_terms(request, self.train) if request.command == "position" else {}
        own = [name for name, _, _ in request.bounds]
        self._templates = {
            friction: with_one_period(up_to_goals(self._template(request, friction), self.train, own), self.train)
            for friction in request.models
        }
        self._budgets = {friction: budget_of(request, template) for friction, template in self._templates.items()}
        # A trial fits the richest model only.
        models = request.models[-1:] if self.trial else request.models
        own = [request.repeats * self._budgets[friction] for friction in models]
        self.work.expect([*own, *self.later], self._most(1))

    def _template(self, request: IdentificationRequest, friction: str) -> ServoModel:
        """Return `search_template` with what the duty cycle shows."""
        model = search_template(request, friction)
        return model.with_parameters(model.parameters.frozen_at(self._held))

    def fit(
        self, friction: str, split: Split, earlier: Sequence[ServoModel], numbers: Sequence[int] | None = None
    ) -> ModelResult:
        """Fit one model by every repeat, or by the repeats of these numbers, and keep the best.

        The result is not worse than those of `earlier` that this model can express, such as simpler ones.

        In order: search, search with a finer time step if the first was too long, leave out terms that the runs do not
        need, take the final time step and polish, fit the offsets of the runs, and judge the evidence.
        """
        started = time.monotonic()
        request, template = self.request, self._templates[friction]
        how = Simulated.asked(request, friction, len(self.train))
        interval = sampling_interval(self.train, request.dt)
        wanted = replace(template, dt=interval, substeps=self._parts(interval, how))
        found = self._searched_finely(wanted, how, earlier, numbers)
        if not self.stopped:
            found = self._without_limits(found, how, earlier, numbers)
        if not self.stopped:
            self.on_stage(self.work.share(), f"{self._named(friction)}: values and intervals")
        if self._polishes and not self.stopped:
            found = self._with_final_step(found, how, _lifted_starts(found.model, earlier))
            if request.run_offsets:
                found = self._with_offsets(found, how)
            found = replace(found, best=self._repeat(found.model, found.best.seed, found.best.evaluations))
        model = self._finished(found, split)
        beyond = optimum_beyond(model, self.train, how) if self._polishes and not self.stopped else None
        evidence = self._evidence(model, template.parameters, found, beyond)
        held_out = self._evaluate(model, self.validation).runs if self.validation else ()
        self.work.fit_ended()
        return ModelResult(
            model=replace(model, provenance={**model.provenance, **_certainty(evidence)}),
            train_mae=found.best.train_mae,
            validation_mae=found.best.validation_mae,
            validation_rmse=found.best.validation_rmse,
            evaluations=found.evaluations,
            wall_seconds=time.monotonic() - started,
            repeats=tuple(found.repeats),
            evidence=evidence,
            held_out={run.id: run.mae for run in held_out},
        )

    def _searched_finely(
        self,
        template: ServoModel,
        how: Simulated,
        earlier: Sequence[ServoModel],
        numbers: Sequence[int] | None,
        found_before: Array | None = None,
    ) -> _Found:
        """Search with the template's time step, and again with a finer one if that step proved too long."""
        found = self._searched(template, how, earlier, numbers, found_before)
        finer = self._finer(found.model, found.best.train_mae, how, SEARCH_SHARE)
        if finer is None or self.stopped:
            return found
        wanted = replace(found.model, parameters=template.parameters, substeps=finer)
        again = self._searched(wanted, how, earlier, numbers, found.best.parameters.vector())
        return replace(again, evaluations=found.evaluations + again.evaluations)

    def _without_limits(
        self, found: _Found, how: Simulated, earlier: Sequence[ServoModel], numbers: Sequence[int] | None
    ) -> _Found:
        """Leave out terms that the runs hardly need and that no value within their bounds switches off.

        Such is a limit of the goal's speed, which acts on faster motions above all. The other parameters are fitted
        again, and searched again if the bound of a term had kept them from a better fit. The user's own bounds stay as
        they are.
        """
        model, vector = found.model, found.model.parameters.vector()
        own = {name for name, _, _ in self.request.bounds}
        names = [p.name for p in model.parameters.free if p.neutral_beyond and p.name not in own]
        if not names:
            return found
        rest = [place for place, p in enumerate(model.parameters.free) if p.name not in names]
        bare = without(model, names)
        batch, end, others = how.batch(bare, self.train), vector[rest], list[Array]()
        if self._polishes:
            ends = [other[rest] for other in found.others]
            end, others = best_end(batch, end, ends, _lifted_starts(bare, earlier))
        else:
            values, budget = partial(self._values, bare, batch), SURROGATE_EVALUATIONS * len(rest)
            end = search(values, bare.parameters.bounds(), [end], budget, self._seed(0)).best
        fitted = bare.with_vector(end)

        def loss_of(candidate: ServoModel) -> float:
            batch, vectors = how.batch(candidate, self.train), candidate.parameters.vector()[None]
            return (smooth_losses(batch, vectors) if self._polishes else self._values(candidate, batch, vectors))[0]

        before, loss = loss_of(model), loss_of(fitted)
        if loss > (1.0 + NEEDED) * before:
            return found
        if loss < (1.0 - MISLED) * before:
            error = self._evaluate(fitted, self.train).mean_mae
            steps = self._finer(fitted, error, how, SEARCH_SHARE) or fitted.substeps
            start = replace(without(self._templates[model.friction], names), dt=fitted.dt, substeps=steps)
            again = self._searched_finely(start, how, earlier, numbers, end)
            return replace(again, evaluations=found.evaluations + again.evaluations)
        return replace(
            found,
            model=fitted,
            best=self._repeat(fitted, found.best.seed, found.best.evaluations),
            others=others,
            random_ends=[End(e.value, e.point[rest]) for e in found.random_ends],
        )

    def _evidence(
        self, model: ServoModel, searched: ParameterSet, found: _Found, beyond: Array | None = None
    ) -> Evidence:
        """Return what the training runs show about the values, and whether the search confirmed them."""
        sure = confirmed(found.random_ends, found.value)
        evidence = judge(
            model,
            searched,
            self.train,
            **self._options,
            others=found.others,
            scatter=() if sure else _better_half(found.random_ends),
            beyond=beyond,
        )
        return replace(
            evidence,
            search="" if sure else _unconfirmed(found.random_ends),
            elsewhere=disagreement(
                model, [*found.others, *(end.point for end in found.random_ends)], self.train, **self._options
            ),
            offsets=found.offsets,
        )

    def _parts(self, interval: float, how: Simulated) -> int:
        """Return the time steps per sampling interval [s] with which the searches begin, the same for all models."""
        if self._steps is None:
            request = self.request
            richest = self._templates[request.models[-1]]
            richest = replace(richest, dt=interval, parameters=nearest_neutral(richest.parameters))
            chooses = request.substeps is None and richest.leapfrog
            if chooses:
                self.on_stage(self.work.share(), f"{self._named(richest.friction)}: choosing the time step")
            self._steps = chosen_parts(richest, self.train, how) if chooses else request.substeps or 1
            self.work.begin(self._steps, bool(self.trial))
        return self._steps

    def _finer(
        self, model: ServoModel, error: float, how: Simulated, share: float, most: int = PARTS[-1]
    ) -> int | None:
        """Return how many steps keep their cost within this share of the error [rad]; None if there are enough."""
        finer = [count for count in PARTS if model.substeps < count <= most]
        if self.request.substeps is not None or not model.leapfrog or not finer:
            return None
        allowed = share * expected_error(model, error)
        needed = fewest_parts(model, self.train, how, model.parameters.vector(), allowed, [model.substeps, *finer])
        return needed if needed > model.substeps else None

    def _searched(
        self,
        wanted: ServoModel,
        how: Simulated,
        earlier: Sequence[ServoModel],
        numbers: Sequence[int] | None,
        found_before: Array | None = None,
    ) -> _Found:
        """Run the searches with one time step; `found_before` is the optimum with a longer one."""
        request = self.request
        batch = how.batch(wanted, self.train)
        starts = [wanted.parameters.vector(), *self._best_lifted(wanted, batch, earlier)]
        if found_before is not None:
            starts.append(found_before)
        if request.start:
            # The search explores widely from the first start and stays near the others.
            usual = self._template(replace(request, start=()), wanted.friction).parameters
            starts.insert(0, usual.frozen_at({name: NEUTRAL[name] for name in left_out(wanted)}).vector())
        if any(logarithmic(wanted.parameters)):
            starts.append(nearest_neutral(wanted.parameters).vector())
        self._check_starts(batch, starts)
        repeats: list[Repeat] = []
        values: list[float] = []
        ends: list[Array] = []
        random_ends: list[End] = []
        searched = batch.selection(MOST_SEARCHED_SAMPLES) if self._polishes else batch
        for repeat in range(self.request.repeats) if numbers is None else numbers:
            found = self._search(wanted, searched, repeat, starts)
            self.work.search_ended(found.evaluations * wanted.substeps)
            values.append(found.value)
            ends += found.ends
            random_ends += found.random_ends
            fitted = wanted.with_vector(found.best)
            repeats.append(self._repeat(fitted, self._seed(repeat), found.evaluations))
            if found.stopped:
                self.stopped = True
                break
        by_value = self._placed is not None or request.prior > 0.0
        best = repeats[int(np.argmin(values))] if by_value else min(repeats, key=lambda r: r.train_mae)
        model = wanted.with_parameters(best.parameters)
        others: list[Array] = []
        if self._polishes and not self.stopped:
            end, others = best_end(batch, best.parameters.vector(), ends, starts[1:])
            model = model.with_vector(end)
            best = self._repeat(model, best.seed, best.evaluations)
        return _Found(model, best, repeats, min(values), random_ends, others, sum(r.evaluations for r in repeats))

    def _with_final_step(self, found: _Found, how: Simulated, lifted: Sequence[Array]) -> _Found:
        """Polish the end of a search and other optima with a time step whose cost does not affect the intervals."""
        residuals = how.batch(found.model, self.train).residuals(None, lambda _, motions: motions[:, 0].copy())
        most = MOST_FINAL * found.model.substeps
        finer = self._finer(found.model, found.best.train_mae, how, final_share(residuals), most)
        if finer is None:
            return found
        model = replace(found.model, substeps=finer)
        batch = how.batch(model, self.train)
        starts = np.array([model.parameters.vector(), *lifted])
        ends = [starts[int(np.argmin(smooth_losses(batch, starts)))], *found.others]
        ends = [polish(batch, end, rough=True, difference=FINE)[0] for end in ends]
        order = np.argsort(smooth_losses(batch, np.array(ends)))
        best, _ = polish(batch, ends[order[0]])
        return replace(found, model=model.with_vector(best), others=[ends[place] for place in order[1:]])

    @cached_property
    def _saturated_share(self) -> float:
        return saturated_share(self.train)

    @cached_property
    def _reach(self) -> dict[str, Any]:
        return reach_of(self.train)

    @property
    def _polishes(self) -> bool:
        return self.request.polish and self._placed is None

    def _with_offsets(self, found: _Found, how: Simulated) -> _Found:
        """Polish the model with offsets of each run, and return both."""
        batch = how.batch(found.model, self.train)
        vector, offsets = with_offsets(batch, found.model.parameters.vector())
        return replace(found, model=found.model.with_vector(vector), offsets=offsets.reported(batch))

    def _repeat(self, fitted: ServoModel, seed: int, evaluations: int) -> Repeat:
        """Return a fit with its errors."""
        held = self._evaluate(fitted, self.validation) if self.validation else None
        return Repeat(
            seed=seed,
            train_mae=self._evaluate(fitted, self.train).mean_mae,
            validation_mae=None if held is None else held.mean_mae,
            validation_rmse=None if held is None else held.mean_rmse,
            evaluations=evaluations,
            parameters=fitted.parameters,
        )

    def _check_starts(self, batch: Batch, starts: list[Array]) -> None:
        """Raise an error that names runs whose simulation diverges from every start, before any time is spent."""
        finite = np.asarray(np.isfinite(batch.scores(np.array(starts)).mae)).max(axis=1)
        if all(finite):
            return
        lost = [identity for identity, good in zip(batch.ids, finite, strict=True) if not good]
        if len(lost) == len(finite):
            raise DivergingError(
                "the simulation diverges on every run from every start; use a finer time step or more substeps, "
                "and the catalogue's bounds"
            )
        raise UnusableRuns(f"the simulation of run {lost[0]} diverges from every start; leave it out, or trim it", lost)

    def _best_lifted(self, template: ServoModel, batch: Batch, earlier: Sequence[ServoModel]) -> list[Array]:
        """Return the earlier optimum with the best score, if any: with this start, the fit is never worse."""
        starts = _lifted_starts(template, earlier)
        if not starts:
            return []
        return [starts[int(self._values(template, batch, np.array(starts)).argmin())]]

    def _values(self, template: ServoModel, batch: Batch, candidates: Array) -> Array:
        """Return the objective of candidates (p, n), (p,): metric of the runs plus mean error of the points."""
        values = batch.penalised(batch.scores(candidates).combined(self.request.metric), candidates)
        return values if self._placed is None else values + self._placed.errors(template, candidates)

    def _seed(self, repeat: int) -> int:
        return int(np.random.SeedSequence([self.request.seed, repeat]).generate_state(1)[0])

    def _evaluate(self, model: ServoModel, recordings: Sequence[Recording]) -> Evaluation:
        return evaluate(model, recordings, **self._options)

    def _search(self, template: ServoModel, batch: Batch, repeat: int, starts: list[Array]) -> SearchResult:
        friction = template.friction
        budget = self._budgets[friction]
        pieces = batch.selection(MOST_LEADING_SAMPLES).in_pieces(PIECE)
        record = None
        # Searches that are repeated with a finer step or without a term have their own studies.
        first = self._first_steps.setdefault(friction, template.substeps)
        if self.folder is not None:
            settings = search_settings(self.request, template, batch.ids, budget, self._most(budget), starts)
            again = "" if template.substeps == first else f"/{template.substeps}"
            again += "".join(f"/without-{name}" for name in left_out(template))
            # An identification whose runs chose another contact than the rigid one, or terms, has searched twice.
            if "contact_choice" in self.reasons:
                again += "" if template.contact == "rigid" else f"/{template.contact}"
                again += "".join(f"/{name}" for name in CHOSEN_TERMS if name in template.command_path)
            trial = f"{self.trial}/" if self.trial else ""
            place, name = study_place(self.folder, self.storage, f"{trial}{friction}/{repeat}{again}")
            record = StudyRecord(place, name, template.parameters.free, settings, self.resume)

        def judge(runs: Batch, matrix: Array) -> Array:
            runs.spared = 1 if self.should_yield is not None and self.should_yield() else 0
            return self._values(template, runs, matrix)

        def report(generation: Generation) -> None:
            if record is not None:
                record.add(generation)
            if self.on_progress is not None:
                self.on_progress(self._progress(template, repeat, generation))

        def recall(generation: Generation) -> None:
            if self.on_recorded is not None:
                self.on_recorded(self._progress(template, repeat, generation))

        with nullcontext() if record is None else record:
            return search(
                partial(judge, batch),
                template.parameters.bounds(),
                starts,
                budget,
                self._seed(repeat),
                most=self._most(budget),
                logarithmic=logarithmic(template.parameters),
                surrogate=Surrogate(partial(judge, pieces), partial(polish, pieces, rough=True, difference=WIDE)),
                refine=partial(polish, batch, rough=True, difference=FINE) if self._polishes else None,
                recorded=() if record is None else record.recorded,
                on_generation=report,
                on_recorded=recall,
                should_stop=self.should_stop,
            )

    def _most(self, budget: int) -> int:
        """Return the number of evaluations that a search with this budget may take."""
        return MOST_TRIALS * budget if self.request.trials is None and self.request.repeats == 1 else budget

    def _progress(self, template: ServoModel, repeat: int, generation: Generation) -> Progress:
        candidate = None
        if generation.improved:
            candidate = template.with_vector(generation.best)
        return Progress(
            model=template.friction,
            trial=self.trial,
            repeat=repeat,
            models=self.request.models,
            repeats=self.request.repeats,
            generation=generation,
            candidate=candidate,
            trials=self._budgets[template.friction],
            done=self.work.share(generation.evaluations * template.substeps),
        )

    def _named(self, friction: str) -> str:
        return f"{friction.upper()} {self.trial}".rstrip()

    def _finished(self, found: _Found, split: Split) -> ServoModel:
        """Return the model with its provenance."""
        request, model, best = self.request, found.model, found.best
        maes = [repeat.train_mae for repeat in found.repeats]
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
            "validation_rmse": best.validation_rmse,
            "repeat_spread": max(maes) - min(maes),
            "discretisation_error": discretisation_error(model, self.train, dt=request.dt, supply=request.supply),
            "saturated_share": self._saturated_share,
            REACH: self._reach,
            "unused_channels": unused_channels(
                self.train, (request.drive_from, *(["duty_cycle"] if self._held else []))
            ),
            **self.reasons,
            "versions": dict(_versions()),
        }
        if self._placed is not None:
            error = float(np.abs(self._placed.of(model)).mean())
            provenance["placed_points"] = {"count": len(request.points), "mean_error": error}
        return replace(model, provenance=provenance)


@cache
def _versions() -> dict[str, str]:
    """Return the versions a model was identified with; cached, since a look-up takes longer than many fits."""
    names = ("servobench", "numpy", "numba", "cmaes", "optuna")
    return {name: version(name) for name in names} | {"python": platform.python_version()}
