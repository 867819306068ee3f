"""Segments that select what a page shows: the only style of tab in the window."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QButtonGroup, QFrame, QStackedWidget, QToolButton, QWidget

from bench_gui.widgets.fields import describe, hbox, vbox


class Segments(QFrame):
    """Segments selected with the mouse or, with the focus, with the arrow keys."""

    def __init__(self, segments: Sequence[tuple[str, str]], chosen: Callable[[int], object]) -> None:
        """Create the row; segments: text and tooltip of each; chosen: called with the index of the selected one."""
        super().__init__()
        self.setObjectName("segments")
        row = hbox(self, spacing=2, margins=(2, 2, 2, 2))
        self._group = QButtonGroup(self)
        self.buttons: list[QToolButton] = []
        for place, (text, tip) in enumerate(segments):
            segment = describe(QToolButton(), text, tip)
            segment.setText(text)
            segment.setCheckable(True)
            segment.setFocusPolicy(Qt.FocusPolicy.TabFocus)
            self._group.addButton(segment, place)
            row.addWidget(segment)
            self.buttons.append(segment)
        self.buttons[0].setChecked(True)
        self._group.idToggled.connect(lambda place, on: chosen(place) if on else None)

    @property
    def current(self) -> int:
        """Index of the selected segment."""
        return self._group.checkedId()

    def choose(self, place: int) -> None:
        """Select a segment as a click does."""
        self.buttons[place].setChecked(True)


class Tabs(QWidget):
    """Widgets shown one at a time below their segments."""

    def __init__(self, parts: Sequence[tuple[QWidget, str, str]], beside: QWidget) -> None:
        """Create the tabs; parts: widget, title and tooltip of each; beside: widget at the right of the segments."""
        super().__init__()
        self.stack = QStackedWidget()
        for part, _, _ in parts:
            self.stack.addWidget(part)
        self.segments = Segments([(title, tip) for _, title, tip in parts], self.stack.setCurrentIndex)
        self.stack.currentChanged.connect(self.segments.choose)
        self.current_changed = self.stack.currentChanged
        self.current, self.show_part = self.stack.currentWidget, self.stack.setCurrentWidget
        head, column = hbox(spacing=8), vbox(self, spacing=6)
        head.addWidget(self.segments)
        head.addStretch(1)
        head.addWidget(beside)
        column.addLayout(head)
        column.addWidget(self.stack, 1)
