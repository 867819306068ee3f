"""Writing of reports in a separate process."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bench_gui.work.computation import Computation, Computations
from bench_gui.work.process import Line, Share


@dataclass(frozen=True, kw_only=True)
class ReportJob:
    """Session and folder of an identification, and the path of its report."""

    session: Path
    folder: Path
    path: Path


def write(job: ReportJob, line: Line) -> Path:
    """Call `report_of`."""
    from bench_gui.headless.report.of_session import report_of

    return report_of(job.session, job.folder, job.path)


class Reporting(Computation[ReportJob, Share, Path]):
    """Report writer, one report at a time."""

    def __init__(self, computations: Computations) -> None:
        super().__init__(computations, "Report", write, stop_tip="Cancel; no file is written", missed="a report")

    @property
    def outcome(self) -> str:
        """Name of the written file."""
        return super().outcome if self.stopped or self.result is None else f"written to {self.result.name}"

    def end(self, result: Path) -> None:
        """Store the path and offer the file in the list of work."""
        super().end(result)
        self.activity.file = result
