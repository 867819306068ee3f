"""Measured and simulated motion over each other, runs end to end, and what is left between them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from bench_gui.compare.comparison import Picture
from bench_gui.headless.comparison_tables import GAP
from bench_gui.plots.chart import Chart, pen
from bench_gui.plots.legend import Legend, LegendEntry
from bench_gui.state.models import ModelEntry
from bench_gui.theme import Theme
from core.units import AngleUnit, milliradians

Array = NDArray[np.float64]
MOST_TITLES = 12
"""More runs than this are not named in the plot."""
MOST_WITH_ERRORS = 4
"""With more models than this the legend has no room for their errors."""
MEASURED_WIDTH, SIMULATED_WIDTH = 2.0, 1.5
MOST_WIDE = 32
"""More pieces of curves than this are drawn 1 px wide, which is ten times as fast and tells more."""


class ComparePlots(QWidget):
    """An overlay and its residual below, with one time axis."""

    def __init__(self) -> None:
        super().__init__()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        self.legend = Legend(self._toggle)
        column.addWidget(self.legend)
        self.overlay = Chart("Measured and simulated position", "Position", "rad")
        self.residual = Chart("Simulated minus measured", "Error", "mrad", bottom="Time, runs end to end [s]")
        self.overlay.headroom = 0.24
        charts = QVBoxLayout()
        charts.setSpacing(4)
        charts.addWidget(self.overlay, 7)
        charts.addWidget(self.residual, 6)
        self.body = QHBoxLayout()
        """The charts, with room for more beside them."""
        self.body.setSpacing(8)
        self.body.addLayout(charts, 1)
        column.addLayout(self.body, 1)
        self.residual.axes.setXLink(self.overlay.axes)
        for chart in (self.overlay, self.residual):
            chart.axes.setDownsampling(auto=True, mode="peak")
            chart.axes.setClipToView(True)
        self._zero = pg.InfiniteLine(0.0, angle=0)
        self.residual.axes.addItem(self._zero, ignoreBounds=True)
        self._theme: Theme | None = None
        self._unit: AngleUnit | None = None
        self._picture = Picture()
        self._curves: dict[str, list[Any]] = {}
        self._marks: list[Any] = []
        self.offsets: dict[str, tuple[float, float]] = {}
        """Run id to where it begins and ends on the time axis [s]."""

    def curve(self, key: str) -> Any:
        """The curve of "goal", "measured" or a model's key in the overlay."""
        return self._curves[key][0]

    def error_curve(self, key: str) -> Any:
        """The curve of a model's key in the residual."""
        return self._curves[key][1]

    @property
    def keys(self) -> list[str]:
        """What is drawn."""
        return list(self._curves)

    def set_theme(self, theme: Theme) -> None:
        """Take over a theme's colours."""
        self._theme = theme
        for chart in (self.overlay, self.residual):
            chart.set_theme(theme)
        self._zero.setPen(pg.mkPen(theme.muted, width=1))
        self.show_picture(self._picture)

    def set_unit(self, unit: AngleUnit) -> None:
        """Show angles in a unit."""
        self._unit = unit
        self.overlay.set_left("Position", unit.symbol)
        self.show_picture(self._picture)
        self.overlay.fit()

    def show_picture(self, picture: Picture) -> None:
        """Draw recordings, and simulations as far as they are there."""
        theme = self._theme
        another = [r.id for r in picture.recordings] != [r.id for r in self._picture.recordings]
        self._picture = picture
        if theme is None:
            return
        factor = self._unit.per_radian if self._unit else 1.0
        self._clear()
        self._lay_out(picture, theme)
        goal = _joined(
            (r.time - r.time[0] + self.offsets[r.id][0], r.goal_position * factor) for r in picture.recordings
        )
        measured = _joined(
            (r.time - r.time[0] + self.offsets[r.id][0], r.position * factor) for r in picture.recordings
        )
        pieces = len(picture.recordings) * (1 + len(picture.models))
        wide, thin = (MEASURED_WIDTH, SIMULATED_WIDTH) if pieces <= MOST_WIDE else (1.0, 1.0)
        entries = [
            LegendEntry("measured", "measured", theme.measured, width=MEASURED_WIDTH),
            LegendEntry("goal", "goal", theme.goal, width=1.0),
        ]
        self._draw("goal", "goal", self.overlay, goal, pen(theme.goal), 1)
        self._draw("measured", "measured", self.overlay, measured, pen(theme.measured, wide), 2)
        runs = picture.overlays.runs if picture.overlays is not None else ()
        for z, entry in enumerate(picture.models, start=3):
            colour = theme.model(entry.model.friction)
            entries.append(LegendEntry(entry.key, self._named(entry), colour, entry.dash, SIMULATED_WIDTH))
            there = [run for run in runs if entry.key in run.position and run.id in self.offsets]
            position = _joined((run.time + self.offsets[run.id][0], run.position[entry.key] * factor) for run in there)
            error = _joined((run.time + self.offsets[run.id][0], run.error[entry.key] * 1e3) for run in there)
            drawn = pen(colour, thin, entry.dash)
            self._draw(entry.key, entry.title, self.overlay, position, drawn, z)
            self._draw(entry.key, entry.title, self.residual, error, pen(colour), z)
        self.legend.set_entries(entries)
        for key in self._curves:
            self._toggle(key, self.legend.shown(key))
        if another:
            self.fit()

    @property
    def runs_in_sight(self) -> list[str]:
        """Ids of the runs within the part of the time axis that is seen."""
        low, high = self.overlay.view.viewRange()[0]
        return [run for run, (begin, end) in self.offsets.items() if begin <= high and end >= low]

    def fit(self) -> None:
        """Show everything."""
        self.overlay.fit()
        self.residual.fit()

    def show_run(self, run: str) -> None:
        """Zoom to one run; all of them for an id that is not there."""
        if run in self.offsets:
            begin, end = self.offsets[run]
            self.overlay.axes.setXRange(begin, end, padding=0.02)
        else:
            self.overlay.fit()

    def _lay_out(self, picture: Picture, theme: Theme) -> None:
        self.offsets = {}
        begin = 0.0
        for recording in picture.recordings:
            self.offsets[recording.id] = (begin, begin + recording.duration)
            if begin > 0.0:
                for chart in (self.overlay, self.residual):
                    self._marks.append((chart, chart.vertical_line(begin - GAP / 2)))
            if len(picture.recordings) <= MOST_TITLES:
                number = recording.id.split("_")[0]
                self._mark_run(f"{number}  {recording.trajectory}", begin, theme, len(picture.recordings))
            begin += recording.duration + GAP

    def _mark_run(self, title: str, at: float, theme: Theme, count: int) -> None:
        text = title if count <= 6 else title.split()[0]
        label = pg.TextItem(text, color=theme.muted, anchor=(0, 0))
        font = self.font()
        font.setPixelSize(11)
        label.setFont(font)
        view = self.overlay.view
        label.setParentItem(view)
        place = _TopLabel(view, label, at)
        self._marks.append((self.overlay, place))

    def _named(self, entry: ModelEntry) -> str:
        """A model with its mean error over the runs that are drawn."""
        overlays = self._picture.overlays
        mean = overlays.mean_mae.get(entry.key) if overlays is not None else None
        if mean is None or len(self._picture.models) > MOST_WITH_ERRORS:
            return entry.title
        return f"{entry.title}  {milliradians(mean)} mrad"

    def _draw(self, key: str, title: str, chart: Chart, data: tuple[Array, Array], drawn: Any, z: float) -> None:
        curve = chart.add_curve(z, title)
        curve.setPen(drawn)
        curve.setData(*data)
        self._curves.setdefault(key, []).append(curve)

    def _clear(self) -> None:
        for curves, chart in ((c, ch) for c in self._curves.values() for ch in (self.overlay, self.residual)):
            for curve in curves:
                if curve in chart.axes.items:
                    chart.removeItem(curve)
        self._curves = {}
        for chart, mark in self._marks:
            if isinstance(mark, _TopLabel):
                mark.remove()
            else:
                chart.removeItem(mark)
        self._marks = []

    def _toggle(self, key: str, on: bool) -> None:
        for curve in self._curves.get(key, ()):
            curve.setVisible(on)


