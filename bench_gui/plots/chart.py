"""A plot as every task uses it: themed, unit on each axis, aligned with its neighbours, double-click fits."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtCore import QObject, QRectF, Qt, QTimer, Signal
from PySide6.QtGui import QColor, QFont, QFontMetrics, QGuiApplication, QMouseEvent, QPainter, QPen, QResizeEvent
from PySide6.QtWidgets import QGraphicsItem

from bench_gui.plots.axes import Axis, LogAxis
from bench_gui.plots.contents import PlotArea, PlotCurve, labelled, parted
from bench_gui.theme import Theme

pg.setConfigOptions(antialias=True, useOpenGL=False)

Array = NDArray[np.float64]
Source = Callable[[], tuple[Array, Array]]
"""Gives x and y of a curve at full resolution, in the units of its axes."""
LABEL_SIZE, TICK_SIZE = 10, 11
"""Of the axes' names and numbers [px]."""
LOW = 80
"""A plot below this height has fewer ticks [px]."""
PADDING, STEADY = 0.025, 0.005
"""Shares of a range that are kept free at both ends, and that an automatic one may be off by."""
AXIS_WIDTH = 62
"""Left axes have one width, so that plots above each other share their columns."""
SETTLED = 200
"""Time without a movement after which curves are drawn in full again [ms]."""


def pen(colour: str | QColor, width: float = 1.0, pattern: tuple[float, ...] | None = None) -> QPen:
    """A cosmetic pen; live curves keep the width of 1, wider ones cost several times as much."""
    made = pg.mkPen(colour, width=width)
    if pattern is not None:
        made.setDashPattern(list(pattern))
    return made


def sized(font: QFont, size: int) -> QFont:
    """A font in a size [px]."""
    sized = QFont(font)
    sized.setPixelSize(size)
    return sized


def show_live(curve: Any, x: Array, y: Array) -> None:
    """Change the points of a live curve, both (n,); gaps where y is NaN."""
    curve.setData(x, y, connect="finite")


class _Hand(QObject):
    """Knows while a plot is dragged or zoomed, any plot: linked ones move along."""

    moved = Signal()
    changed = Signal()
    """A person has begun, or is done."""

    def __init__(self) -> None:
        super().__init__()
        self.moving = False
        self._settled = QTimer(self)
        self._settled.setSingleShot(True)
        self._settled.setInterval(SETTLED)
        self._settled.timeout.connect(self._look)

    def move(self) -> None:
        """Note a movement."""
        self._settled.start()
        self._set(True)
        self.moved.emit()

    def _look(self) -> None:
        if QGuiApplication.mouseButtons() == Qt.MouseButton.NoButton:
            self._set(False)
        else:
            self._settled.start()

    def _set(self, moving: bool) -> None:
        if moving != self.moving:
            self.moving = moving
            self.changed.emit()


@cache
def _hand() -> _Hand:
    return _Hand()


class _Curve(pg.PlotDataItem):
    """A curve that knows what it is called and keeps its points as they were given.

    Wide lines with smooth edges take ten times as long as plain ones, so they are plain while a plot is moved.
    """

    title = ""
    legend: str | None = None

    def updateItems(self, styleUpdate: bool = True) -> None:
        """Hand points and style on to what is drawn."""
        super().updateItems(styleUpdate)
        if _hand().moving and self.opts["pen"] is not None:
            plain = pg.mkPen(self.opts["pen"])
            plain.setWidth(1)
            self.curve.opts.update(pen=plain, antialias=False)

    def points(self) -> tuple[Array, Array]:
        x, y = self.getOriginalDataset()
        return (np.empty(0), np.empty(0)) if x is None or y is None else (x, y)


class _LiveCurve(pg.PlotCurveItem):
    """A curve that is drawn thinned out; its source has every point."""

    title = ""
    legend: str | None = None
    source: Source | None = None

    def points(self) -> tuple[Array, Array]:
        x, y = self.source() if self.source is not None else self.getData()
        return (np.empty(0), np.empty(0)) if x is None or y is None else (x, y)


class _SteadyView(pg.ViewBox):
    """A view whose automatic range rests once it fits.

    It counts the width of pens and titles in pixels, whose extent in seconds depends on the range: of two linked views,
    each moved by the other's size, it can go back and forth for ever, from one paint to the next.
    """

    def setRange(self, rect: Any = None, xRange: Any = None, yRange: Any = None, **how: Any) -> None:
        if not how.get("disableAutoRange", True):
            xRange, yRange = self._moved(0, xRange), self._moved(1, yRange)
            if rect is None and xRange is None and yRange is None:
                return
        super().setRange(rect, xRange, yRange, **how)

    def _moved(self, axis: int, wanted: Any) -> Any:
        """A range that is asked for; None where the present one is as good."""
        if wanted is None:
            return None
        low, high = self.viewRange()[axis]
        slack = STEADY * (high - low)
        return None if abs(wanted[0] - low) <= slack and abs(wanted[1] - high) <= slack else wanted


