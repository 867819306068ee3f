"""Legend of buttons that show each curve's line and switch it on and off."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QToolButton, QWidget

from bench_gui.icons import line_icon
from bench_gui.plots.styles import Style
from bench_gui.widgets.fields import tool

SPACING = 6
"""Distance between two entries, and between two lines [px]."""


@dataclass(frozen=True)
class LegendEntry:
    """One curve of the legend."""

    key: str
    title: str
    style: Style
    band: bool = False
    """True if the curve has a band around it."""


class Legend(QWidget):
    """Entries side by side, in as many lines as they need.

    It is as high as its lines, without a layout: one whose height depends on its width would keep all charts of its
    page from shrinking.
    """

    def __init__(self, toggled: Callable[[str, bool], None]) -> None:
        """Create the legend; toggled: called with an entry's key and the new visibility."""
        super().__init__()
        self._toggled = toggled
        self.buttons: dict[str, QToolButton] = {}

    def set_entries(self, entries: list[LegendEntry]) -> None:
        """Show entries; an entry that was switched off stays off."""
        hidden = {key for key, button in self.buttons.items() if not button.isChecked()}
        for button in self.buttons.values():
            button.hide()
            button.deleteLater()
        self.buttons = {}
        for entry in entries:
            button = tool(f"Show {entry.title}", f"Show or hide {entry.title}", "chip")
            button.setText(entry.title)
            button.setIcon(line_icon(entry.style, entry.band))
            button.setIconSize(QSize(22, 10))
            button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
            button.setCheckable(True)
            button.setChecked(entry.key not in hidden)
            button.toggled.connect(lambda on, key=entry.key: self._toggled(key, on))
            button.setParent(self)
            button.show()
            self.buttons[entry.key] = button
        self._arrange()
        self.updateGeometry()

    def shown(self, key: str) -> bool:
        """Return True if a curve is switched on."""
        return key not in self.buttons or self.buttons[key].isChecked()

    def sizeHint(self) -> QSize:
        """Return the size of a single line."""
        sizes = [button.sizeHint() for button in self.buttons.values()]
        width = sum(size.width() for size in sizes) + SPACING * (len(sizes) - 1)
        return QSize(max(width, 0), max((size.height() for size in sizes), default=0))

    def minimumSizeHint(self) -> QSize:
        """Return the size of the widest entry."""
        sizes = [button.sizeHint() for button in self.buttons.values()]
        return QSize(max((size.width() for size in sizes), default=0), 0)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Fill the lines again."""
        self._arrange()

    def _arrange(self) -> None:
        x = y = height = 0
        for button in self.buttons.values():
            size = button.sizeHint()
            if x and x + size.width() > self.width():
                x, y = 0, y + size.height() + SPACING
            button.setGeometry(x, y, size.width(), size.height())
            x, height = x + size.width() + SPACING, y + size.height()
        self.setFixedHeight(height)
