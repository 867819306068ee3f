"""Exports as the window sees them: targets, options, the preview that follows every choice, writing, checking."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Signal

from bench_gui.headless import exporting as writing
from bench_gui.work.background import Background
from bench_gui.work.compute_process import ComputeProcess
from core.model import ServoModel


class Exporting(QObject):
    """The compute process writes; late answers to old questions are dropped."""

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

    def __init__(self, background: Background, compute: ComputeProcess) -> None:
        super().__init__()
        self._background = background
        self._compute = compute
        self.targets: dict[str, writing.ExportTarget] = {}
        self.folder: Path | None = None
        self.active = False
        self.checking = False
        self._asked = 0
        self._written: tuple[ServoModel, str, dict[str, Any]] | None = None

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
        self.active = True
        self._written = None
        self.changed.emit()

        def done(exported: writing.Exported) -> None:
            self._end()
            self._written = (model, target, dict(options))
            self.exported.emit(exported)

        self._background.submit(
            "compute",
            self._compute.call,
            writing.export,
            model,
            target,
            self.folder,
            dict(options),
            force,
            done=done,
            failed=self._failed,
        )

    def check(self, model: ServoModel, target: str, options: Mapping[str, Any]) -> None:
        """Compare the motion of what was, or would be, written with the model's; `checked` follows.

        The README of files that are there says it from then on.
        """
        self.checking = True
        self.changed.emit()

        def done(found: writing.Checked) -> None:
            self._end()
            self.checked.emit(found)

        chosen = (model, target, dict(options))
        what: tuple[Any, ...] = (writing.check, *chosen)
        if self.folder is not None and chosen == self._written:
            what = (writing.check_files, model, target, self.folder, dict(options))
        self._background.submit("compute", self._compute.call, *what, done=done, failed=self._failed)

    def _know(self, targets: list[writing.ExportTarget]) -> None:
        self.targets = {target.target: target for target in targets}
        self.targets_known.emit()

    def _end(self) -> None:
        self.active = self.checking = False
        self.changed.emit()

    def _failed(self, message: str) -> None:
        self._end()
        self.problem.emit(message)
