"""A plot as every task uses it: themed, unit on each axis, aligned with its neighbours, double-click fits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QMouseEvent, QPen, QResizeEvent

from bench_gui.plots.axes import LogAxis
from bench_gui.theme import Theme

pg.setConfigOptions(antialias=True, useOpenGL=False)

Array = NDArray[np.float64]
LABEL_SIZE, TICK_SIZE = 10, 11
"""Of the axes' names and numbers [px]."""
LOW = 80
"""A plot below this height has fewer ticks [px]."""
AXIS_WIDTH = 62
"""Left axes have one width, so that plots above each other share their columns."""


def pen(colour: str, width: float = 1.0, pattern: tuple[float, ...] | None = None) -> QPen:
    """A cosmetic pen; live curves keep the width of 1, wider ones cost several times as much."""
    made = pg.mkPen(colour, width=width)
    if pattern is not None:
        made.setDashPattern(list(pattern))
    return made


def _sized(font: QFont, size: int) -> QFont:
    sized = QFont(font)
    sized.setPixelSize(size)
    return sized


def show_live(curve: Any, x: Array, y: Array) -> None:
    """Change the points of a live curve, both (n,); gaps where y is NaN."""
    curve.setData(x, y, connect="finite")


class Chart(pg.PlotWidget):
    """One pair of axes."""

    def __init__(self, name: str, left: str, left_unit: str, *, bottom: str = "", log: bool = False) -> None:
        """name: for screen readers; left, bottom: what the axes show, bottom empty hides its numbers."""
        axes = {"left": LogAxis("left")} if log else None
        super().__init__(axisItems=axes)
        self.setAccessibleName(name)
        self.setToolTip("Drag to move, wheel to zoom, double-click to fit")
        self._left, self._left_unit, self._bottom = left, left_unit, bottom
        self._theme: Theme | None = None
        self.headroom = 0.0
        """Share of the height kept free for titles when everything is shown."""
        item = self.axes
        item.setMenuEnabled(False)
        item.hideButtons()
        item.showGrid(x=True, y=True, alpha=0.18)
        item.getAxis("left").setWidth(AXIS_WIDTH)
        item.layout.setContentsMargins(0, 4, 10, 4)
        for side in ("left", "bottom"):
            axis = item.getAxis(side)
            axis.enableAutoSIPrefix(False)
            axis.setTickFont(_sized(self.font(), TICK_SIZE))
            axis.setStyle(tickLength=-4, tickTextOffset=5, autoExpandTextSpace=False, maxTickLevel=0)
        if bottom:
            item.getAxis("bottom").setHeight(35)
        else:
            item.getAxis("bottom").setStyle(showValues=False)
            item.getAxis("bottom").setHeight(6)
        item.vb.setDefaultPadding(0.025)

    @property
    def axes(self) -> Any:
        """The plot's axes, curves and ranges."""
        return self.plotItem

    @property
    def view(self) -> Any:
        """The area inside the axes."""
        return self.axes.vb

    def add_curve(self, z: float = 0.0) -> Any:
        """A new, empty curve; z: higher ones lie above."""
        curve = pg.PlotDataItem(connect="finite")
        curve.setZValue(z)
        self.addItem(curve)
        return curve

    def add_live_curve(self, z: float = 0.0) -> Any:
        """A new, empty curve for `show_live`: the cheapest there is."""
        curve = pg.PlotCurveItem()
        curve.setZValue(z)
        self.addItem(curve)
        return curve

    def set_left(self, text: str, unit: str) -> None:
        """Change what the left axis shows."""
        self._left, self._left_unit = text, unit
        self._label()

    def set_theme(self, theme: Theme) -> None:
        """Take over a theme's colours."""
        self._theme = theme
        self.setBackground(theme.plot)
        for side in ("left", "bottom"):
            axis = self.axes.getAxis(side)
            axis.setPen(pg.mkPen(theme.grid))
            axis.setTextPen(pg.mkPen(theme.muted))
        self._label()

    def fit(self) -> None:
        """Show everything, with `headroom` above it."""
        self.axes.enableAutoRange()
        bounds = self.view.childrenBounds()[1] if self.headroom else None
        if bounds is not None:
            low, high = bounds
            span = max(high - low, 1e-6)
            self.axes.setYRange(low - 0.06 * span, high + self.headroom * span, padding=0.0)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Fit on a double click."""
        self.fit()
        event.accept()

    def resizeEvent(self, event: QResizeEvent | None) -> None:
        """Say less beside a low plot: fewer ticks, and only the unit where the name does not fit."""
        super().resizeEvent(event)
        if event is not None:
            self._label()

    def vertical_line(self, x: float) -> Any:
        """A thin line across the plot, e.g. between two runs."""
        colour = QColor(self._theme.separator if self._theme else "#888888")
        line = pg.InfiniteLine(x, angle=90, pen=pg.mkPen(colour, width=1, style=Qt.PenStyle.SolidLine))
        self.axes.addItem(line, ignoreBounds=True)
        return line

    def _label(self) -> None:
        if self._theme is None:
            return
        style = {"color": self._theme.muted, "font-size": f"{LABEL_SIZE}px"}
        height = self.height() - self.axes.getAxis("bottom").height()
        self.axes.getAxis("left").setTickDensity(0.7 if height > LOW else 0.45)
        unit = f"[{self._left_unit}]" if self._left_unit else ""
        text = f"{self._left} {unit}".rstrip()
        fits = QFontMetrics(_sized(self.font(), LABEL_SIZE)).horizontalAdvance(text) < height - 6
        self.axes.setLabel("left", text if fits or not unit else unit, **style)
        # A label that has changed is put in the middle only when its axis is resized.
        self.axes.getAxis("left").resizeEvent()
        if self._bottom:
            self.axes.setLabel("bottom", self._bottom, **style)
