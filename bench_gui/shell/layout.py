"""The window's layout from one start to the next; what a person changes can be undone."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QByteArray
from PySide6.QtGui import QUndoStack
from PySide6.QtWidgets import QMainWindow

from bench_gui.settings import Settings
from bench_gui.shell.docks import WorkArea
from bench_gui.undo import Edit

SESSION = "session"
SESSION_HEIGHT = 164
"""Of the session's dock until a person makes it another [px]."""
LOW = 600
"""A window below this height has no room for the session and the page [px]."""
USE_THE_SESSION = ("Record", "Identify", "Compare")
"""Tasks on which the session is unfolded unless a person folded it there."""


class Layout:
    """Geometry of the window and places of its docks, as far as they fit."""

    def __init__(self, window: QMainWindow, work: WorkArea, settings: Settings, undo: QUndoStack) -> None:
        self._window, self._work, self._settings, self._undo = window, work, settings, undo
        self._task = ""
        work.layout_changed.connect(self._changed)
        work.folded.connect(self._keep_fold)

    def restore(self, say: Callable[[str, str], object]) -> None:
        """Take over what was kept; say: takes a level and a text."""
        settings, work = self._settings, self._work
        work.remember_default()
        if settings.geometry:
            self._window.restoreGeometry(QByteArray.fromBase64(settings.geometry.encode("ascii", "ignore")))
        if settings.layout and not work.restore_text(settings.layout):
            work.reset()
            say("info", "the saved layout does not fit this version; the default is shown")

    def show_task(self, task: str) -> None:
        """Fold the session on tasks that do not use it, or as a person left it there."""
        self._task = task
        used = task in USE_THE_SESSION and self._window.height() >= LOW
        choice = self._settings.folded.get(task, "no" if used else "yes")
        self._work.fold(SESSION, choice == "yes", SESSION_HEIGHT)

    def keep(self) -> None:
        """Remember what is there now; docks behind the start page have no sizes yet."""
        self._settings.set("geometry", bytes(self._window.saveGeometry().toBase64().data()).decode("ascii"))
        if self._work.isVisible():
            self._settings.set("layout", self._work.save())

    def _keep_fold(self, key: str, folded: bool) -> None:
        self._settings.set("folded", {**self._settings.folded, self._task: "yes" if folded else "no"})

    def _changed(self, before: QByteArray, after: QByteArray) -> None:
        self._settings.set("layout", self._work.save())
        self._undo.push(_LayoutEdit("layout", self._work.restore, before, after))


class _LayoutEdit(Edit):
    """The layout is there already when the step is pushed."""

    def __init__(self, *arguments: object) -> None:
        super().__init__(*arguments)  # type: ignore[arg-type]
        self._there = True

    def redo(self) -> None:
        """Take the layout over, but for the first time."""
        if self._there:
            self._there = False
        else:
            super().redo()
