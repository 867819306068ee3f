"""Cross-validation by conditions: every model fitted with one mass, gain or unit held out, and judged on that.

The table of errors and the choice are in `model_choice`, the division of the runs in `folds`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from core.errors import IdentificationError
from core.identification.choice.model_choice import CrossValidation, FoldFit, Variant
from core.identification.evaluate import evaluate
from core.identification.identify import Progress, identify
from core.identification.request import IdentificationRequest
from core.identification.result import ModelResult
from core.identification.runs.conditions import suited
from core.identification.runs.folds import Fold, balanced_subset, folds
from core.identification.search.objective import Batch
from core.identification.search.warmstart import search_on
from core.model import ServoModel
from core.recording import Recording
from core.terms import COMMAND_PATH_TERMS, FRICTION_MODELS, NEUTRAL


@dataclass(frozen=True, kw_only=True)
class CrossValidationProgress:
    """Where a running cross-validation stands."""

    fold: Fold
    """What is held out at the moment."""
    number: int
    """Of this fold, from 1."""
    folds: int
    command_path: bool
    step: Progress
    """Of the identification under way."""
    done: float
    """Share of the whole that is done, 0 … 1."""


def all_variants(
    request: IdentificationRequest, recordings: Sequence[Recording], models: Sequence[str] = FRICTION_MODELS
) -> tuple[Variant, ...]:
    """Each model without and with the command path, the request's terms or else the usual ones."""
    wanted = replace(request, command_path=request.command_path or COMMAND_PATH_TERMS)
    path = suited(wanted, recordings).command_path
    return tuple(Variant(friction=model, command_path=terms) for terms in ((), path) for model in models)


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
    """Fit each variant to the rest of each fold and judge it on the fold's runs, whole.

    request: how to fit; its models, command path and validation rule are replaced by the variants' and the folds'.
    by: conditions to hold out, see `folds`; variants: None for `all_variants`; folder: where studies are kept, in a
    folder per fold; what is on record there is not searched again. known: fits of an earlier run with the same
    request; on_recorded: as `identify`; on_fit: hears of each fit, the known ones too, and of the share that is done
    by then. most_training_runs: fit to a selection of so many runs that keeps every condition, see `balanced_subset`;
    every held-out run is judged in any case. Between generations should_stop is polled, complete folds are kept;
    should_yield: as `identify`. Raises IdentificationError, InputError.
    """
    wanted = tuple(dict.fromkeys(all_variants(request, recordings) if variants is None else variants))
    if not wanted:
        raise IdentificationError("no model to compare was named; choose at least one")
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
        train = balanced_subset([by_id[i] for i in fold.train], most_training_runs, request.seed)
        fits += job.fit(fold, train, [by_id[i] for i in fold.held_out])
        if job.stopped:
            break
    return CrossValidation(fits=tuple(fits), skipped=divided.skipped, stopped=job.stopped)


@dataclass(eq=False)
class _FoldFits:
    """The fits of one cross-validation, fold by fold."""

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
        # Without the command path first: its optima are among the starts of the others.
        self.paths = sorted({variant.command_path for variant in self.variants}, key=lambda path: (len(path), path))
        self.stopped = False
        self._searches = 0
        """Identifications begun."""

    def fit(self, fold: Fold, train: Sequence[Recording], held: Sequence[Recording]) -> list[FoldFit]:
        """Every variant fitted and judged, in their order; none when it was stopped before the last."""
        found: dict[Variant, FoldFit] = {}
        for path in self.paths:
            asked = [variant for variant in self.variants if variant.command_path == path]
            # A model's search begins from the simpler ones: all of them are known, or all are searched.
            if all((variant, fold) in self.known for variant in asked):
                self._searches += 1
                for variant in asked:
                    self._keep(self.known[variant, fold], found, 1.0)
                continue
            request = replace(
                self.request,
                models=tuple(variant.friction for variant in asked),
                command_path=path,
                validation="none",
            )

            def judge(result: ModelResult, request: IdentificationRequest = request) -> None:
                path = request.command_path
                variant = Variant(friction=result.model.friction, command_path=path)
                simpler = found.get(Variant(friction=variant.friction)) if path else None
                model, train_mae = self._not_worse(request, result, simpler, train)
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
                self._keep(fit, found, (request.models.index(variant.friction) + 1) / len(request.models))

            self._identify(request, fold, train, judge)
            if self.stopped:
                return []
        return [found[variant] for variant in self.variants]

    def _keep(self, fit: FoldFit, found: dict[Variant, FoldFit], share: float) -> None:
        """Take a fit and tell of it; share: of the identification under way."""
        found[fit.variant] = fit
        self.on_fit(fit, (self._searches - 1 + share) / (self.folds * len(self.paths)))

    def _identify(
        self,
        request: IdentificationRequest,
        fold: Fold,
        train: Sequence[Recording],
        judge: Callable[[ModelResult], None],
    ) -> None:
        before, self._searches = self._searches, self._searches + 1

        def report(tell: Callable[[CrossValidationProgress], None] | None, step: Progress) -> None:
            if tell is not None:
                tell(
                    CrossValidationProgress(
                        fold=fold,
                        number=before // len(self.paths) + 1,
                        folds=self.folds,
                        command_path=bool(request.command_path),
                        step=step,
                        done=(before + step.done) / (self.folds * len(self.paths)),
                    )
                )

        found = identify(
            request,
            train,
            folder=None if self.folder is None else self.folder / _folder_name(fold, request.command_path),
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
        """The model and its training error, searched on from the one without the command path where that is better."""
        if simpler is None or request.prior:
            return result.model, result.train_mae
        parameters = result.model.parameters
        neutral = {
            p.name: min(max(NEUTRAL[p.name], p.lower), p.upper)
            for p in parameters.free
            if p.name in request.command_path
        }
        lifted = result.model.with_parameters(parameters.with_values({**simpler.model.values, **neutral}))
        batch = Batch(result.model, train, dt=request.dt, supply=request.supply, threads=request.threads)
        vectors = [result.model.parameters.vector(), lifted.parameters.vector()]
        ours, theirs = (batch.scores(vector[None]).combined(request.metric)[0] for vector in vectors)
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


def _folder_name(fold: Fold, path: Sequence[str]) -> str:
    value = fold.value if isinstance(fold.value, str) else f"{fold.value:g}"
    safe = "".join(letter if letter.isalnum() or letter in ".-" else "_" for letter in value)
    return f"{fold.condition}_{safe}_{'-'.join(path) or 'plain'}"
