"""Exports: which targets there are, and writing a model for one of them."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QObject, Signal

from bench_gui.work import tasks
from bench_gui.work.background import Background
from bench_gui.work.desk import Desk
from core.model import ServoModel


class Exporting(QObject):
    """The desk writes; the window shows what was written."""

    targets_known = Signal()
    changed = Signal()
    """An export began or ended."""
    exported = Signal(object)
    """tasks.Exported"""
    problem = Signal(str)

    def __init__(self, background: Background, desk: Desk) -> None:
        super().__init__()
        self._background = background
        self._desk = desk
        self.targets: list[tasks.ExportTarget] = []
        self.folder: Path | None = None
        self.active = False

    def learn_targets(self) -> None:
        """Ask the desk which targets there are, once."""
        if not self.targets:
            self._background.submit("desk", self._desk.call, tasks.export_targets, done=self._know)

    def export(self, model: ServoModel, target: str, kp: float | None = None) -> None:
        """Write a model for a target into the chosen folder."""
        if self.folder is None:
            self.problem.emit("export: choose a folder first")
            return
        self.active = True
        self.changed.emit()
        options = {} if kp is None else {"kp": kp}
        self._background.submit(
            "desk",
            self._desk.call,
            tasks.export,
            model,
            target,
            self.folder,
            options,
            done=self._done,
            failed=self._failed,
        )

    def _know(self, targets: list[tasks.ExportTarget]) -> None:
        self.targets = targets
        self.targets_known.emit()

    def _done(self, exported: tasks.Exported) -> None:
        self.active = False
        self.changed.emit()
        self.exported.emit(exported)

    def _failed(self, message: str) -> None:
        self.active = False
        self.changed.emit()
        self.problem.emit(message)
