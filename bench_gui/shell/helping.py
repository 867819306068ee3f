"""The help: beside the window, and beside a dialog that shuts every other window."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from bench_gui.help.keys import HelpInDialogs
from bench_gui.theme import Theme

if TYPE_CHECKING:
    from bench_gui.help.window import HelpWindow


class Helping:
    """Loads the help when it is first asked for."""

    def __init__(self, owner: QWidget, topic: Callable[[], str], theme: Callable[[], Theme]) -> None:
        """topic: asked for the page that speaks of what is in sight; theme: asked for the theme in use."""
        self._owner, self._topic, self._theme = owner, topic, theme
        self.window: HelpWindow | None = None
        HelpInDialogs(owner, self._show_in_dialog)

    def show(self) -> None:
        """Open the help where it speaks of what is in sight."""
        if self.window is None:
            self.window = self._made(self._owner)
        self.window.show_page(self._topic())
        self.window.show()
        self.window.raise_()

    def set_theme(self, theme: Theme) -> None:
        """Take over a theme's colours."""
        if self.window is not None:
            self.window.set_theme(theme)

    def close(self) -> None:
        """Close the help."""
        if self.window is not None:
            self.window.close()

    def _show_in_dialog(self, topic: str, dialog: QWidget) -> None:
        made = self._made(dialog)
        made.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        made.show_page(topic)
        made.show()

    def _made(self, owner: QWidget) -> HelpWindow:
        from bench_gui.help.window import HelpWindow

        made = HelpWindow(owner)
        made.set_theme(self._theme())
        return made
