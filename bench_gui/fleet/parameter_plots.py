"""Each parameter of a model over the units: values with intervals, median, spread between units, catalogue value."""

from __future__ import annotations

import html
import math
from typing import Any

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtCore import QEvent, QPointF, Qt, Signal
from PySide6.QtGui import QColor, QMouseEvent, QResizeEvent
from PySide6.QtWidgets import QFrame, QGridLayout, QLabel, QScrollArea, QToolTip, QWidget

from bench_gui.fleet.summary import FleetSummary, ModelSummary, ParameterSummary
from bench_gui.headless.symbols import printed
from bench_gui.plots.chart import Chart, pen
from bench_gui.plots.styles import CATALOGUE_DASH
from bench_gui.theme import themes
from bench_gui.widgets.fields import ElidedLabel, hbox, label, vbox
from core.base.units import RADIANS, AngleUnit, significant
from core.document.plot import PlotArea

Array = NDArray[np.float64]

NARROWEST, HEIGHT = 300, 186
"""Minimum width and fixed height of one parameter's plot [px]."""
NEAR = 9.0
"""Maximum distance between mouse and point for a hit [px]."""
WIDEST = 1.2
"""Intervals are cut off where they extend beyond the values by more than this multiple of their range."""
MANY = 60
"""Number of units above which points are smaller and intervals paler."""


