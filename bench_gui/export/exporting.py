"""Export work of the window: targets, options, a preview that follows every choice, writing and checking."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Signal

from bench_gui.headless import exporting as writing
from bench_gui.work.background import Background
from bench_gui.work.computation import Computation, Computations
from bench_gui.work.compute_process import ComputeProcess
from bench_gui.work.process import Line
from core.servo.model import ServoModel


@dataclass(frozen=True, kw_only=True)
class ExportJob:
    """A model for a target; `folder` is where its files go or are, None to check files that are not written."""

    model: ServoModel
    target: str
    options: dict[str, Any]
    folder: Path | None = None
    force: bool = False
    checked: writing.Checked | None = None
    """An earlier check of the same files."""

    @property
    def choice(self) -> tuple[ServoModel, str, dict[str, Any]]:
        """Model, target and options, which determine the files."""
        return self.model, self.target, self.options


def export(job: ExportJob, line: Line) -> writing.Exported:
    """Write the files."""
    assert job.folder is not None
    return writing.export(job.model, job.target, job.folder, job.options, job.force, job.checked)


def check(job: ExportJob, line: Line) -> writing.Checked:
    """Compare the motion of the exported files with the model's."""
    if job.folder is None:
        return writing.check(job.model, job.target, job.options)
    return writing.check_files(job.model, job.target, job.folder, job.options)


class Exporting(QObject):
    """The compute process makes previews, and outdated answers are dropped; other processes write and check."""

    targets_known = Signal()
    changed = Signal()
    """An export or a check started or ended."""
    previewed = Signal(object)
    """writing.Exported, not yet on disk."""
    preview_failed = Signal(str)
    exported = Signal(object)
    """writing.Exported"""
    checked = Signal()
    """A check has ended; see `check_of`."""
    problem = Signal(str)

    def __init__(self, background: Background, compute: ComputeProcess, computations: Computations) -> None:
        super().__init__()
        self._background = background
        self._compute = compute
        self.writer: Computation[ExportJob, None, writing.Exported] = Computation(
            computations, "Export", export, stop_tip="End the export; files may be missing", missed="an export"
        )
        self.checker: Computation[ExportJob, None, writing.Checked] = Computation(
            computations, "Check of an export", check, stop_tip="End the check; the files stay unchanged"
        )
        for each in (self.writer, self.checker):
            each.changed.connect(self.changed)
            each.failed.connect(self.problem)
        self.writer.finished.connect(self._take_export)
        self.checker.finished.connect(self._take_check)
        self.targets: dict[str, writing.ExportTarget] = {}
        self.folder: Path | None = None
        self._asked = 0
        self._written: tuple[ServoModel, str, dict[str, Any]] | None = None
        self._found: tuple[tuple[ServoModel, str, dict[str, Any]], writing.Checked] | None = None

    @property
    def active(self) -> bool:
        """True while files are being written."""
        return self.writer.active

    @property
    def checking(self) -> bool:
        """True while a check is running."""
        return self.checker.active

    def set_folder(self, folder: Path) -> None:
        """Set the folder to export into."""
        if folder != self.folder:
            self._written = None
        self.folder = folder

    def learn_targets(self) -> None:
        """Ask the compute process for the targets, once."""
        if not self.targets:
            self._background.submit("compute", self._compute.call, writing.export_targets, done=self._know)

    def preview(self, model: ServoModel, target: str, options: Mapping[str, Any]) -> None:
        """Prepare a preview of an export; `previewed` or `preview_failed` follows."""
        self._asked += 1
        asked = self._asked

        def done(exported: writing.Exported) -> None:
            if asked == self._asked:
                self.previewed.emit(exported)

        def failed(message: str) -> None:
            if asked == self._asked:
                self.preview_failed.emit(message)

        self._background.submit(
            "compute", self._compute.call, writing.preview, model, target, dict(options), done=done, failed=failed
        )

    def export(self, model: ServoModel, target: str, options: Mapping[str, Any], force: bool = False) -> None:
        """Export a model for a target into the chosen folder; `force` replaces existing files that differ."""
        self._written = None
        checked = self.check_of(model, target, options)
        job = ExportJob(
            model=model, target=target, options=dict(options), folder=self.folder, force=force, checked=checked
        )
        self.writer.start(job)

    def check(self, model: ServoModel, target: str, options: Mapping[str, Any]) -> None:
        """Compare the motion of the exported files with the model's; `checked` follows.

        If the files exist, their README then states the result.
        """
        chosen = (model, target, dict(options))
        there = self.folder if chosen == self._written else None
        self.checker.start(ExportJob(model=model, target=target, options=dict(options), folder=there))

    def check_of(self, model: ServoModel, target: str, options: Mapping[str, Any]) -> writing.Checked | None:
        """Return the last check if it was one of the same files, otherwise None."""
        return self._found[1] if self._found is not None and self._found[0] == (model, target, dict(options)) else None

    def _know(self, targets: list[writing.ExportTarget]) -> None:
        self.targets = {target.target: target for target in targets}
        self.targets_known.emit()

    def _take_export(self, exported: writing.Exported) -> None:
        job = self.writer.job
        assert job is not None
        self._written = job.choice
        self.writer.activity.file = job.folder
        self.exported.emit(exported)

    def _take_check(self, found: writing.Checked) -> None:
        assert self.checker.job is not None
        self._found = (self.checker.job.choice, found)
        self.checked.emit()
