"""What processes beside the identification's compute for its page: checks, proposals, cross-validations,
profiles and bootstraps.

Answers hold nothing whose unpickling would load the compiler or scipy into the window's process.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench_gui.headless.next_recordings import NextRecordings
from core.identification.coverage.findings import Finding
from core.plan import GridPlan
from sessions.results.certifying import CertaintyQuestion, run_certainty
from sessions.results.crossvalidating import Question

if TYPE_CHECKING:
    from bench_gui.work.worker import Line
    from core.model import ServoModel
    from core.recording import Recording

TELL_PERIOD = 0.1
"""Between two messages about a cross-validation [s]."""


@dataclass(frozen=True, kw_only=True)
class Material:
    """Which recordings, and how they are simulated; see `IdentificationRequest` for dt, supply and threads."""

    session: Path | None
    """None: there are no recordings."""
    runs: tuple[str, ...]
    dt: float | None = None
    supply: str = "logged"
    threads: int | None = None

    def load(self) -> list[Recording]:
        """The recordings, each the part that is used."""
        from sessions import Session

        return Session.open(self.session).load_for_fit(self.runs) if self.session and self.runs else []


@dataclass(frozen=True, kw_only=True)
class CheckJob:
    """Look at recordings."""

    material: Material


@dataclass(frozen=True, kw_only=True, eq=False)
class Seen:
    """What recordings can tell."""

    findings: tuple[Finding, ...]
    data: dict[str, Any]
    """As `Coverage.to_json` makes it."""


@dataclass(frozen=True, kw_only=True)
class AuditJob:
    """Ask a model whether headers are true."""

    material: Material
    servo: str
    model: ServoModel | None
    """None for the catalogue's."""


@dataclass(frozen=True, kw_only=True, eq=False)
class AuditFindings:
    """What an audit found, in words."""

    findings: tuple[Finding, ...]
    summary: str
    model: str
    """Title of the model that was asked."""


def check(job: CheckJob, line: Line) -> Seen:
    """What the recordings can tell."""
    from core.identification.coverage.report import coverage

    found = coverage(job.material.load(), threads=job.material.threads)
    return Seen(findings=found.findings, data=found.to_json())


def audit(job: AuditJob, line: Line) -> AuditFindings:
    """Whether the headers are true."""
    from core.identification.coverage.headers import audit_headers

    model, material = _judge(job.model, job.servo), job.material
    found = audit_headers(model, material.load(), dt=material.dt, supply=material.supply, threads=material.threads)
    return AuditFindings(findings=found.findings, summary=found.summary, model=model.title)


@dataclass(frozen=True, kw_only=True)
class ProposeJob:
    """Choose from a plan."""

    material: Material
    servo: str
    model: ServoModel | None
    """None for the catalogue's."""
    plan: GridPlan
    count: int
    objective: str


def propose(job: ProposeJob, line: Line) -> NextRecordings:
    """Which recordings would help most."""
    from bench_gui.headless.next_recordings import next_recordings

    material = job.material
    return next_recordings(
        _judge(job.model, job.servo),
        material.load(),
        job.plan,
        count=job.count,
        objective=job.objective,
        dt=material.dt,
        supply=material.supply,
        threads=material.threads,
    )


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


@dataclass(frozen=True)
class Share:
    """How far a computation is, 0 … 1, and what it is at."""

    done: float
    text: str


def crossvalidate(job: CrossValidateJob, line: Line) -> Path:
    """Cross-validate and return the folder that keeps the result."""
    from dataclasses import replace

    from sessions import Session
    from sessions.results.crossvalidating import folder_for, run_crossvalidation

    session = Session.open(job.session)
    recordings = session.load_for_fit(job.runs)
    request = replace(job.question.request, data_hash=session.data_hash(_ids(recordings)))
    question = replace(job.question, request=request)
    folder = folder_for(question, job.results, job.beside)
    next_time = 0.0

    def told(done: float, text: str) -> None:
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
        told=told,
        should_stop=line.stop_asked,
        should_yield=line.courtesy_asked,
    )
    return folder


@dataclass(frozen=True, kw_only=True)
class CertaintyJob:
    """Profile and bootstrap an identified model."""

    question: CertaintyQuestion


def certify(job: CertaintyJob, line: Line) -> Path:
    """Profile and bootstrap, and return the folder that keeps the result."""
    run_certainty(
        job.question,
        told=lambda done, text: line.tell(Share(done, text)),
        should_stop=line.stop_asked,
        should_yield=line.courtesy_asked,
    )
    return job.question.folder


def _judge(model: ServoModel | None, servo: str) -> ServoModel:
    from bench_gui.headless.next_recordings import catalogue_model

    return catalogue_model(servo) if model is None else model


def _ids(recordings: Sequence[Recording]) -> list[str]:
    return [recording.id for recording in recordings]
