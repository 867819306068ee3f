"""The log as a table at the foot of the window: time, what happened, how grave it is."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtGui import QColor, QGuiApplication
from PySide6.QtWidgets import QFrame, QHBoxLayout, QVBoxLayout

from bench_gui.log.journal import Entry, Journal
from bench_gui.theme import Theme
from bench_gui.widgets.fields import button, label
from bench_gui.widgets.tables import plain_table

Index = QModelIndex | QPersistentModelIndex
_ROOT = QModelIndex()
_HEADERS = ("Time", "Kind", "What happened")
_KINDS = {"info": "Note", "warning": "Warning", "error": "Error", "fault": "Fault"}


class LogTable(QAbstractTableModel):
    """Follows a journal; costs a signal a line."""

    def __init__(self, journal: Journal) -> None:
        super().__init__()
        self._journal = journal
        self._count = len(journal.entries)
        self._theme: Theme | None = None
        journal.added.connect(self._grow)

    def set_theme(self, theme: Theme) -> None:
        """Take over a theme's colours."""
        self._theme = theme

    def rowCount(self, parent: Index = _ROOT) -> int:
        """Number of lines."""
        return 0 if parent.isValid() else self._count

    def columnCount(self, parent: Index = _ROOT) -> int:
        """Number of columns."""
        return 0 if parent.isValid() else len(_HEADERS)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Titles of the columns."""
        if orientation is Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole:
            return _HEADERS[section]
        if orientation is Qt.Orientation.Horizontal and role == Qt.ItemDataRole.TextAlignmentRole:
            return int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """One cell."""
        entry = self._journal.entries[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return (f"{entry.at:%H:%M:%S}", _KINDS.get(entry.level, entry.level), entry.text)[index.column()]
        if role == Qt.ItemDataRole.ToolTipRole:
            return f"{entry.at.isoformat(timespec='seconds')}: {entry.text}"
        if role == Qt.ItemDataRole.ForegroundRole and self._theme is not None and index.column() == 1:
            colours = {"warning": self._theme.moving, "error": self._theme.fault, "fault": self._theme.fault}
            return QColor(colours.get(entry.level, self._theme.muted))
        return None

    def _grow(self, _: Entry) -> None:
        total = len(self._journal.entries)
        if total == self._count:
            # Full: the oldest line went as the newest came.
            self.beginResetModel()
            self.endResetModel()
            return
        self.beginInsertRows(_ROOT, self._count, total - 1)
        self._count = total
        self.endInsertRows()


class LogPanel(QFrame):
    """What a person looks at to clear the fault badge."""

    def __init__(self, journal: Journal) -> None:
        super().__init__()
        self.setObjectName("sessionBar")
        self._journal = journal
        column = QVBoxLayout(self)
        column.setContentsMargins(12, 4, 12, 8)
        column.setSpacing(5)
        head = QHBoxLayout()
        head.addWidget(label("Everything the program said since it was started", "muted"))
        head.addStretch(1)
        self.copy_button = button("Copy all", "Copy all lines of the log to the clipboard", self.copy, "flat")
        head.addWidget(self.copy_button)
        column.addLayout(head)
        self.model = LogTable(journal)
        self.table = plain_table("Log", "What happened, the newest line last")
        self.table.setModel(self.model)
        self.table.setColumnWidth(0, 84)
        self.table.setColumnWidth(1, 84)
        column.addWidget(self.table, 1)
        self.model.rowsInserted.connect(lambda *_: self.table.scrollToBottom())

    def copy(self) -> None:
        """Copy the log as text."""
        QGuiApplication.clipboard().setText(self._journal.text())

    def set_theme(self, theme: Theme) -> None:
        """Take over a theme's colours."""
        self.model.set_theme(theme)
