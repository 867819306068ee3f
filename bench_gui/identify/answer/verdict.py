"""Card of an answer: the model, its error, the evidence, and the next step with its button."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QProgressBar, QPushButton, QVBoxLayout

from bench_gui.headless.symbols import with_symbols
from bench_gui.widgets.fields import button, describe, label
from bench_gui.widgets.page import SideBySide
from bench_gui.work.progress_row import STEPS
from core.base.words import counted
from core.identification.coverage.findings import EXPORT
from core.identification.verdict import Answer, Step


class VerdictCard(QFrame):
    """Shows one of three states: nothing identified yet, a search, a result."""

    step_wanted = Signal(str, str)
    """Emitted when the next step shall be taken, with its action and subject."""

    def __init__(
        self,
        use: Callable[[], object],
        export: Callable[[], object],
        report: Callable[[], object],
        show_warnings: Callable[[], object],
    ) -> None:
        super().__init__()
        self.setProperty("role", "card")
        self._step: Step | None = None
        self.title: QLabel = describe(label("", "reading"), "Verdict", "Model and error")
        self.bar = describe(QProgressBar(), "Progress of the identification", "Share of the search that is done")
        self.bar.setRange(0, STEPS)
        self.bar.setTextVisible(False)
        self.choice: QLabel = describe(label("", "muted"), "Evidence for the choice", "")
        self.next: QLabel = describe(QLabel(), "Next", "What to do next")
        self.next.setTextFormat(Qt.TextFormat.RichText)
        for text in (self.choice, self.next):
            text.setWordWrap(True)
        self.step_button: QPushButton = button(
            "Next step", "Do what this result needs next", self._take_step, "primary"
        )
        self.use_button: QPushButton = button(
            "Use this model", "Use the selected model for the live twin, placing and export", use
        )
        self.export_button: QPushButton = button(
            "Export…", "Use the selected model and choose an export target", export
        )
        self.report_button: QPushButton = button("Report…", "Write the complete result to a single HTML file", report)
        self.warnings_button: QPushButton = button(
            "Warnings", "Show all warnings about the selected model, with their remedies", show_warnings, "flat"
        )
        step, others = QHBoxLayout(), QHBoxLayout()
        for row, parts in (
            (step, (self.step_button, self.warnings_button)),
            (others, (self.report_button, self.export_button, self.use_button)),
        ):
            row.setSpacing(8)
            for part in parts:
                row.addWidget(part)
        step.addStretch(1)
        column = QVBoxLayout(self)
        column.setContentsMargins(12, 8, 10, 8)
        column.setSpacing(4)
        for part in (self.title, self.bar, self.choice, self.next):
            column.addWidget(part)
        self.buttons = SideBySide(step, others)
        column.addWidget(self.buttons)

    def show_plan(self, plan: str) -> None:
        """Show what would be fitted; plan: a sentence."""
        self._show("Not identified yet", plan)
        self._turn("plan")

    def show_search(self, title: str, text: str, done: float) -> None:
        """Show a running search; done: share of it, 0 … 1."""
        self._show(title, text)
        self.bar.setValue(round(STEPS * done))
        self._turn("search")

    def show_answer(self, answer: Answer, step: Step, why_not: str) -> None:
        """Show the answer about a model.

        Args:
            answer: The answer.
            step: What to do next.
            why_not: Reason why the program cannot do that now; empty if it can.
        """
        verdict, warnings = answer.verdict, len(answer.warnings)
        self._show(verdict.headline, f"{verdict.quality} <b>{verdict.evidence}</b>".strip())
        self._step = step
        self.next.setText(with_symbols(step.text))
        self.step_button.setText(step.label)
        describe(self.step_button, step.label.strip("…"), f"Not possible: {why_not}" if why_not else step.text)
        self.step_button.setEnabled(not why_not)
        self.warnings_button.setText(counted(warnings, "warning"))
        self._turn("result")
        self.export_button.setVisible(step.action != EXPORT)
        self.warnings_button.setVisible(warnings > 0 and step.action != "")

    def offer(self, *, usable: bool, used: bool, model: str, reportable: bool) -> None:
        """Enable what can be done with the selected model; used: it is the bench's model already."""
        self.use_button.setEnabled(usable and not used)
        self.use_button.setText("In use" if used else f"Use {model}" if model else "Use this model")
        self.export_button.setEnabled(usable)
        self.report_button.setEnabled(reportable)

    def _take_step(self) -> None:
        if self._step is not None:
            self.step_wanted.emit(self._step.action, self._step.subject)

    def _show(self, title: str, choice: str) -> None:
        self.title.setText(title)
        self.choice.setText(choice)

    def _turn(self, face: str) -> None:
        self.bar.setVisible(face == "search")
        for part in (self.next, self.buttons, self.export_button):
            part.setVisible(face == "result")
