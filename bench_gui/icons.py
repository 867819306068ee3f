"""Line icons from `resources/icons`, drawn in a theme's colour."""

from __future__ import annotations

from importlib.resources import files

from PySide6.QtCore import QByteArray, QObject, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QIcon, QPainter, QPen, QPixmap
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QAbstractButton

from bench_gui.plots.styles import BAND_OPACITY, Style
from bench_gui.theme import themes

SCALES = (1, 2)
"""Device pixel ratios for which icons are drawn."""
WINDOW_SIZES = (16, 24, 32, 48, 64, 128, 256)
"""Sizes of window icons on desktops [px]."""


def window_icon() -> QIcon:
    """Return the icon of ServoBench, in its own colours."""
    text = (files("resources") / "icons" / "servobench.svg").read_text("utf-8")
    result = QIcon()
    for size in WINDOW_SIZES:
        result.addPixmap(_drawn(text, "", size, 1))
    return result


def icon(name: str, colour: str, size: int = 20, active: str | None = None) -> QIcon:
    """Return an icon by file name without ending; active: its colour while checked or selected."""
    text = (files("resources") / "icons" / f"{name}.svg").read_text("utf-8")
    result = QIcon()
    for scale in SCALES:
        result.addPixmap(_drawn(text, colour, size, scale), QIcon.Mode.Normal, QIcon.State.Off)
        if active is not None:
            result.addPixmap(_drawn(text, active, size, scale), QIcon.Mode.Normal, QIcon.State.On)
    return result


class ThemeIcon(QObject):
    """Shows an icon on a button, always in a colour of the theme."""

    def __init__(
        self, button: QAbstractButton, name: str, tone: str = "muted", size: int = 20, active: str | None = None
    ) -> None:
        """Show an icon; tone and active: names of the theme's colours, see `icon`."""
        super().__init__(button)
        self._button, self._name, self._tone, self._size, self._active = button, name, tone, size, active
        themes.follow(self._paint)

    def _paint(self) -> None:
        active = None if self._active is None else getattr(themes.current, self._active)
        self._button.setIcon(icon(self._name, getattr(themes.current, self._tone), self._size, active))


def line_icon(style: Style, band: bool = False) -> QIcon:
    """Return a short piece of a curve, for legends; band: a filled band behind it."""
    result, colour = QIcon(), QColor(themes.current.colour(style.colour))
    pale = QColor(colour)
    pale.setAlphaF(BAND_OPACITY)
    for scale in SCALES:
        pixmap = _empty(QSize(22, 10), scale)
        painter = QPainter(pixmap)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if band:
            painter.fillRect(1, 0, 20, 10, pale)
        pen = QPen(colour, style.width)
        pen.setCapStyle(Qt.PenCapStyle.FlatCap)
        if style.dash is not None:
            pen.setDashPattern(list(style.dash))
        painter.setPen(pen)
        painter.drawLine(1, 5, 21, 5)
        painter.end()
        result.addPixmap(pixmap)
    return result


def swatch(colour: str, size: int = 10) -> QIcon:
    """Return a small filled square, for the colour of a model in a table."""
    result = QIcon()
    for scale in SCALES:
        pixmap = _empty(QSize(size, size), scale)
        painter = QPainter(pixmap)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(colour))
        painter.drawRoundedRect(QRectF(0, 0, size, size), 2.5, 2.5)
        painter.end()
        # Qt would tint the colour in a selected row.
        for mode in (QIcon.Mode.Normal, QIcon.Mode.Selected):
            result.addPixmap(pixmap, mode)
    return result


def _empty(size: QSize, scale: int) -> QPixmap:
    pixmap = QPixmap(size * scale)
    pixmap.setDevicePixelRatio(scale)
    pixmap.fill(Qt.GlobalColor.transparent)
    return pixmap


def _drawn(text: str, colour: str, size: int, scale: int) -> QPixmap:
    renderer = QSvgRenderer(QByteArray(text.replace("currentColor", colour).encode()))
    pixmap = _empty(QSize(size, size), scale)
    painter = QPainter(pixmap)
    renderer.render(painter, QRectF(0, 0, size, size))
    painter.end()
    return pixmap
