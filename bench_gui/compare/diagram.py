"""Drive/backdrive diagram of the chosen models at several speeds, as in Fig. 4 of seed 004, with placed points.

A single model has the colours and areas of Fig. 2; several models have one colour each and shaded static areas.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyqtgraph as pg
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QHBoxLayout, QWidget

from bench_gui.plots.chart import Chart, pen
from bench_gui.plots.diagram_areas import area_titles, boundary_shades, plot_areas
from bench_gui.plots.legend import Legend, LegendEntry
from bench_gui.plots.styles import MEASURED, Style
from bench_gui.state.models import ModelEntry
from bench_gui.theme import Theme, themes
from bench_gui.widgets.fields import vbox
from core.base.units import AngleUnit
from core.document.plot import DASHED, Array, PlotArea
from core.practice.diagram import (
    DriveBackdriveDiagram,
    drive_backdrive_diagram,
    farthest,
    halves,
    reachable_torque,
    torque_range,
)
from core.practice.placement import BACKDRIVE, DRIVE, SIDES, PlacedPoint

STANDING_WIDTH, MOVING_WIDTH = 2.0, 1.2
LIGHTER = 0.55
"""Opacity of each speed relative to the next slower one."""
SHADE, MOST_SHADE = 0.36, 0.16
"""Opacity of all static areas together, and of one at most."""
AROUND = 0.4
"""Margin around the placed points as a share of their range."""
MARKERS = {DRIVE: "t", BACKDRIVE: "t1"}
"""Markers that match the placing page: lowest extreme points down, highest up."""
EQUILIBRIUM, PLACED = "equilibrium", "placed"
BALANCE = Style("muted", dash=DASHED)


class DiagramPlot(QWidget):
    """External torque over motor torque: drive, backdrive, and the static area between them at standstill."""

    def __init__(self) -> None:
        super().__init__()
        column = vbox(self, spacing=4)
        self.legend = Legend(self._toggle)
        column.addWidget(self.legend)
        self.chart = Chart("Drive/backdrive diagram", "External torque τₑ", "N·m", bottom="Motor torque τₘ [N·m]")
        self.body = QHBoxLayout()
        """Layout with the chart and room for more beside it."""
        self.body.setSpacing(8)
        self.body.addWidget(self.chart, 1)
        column.addLayout(self.body, 1)
        self._curves: dict[str, list[Any]] = {}
        self._areas: dict[str, list[PlotArea]] = {}
        self._shown: tuple[tuple[str, ...], bool] = ((), False)

    @property
    def keys(self) -> list[str]:
        """Keys of what is drawn: models, EQUILIBRIUM, PLACED."""
        return list(self._curves)

    def show_models(
        self,
        entries: Sequence[ModelEntry],
        speeds: Sequence[float],
        points: Sequence[PlacedPoint],
        unit: AngleUnit,
    ) -> None:
        """Draw the diagram.

        Args:
            entries: models to draw.
            speeds: speeds of the curves [rad/s].
            points: points placed by hand.
            unit: unit of angle that names the speeds.
        """
        theme = themes.current
        self._clear()
        legend: list[LegendEntry] = []
        lowest = highest = 0.0
        alone = len(entries) == 1
        diagrams: dict[str, DriveBackdriveDiagram] = {}
        for z, entry in enumerate(entries, start=2):
            style = entry.style._replace(width=STANDING_WIDTH)
            colours = {"drive": "drive", "backdrive": "backdrive"} if alone else {}
            diagram = drive_backdrive_diagram(entry.model, _torques(entry, points), tuple(speeds))
            torque = diagram.motor_torque
            lowest, highest = min(lowest, float(torque[0])), max(highest, float(torque[-1]))
            for i, speed in enumerate(speeds):
                width = STANDING_WIDTH if i == 0 else MOVING_WIDTH
                named = f"{speed * unit.per_radian:g} {unit.symbol}/s"
                for kind, values in (("drive", diagram.drive), ("backdrive", diagram.backdrive)):
                    drawn = QColor(theme.colour(colours.get(kind, style.colour)))
                    drawn.setAlphaF(LIGHTER**i)
                    first = i == 0 and kind == "drive"
                    curve = self.chart.add_curve(z - i, f"{entry.title} {kind}, {named}", entry.title if first else "")
                    curve.setPen(pen(drawn, width, style.dash))
                    curve.setData(*halves(torque, values[:, i]))
                    self._curves.setdefault(entry.key, []).append(curve)
            legend.append(LegendEntry(entry.key, entry.title, style._replace(colour="drive") if alone else style))
            shades = boundary_shades(theme) if alone else {"static": theme.colour(style.colour)}
            self._areas[entry.key] = plot_areas(diagram, shades, min(MOST_SHADE, SHADE / len(entries)))
            diagrams[entry.key] = diagram
        if diagrams:
            widest = max(diagrams, key=lambda key: farthest(diagrams[key]))
            self._curves[widest] += area_titles(self.chart, diagrams[widest], theme)
        ends = np.array([lowest, highest])
        line = self.chart.add_curve(1, "equilibrium τₑ = −τₘ")
        line.setPen(pen(*BALANCE))
        line.setData(ends, -ends)
        self._curves[EQUILIBRIUM] = [line]
        legend.append(LegendEntry(EQUILIBRIUM, "equilibrium τₑ = −τₘ", BALANCE))
        if points:
            self._curves[PLACED] = [self._markers(points, side, theme) for side in SIDES]
            legend.append(LegendEntry(PLACED, "placed  ▼ lowest  △ highest", MEASURED._replace(width=4.0)))
        self.legend.set_entries(legend)
        for key in self._curves:
            self._toggle(key, self.legend.shown(key))
        shown = (tuple(entry.key for entry in entries), bool(points))
        if shown != self._shown:
            self.chart.fit()
            self._frame(points)
        self._shown = shown

    def _frame(self, points: Sequence[PlacedPoint]) -> None:
        """Start with the placed points visible; a double-click shows the whole diagram."""
        if not points:
            return
        for values, set_range in (
            ([p.motor_torque for p in points], self.chart.view.setXRange),
            ([p.external_torque for p in points], self.chart.view.setYRange),
        ):
            set_range(min(0.0, *values), max(0.0, *values), padding=AROUND)

    def _markers(self, points: Sequence[PlacedPoint], side: str, theme: Theme) -> Any:
        here = [point for point in points if point.side == side]
        placed = self.chart.add_curve(50, "placed, lowest" if side == DRIVE else "placed, highest")
        placed.setPen(None)
        placed.setSymbol(MARKERS[side])
        placed.setSymbolSize(11)
        placed.setSymbolBrush(pg.mkBrush(theme.measured if side == DRIVE else theme.plot))
        placed.setSymbolPen(pg.mkPen(theme.measured, width=1.5))
        placed.setData(np.array([p.motor_torque for p in here]), np.array([p.external_torque for p in here]))
        return placed

    def _clear(self) -> None:
        for curves in self._curves.values():
            for curve in curves:
                self.chart.remove_item(curve)
        self._curves, self._areas = {}, {}
        self.chart.clear_areas()

    def _toggle(self, key: str, on: bool) -> None:
        for curve in self._curves.get(key, ()):
            curve.setVisible(on)
        self.chart.clear_areas()
        for model, shades in self._areas.items():
            if self.legend.shown(model):
                for area in shades:
                    self.chart.add_area(area)


def _torques(entry: ModelEntry, points: Sequence[PlacedPoint]) -> Array:
    """Motor torques of a curve: the servo's range, with finer spacing around the placed points."""
    placed = max((abs(p.motor_torque) for p in points), default=0.0)
    peak = max(reachable_torque(entry.model), placed)
    return np.unique(np.concatenate([torque_range(peak), torque_range(min(2.0 * placed, peak))]))
