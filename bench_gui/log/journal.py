"""Everything the window said, in order; faults and errors stay marked until a person has looked."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import datetime

from PySide6.QtCore import QObject, Signal

from core import sealed
from core.words import capitalised

MOST_ENTRIES = 1000
"""The oldest are dropped beyond this."""


@dataclass(frozen=True)
class LogEntry:
    """One line."""

    at: datetime
    level: str
    """info, warning, error or fault"""
    text: str


class Journal(QObject):
    """Kept in memory; the runs' own files hold how each run ended."""

    added = Signal(object)
    """LogEntry"""
    unseen_changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.entries: list[LogEntry] = []
        self.unseen = 0
        """Faults and errors since a person last looked."""

    def add(self, level: str, text: str) -> None:
        """Note a line."""
        entry = LogEntry(datetime.now().astimezone(), level, capitalised(text))
        self.entries.append(entry)
        del self.entries[:-MOST_ENTRIES]
        self.added.emit(entry)
        if level in ("error", "fault"):
            self.unseen += 1
            self.unseen_changed.emit()

    def look(self) -> None:
        """A person has looked."""
        if self.unseen:
            self.unseen = 0
            self.unseen_changed.emit()

    def text(self) -> str:
        """All lines, for the clipboard or a file."""
        return "".join(f"{e.at.isoformat(timespec='seconds')}  {e.level:7}  {e.text}\n" for e in self.entries)


class FileWarnings(QObject):
    """Hands on, from any thread, what is logged about files that were edited or are damaged."""

    logged = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self._handler = logging.Handler(logging.WARNING)
        self._handler.emit = lambda record: self.logged.emit(record.getMessage())
        sealed.LOG.addHandler(self._handler)

    def close(self) -> None:
        """Listen no longer."""
        sealed.LOG.removeHandler(self._handler)
