"""A cross-validation in a process of its own."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bench_gui.work.process import Share
from sessions.results.crossvalidating import Question

if TYPE_CHECKING:
    from bench_gui.work.process import Line


TELL_PERIOD = 0.1
"""Between two messages [s]."""


@dataclass(frozen=True, kw_only=True)
class CrossValidateJob:
    """Cross-validate runs of a session."""

    session: Path
    runs: tuple[str, ...]
    question: Question
    """Without the hash of the runs' data."""
    results: Path
    """Where results of the session are kept."""
    beside: Path | None
    """Folder of the identification in sight."""


def crossvalidate(job: CrossValidateJob, line: Line) -> Path:
    """Cross-validate and return the folder that keeps the result."""
    from dataclasses import replace

    from sessions import Session
    from sessions.results.crossvalidating import folder_for, run_crossvalidation

    session = Session.open(job.session)
    recordings = session.load_for_fit(job.runs)
    request = replace(job.question.request, data_hash=session.data_hash([recording.id for recording in recordings]))
    question = replace(job.question, request=request)
    folder = folder_for(question, job.results, job.beside)
    next_time = 0.0

    def on_progress(done: float, text: str) -> None:
        nonlocal next_time
        now = time.monotonic()
        if now >= next_time:
            next_time = now + TELL_PERIOD
            line.tell(Share(done, text))

    run_crossvalidation(
        question,
        recordings,
        folder,
        selection=session.selection(recordings),
        on_progress=on_progress,
        should_stop=line.stop_asked,
        should_yield=line.courtesy_asked,
    )
    return folder
