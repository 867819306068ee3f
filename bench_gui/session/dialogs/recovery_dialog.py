"""Dialog after a crash: recovered runs, lost ones, and their use in fits."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtGui import QStandardItem, QStandardItemModel
from PySide6.QtWidgets import QWidget

from bench_gui.session.dialogs.about_runs import RunDialog
from bench_gui.session.runs.wording import number_of
from bench_gui.state.session_contents import Recovery
from bench_gui.widgets.fields import label
from bench_gui.widgets.tables import ROW_HEIGHT, plain_table
from core.base.units import FIGURE_DASH
from core.base.words import counted

if TYPE_CHECKING:
    from sessions import RunSummary

REASON = "recovered after a crash"
MOST_LISTED = 6
"""Height of the table in rows."""
COLUMNS = ("Run", "Trajectory", "Recorded [s]", "Samples", "Until")


class RecoveryDialog(RunDialog):
    """Lists the recovered runs; they are complete files already, whatever the answer."""

    def __init__(self, parent: QWidget, recovery: Recovery, exclude: Callable[[list[str], str], object]) -> None:
        """Create the dialog; exclude: called with ids and a reason."""
        count = len(recovery.runs)
        super().__init__(
            parent,
            f"{counted(count, 'run')} recovered after a crash" if count else "A crash left files behind",
            (
                "ServoBench ended during a recording. Samples are written to the disk at least twice a second, "
                "so at most the last 0.5 s are missing. A fit uses a recovered run only if you "
                "select it, and never if you exclude it."
            )
            if count
            else "They contain no usable run.",
        )
        self.setMinimumWidth(560)
        self.model = QStandardItemModel(0, len(COLUMNS), self)
        self.model.setHorizontalHeaderLabels(COLUMNS)
        if recovery.runs:
            self._list(recovery.runs)
        self._tell("Damaged files, moved to the session's folder runs/damaged", recovery.damaged)
        self._tell("Not recovered yet; open the session again to retry", recovery.postponed)
        ids = [run.id for run in recovery.runs]
        if ids:
            self.exclude_button = self.offer(
                "Exclude from fits",
                "Keep the runs, but exclude them from fits; can be undone",
                lambda: exclude(ids, REASON),
            )
        self.keep_button = self.offer("Keep" if ids else "Close", "Change nothing", lambda: None, "primary")
        self.keep_button.setFocus()

    def _list(self, runs: tuple[RunSummary, ...]) -> None:
        for run in runs:
            texts = (number_of(run), run.trajectory, f"{run.duration:.2f}", str(run.samples), moment(run.finished))
            row = [QStandardItem(text) for text in texts]
            for place, item in enumerate(row):
                item.setEditable(False)
                item.setToolTip(run.reason)
                side = Qt.AlignmentFlag.AlignRight if place in (2, 3) else Qt.AlignmentFlag.AlignLeft
                item.setTextAlignment(side | Qt.AlignmentFlag.AlignVCenter)
            self.model.appendRow(row)
        table = plain_table("Recovered runs", "Saved part of each run")
        table.setModel(self.model)
        table.horizontalHeader().setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        for place, width in enumerate((60, 150, 100, 80)):
            table.setColumnWidth(place, width)
        table.setFixedHeight((min(len(runs), MOST_LISTED) + 1) * ROW_HEIGHT + 12)
        self.body.addWidget(table)

    def _tell(self, heading: str, lines: tuple[str, ...]) -> None:
        if not lines:
            return
        self.body.addWidget(label(f"{heading}:"))
        for line in lines:
            text = label("", "muted")
            text.setTextFormat(Qt.TextFormat.PlainText)
            text.setText(line)
            text.setWordWrap(True)
            text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            self.body.addWidget(text)


def moment(stamp: str) -> str:
    """Format a time stamp in local time; unknown ones become a dash."""
    try:
        return datetime.fromisoformat(stamp).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    except ValueError:
        return FIGURE_DASH
