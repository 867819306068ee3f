"""A place that keeps its room while what belongs there is hidden, or not there yet."""

from __future__ import annotations

from PySide6.QtWidgets import QVBoxLayout, QWidget


class Room(QWidget):
    """Holds one widget."""

    def __init__(self, widget: QWidget | None = None) -> None:
        super().__init__()
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        if widget is not None:
            self.put(widget)

    def put(self, widget: QWidget) -> None:
        """Give it its widget."""
        self._column.addWidget(widget)
