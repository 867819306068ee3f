"""Cross-validation from a session's runs to its file, the same for the window and for `bench crossvalidate`."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.base.errors import IdentificationError, InputError
from core.document.table import Tabular
from core.identification.choice.model_choice import CrossValidation, FoldFit
from core.identification.choice.repeatability import FloorRow, repeatability
from core.identification.choice.terms import TermCosts, term_costs
from core.identification.choice.transfer import TransferTable, transfer_table
from core.identification.defaults import COMMAND_PATHS, CONDITIONS
from core.identification.request import IdentificationRequest
from core.identification.runs.folds import Fold, folds
from core.motion.recording import Recording, require_loads
from sessions.results.folder import (
    CROSSVALIDATION,
    CROSSVALIDATION_FITS,
    CROSSVALIDATION_REQUEST,
    FOLDER,
    OnProgress,
    Stops,
    new_result_folder,
    read_file,
    result_folders,
    working_on,
    write_file,
)

if TYPE_CHECKING:
    from sessions.selection import Selection


@dataclass(frozen=True, kw_only=True)
class Question:
    """Request for a cross-validation."""

    request: IdentificationRequest
    """Settings of each fit, the models to compare, the terms of the command path (empty for the usual ones) and the
    hash of the runs' data."""
    by: tuple[str, ...] = CONDITIONS
    """Conditions to hold out, one value after the other."""
    command_path: str = "both"
    """One of COMMAND_PATHS."""
    additions: tuple[str, ...] = ()
    """Contacts and terms to compare beside the last model with the command path, each alone."""
    most_training_runs: int | None = None
    transfer: bool = False
    """Also fit the chosen model to each single value and test it on the others."""
    terms: bool = False
    """Also leave out each term of the chosen model in turn."""

    def __post_init__(self) -> None:
        if self.additions and True not in COMMAND_PATHS[self.command_path]:
            raise InputError("contacts and terms are added beside the command path; fit models with it, too")

    def searches(self) -> dict[str, Any]:
        """Return the settings that searches depend on; stored searches with the same settings are reused."""
        request = replace(self.request, contact=self.request.searched_contact)
        known = {**request.to_json(), "most_training_runs": self.most_training_runs}
        # The fold defines what is held out, and the number of threads does not change a result.
        same = {name: value for name, value in known.items() if name not in ("threads", "validation")}
        return json.loads(json.dumps(same))


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One finished search."""

    variant: str
    """Name of the fitted variant."""
    fold: str
    """Label of the held-out fold."""
    error: float
    """Error on the held-out runs [rad]."""
    done: float
    """Share of the whole that is done by then, 0 … 1."""
    recorded: bool
    """True if the search was read from an earlier, unfinished cross-validation."""


@dataclass(frozen=True, kw_only=True)
class CrossValidationWatch:
    """Callbacks of a running cross-validation."""

    planned: Callable[[Sequence[str], Sequence[str]], None] = lambda variants, folds: None
    """Receives the names of the variants and of the folds; each variant is searched for each fold."""
    on_progress: OnProgress = lambda share, text: None
    on_recorded: OnProgress = lambda share, text: None
    """As `on_progress`, for stored searches."""
    judged: Callable[[Cell], None] = lambda cell: None
    should_stop: Callable[[], bool] = lambda: False
    should_yield: Callable[[], bool] = lambda: False
    """See `identify`."""


@dataclass(frozen=True, kw_only=True, repr=False)
class CrossValidated(Tabular):
    """Result of a cross-validation."""

    found: CrossValidation
    transfers: tuple[TransferTable, ...] = ()
    terms: TermCosts | None = None
    floors: tuple[FloorRow, ...] = ()
    """Repeatability of each trajectory and of all, beside the chosen model's errors on held-out runs."""
    floors_text: str = ""
    selection: Mapping[str, Any] | None = None
    """The session's other runs, if known, as `Selection.to_json`."""
    folder: Path | None = None
    """Folder where it is stored, if any."""

    def heading(self) -> str:
        """Return the choice of a model as text."""
        return self.found.choice.text

    def columns(self) -> Mapping[str, Sequence[Any]]:
        """Return each model's error on held-out runs [mrad]: the mean, then fold by fold."""
        found = self.found
        return {
            "model": [variant.name for variant in found.variants],
            "held out [mrad]": [found.error(variant).mean * 1e3 for variant in found.variants],
            **{fold.label: [found.fit(v, fold).mean * 1e3 for v in found.variants] for fold in found.folds},
        }

    def to_json(self) -> dict[str, Any]:
        """Return plain data: the `CrossValidation`, and the other parts under names of their own."""
        return {
            **self.found.to_json(),
            "transfer": [table.to_json() for table in self.transfers],
            "terms": None if self.terms is None else self.terms.to_json(),
            "repeatability": [row.to_json() for row in self.floors],
            "repeatability_text": self.floors_text,
            **({} if self.selection is None else {"selection": self.selection}),
        }

    @classmethod
    def from_json(cls, data: Any) -> CrossValidated:
        """Return a result; the inverse of `to_json`.

        Raises:
            IdentificationError: for anything else.
        """
        try:
            found, terms = CrossValidation.from_json(data), data.get("terms")
            _ = found.choice  # there is none if every model's simulation diverges
            return cls(
                found=found,
                transfers=tuple(map(TransferTable.from_json, data.get("transfer", ()))),
                terms=None if terms is None else TermCosts.from_json(terms),
                floors=tuple(map(FloorRow.from_json, data.get("repeatability", ()))),
                floors_text=str(data.get("repeatability_text", "")),
                selection=data.get("selection"),
            )
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise IdentificationError(
                f"no cross-validation ({type(error).__name__}): cross-validate these runs again"
            ) from None


