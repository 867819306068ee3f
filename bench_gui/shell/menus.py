"""Menus from actions, and every action in one list for the command palette."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMenu, QMenuBar, QWidget

from bench_gui.actions import ActionSpec


class Menus(QObject):
    """Makes each action once; an action that is not possible now says so instead of doing nothing."""

    refused = Signal(str)

    def __init__(self, bar: QMenuBar, owner: QWidget) -> None:
        """owner: the window in which the shortcuts work."""
        super().__init__(owner)
        self._bar = bar
        self._owner = owner
        self._menus: dict[str, QMenu] = {}
        self._possible: dict[QAction, Callable[[], bool]] = {}
        self._paths: dict[QAction, str] = {}

    def menu(self, path: str) -> QMenu:
        """A menu, or with "&View/Panels" one within another, made when it is first asked for."""
        if path not in self._menus:
            above, _, name = path.rpartition("/")
            made = self.menu(above).addMenu(name) if above else self._bar.addMenu(name)
            made.setToolTipsVisible(True)
            made.aboutToShow.connect(self.refresh)
            self._menus[path] = made
        return self._menus[path]

    def add(self, path: str, spec: ActionSpec) -> QAction:
        """Put an action into a menu."""
        action = QAction(spec.text, self._owner)
        if spec.tip:
            action.setToolTip(spec.tip)
        if spec.keys:
            action.setShortcut(QKeySequence(spec.keys))
        if spec.enabled is not None:
            self._possible[action] = spec.enabled
        action.triggered.connect(lambda _=False: self._perform(spec))
        self.take(path, action)
        return action

    def take(self, path: str, action: QAction) -> None:
        """Put an action made elsewhere into a menu and the palette."""
        self._owner.addAction(action)
        self.menu(path).addAction(action)
        self._paths[action] = path.replace("&", "").replace("/", " › ")

    def separate(self, path: str) -> None:
        """A line between groups of a menu."""
        self.menu(path).addSeparator()

    def refresh(self) -> None:
        """Ask of each action whether it is possible now."""
        for action, possible in self._possible.items():
            action.setEnabled(possible())

    def everything(self) -> list[tuple[str, QAction]]:
        """Each action with the menu it is in."""
        return [(path, action) for action, path in self._paths.items()]

    def _perform(self, spec: ActionSpec) -> None:
        if spec.enabled is not None and not spec.enabled():
            text = spec.text.replace("&", "").rstrip("…")
            self.refused.emit(f"{text}: not possible now" + (f". {spec.tip}" if spec.tip else ""))
            return
        spec.act()
