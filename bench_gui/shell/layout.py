"""The window's layout, kept from one start to the next; changes by the user can be undone."""

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
"""Initial height of the session's dock [px]."""
LOW = 640
"""A window below this height has no room for both session and page [px]."""
USE_THE_SESSION = ("Record",)
"""Tasks on which the session is unfolded unless the user folded it there; elsewhere curves need the height."""


class Layout:
    """Geometry of the window and positions of its docks, as far as they fit."""

    def __init__(self, window: QMainWindow, work: WorkArea, settings: Settings, undo: QUndoStack) -> None:
        self._window, self._work, self._settings, self._undo = window, work, settings, undo
        self._task = ""
        work.layout_changed.connect(self._changed)
        work.folded.connect(self._keep_fold)

    def restore(self, say: Callable[[str, str], object]) -> None:
        """Apply the saved layout; `say` takes a level and a text."""
        settings, work = self._settings, self._work
        work.remember_default()
        if settings.geometry:
            self._window.restoreGeometry(QByteArray.fromBase64(settings.geometry.encode("ascii", "ignore")))
        if settings.layout and not work.restore_text(settings.layout):
            work.reset()
            say("info", "the saved layout does not fit this version; using the default layout")

    def show_task(self, task: str) -> None:
        """Fold the session on tasks that do not use it, or as the user left it there."""
        self._task = task
        used = task in USE_THE_SESSION and self._window.height() >= LOW
        choice = self._settings.folded.get(task, "no" if used else "yes")
        self._work.fold(SESSION, choice == "yes", SESSION_HEIGHT)

    def keep(self) -> None:
        """Save the present layout; docks behind the start page have no sizes yet."""
        self._settings.set("geometry", bytes(self._window.saveGeometry().toBase64().data()).decode("ascii"))
        if self._work.isVisible():
            self._settings.set("layout", self._work.save())

    def _keep_fold(self, key: str, folded: bool) -> None:
        self._settings.set("folded", {**self._settings.folded, self._task: "yes" if folded else "no"})

    def _changed(self, before: QByteArray, after: QByteArray) -> None:
        self._settings.set("layout", self._work.save())
        self._undo.push(_LayoutEdit("layout", self._work.restore, before, after))


class _LayoutEdit(Edit):
    """Undo step of a layout change; the layout is already in place when the step is pushed."""

    def __init__(self, *arguments: object) -> None:
        super().__init__(*arguments)  # type: ignore[arg-type]
        self._there = True

    def redo(self) -> None:
        """Apply the layout, except the first time."""
        if self._there:
            self._there = False
        else:
            super().redo()