def read_crossvalidation(folder: Path) -> CrossValidated:
    """Read the cross-validation in a folder.

    Raises:
        IdentificationError: if there is none that can be read.
    """
    place = folder / CROSSVALIDATION
    try:
        return replace(CrossValidated.from_json(read_file(folder, CROSSVALIDATION)), folder=folder)
    except OSError as error:
        raise IdentificationError(f"{place}: cannot be read ({error.strerror or error})") from None
    except (ValueError, RecursionError) as error:
        raise IdentificationError(f"{place}: no cross-validation ({error}): cross-validate these runs again") from None
    except IdentificationError as error:
        raise IdentificationError(f"{place}: {error}") from None


def run_crossvalidation(
    question: Question,
    recordings: Sequence[Recording],
    folder: Path | None,
    watch: CrossValidationWatch = CrossValidationWatch(),
    *,
    selection: Selection | None = None,
) -> CrossValidated:
    """Cross-validate and store the result in a folder.

    Transfer tables and terms stored there stay, as long as they belong to the same searches and the same choice.

    Args:
        question: What to compute.
        recordings: Runs to use.
        folder: Folder to store in; its stored searches are not repeated. None stores nothing.
        watch: Callbacks. Fits that are complete when it is stopped are stored and not repeated later.
        selection: Stored with the result.

    Raises:
        StoppedEarly: if no condition is complete.
        IdentificationError: if the runs or the folder do not allow it, or the folder holds an unfinished one with other
            settings.
        InputError: if the request is invalid.
    """
    require_loads(*recordings)
    with working_on(folder) if folder is not None else contextlib.nullcontext():
        kept = None
        if folder is not None:
            kept = _kept(question, folder)
            if (asked := _asked(folder)) != question.searches():
                if asked is not None and (folder / CROSSVALIDATION_FITS).exists():
                    raise IdentificationError(
                        f"{folder} holds an unfinished cross-validation with other settings; "
                        "give the same ones to continue it, or choose another folder"
                    )
                (folder / CROSSVALIDATION_FITS).unlink(missing_ok=True)
            write_file(folder, CROSSVALIDATION_REQUEST, question.searches())
        made = _cross_validate(question, recordings, folder, kept, watch)
        made = replace(made, folder=folder, selection=None if selection is None else selection.to_json())
        if folder is not None:
            write_file(folder, CROSSVALIDATION, made.to_json())
            if not made.found.stopped:
                (folder / CROSSVALIDATION_FITS).unlink(missing_ok=True)
    return made


def folder_for(question: Question, results: Path, beside: Path | None) -> Path:
    """Return the folder in which the window stores a cross-validation.

    That is one with searches that can be continued, one beside a result, or a new one.

    Args:
        question: What to compute.
        results: Folder of a session's results.
        beside: Folder of the identification currently shown.
    """
    for folder in result_folders(results / FOLDER, CROSSVALIDATION_REQUEST):
        if _asked(folder) == question.searches():
            return folder
    if beside is not None and not any((beside / name).exists() for name in (CROSSVALIDATION_REQUEST, CROSSVALIDATION)):
        return beside
    return new_result_folder(results)


def newest_crossvalidation(results: Path) -> CrossValidated | None:
    """Return the cross-validation of a session written last, None if there is none.

    Raises:
        IdentificationError: if it cannot be read.
    """
    folders = result_folders(results / FOLDER, CROSSVALIDATION)
    newest = max(folders, key=lambda folder: (folder / CROSSVALIDATION).stat().st_mtime, default=None)
    return None if newest is None else read_crossvalidation(newest)


