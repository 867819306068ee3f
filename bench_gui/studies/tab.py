"""Base class of the tabs of Explore: plots in the centre, settings and buttons at the side."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from bench_gui.actions import ActionSpec
from bench_gui.widgets.fields import vbox


class ExploreTab(QWidget):
    """Fill `body`; put the settings into `settings` and the buttons that are always visible into `buttons`."""

    title = ""
    tip = ""
    """Tooltip: the contents of the tab, in one line."""
    help_page = "explore"

    def __init__(self) -> None:
        super().__init__()
        self.body = vbox(self, spacing=8)
        self.settings = QWidget()
        self.settings_column = vbox(self.settings, spacing=14)
        self.buttons = QWidget()
        self.buttons_column = vbox(self.buttons, spacing=8)

    def entered(self) -> None:
        """Compute the first picture. Called when the tab becomes visible, so that hidden tabs cost nothing."""

    def actions_offered(self) -> list[ActionSpec]:
        return []
