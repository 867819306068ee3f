"""Cross-validation by conditions: each model is fitted with one mass, gain or unit held out, and scored on that.

The table of errors and the choice are in `model_choice`, the division of the runs is in `folds`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from core.base.errors import IdentificationError, InputError
from core.identification.choice.model_choice import CrossValidation, FoldFit, Variant
from core.identification.evaluate import evaluate
from core.identification.identify import Progress, identify
from core.identification.request import IdentificationRequest
from core.identification.result import ModelResult
from core.identification.runs.conditions import suited
from core.identification.runs.folds import Fold, balanced_subset, folds
from core.identification.search.timestep import Simulated
from core.identification.search.warmstart import search_on
from core.motion.recording import Recording
from core.servo.model import ServoModel
from core.servo.terms import COMMAND_PATH, COMMAND_PATH_TERMS, CONTACTS, FRICTION_MODELS, NEUTRAL, path_of


@dataclass(frozen=True, kw_only=True)
class CrossValidationProgress:
    """Progress of a running cross-validation."""

    fold: Fold
    """Fold that is currently held out."""
    number: int
    """Number of this fold, from 1."""
    folds: int
    command_path: bool
    step: Progress
    """Progress of the current identification."""
    done: float
    """Share of the whole that is done, 0 to 1."""


def all_variants(
    request: IdentificationRequest,
    recordings: Sequence[Recording],
    models: Sequence[str] = FRICTION_MODELS,
    added: Sequence[str] = (),
) -> tuple[Variant, ...]:
    """Return each model without and with the command path, whose terms are the request's or else the usual ones.

    The last model with the command path is also compared with each of `added`, contacts and terms, alone. An automatic
    contact is the rigid one.

    Raises:
        InputError: One of `added` is neither.
    """
    plain = request.settled(()).command_path
    wanted = request if request.command_path != plain else request.settled(COMMAND_PATH_TERMS)
    path = suited(wanted, recordings).command_path
    usual = Variant(friction=models[-1], command_path=path, contact=request.searched_contact)
    variants = [
        replace(usual, friction=model, command_path=path_of(model, terms))
        for terms in (plain, path)
        for model in models
    ]
    return tuple(dict.fromkeys([*variants, *(_with(usual, name) for name in added)]))


def _with(variant: Variant, name: str) -> Variant:
    """Return a variant with another contact or one more term."""
    if name in CONTACTS:
        return replace(variant, contact=name)
    if name not in COMMAND_PATH:
        raise InputError(
            f"{name!r} is neither a contact ({', '.join(CONTACTS)}) nor a term ({', '.join(COMMAND_PATH)})"
        )
    return replace(variant, command_path=tuple(dict.fromkeys((*variant.command_path, name))))


def cross_validate(
    request: IdentificationRequest,
    recordings: Sequence[Recording],
    by: Sequence[str],
    *,
    variants: Sequence[Variant] | None = None,
    folder: Path | None = None,
    known: Sequence[FoldFit] = (),
    on_progress: Callable[[CrossValidationProgress], None] | None = None,
    on_recorded: Callable[[CrossValidationProgress], None] | None = None,
    on_fit: Callable[[FoldFit, float], None] = lambda fit, done: None,
    should_stop: Callable[[], bool] | None = None,
    should_yield: Callable[[], bool] | None = None,
    most_training_runs: int | None = None,
) -> CrossValidation:
    """Fit each variant to the rest of each fold and score it on all runs of the fold.

    Args:
        request: Options of the fits. Its models, command path and validation rule are replaced by the variants and
            folds.
        recordings: Recordings of one servo.
        by: Conditions to hold out, see `folds`.
        variants: Variants to compare. None: `all_variants`.
        folder: Folder for the studies, with one folder per fold. Recorded searches are not repeated.
        known: Fits of an earlier run with the same request.
        on_progress: Called after each generation.
        on_recorded: As for `identify`.
        on_fit: Called with each fit, including known ones, and the share done.
        should_stop: Polled between generations. True stops and keeps complete folds.
        should_yield: As for `identify`.
        most_training_runs: Fit to a selection of this many runs that keeps every condition, see `balanced_subset`. All
            held-out runs are scored in any case.

    Returns:
        Errors of every variant on every fold.

    Raises:
        InputError: A condition does not exist.
        IdentificationError: Nothing can be held out, or the request does not fit the recordings.
    """
    request = replace(request, contact=request.searched_contact)
    asked = all_variants(request, recordings) if variants is None else variants
    # Terms with a given value or bounds are part of every path.
    paths = [request.settled(variant.command_path).command_path for variant in asked]
    wanted = tuple(dict.fromkeys(replace(v, command_path=path) for v, path in zip(asked, paths, strict=True)))
    if not wanted:
        raise IdentificationError("no model to compare; name at least one")
    by_id = {recording.id: recording for recording in recordings}
    if len(by_id) != len(recordings):
        raise IdentificationError("two recordings share an id")
    divided = folds(recordings, by)
    job = _FoldFits(
        request=request,
        variants=wanted,
        folder=folder,
        known={(fit.variant, fit.fold): fit for fit in known},
        on_progress=on_progress,
        on_recorded=on_recorded,
        on_fit=on_fit,
        should_stop=should_stop,
        should_yield=should_yield,
        folds=len(divided.folds),
    )
    fits: list[FoldFit] = []
    for fold in divided.folds:
        if job.stopped and not job.knows(fold):
            continue
        train = balanced_subset([by_id[i] for i in fold.train], most_training_runs, request.seed)
        fits += job.fit(fold, train, [by_id[i] for i in fold.held_out])
    return CrossValidation(fits=tuple(fits), skipped=divided.skipped, stopped=job.stopped)


@dataclass(eq=False)
class _FoldFits:
    """Fits of one cross-validation, fold by fold."""

    request: IdentificationRequest
    variants: Sequence[Variant]
    folder: Path | None
    known: Mapping[tuple[Variant, Fold], FoldFit]
    on_progress: Callable[[CrossValidationProgress], None] | None
    on_recorded: Callable[[CrossValidationProgress], None] | None
    on_fit: Callable[[FoldFit, float], None]
    should_stop: Callable[[], bool] | None
    should_yield: Callable[[], bool] | None
    folds: int

    def __post_init__(self) -> None:
        # Simpler kinds come first: their optima are among the starts of the others.
        kinds = {(variant.contact, variant.command_path) for variant in self.variants}
        usual = self.request.contact
        self.kinds = sorted(kinds, key=lambda kind: (kind[0] != usual, kind[0], len(kind[1]), kind[1]))
        self.stopped = False
        self._searches = 0
        """Number of identifications begun."""
        self._done = 0.0
        """Share of the whole that is done."""

    def knows(self, fold: Fold) -> bool:
        """Return True if every variant's fit is known, so that nothing is searched."""
        return all((variant, fold) in self.known for variant in self.variants)

    def fit(self, fold: Fold, train: Sequence[Recording], held: Sequence[Recording]) -> list[FoldFit]:
        """Fit and score every variant, in their order; empty if it was stopped before the last."""
        found: dict[Variant, FoldFit] = {}
        for contact, path in self.kinds:
            asked = [variant for variant in self.variants if (variant.contact, variant.command_path) == (contact, path)]
            # A model's search starts from the simpler ones, so either all are known or all are searched.
            if all((variant, fold) in self.known for variant in asked):
                self._searches += 1
                self._done = self._share(self._searches)
                for variant in asked:
                    self._keep(self.known[variant, fold], found)
                continue
            request = replace(asked[0].asked(self.request), models=tuple(variant.friction for variant in asked))

            def judge(result: ModelResult, request: IdentificationRequest = request) -> None:
                variant = Variant(
                    friction=result.model.friction, command_path=request.command_path, contact=request.contact
                )
                model, train_mae = self._not_worse(request, result, self._simpler(variant, found), train)
                scores = evaluate(model, held, dt=request.dt, supply=request.supply, threads=request.threads)
                fit = FoldFit(
                    variant=variant,
                    fold=fold,
                    model=model,
                    train_mae=train_mae,
                    trained_on=tuple(recording.id for recording in train),
                    evaluations=result.evaluations,
                    errors={run.id: run.mae if math.isfinite(run.mae) else math.inf for run in scores.runs},
                )
                self._keep(fit, found)

            self._identify(request, fold, train, judge)
            if self.stopped:
                return []
        return [found[variant] for variant in self.variants]

    def _keep(self, fit: FoldFit, found: dict[Variant, FoldFit]) -> None:
        """Store a fit and report it."""
        found[fit.variant] = fit
        self.on_fit(fit, self._done)

    def _share(self, searches: float) -> float:
        return searches / (self.folds * len(self.kinds))

    def _simpler(self, variant: Variant, found: Mapping[Variant, FoldFit]) -> FoldFit | None:
        """Return the fit of the richest variant that this one extends, None without one."""
        fits = [
            fit
            for other, fit in found.items()
            if other != variant
            and other.friction == variant.friction
            and other.contact in (variant.contact, self.request.contact)
            and set(other.command_path) <= set(variant.command_path)
        ]
        return max(fits, key=lambda fit: len(fit.variant.command_path), default=None)

    def _identify(
        self,
        request: IdentificationRequest,
        fold: Fold,
        train: Sequence[Recording],
        judge: Callable[[ModelResult], None],
    ) -> None:
        before, self._searches = self._searches, self._searches + 1

        def report(tell: Callable[[CrossValidationProgress], None] | None, step: Progress) -> None:
            self._done = self._share(before + step.done)
            if tell is not None:
                tell(
                    CrossValidationProgress(
                        fold=fold,
                        number=before // len(self.kinds) + 1,
                        folds=self.folds,
                        command_path=bool(request.command_path),
                        step=step,
                        done=self._done,
                    )
                )

        found = identify(
            request,
            train,
            folder=None if self.folder is None else self.folder / _folder_name(fold, request),
            resume=self.folder is not None,
            on_progress=partial(report, self.on_progress),
            on_recorded=partial(report, self.on_recorded),
            on_result=judge,
            should_stop=self.should_stop,
            should_yield=self.should_yield,
        )
        self.stopped = self.stopped or found.stopped

    def _not_worse(
        self, request: IdentificationRequest, result: ModelResult, simpler: FoldFit | None, train: Sequence[Recording]
    ) -> tuple[ServoModel, float]:
        """Return model and training error, searched further from the simpler variant if that is better."""
        if simpler is None:
            return result.model, result.train_mae
        parameters = result.model.parameters
        known = {name: value for name, value in simpler.model.values.items() if name in parameters}
        neutral = {
            p.name: min(max(NEUTRAL[p.name], p.lower), p.upper)
            for p in parameters.free
            if p.name in request.command_path and p.name in NEUTRAL and p.name not in known
        }
        lifted = result.model.with_parameters(parameters.with_values({**known, **neutral}))
        batch = Simulated.asked(request, result.model.friction, len(train)).batch(result.model, train)
        vectors = np.array([result.model.parameters.vector(), lifted.parameters.vector()])
        ours, theirs = batch.penalised(batch.scores(vectors).combined(request.metric), vectors)
        if ours <= theirs:
            return result.model, result.train_mae
        budget = request.trials or result.evaluations
        better = search_on(
            lifted,
            batch,
            budget,
            request.seed,
            metric=request.metric,
            should_stop=self.should_stop,
            should_yield=self.should_yield,
        )
        return better, float(batch.scores(better.parameters.vector()[None]).mae[:, 0].mean())


def _folder_name(fold: Fold, request: IdentificationRequest) -> str:
    value = fold.value if isinstance(fold.value, str) else f"{fold.value:g}"
    safe = "".join(letter if letter.isalnum() or letter in ".-" else "_" for letter in value)
    contact = "" if request.contact == "rigid" else f"_{request.contact}"
    return f"{fold.condition}_{safe}_{'-'.join(request.command_path) or 'plain'}{contact}"
