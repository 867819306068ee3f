"""F1 in dialogs, which the menu's shortcut does not reach; a modal dialog also blocks the help window."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QGuiApplication, QKeyEvent
from PySide6.QtWidgets import QApplication, QWidget

from bench_gui.help.topics import topic_of_dialog

_WATCHED = "servobenchHelp"


class HelpInDialogs(QObject):
    """Watches each dialog from its first activation."""

    def __init__(self, parent: QObject, show: Callable[[str, QWidget], object]) -> None:
        """Create the filter; show: called with the topic and the dialog that has the focus."""
        super().__init__(parent)
        self._show = show
        app = QGuiApplication.instance()
        if isinstance(app, QGuiApplication):
            app.focusWindowChanged.connect(self._look)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Show the dialog's page on F1."""
        if event.type() is QEvent.Type.KeyPress and isinstance(event, QKeyEvent) and event.key() == Qt.Key.Key_F1:
            if isinstance(watched, QWidget):
                self._show(topic_of_dialog(watched), watched)
            return True
        return False

    def _look(self, _: object) -> None:
        dialog = QApplication.activeWindow()
        if topic_of_dialog(dialog) and dialog is not None and not dialog.property(_WATCHED):
            dialog.setProperty(_WATCHED, True)
            dialog.installEventFilter(self)
