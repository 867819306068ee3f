"""Verdict card: the model, its error, the evidence, and one sentence about what to do next."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QProgressBar, QPushButton, QVBoxLayout

from bench_gui.headless.symbols import with_symbols
from bench_gui.widgets.fields import button, describe, label
from bench_gui.widgets.page import SideBySide
from bench_gui.work.progress_row import STEPS


class VerdictCard(QFrame):
    """Shows one of three states: nothing identified yet, a search, a result."""

    def __init__(
        self,
        begin: Callable[[], object],
        use: Callable[[], object],
        export: Callable[[], object],
        report: Callable[[], object],
    ) -> None:
        super().__init__()
        self.setProperty("role", "card")
        self.title: QLabel = describe(label("", "reading"), "Verdict", "Model and error")
        self.bar = describe(QProgressBar(), "Progress of the identification", "Share of the search that is done")
        self.bar.setRange(0, STEPS)
        self.bar.setTextVisible(False)
        self.choice: QLabel = describe(label("", "muted"), "Evidence for the choice", "")
        self.choice.setWordWrap(True)
        self.next: QLabel = describe(QLabel(), "Next", "What to do next")
        self.next.setTextFormat(Qt.TextFormat.RichText)
        self.next.setWordWrap(True)
        self.begin_button: QPushButton = button("Identify", "Search for the parameters of the checked models", begin)
        self.begin_button.setProperty("kind", "primary")
        self.begin_button.setStyleSheet("min-height: 26px; min-width: 200px;")
        self.use_button: QPushButton = button(
            "Use this model", "Use the selected model for the live twin, placing and export", use
        )
        self.export_button: QPushButton = button(
            "Export…", "Use the selected model and choose an export target", export
        )
        self.report_button: QPushButton = button("Report…", "Write the complete result to a single HTML file", report)
        title, buttons = QHBoxLayout(), QHBoxLayout()
        title.addWidget(self.title, 1)
        buttons.setSpacing(8)
        for part in (self.report_button, self.export_button, self.use_button):
            buttons.addWidget(part)
        column = QVBoxLayout(self)
        column.setContentsMargins(12, 8, 10, 8)
        column.setSpacing(4)
        column.addWidget(SideBySide(title, buttons))
        column.addWidget(self.bar)
        column.addWidget(self.choice)
        column.addWidget(self.next)
        column.addWidget(self.begin_button, 0, Qt.AlignmentFlag.AlignLeft)

    def show_plan(self, plan: str, why_not: str, runs: str) -> None:
        """Offer to start.

        Args:
            plan: sentence about what would be fitted.
            why_not: obstacle, empty if there is none.
            runs: text of the start button.
        """
        self._show("Not identified yet", plan, "")
        self.begin_button.setText(runs)
        self.begin_button.setEnabled(not why_not)
        self.begin_button.setToolTip(
            f"Not possible: {why_not}" if why_not else "Search for the parameters of the checked models"
        )
        self._turn("plan")

    def show_search(self, title: str, text: str, done: float) -> None:
        """Show a running search; done: share of it, 0 … 1."""
        self._show(title, text, "")
        self.bar.setValue(round(STEPS * done))
        self._turn("search")

    def show_result(self, title: str, choice: str, next_: str) -> None:
        """Show a model of a result."""
        self._show(title, choice, next_)
        self._turn("result")

    def offer(self, *, usable: bool, used: bool, model: str, reportable: bool) -> None:
        """Enable what can be done with the selected model; used: it is the bench's model already."""
        self.use_button.setEnabled(usable and not used)
        self.use_button.setText("In use" if used else f"Use {model}" if model else "Use this model")
        self.export_button.setEnabled(usable)
        self.report_button.setEnabled(reportable)

    def _show(self, title: str, choice: str, next_: str) -> None:
        self.title.setText(title)
        self.choice.setText(choice)
        self.next.setText(f"<b>Next:</b> {with_symbols(next_)}")

    def _turn(self, face: str) -> None:
        self.bar.setVisible(face == "search")
        self.next.setVisible(face == "result")
        self.begin_button.setVisible(face == "plan")
        for part in (self.use_button, self.export_button, self.report_button):
            part.setVisible(face == "result")
