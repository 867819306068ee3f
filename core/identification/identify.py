"""Identification: what is asked, the search for each model and repeat, and what was found.

Models are fitted in nested order, the simpler one's optimum among the richer one's starts, so that a richer model
never scores worse on the recordings it was trained on.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from core.arrays import Array
from core.errors import IdentificationError, ModelError
from core.friction import lift_friction
from core.identification.choice.words import NOT_TRIED, command_path_choice
from core.identification.evaluate import Evaluation, discretisation_error, evaluate
from core.identification.evidence.extrapolation import REACH, disagreement, reach_of, saturated_share
from core.identification.evidence.model import Evidence, RunOffset
from core.identification.evidence.sensitivity import DIFFERENCE, judge
from core.identification.request import TRIALS_PER_PARAMETER, IdentificationRequest, search_template
from core.identification.result import Identification, ModelResult, Repeat
from core.identification.runs.conditions import (
    DivergingError,
    UnusableRuns,
    check_runs,
    suited,
    unused_channels,
)
from core.identification.runs.split import DEFAULT_RULE, Split, SplitError, split_recordings
from core.identification.search.objective import Batch
from core.identification.search.offsets import with_offsets
from core.identification.search.placed import PlacedResiduals
from core.identification.search.polish import FINE, WIDE, polish, smooth_losses
from core.identification.search.prior import Prior
from core.identification.search.search import End, Generation, SearchResult, Surrogate, confirmed, search
from core.identification.search.study import JOURNAL, JOURNAL_SCHEME, StudyRecord
from core.identification.search.timestep import (
    MOST_FINAL,
    PARTS,
    SEARCH_SHARE,
    Simulated,
    chosen_parts,
    expected_error,
    fewest_parts,
    final_share,
)
from core.model import ServoModel
from core.recording import Recording
from core.simulation import sampling_interval
from core.words import counted

MOST_TRIALS = 3
"""Times the default budget a search may take while its best is not confirmed; repeats confirm each other instead."""
POLISHED = 4
"""Of all ends of the searches, those with the least smooth loss, from which the final one is sought."""
APART = 1e-2
"""Ends whose parameters differ by less, as a share of the bounds, are the same."""
NEAR = 2e-3
"""Of them, those whose loss comes this near to the least are polished to the end."""
ALIKE = 1.02
"""Mean absolute error a richer model may have over a simpler one's: the smooth loss decides, which is never larger."""
PIECE = 1.0
"""Motion from measured state to measured state that leads a search [s]."""
MOST_LEADING_SAMPLES, MOST_SEARCHED_SAMPLES = 20_000, 30_000
"""Of a session with more, a random selection of runs leads a search, and another one is searched with; the ends are
polished with all runs."""


__all__ = ["IdentificationRequest", "Progress", "fit_repeat", "identify"]


@dataclass(frozen=True)
class Progress:
    """Where a running identification stands."""

    model: str
    trial: str
    """Trial before the models are fitted, e.g. "with the command path"; empty while they are."""
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