class _TopLabel:
    """A text that stays at the top of the plot above its place on the time axis."""

    def __init__(self, view: Any, label: Any, at: float) -> None:
        self._view, self._label, self._at = view, label, at
        view.sigRangeChanged.connect(self._move)
        view.sigResized.connect(self._move)
        self._move()

    def remove(self) -> None:
        """Take it away."""
        self._view.sigRangeChanged.disconnect(self._move)
        self._view.sigResized.disconnect(self._move)
        self._label.setParentItem(None)
        scene = self._label.scene()
        if scene is not None:
            scene.removeItem(self._label)

    def _move(self, *_: Any) -> None:
        (low, high), _y = self._view.viewRange()
        x = (self._at - low) / (high - low) * self._view.width() if high > low else 0.0
        self._label.setPos(x, 2)
        self._label.setVisible(-20 <= x < self._view.width() - 20)


def _joined(pieces: Any) -> tuple[Array, Array]:
    """Curves one after the other with a gap between them."""
    xs: list[Array] = []
    ys: list[Array] = []
    for x, y in pieces:
        xs += [x, x[-1:] + GAP / 2]
        ys += [y, np.array([np.nan])]
    if not xs:
        return np.empty(0), np.empty(0)
    return np.concatenate(xs), np.concatenate(ys)
