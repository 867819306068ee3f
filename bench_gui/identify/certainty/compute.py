"""Profiles and a bootstrap in a process of its own."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bench_gui.work.process import Line, Share
from sessions.results.certifying import CertaintyQuestion, run_certainty


@dataclass(frozen=True, kw_only=True)
class CertaintyJob:
    """Profile and bootstrap an identified model."""

    question: CertaintyQuestion


def certify(job: CertaintyJob, line: Line) -> Path:
    """Profile and bootstrap, and return the folder that keeps the result."""
    run_certainty(
        job.question,
        on_progress=lambda done, text: line.tell(Share(done, text)),
        should_stop=line.stop_asked,
        should_yield=line.courtesy_asked,
    )
    return job.question.folder