def identify(
    request: IdentificationRequest,
    recordings: Sequence[Recording],
    *,
    folder: Path | None = None,
    storage: str = "",
    resume: bool = False,
    on_progress: Callable[[Progress], None] | None = None,
    on_recorded: Callable[[Progress], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
    should_yield: Callable[[], bool] | None = None,
) -> Identification:
    """Fit every model asked for.

    A command path that is identified only if it is better is tried first, on the richest model; the result's request
    holds what was settled.

    folder: where the Optuna studies are kept, in a journal (models are written by the caller); storage: the address of
    another place for them, where the folder's name begins theirs, see `open_storage`; resume: go on with the searches
    on record there, whose generations are told to on_recorded; should_stop: polled between generations, the best so
    far is kept; should_yield: polled too, leaves one processor to others while it says so, with the same result.
    Raises IdentificationError, UnusableRuns for runs no model can be fitted to.
    """
    split = split_recordings(recordings, request.validation, request.seed)
    train, validation = _divided(recordings, split)
    searches = partial(
        _Job,
        folder=folder,
        storage=storage,
        resume=resume,
        on_progress=on_progress,
        on_recorded=on_recorded,
        should_stop=should_stop,
        should_yield=should_yield,
    )
    path_choice, begun = "", 0.0
    if request.command_path_if_better:
        tried, path_choice, begun = _command_path_tried(request, recordings, split, searches)
        if tried.stopped:
            return tried
        request = tried.request
    job = searches(request, train, validation, path_choice=path_choice, span=(begun, 1.0))
    results: list[ModelResult] = []
    for friction in request.models:
        results.append(job.fit(friction, split, results))
        if job.stopped:
            break
    return Identification(job.request, split, tuple(results), job.stopped)


def _command_path_tried(
    request: IdentificationRequest, recordings: Sequence[Recording], split: Split, searches: Callable[..., _Job]
) -> tuple[Identification, str, float]:
    """The richest model without or with the command path, whichever is better, why, and the share of work done.

    Nothing is fitted, and the path left out, where no run can be held out to judge by.
    """
    with suppress(SplitError):
        if not split.validation:
            split = split_recordings(recordings, DEFAULT_RULE, request.seed)
    if not split.validation:
        return Identification(request.settled(()), split, (), stopped=False), NOT_TRIED, 0.0
    train, validation = _divided(recordings, split)
    richest = request.models[-1]
    variants = {"without": request.settled(()), "with": request.settled(request.command_path)}
    sizes = {how: len(search_template(asked, richest).parameters.free) for how, asked in variants.items()}
    share = 1.0 / (sum(sizes.values()) + len(request.models) * sizes["with"])
    found: list[Identification] = []
    done = 0.0
    for how, asked in variants.items():
        span = (done, done + share * sizes[how])
        job = searches(asked, train, validation, trial=f"{how} the command path", span=span)
        found.append(Identification(job.request, split, (job.fit(richest, split, ()),), job.stopped))
        done = span[1]
        if job.stopped:
            break
    better, why = command_path_choice(*(tried.contenders[0] for tried in found)) if len(found) > 1 else (False, "")
    return replace(found[-1 if better else 0], stopped=found[-1].stopped), why, done


def fit_repeat(
    request: IdentificationRequest,
    friction: str,
    recordings: Sequence[Recording],
    split: Split,
    repeat: int,
    simpler: Sequence[ModelResult] = (),
) -> ModelResult:
    """One model by the search of one repeat, 0 … request.repeats − 1: a part of `identify` that stands for itself.

    split: of these recordings, instead of the request's rule; simpler: results of simpler models, which this one is
    not worse than. Raises as `identify`.
    """
    train, validation = _divided(recordings, split)
    return _Job(request, train, validation).fit(friction, split, simpler, (repeat,))


def _divided(recordings: Sequence[Recording], split: Split) -> tuple[list[Recording], list[Recording]]:
    """Both sides of a split; raises IdentificationError, UnusableRuns."""
    check_runs(recordings)
    by_id = {recording.id: recording for recording in recordings}
    if len(by_id) != len(recordings):
        raise IdentificationError("two recordings share an id")
    return [by_id[i] for i in split.train], [by_id[i] for i in split.validation]


def _lifted_starts(template: ServoModel, simpler: Sequence[ModelResult]) -> list[Array]:
    """The optima of simpler models, expressed in this one: the same motion, exactly."""
    starts: list[Array] = []
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


def _distinct(vectors: Array, bounds: Array) -> Array:
    """Vectors (m, n) without those that lie by one before them."""
    width = np.where(bounds[:, 1] > bounds[:, 0], bounds[:, 1] - bounds[:, 0], 1.0)
    kept: list[Array] = []
    for vector in vectors:
        if all(np.abs((vector - other) / width).max() > APART for other in kept):
            kept.append(vector)
    return np.array(kept)


def _certainty(evidence: Evidence) -> dict[str, Any]:
    """What a model's file says about each value: where it began, and its approximate standard error if it has one."""
    known = {p.name: p.standard_error if p.determined and not p.frozen else None for p in evidence.parameters}
    return {"initial": {p.name: p.initial for p in evidence.parameters}, "standard_error": known}


def _unconfirmed(afar: Sequence[End]) -> str:
    count = f"{counted(len(afar), 'descent')} from afar"
    return (
        f"The best fit was not confirmed by {count}, there may be a better one; intervals hold where the others ended: "
        "give the search more trials, or freeze what you know"
    )


def _better_half(afar: Sequence[End]) -> list[Array]:
    """Where the descents from afar ended that came nearest to the best."""
    ranked = sorted(afar, key=lambda end: end.value)
    return [end.point for end in ranked[: (len(ranked) + 1) // 2]]


@dataclass(frozen=True)
class _Found:
    """Where the searches of one model ended."""

    model: ServoModel
    best: Repeat
    repeats: list[Repeat]
    value: float
    """The least of the searches' objective [rad]."""
    afar: list[End]
    others: list[Array]
    """Other optima, polished."""


class _Job:
    """The searches of one identification, one after the other."""

    def __init__(
        self,
        request: IdentificationRequest,
        train: Sequence[Recording],
        validation: Sequence[Recording],
        *,
        trial: str = "",
        path_choice: str = "",
        span: tuple[float, float] = (0.0, 1.0),
        folder: Path | None = None,
        storage: str = "",
        resume: bool = False,
        on_progress: Callable[[Progress], None] | None = None,
        on_recorded: Callable[[Progress], None] | None = None,
        should_stop: Callable[[], bool] | None = None,
        should_yield: Callable[[], bool] | None = None,
    ) -> None:
        self.request = request = suited(request, train)
        self.train = train
        self.validation = validation
        self.trial = trial
        self.path_choice = path_choice
        self.span = span
        """Shares of the whole identification that are done before and after."""
        self.folder = folder
        self.storage = storage
        self.resume = resume
        self.on_progress = on_progress
        self.on_recorded = on_recorded
        self.should_stop = should_stop
        self.should_yield = should_yield
        self.stopped = False
        self._placed = PlacedResiduals(request.points) if request.points else None
        self._started = time.monotonic()
        self._steps: int | None = None
        """Simulation steps between two samples, once chosen."""
        self._first_steps: dict[str, int] = {}
        """Steps that each model's searches began with."""
        self._done_before = span[0]
        """Share that was on record already and took no time."""
        self._templates = {friction: search_template(request, friction) for friction in request.models}
        self._budgets = {
            friction: request.trials or TRIALS_PER_PARAMETER * len(template.parameters.free)
            for friction, template in self._templates.items()
        }

    def fit(
        self, friction: str, split: Split, simpler: Sequence[ModelResult], numbers: Sequence[int] | None = None
    ) -> ModelResult:
        """Search K times, or by the repeats of these numbers, keep the best; once more if the step proved too long."""
        started = time.monotonic()
        request = self.request
        template = self._templates[friction]
        prior = Prior.about(template, request.prior)
        how = Simulated(dt=request.dt, supply=request.supply, threads=request.threads, prior=prior)
        interval = sampling_interval(self.train, request.dt)
        found = self._searched(
            replace(template, dt=interval, substeps=self._parts(interval, how)), how, simpler, numbers
        )
        evaluations = sum(r.evaluations for r in found.repeats)
        finer = self._finer(found.model, found.best.train_mae, how, SEARCH_SHARE)
        if finer is not None and not self.stopped:
            again = replace(found.model, parameters=template.parameters, substeps=finer)
            found = self._searched(again, how, simpler, numbers, found.best.parameters.vector())
            evaluations += sum(r.evaluations for r in found.repeats)
        model, best, others = found.model, found.best, found.others
        offsets: tuple[RunOffset, ...] = ()
        if self._polishes and not self.stopped:
            model, others = self._with_final_step(found, how, _lifted_starts(template, simpler))
            if request.run_offsets:
                model, offsets = self._offset(model, prior)
            best = self._repeat(model, best.seed, best.evaluations)
        model = self._finished(model, best, found.repeats, split)
        sure = confirmed(found.afar, found.value)
        evidence = judge(
            model,
            template.parameters,
            self.train,
            dt=request.dt,
            supply=request.supply,
            threads=request.threads,
            others=others,
            scatter=() if sure else _better_half(found.afar),
        )
        evidence = replace(
            evidence,
            search="" if sure else _unconfirmed(found.afar),
            elsewhere=self._disagreement(model, [*others, *(end.point for end in found.afar)]),
            offsets=offsets,
        )
        held_out = self._evaluate(model, self.validation).runs if self.validation else ()
        return ModelResult(
            model=replace(model, provenance={**model.provenance, **_certainty(evidence)}),
            train_mae=best.train_mae,
            validation_mae=best.validation_mae,
            validation_rmse=best.validation_rmse,
            evaluations=evaluations,
            wall_seconds=time.monotonic() - started,
            repeats=tuple(found.repeats),
            evidence=evidence,
            held_out={run.id: run.mae for run in held_out},
        )

    def _disagreement(self, model: ServoModel, others: Sequence[Array]) -> str:
        request = self.request
        return disagreement(model, others, self.train, dt=request.dt, supply=request.supply, threads=request.threads)

    def _parts(self, interval: float, how: Simulated) -> int:
        """Steps of a sampling interval [s] that the searches begin with, the same for all models."""
        if self._steps is None:
            request = self.request
            richest = replace(self._templates[request.models[-1]], dt=interval)
            chooses = request.substeps is None and richest.leapfrog
            self._steps = chosen_parts(richest, self.train, how) if chooses else request.substeps or 1
        return self._steps

    def _finer(
        self, model: ServoModel, error: float, how: Simulated, share: float, most: int = PARTS[-1]
    ) -> int | None:
        """How many steps a model needs for them to cost this share of its error [rad], if more than it has."""
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
        simpler: Sequence[ModelResult],
        numbers: Sequence[int] | None,
        found_before: Array | None = None,
    ) -> _Found:
        """The searches with one step and where they ended; found_before: the optimum with a longer one."""
        request = self.request
        batch = how.batch(wanted, self.train)
        starts = [wanted.parameters.vector(), *self._best_lifted(wanted, batch, simpler)]
        if found_before is not None:
            starts.append(found_before)
        if request.start:
            # The search goes far from the first start and stays near the others.
            starts.insert(0, search_template(replace(request, start=()), wanted.friction).parameters.vector())
        self._check_starts(batch, starts)
        repeats: list[Repeat] = []
        values: list[float] = []
        ends: list[Array] = []
        afar: list[End] = []
        searched = batch.selection(MOST_SEARCHED_SAMPLES) if self._polishes else batch
        for repeat in range(self.request.repeats) if numbers is None else numbers:
            found = self._search(wanted, searched, repeat, starts)
            values.append(found.value)
            ends += found.ends
            afar += found.afar
            fitted = wanted.with_parameters(wanted.parameters.with_vector(found.best))
            repeats.append(self._repeat(fitted, self._seed(repeat), found.evaluations))
            if found.stopped:
                self.stopped = True
                break
        by_value = self._placed is not None or request.prior > 0.0
        best = repeats[int(np.argmin(values))] if by_value else min(repeats, key=lambda r: r.train_mae)
        model = wanted.with_parameters(best.parameters)
        others: list[Array] = []
        if self._polishes and not self.stopped:
            model, others = self._polished(batch, best, ends, starts[1:])
            best = self._repeat(model, best.seed, best.evaluations)
        return _Found(model, best, repeats, min(values), afar, others)

    def _with_final_step(
        self, found: _Found, how: Simulated, lifted: Sequence[Array]
    ) -> tuple[ServoModel, list[Array]]:
        """The end of a search and other optima, polished with a step whose cost does not reach the intervals."""
        residuals = how.batch(found.model, self.train).residuals(None, lambda _, motions: motions[:, 0].copy())
        most = MOST_FINAL * found.model.substeps
        finer = self._finer(found.model, found.best.train_mae, how, final_share(residuals), most)
        if finer is None:
            return found.model, found.others
        model = replace(found.model, substeps=finer)
        batch = how.batch(model, self.train)
        starts = np.array([model.parameters.vector(), *lifted])
        ends = [starts[int(np.argmin(smooth_losses(batch, starts)))], *found.others]
        ends = [polish(batch, end, rough=True, difference=FINE)[0] for end in ends]
        order = np.argsort(smooth_losses(batch, np.array(ends)))
        best, _ = polish(batch, ends[order[0]])
        return model.with_parameters(model.parameters.with_vector(best)), [ends[place] for place in order[1:]]

    @cached_property
    def _saturated_share(self) -> float:
        return saturated_share(self.train)

    @cached_property
    def _reach(self) -> dict[str, Any]:
        return reach_of(self.train)

    @property
    def _polishes(self) -> bool:
        return self.request.polish and self._placed is None

    def _polished(
        self, batch: Batch, best: Repeat, ends: list[Array], lifted: list[Array]
    ) -> tuple[ServoModel, list[Array]]:
        """The end of the searches with the least smooth loss among those no worse than any simpler model, and other
        polished ones."""
        model = batch.model
        found = np.array([best.parameters.vector(), *ends, *lifted])
        polished: list[Array] = []
        nearest = _distinct(found[np.argsort(smooth_losses(batch, found))], model.parameters.bounds())[:POLISHED]
        rough = np.array([polish(batch, vector, rough=True, difference=FINE)[0] for vector in nearest])
        losses = smooth_losses(batch, rough)
        for smoothest in rough[losses <= (1.0 + NEAR) * losses.min()]:
            for difference in (WIDE, FINE, DIFFERENCE):
                smoothest, _ = polish(batch, smoothest, difference=difference)
            polished.append(smoothest)
        found = np.array([*found, *polished])
        losses, maes = smooth_losses(batch, found), batch.scores(found).combined("mae")
        simpler = maes[1 + len(ends) : 1 + len(ends) + len(lifted)]
        allowed = ALIKE * simpler.min() if len(simpler) else np.inf
        chosen = int(np.argmin(np.where(maes <= allowed, losses, np.inf)))
        others = [vector for vector in polished if not np.array_equal(vector, found[chosen])]
        return model.with_parameters(model.parameters.with_vector(found[chosen])), others

    def _offset(self, model: ServoModel, prior: Prior) -> tuple[ServoModel, tuple[RunOffset, ...]]:
        """The model polished with offsets of each run, and these."""
        request = self.request
        batch = Batch(model, self.train, dt=request.dt, supply=request.supply, threads=request.threads, prior=prior)
        vector, offsets = with_offsets(batch, model.parameters.vector())
        return model.with_parameters(model.parameters.with_vector(vector)), offsets.reported(batch)

    def _repeat(self, fitted: ServoModel, seed: int, evaluations: int) -> Repeat:
        """A fit with its errors."""
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
        """Name the runs whose simulation diverges from every start, while there still is a remedy to name."""
        finite = np.asarray(np.isfinite(batch.scores(np.array(starts)).mae)).max(axis=1)
        if all(finite):
            return
        lost = [identity for identity, good in zip(batch.ids, finite, strict=True) if not good]
        if len(lost) == len(finite):
            raise DivergingError(
                "the simulation diverges on every run, whatever the start; use a finer time step or more substeps, "
                "and the catalogue's bounds"
            )
        raise UnusableRuns(
            f"the simulation of run {lost[0]} diverges, whatever the start; leave it out, or trim it", lost
        )

    def _best_lifted(self, template: ServoModel, batch: Batch, simpler: Sequence[ModelResult]) -> list[Array]:
        """The simpler optimum that scores best, if any: a start that makes a richer model never worse."""
        starts = _lifted_starts(template, simpler)
        if not starts:
            return []
        return [starts[int(self._values(template, batch, np.array(starts)).argmin())]]

    def _values(self, template: ServoModel, batch: Batch, candidates: Array) -> Array:
        """What the search makes small, (p,) for candidates (p, n): metric of the runs plus mean error of the points."""
        values = batch.scores(candidates).combined(self.request.metric) + batch.prior_costs(candidates)
        return values if self._placed is None else values + self._placed.errors(template, candidates)

    def _seed(self, repeat: int) -> int:
        return int(np.random.SeedSequence([self.request.seed, repeat]).generate_state(1)[0])

    def _evaluate(self, model: ServoModel, recordings: Sequence[Recording]) -> Evaluation:
        request = self.request
        return evaluate(model, recordings, dt=request.dt, supply=request.supply, threads=request.threads)

    def _search(self, template: ServoModel, batch: Batch, repeat: int, starts: list[Array]) -> SearchResult:
        friction = template.friction
        budget = self._budgets[friction]
        pieces = batch.selection(MOST_LEADING_SAMPLES).in_pieces(PIECE)
        record = None
        if self.folder is not None:
            settings = self._search_settings(template, batch, budget, starts)
            # Searches that come again with a finer step have studies of their own.
            first = self._first_steps.setdefault(friction, template.substeps)
            again = "" if template.substeps == first else f"/{template.substeps}"
            trial = f"{self.trial}/" if self.trial else ""
            place, name = self._study(f"{trial}{friction}/{repeat}{again}", self.folder)
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
            progress = self._progress(template, repeat, generation)
            self._done_before, self._started = progress.done, time.monotonic()
            if self.on_recorded is not None:
                self.on_recorded(progress)

        def run() -> SearchResult:
            return search(
                partial(judge, batch),
                template.parameters.bounds(),
                starts,
                budget,
                self._seed(repeat),
                most=MOST_TRIALS * budget if self.request.trials is None and self.request.repeats == 1 else None,
                surrogate=Surrogate(partial(judge, pieces), partial(polish, pieces, rough=True, difference=WIDE)),
                refine=partial(polish, batch, rough=True, difference=FINE) if self._polishes else None,
                recorded=() if record is None else record.recorded,
                on_generation=report,
                on_recorded=recall,
                should_stop=self.should_stop,
            )

        if record is None:
            return run()
        with record:
            return run()

    def _study(self, search: str, folder: Path) -> tuple[str, str]:
        """Where a search's study is kept, and its name there."""
        if self.storage:
            return self.storage, f"{folder.name}/{search}"
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise IdentificationError(f"{folder}: no study can be kept there ({error.strerror or error})") from None
        return f"{JOURNAL_SCHEME}{folder / JOURNAL}", search

    def _search_settings(self, template: ServoModel, batch: Batch, budget: int, starts: list[Array]) -> dict[str, Any]:
        """What the values on record depend on; where a search begins depends on the simpler models before it."""
        request = self.request
        return {
            "servo": template.servo,
            "friction": template.friction,
            "parameters": {p.name: [p.lower, p.upper] for p in template.parameters.free},
            "frozen": dict(request.frozen),
            "starts": [start.tolist() for start in starts],
            "metric": request.metric,
            "quadratic_gate": request.quadratic_gate,
            "integrator": request.integrator,
            "substeps": template.substeps,
            "dt": request.dt,
            "supply": request.supply,
            "seed": request.seed,
            "trials": budget,
            "recordings": list(batch.ids),
            "data_hash": request.data_hash,
            **({"contact": request.contact} if request.contact != "rigid" else {}),
            **({"prior": request.prior} if request.prior else {}),
            **({"points": [point.uid for point in request.points]} if request.points else {}),
        }

    def _progress(self, template: ServoModel, repeat: int, generation: Generation) -> Progress:
        request = self.request
        weights = self._budgets
        total = sum(weights.values()) * request.repeats
        before = sum(weights[m] for m in request.models[: request.models.index(template.friction)])
        here = weights[template.friction]
        own = (before * request.repeats + repeat * here + min(generation.evaluations, here)) / total
        done = self.span[0] + (self.span[1] - self.span[0]) * own
        elapsed = time.monotonic() - self._started
        candidate = None
        if generation.improved:
            candidate = template.with_parameters(template.parameters.with_vector(generation.best))
        return Progress(
            model=template.friction,
            trial=self.trial,
            repeat=repeat,
            models=request.models,
            repeats=request.repeats,
            generation=generation,
            candidate=candidate,
            trials=here,
            done=done,
            remaining=elapsed * (1.0 - done) / max(done - self._done_before, 1e-9),
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
            "validation_rmse": best.validation_rmse,
            "repeat_spread": max(maes) - min(maes),
            "discretisation_error": discretisation_error(model, self.train, dt=request.dt, supply=request.supply),
            "saturated_share": self._saturated_share,
            REACH: self._reach,
            "unused_channels": unused_channels(self.train),
            **({"command_path_choice": self.path_choice} if self.path_choice else {}),
            "versions": dict(_versions()),
        }
        if self._placed is not None:
            error = float(np.abs(self._placed.of(model)).mean())
            provenance["placed_points"] = {"count": len(request.points), "mean_error": error}
        return replace(model, provenance=provenance)


@cache
def _versions() -> dict[str, str]:
    """Return the versions a model was found with; looking them up takes longer than many a fit."""
    names = ("servobench", "numpy", "numba", "cmaes", "optuna")
    return {name: version(name) for name in names} | {"python": platform.python_version()}
