"""Learning."""

from __future__ import annotations

from bench_gui.controller import Controller
from bench_gui.explore.tab import ExploreTab


class LearningTab(ExploreTab):
    """Learning."""

    title = "Learning"
    tip = "Learning"

    def __init__(self, controller: Controller) -> None:
        super().__init__()
        self._controller = controller
