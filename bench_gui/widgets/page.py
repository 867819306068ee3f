"""Common layout of the tasks: picture in the middle, settings in the inspector, actions always visible.

The window shows the inspector of the visible task in a dock beside the picture.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, QSize, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QBoxLayout,
    QFrame,
    QLayout,
    QScrollArea,
    QStackedLayout,
    QVBoxLayout,
    QWidget,
)

from bench_gui.actions import ActionSpec
from bench_gui.widgets.fields import MARGIN, hbox, vbox

INSPECTOR_WIDTH = 304


class TaskPage(QWidget):
    """Page of the window. Fill `centre`, `settings` and `actions_column`; override what the task needs."""

    help_page = "index"
    """Help page that F1 opens on this task."""
    task_wanted = Signal(str)
    """Emitted with the name of the task that comes next."""

    def __init__(self) -> None:
        super().__init__()
        row = hbox(self, spacing=0)
        middle = QWidget()
        self._stack = QStackedLayout(middle)
        self._stack.setContentsMargins(0, 0, 0, 0)
        picture = QWidget()
        self.centre = QVBoxLayout(picture)
        """Layout of the task's picture."""
        self.centre.setContentsMargins(MARGIN, MARGIN, MARGIN, MARGIN)
        self.centre.setSpacing(8)
        self._stack.addWidget(picture)
        row.addWidget(middle, 1)
        self.inspector = self._make_inspector()

    def _make_inspector(self) -> QWidget:
        frame = QFrame()
        frame.setObjectName("inspector")
        frame.setMinimumWidth(INSPECTOR_WIDTH)
        column = vbox(frame, spacing=0)
        body = QWidget()
        body.setObjectName("inspectorBody")
        self.settings = QVBoxLayout(body)
        """Layout of the task's settings; scrolls in a low window."""
        self.settings.setContentsMargins(MARGIN, MARGIN, MARGIN, MARGIN)
        self.settings.setSpacing(14)
        scroll = QScrollArea()
        scroll.setWidgetResizable(True)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        scroll.setWidget(body)
        column.addWidget(scroll, 1)
        footer = QFrame()
        footer.setObjectName("actions")
        self.actions_column = QVBoxLayout(footer)
        """Layout of the task's buttons, which never scroll away."""
        self.actions_column.setContentsMargins(MARGIN, 10, MARGIN, 10)
        self.actions_column.setSpacing(8)
        column.addWidget(footer)
        return frame

    def set_empty_state(self, empty: QWidget) -> None:
        """Set the widget shown while there are no data."""
        self._stack.addWidget(empty)

    def show_empty(self, empty: bool) -> None:
        """Show the empty state or the picture."""
        self._stack.setCurrentIndex(1 if empty else 0)

    @property
    def is_empty(self) -> bool:
        """True while the empty state is shown."""
        return self._stack.currentIndex() == 1

    def actions_offered(self) -> list[ActionSpec]:
        """Return the actions for the menus and the command palette."""
        return []

    def entered(self) -> None:
        """Update the page, which has just been shown."""


class SideBySide(QWidget):
    """Parts beside each other, or below each other where they do not all fit."""

    def __init__(self, *parts: QLayout, spacing: int = 8) -> None:
        super().__init__()
        self._parts = parts
        self._row = QBoxLayout(QBoxLayout.Direction.LeftToRight, self)
        self._row.setContentsMargins(0, 0, 0, 0)
        self._row.setSpacing(spacing)
        for part in parts:
            self._row.addLayout(part)

    def sizeHint(self) -> QSize:
        """Prefer the width of all parts."""
        return QSize(self._width_of_all(), super().sizeHint().height())

    def minimumSizeHint(self) -> QSize:
        """Accept the width of the widest part."""
        return QSize(max(part.minimumSize().width() for part in self._parts), super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Arrange the parts in another width."""
        super().resizeEvent(event)
        self._arrange()

    def event(self, event: QEvent) -> bool:
        """Arrange the parts again after one of them has changed."""
        if event.type() == QEvent.Type.LayoutRequest:
            self._arrange()
        return super().event(event)

    def _width_of_all(self) -> int:
        return sum(part.minimumSize().width() for part in self._parts) + self._row.spacing() * (len(self._parts) - 1)

    def _arrange(self) -> None:
        fit = self._width_of_all() <= self.width()
        self._row.setDirection(QBoxLayout.Direction.LeftToRight if fit else QBoxLayout.Direction.TopToBottom)


class Placeholder(QWidget):
    """Keeps its room while its widget is hidden or not made yet."""

    def __init__(self, widget: QWidget | None = None) -> None:
        super().__init__()
        self._column = vbox(self)
        if widget is not None:
            self.put(widget)

    def put(self, widget: QWidget, alignment: Qt.AlignmentFlag | None = None) -> None:
        """Set the widget."""
        self._column.addWidget(widget, 0, alignment or Qt.AlignmentFlag(0))
