"""A cross-validation in a process of its own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from bench_gui.work.process import Line, Share
from sessions.results.crossvalidating import Cell, CrossValidationWatch, Question, folder_for, run_crossvalidation


@dataclass(frozen=True, kw_only=True)
class CrossValidateJob:
    """Cross-validate runs of a session."""

    session: Path
    runs: tuple[str, ...]
    question: Question
    """Question without the hash of the runs' data."""
    results: Path
    """Folder for results of the session."""
    beside: Path | None
    """Folder of the shown identification, or None."""


@dataclass(frozen=True, kw_only=True)
class Planned:
    """Searches to run: each variant with each of these conditions held out."""

    variants: tuple[str, ...]
    folds: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Judged(Share):
    """Progress with the error of the search that has just finished."""

    cell: Cell


def crossvalidate(job: CrossValidateJob, line: Line) -> Path:
    """Cross-validate and return the folder that keeps the result."""
    from sessions import Session

    session = Session.open(job.session)
    recordings = session.load_for_fit(job.runs)
    request = replace(job.question.request, data_hash=session.data_hash([recording.id for recording in recordings]))
    question = replace(job.question, request=request)
    watch = CrossValidationWatch(
        planned=lambda variants, folds: line.tell(Planned(variants=tuple(variants), folds=tuple(folds))),
        on_progress=line.share,
        on_recorded=lambda done, text: line.tell(Share(done, text, recorded=True)),
        judged=lambda cell: line.tell(
            Judged(done=cell.done, text=f"{cell.variant} without {cell.fold}", recorded=cell.recorded, cell=cell)
        ),
        should_stop=line.stop_asked,
        should_yield=line.courtesy_asked,
    )
    folder = folder_for(question, job.results, job.beside)
    run_crossvalidation(question, recordings, folder, watch, selection=session.selection(recordings))
    return folder
