"""The line at the foot: what runs, how far it is, when it ends, and a Stop for it."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import QFrame, QHBoxLayout, QProgressBar, QPushButton, QToolButton, QWidget

from bench_gui.icons import icon
from bench_gui.theme import Theme
from bench_gui.widgets.fields import ElidedLabel, button, describe, label, restyle
from core.words import counted

STEPS = 1000
BLINK = 500
"""Half a period of the fault badge [ms]."""


class TaskProgress(QWidget):
    """One thing that runs; hidden while it does not."""

    def __init__(self, name: str, stop_text: str, stop_tip: str, stop: Callable[[], object]) -> None:
        super().__init__()
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(8)
        self.text = ElidedLabel()
        self.bar = QProgressBar()
        self.bar.setRange(0, STEPS)
        self.bar.setTextVisible(False)
        self.bar.setFixedWidth(130)
        describe(self.bar, f"Progress of the {name}", f"How far the {name} is")
        self.stop_button: QPushButton = button(stop_text, stop_tip, stop, "small")
        row.addWidget(self.text)
        row.addWidget(self.bar)
        row.addWidget(self.stop_button)
        self.hide()

    def show_progress(self, text: str, share: float) -> None:
        """Show how far it is, share 0 … 1."""
        self.text.setText(text)
        self.bar.setValue(round(STEPS * min(max(share, 0.0), 1.0)))
        self.show()


class FaultBadge(QToolButton):
    """Blinks while there are faults nobody has looked at; a click leads to the log."""

    def __init__(self, look: Callable[[], object]) -> None:
        super().__init__()
        self.setObjectName("faultBadge")
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.clicked.connect(lambda: look())
        self._timer = QTimer(self)
        self._timer.setInterval(BLINK)
        self._timer.timeout.connect(lambda: restyle(self, "lit", "" if self.property("lit") else "yes"))
        self.show_count(0)

    def show_count(self, count: int) -> None:
        """Show how many there are; none hides the badge."""
        text = counted(count, "fault")
        self.setText(text)
        describe(self, text, "Faults and errors nobody has looked at yet; click to read them in the log")
        restyle(self, "lit", "yes")
        self.setVisible(count > 0)
        if count:
            self._timer.start()
        else:
            self._timer.stop()


class StatusLine(QFrame):
    """Recording at the left, identification and fleet at the right, the last thing that happened when there is none."""

    def __init__(
        self,
        abort: Callable[[], object],
        stop: Callable[[], object],
        stop_fleet: Callable[[], object],
        look: Callable[[], object],
    ) -> None:
        """abort, stop, stop_fleet: of the recording, the identification and the fleet; look: at the log."""
        super().__init__()
        self.setObjectName("statusLine")
        self.setFixedHeight(32)
        row = QHBoxLayout(self)
        row.setContentsMargins(14, 0, 10, 0)
        row.setSpacing(18)
        self.recording = TaskProgress(
            "recording", "Abort", "End the run, keep its samples, bring the pendulum back slowly", abort
        )
        self.identification = TaskProgress(
            "identification", "Stop", "End the identification and keep the best models found", stop
        )
        self.fleet = TaskProgress("fleet", "Stop", "End the fleet soon and keep the fits that are done", stop_fleet)
        self.note = label("", "muted")
        row.addWidget(self.recording)
        row.addWidget(self.note)
        row.addStretch(1)
        row.addWidget(self.identification)
        row.addWidget(self.fleet)
        self.badge = FaultBadge(look)
        row.addWidget(self.badge)

    def set_theme(self, theme: Theme) -> None:
        """Draw the badge's icon in a theme's colours."""
        self.badge.setIcon(icon("warning", theme.on_stop, 14))
