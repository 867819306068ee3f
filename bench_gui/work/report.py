"""The report on an identification, written in a process of its own."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bench_gui.work.computation import Computation, Computations
from bench_gui.work.process import Share

if TYPE_CHECKING:
    from bench_gui.work.process import Line


@dataclass(frozen=True, kw_only=True)
class ReportJob:
    """The identification that a folder keeps, made from runs of a session, and where its report goes."""

    session: Path
    folder: Path
    path: Path


def write(job: ReportJob, line: Line) -> Path:
    """As `report_of`."""
    from bench_gui.headless.report.of_session import report_of

    return report_of(job.session, job.folder, job.path)


class Reporting(Computation[ReportJob, Share, Path]):
    """One report at a time."""

    def __init__(self, computations: Computations) -> None:
        super().__init__(computations, "Report", write, stop_tip="End it; no file is written", missed="a report")

    @property
    def outcome(self) -> str:
        """Where it is."""
        return super().outcome if self.stopped or self.result is None else f"written to {self.result.name}"

    def end(self, result: Path) -> None:
        """Offer the file."""
        super().end(result)
        self.activity.file = result