class ParameterStrip(QWidget):
    """Plot of one parameter."""

    hovered = Signal(str)
    """Name of the unit below the mouse; empty for none."""
    chosen = Signal(str)
    """A unit was clicked."""

    def __init__(self) -> None:
        super().__init__()
        self.title: QLabel = label("")
        self.title.setTextFormat(Qt.TextFormat.RichText)
        self.words = ElidedLabel()
        self.words.setProperty("role", "muted")
        self.chart = _StripChart(self)
        head = hbox(spacing=8)
        head.addWidget(self.title)
        head.addWidget(self.words, 1)
        column = vbox(self, spacing=2)
        column.addLayout(head)
        column.addWidget(self.chart, 1)
        self.setFixedHeight(HEIGHT)
        self.parameter: ParameterSummary | None = None
        self._units: tuple[str, ...] = ()
        self._angle = RADIANS
        self._odd: NDArray[np.bool_] = np.zeros(0, dtype=bool)
        self._selected = -1

    def show_parameter(
        self, parameter: ParameterSummary, summary: FleetSummary, model: ModelSummary, angle: AngleUnit
    ) -> None:
        """Draw the parameter."""
        self.parameter, self._angle = parameter, angle
        self._units = tuple(unit.name for unit in summary.units)
        self._odd = np.array(
            [any(m.parameter == parameter.name for m in model.marks.get(name, ())) for name in self._units], dtype=bool
        )
        self.title.setText(f"<b>{printed(parameter.symbol)}</b>")
        self.title.setToolTip(parameter.name)
        self.words.setText(self._in_words())
        self._draw()

    def select(self, unit: str) -> None:
        """Put a ring around a unit's point."""
        self._selected = self._units.index(unit) if unit in self._units else -1
        self._draw_ring()

    def unit_at(self, place: QPointF) -> str:
        """Return the unit whose point is near a place of the chart [px]; empty for none."""
        parameter = self.parameter
        if parameter is None or not len(self._units):
            return ""
        factor, _ = parameter.shown_in(self._angle)
        view = self.chart.view
        origin, right = (view.mapViewToScene(QPointF(x, y)) for x, y in ((0.0, 0.0), (1.0, 1.0)))
        across = origin.x() + (right.x() - origin.x()) * np.arange(1, len(self._units) + 1) - place.x()
        up = origin.y() + (right.y() - origin.y()) * factor * parameter.values - place.y()
        distance = np.hypot(across, up)
        if not np.isfinite(distance).any():
            return ""
        nearest = int(np.nanargmin(distance))
        return self._units[nearest] if distance[nearest] <= NEAR else ""

    def words_of(self, unit: str) -> str:
        """Return name, value and interval of a unit."""
        assert self.parameter is not None
        return (
            f"{unit}: {self.parameter.symbol} = {self.parameter.value_in_words(self._units.index(unit), self._angle)}"
        )

    def _in_words(self) -> str:
        parameter = self.parameter
        assert parameter is not None
        factor, unit = parameter.shown_in(self._angle)
        middle = parameter.centre if math.isfinite(parameter.centre) else parameter.median
        text = f"{significant(factor * middle, 3)}{f' {unit}' if unit else ''}"
        if not math.isfinite(parameter.between):
            return f"{text}, spread unknown"
        if not parameter.differs:
            return f"{text}, units agree within their intervals"
        return f"{text}, spread between units {parameter.deviation_in_words(parameter.between, self._angle)}"

    def _draw(self) -> None:
        parameter, theme, chart = self.parameter, themes.current, self.chart
        if parameter is None:
            return
        factor, unit = parameter.shown_in(self._angle)
        chart.set_left("", unit or "1")
        chart.wipe()
        chart.clear_areas()
        x = np.arange(1.0, len(self._units) + 1.0)
        values, halves = factor * parameter.values, factor * parameter.half_widths
        ends = np.array([0.5, len(x) + 0.5])
        if math.isfinite(parameter.band[0]):
            low, high = (np.full(2, factor * end) for end in parameter.band)
            chart.add_area(PlotArea("95 % of units", ends, low, high, theme.accent, 0.14))
        for name, level, colour, dash in (
            ("median", parameter.median, theme.text, None),
            ("catalogue", parameter.catalogue, theme.goal, CATALOGUE_DASH),
        ):
            if math.isfinite(level):
                line = chart.add_curve(1.0, name)
                line.setPen(pen(colour, 1.0 if dash is None else 1.5, dash))
                line.setData(ends, np.full(2, factor * level))
        known = parameter.determined
        bars = chart.add_curve(2.0, "95 % interval")
        line = QColor(theme.muted)
        line.setAlphaF(1.0 if len(x) <= MANY else 0.4)
        bars.setPen(pen(line))
        bars.setData(*_segments(x[known], (values - halves)[known], (values + halves)[known]))
        size = 4 if len(x) > MANY else 7
        for name, which, filled, colour in (
            ("units", known & ~self._odd, True, theme.accent),
            ("not determined", np.isfinite(values) & ~known & ~self._odd, False, theme.muted),
            ("outlier", np.isfinite(values) & self._odd, True, theme.fault),
        ):
            if which.any():
                points = chart.add_curve(3.0, name)
                points.setPen(None)
                points.setSymbol("o")
                points.setSymbolSize(size)
                points.setSymbolPen(pen(colour))
                points.setSymbolBrush(pg.mkBrush(colour) if filled else pg.mkBrush(theme.plot))
                points.setData(x[which], values[which])
        self._draw_ring()
        chart.fit()

    def _draw_ring(self) -> None:
        parameter, theme = self.parameter, themes.current
        if parameter is None:
            return
        factor, _ = parameter.shown_in(self._angle)
        there = self._selected >= 0
        x = [self._selected + 1.0] if there else []
        y = [factor * float(parameter.values[self._selected])] if there else []
        self.chart.show_ring(x, y, theme.text)

    def y_range(self) -> tuple[float, float]:
        """Visible range: all values, and intervals as far as the values stay distinguishable."""
        parameter = self.parameter
        if parameter is None:
            return 0.0, 1.0
        factor, _ = parameter.shown_in(self._angle)
        values = parameter.values[np.isfinite(parameter.values)]
        levels = np.array([*values, parameter.catalogue, *parameter.band])
        levels = levels[np.isfinite(levels)]
        if not len(levels):
            return 0.0, 1.0
        low, high = float(levels.min()), float(levels.max())
        known = parameter.determined
        span = high - low
        if span <= 1e-9 * max(abs(low), abs(high)):
            span = float(np.median(parameter.half_widths[known])) if known.any() else 0.0
            span = span or abs(high) or 1.0
            low, high = low - span, high + span
        ends = (
            parameter.values[known] - parameter.half_widths[known],
            parameter.values[known] + parameter.half_widths[known],
        )
        low = max(min([low, *ends[0]]), low - WIDEST * span)
        high = min(max([high, *ends[1]]), high + WIDEST * span)
        room = 0.06 * (high - low)
        return factor * (low - room), factor * (high + room)

    def x_range(self) -> tuple[float, float]:
        """Range of all units."""
        return 0.3, len(self._units) + 0.7


