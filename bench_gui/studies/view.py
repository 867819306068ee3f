"""Explore page: stiction, compliant actuators, iterative learning and the Webots servo. It needs no recordings."""

from __future__ import annotations

from PySide6.QtWidgets import QHBoxLayout, QStackedWidget

from bench_gui.actions import ActionSpec
from bench_gui.controller import Controller
from bench_gui.studies.compliant.tab import ComplianceTab
from bench_gui.studies.learning.tab import LearningTab
from bench_gui.studies.stiction.tab import StictionTab
from bench_gui.studies.tab import ExploreTab
from bench_gui.studies.webots.tab import WebotsTab
from bench_gui.widgets.page import TaskPage
from bench_gui.widgets.tabs import Segments


class ExploreView(TaskPage):
    """One tab per system; only the visible one computes."""

    def __init__(self, controller: Controller) -> None:
        super().__init__()
        self.stiction = StictionTab(controller)
        self.compliance = ComplianceTab(controller)
        self.learning = LearningTab(controller)
        self.webots = WebotsTab(controller)
        self._tabs: tuple[ExploreTab, ...] = (self.stiction, self.compliance, self.learning, self.webots)
        self._stacks = self._pictures, settings, buttons = QStackedWidget(), QStackedWidget(), QStackedWidget()
        for tab in self._tabs:
            for stack, part in zip(self._stacks, (tab, tab.settings, tab.buttons), strict=True):
                stack.addWidget(part)
        self.tabs = Segments([(tab.title, tab.tip) for tab in self._tabs], self._show_tab)
        self._pictures.currentChanged.connect(self.tabs.choose)
        head = QHBoxLayout()
        head.addWidget(self.tabs)
        head.addStretch(1)
        self.centre.addLayout(head)
        self.centre.addWidget(self._pictures, 1)
        self.settings.addWidget(settings)
        self.actions_column.addWidget(buttons)
        self.help_page = self.stiction.help_page

    @property
    def current(self) -> ExploreTab:
        """The visible tab."""
        return self._tabs[self._pictures.currentIndex()]

    def show_tab(self, tab: ExploreTab) -> None:
        """Switch to a tab, as a click on its title does."""
        self.tabs.choose(self._tabs.index(tab))

    def actions_offered(self) -> list[ActionSpec]:
        """Actions of all tabs."""
        return [spec for tab in self._tabs for spec in tab.actions_offered()]

    def entered(self) -> None:
        """Forward that the page has become visible to the current tab."""
        self.current.entered()

    def _show_tab(self, place: int) -> None:
        for stack in self._stacks:
            stack.setCurrentIndex(place)
        self.help_page = self.current.help_page
        self.current.entered()
