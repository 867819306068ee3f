"""Command palette: finds every action by a few letters of its name (Ctrl+K, type, Enter)."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QAction, QKeyEvent
from PySide6.QtWidgets import QDialog, QHeaderView, QLineEdit, QTreeWidget, QTreeWidgetItem, QVBoxLayout, QWidget

from bench_gui.shell.menus import Menus
from bench_gui.widgets.fields import describe

WIDTH, HEIGHT = 560, 380
LEAST_SCORE = 45.0
"""Lowest score, of 100, at which a name is shown."""


class CommandPalette(QDialog):
    """Built for each use, so that it knows which actions are possible."""

    def __init__(self, menus: Menus, parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle("Commands")
        self.setAccessibleName("Command palette")
        self.resize(WIDTH, HEIGHT)
        menus.refresh()
        self._shown: list[QTreeWidgetItem] = []
        self._entries = [
            (f"{path} › {_plain(action)}", action)
            for path, action in menus.everything()
            if not action.isSeparator() and action.isVisible()
        ]
        column = QVBoxLayout(self)
        column.setContentsMargins(10, 10, 10, 10)
        self.field = describe(QLineEdit(), "Command", "Type a few letters of a command")
        self.field.setPlaceholderText("What do you want to do?")
        self.field.setClearButtonEnabled(True)
        self.list = describe(QTreeWidget(), "Commands", "Matching commands; Enter runs the selected one")
        self.list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.list.setColumnCount(2)
        self.list.setHeaderHidden(True)
        self.list.setRootIsDecorated(False)
        self.list.header().setStretchLastSection(False)
        self.list.header().setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        self.list.header().setSectionResizeMode(1, QHeaderView.ResizeMode.ResizeToContents)
        column.addWidget(self.field)
        column.addWidget(self.list, 1)
        self.field.textChanged.connect(self._find)
        self.field.returnPressed.connect(self._perform)
        self.list.itemClicked.connect(lambda *_: self._perform())
        self.field.installEventFilter(self)
        self._find("")

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Move in the list with the arrow keys while the field has the focus."""
        if isinstance(event, QKeyEvent) and event.type() is QEvent.Type.KeyPress:
            step = {Qt.Key.Key_Down: 1, Qt.Key.Key_Up: -1, Qt.Key.Key_PageDown: 8, Qt.Key.Key_PageUp: -8}.get(
                Qt.Key(event.key())
            )
            if step is not None and self._shown:
                current = self.list.currentItem()
                row = step + (self._shown.index(current) if current in self._shown else 0)
                self.list.setCurrentItem(self._shown[min(max(row, 0), len(self._shown) - 1)])
                return True
        return False

    def texts(self) -> list[str]:
        """Shown texts, best first."""
        return [item.text(0) for item in self._shown]

    def _find(self, typed: str) -> None:
        self.list.clear()
        self._shown = []
        for place in _ranked(typed, [text for text, _ in self._entries]):
            text, action = self._entries[place]
            item = QTreeWidgetItem(self.list, [text, action.shortcut().toString()])
            item.setData(0, Qt.ItemDataRole.UserRole, place)
            item.setDisabled(not action.isEnabled())
            item.setToolTip(0, action.toolTip())
            self._shown.append(item)
        if self._shown:
            self.list.setCurrentItem(self._shown[0])

    def _perform(self) -> None:
        item = self.list.currentItem()
        if item is None or item.isDisabled():
            return
        _, action = self._entries[item.data(0, Qt.ItemDataRole.UserRole)]
        self.accept()
        action.trigger()


def _ranked(typed: str, texts: list[str]) -> list[int]:
    """Return the indices of matching texts, best first; all of them in order if nothing was typed."""
    if not typed.strip():
        return list(range(len(texts)))
    from rapidfuzz import fuzz, process, utils

    found = process.extract(
        typed, texts, scorer=fuzz.WRatio, processor=utils.default_process, limit=None, score_cutoff=LEAST_SCORE
    )
    return [place for _, _, place in found]


def _plain(action: QAction) -> str:
    return action.text().split("\t")[0].replace("&", "").rstrip("…")
