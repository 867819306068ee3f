"""Esc is the emergency stop wherever a person is."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QKeyEvent


class EscapeStops(QObject):
    """Esc is the emergency stop, whatever has the focus: a dialog, a menu, a field."""

    def __init__(self, stop: Callable[[], object]) -> None:
        super().__init__()
        self._stop = stop

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Stop on Esc and let the key go its way."""
        if (
            isinstance(event, QKeyEvent)  # first, as it is the quickest: every event of the program comes by
            and event.type() is QEvent.Type.KeyPress
            and event.key() == Qt.Key.Key_Escape
            and not event.isAutoRepeat()
        ):
            self._stop()
        return False
