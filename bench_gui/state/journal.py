"""Journal of the window's messages; faults, and errors in the background, stay marked until the user reads them."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from core.base.words import capitalised

SERVO = "servo"
"""Cause of messages about the servo; settled when it moves, connects or accepts commands again."""
LOGGERS = logging.getLogger("core"), logging.getLogger("sessions")
"""Loggers of the library; Python prints records without a handler on the terminal."""
MOST_ENTRIES = 1000
"""Most entries; older ones are dropped."""


@dataclass(frozen=True)
class LogEntry:
    """One message."""

    at: datetime
    level: str
    """Severity: info, warning, error or fault."""
    text: str
    cause: str = ""
    """Cause; its notice disappears once the cause is settled."""
    path: Path | None = None
    """File or folder named in the text, which the user may open."""
    task: str = ""
    """Task whose page shows the notice; empty for the present page."""


class Journal(QObject):
    """In-memory journal; the outcome of each run is in its file."""

    added = Signal(object)
    """Emitted with a new LogEntry."""
    said = Signal(object)
    """Emitted with a LogEntry to show as a notice."""
    settled = Signal(str)
    """Emitted with the cause of obsolete notices."""
    unseen_changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.entries: list[LogEntry] = []
        self.covered: Callable[[str], bool] = lambda _: False
        """Returns True for a message whose cause the window shows elsewhere: the log has it, and no notice."""
        self.unseen: list[LogEntry] = []
        """Unread faults and errors that no notice showed, oldest first."""

    def say(self, level: str, text: str, cause: str = "", path: Path | None = None, task: str = "") -> None:
        """Add a message and show it as a notice on the page of a task, or on the present page."""
        entry = self._write(level, text, cause, path, task)
        if not self.covered(text):
            self.said.emit(entry)

    def settle(self, cause: str) -> None:
        """Remove the notices of a cause; an empty one stands for all notices without a cause."""
        self.settled.emit(cause)

    def add(self, level: str, text: str) -> None:
        """Add a message without a notice; faults and errors stay marked until they are read."""
        entry = self._write(level, text)
        if level in ("error", "fault"):
            self.unseen.append(entry)
            self.unseen_changed.emit()

    def look(self) -> None:
        """Mark all faults as read."""
        if self.unseen:
            self.unseen = []
            self.unseen_changed.emit()

    def text(self) -> str:
        """Return all messages, for the clipboard or a file."""
        return "".join(f"{e.at.isoformat(timespec='seconds')}  {e.level:7}  {e.text}\n" for e in self.entries)

    def _write(self, level: str, text: str, cause: str = "", path: Path | None = None, task: str = "") -> LogEntry:
        entry = LogEntry(datetime.now().astimezone(), level, capitalised(text), cause, path, task)
        self.entries.append(entry)
        del self.entries[:-MOST_ENTRIES]
        self.added.emit(entry)
        return entry


class FileWarnings(QObject):
    """Forwards what the library logs about files, e.g. edited, damaged or written ones, from any thread."""

    logged = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self._handler = logging.Handler(logging.WARNING)
        self._handler.emit = lambda record: self.logged.emit(record.getMessage())
        for logger in LOGGERS:
            logger.addHandler(self._handler)

    def close(self) -> None:
        """Stop forwarding."""
        for logger in LOGGERS:
            logger.removeHandler(self._handler)
