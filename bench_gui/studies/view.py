"""Exploring stiction, the Webots servo, compliant actuators and iterative learning: nothing here needs a recording."""

from __future__ import annotations

from PySide6.QtWidgets import QHBoxLayout, QStackedWidget

from bench_gui.actions import ActionSpec
from bench_gui.controller import Controller
from bench_gui.studies.compliant.tab import ComplianceTab
from bench_gui.studies.learning.tab import LearningTab
from bench_gui.studies.stiction.tab import StictionTab
from bench_gui.studies.tab import ExploreTab
from bench_gui.studies.webots.tab import WebotsTab
from bench_gui.theme import Theme
from bench_gui.widgets.page import TaskPage
from bench_gui.widgets.tabs import Segments


class ExploreView(TaskPage):
    """One tab a system; only the one in sight computes anything."""

    def __init__(self, controller: Controller) -> None:
        super().__init__()
        self.stiction = StictionTab(controller)
        self.compliance = ComplianceTab(controller)
        self.learning = LearningTab(controller)
        self.webots = WebotsTab(controller)
        self.tab_pages: tuple[ExploreTab, ...] = (self.stiction, self.compliance, self.learning, self.webots)
        self._pictures, self._settings, self._buttons = (QStackedWidget() for _ in range(3))
        for tab in self.tab_pages:
            self._pictures.addWidget(tab)
            self._settings.addWidget(tab.settings)
            self._buttons.addWidget(tab.buttons)
        self.tabs = Segments([(tab.title, tab.tip) for tab in self.tab_pages], self._show_tab)
        self._pictures.currentChanged.connect(self.tabs.choose)
        head = QHBoxLayout()
        head.addWidget(self.tabs)
        head.addStretch(1)
        self.centre.addLayout(head)
        self.centre.addWidget(self._pictures, 1)
        self.settings.addWidget(self._settings)
        self.actions_column.addWidget(self._buttons)
        self.help_page = self.current.help_page

    @property
    def current(self) -> ExploreTab:
        """The tab in sight."""
        return self.tab_pages[self._pictures.currentIndex()]

    def show_tab(self, tab: ExploreTab) -> None:
        """Bring a tab into sight as a person would."""
        self.tabs.choose(self.tab_pages.index(tab))

    def actions_offered(self) -> list[ActionSpec]:
        """Those of all tabs."""
        return [spec for tab in self.tab_pages for spec in tab.actions_offered()]

    def set_theme(self, theme: Theme) -> None:
        """Take over a theme's colours."""
        self.tabs.set_theme(theme)
        for tab in self.tab_pages:
            tab.set_theme(theme)

    def entered(self) -> None:
        """The page has come into sight."""
        self.current.entered()

    def _show_tab(self, place: int) -> None:
        for stack in (self._pictures, self._settings, self._buttons):
            stack.setCurrentIndex(place)
        self.help_page = self.current.help_page
        self.current.entered()
