"""Opens the help beside the window, or beside a modal dialog."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMessageBox, QWidget

from bench_gui.help.keys import HelpInDialogs
from bench_gui.shell.start_page import StartPage
from bench_gui.widgets.page import TaskPage

if TYPE_CHECKING:
    from bench_gui.help.window import HelpWindow


class Helping:
    """Loads the help on first use."""

    def __init__(
        self,
        owner: QWidget,
        docks: Mapping[str, QWidget],
        page: Callable[[], StartPage | TaskPage],
    ) -> None:
        """Remember where the help is opened from.

        Args:
            owner: The window.
            docks: The window's docks by name.
            page: Returns the visible page.
        """
        self._owner, self._docks, self._page = owner, docks, page
        self.window: HelpWindow | None = None
        HelpInDialogs(owner, self._show_in_dialog)

    def show(self) -> None:
        """Open the help at the topic of the visible page."""
        from bench_gui.help.topics import topic_in_sight

        if self.window is None:
            self.window = self._made(self._owner)
        self.window.show_page(topic_in_sight(self._owner.focusWidget(), self._docks, self._page()))
        self.window.show()
        self.window.raise_()

    def show_about(self) -> None:
        """Show version and licence."""
        from importlib.metadata import version

        QMessageBox.about(
            self._page(),
            "About ServoBench",
            f"<b>ServoBench {version('servobench')}</b><br>Makes simulated servos behave like real ones: record, "
            "identify, compare, export.<br><br>Apache License 2.0",
        )

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

        return HelpWindow(owner)
