"""Evidence tab: a summary by parameter, the warnings, and the panels that start each method."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QScrollArea, QStackedWidget, QTableView, QWidget

from bench_gui.actions import ActionSpec
from bench_gui.controller import Controller
from bench_gui.identify.certainty.panel import CertaintyPanel
from bench_gui.identify.certainty.running import Certifying
from bench_gui.identify.coverage.panel import CoveragePanel
from bench_gui.identify.coverage.running import Checking
from bench_gui.identify.crossvalidation.panel import CrossValidationPanel
from bench_gui.identify.crossvalidation.running import CrossValidating
from bench_gui.identify.evidence_table import COLUMNS, evidence_rows
from bench_gui.identify.fit.messages import FittedModel
from bench_gui.identify.fit.settings_form import SettingsForm
from bench_gui.identify.fit.warning_list import WarningList
from bench_gui.identify.next_recording.compute import propose
from bench_gui.identify.next_recording.panel import ProposalPanel, Proposals
from bench_gui.widgets.fields import vbox
from bench_gui.widgets.tables import SymbolDelegate, fit_columns, plain_table
from bench_gui.widgets.tabs import Segments
from bench_gui.widgets.text_table import TextTable
from bench_gui.work.computation import Computation
from core.identification.coverage.findings import Finding

SUMMARY = "summary"
SEGMENTS = (
    (SUMMARY, "By parameter", "Results of all methods for each parameter"),
    ("warnings", "Warnings", "All warnings about the selected model"),
    ("coverage", "Coverage", "Which parameters the chosen runs can determine, before a fit"),
    ("crossvalidation", "Cross-validation", "Which model is best on conditions it was not fitted to"),
    ("certainty", "Certainty", "How certain each value is, beyond the linearised interval"),
    ("proposals", "Next recording", "Which recordings would reduce the uncertainty most"),
)
"""Name, title and tooltip of each part."""
NARROWEST, SHORT = 64, 9
"""Smallest width of a segment, whose text is then elided [px], and length of texts that are never elided."""


class EvidenceTab(QWidget):
    """Switches between the parts of the evidence and owns their computations."""

    turned = Signal()
    """Emitted when another part is shown."""

    def __init__(self, controller: Controller, form: SettingsForm) -> None:
        super().__init__()
        computations = controller.computations
        self.checking = Checking(computations)
        self.proposing: Proposals = Computation(
            computations, "Proposals", propose, missed="proposals for the next recordings"
        )
        self.crossvalidating = CrossValidating(computations, controller.background)
        self.certifying = Certifying(computations, controller.background)
        for search, words in (
            (self.crossvalidating, "a cross-validation is running; wait for it or stop it"),
            (self.certifying, "profiles and a bootstrap are under way; wait for them or stop them"),
        ):
            controller.identifying.add_search(search, words)
        self.crossvalidating.finished.connect(controller.fitting.judge_again)
        self._row: FittedModel | None = None
        self.table = TextTable(COLUMNS)
        self.view: QTableView = plain_table("Evidence by parameter", "One row per parameter, one column per method")
        self.view.setModel(self.table)
        fit_columns(self.view, range(len(COLUMNS) - 1))
        self._symbols = SymbolDelegate()
        for column in (1, len(COLUMNS) - 1):
            self.view.setItemDelegateForColumn(column, self._symbols)
        self.warnings = WarningList()
        self.coverage = CoveragePanel(controller, form, self.checking)
        self.crossvalidation = CrossValidationPanel(controller, form, self.crossvalidating)
        self.certainty = CertaintyPanel(controller, form, self.certifying)
        self.proposals = ProposalPanel(controller, form, self.proposing)
        self._stack = QStackedWidget()
        self._stack.addWidget(self.view)
        self._stack.addWidget(self.warnings)
        for panel in (self.coverage, self.crossvalidation, self.certainty, self.proposals):
            scroll = QScrollArea()
            scroll.setWidgetResizable(True)
            scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
            scroll.setWidget(panel)
            self._stack.addWidget(scroll)
        self.segments = Segments([(title, tip) for _, title, tip in SEGMENTS], self._turn)
        for segment in self.segments.buttons:
            if len(segment.text()) > SHORT:
                segment.setMinimumWidth(NARROWEST)
        self._stack.currentChanged.connect(self.segments.choose)
        column = vbox(self, spacing=6, margins=(0, 6, 0, 0))
        column.addWidget(self.segments, 0, Qt.AlignmentFlag.AlignLeft)
        column.addWidget(self._stack, 1)
        for source in (self.checking, self.crossvalidating, self.certifying):
            source.changed.connect(self._compare_methods)
        for activity, panel in (
            (self.checking.coverage.activity, self.coverage),
            (self.checking.audit.activity, self.coverage),
            (self.crossvalidating.activity, self.crossvalidation),
            (self.certifying.activity, self.certainty),
            (self.proposing.activity, self.proposals),
        ):
            activity.view = panel

    @property
    def shown(self) -> str:
        """Name of the part that is shown."""
        return SEGMENTS[self.segments.current][0]

    def show_row(self, row: FittedModel | None, warnings: Sequence[Finding], torque_off: str) -> None:
        """Show the evidence about a model, or None.

        Args:
            row: the model.
            warnings: about the model.
            torque_off: how a released motor behaves.
        """
        self._row = row
        self.warnings.show_warnings(warnings, row, torque_off)
        self.segments.buttons[1].setText(f"Warnings ({len(warnings)})" if warnings else "Warnings")
        self._compare_methods()

    def show_part(self, name: str) -> None:
        """Show a part by its name."""
        self.segments.choose([part for part, _, _ in SEGMENTS].index(name))

    def check_coverage(self) -> None:
        """Check the chosen runs before they are fitted."""
        self.show_part("coverage")
        self.coverage.check()

    def actions_offered(self) -> list[ActionSpec]:
        crossvalidating, certifying = self.crossvalidating, self.certifying
        return [
            ActionSpec("Check the coverage", self.check_coverage, enabled=self.coverage.check_button.isEnabled),
            ActionSpec(
                "Check headers against motion",
                self._showing("coverage", self.coverage.audit),
                enabled=self.coverage.audit_button.isEnabled,
            ),
            ActionSpec(
                "Propose the next recordings",
                self._showing("proposals", self.proposals.propose),
                enabled=self.proposals.propose_button.isEnabled,
            ),
            ActionSpec(
                "Cross-validate",
                self._showing("crossvalidation", self.crossvalidation.start),
                enabled=self.crossvalidation.start_button.isEnabled,
            ),
            ActionSpec(
                "Stop the cross-validation",
                crossvalidating.stop,
                enabled=lambda: crossvalidating.active and not crossvalidating.stopping,
            ),
            ActionSpec(
                "Profile and bootstrap the recommended model",
                self._showing("certainty", self.certainty.start),
                enabled=self.certainty.start_button.isEnabled,
            ),
            ActionSpec(
                "Stop the profiles and the bootstrap",
                certifying.stop,
                enabled=lambda: certifying.active and not certifying.stopping,
            ),
        ]

    def _turn(self, place: int) -> None:
        self._stack.setCurrentIndex(place)
        self.turned.emit()

    def _compare_methods(self) -> None:
        row, kept, seen = self._row, self.crossvalidating.kept, self.checking.coverage.result
        if row is None:
            self.table.show(())
            return
        certainty = self.certifying.kept
        certainty = certainty if certainty is not None and certainty.made_of(row.model) else None
        coverage: dict[str, Any] = {} if seen is None else {term["name"]: term for term in seen.data["terms"]}
        self.table.show(evidence_rows(row, certainty, None if kept is None else kept.found, coverage))

    def _showing(self, name: str, act: Callable[[], object]) -> Callable[[], object]:
        """Return a function that shows a panel, then runs `act`."""

        def shown() -> None:
            self.show_part(name)
            act()

        return shown
