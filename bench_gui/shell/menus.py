"""Menus built from actions, and a list of all actions for the command palette."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QAction, QActionGroup, QKeySequence
from PySide6.QtWidgets import QLabel, QMenu, QMenuBar, QWidget

from bench_gui.actions import ActionSpec


class Menus(QObject):
    """Creates each action once; an action that is not possible now reports so instead of doing nothing."""

    refused = Signal(str)

    def __init__(self, bar: QMenuBar, owner: QWidget, foot: QWidget) -> None:
        """Create the menus.

        Args:
            bar: Menu bar to fill.
            owner: Window in which the shortcuts work.
            foot: Widget that shows an entry's tip while a menu is open.
        """
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
        """Return a menu, created on first use; "&View/Panels" names a submenu."""
        if path not in self._menus:
            above, _, name = path.rpartition("/")
            made = self.menu(above).addMenu(name) if above else self._bar.addMenu(name)
            made.aboutToShow.connect(self.refresh)
            made.hovered.connect(self._show_tip)
            made.aboutToHide.connect(self.tip.hide)
            self._menus[path] = made
        return self._menus[path]

    def add(self, path: str, spec: ActionSpec) -> QAction:
        """Add an action to a menu."""
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
        """Add an action created elsewhere to a menu and the palette."""
        self._owner.addAction(action)
        self.menu(path).addAction(action)
        self._paths[action] = path.replace("&", "").replace("/", " › ")

    def choices(
        self, path: str, items: Sequence[tuple[str, object]], chosen: object, choose: Callable[..., object]
    ) -> QActionGroup:
        """Add mutually exclusive actions to a menu.

        Args:
            path: The menu.
            items: Text and data of each.
            chosen: Data of the checked one.
            choose: Receives the data of the chosen one.
        """
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
        """Add a separator to a menu."""
        self.menu(path).addSeparator()

    def refresh(self) -> None:
        """Update which actions are possible now."""
        for action, possible in self._possible.items():
            action.setEnabled(possible())

    def everything(self) -> list[tuple[str, QAction]]:
        """All actions with their menus."""
        return [(path, action) for action, path in self._paths.items()]

    def _show_tip(self, action: QAction) -> None:
        """Show the tip at the foot: a tooltip would cover the next entries."""
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
