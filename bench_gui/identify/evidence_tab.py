"""Evidence tab: a summary by parameter, the warnings, and the panels that start each method."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, TypeVar

from PySide6.QtCore import Qt, QTimer, Signal
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
from bench_gui.theme import Theme
from bench_gui.widgets.fields import vbox
from bench_gui.widgets.page import LazyPage
from bench_gui.widgets.symbols import SymbolDelegate
from bench_gui.widgets.tables import plain_table
from bench_gui.widgets.tabs import Segments
from bench_gui.widgets.text_table import TextTable
from bench_gui.work.computation import Computation
from core.identification.coverage.findings import Finding

Panel = TypeVar("Panel", CoveragePanel, CrossValidationPanel, CertaintyPanel, ProposalPanel)
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
LAZY = tuple(name for name, _, _ in SEGMENTS[2:])
"""Parts that fill the page; their panels are made later."""


class EvidenceTab(QWidget):
    """Switches between the parts of the evidence and owns their computations; panels are made one at a time."""

    turned = Signal()
    """Emitted when another part is shown."""

    def __init__(self, controller: Controller, form: SettingsForm) -> None:
        super().__init__()
        self._controller, self._form = controller, form
        computations = controller.computations
        self.checking = Checking(computations)
        self.proposing: Proposals = Computation(
            computations, "Proposals", propose, missed="proposals for the next recordings"
        )
        self.crossvalidating = CrossValidating(computations, controller.background)
        self.certifying = Certifying(computations, controller.background)
        self.crossvalidating.finished.connect(controller.fitting.judge_again)
        self._theme: Theme | None = None
        self._row: FittedModel | None = None
        self._made: list[CoveragePanel | CrossValidationPanel | CertaintyPanel | ProposalPanel] = []
        self.table = TextTable(COLUMNS)
        self.view: QTableView = plain_table("Evidence by parameter", "One row per parameter, one column per method")
        self.view.setModel(self.table)
        self._symbols = SymbolDelegate()
        for column in (0, len(COLUMNS) - 1):
            self.view.setItemDelegateForColumn(column, self._symbols)
        self.warnings = WarningList()
        self._stack = QStackedWidget()
        self._stack.addWidget(self.view)
        self._stack.addWidget(self.warnings)
        self._lazy_pages: dict[str, LazyPage] = {}
        for name in LAZY:
            page = self._lazy_pages[name] = LazyPage()
            scroll = QScrollArea()
            scroll.setWidgetResizable(True)
            scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
            scroll.setWidget(page)
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
        for name, activity in (
            ("coverage", self.checking.coverage.activity),
            ("coverage", self.checking.audit.activity),
            ("crossvalidation", self.crossvalidating.activity),
            ("certainty", self.certifying.activity),
            ("proposals", self.proposing.activity),
        ):
            activity.view = self._lazy_pages[name]
        QTimer.singleShot(0, self, self._make_next)

    @cached_property
    def coverage(self) -> CoveragePanel:
        """Panel that checks the chosen runs."""
        return self._kept(CoveragePanel(self._controller, self._form, self.checking))

    @cached_property
    def crossvalidation(self) -> CrossValidationPanel:
        """Panel that compares models on held-out conditions."""
        return self._kept(CrossValidationPanel(self._controller, self._form, self.crossvalidating))

    @cached_property
    def certainty(self) -> CertaintyPanel:
        """Panel that profiles and bootstraps the recommended model."""
        return self._kept(CertaintyPanel(self._controller, self._form, self.certifying))

    @cached_property
    def proposals(self) -> ProposalPanel:
        """Panel that proposes the next recordings."""
        return self._kept(ProposalPanel(self._controller, self._form, self.proposing))

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
        self.warnings.show_warnings(warnings, None if row is None else row.evidence, torque_off)
        self.segments.buttons[1].setText(f"Warnings ({len(warnings)})" if warnings else "Warnings")
        self._compare_methods()

    @property
    def under_way(self) -> str:
        """Computation that an identification has to wait for, with the remedy; empty if there is none."""
        if self.crossvalidating.active:
            return "a cross-validation is running; wait for it or stop it"
        return "profiles and a bootstrap are under way; wait for them or stop them" if self.certifying.active else ""

    def show_part(self, name: str) -> None:
        """Show a part by its name."""
        self.segments.choose([part for part, _, _ in SEGMENTS].index(name))

    def set_theme(self, theme: Theme) -> None:
        """Apply a theme's colours."""
        self._theme = theme
        self.table.set_theme(theme)
        for panel in self._made:
            panel.set_theme(theme)

    def check_coverage(self) -> None:
        """Check the chosen runs before they are fitted."""
        self.show_part("coverage")
        self.coverage.check()

    def actions_offered(self) -> list[ActionSpec]:
        """Return the actions for menus and command palette."""
        crossvalidating, certifying = self.crossvalidating, self.certifying
        return [
            ActionSpec(
                "Check the coverage", self.check_coverage, enabled=lambda: self.coverage.check_button.isEnabled()
            ),
            ActionSpec(
                "Check headers against motion",
                self._showing("coverage", lambda: self.coverage.audit()),
                enabled=lambda: self.coverage.audit_button.isEnabled(),
            ),
            ActionSpec(
                "Propose the next recordings",
                self._showing("proposals", lambda: self.proposals.propose()),
                enabled=lambda: self.proposals.propose_button.isEnabled(),
            ),
            ActionSpec(
                "Cross-validate",
                self._showing("crossvalidation", lambda: self.crossvalidation.start()),
                enabled=lambda: self.crossvalidation.start_button.isEnabled(),
            ),
            ActionSpec(
                "Stop the cross-validation",
                crossvalidating.stop,
                enabled=lambda: crossvalidating.active and not crossvalidating.stopping,
            ),
            ActionSpec(
                "Profile and bootstrap the recommended model",
                self._showing("certainty", lambda: self.certainty.start()),
                enabled=lambda: self.certainty.start_button.isEnabled(),
            ),
            ActionSpec(
                "Stop the profiles and the bootstrap",
                certifying.stop,
                enabled=lambda: certifying.active and not certifying.stopping,
            ),
        ]

    def _kept(self, panel: Panel) -> Panel:
        """Keep a new panel outside the page until it is seen: a theme restyles all that is in the page at once."""
        panel.setParent(self.window())
        if self._theme is not None:
            panel.set_theme(self._theme)
        self._made.append(panel)
        return panel

    def _turn(self, place: int) -> None:
        name = SEGMENTS[place][0]
        if name in LAZY:
            self._lazy_pages[name].put(getattr(self, name))
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
        for column in range(len(COLUMNS) - 1):
            self.view.resizeColumnToContents(column)

    def _make_next(self) -> None:
        """Make one more panel; the event loop runs in between, so that the window stays responsive."""
        missing = [name for name in LAZY if name not in vars(self)]
        if missing:
            getattr(self, missing[0])
            QTimer.singleShot(0, self, self._make_next)

    def _showing(self, name: str, act: Callable[[], object]) -> Callable[[], object]:
        """Return a function that shows a panel, then runs `act`."""

        def shown() -> None:
            self.show_part(name)
            act()

        return shown
