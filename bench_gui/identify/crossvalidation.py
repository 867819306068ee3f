"""A cross-validation from a session's runs to its file, the same for the window and for `bench crossvalidate`."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.atomic import write_atomically
from core.errors import IdentificationError
from core.sealed import parse_sealed, sealed_text

if TYPE_CHECKING:
    from core.identification.model_choice import CrossValidation
    from core.identification.repeatability import Repeatability
    from core.identification.request import IdentificationRequest
    from core.recording import Recording
    from sessions import Selection

SUMMARY = "crossvalidation.json"
ASKED = "crossvalidation_request.json"
"""What a folder's studies were searched for, so that they are gone on with and not mixed with others."""

CONDITIONS = ("mass", "length", "kp", "trajectory")
"""Held out unless others are named."""
COMMAND_PATHS = {"both": (False, True), "on": (True,), "off": (False,)}
"""Choice to whether variants have a command path."""

Told = Callable[[float, str], None]
"""Told the share that is done, 0 … 1, and what is going on."""


@dataclass(frozen=True, kw_only=True)
class Question:
    """What is to be cross-validated."""

    request: IdentificationRequest
    """How each model is fitted, with the models that are compared, the terms of the command path (empty for the usual
    ones) and the hash of the runs' data."""
    by: tuple[str, ...] = CONDITIONS
    """Conditions to hold out, one value after the other."""
    command_path: str = "both"
    """One of COMMAND_PATHS."""
    most_training_runs: int | None = None
    transfer: bool = False
    """Whether the chosen model is also fitted to each single value and judged on the others."""
    terms: bool = False
    """Whether each term of the chosen model is left out in turn."""

    def searches(self) -> dict[str, Any]:
        """What the searches depend on: with the same, those on record need not be repeated."""
        known = {**self.request.to_json(), "most_training_runs": self.most_training_runs}
        # Each fit has a fold for what is held out, and how many threads work on it changes nothing.
        same = {name: value for name, value in known.items() if name not in ("threads", "validation")}
        return json.loads(json.dumps(same))


@dataclass(frozen=True, kw_only=True)
class CrossValidated:
    """What came of it."""

    found: CrossValidation
    transfers: tuple[Mapping[str, Any], ...]
    """As `TransferTable.to_json` makes them, by condition."""
    terms: Mapping[str, Any] | None
    """As `TermCosts.to_json` makes it."""
    repeated: Repeatability
    selection: Selection | None = None
    """Fate of the session's other runs, where it is known."""

    def to_json(self) -> dict[str, Any]:
        """Plain data; what there is beside the `CrossValidation` under names of its own."""
        errors = self.found.errors(self.found.choice.chosen)
        return {
            **self.found.to_json(),
            "transfer": list(self.transfers),
            "terms": self.terms,
            "repeatability": [row.to_json() for row in self.repeated.table(errors)],
            "repeatability_text": self.repeated.text(errors),
            **({} if self.selection is None else {"selection": self.selection.to_json()}),
        }


def run_crossvalidation(
    question: Question,
    recordings: Sequence[Recording],
    folder: Path | None,
    *,
    selection: Selection | None = None,
    told: Told = lambda share, text: None,
    should_stop: Callable[[], bool] = lambda: False,
    should_yield: Callable[[], bool] = lambda: False,
) -> CrossValidated:
    """Cross-validate and keep the result in a folder, whose searches on record are not repeated; None: keep nothing.

    Transfer tables and terms that are kept there stay, as long as they are of the same searches and the same choice.
    selection: kept with the result. What is complete when should_stop says so is kept; should_yield: as `identify`.
    Raises IdentificationError, InputError.
    """
    from bench_gui.identify.record import working_on

    with working_on(folder) if folder is not None else contextlib.nullcontext():
        kept: Mapping[str, Any] = {}
        if folder is not None:
            kept = _kept(question, folder)
            _write(folder, ASKED, question.searches())
        made = _cross_validate(question, recordings, folder, kept, told, should_stop, should_yield)
        made = replace(made, selection=selection)
        if folder is not None:
            _write(folder, SUMMARY, made.to_json())
    return made


def folder_for(question: Question, results: Path, beside: Path | None) -> Path:
    """Where the window keeps a cross-validation: with searches it can go on with, beside a result, or anew.

    results: the place of a session's results; beside: folder of the identification in sight.
    """
    from bench_gui.results import new_result_folder

    for folder in _folders(results, ASKED):
        with contextlib.suppress(OSError, ValueError):
            if parse_sealed((folder / ASKED).read_text("utf-8")) == question.searches():
                return folder
    if beside is not None and not (beside / ASKED).exists() and not (beside / SUMMARY).exists():
        return beside
    return new_result_folder(results)


