"""Card of the tour and outline around its target; neither takes the focus or a key."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen, QRegion
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QWidget

from bench_gui.theme import dress, themes
from bench_gui.widgets.fields import button, describe, label, vbox

WIDTH = 320
OUTLINE, MARGIN = 3, 6
"""Width of the outline and its distance from the target [px]."""
ROUND = 7.0


class TourCard(QFrame):
    """Card with title, text, step number and three buttons."""

    def __init__(
        self,
        window: QWidget,
        onwards: Callable[[], object],
        back: Callable[[], object],
        skip: Callable[[], object],
    ) -> None:
        super().__init__(window)
        self.setObjectName("tourCard")
        describe(self, "Guided tour", "")
        self.setFixedWidth(WIDTH)
        column = vbox(self, spacing=6, margins=(14, 11, 12, 11))
        head = QHBoxLayout()
        self.title: QLabel = label("", "title")
        self.place: QLabel = label("", "muted")
        head.addWidget(self.title, 1)
        head.addWidget(self.place)
        self.text: QLabel = label("")
        self.text.setWordWrap(True)
        column.addLayout(head)
        column.addWidget(self.text)
        column.addSpacing(2)
        row = QHBoxLayout()
        self.skip_button = button("Skip tour", "End the tour; Help › Guided tour starts it again", skip, "flat")
        self.back_button = button("Back", "Previous step", back)
        self.next_button = button(
            "Next", "Next step; the tour also advances when you have done this one", onwards, "primary"
        )
        row.addWidget(self.skip_button)
        row.addStretch(1)
        row.addWidget(self.back_button)
        row.addWidget(self.next_button)
        column.addLayout(row)
        themes.follow(self._paint)

    def show_step(self, title: str, text: str, number: int, count: int) -> None:
        """Show a step; number counts from 0."""
        self.title.setText(title)
        self.text.setText(text)
        self.place.setText(f"{number + 1} of {count}")
        self.setAccessibleDescription(f"Step {number + 1} of {count}. {title}. {text}")
        self.back_button.setEnabled(number > 0)
        self.next_button.setText("Finish" if number + 1 == count else "Next")
        self._fit()

    def _paint(self) -> None:
        dress(self)
        self._fit()

    def _fit(self) -> None:
        """Adapt the height to the text in the theme's font."""
        for part in (self, *self.findChildren(QWidget)):
            part.ensurePolished()
        self.layout().invalidate()  # type: ignore[union-attr]
        self.setFixedHeight(self.layout().totalHeightForWidth(WIDTH))  # type: ignore[union-attr]


class Outline(QWidget):
    """Line around a widget; mouse events and repaints pass through it."""

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.hide()

    def surround(self, window: QWidget, around: QRect) -> None:
        """Surround a rectangle of a window; an empty one hides the outline."""
        if around.isEmpty():
            self.hide()
            return
        if self.parentWidget() is not window:
            self.setParent(window)
        wanted = around.adjusted(-MARGIN, -MARGIN, MARGIN, MARGIN).intersected(window.rect())
        if wanted != self.geometry():
            self.setGeometry(wanted)
            # Only the line itself covers the widgets below.
            inside = self.rect().adjusted(MARGIN, MARGIN, -MARGIN, -MARGIN)
            self.setMask(QRegion(self.rect()).subtracted(QRegion(inside)))
        if not self.isVisible():
            self.show()
            self.raise_()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the line."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor(themes.current.accent), OUTLINE))
        half = OUTLINE / 2
        painter.drawRoundedRect(self.rect().toRectF().adjusted(half, half, -half, -half), ROUND, ROUND)
