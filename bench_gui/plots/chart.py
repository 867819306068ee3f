"""Plot shared by all tasks: themed, a unit on each axis, aligned with its neighbours, fitted by a double-click."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtCore import QObject, QRectF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontMetrics,
    QGuiApplication,
    QMouseEvent,
    QPainter,
    QPen,
    QResizeEvent,
    QShowEvent,
)
from PySide6.QtWidgets import QGraphicsItem, QSizePolicy

from bench_gui.plots.axes import Axis, LogAxis
from bench_gui.theme import themes
from core.document.plot import PlotArea, PlotCurve, labelled, parted

pg.setConfigOptions(antialias=True, useOpenGL=False)

Array = NDArray[np.float64]
Source = Callable[[], tuple[Array, Array]]
"""Returns x and y of a curve at full resolution, in the units of its axes."""
LABEL_SIZE, TICK_SIZE = 11, 12
"""Font sizes of axis names and tick values [px]."""
LOW = 80
"""A plot below this height has fewer ticks [px]."""
PADDING, STEADY = 0.025, 0.005
"""Share of the range kept free at both ends, and tolerance of an automatic range."""
GRID = 46
"""Opacity of the grid, 0 … 255."""
AXIS_WIDTH = 62
"""Common width of left axes, so that the time axes of stacked plots align [px]."""
SETTLED = 200
"""Time after the last movement until curves are drawn in full again [ms]."""


def pen(colour: str | QColor, width: float = 1.0, pattern: tuple[float, ...] | None = None) -> QPen:
    """Return a cosmetic pen, of a curve as `pen(*style)`; colour: a meaning as in `Style`, or a QColor."""
    made = pg.mkPen(themes.current.colour(colour) if isinstance(colour, str) else colour, width=width)
    if pattern is not None:
        made.setDashPattern(list(pattern))
    return made


def sized(font: QFont, size: int) -> QFont:
    """Return a font in a size [px]."""
    sized = QFont(font)
    sized.setPixelSize(size)
    return sized


def show_live(curve: Any, x: Array, y: Array) -> None:
    """Replace the points of a live curve, both (n,); NaN in y makes a gap."""
    curve.setData(x, y, connect="finite")


class _Hand(QObject):
    """Tracks whether any plot is being dragged or zoomed; linked plots move together."""

    moved = Signal()
    changed = Signal()
    """Emitted when the user starts or stops moving a plot."""

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
    """Named curve that keeps its points as they were given.

    Wide antialiased lines take ten times as long as plain ones, so they are plain while a plot is moved.
    """

    title = ""
    legend: str | None = None

    def updateItems(self, styleUpdate: bool = True) -> None:
        """Pass points and style to the drawn items."""
        super().updateItems(styleUpdate)
        if _hand().moving and self.opts["pen"] is not None:
            plain = pg.mkPen(self.opts["pen"])
            plain.setWidth(1)
            self.curve.opts.update(pen=plain, antialias=False)

    def points(self) -> tuple[Array, Array]:
        x, y = self.getOriginalDataset()
        return (np.empty(0), np.empty(0)) if x is None or y is None else (x, y)


class _LiveCurve(pg.PlotCurveItem):
    """Decimated curve; its source has all points."""

    title = ""
    legend: str | None = None
    source: Source | None = None

    def points(self) -> tuple[Array, Array]:
        x, y = self.source() if self.source is not None else self.getData()
        return (np.empty(0), np.empty(0)) if x is None or y is None else (x, y)


class _SteadyView(pg.ViewBox):
    """View whose automatic range stops changing once it fits.

    The automatic range includes the widths of pens and titles in pixels, whose extent in seconds depends on the range.
    Two linked views could otherwise change each other's range forever.
    """

    def setRange(self, rect: Any = None, xRange: Any = None, yRange: Any = None, **how: Any) -> None:
        if not how.get("disableAutoRange", True):
            moved = self._moved(0, xRange), self._moved(1, yRange)
            if rect is None and moved == (None, None):
                return
            # With equal scales, a range of one axis alone would set that of the other.
            if not self.state["aspectLocked"]:
                xRange, yRange = moved
        super().setRange(rect, xRange, yRange, **how)

    def _moved(self, axis: int, wanted: Any) -> Any:
        """Return a requested range, or None if the current one is as good."""
        if wanted is None:
            return None
        low, high = self.targetRange()[axis]
        slack = STEADY * (high - low)
        return None if abs(wanted[0] - low) <= slack and abs(wanted[1] - high) <= slack else wanted


class Chart(pg.GraphicsView):
    """One pair of axes; a sentence replaces them while there is nothing to show.

    Not a `PlotWidget`, which makes four axes and, for a menu that is not shown here, 51 widgets: Qt would style them
    again with every change of theme.
    """

    empty_text = "Nothing to show yet"
    belongs_to = ""
    """Thing that the curves belong to, such as a run: part of the axis' name in readings and exports."""

    def __init__(
        self, name: str, left: str, left_unit: str, *, bottom: str = "", log: bool = False, log_bottom: bool = False
    ) -> None:
        """Create an empty plot.

        Args:
            name: accessible name.
            left: name of the left axis.
            left_unit: its unit.
            bottom: name and unit of the lower axis; empty hides its numbers.
            log: the left axis shows values whose decimal logarithms are plotted.
            log_bottom: the same for the lower axis.
        """
        super().__init__()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.view: Any = _SteadyView(enableMenu=False)
        """Area inside the axes, with its ranges."""
        self.axes: dict[str, Any] = {
            "left": LogAxis("left") if log else Axis("left"),
            "bottom": LogAxis("bottom") if log_bottom else Axis("bottom"),
        }
        self.decimated = False
        """True if curves that are added show only what is visible, as the extremes of each pixel; x must increase."""
        self.drawn: list[Any] = []
        """Curves and other items inside the axes."""
        frame = pg.GraphicsLayout()
        frame.setContentsMargins(0, 4, 10, 4)
        frame.setSpacing(0)
        frame.addItem(self.axes["left"], 0, 0)
        frame.addItem(self.view, 0, 1)
        frame.addItem(self.axes["bottom"], 1, 1)
        self.setCentralItem(frame)
        self.setAccessibleName(name)
        self.setToolTip("Drag to move, wheel to zoom, double-click to fit")
        self._left, self._left_unit = left, left_unit
        self._log, self.log_bottom = log, log_bottom
        self._areas: list[tuple[PlotArea, list[Any]]] = []
        self._painted_empty = False
        self.headroom = 0.0
        """Share of the height kept free for titles when everything is shown."""
        self.axes["left"].setWidth(AXIS_WIDTH)
        for axis in self.axes.values():
            axis.linkToView(self.view)
            axis.setZValue(0.5)
            axis.setGrid(GRID)
            axis.setTickFont(sized(self.font(), TICK_SIZE))
            # An axis with a grid covers the plot; drawing it for every frame would cost more than the curve.
            axis.setCacheMode(QGraphicsItem.CacheMode.DeviceCoordinateCache)
            axis.setStyle(tickLength=-4, tickTextOffset=5, autoExpandTextSpace=False, maxTickLevel=0)
        self.set_bottom(bottom)
        self.view.setDefaultPadding(PADDING)
        self.view.sigRangeChangedManually.connect(lambda _: _hand().move())
        _hand().changed.connect(self._hurry)
        _hand().moved.connect(self._follow)
        self._painted = ""
        themes.follow(self._paint)

    @property
    def curves(self) -> list[Any]:
        """Curves made by `add_curve`."""
        return [item for item in self.drawn if isinstance(item, _Curve)]

    def add_item(self, item: Any, *, fitted: bool = False) -> None:
        """Draw an item inside the axes; fitted: the automatic range includes it."""
        self.drawn.append(item)
        self.view.addItem(item, ignoreBounds=not fitted)

    def remove_item(self, item: Any) -> None:
        """Remove an item."""
        self.drawn.remove(item)
        self.view.removeItem(item)

    def clear(self) -> None:
        """Remove all curves, areas and other items."""
        self._areas = []
        for item in tuple(self.drawn):
            self.remove_item(item)

    def add_curve(self, z: float = 0.0, title: str = "", legend: str | None = None) -> Any:
        """Add an empty curve and return it.

        Args:
            z: higher curves are drawn on top.
            title: name for cursors and exports; empty leaves the curve out.
            legend: name in an exported legend, if it differs.
        """
        curve = _Curve(connect="finite")
        curve.title, curve.legend = title, legend
        if self.decimated:
            curve.setDownsampling(auto=True, method="peak")
            curve.setClipToView(True)
        curve.setZValue(z)
        self.add_item(curve, fitted=True)
        return curve

    def add_live_curve(self, z: float = 0.0, title: str = "", source: Source | None = None) -> Any:
        """Add an empty curve for `show_live`, the cheapest kind; source: returns its points before decimation."""
        curve = _LiveCurve()
        curve.title, curve.source = title, source
        curve.setZValue(z)
        self.add_item(curve, fitted=True)
        return curve

    def add_live_band(self, z: float = 0.0) -> Any:
        """Add an empty band for `show_live`: the closed line around it is filled."""
        band = pg.PlotCurveItem(pen=None, fillLevel="enclosed", antialias=False)
        band.setZValue(z)
        self.add_item(band)
        return band

    def add_area(self, area: PlotArea) -> None:
        """Shade an area below all curves."""
        edges = [pg.PlotCurveItem(area.x, edge, connect="finite") for edge in (area.low, area.high)]
        colour = QColor(area.colour)
        colour.setAlphaF(area.opacity)
        items = [pg.FillBetweenItem(*edges, brush=pg.mkBrush(colour))]
        for item in items:
            item.setZValue(-10)
            self.add_item(item)
        self._areas.append((area, items))

    def clear_areas(self) -> None:
        """Remove every shaded area."""
        for _, items in self._areas:
            for item in items:
                self.remove_item(item)
        self._areas = []

    def seen(self) -> list[PlotCurve]:
        """The named curves that are switched on, with all points, in drawing order."""
        named = [c for c in self.drawn if isinstance(c, (_Curve, _LiveCurve)) and c.title and c.isVisible()]
        return [self._described(curve) for curve in sorted(named, key=lambda curve: curve.zValue())]

    def seen_areas(self) -> list[PlotArea]:
        """The shaded areas."""
        return [area for area, _ in self._areas]

    @property
    def left(self) -> tuple[str, str]:
        """Name and unit of the left axis."""
        return self._left, self._left_unit

    @property
    def full_name(self) -> str:
        """Name of the left axis after what its curves belong to."""
        return f"{self.belongs_to}: {self._left}" if self.belongs_to else self._left

    @property
    def bottom(self) -> tuple[str, str]:
        """Name and unit of the lower axis; empty if a chart below shows it."""
        return parted(self._bottom)

    @property
    def logarithmic(self) -> bool:
        """True if positions on the left axis are decimal logarithms."""
        return self._log

    def value_at(self, place: float) -> float:
        """Value shown at a place on the lower axis."""
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
        """Set the name and unit of the left axis."""
        if (text, unit) != (self._left, self._left_unit):
            self._left, self._left_unit = text, unit
            self._label()

    def set_bottom(self, text: str) -> None:
        """Set the text of the lower axis; empty hides its numbers if a chart below has them."""
        self._bottom = text
        axis = self.axes["bottom"]
        axis.setStyle(showValues=bool(text))
        axis.setHeight(35 if text else 6)
        axis.showLabel(bool(text))
        self._label()

    def fit(self) -> None:
        """Show everything, with `headroom` above it."""
        self.view.enableAutoRange()
        leader = self.view.linkedView(0)
        if leader is not None:
            # A linked axis follows; only the view that it follows can find all curves.
            leader.enableAutoRange(x=True)
        bounds = self.view.childrenBounds()[1] if self.headroom else None
        if bounds is not None:
            low, high = bounds
            span = max(high - low, 1e-6)
            self.view.setYRange(low - 0.06 * span, high + self.headroom * span, padding=0.0)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Fit on a double-click."""
        self.fit()
        event.accept()

    def say(self, text: str) -> None:
        """Set the sentence that is shown while the plot is empty; empty: that of a new plot."""
        text = text or Chart.empty_text
        if text != self.empty_text:
            self.empty_text = text
            self.viewport().update()

    @property
    def is_empty(self) -> bool:
        """True if no point is visible."""
        return not any(item.isVisible() and _has_points(item) for item in self.drawn)

    def drawForeground(self, painter: QPainter, rect: QRectF) -> None:
        """Cover the axes of an empty plot, whose numbers would be meaningless."""
        empty, theme = self.is_empty, themes.current
        if empty != self._painted_empty:
            # The paint area may be only a part of the plot.
            self._painted_empty = empty
            self.viewport().update()
        if not empty:
            return
        whole = self.viewport().rect()
        painter.resetTransform()
        painter.fillRect(whole, QColor(theme.plot))
        painter.setPen(QColor(theme.muted))
        painter.setFont(self.font())
        flags = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap
        painter.drawText(whole.adjusted(12, 0, -12, 0), int(flags), self.empty_text)

    def _paint(self) -> None:
        theme = themes.current
        self.setBackground(theme.plot)
        if not self.isVisible() or self._painted == theme.name:
            return  # a window has sixty charts, and styling all axes at once would stop it
        self._painted = theme.name
        for axis in self.axes.values():
            axis.setPen(pg.mkPen(theme.grid))
            axis.setTextPen(pg.mkPen(theme.muted))
        self._label()

    def _follow(self) -> None:
        if self.isVisible():
            # Doing this in the next paint would change items during it, and everything would be painted twice.
            self.view.scene().prepareForPaint()

    def _hurry(self) -> None:
        if self.isVisible():
            for curve in self.curves:
                curve.updateItems()

    def sizeHint(self) -> QSize:
        """Ask for the minimum: Qt's answer, the size of the scene, makes pages with wrapped text scroll."""
        return self.minimumSizeHint()

    def showEvent(self, event: QShowEvent) -> None:
        """Use the present theme."""
        super().showEvent(event)
        self._paint()

    def resizeEvent(self, event: QResizeEvent | None) -> None:
        """Simplify a low plot: fewer ticks, and only the unit where the name does not fit."""
        super().resizeEvent(event)
        if event is not None:
            self._label()

    def vertical_line(self, x: float) -> Any:
        """Add a thin vertical line across the plot, e.g. between two runs."""
        colour = QColor(themes.current.separator)
        line = pg.InfiniteLine(x, angle=90, pen=pg.mkPen(colour, width=1, style=Qt.PenStyle.SolidLine))
        self.add_item(line)
        return line

    def _label(self) -> None:
        style = {"color": themes.current.muted, "font-size": f"{LABEL_SIZE}px"}
        height = self.height() - self.axes["bottom"].height()
        self.axes["left"].setTickDensity(0.7 if height > LOW else 0.45)
        text, metrics = labelled(self._left, self._left_unit), QFontMetrics(sized(self.font(), LABEL_SIZE))
        forms = (text, text.replace(" [", "<br>["), text.removeprefix(self._left).strip())
        fitting = (form for form in forms if metrics.horizontalAdvance(form.split("<br>")[0]) < height - 6)
        self.axes["left"].setLabel(next(fitting, forms[-1]), **style)
        # A changed label is centred only when its axis is resized.
        self.axes["left"].resizeEvent()
        if self._bottom:
            self.axes["bottom"].setLabel(self._bottom, **style)


def _has_points(item: Any) -> bool:
    """True if an item is data; lines across the plot and texts are not."""
    if isinstance(item, (pg.PlotDataItem, pg.PlotCurveItem)):
        y = item.getData()[1]
        return y is not None and bool(np.isfinite(y).any())
    return not isinstance(item, (pg.InfiniteLine, pg.VTickGroup, pg.TextItem))
