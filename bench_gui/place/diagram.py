"""The growing drive/backdrive diagram: placed points, the models' boundaries, the point being sought."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyqtgraph as pg
from PySide6.QtWidgets import QWidget

from bench_gui.headless.place.rests import Target
from bench_gui.plots.chart import Chart, pen
from bench_gui.plots.diagram_areas import area_titles, boundary_shades, plot_areas
from bench_gui.plots.legend import Legend, LegendEntry
from bench_gui.plots.styles import GOAL, MEASURED
from bench_gui.state.models import ModelEntry
from bench_gui.theme import Theme, themes
from bench_gui.widgets.fields import vbox
from core.document.plot import PlotArea
from core.practice.diagram import drive_backdrive_diagram, halves
from core.practice.placement import DRIVE, PlacedPoint

CURVE_POINTS = 161
ROOM = 1.25
"""The diagram extends beyond its largest torque by this factor."""
SHADE = 0.16
"""Opacity of the areas."""
MARKERS = {"drive": "t", "backdrive": "t1"}
"""Triangle that points down for the lowest extreme, up for the highest."""


class PlacementDiagram(QWidget):
    """Motor torque to the right, external torque up; both signed, so opposing torques lie below zero."""

    def __init__(self) -> None:
        super().__init__()
        column = vbox(self, spacing=4)
        self.legend = Legend(self._toggle)
        self.chart = Chart("Drive/backdrive diagram", "External torque", "N·m", bottom="Motor torque [N·m]")
        column.addWidget(self.legend)
        column.addWidget(self.chart, 1)
        self._models: tuple[ModelEntry, ...] = ()
        self._current = ""
        self._points: tuple[PlacedPoint, ...] = ()
        self._span: tuple[float, float] = (0.0, 1.0)
        self._curves: dict[str, list[Any]] = {}
        self._areas: dict[str, list[PlotArea]] = {}
        self._balance = self.chart.add_curve(1)
        self._sought = pg.InfiniteLine(0.0, angle=90)
        self._sought.setVisible(False)
        self.chart.add_item(self._sought)
        self.markers = {side: pg.ScatterPlotItem(symbol=symbol, size=12) for side, symbol in MARKERS.items()}
        self.brackets = pg.PlotCurveItem()
        self.doubtful = pg.ScatterPlotItem(symbol="o", size=18)
        self.best = pg.ScatterPlotItem(symbol="o", size=20)
        self.live = pg.ScatterPlotItem(symbol="o", size=9)
        for z, item in enumerate(
            (self.brackets, *self.markers.values(), self.doubtful, self.best, self.live), start=10
        ):
            item.setZValue(z)
            self.chart.add_item(item)
        themes.follow(self._paint)

    def show_models(self, models: Sequence[ModelEntry], current: str, torques: Sequence[float]) -> None:
        """Draw models' boundaries.

        Args:
            models: Models to draw.
            current: Key of the model to shade.
            torques: Measured motor torques [N·m].
        """
        low, high = min((0.0, *torques)), max((0.0, *torques))
        span = (ROOM * low, ROOM * high) if high > low else (0.0, 1.0)
        if (tuple(models), current, span) == (self._models, self._current, self._span):
            return
        self._models, self._current, self._span = tuple(models), current, span
        self._draw()
        self.fit()

    def show_points(self, points: Sequence[PlacedPoint]) -> None:
        """Draw the points with their brackets."""
        grown = len(points) > len(self._points)
        self._points = tuple(points)
        for side, item in self.markers.items():
            item.setData([{"pos": (p.motor_torque, p.external_torque)} for p in points if p.side == side])
        pairs = [
            (p.motor_torque, p.bench.external_torque(a))
            for p in points
            if p.fell is not None
            for a in (p.angle, p.fell)
        ]
        self.brackets.setData(*np.array(pairs).reshape(-1, 2).T, connect="pairs")
        if grown:
            self._keep_in_sight([p.external_torque for p in points])

    def show_doubtful(self, points: Sequence[PlacedPoint]) -> None:
        """Ring points that disagree with the model."""
        self.doubtful.setData([{"pos": (p.motor_torque, p.external_torque)} for p in points])

    def show_search(self, target: Target | None, best: PlacedPoint | None, external_torque: float) -> None:
        """Mark the held torque, the best rest, and the pendulum's external torque [N·m]; None if nothing is held."""
        self._sought.setVisible(target is not None)
        self.best.setData([] if best is None else [{"pos": (best.motor_torque, best.external_torque)}])
        if target is None or not np.isfinite(external_torque):
            self.live.setData([])
            return
        self._sought.setValue(target.torque)
        self.live.setData([{"pos": (target.torque, external_torque)}])

    def fit(self) -> None:
        """Fit the axes to the measured torques and their points."""
        self.chart.view.setXRange(*self._span, padding=0.03)
        values = [p.external_torque for p in self._points]
        for entry in self._models:
            diagram = drive_backdrive_diagram(entry.model, np.array(self._span) / ROOM)
            values += [float(v) for v in (*diagram.drive[:, 0], *diagram.backdrive[:, 0]) if np.isfinite(v)]
        low, high = min((0.0, *values)), max((0.0, *values))
        room = 0.06 * max(high - low, 1e-3)
        self.chart.view.setYRange(low - room, high + room, padding=0.0)

    def _paint(self) -> None:
        theme = themes.current
        self._balance.setPen(pen(*GOAL))
        self._sought.setPen(pg.mkPen(theme.accent, width=1))
        for side, item in self.markers.items():
            item.setPen(pg.mkPen(theme.measured, width=1.6))
            item.setBrush(pg.mkBrush(theme.measured if side == DRIVE else theme.plot))
        self.brackets.setPen(pg.mkPen(theme.moving, width=3))
        self.doubtful.setPen(pg.mkPen(theme.fault, width=2))
        self.doubtful.setBrush(pg.mkBrush(None))
        self.best.setPen(pg.mkPen(theme.accent, width=2.5))
        self.best.setBrush(pg.mkBrush(None))
        self.live.setPen(pg.mkPen(theme.plot, width=1))
        self.live.setBrush(pg.mkBrush(theme.accent))
        self._draw()

    def _keep_in_sight(self, values: list[float]) -> None:
        low, high = self.chart.view.viewRange()[1]
        if values and (min(values) < low or max(values) > high):
            self.fit()

    def _draw(self) -> None:
        theme = themes.current
        for item in (item for items in self._curves.values() for item in items):
            self.chart.remove_item(item)
        self._curves, self._areas = {}, {}
        torque = np.unique(np.append(np.linspace(*self._span, CURVE_POINTS), 0.0))
        self._balance.setData(torque, -torque)
        entries = [
            LegendEntry("points", "▼ lowest  △ highest", MEASURED),
            LegendEntry("balance", "τₑ = −τₘ", GOAL),
        ]
        for entry in self._models:
            entries.append(self._draw_model(entry, torque, theme))
        self.legend.set_entries(entries)
        for key in ("points", "balance", *self._curves):
            self._toggle(key, self.legend.shown(key))

    def _draw_model(self, entry: ModelEntry, torque: np.ndarray, theme: Theme) -> LegendEntry:
        alone = len(self._models) == 1
        diagram = drive_backdrive_diagram(entry.model, torque)
        curves: list[Any] = []
        for values, single in ((diagram.drive[:, 0], "drive"), (diagram.backdrive[:, 0], "backdrive")):
            curve = self.chart.add_curve(3)
            curve.setPen(pen(*(entry.style._replace(colour=single) if alone else entry.style)))
            curve.setData(*halves(torque, values))
            curves.append(curve)
        if entry.key == self._current or alone:
            shades = boundary_shades(theme) if alone else {"static": theme.goal}
            self._areas[entry.key] = plot_areas(diagram, shades, SHADE)
            curves += area_titles(self.chart, diagram, theme)
        self._curves[entry.key] = curves
        return LegendEntry(entry.key, entry.title, entry.style._replace(colour="drive") if alone else entry.style)

    def _toggle(self, key: str, on: bool) -> None:
        if key == "points":
            items: list[Any] = [*self.markers.values(), self.brackets, self.doubtful]
        elif key == "balance":
            items = [self._balance]
        else:
            items = self._curves.get(key, [])
        for item in items:
            item.setVisible(on)
        self.chart.clear_areas()
        for model, areas in self._areas.items():
            if self.legend.shown(model):
                for area in areas:
                    self.chart.add_area(area)
