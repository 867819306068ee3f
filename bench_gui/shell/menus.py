"""Menus from actions, and every action in one list for the command palette."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QAction, QActionGroup, QKeySequence
from PySide6.QtWidgets import QLabel, QMenu, QMenuBar, QWidget

from bench_gui.actions import ActionSpec


class Menus(QObject):
    """Makes each action once; an action that is not possible now says so instead of doing nothing."""

    refused = Signal(str)

    def __init__(self, bar: QMenuBar, owner: QWidget, foot: QWidget) -> None:
        """owner: the window in which the shortcuts work; foot: where an entry's tip is read while a menu is open."""
        super().__init__(owner)
        self._bar, self._foot = bar, foot
        self.tip = QLabel(foot)
        self.tip.setObjectName("menuTip")
        self.tip.hide()
        self._owner = owner
        self._menus: dict[str, QMenu] = {}
        self._possible: dict[QAction, Callable[[], bool]] = {}
        self._paths: dict[QAction, str] = {}

    def menu(self, path: str) -> QMenu:
        """A menu, or with "&View/Panels" one within another, made when it is first asked for."""
        if path not in self._menus:
            above, _, name = path.rpartition("/")
            made = self.menu(above).addMenu(name) if above else self._bar.addMenu(name)
            made.aboutToShow.connect(self.refresh)
            made.hovered.connect(self._show_tip)
            made.aboutToHide.connect(self.tip.hide)
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

    def choices(
        self, path: str, items: Sequence[tuple[str, object]], chosen: object, choose: Callable[..., object]
    ) -> QActionGroup:
        """Put actions into a menu of which one is on; items: text and data."""
        group = QActionGroup(self._owner)
        for text, data in items:
            action = QAction(text, self._owner)
            action.setCheckable(True)
            action.setChecked(data is chosen)
            action.setData(data)
            action.triggered.connect(lambda _=False, data=data: choose(data))
            group.addAction(action)
            self.take(path, action)
        return group

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

    def _show_tip(self, action: QAction) -> None:
        """A tooltip would lie over the next entries."""
        text = action.toolTip()
        known = text.replace("…", "") == action.text().replace("&", "").replace("…", "")
        self.tip.setText("" if known else text)
        self.tip.setGeometry(self._foot.rect())
        self.tip.show()
        self.tip.raise_()

    def _perform(self, spec: ActionSpec) -> None:
        if spec.enabled is not None and not spec.enabled():
            text = spec.text.replace("&", "").rstrip("…")
            self.refused.emit(f"{text}: not possible now" + (f". {spec.tip}" if spec.tip else ""))
            return
        spec.act()
