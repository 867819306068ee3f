"""Legend of buttons that show each curve's line and switch it on and off."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QHBoxLayout, QToolButton, QWidget

from bench_gui.icons import line_icon
from bench_gui.widgets.fields import tool

NARROWEST = 60
"""Smallest width of an entry, whose text is then elided [px]."""


@dataclass(frozen=True)
class LegendEntry:
    """One curve of the legend."""

    key: str
    title: str
    colour: str
    pattern: tuple[float, ...] | None = None
    width: float = 2.0


class Legend(QWidget):
    """A row of entries."""

    def __init__(self, toggled: Callable[[str, bool], None]) -> None:
        """Create the legend; toggled: called with an entry's key and the new visibility."""
        super().__init__()
        self._toggled = toggled
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(0, 0, 0, 0)
        self._row.setSpacing(6)
        self._row.addStretch(1)
        self.buttons: dict[str, QToolButton] = {}

    def set_entries(self, entries: list[LegendEntry]) -> None:
        """Show entries; an entry that was switched off stays off."""
        hidden = {key for key, button in self.buttons.items() if not button.isChecked()}
        for button in self.buttons.values():
            self._row.removeWidget(button)
            button.hide()
            button.deleteLater()
        self.buttons = {}
        for place, entry in enumerate(entries):
            button = tool(f"Show {entry.title}", f"Show or hide {entry.title}", "chip")
            button.setText(entry.title)
            button.setIcon(line_icon(entry.colour, entry.pattern, entry.width))
            button.setIconSize(QSize(22, 10))
            button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
            button.setMinimumWidth(NARROWEST)
            button.setCheckable(True)
            button.setChecked(entry.key not in hidden)
            button.toggled.connect(lambda on, key=entry.key: self._toggled(key, on))
            self._row.insertWidget(place, button)
            self.buttons[entry.key] = button

    def shown(self, key: str) -> bool:
        """Return True if a curve is switched on."""
        return key not in self.buttons or self.buttons[key].isChecked()
