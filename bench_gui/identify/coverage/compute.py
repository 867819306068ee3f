"""Coverage check and header audit, each in its own process.

Unpickling the results must not load the compiler or scipy into the window's process.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bench_gui.identify.material import Material, judging
from bench_gui.work.process import Line, Share
from core.base.words import counted
from core.identification.coverage.findings import Finding
from core.identification.coverage.headers import audit_headers
from core.identification.coverage.report import coverage
from core.servo.model import ServoModel


@dataclass(frozen=True, kw_only=True)
class CheckJob:
    """Check the coverage of recordings."""

    material: Material


@dataclass(frozen=True, kw_only=True, eq=False)
class Seen:
    """Coverage of recordings."""

    findings: tuple[Finding, ...]
    data: dict[str, Any]
    """Data in the form of `Coverage.to_json`."""


@dataclass(frozen=True, kw_only=True)
class AuditJob:
    """Check headers of recordings against a model."""

    material: Material
    servo: str
    model: ServoModel | None
    """None for the catalogue's model."""


@dataclass(frozen=True, kw_only=True, eq=False)
class AuditFindings:
    """Findings of an audit, in words."""

    findings: tuple[Finding, ...]
    summary: str
    model: str
    """Title of the model used for the audit."""


def check(job: CheckJob, line: Line) -> Seen:
    """Return the coverage of the recordings."""
    line.tell(Share(0.0, "loading the recordings"))
    recordings = job.material.load()
    count = len(recordings)

    def looked(done: int) -> None:
        line.tell(Share(done / count, f"{done} of {counted(count, 'run')}"))

    found = coverage(recordings, threads=job.material.threads, on_run=looked)
    return Seen(findings=found.findings, data=found.to_json())


def audit(job: AuditJob, line: Line) -> AuditFindings:
    """Check the headers of the recordings against the motion."""
    model, material = judging(job.model, job.servo), job.material
    found = audit_headers(model, material.load(), dt=material.dt, supply=material.supply, threads=material.threads)
    return AuditFindings(findings=found.findings, summary=found.summary, model=model.title)
