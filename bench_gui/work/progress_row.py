"""Row with the progress of a computation: a bar while it runs, and a status sentence."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QLabel, QProgressBar

from bench_gui.widgets.fields import describe, label, restyle
from bench_gui.work.computation import STARTING, Computation
from core.base.words import capitalised

STEPS = 1000


class ProgressRow(QHBoxLayout):
    """Progress of one computation."""

    def __init__(self, what: str, tip: str, status: QLabel | None = None) -> None:
        """Create the row.

        Args:
            what: Name of the computation, for screen readers.
            tip: Tool tip of the bar.
            status: Label for the sentence; by default a wrapped one.
        """
        super().__init__()
        self.setSpacing(8)
        self.bar = describe(QProgressBar(), f"Progress of the {what}", tip)
        self.bar.setRange(0, STEPS)
        self.bar.setTextVisible(False)
        self.bar.setFixedWidth(120)
        if status is None:
            status = label("")
            status.setWordWrap(True)
            status.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.status = status
        status.setProperty("role", "muted")
        status.setTextFormat(Qt.TextFormat.PlainText)
        status.setAccessibleName(f"State of the {what}")
        self.addWidget(self.bar)
        self.addWidget(status, 1)

    def show(self, running: Computation[Any, Any, Any], idle: str, starting: str = "Starting…") -> None:
        """Show a computation that sends `Share`s; idle, starting: texts before its start and its first share."""
        failed = bool(running.problem) and not running.active
        share = running.activity.share
        self.bar.setVisible(running.active)
        self.bar.setRange(0, 0 if share is None else STEPS)
        self.bar.setValue(0 if share is None else round(STEPS * share))
        text = capitalised(running.problem) if failed else idle
        if running.active:
            text = starting if running.activity.text == STARTING else capitalised(running.activity.words)
        self.status.setText(text)
        self.status.setVisible(bool(text))
        restyle(self.status, "role", "fault" if failed else "muted")
