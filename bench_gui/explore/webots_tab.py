"""Webots."""

from __future__ import annotations

from bench_gui.controller import Controller
from bench_gui.explore.tab import ExploreTab


class WebotsTab(ExploreTab):
    """Webots."""

    title = "Webots"
    tip = "Webots"

    def __init__(self, controller: Controller) -> None:
        super().__init__()
        self._controller = controller
