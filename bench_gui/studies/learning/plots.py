"""Charts of a learning, as in Fig. 15 of seed 003: error by iteration, and motion and input of one iteration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QSplitter, QWidget

from bench_gui.plots.chart import Chart
from bench_gui.plots.curves import Curves
from bench_gui.plots.legend import Legend, LegendEntry
from bench_gui.plots.stack import LEGIBLE
from bench_gui.plots.styles import CATALOGUE_DASH, GOAL, IDENTIFIED_DASH, MEASURED, Style
from bench_gui.studies.learning.compute import LearningJob
from bench_gui.theme import Theme, themes
from bench_gui.widgets.fields import vbox
from core.base.units import AngleUnit
from core.document.plot import Array
from core.servo.terms import FRICTION_MODELS, RICHEST
from core.studies.compliant.learning import Iteration

REFERENCE, INPUT, LINK, FIRST = "reference", "input", "link", "first"
JOINT_KEYS = ("joint 1", "joint 2")
TOLERANCE, TOLERATED = "tolerance", Style("goal", dash=CATALOGUE_DASH)
JOINT_MODELS = ("m4", "m3")
"""Models whose colours mark joint 1 and joint 2 in a common plot."""
LINK_MODEL, FIRST_MODEL = RICHEST, FRICTION_MODELS[0]
"""Models whose colours mark the links in the shown iteration and in the first one."""
SYMBOL = 8
"""Size of the mark of an iteration [px]."""
HEAD_WIDTH = 300


class LearningPlots(QWidget):
    """Errors by iteration at the left; both joints and their errors over time at the right."""

    chosen = Signal(int)
    """Emitted with the number of the iteration that the user chose."""

    def __init__(self) -> None:
        super().__init__()
        self._unit: AngleUnit | None = None
        self._job: LearningJob | None = None
        self._iterations: Sequence[Iteration] = ()
        self._shown: Iteration | None = None
        self._curves = Curves()
        self._mark: Any = None
        self.by_iteration = Chart("Largest error by iteration", "Largest error", "mrad", bottom="Iteration", log=True)
        self.by_iteration.setToolTip("Click a point to show that iteration; drag to move, scroll to zoom")
        self.joint_1 = Chart("Angle of joint 1", "Joint 1", "rad")
        self.joint_2 = Chart("Angle of joint 2", "Joint 2", "rad")
        self.error = Chart("Errors of both joints", "Error", "mrad", bottom="Time [s]")
        self.over_time = (self.joint_1, self.joint_2, self.error)
        self.error_legend, self.legend = Legend(self._curves.toggle), Legend(self._curves.toggle)
        self.head = QHBoxLayout()
        """Row above the errors by iteration; callers append the choice of iteration to it."""
        self.row = QHBoxLayout()
        """Row of the charts; callers append the readout to it."""
        self._build()
        themes.changed.connect(self._draw)

    def _build(self) -> None:
        left, right = QWidget(), QWidget()
        for part, legend, charts in (
            (left, self.error_legend, [(self.by_iteration, 1)]),
            (right, self.legend, [(self.joint_1, 6), (self.joint_2, 6), (self.error, 7)]),
        ):
            column = vbox(part, spacing=4)
            if part is left:
                column.addLayout(self.head)
            column.addWidget(legend)
            for chart, share in charts:
                chart.setMinimumHeight(LEGIBLE)
                column.addWidget(chart, share)
        for chart in (self.joint_2, self.error):
            chart.view.setXLink(self.joint_1.view)
        splitter = QSplitter(Qt.Orientation.Horizontal)
        splitter.setChildrenCollapsible(False)
        splitter.setHandleWidth(8)
        splitter.addWidget(left)
        splitter.addWidget(right)
        splitter.setSizes([HEAD_WIDTH, 480])
        self.row.addWidget(splitter, 1)
        self.row.setSpacing(8)
        column = vbox(self)
        column.addLayout(self.row, 1)

    @property
    def keys(self) -> list[str]:
        """Keys of the drawn curves."""
        return self._curves.keys

    def set_unit(self, unit: AngleUnit) -> None:
        """Set the unit of angles; errors stay in mrad."""
        self._unit = unit
        for chart, name in ((self.joint_1, "Joint 1"), (self.joint_2, "Joint 2")):
            chart.set_left(name, unit.symbol)
        self._draw()
        self.fit()

    def show_learning(self, job: LearningJob | None, iterations: Sequence[Iteration], shown: Iteration | None) -> None:
        """Draw the errors of a learning, and one of its iterations over time."""
        another = job is not self._job or len(iterations) != len(self._iterations)
        self._job, self._iterations, self._shown = job, tuple(iterations), shown
        self._draw()
        if another:
            self.fit()

    def fit(self) -> None:
        """Zoom to the full extent of all curves."""
        for chart in (self.by_iteration, *self.over_time):
            chart.fit()

    def _draw(self) -> None:
        theme = themes.current
        self._curves.clear()
        if self._mark is not None:
            self.by_iteration.remove_item(self._mark)
            self._mark = None
        self._draw_errors(theme)
        self._draw_motion()
        for key in self._curves.keys:
            legend = self.error_legend if key in (*JOINT_KEYS, TOLERANCE) else self.legend
            self._curves.toggle(key, legend.shown(key))

    def _draw_errors(self, theme: Theme) -> None:
        entries = []
        if self._iterations and self._job is not None:
            numbers = np.array([float(each.number) for each in self._iterations])
            worst = 1e3 * np.array([each.worst for each in self._iterations])
            for joint, (key, model) in enumerate(zip(JOINT_KEYS, JOINT_MODELS, strict=True)):
                colour = theme.model(model)
                curve = self._curves.add(
                    self.by_iteration,
                    key,
                    f"Largest error, {key}",
                    numbers,
                    np.log10(worst[:, joint]),
                    Style(model, 1.5),
                )
                curve.setSymbol("o")
                curve.setSymbolSize(SYMBOL)
                curve.setSymbolBrush(pg.mkBrush(colour))
                curve.setSymbolPen(pg.mkPen(theme.plot))
                curve.sigPointsClicked.connect(lambda _, points: self.chosen.emit(round(points[0].pos().x())))
                entries.append(LegendEntry(key, key, Style(model, 1.5)))
            across = np.array([0.5, max(numbers[-1], self._job.law.iterations) + 0.5])
            level = np.full(2, np.log10(1e3 * self._job.law.tolerance))
            self._curves.add(self.by_iteration, TOLERANCE, "Tolerance", across, level, TOLERATED)
            entries.append(LegendEntry(TOLERANCE, "tolerance", TOLERATED))
        self.error_legend.set_entries(entries)
        if self._shown is not None:
            self._mark = self.by_iteration.vertical_line(float(self._shown.number))

    def _draw_motion(self) -> None:
        job, shown = self._job, self._shown
        if job is None or shown is None:
            self.legend.set_entries([])
            return
        factor = self._unit.per_radian if self._unit is not None else 1.0
        time, first = job.reference.time, self._iterations[0]
        drawn: list[tuple[LegendEntry, Array]] = [
            (LegendEntry(REFERENCE, "reference", MEASURED._replace(width=2.0)), job.reference.angles),
            (LegendEntry(INPUT, "input", GOAL), shown.equilibrium),
            (LegendEntry(LINK, "link", Style(LINK_MODEL, 1.5, IDENTIFIED_DASH)), shown.position),
        ]
        if shown is not first:
            at_first = LegendEntry(FIRST, "link at first", Style(FIRST_MODEL, 1.2, CATALOGUE_DASH))
            drawn.append((at_first, first.position))
        self.legend.set_entries([entry for entry, _ in drawn])
        for z, (entry, angles) in enumerate(drawn):
            for chart, column in zip((self.joint_1, self.joint_2), angles.T, strict=True):
                self._curves.add(
                    chart, entry.key, entry.title.capitalize(), time, column * factor,
                    entry.style, z,
                )  # fmt: skip
        for joint, (key, model) in enumerate(zip(JOINT_KEYS, JOINT_MODELS, strict=True)):
            error = 1e3 * shown.error[:, joint]
            self._curves.add(self.error, key, f"Error, {key}", time, error, Style(model, 1.2))
        for sign in (1.0, -1.0):
            level = np.full(2, sign * 1e3 * job.law.tolerance)
            self._curves.add(
                self.error, TOLERANCE, f"Tolerance, {'upper' if sign > 0 else 'lower'}", time[[0, -1]], level,
                TOLERATED,
            )  # fmt: skip
