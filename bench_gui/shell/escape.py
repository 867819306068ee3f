"""Window-wide keys: Esc stops the servo, Ctrl+Z reaches the window if the focused field has nothing to undo."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from PySide6.QtCore import QEvent, QObject, Qt, QTimer
from PySide6.QtGui import QKeyEvent, QKeySequence
from PySide6.QtWidgets import QAbstractSpinBox, QApplication, QComboBox, QLineEdit


class KeysEverywhere(QObject):
    """Esc is the emergency stop, whatever has the focus: a dialog, a menu, a field."""

    def __init__(self, stop: Callable[[], object]) -> None:
        super().__init__()
        self._stop = stop
        self._heard = False

    def listen(self, on: bool = True) -> None:
        """Begin or end to listen."""
        app = QApplication.instance()
        if app is not None:
            (app.installEventFilter if on else app.removeEventFilter)(self)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Do not listen while every widget gets many events at once: keys wait until that is over in any case."""
        self.listen(False)
        try:
            yield
        finally:
            self.listen()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Stop on Esc and pass the key on, so that it also closes the open dialog or menu."""
        if not isinstance(event, QKeyEvent):  # checked first because it is fastest: every event passes here
            return False
        if event.type() is QEvent.Type.KeyPress and event.key() == Qt.Key.Key_Escape and not event.isAutoRepeat():
            self._hear()
        undo = event.type() is QEvent.Type.ShortcutOverride and event.matches(QKeySequence.StandardKey.Undo)
        # A field claims Ctrl+Z even if it has nothing to undo.
        return undo and not _can_undo(watched)

    def _hear(self) -> None:
        """Stop once per press; Qt delivers it once for the window and once for each widget it is passed to."""
        if not self._heard:
            self._heard = True
            QTimer.singleShot(0, self, self._forget)
            self._stop()

    def _forget(self) -> None:
        self._heard = False


def _can_undo(field: QObject) -> bool:
    edit = field.lineEdit() if isinstance(field, QAbstractSpinBox | QComboBox) else field
    return not isinstance(edit, QLineEdit) or edit.isUndoAvailable()
