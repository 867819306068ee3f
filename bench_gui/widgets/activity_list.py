"""List of background work: running and recently finished jobs with progress, a stop button and their results."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject, QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QFrame, QProgressBar, QWidget

from bench_gui.widgets.fields import ElidedLabel, button, describe, hbox, label, restyle, vbox
from bench_gui.work.activity import Activities, Activity, State

STEPS = 1000
BAR_WIDTH = 130
BUTTON_WIDTH = 64
WIDTH = 680


class ActivityRow(QWidget):
    """One job: title, current work, time left, progress bar and buttons."""

    def __init__(self, show: Callable[[QWidget], object] | None) -> None:
        """Create the row; show: shows a widget of the window; None: results are not offered."""
        super().__init__()
        self._show = show
        self._activity: Activity | None = None
        row = hbox(self, spacing=8)
        self.text = ElidedLabel()
        self.text.setAccessibleName("Work under way")
        self.bar = describe(QProgressBar(), "Progress", "Share of the work that is done")
        self.bar.setTextVisible(False)
        self.bar.setFixedWidth(BAR_WIDTH)
        self.stop_button = button("Stop", "Stop this job", self._cancel, "small")
        self.open_button = button("Open", "Open the file that it wrote", self._open, "small")
        self.show_button = button("Show", "Show its page", self._look, "small")
        row.addWidget(self.text, 1)
        for part in (self.bar, self.stop_button, self.open_button, self.show_button):
            row.addWidget(part)
        for part in (self.stop_button, self.open_button, self.show_button):
            part.setMinimumWidth(BUTTON_WIDTH)

    def show_activity(self, activity: Activity) -> None:
        """Show the current state of a job."""
        self._activity = activity
        running, share = activity.running, activity.share
        self.text.setText(activity.in_words)
        restyle(self.text, "role", {State.FAILED: "fault"}.get(activity.state, "" if running else "muted"))
        self.bar.setVisible(running)
        self.bar.setRange(0, 0 if share is None else STEPS)
        self.bar.setValue(0 if share is None else round(STEPS * min(max(share, 0.0), 1.0)))
        self.bar.setAccessibleName(f"Progress: {activity.title}")
        self.stop_button.setVisible(running and activity.cancel is not None)
        self.stop_button.setEnabled(activity.state is State.RUNNING)
        self.stop_button.setText(activity.cancel_text)
        describe(self.stop_button, f"{activity.cancel_text}: {activity.title}", activity.cancel_tip)
        self.open_button.setVisible(self._show is not None and not running and activity.file is not None)
        self.show_button.setVisible(self._show is not None and activity.view is not None)

    def _cancel(self) -> None:
        if self._activity is not None and self._activity.cancel is not None:
            self._activity.cancel()

    def _open(self) -> None:
        if self._activity is not None and self._activity.file is not None:
            QDesktopServices.openUrl(QUrl.fromLocalFile(str(self._activity.file)))

    def _look(self) -> None:
        if self._activity is not None and self._activity.view is not None and self._show is not None:
            self._show(self._activity.view)


class ActivityList(QFrame):
    """Panel that floats above the status line at the lower right."""

    def __init__(self, above: QWidget, activities: Activities, show: Callable[[QWidget], object]) -> None:
        """Create the panel; above: widget whose lower right corner it takes; show: shows a widget of the window."""
        super().__init__(above)
        self.setObjectName("activityList")
        self._activities, self._above, self._show = activities, above, show
        self.rows: list[ActivityRow] = []
        self._column = vbox(self, spacing=8, margins=(14, 10, 14, 10))
        self._column.addWidget(label("WORK", "heading"))
        self._empty = label("Nothing is under way.", "muted")
        self._column.addWidget(self._empty)
        self.setFixedWidth(WIDTH)
        above.installEventFilter(self)
        activities.changed.connect(self._fill)
        self.hide()

    def setVisible(self, visible: bool) -> None:
        """Refresh the list when it is shown."""
        super().setVisible(visible)
        self._fill()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Stay in the corner."""
        if event.type() == QEvent.Type.Resize:
            self._place()
        return False

    def _fill(self) -> None:
        if self.isHidden():
            return
        listed = self._activities.listed[::-1]
        while len(self.rows) < len(listed):
            self.rows.append(ActivityRow(self._show))
            self._column.addWidget(self.rows[-1])
        for row, activity in zip(self.rows, listed, strict=False):
            row.show_activity(activity)
        for place, row in enumerate(self.rows):
            row.setVisible(place < len(listed))
        self._empty.setVisible(not listed)
        self._place()

    def _place(self) -> None:
        self.adjustSize()
        self.move(self._above.width() - self.width() - 10, self._above.height() - self.height() - 10)
        self.raise_()
