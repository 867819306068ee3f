"""After a crash: what was saved of it, what was not, and whether it may be used."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtGui import QStandardItem, QStandardItemModel
from PySide6.QtWidgets import QWidget

from bench_gui.session.dialogs.about_runs import RunDialog
from bench_gui.session.runs.wording import number_of
from bench_gui.state.contents import Recovery
from bench_gui.widgets.fields import label
from bench_gui.widgets.tables import ROW_HEIGHT, plain_table
from core.units import FIGURE_DASH
from core.words import counted

if TYPE_CHECKING:
    from sessions import RunSummary

REASON = "recovered after a crash"
MOST_LISTED = 6
"""Rows the table is high."""
COLUMNS = ("Run", "Trajectory", "Recorded [s]", "Samples", "Until")


class RecoveryDialog(RunDialog):
    """Lists the recovered runs; they are finished files already, whatever the answer."""

    def __init__(self, parent: QWidget, recovery: Recovery, exclude: Callable[[list[str], str], object]) -> None:
        """exclude: called with ids and a reason."""
        count = len(recovery.runs)
        super().__init__(
            parent,
            f"{counted(count, 'run')} recovered after a crash" if count else "A crash left files behind",
            (
                "The program ended while it was recording. Samples are written to the disk at least twice a second, "
                "so at most the last 0.5 s before the end can be missing. A fit uses a recovered run only if you "
                "select it; excluded, it is left out even then."
            )
            if count
            else "They hold no run that could be used.",
        )
        self.setMinimumWidth(560)
        self.model = QStandardItemModel(0, len(COLUMNS), self)
        self.model.setHorizontalHeaderLabels(COLUMNS)
        if recovery.runs:
            self._list(recovery.runs)
        self._tell("Damaged and kept aside, in the session's folder runs/damaged", recovery.damaged)
        self._tell("Not recovered yet; opening the session again tries once more", recovery.postponed)
        ids = [run.id for run in recovery.runs]
        if ids:
            self.exclude_button = self.offer(
                "Exclude from fits",
                "Keep the runs but leave them out of fits; can be undone",
                lambda: exclude(ids, REASON),
            )
        self.keep_button = self.offer("Keep" if ids else "Close", "Leave everything as it is", lambda: None, "primary")
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
        table = plain_table("Recovered runs", "What was saved of each run")
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
    """A moment as a person reads it, in local time; a dash where nothing is known."""
    try:
        return datetime.fromisoformat(stamp).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    except ValueError:
        return FIGURE_DASH
