"""One line for what went wrong or is worth knowing, with its remedy; never in the way of the work."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QToolButton

from bench_gui.icons import icon
from bench_gui.theme import Theme
from bench_gui.widgets.fields import restyle, tool
from core.words import capitalised

LEVELS = ("info", "warning", "error")


class MessageBar(QFrame):
    """Hidden until there is a message; the next one takes its place."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("messageBar")
        row = QHBoxLayout(self)
        row.setContentsMargins(14, 2, 6, 2)
        row.setSpacing(8)
        self._mark = QLabel()
        self.text = QLabel()
        self.text.setWordWrap(True)
        self.text.setAccessibleName("Message")
        self.text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._close: QToolButton = tool("Dismiss message", "Hide this message")
        self._close.clicked.connect(self.hide)
        row.addWidget(self._mark)
        row.addWidget(self.text, 1)
        row.addWidget(self._close)
        self._theme: Theme | None = None
        self._level = "info"
        self.hide()

    def say(self, level: str, text: str) -> None:
        """Show a message; level is one of LEVELS."""
        self._level = level
        self.text.setText(capitalised(text))
        restyle(self, "level", level)
        self._colour()
        self.show()

    def set_theme(self, theme: Theme) -> None:
        """Draw the icons in a theme's colours."""
        self._theme = theme
        self._close.setIcon(icon("close", theme.muted, 14))
        self._colour()

    def _colour(self) -> None:
        if self._theme is not None:
            theme = self._theme
            colour = {"error": theme.fault, "warning": theme.moving}.get(self._level, theme.accent)
            self._mark.setPixmap(icon("warning" if self._level != "info" else "record", colour, 16).pixmap(16, 16))
