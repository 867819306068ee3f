"""Prompt for a change of load by hand before the next run, and the key that confirms it."""

from __future__ import annotations

from PySide6.QtCore import QMargins, Qt
from PySide6.QtWidgets import QFrame, QLabel, QWidget

from bench_gui.record.queue import RecordQueue
from bench_gui.theme import themes
from bench_gui.widgets.fields import describe, hbox, label


class PromptCard(QFrame):
    """Hidden unless the queue waits for a change by hand."""

    def __init__(self, queue: RecordQueue) -> None:
        super().__init__()
        self.setProperty("role", "card")
        self._queue = queue
        row = hbox(self, spacing=10, margins=(14, 8, 8, 8))
        self.text: QLabel = label("", "title")
        self.text.setWordWrap(True)
        row.addWidget(self.text, 1)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        describe(self, "Change by hand", "Continue, Enter or the foot pedal confirms that the load is mounted")
        self.hide()
        queue.changed.connect(self.refresh)

    def refresh(self) -> None:
        """Show the required change, or hide the card."""
        by_hand = self._queue.by_hand
        self.text.setText(f"{by_hand}, then press Continue" if by_hand else "")
        self.setVisible(bool(by_hand))

    @property
    def asking(self) -> bool:
        """True while the queue waits for a change by hand."""
        return bool(self._queue.by_hand) and not self._queue.active


class CountdownLabel(QLabel):
    """Seconds until the servo moves, shown large over the plots."""

    def __init__(self, queue: RecordQueue, parent: QWidget) -> None:
        super().__init__(parent)
        self.setAccessibleName("Seconds until the servo moves")
        self.setToolTip("The servo moves when this reaches 0; Abort cancels the run")
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.hide()
        queue.countdown.counted.connect(self._show)
        themes.follow(self._paint)

    def _paint(self) -> None:
        theme = themes.current
        self.setStyleSheet(
            f"background: {theme.panel}; color: {theme.moving}; border: 2px solid {theme.moving}; border-radius: 10px;"
        )

    def _show(self, left: float) -> None:
        if left <= 0.0:
            self.hide()
            return
        whole = int(-(-left // 1))
        self.setText(
            f"<span style='font-size:64px; font-weight:700'>{whole}</span><br>"
            "<span style='font-size:13px'>The servo is about to move. Abort cancels the run.</span>"
        )
        area = self.parentWidget()
        if area is not None:
            self.resize(self.sizeHint().grownBy(QMargins(16, 8, 16, 8)))
            self.move((area.width() - self.width()) // 2, (area.height() - self.height()) // 2)
        self.raise_()
        self.show()
