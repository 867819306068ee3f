"""What recordings can tell, and whether their headers are true, each in a process of its own.

Answers hold nothing whose unpickling would load the compiler or scipy into the window's process.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bench_gui.identify.material import Material, judging
from bench_gui.work.process import Share
from core.identification.coverage.findings import Finding
from core.words import counted

if TYPE_CHECKING:
    from bench_gui.work.process import Line
    from core.model import ServoModel


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

    line.tell(Share(0.0, "loading the recordings"))
    recordings = job.material.load()
    count = len(recordings)

    def looked(done: int) -> None:
        line.tell(Share(done / count, f"{done} of {counted(count, 'run')}"))

    found = coverage(recordings, threads=job.material.threads, on_run=looked)
    return Seen(findings=found.findings, data=found.to_json())


def audit(job: AuditJob, line: Line) -> AuditFindings:
    """Whether the headers are true."""
    from core.identification.coverage.headers import audit_headers

    model, material = judging(job.model, job.servo), job.material
    found = audit_headers(model, material.load(), dt=material.dt, supply=material.supply, threads=material.threads)
    return AuditFindings(findings=found.findings, summary=found.summary, model=model.title)
