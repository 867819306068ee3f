"""Sessions of a fleet: added by a dialog or dropped, each with its contents or the reason why it cannot be used."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QColor, QDragEnterEvent, QDragMoveEvent, QDropEvent, QKeyEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QAbstractItemView, QListWidget, QListWidgetItem

from bench_gui.fleet.reading import SeenSession, sessions_under
from bench_gui.theme import themes
from bench_gui.widgets.fields import describe
from core.base.words import counted
from sessions.folders import as_person_writes

HEIGHT = 112
"""[px]"""


class SessionList(QListWidget):
    """Paths in the order they were added, without duplicates."""

    changed = Signal()
    """The sessions in the list have changed."""

    def __init__(self) -> None:
        super().__init__()
        describe(
            self, "Sessions of the fleet", "Drop sessions here, or a folder of them; Delete removes the chosen ones"
        )
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setAcceptDrops(True)
        self.setFixedHeight(HEIGHT)
        self.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.sessions: tuple[Path, ...] = ()
        self._seen: dict[Path, SeenSession] = {}
        themes.changed.connect(self._list)

    def add(self, paths: Iterable[Path]) -> None:
        """Add sessions; a folder that is not a session stands for the sessions in it."""
        found = [session for path in paths for session in sessions_under(path) or [path]]
        self.set_sessions(tuple(dict.fromkeys((*self.sessions, *found))))

    def remove_chosen(self) -> None:
        """Remove the chosen sessions."""
        chosen = {self.row(item) for item in self.selectedItems()}
        self.set_sessions(tuple(path for row, path in enumerate(self.sessions) if row not in chosen))

    def set_sessions(self, sessions: tuple[Path, ...]) -> None:
        """Replace the sessions in the list."""
        if sessions == self.sessions:
            return
        self.sessions = sessions
        self._list()
        self.changed.emit()

    def show_seen(self, seen: Sequence[SeenSession]) -> None:
        """Show the contents of sessions."""
        self._seen |= {one.path: one for one in seen}
        self._list()

    @property
    def seen(self) -> list[SeenSession]:
        """Known contents of the sessions."""
        return [self._seen[path] for path in self.sessions if path in self._seen]

    @property
    def unseen(self) -> bool:
        """True if a session has not been read yet."""
        return any(path not in self._seen for path in self.sessions)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Show a hint while the list is empty."""
        super().paintEvent(event)
        if not self.count():
            painter = QPainter(self.viewport())
            painter.setPen(QColor(themes.current.muted))
            painter.drawText(self.viewport().rect(), Qt.AlignmentFlag.AlignCenter, "Drop sessions here")

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Remove the chosen sessions with Delete."""
        if event.key() in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace):
            self.remove_chosen()
        else:
            super().keyPressEvent(event)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Accept folders and exported sessions."""
        if event.mimeData().hasUrls():
            event.acceptProposedAction()

    def dragMoveEvent(self, event: QDragMoveEvent) -> None:
        """Accept drops anywhere in the list."""
        if event.mimeData().hasUrls():
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        """Add the dropped sessions."""
        event.acceptProposedAction()
        self.add(Path(url.toLocalFile()) for url in event.mimeData().urls() if url.isLocalFile())

    def _list(self) -> None:
        chosen = {self.row(item) for item in self.selectedItems()}
        self.clear()
        for row, path in enumerate(self.sessions):
            seen = self._seen.get(path)
            item = QListWidgetItem(f"{path.stem if path.suffix == '.h5' else path.name}{_in_words(seen)}")
            trouble = "" if seen is None else seen.problem or seen.damage
            item.setToolTip(trouble or as_person_writes(path))
            if trouble:
                item.setForeground(QColor(themes.current.fault))
            self.addItem(item)
            item.setSelected(row in chosen)


def _in_words(seen: SeenSession | None) -> str:
    if seen is None:
        return ""
    if seen.problem:
        return ": cannot be used"
    units = f"{len(seen.units)} units, " if len(seen.units) > 1 else ""
    lost = ", damaged runs ignored" if seen.damage else ""
    return f": {units}{counted(sum(count for _, _, count in seen.units), 'run')}{lost}"
