"""Explore page: stiction, compliant actuators, iterative learning and the Webots servo. It needs no recordings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from PySide6.QtWidgets import QHBoxLayout, QStackedWidget

from bench_gui.actions import ActionSpec
from bench_gui.controller import Controller
from bench_gui.studies.compliant.tab import ComplianceTab
from bench_gui.studies.learning.tab import LearningTab
from bench_gui.studies.stiction.tab import StictionTab
from bench_gui.studies.tab import ExploreTab
from bench_gui.studies.webots.tab import WebotsTab
from bench_gui.theme import Theme
from bench_gui.widgets.page import InSteps, LazyPage, TaskPage
from bench_gui.widgets.tabs import Segments

TABS = (StictionTab, ComplianceTab, LearningTab, WebotsTab)


class ExploreView(TaskPage):
    """One tab per system, created when it is first needed; only the visible one computes."""

    def __init__(self, controller: Controller) -> None:
        super().__init__()
        self._controller = controller
        self._theme: Theme | None = None
        self._unpainted: set[int] = set()
        """Tabs created before the present theme was chosen and not seen since."""
        self._made: dict[int, ExploreTab] = {}
        self._creation = InSteps(self._create)
        self._stacks = self._pictures, settings, buttons = QStackedWidget(), QStackedWidget(), QStackedWidget()
        for stack in self._stacks:
            for _ in TABS:
                stack.addWidget(LazyPage())
        self.tabs = Segments([(tab.title, tab.tip) for tab in TABS], self._show_tab)
        self._pictures.currentChanged.connect(self.tabs.choose)
        head = QHBoxLayout()
        head.addWidget(self.tabs)
        head.addStretch(1)
        self.centre.addLayout(head)
        self.centre.addWidget(self._pictures, 1)
        self.settings.addWidget(settings)
        self.actions_column.addWidget(buttons)
        self.help_page = TABS[0].help_page

    @property
    def stiction(self) -> StictionTab:
        """Stiction tab, created on first access."""
        return cast(StictionTab, self._tab(0))

    @property
    def compliance(self) -> ComplianceTab:
        """Compliance tab, created on first access."""
        return cast(ComplianceTab, self._tab(1))

    @property
    def learning(self) -> LearningTab:
        """Learning tab, created on first access."""
        return cast(LearningTab, self._tab(2))

    @property
    def webots(self) -> WebotsTab:
        """Webots tab, created on first access."""
        return cast(WebotsTab, self._tab(3))

    @property
    def current(self) -> ExploreTab:
        """The visible tab."""
        return self._tab(self._pictures.currentIndex())

    def show_tab(self, tab: ExploreTab) -> None:
        """Switch to a tab, as a click on its title does."""
        self.tabs.choose(TABS.index(type(tab)))

    def build(self) -> Iterator[None]:
        """Create the first tab."""
        yield from self._creation.steps(0)

    def more(self) -> Iterator[None]:
        """Create the other tabs."""
        for place in range(len(TABS)):
            yield from self._creation.steps(place)

    def actions_offered(self) -> list[ActionSpec]:
        """Actions of the tabs created so far; `offered` announces those of later tabs."""
        return [spec for tab in self._made.values() for spec in tab.actions_offered()]

    def set_theme(self, theme: Theme) -> None:
        """Apply a theme's colours."""
        self._theme = theme
        self._unpainted = set(self._made)
        self._paint(self._pictures.currentIndex())

    def entered(self) -> None:
        """Forward that the page has become visible to the current tab."""
        self.current.entered()

    def _tab(self, place: int) -> ExploreTab:
        self._creation.finish(place)
        return self._made[place]

    def _create(self, place: int) -> Iterator[None]:
        tab = TABS[place](self._controller)
        yield
        yield from tab.build()
        for stack, part in zip(self._stacks, (tab, tab.settings, tab.buttons), strict=True):
            cast(LazyPage, stack.widget(place)).put(part)
            yield
        if self._theme is not None:
            tab.set_theme(self._theme)
        self._made[place] = tab
        self.offered.emit(tab.actions_offered())
        yield

    def _paint(self, place: int) -> None:
        """Apply the theme to a tab unless it has it already. Drawing all tabs takes long, so each waits to be seen."""
        if place in self._unpainted and self._theme is not None:
            self._unpainted.discard(place)
            self._made[place].set_theme(self._theme)

    def _show_tab(self, place: int) -> None:
        for stack in self._stacks:
            stack.setCurrentIndex(place)
        self._paint(place)
        self.help_page = self.current.help_page
        self.current.entered()
