"""Line above the views: which runs are shown, progress, and paging through runs."""

from __future__ import annotations

from PySide6.QtWidgets import QProgressBar, QToolButton, QWidget

from bench_gui.compare.comparison import MOST_DRAWN
from bench_gui.controller import Controller
from bench_gui.widgets.fields import ElidedLabel, describe, hbox, tool
from core.base.words import counted


class Head(QWidget):
    """Shows which runs are drawn or judged, and how many errors are known."""

    def __init__(self, controller: Controller) -> None:
        super().__init__()
        self._comparison, self._library = controller.comparison, controller.library
        self.note = ElidedLabel()
        self.note.setProperty("role", "muted")
        self.progress = describe(QProgressBar(), "Errors found", "Share of the chosen runs' errors that are known")
        self.progress.setTextVisible(False)
        self.progress.setFixedWidth(72)
        self.earlier: QToolButton = tool("Earlier runs", f"Show the {MOST_DRAWN} runs before these")
        self.later: QToolButton = tool("Later runs", f"Show the {MOST_DRAWN} runs after these")
        row = hbox(self, spacing=8)
        row.addWidget(self.note, 1)
        row.addWidget(self.progress)
        for turn, text, pages in ((self.earlier, "‹", -1), (self.later, "›", 1)):
            turn.setText(text)
            turn.clicked.connect(lambda _=False, pages=pages: self._comparison.turn(pages))
            row.addWidget(turn)

    def say(self, *, drawing: bool, judging: bool, recordings: bool) -> None:
        """Show the state for a view.

        Args:
            drawing: the view draws runs.
            judging: the view shows errors.
            recordings: the view uses recordings.
        """
        comparison, picture = self._comparison, self._comparison.picture
        cut = drawing and picture.total > len(picture.recordings) > 0
        last = picture.first + len(picture.recordings)
        self.earlier.setVisible(cut)
        self.later.setVisible(cut)
        self.earlier.setEnabled(picture.first > 0)
        self.later.setEnabled(last < picture.total)
        known, all_of_them = comparison.judged
        judging = judging and known < all_of_them
        self.progress.setVisible(judging)
        self.progress.setRange(0, max(1, all_of_them))
        self.progress.setValue(known)
        text = ""
        if recordings and not comparison.chosen:
            text = "Choose models at the right"
        elif cut:
            text = f"Runs {picture.first + 1} to {last} of {picture.total}"
        elif drawing and comparison.waiting:
            text = comparison.doing
        elif judging:
            text = f"{known} of {counted(all_of_them, 'error')} known"
        left_out = self._library.left_out(comparison.runs) if recordings else ""
        used = self._library.selection(comparison.runs).brief if left_out else ""
        self.note.setText(" · ".join(filter(None, (text, used))))
        self.note.setToolTip(left_out)