class Chart(pg.PlotWidget):
    """One pair of axes; a sentence in their place while there is nothing to show."""

    empty_text = "Nothing to show yet"

    def __init__(
        self, name: str, left: str, left_unit: str, *, bottom: str = "", log: bool = False, log_bottom: bool = False
    ) -> None:
        """Make an empty plot.

        name: for screen readers. left, bottom: what the axes show, bottom empty hides its numbers. log, log_bottom:
        the left or the lower axis shows values of which curves hold decimal logarithms.
        """
        axes = {
            side: LogAxis(side) if logarithmic else Axis(side)
            for side, logarithmic in (("left", log), ("bottom", log_bottom))
        }
        # Made without its menu, which nobody sees and which takes half of the time.
        super().__init__(axisItems=axes, enableMenu=False, viewBox=_SteadyView(enableMenu=False))
        self.setAccessibleName(name)
        self.setToolTip("Drag to move, wheel to zoom, double-click to fit")
        self._left, self._left_unit = left, left_unit
        self._log, self.log_bottom = log, log_bottom
        self._areas: list[tuple[PlotArea, list[Any]]] = []
        self._theme: Theme | None = None
        self._painted_empty = False
        self.headroom = 0.0
        """Share of the height kept free for titles when everything is shown."""
        item = self.axes
        item.hideButtons()
        item.showGrid(x=True, y=True, alpha=0.18)
        item.getAxis("left").setWidth(AXIS_WIDTH)
        item.layout.setContentsMargins(0, 4, 10, 4)
        for side in ("left", "bottom"):
            axis = item.getAxis(side)
            axis.setTickFont(sized(self.font(), TICK_SIZE))
            # An axis with its grid covers the plot; drawn anew for every frame of a curve it costs more than the curve.
            axis.setCacheMode(QGraphicsItem.CacheMode.DeviceCoordinateCache)
            axis.setStyle(tickLength=-4, tickTextOffset=5, autoExpandTextSpace=False, maxTickLevel=0)
        self.set_bottom(bottom)
        item.vb.setDefaultPadding(PADDING)
        item.vb.sigRangeChangedManually.connect(lambda _: _hand().move())
        _hand().changed.connect(self._hurry)
        _hand().moved.connect(self._follow)

    @property
    def axes(self) -> Any:
        """The plot's axes, curves and ranges."""
        return self.plotItem

    @property
    def view(self) -> Any:
        """The area inside the axes."""
        return self.axes.vb

    def add_curve(self, z: float = 0.0, title: str = "", legend: str | None = None) -> Any:
        """A new, empty curve; z: higher ones lie above.

        title: as cursors and exports call it, empty leaves it out; legend: as an exported legend does, if otherwise.
        """
        curve = _Curve(connect="finite")
        curve.title, curve.legend = title, legend
        curve.setZValue(z)
        self.addItem(curve)
        return curve

    def add_live_curve(self, z: float = 0.0, title: str = "", source: Source | None = None) -> Any:
        """A new, empty curve for `show_live`: the cheapest there is. source: its points before they are thinned out."""
        curve = _LiveCurve()
        curve.title, curve.source = title, source
        curve.setZValue(z)
        self.addItem(curve)
        return curve

    def add_area(self, area: PlotArea) -> None:
        """Shade an area below all curves."""
        edges = [pg.PlotCurveItem(area.x, edge, connect="finite") for edge in (area.low, area.high)]
        colour = QColor(area.colour)
        colour.setAlphaF(area.opacity)
        items = [pg.FillBetweenItem(*edges, brush=pg.mkBrush(colour))]
        for item in items:
            item.setZValue(-10)
            self.axes.addItem(item, ignoreBounds=True)
        self._areas.append((area, items))

    def clear_areas(self) -> None:
        """Remove every shaded area."""
        for _, items in self._areas:
            for item in items:
                self.axes.removeItem(item)
        self._areas = []

    def seen(self) -> list[PlotCurve]:
        """The named curves that are not switched off, all of their points, in the order they are drawn."""
        named = [c for c in self.axes.items if isinstance(c, (_Curve, _LiveCurve)) and c.title and c.isVisible()]
        return [self._described(curve) for curve in sorted(named, key=lambda curve: curve.zValue())]

    def seen_areas(self) -> list[PlotArea]:
        """The shaded areas."""
        return [area for area, _ in self._areas]

    @property
    def left(self) -> tuple[str, str]:
        """Name and unit of the left axis."""
        return self._left, self._left_unit

    @property
    def bottom(self) -> tuple[str, str]:
        """Name and unit of the lower axis; empty where a chart below has it."""
        return parted(self._bottom)

    @property
    def logarithmic(self) -> bool:
        """Whether positions on the left axis are decimal logarithms."""
        return self._log

    def value_at(self, place: float) -> float:
        """Value that the lower axis shows at a place on it."""
        return 10.0**place if self.log_bottom else place

    def _described(self, curve: Any) -> PlotCurve:
        x, y = curve.points()
        drawn = curve.opts["pen"]
        marker = curve.opts.get("symbol") or ""
        line = pg.mkPen(drawn) if drawn is not None else None
        shown = pg.mkPen(curve.opts["symbolPen"]).color() if line is None else line.color()
        dashes = tuple(line.dashPattern()) if line is not None and line.style() is Qt.PenStyle.CustomDashLine else None
        return PlotCurve(
            name=curve.title,
            x=10.0 ** np.asarray(x) if self.log_bottom else np.asarray(x, dtype=np.float64),
            y=10.0 ** np.asarray(y) if self._log else np.asarray(y, dtype=np.float64),
            colour=shown.name(),
            width=0.0 if line is None else line.widthF(),
            dash=dashes,
            marker=marker,
            opacity=shown.alphaF(),
            legend=curve.legend,
        )

    def set_left(self, text: str, unit: str) -> None:
        """Change what the left axis shows."""
        if (text, unit) != (self._left, self._left_unit):
            self._left, self._left_unit = text, unit
            self._label()

    def set_bottom(self, text: str) -> None:
        """Change what the lower axis shows; empty hides its numbers, where a chart below has them."""
        self._bottom = text
        axis = self.axes.getAxis("bottom")
        axis.setStyle(showValues=bool(text))
        axis.setHeight(35 if text else 6)
        axis.showLabel(bool(text))
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
        leader = self.view.linkedView(0)
        if leader is not None:
            # A linked axis follows; only the view it follows can find everything.
            leader.enableAutoRange(x=True)
        bounds = self.view.childrenBounds()[1] if self.headroom else None
        if bounds is not None:
            low, high = bounds
            span = max(high - low, 1e-6)
            self.axes.setYRange(low - 0.06 * span, high + self.headroom * span, padding=0.0)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Fit on a double click."""
        self.fit()
        event.accept()

    @property
    def is_empty(self) -> bool:
        """Whether there is no point to see."""
        return not any(item.isVisible() and _has_points(item) for item in self.axes.items)

    def drawForeground(self, painter: QPainter, rect: QRectF) -> None:
        """Cover the axes of an empty plot: their numbers would be invented."""
        empty, theme = self.is_empty, self._theme
        if empty != self._painted_empty:
            # Only a part of the plot may be painted now.
            self._painted_empty = empty
            self.viewport().update()
        if not empty or theme is None:
            return
        whole = self.viewport().rect()
        painter.resetTransform()
        painter.fillRect(whole, QColor(theme.plot))
        painter.setPen(QColor(theme.muted))
        painter.setFont(self.font())
        flags = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap
        painter.drawText(whole.adjusted(12, 0, -12, 0), int(flags), self.empty_text)

    def _follow(self) -> None:
        if self.isVisible():
            # Left to the next paint, this would change items during it, and everything would be painted twice.
            self.axes.scene().prepareForPaint()

    def _hurry(self) -> None:
        if self.isVisible():
            for curve in self.axes.items:
                if isinstance(curve, _Curve):
                    curve.updateItems()

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
        text = labelled(self._left, self._left_unit)
        fits = QFontMetrics(sized(self.font(), LABEL_SIZE)).horizontalAdvance(text) < height - 6
        self.axes.setLabel("left", text if fits else text.replace(" [", "<br>["), **style)
        # A label that has changed is put in the middle only when its axis is resized.
        self.axes.getAxis("left").resizeEvent()
        if self._bottom:
            self.axes.setLabel("bottom", self._bottom, **style)


def _has_points(item: Any) -> bool:
    """Whether something in a plot is data; lines across and texts are not."""
    if isinstance(item, (pg.PlotDataItem, pg.PlotCurveItem)):
        y = item.getData()[1]
        return y is not None and bool(np.isfinite(y).any())
    return not isinstance(item, (pg.InfiniteLine, pg.TextItem))