def _cross_validate(
    question: Question,
    recordings: Sequence[Recording],
    folder: Path | None,
    kept: CrossValidated | None,
    watch: CrossValidationWatch,
) -> CrossValidated:
    """Cross-validate; see `_kept` for `kept`."""
    from core.identification.choice.crossvalidation import CrossValidationProgress, all_variants, cross_validate

    request, on_progress = question.request, watch.on_progress
    stops: Stops = {"should_stop": watch.should_stop, "should_yield": watch.should_yield}
    wanted = COMMAND_PATHS[question.command_path]
    every = all_variants(request, recordings, request.models, question.additions)
    variants = [v for v in every if bool(v.command_path) in wanted]
    divided = folds(recordings, question.by).folds
    watch.planned([variant.name for variant in variants], [fold.label for fold in divided])
    known = [] if kept is None else list(kept.found.fits)
    if folder is not None:
        known += _fits_so_far(folder, divided)
    fits = {(fit.variant, fit.fold): fit for fit in known}

    def judged(fit: FoldFit, done: float) -> None:
        place = (fit.variant, fit.fold)
        recorded = place in fits
        fits[place] = fit
        if folder is not None and not recorded:
            write_file(folder, CROSSVALIDATION_FITS, [fit.to_json() for fit in fits.values()])
        error = fit.mean
        watch.judged(Cell(variant=fit.variant.name, fold=fit.fold.label, error=error, done=done, recorded=recorded))

    def report(to: OnProgress, at: CrossValidationProgress) -> None:
        best = 1e3 * at.step.generation.overall_best_value
        path = " + command path" if at.command_path else ""
        to(at.done, f"fitting {at.step.model.upper()}{path} without {at.fold.label}, {best:.2f} mrad")

    found = cross_validate(
        request,
        recordings,
        question.by,
        variants=variants,
        folder=folder,
        known=known,
        most_training_runs=question.most_training_runs,
        **stops,
        on_progress=partial(report, on_progress),
        on_recorded=partial(report, watch.on_recorded),
        on_fit=judged,
    )
    chosen = found.choice.chosen
    # Transfer tables and terms describe the chosen model; they are void if the choice changed.
    if kept is not None and kept.found.choice.chosen.name != chosen.name:
        kept = None
    repeated, errors = repeatability(recordings, request.dt), found.errors(chosen)
    return CrossValidated(
        found=found,
        transfers=_transfers(question, recordings, found, kept, on_progress, stops),
        terms=_terms(question, recordings, found, kept, on_progress, stops),
        floors=repeated.table(errors),
        floors_text=repeated.text(errors),
    )


def _transfers(
    question: Question,
    recordings: Sequence[Recording],
    found: CrossValidation,
    kept: CrossValidated | None,
    on_progress: OnProgress,
    stops: Stops,
) -> tuple[TransferTable, ...]:
    """Return the stored transfer tables and, if requested, those of the other conditions until stopped."""
    tables = {table.condition: table for table in (kept.transfers if kept else ())}
    for condition in found.conditions if question.transfer else ():
        if condition in tables:
            continue
        if stops["should_stop"]():
            break
        try:
            tables[condition] = transfer_table(
                question.request,
                recordings,
                condition,
                found.choice.chosen,
                most_training_runs=question.most_training_runs,
                **stops,
                on_progress=lambda label, done: on_progress(done, f"transfer: fitted to {label}"),
            )
        except IdentificationError:
            # Keep the folds that were complete before the stop.
            if not stops["should_stop"]():
                raise
            break
    return tuple(tables[condition] for condition in found.conditions if condition in tables)


def _terms(
    question: Question,
    recordings: Sequence[Recording],
    found: CrossValidation,
    kept: CrossValidated | None,
    on_progress: OnProgress,
    stops: Stops,
) -> TermCosts | None:
    """Return the stored cost of each term of the chosen model and, if requested, the missing ones."""
    fold = found.folds[0]
    terms = kept.terms if kept and kept.found.folds[0] == fold else None
    if not question.terms or (terms is not None and not terms.stopped) or stops["should_stop"]():
        return terms
    fit = found.fit(found.choice.chosen, fold)
    made = term_costs(
        fit.model,
        question.request,
        [recording for recording in recordings if recording.id in set(fit.trained_on)],
        [recording for recording in recordings if recording.id in set(fold.held_out)],
        **stops,
        on_progress=lambda term, done: on_progress(done, f"without {term.title}"),
    )
    return terms if terms is not None and len(terms.terms) > len(made.terms) else made


def _kept(question: Question, folder: Path) -> CrossValidated | None:
    """Return the result of the same searches stored in a folder; None if there is none that can be read."""
    try:
        return read_crossvalidation(folder) if _asked(folder) == question.searches() else None
    except IdentificationError:
        return None


def _fits_so_far(folder: Path, divided: Sequence[Fold]) -> list[FoldFit]:
    """Return the fits of an incomplete run; those that cannot be read are repeated."""
    by_place = {(fold.condition, fold.value): fold for fold in divided}
    try:
        kept = read_file(folder, CROSSVALIDATION_FITS)
        placed = [(by_place.get((fit["condition"], fit["value"])), fit) for fit in kept]
        return [FoldFit.from_json(fit, fold) for fold, fit in placed if fold is not None]
    except (OSError, ValueError, KeyError, TypeError, RecursionError, IdentificationError):
        return []


def _asked(folder: Path) -> Any:
    """Return the searches that the folder's studies belong to; None if that cannot be read."""
    try:
        return read_file(folder, CROSSVALIDATION_REQUEST)
    except (OSError, ValueError, RecursionError):
        return None
