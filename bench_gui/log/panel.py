"""Log panel at the bottom of the window: time, severity and message."""

from __future__ import annotations

from PySide6.QtGui import QGuiApplication, QResizeEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout

from bench_gui.state.journal import Journal, LogEntry
from bench_gui.widgets.fields import button, label, vbox
from bench_gui.widgets.tables import plain_table
from bench_gui.widgets.text_table import ROOT, Cell, Column, Index, TextTable

LEAST = 160
"""Smallest height of the table: five lines and its header [px]."""
_COLUMNS = (Column("Time"), Column("Kind"), Column("Message"))
_KINDS = {"info": "Note", "warning": "Warning", "error": "Error", "fault": "Fault"}
_TONES = {"warning": "moving", "error": "fault", "fault": "fault"}


class LogTable(TextTable):
    """Table model that follows a journal, with one signal per line."""

    def __init__(self, journal: Journal) -> None:
        super().__init__(_COLUMNS)
        self._journal = journal
        self._count = len(journal.entries)
        journal.added.connect(self._grow)

    def rowCount(self, parent: Index = ROOT) -> int:
        return 0 if parent.isValid() else self._count

    def cell_at(self, row: int, column: int) -> Cell:
        """Return time, kind or text of a line."""
        entry = self._journal.entries[row]
        text = (f"{entry.at:%H:%M:%S}", _KINDS.get(entry.level, entry.level), entry.text)[column]
        tone = _TONES.get(entry.level, "muted") if column == 1 else ""
        return Cell(text, f"{entry.at.isoformat(timespec='seconds')}: {entry.text}", tone)

    def _grow(self, _: LogEntry) -> None:
        total = len(self._journal.entries)
        if total == self._count:
            # The journal is full: the newest line has replaced the oldest.
            self.beginResetModel()
            self.endResetModel()
            return
        self.beginInsertRows(ROOT, self._count, total - 1)
        self._count = total
        self.endInsertRows()


class LogPanel(QFrame):
    """Panel with the log; viewing it shows the newest unread fault and clears the fault badge."""

    def __init__(self, journal: Journal) -> None:
        super().__init__()
        self.setObjectName("sessionBar")
        self._journal = journal
        column = vbox(self, spacing=5, margins=(12, 4, 12, 8))
        head = QHBoxLayout()
        head.addWidget(label("All messages since the start of ServoBench", "muted"))
        head.addStretch(1)
        self.copy_button = button("Copy all", "Copy all lines of the log to the clipboard", self.copy, "flat")
        head.addWidget(self.copy_button)
        column.addLayout(head)
        self.model = LogTable(journal)
        self.table = plain_table("Log", "Messages, the newest last")
        self.table.setModel(self.model)
        self.table.setColumnWidth(0, 84)
        self.table.setColumnWidth(1, 84)
        column.addWidget(self.table, 1)
        self.table.setMinimumHeight(LEAST)
        self.model.rowsInserted.connect(lambda *_: self.table.scrollToBottom())

    def look(self) -> None:
        """Select the newest unread fault, and mark all as read."""
        entries, unseen = self._journal.entries, self._journal.unseen
        if unseen and unseen[-1] in entries:
            self.table.selectRow(entries.index(unseen[-1]))
        self._journal.look()
        self._show_line()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep the selected line, or the newest, in view."""
        super().resizeEvent(event)
        self._show_line()

    def _show_line(self) -> None:
        chosen = self.table.selectionModel().selectedRows()
        self.table.scrollTo(chosen[0]) if chosen else self.table.scrollToBottom()

    def copy(self) -> None:
        """Copy the log as text."""
        QGuiApplication.clipboard().setText(self._journal.text())
