"""Everything the window said, in order; faults stay marked until a person has looked."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from core import sealed
from core.words import capitalised

SERVO = "servo"
"""Cause of what was said about the servo; settled when it starts to move, is connected or takes commands again."""
MOST_ENTRIES = 1000
"""The oldest are dropped beyond this."""


@dataclass(frozen=True)
class LogEntry:
    """One line."""

    at: datetime
    level: str
    """info, warning, error or fault"""
    text: str
    cause: str = ""
    """What it is about; a notice leaves the screen when its cause is settled."""
    path: Path | None = None
    """File or folder that the text names and a person may want to open."""


class Journal(QObject):
    """Kept in memory; the runs' own files hold how each run ended."""

    added = Signal(object)
    """LogEntry"""
    said = Signal(object)
    """LogEntry that a person should see now."""
    settled = Signal(str)
    """Cause of notices that need no longer be shown."""
    unseen_changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.entries: list[LogEntry] = []
        self.unseen = 0
        """Faults since a person last looked."""

    def say(self, level: str, text: str, cause: str = "", path: Path | None = None) -> None:
        """Note a line and show it as a notice."""
        self.said.emit(self.add(level, text, cause, path))

    def settle(self, cause: str) -> None:
        """Take the notices of a cause off the screen."""
        self.settled.emit(cause)

    def add(self, level: str, text: str, cause: str = "", path: Path | None = None) -> LogEntry:
        """Note a line without showing it."""
        entry = LogEntry(datetime.now().astimezone(), level, capitalised(text), cause, path)
        self.entries.append(entry)
        del self.entries[:-MOST_ENTRIES]
        self.added.emit(entry)
        if level == "fault":
            self.unseen += 1
            self.unseen_changed.emit()
        return entry

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
