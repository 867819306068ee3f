"""Status line at the bottom: the most important running job, the button of the job list, and unread faults."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import QFrame, QToolButton

from bench_gui.icons import ThemeIcon
from bench_gui.widgets.activity_list import ActivityRow
from bench_gui.widgets.fields import ElidedLabel, button, describe, hbox, restyle
from bench_gui.work.activity import Activities
from core.base.words import counted

BLINK = 500
"""Half period of the blinking fault badge [ms]."""


class FaultBadge(QToolButton):
    """Number of unread faults and errors; blinks for a fault until it is acknowledged. A click opens the log."""

    def __init__(self, look: Callable[[], object]) -> None:
        super().__init__()
        self.setObjectName("faultBadge")
        ThemeIcon(self, "warning", "on_stop", 14)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.clicked.connect(lambda: look())
        self._timer = QTimer(self)
        self._timer.setInterval(BLINK)
        self._timer.timeout.connect(lambda: restyle(self, "lit", "" if self.property("lit") else "yes"))
        restyle(self, "lit", "yes")
        self.show_count(0, 0)

    def show_count(self, faults: int, errors: int) -> None:
        """Show the number of unread faults and errors; without any, the badge is hidden."""
        numbers = [counted(n, word) for n, word in ((faults, "fault"), (errors, "error")) if n]
        text = ", ".join(numbers) or "No faults"
        self.setText(text)
        describe(self, text, "Unread messages; click to read them in the log")
        self.setVisible(bool(numbers))
        self.rest()
        if faults:
            self._timer.start()

    def rest(self) -> None:
        """Stop blinking, since the fault is acknowledged."""
        if self._timer.isActive():
            self._timer.stop()
            restyle(self, "lit", "yes")


class StatusLine(QFrame):
    """The most important or last finished job at the left, the button of the job list at the right."""

    def __init__(self, activities: Activities, show_list: Callable[[bool], object], look: Callable[[], object]) -> None:
        """Create the line; show_list: shows or hides the job list; look: opens the log."""
        super().__init__()
        self.setObjectName("statusLine")
        self.setFixedHeight(32)
        self._activities = activities
        row = hbox(self, spacing=18, margins=(14, 0, 10, 0))
        self.foremost = ActivityRow(None)
        self.note = ElidedLabel()
        self.note.setProperty("role", "muted")
        self.list_button = button("Work", "Show running and recently finished work", lambda: None, "small")
        self.list_button.setCheckable(True)
        self.list_button.toggled.connect(show_list)
        self.badge = FaultBadge(look)
        row.addWidget(self.foremost)
        row.addWidget(self.note, 1)
        row.addWidget(self.list_button)
        row.addWidget(self.badge)
        activities.changed.connect(self._show)
        self._show()

    def _show(self) -> None:
        listed = self._activities.listed
        running, ended = [a for a in listed if a.running], [a for a in listed if not a.running]
        foremost = self._activities.foremost
        self.foremost.setVisible(foremost is not None)
        self.note.setVisible(foremost is None)
        if foremost is not None:
            self.foremost.show_activity(foremost)
        self.note.setText(ended[-1].in_words if ended else "")
        self.list_button.setText(f"{len(running)} under way" if running else "Work")
        self.list_button.setVisible(bool(listed))
