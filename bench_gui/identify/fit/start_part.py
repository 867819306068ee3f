"""Buttons that start, stop and resume an identification; always visible."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtWidgets import QBoxLayout, QHBoxLayout, QLabel, QPushButton, QWidget

from bench_gui.controller import Controller
from bench_gui.identify.fit.problem import ProblemCard
from bench_gui.identify.fit.remedies import way_out
from bench_gui.identify.fit.settings import obstacle
from bench_gui.identify.fit.settings_form import SettingsForm
from bench_gui.widgets.fields import allow, button, label, restyle, vbox
from bench_gui.widgets.start_button import StartButton
from core.base.words import counted


class StartPart(QWidget):
    """Shows what keeps an identification from starting, with the button that fixes it."""

    def __init__(
        self,
        controller: Controller,
        form: SettingsForm,
        start: Callable[[], object],
        resume: Callable[[], object],
        check: Callable[[], object],
    ) -> None:
        super().__init__()
        self._controller, self._form = controller, form
        self.obstacle = ProblemCard(QBoxLayout.Direction.TopToBottom)
        self.selection_note: QLabel = label("", "muted")
        self.selection_note.setWordWrap(True)
        self.selection_note.setToolTip(
            "Select two or more runs in the session to use only those, also such as did not end well"
        )
        self.resume_note: QLabel = label("", "muted")
        self.resume_note.setWordWrap(True)
        self.resume_button: QPushButton = button(
            "Resume", "Continue the interrupted identification where it stopped", resume
        )
        self.check_button: QPushButton = button(
            "Check coverage", "Check which parameters the chosen runs can determine, before a fit", check
        )
        self.start_button = StartButton("Identify", "Search for the parameters of the checked models", start, form)
        self.stop_button: QPushButton = button(
            "Stop", "End the search and keep the best models found so far", controller.fitting.stop
        )
        row, resuming = QHBoxLayout(), QHBoxLayout()
        for part, share in ((self.start_button, 2), (self.stop_button, 1)):
            part.setMinimumHeight(26)
            row.addWidget(part, share)
        resuming.addWidget(self.resume_note, 1)
        resuming.addWidget(self.resume_button)
        column = vbox(self, spacing=8)
        column.addWidget(self.obstacle)
        column.addLayout(resuming)
        column.addWidget(self.selection_note)
        column.addWidget(self.check_button)
        column.addLayout(row)

    @property
    def why_not(self) -> str:
        """Reason why an identification cannot start; empty if it can."""
        return self.start_button.toolTip().removeprefix("Not possible: ") if not self.start_button.isEnabled() else ""

    def refresh(self, beside: str, *, primary: bool, resuming: bool) -> None:
        """Enable what is possible.

        Args:
            beside: Computation that an identification has to wait for, or empty.
            primary: True if the start is the page's next step.
            resuming: True if the card offers to resume.
        """
        fitting, library = self._controller.fitting, self._controller.library
        runs = library.for_fit()
        wrong = obstacle(self._form.settings(), library.main_servo(), runs) if runs and not fitting.active else None
        if wrong is None:
            self.obstacle.clear()
        else:
            self.obstacle.show_problem(wrong.message, way_out(wrong.remedy, self._controller, self._form))
        which = "selected run" if len(library.selected) > 1 else "run"
        self.start_button.setText(f"Identify from {counted(len(runs), which)}" if runs else "Identify")
        locked = library.results_obstacle if runs else ""
        why = locked or beside or ("" if wrong is None else wrong.message)
        why = why or ("an identification is running" if fitting.active else "" if runs else "there are no recordings")
        allow(self.start_button, why, "Search for the parameters of the checked models")
        restyle(self.start_button, "kind", "primary" if primary else "")
        left_out = library.left_out(runs)
        self.selection_note.setText(left_out)
        self.selection_note.setVisible(bool(left_out))
        self.check_button.setEnabled(bool(runs))
        self.check_button.setText(f"Check {'this' if len(runs) == 1 else 'these'} {counted(len(runs), 'run')}")
        self.stop_button.setEnabled(fitting.active and not fitting.stopping)
        self.stop_button.setText("Stopping…" if fitting.stopping else "Stop")
        record = fitting.unfinished
        self.resume_note.setText("" if record is None else f"Unfinished: {record.in_words()}")
        for part in (self.resume_note, self.resume_button):
            part.setVisible(record is not None and not resuming)
        self.resume_button.setEnabled(record is not None and not (fitting.active or beside or locked))
