"""Detection of changes to the open session by another window or program."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QFileSystemWatcher, QObject, QTimer, Signal

SETTLING = 300
"""Time within which consecutive changes count as one, since files are renamed into place [ms]."""


class SessionWatch(QObject):
    """Watches the documents of a session and the names of its runs, not the contents of runs."""

    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._watcher = QFileSystemWatcher(self)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(SETTLING)
        self._watcher.directoryChanged.connect(lambda _: self._timer.start())
        self._timer.timeout.connect(self.changed)

    def watch(self, session: Path) -> None:
        """Watch a session folder instead of the previous one; exported files never change."""
        if before := self._watcher.directories():
            self._watcher.removePaths(before)
        self._timer.stop()
        if session.is_dir():
            self._watcher.addPaths([str(session), str(session / "runs")])
