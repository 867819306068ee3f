"""Light or dark theme, as the user chose or as the system prefers."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtGui import QActionGroup, QGuiApplication

from bench_gui import theme as themes
from bench_gui.settings import Settings
from bench_gui.theme import Theme

SYSTEM = "system"


class Appearance:
    """Theme of the whole window."""

    def __init__(self, settings: Settings, wanted: str | None, paint: Callable[[Theme], None]) -> None:
        """Read the theme to use.

        Args:
            settings: Stored choice.
            wanted: "light" or "dark"; None for the stored choice.
            paint: Applies a theme to the window.
        """
        self._settings, self._paint = settings, paint
        self._chosen = wanted or settings.theme
        self._name = themes.system_theme() if self._chosen == SYSTEM else self._chosen
        self.actions: QActionGroup | None = None
        """The menu's choices, by their data."""
        QGuiApplication.styleHints().colorSchemeChanged.connect(self._system_changed)

    @property
    def theme(self) -> Theme:
        """The theme in use."""
        return themes.load_theme(self._name)

    def choose(self, name: str) -> None:
        """Use "light", "dark" or the preference of the "system", also at the next start."""
        self._chosen = name
        self._settings.set("theme", name)
        self.apply(themes.system_theme() if name == SYSTEM else name)

    def apply(self, name: str) -> None:
        """Apply a theme, plots included."""
        self._name = name
        self._paint(self.theme)
        shown = SYSTEM if self._chosen == SYSTEM else name
        for action in self.actions.actions() if self.actions is not None else ():
            action.setChecked(action.data() == shown)

    def begin(self) -> None:
        """Paint the window for the first time."""
        self.apply(self._name)

    def _system_changed(self) -> None:
        if self._chosen == SYSTEM:
            self.choose(SYSTEM)