def newest_crossvalidation(results: Path) -> Path | None:
    """Folder of the cross-validation a session keeps that was written last; None when there is none."""
    kept = [((folder / SUMMARY).stat().st_mtime, folder) for folder in _folders(results, SUMMARY)]
    return max(kept)[1] if kept else None


def _folders(results: Path, file: str) -> list[Path]:
    """Result folders with a file, the newest first."""
    from bench_gui.results import FOLDER

    try:
        return sorted((entry for entry in (results / FOLDER).iterdir() if (entry / file).is_file()), reverse=True)
    except OSError:
        return []


def _cross_validate(
    question: Question,
    recordings: Sequence[Recording],
    folder: Path | None,
    kept: Mapping[str, Any],
    told: Told,
    should_stop: Callable[[], bool],
    should_yield: Callable[[], bool],
) -> CrossValidated:
    """kept: see `_kept`."""
    from core.identification.crossvalidation import CrossValidationProgress, all_variants, cross_validate
    from core.identification.repeatability import repeatability
    from core.identification.terms import term_costs
    from core.identification.transfer import transfer_table

    request = question.request
    wanted = COMMAND_PATHS[question.command_path]

    def progressed(at: CrossValidationProgress) -> None:
        best = 1e3 * at.step.generation.overall_best_value
        path = " + command path" if at.command_path else ""
        fold = f"without {at.fold.label} ({at.number} of {at.folds})"
        told(at.done, f"{fold}, {at.step.model.upper()}{path} {best:.2f} mrad")

    found = cross_validate(
        request,
        recordings,
        question.by,
        variants=[v for v in all_variants(request, recordings, request.models) if bool(v.command_path) in wanted],
        folder=folder,
        most_training_runs=question.most_training_runs,
        should_stop=should_stop,
        should_yield=should_yield,
        on_progress=progressed,
    )
    chosen = found.choice.chosen
    conditions = dict.fromkeys(fold.condition for fold in found.folds)
    same = kept.get("chosen") == chosen.name
    tables: dict[str, Mapping[str, Any]] = {
        table["condition"]: table for table in (kept.get("transfer", ()) if same else ())
    }
    for condition in conditions if question.transfer else ():
        if condition in tables:
            continue
        if should_stop():
            break
        try:
            table = transfer_table(
                request,
                recordings,
                condition,
                chosen,
                most_training_runs=question.most_training_runs,
                should_stop=should_stop,
                should_yield=should_yield,
                on_progress=lambda label, done: told(done, f"transfer: fitted to {label}"),
            )
        except IdentificationError:
            # What was cross-validated before it was stopped is kept.
            if not should_stop():
                raise
            break
        tables[condition] = table.to_json()
    fold = found.folds[0]
    terms: Mapping[str, Any] | None = kept.get("terms") if same and kept["folds"][0] == fold.to_json() else None
    if question.terms and (terms is None or terms.get("stopped")) and not should_stop():
        fit = found.fit(chosen, fold)
        terms = term_costs(
            fit.model,
            request,
            [recording for recording in recordings if recording.id in set(fit.trained_on)],
            [recording for recording in recordings if recording.id in set(fold.held_out)],
            should_stop=should_stop,
            should_yield=should_yield,
            on_progress=lambda term, done: told(done, f"without {term.title}"),
        ).to_json()
    repeated = repeatability(recordings, request.dt)
    transfers = tuple(tables[condition] for condition in conditions if condition in tables)
    return CrossValidated(found=found, transfers=transfers, terms=terms, repeated=repeated)


def _kept(question: Question, folder: Path) -> Mapping[str, Any]:
    """What a folder keeps of the same searches; empty where it keeps none that can be read."""
    from bench_gui.identify.kept_crossvalidation import KeptResult

    try:
        if parse_sealed((folder / ASKED).read_text("utf-8")) != question.searches():
            return {}
        data = parse_sealed((folder / SUMMARY).read_text("utf-8"))
        KeptResult.from_json(data, folder)
    except (OSError, ValueError, RecursionError, IdentificationError):
        return {}
    return data


def _write(folder: Path, name: str, data: dict[str, Any]) -> None:
    text = sealed_text(data)
    try:
        write_atomically(folder / name, text.encode())
    except OSError as error:
        raise IdentificationError(
            f"{folder / name}: cannot be written ({error.strerror or error}); choose another folder"
        ) from None
