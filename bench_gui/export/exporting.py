"""Exports as the window sees them: targets, options, the preview that follows every choice, writing, checking."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Signal

from bench_gui.headless import exporting as writing
from bench_gui.work.background import Background
from bench_gui.work.computation import Computation, Computations
from bench_gui.work.compute_process import ComputeProcess
from core.model import ServoModel

if TYPE_CHECKING:
    from bench_gui.work.process import Line


@dataclass(frozen=True, kw_only=True)
class ExportJob:
    """A model for a target; folder: where its files go or are, None for a check of what would be written."""

    model: ServoModel
    target: str
    options: dict[str, Any]
    folder: Path | None = None
    force: bool = False


def export(job: ExportJob, line: Line) -> writing.Exported:
    """Write the files."""
    assert job.folder is not None
    return writing.export(job.model, job.target, job.folder, job.options, job.force)


def check(job: ExportJob, line: Line) -> writing.Checked:
    """Compare the motion of what was, or would be, written with the model's."""
    if job.folder is None:
        return writing.check(job.model, job.target, job.options)
    return writing.check_files(job.model, job.target, job.folder, job.options)


class Exporting(QObject):
    """The compute process makes previews, late answers to old questions are dropped; others write and check."""

    targets_known = Signal()
    changed = Signal()
    """An export or a check began or ended."""
    previewed = Signal(object)
    """writing.Exported, nothing of it on the disk; None while it is being made."""
    preview_failed = Signal(str)
    exported = Signal(object)
    """writing.Exported"""
    checked = Signal(object)
    """writing.Checked"""
    problem = Signal(str)

    def __init__(self, background: Background, compute: ComputeProcess, computations: Computations) -> None:
        super().__init__()
        self._background = background
        self._compute = compute
        self.writer: Computation[ExportJob, None, writing.Exported] = Computation(
            computations, "Export", export, stop_tip="End it; files may be missing", missed="an export"
        )
        self.checker: Computation[ExportJob, None, writing.Checked] = Computation(
            computations, "Check of an export", check, stop_tip="End it; the files stay as they are"
        )
        for each in (self.writer, self.checker):
            each.changed.connect(self.changed)
            each.failed.connect(self.problem)
        self.writer.finished.connect(self._take_export)
        self.checker.finished.connect(self.checked)
        self.targets: dict[str, writing.ExportTarget] = {}
        self.folder: Path | None = None
        self._asked = 0
        self._written: tuple[ServoModel, str, dict[str, Any]] | None = None

    @property
    def active(self) -> bool:
        """Whether files are being written."""
        return self.writer.active

    @property
    def checking(self) -> bool:
        """Whether a check is on."""
        return self.checker.active

    def set_folder(self, folder: Path) -> None:
        """Export into this folder."""
        if folder != self.folder:
            self._written = None
        self.folder = folder

    def learn_targets(self) -> None:
        """Ask the compute process which targets there are, once."""
        if not self.targets:
            self._background.submit("compute", self._compute.call, writing.export_targets, done=self._know)

    def preview(self, model: ServoModel, target: str, options: Mapping[str, Any]) -> None:
        """Show what an export would write; `previewed` or `preview_failed` follows."""
        self._asked += 1
        asked = self._asked

        def done(exported: writing.Exported) -> None:
            if asked == self._asked:
                self.previewed.emit(exported)

        def failed(message: str) -> None:
            if asked == self._asked:
                self.preview_failed.emit(message)

        self.previewed.emit(None)
        self._background.submit(
            "compute", self._compute.call, writing.preview, model, target, dict(options), done=done, failed=failed
        )

    def export(self, model: ServoModel, target: str, options: Mapping[str, Any], force: bool = False) -> None:
        """Write a model for a target into the chosen folder; force: replace existing files that differ."""
        if self.folder is None:
            self.problem.emit("export: choose a folder first")
            return
        self._written = None
        job = ExportJob(model=model, target=target, options=dict(options), folder=self.folder, force=force)
        self.writer.start(job)

    def check(self, model: ServoModel, target: str, options: Mapping[str, Any]) -> None:
        """Compare the motion of what was, or would be, written with the model's; `checked` follows.

        The README of files that are there says it from then on.
        """
        chosen = (model, target, dict(options))
        there = self.folder if chosen == self._written else None
        self.checker.start(ExportJob(model=model, target=target, options=dict(options), folder=there))

    def _know(self, targets: list[writing.ExportTarget]) -> None:
        self.targets = {target.target: target for target in targets}
        self.targets_known.emit()

    def _take_export(self, exported: writing.Exported) -> None:
        job = self.writer.job
        assert job is not None
        self._written = (job.model, job.target, job.options)
        self.writer.activity.file = job.folder
        self.exported.emit(exported)
