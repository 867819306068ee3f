"""Light or dark theme, as the user chose or as the system prefers."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

from PySide6.QtGui import QActionGroup, QGuiApplication

from bench_gui.settings import Settings
from bench_gui.theme import load_theme, system_theme, themes

SYSTEM = "system"


class Appearance:
    """Theme of the whole window."""

    def __init__(
        self, settings: Settings, wanted: str | None, quietly: Callable[[], AbstractContextManager[None]]
    ) -> None:
        """Read the theme to use.

        Args:
            settings: Stored choice.
            wanted: "light" or "dark"; None for the stored choice.
            quietly: Returns a context without the window's event filter, which would slow down the styling.
        """
        self._settings, self._quietly = settings, quietly
        self._chosen = wanted or settings.theme
        self.actions: QActionGroup | None = None
        """The menu's choices, by their data."""
        QGuiApplication.styleHints().colorSchemeChanged.connect(self._system_changed)

    def choose(self, name: str) -> None:
        """Use "light", "dark" or the preference of the "system", also at the next start."""
        self._chosen = name
        self._settings.set("theme", name)
        self.apply()

    def apply(self) -> None:
        """Use the chosen theme."""
        with self._quietly():
            themes.use(load_theme(system_theme() if self._chosen == SYSTEM else self._chosen))
        for action in self.actions.actions() if self.actions is not None else ():
            action.setChecked(action.data() == self._chosen)

    def _system_changed(self) -> None:
        if self._chosen == SYSTEM:
            self.choose(SYSTEM)
