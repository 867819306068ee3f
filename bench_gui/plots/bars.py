"""Mean errors as bars, models side by side in each group, as in Fig. 5 of seed 004."""

from __future__ import annotations

import math
from typing import Any

import pyqtgraph as pg
from PySide6.QtGui import QFont, QFontMetrics, QResizeEvent

from bench_gui.plots.chart import LABEL_SIZE, Chart
from bench_gui.theme import themes
from core.document.plot import BarPanel, mixed, parted

FILLED, WIDEST = 0.8, 0.22
"""Share of a group's width for all its bars, and for one bar at most."""
ROOM_ABOVE = 0.14
UPRIGHT = 0.24
"""Share of the height kept free above the bars for vertical values."""


class BarChart(Chart):
    """Bars of a BarPanel with their values; the values are vertical where bars are narrow."""

    def __init__(self) -> None:
        super().__init__("Mean error of each model", "Error", "mrad", bottom=" ")
        self.setToolTip("Mean absolute error of each model on the runs of each group")
        self.view.setMouseEnabled(x=False, y=False)
        self.axes["bottom"].setGrid(False)
        self.axes["bottom"].setHeight(36)
        self._items: list[Any] = []
        self._labels: list[Any] = []
        self.panel: BarPanel | None = None
        themes.changed.connect(self._colour_labels)

    def show_panel(self, panel: BarPanel) -> None:
        """Draw a panel's bars."""
        self.panel = panel
        paper = themes.current.plot
        for item in (*self._items, *self._labels):
            self.remove_item(item)
        self._items, self._labels = [], []
        name, unit = parted(panel.left)
        self.set_left(name, unit)
        width = min(WIDEST, FILLED / max(1, len(panel.series)))
        for i, series in enumerate(panel.series):
            shift = (i - (len(panel.series) - 1) / 2) * width
            there = [(k + shift, value) for k, value in enumerate(series.values) if math.isfinite(value)]
            if not there:
                continue
            bars = pg.BarGraphItem(
                x=[x for x, _ in there],
                height=[y for _, y in there],
                width=0.9 * width,
                brush=pg.mkBrush(mixed(series.colour, paper, series.pale)),
                pen=pg.mkPen(series.colour),
            )
            self.add_item(bars, fitted=True)
            self._items.append(bars)
            for x, value in there:
                text = pg.TextItem(f"{value:.2f}" if value < 10 else f"{value:.1f}", anchor=(0.5, 1.0))
                font = QFont(self.font())
                font.setPixelSize(LABEL_SIZE)
                text.setFont(font)
                text.setPos(x, value)
                self.add_item(text)
                self._labels.append(text)
        self.axes["bottom"].setTicks([list(enumerate(panel.groups))])
        self._colour_labels()
        self._fit_labels()

    @property
    def values(self) -> list[str]:
        """Values written above the bars."""
        return [label.toPlainText() for label in self._labels]

    def resizeEvent(self, event: QResizeEvent | None) -> None:
        """Turn the values if the bars have become too narrow."""
        super().resizeEvent(event)
        if event is not None and self.panel is not None:
            self._fit_labels()

    def fit(self) -> None:
        """Show every bar with its value."""
        self._fit_labels()

    def _colour_labels(self) -> None:
        for text in self._labels:
            text.setColor(themes.current.text)

    def _fit_labels(self) -> None:
        panel = self.panel
        if panel is None or not panel.groups:
            return
        values = [value for series in panel.series for value in series.values if math.isfinite(value)]
        slot = self.view.width() / len(panel.groups) * min(WIDEST, FILLED / max(1, len(panel.series)))
        font = QFont(self.font())
        font.setPixelSize(LABEL_SIZE)
        widest = max((QFontMetrics(font).horizontalAdvance(text) for text in self.values), default=0)
        upright = widest + 2 > slot
        for text in self._labels:
            text.setAngle(90 if upright else 0)
            text.setAnchor((0.0, 0.5) if upright else (0.5, 1.0))
        highest = max(values, default=1.0)
        room = UPRIGHT if upright else ROOM_ABOVE
        self.view.setYRange(0.0, (highest or 1.0) * (1.0 + room), padding=0.0)
        self.view.setXRange(-0.5, len(panel.groups) - 0.5, padding=0.0)
