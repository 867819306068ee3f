"""Charts of one case on an arm, as in Fig. 1 of seed 004: path of the tip, joint angles and errors."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QSplitter, QWidget

from bench_gui.plots.chart import Chart, pen
from bench_gui.plots.curves import Curves
from bench_gui.plots.export import gather, on_paper
from bench_gui.plots.legend import Legend, LegendEntry
from bench_gui.plots.stack import stacked
from bench_gui.plots.styles import CATALOGUE_DASH, FILE_DASH, GOAL, IDENTIFIED_DASH, MEASURED, Style
from bench_gui.studies.arm.compute import CHOSEN, FITTED, OWN, PUBLISHED, ArmView
from bench_gui.studies.arm.table import named
from bench_gui.theme import themes
from bench_gui.widgets.fields import vbox
from core.base.units import AngleUnit
from core.document.plot import Array, CurvePanel, Plot

TRUTH, TRUE = "truth", MEASURED._replace(width=2.0)
DASHES = {FITTED: FILE_DASH, PUBLISHED: CATALOGUE_DASH, OWN: IDENTIFIED_DASH, CHOSEN: IDENTIFIED_DASH}
PAPER_SHAPE = 1.77
"""Aspect ratio of the axes of a single exported plot; it keeps circles round."""


class ArmPlots(QWidget):
    """Plane of the arm at the left, joint angles and errors over time at the right, with a common legend."""

    def __init__(self) -> None:
        super().__init__()
        column = vbox(self, spacing=4)
        self._curves = Curves()
        self.legend = Legend(self._curves.toggle)
        column.addWidget(self.legend)
        self.plane = Chart("Path of the arm's tip in its plane", "z", "m", bottom="x [m]")
        self.plane.view.setAspectLocked(True)
        self.shoulder = Chart("Angle of the shoulder", "Shoulder", "rad")
        self.elbow = Chart("Angle of the elbow", "Elbow", "rad")
        self.error = Chart("Mean error of both joints", "Error", "mrad", bottom="Time [s]")
        self.over_time = (self.shoulder, self.elbow, self.error)
        times = stacked(self.over_time, (5, 5, 7), 45)
        splitter = QSplitter(Qt.Orientation.Horizontal)
        splitter.setChildrenCollapsible(False)
        splitter.setHandleWidth(8)
        splitter.addWidget(self.plane)
        splitter.addWidget(times)
        splitter.setSizes([370, 500])
        self.body = QHBoxLayout()
        """Row of the charts; callers append the readout to it."""
        self.body.setSpacing(8)
        self.body.addWidget(splitter, 1)
        column.addLayout(self.body, 1)
        self._unit: AngleUnit | None = None
        self._view: ArmView | None = None
        self._measured = False
        self._arm = pg.PlotDataItem(symbol="o", symbolSize=8)
        self._arm.setZValue(-1)
        self.plane.add_item(self._arm)
        themes.follow(self._paint)

    @property
    def keys(self) -> list[str]:
        """Keys of the drawn curves: "goal", TRUTH and names of models."""
        return self._curves.keys

    def set_unit(self, unit: AngleUnit) -> None:
        """Set the unit of angles; errors stay in mrad."""
        self._unit = unit
        for chart, name in ((self.shoulder, "Shoulder"), (self.elbow, "Elbow")):
            chart.set_left(name, unit.symbol)
        self._draw()
        self.fit()

    def show_view(self, view: ArmView | None, measured: bool) -> None:
        """Draw a case.

        Args:
            view: Case to draw; None clears the charts.
            measured: True if the reference was measured instead of simulated.
        """
        another = view is not self._view
        self._view, self._measured = view, measured
        self._draw()
        if another:
            self.fit()

    def fit(self) -> None:
        """Zoom to the full extent of all curves."""
        for chart in (self.plane, *self.over_time):
            chart.fit()

    def plane_contents(self, title: str) -> Plot:
        """Return the plane for export: complete curves, with equal scales on both axes."""
        contents = gather((self.plane,), title)
        plane = next(iter(contents.panels), None)
        if not isinstance(plane, CurvePanel):
            return contents
        (low, high), (bottom, top) = self.plane.view.viewRange()
        width = max(high - low, PAPER_SHAPE * (top - bottom))
        x, y = (high + low) / 2.0, (top + bottom) / 2.0
        # Curves are not clipped to the visible range: a path that leaves it and returns would be joined by a line.
        panel = replace(
            plane,
            x_range=(x - width / 2.0, x + width / 2.0),
            y_range=(y - width / PAPER_SHAPE / 2.0, y + width / PAPER_SHAPE / 2.0),
            curves=tuple(replace(curve, colour=on_paper(curve.colour)) for curve in self.plane.seen()),
        )
        return Plot(title, (panel,))

    def _paint(self) -> None:
        theme = themes.current
        self._arm.setPen(pen(theme.separator, 5.0))
        self._arm.setSymbolBrush(pg.mkBrush(theme.separator))
        self._arm.setSymbolPen(pg.mkPen(theme.muted))
        self._draw()

    def _draw(self) -> None:
        view = self._view
        self._curves.clear()
        if view is None:
            self._arm.setData([], [])
            self.legend.set_entries([])
            return
        self._arm.setData(*view.rest.T)
        truth = "measured" if self._measured else "true"
        entries = [
            LegendEntry(TRUTH, truth, TRUE),
            LegendEntry("goal", "goal", GOAL),
        ]
        self._motion("goal", "goal", view.goal, view.goal_tip, GOAL, 1)
        self._motion(TRUTH, truth, view.reference, view.reference_tip, TRUE, 2)
        for z, track in enumerate(view.tracks, start=3):
            style = Style(track.friction, 1.5, DASHES[track.origin])
            entries.append(LegendEntry(track.name, named(track, len(view.tracks)), style))
            self._motion(track.name, track.title, track.angles, track.tip, style, z)
            away = 1e3 * np.abs(track.angles - view.reference).mean(axis=1)
            self._curves.add(self.error, track.name, track.title, view.time, away, style, z)
        self.legend.set_entries(entries)
        self._curves.follow(self.legend)

    def _motion(self, key: str, title: str, angles: Array, tip: Array, style: Style, z: float) -> None:
        assert self._view is not None
        factor = self._unit.per_radian if self._unit is not None else 1.0
        self._curves.add(self.plane, key, title, tip[:, 0], tip[:, 1], style, z)
        for chart, column in zip((self.shoulder, self.elbow), angles.T, strict=True):
            self._curves.add(chart, key, title, self._view.time, column * factor, style, z)
