"""The tabs beside an identification: coverage before it, cross-validation, certainty, the next recordings after."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TypeVar

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QTabWidget

from bench_gui.actions import ActionSpec
from bench_gui.controller import Controller
from bench_gui.identify.certainty.panel import CertaintyPanel
from bench_gui.identify.certainty.running import Certifying
from bench_gui.identify.coverage.panel import CoveragePanel
from bench_gui.identify.coverage.running import Checking
from bench_gui.identify.crossvalidation.panel import CrossValidationPanel
from bench_gui.identify.crossvalidation.running import CrossValidating
from bench_gui.identify.fit.settings_form import SettingsForm
from bench_gui.identify.next_recording.compute import propose
from bench_gui.identify.next_recording.panel import ProposalPanel, Proposals
from bench_gui.theme import Theme
from bench_gui.widgets.page import LazyPage
from bench_gui.work.computation import Computation

Panel = TypeVar("Panel", CoveragePanel, CrossValidationPanel, CertaintyPanel, ProposalPanel)
TABS = (
    ("coverage", "Coverage", "What the chosen runs can tell, before a fit"),
    ("crossvalidation", "Cross-validation", "Which model holds on conditions it has not seen"),
    ("certainty", "Certainty", "How certain each value is, beyond the linearised interval"),
    ("proposals", "Next recording", "Which recordings would help most"),
)
"""Name of the panel, title and tip of its tab."""


class Panels:
    """Tabs that fill the page, with what computes for them; each panel is made in a turn of the window's own."""

    def __init__(self, controller: Controller, form: SettingsForm, tabs: QTabWidget) -> None:
        self._controller, self._form, self._tabs = controller, form, tabs
        computations = controller.computations
        self.checking = Checking(computations)
        self.proposing: Proposals = Computation(
            computations, "Proposals", propose, missed="a choice of the next recordings"
        )
        self.crossvalidating = CrossValidating(computations, controller.background)
        self.certifying = Certifying(computations, controller.background)
        self.crossvalidating.finished.connect(controller.fitting.judge_again)
        self._theme: Theme | None = None
        self._made: list[CoveragePanel | CrossValidationPanel | CertaintyPanel | ProposalPanel] = []
        self._lazy_pages: dict[str, LazyPage] = {}
        for name, text, tip in TABS:
            page = self._lazy_pages[name] = LazyPage()
            tabs.setTabToolTip(tabs.addTab(page, text), tip)
        tabs.currentChanged.connect(lambda _: self._make_shown())
        QTimer.singleShot(0, tabs, self._make_next)

    @cached_property
    def coverage(self) -> CoveragePanel:
        """What the runs can tell."""
        return self._placed("coverage", CoveragePanel(self._controller, self._form, self.checking))

    @cached_property
    def crossvalidation(self) -> CrossValidationPanel:
        """Which model to use."""
        panel = CrossValidationPanel(self._controller, self._form, self.crossvalidating)
        return self._placed("crossvalidation", panel)

    @cached_property
    def certainty(self) -> CertaintyPanel:
        """How certain each value is."""
        return self._placed("certainty", CertaintyPanel(self._controller, self._form, self.certifying))

    @cached_property
    def proposals(self) -> ProposalPanel:
        """What to record next."""
        return self._placed("proposals", ProposalPanel(self._controller, self._form, self.proposing))

    @property
    def in_sight(self) -> bool:
        """Whether one of them is shown."""
        return self._tabs.currentWidget() in self._lazy_pages.values()

    @property
    def under_way(self) -> str:
        """What an identification has to wait for, with the remedy; empty when it is nothing."""
        if self.crossvalidating.active:
            return "a cross-validation is running; wait for it or stop it"
        return "profiles and a bootstrap are under way; wait for them or stop them" if self.certifying.active else ""

    @property
    def proposals_in_sight(self) -> bool:
        """Whether the one is shown that needs no recordings."""
        return self._tabs.currentWidget() is self._lazy_pages["proposals"]

    def show(self, name: str) -> None:
        """Bring a panel into sight."""
        self._tabs.setCurrentWidget(self._lazy_pages[name])

    def set_theme(self, theme: Theme) -> None:
        """Take over a theme's colours."""
        self._theme = theme
        for panel in self._made:
            panel.set_theme(theme)

    def check_coverage(self) -> None:
        """Look at the chosen runs before they are fitted."""
        self.show("coverage")
        self.coverage.check()

    def actions_offered(self) -> list[ActionSpec]:
        """What a person can ask of them."""
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

    def _placed(self, name: str, panel: Panel) -> Panel:
        if self._theme is not None:
            panel.set_theme(self._theme)
        self._lazy_pages[name].put(panel)
        self._made.append(panel)
        return panel

    def _make_shown(self) -> None:
        for name, page in self._lazy_pages.items():
            if page is self._tabs.currentWidget():
                getattr(self, name)

    def _make_next(self) -> None:
        """Make one more panel; a turn of the event loop between two keeps the window alive."""
        missing = [name for name, _, _ in TABS if name not in vars(self)]
        if missing:
            getattr(self, missing[0])
            QTimer.singleShot(0, self._tabs, self._make_next)

    def _showing(self, name: str, act: Callable[[], object]) -> Callable[[], object]:
        """An act in the sight of its panel."""

        def shown() -> None:
            self.show(name)
            act()

        return shown