class _StripChart(Chart):
    """Reports the unit below the mouse."""

    def __init__(self, strip: ParameterStrip) -> None:
        super().__init__("Values over the units", "", "1", bottom="Unit")
        self._strip = strip
        self._ring: Any = None
        self.setMouseTracking(True)
        # Scrolling the page over its plots must not zoom them.
        self.view.setMouseEnabled(x=False, y=False)
        self.setToolTip("Values over the units with 95 % intervals; click a point to choose its unit")
        self._plain = self.toolTip()

    def wipe(self) -> None:
        """Remove every curve."""
        self.clear()
        self._ring = None

    def show_ring(self, x: list[float], y: list[float], colour: str) -> None:
        """Mark a point."""
        if self._ring is None:
            self._ring = self.add_curve(4.0)
            self._ring.setPen(None)
            self._ring.setSymbol("o")
            self._ring.setSymbolSize(13)
            self._ring.setSymbolBrush(None)
        self._ring.setSymbolPen(pen(colour, 2.0))
        self._ring.setData(x, y)

    def fit(self) -> None:
        """Show every value; intervals may be cut off."""
        self.view.setXRange(*self._strip.x_range(), padding=0.0)
        self.view.setYRange(*self._strip.y_range(), padding=0.0)

    def wheelEvent(self, event: Any) -> None:
        """Leave the wheel to the page."""
        event.ignore()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Report the unit below the mouse."""
        unit = self._strip.unit_at(self.mapToScene(event.position().toPoint()))
        text = self._strip.words_of(unit) if unit else self._plain
        if text != self.toolTip():
            self.setToolTip(text)
            if unit:
                QToolTip.showText(event.globalPosition().toPoint(), text, self)
            else:
                QToolTip.hideText()
            self._strip.hovered.emit(unit)
        super().mouseMoveEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Choose the unit below the mouse."""
        unit = self._strip.unit_at(self.mapToScene(event.position().toPoint()))
        if unit:
            self._strip.chosen.emit(unit)
        super().mousePressEvent(event)

    def leaveEvent(self, event: QEvent) -> None:
        """Clear the hovered unit."""
        self.setToolTip(self._plain)
        self._strip.hovered.emit("")
        super().leaveEvent(event)


class ParameterPlots(QScrollArea):
    """All parameters of the chosen model, with as many columns as fit."""

    chosen = Signal(str)
    """A unit was clicked."""

    def __init__(self) -> None:
        super().__init__()
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setAccessibleName("Parameters over the units")
        self.strips: list[ParameterStrip] = []
        self.body = QWidget()
        column = vbox(self.body, spacing=6, margins=(0, 0, 6, 0))
        self.legend: QLabel = label("", "muted")
        self.legend.setTextFormat(Qt.TextFormat.RichText)
        column.addWidget(self.legend)
        self._grid = QGridLayout()
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(12)
        self._grid.setVerticalSpacing(10)
        column.addLayout(self._grid)
        column.addStretch(1)
        self.setWidget(self.body)
        self._columns = 0
        self._selected = ""
        themes.follow(self._paint)

    @property
    def shown(self) -> list[ParameterStrip]:
        """Plots in use."""
        return [strip for strip in self.strips if strip.parameter is not None]

    def show_model(self, summary: FleetSummary, model: ModelSummary, angle: AngleUnit) -> None:
        """Draw every parameter of a model."""
        while len(self.strips) < len(model.parameters):
            strip = ParameterStrip()
            strip.chosen.connect(self.chosen)
            self.strips.append(strip)
        for strip, parameter in zip(self.strips, model.parameters, strict=False):
            strip.show_parameter(parameter, summary, model, angle)
            strip.select(self._selected)
        for strip in self.strips[len(model.parameters) :]:
            strip.parameter = None
        self._lay_out()

    def select(self, unit: str) -> None:
        """Mark a unit's points."""
        self._selected = unit
        for strip in self.shown:
            strip.select(unit)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Rearrange the plots in as many columns as fit."""
        super().resizeEvent(event)
        if max(1, self.viewport().width() // NARROWEST) != self._columns:
            self._lay_out()

    def _paint(self) -> None:
        theme = themes.current
        parts = (
            (theme.accent, "●", "unit, with its 95 % interval"),
            (theme.fault, "●", "outlier"),
            (theme.muted, "○", "not determined"),
            (theme.text, "―", "median"),
            (theme.goal, "╌", "catalogue"),
            (theme.accent, "▒", "95 % of units expected here"),
        )
        self.legend.setText(
            " &nbsp; ".join(
                f'<span style="color:{colour}">{mark}</span> {html.escape(text)}' for colour, mark, text in parts
            )
        )

    def _lay_out(self) -> None:
        before, self._columns = self._columns, max(1, self.viewport().width() // NARROWEST)
        for place, strip in enumerate(self.strips):
            self._grid.removeWidget(strip)
            if strip.parameter is not None:
                self._grid.addWidget(strip, place // self._columns, place % self._columns)
            strip.setVisible(strip.parameter is not None)
        for column in range(max(before, self._columns)):
            self._grid.setColumnStretch(column, 1 if column < self._columns else 0)


def _segments(x: Array, low: Array, high: Array) -> tuple[Array, Array]:
    """Return vertical lines as one curve with gaps."""
    gap = np.full(len(x), np.nan)
    return np.column_stack((x, x, gap)).ravel(), np.column_stack((low, high, gap)).ravel()
