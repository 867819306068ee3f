"""Charts of a channel, measured and simulated, runs end to end; below: error, spectrum, or two models' difference."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtCore import Signal
from PySide6.QtGui import QFont, QFontMetrics
from PySide6.QtWidgets import QHBoxLayout, QStackedWidget, QWidget

from bench_gui.compare.channels import Shown, shown
from bench_gui.compare.comparison import POSITION, Picture
from bench_gui.headless.comparison_tables import GAP
from bench_gui.plots.chart import TICK_SIZE, Chart, pen, sized
from bench_gui.plots.curves import Curves
from bench_gui.plots.legend import Legend, LegendEntry
from bench_gui.state.models import ModelEntry
from bench_gui.theme import Theme, themes
from bench_gui.widgets.fields import vbox
from bench_gui.work.simulations import SimulatedRun
from core.base.units import RADIANS, AngleUnit, milliradians
from core.motion.trajectories import title_of
from core.servo.bench import Bench

Array = NDArray[np.float64]
MOST_TITLES = 12
"""With more runs than this, the plot does not name them."""
MOST_WITH_ERRORS = 4
"""With more models than this, the legend has no room for their errors."""
MEASURED_WIDTH, SIMULATED_WIDTH = 2.0, 1.5
MOST_WIDE = 32
"""With more curve pieces than this, lines are 1 px wide: ten times as fast and easier to read."""
TIME = "Time, runs end to end [s]"
ERROR, SPECTRUM, DIFFERENCE = range(3)
"""Choices of the lower chart."""


class ComparePlots(QWidget):
    """Overlay with a lower chart that shares its time axis."""

    drawn = Signal()
    """Emitted when other curves are drawn."""

    def __init__(self) -> None:
        super().__init__()
        column = vbox(self, spacing=4)
        self.legend = Legend(lambda key, on: self._curves.toggle(key, on))
        column.addWidget(self.legend)
        self.overlay = Chart("Measured and simulated position", "Position", "rad")
        self.residual = Chart("Simulated minus measured", "Error", "mrad", bottom=TIME)
        self.overlay.headroom = 0.24
        charts = vbox(spacing=4)
        charts.addWidget(self.overlay, 7)
        self._lower = QStackedWidget()
        self._lower.addWidget(self.residual)
        charts.addWidget(self._lower, 6)
        self.body = QHBoxLayout()
        """Layout with the charts and room for more beside them."""
        self.body.setSpacing(8)
        self.body.addLayout(charts, 1)
        column.addLayout(self.body, 1)
        self.residual.view.setXLink(self.overlay.view)
        for chart in (self.overlay, self.residual):
            chart.decimated = True
        self._zero = pg.InfiniteLine(0.0, angle=0)
        self.residual.add_item(self._zero)
        # One item for all runs: a line each would take half of the time of drawing 25 runs.
        self._gaps = [pg.VTickGroup() for _ in range(2)]
        for chart, gaps in zip((self.overlay, self.residual), self._gaps, strict=True):
            chart.add_item(gaps)
        self._unit = RADIANS
        self._picture = Picture()
        self._zoomed = False
        """True once the user has zoomed or moved the plots of these runs."""
        self.overlay.view.sigRangeChangedManually.connect(self._zoom)
        self.residual.view.sigRangeChangedManually.connect(self._zoom)
        self.below = ERROR
        self._pair = ("", "")
        self.difference: float | None = None
        """Mean absolute difference of the two models in the channel's unit of errors; None without one."""
        self._curves = Curves()
        self._titles: list[_TopLabel] = []
        self.offsets: dict[str, tuple[float, float]] = {}
        """Start and end of each run on the time axis [s], by run id."""
        themes.follow(self._paint)

    def curve(self, key: str) -> Any:
        """Curve of "goal", "measured" or a model's key in the overlay."""
        return self._curves.of(key)[0]

    @property
    def keys(self) -> list[str]:
        """Keys of what is drawn."""
        return self._curves.keys

    @cached_property
    def spectrum(self) -> Chart:
        """Chart of the error over frequency, made when it is first shown."""
        chart = Chart("Spectrum of the error", "Error", "mrad/√Hz", bottom="Frequency [Hz]", log=True)
        self._lower.addWidget(chart)
        return chart

    @property
    def lower(self) -> Chart:
        """The lower chart."""
        return self.spectrum if self.below == SPECTRUM else self.residual

    def set_unit(self, unit: AngleUnit) -> None:
        """Show angles in a unit."""
        self._unit = unit
        self.show_picture(self._picture)
        self.overlay.fit()

    def show_below(self, what: int, pair: tuple[str, str]) -> None:
        """Show ERROR, SPECTRUM or DIFFERENCE in the lower chart; pair: keys of the two models for DIFFERENCE."""
        another, self.below, self._pair = what != self.below, what, pair
        self._lower.setCurrentWidget(self.lower)
        self.overlay.set_bottom(TIME if what == SPECTRUM else "")
        self.show_picture(self._picture)
        if another and not self._zoomed:
            self.lower.fit()

    def show_picture(self, picture: Picture) -> None:
        """Draw recordings, and the simulations that are ready."""
        theme = themes.current
        another = [picture.channel, *(r.id for r in picture.recordings)] != [
            self._picture.channel, *(r.id for r in self._picture.recordings)
        ]  # fmt: skip
        simulated = picture.overlays is not self._picture.overlays
        self._picture = picture
        self._clear()
        self._lay_out(picture, theme)
        channel = shown(picture.channel, self._unit)
        self._name_axes(channel)
        pieces = len(picture.recordings) * (1 + len(picture.models))
        wide, thin = (MEASURED_WIDTH, SIMULATED_WIDTH) if pieces <= MOST_WIDE else (1.0, 1.0)
        measured = self._measured(picture.channel, channel.factor)
        entries = []
        if len(measured[0]):
            entries.append(LegendEntry("measured", "measured", theme.measured, width=MEASURED_WIDTH))
        if picture.channel == POSITION:
            entries.append(LegendEntry("goal", "goal", theme.goal, width=1.0))
            self._draw(
                "goal", "goal", self.overlay, self._measured("goal_position", channel.factor), pen(theme.goal), 1
            )
        self._draw("measured", "measured", self.overlay, measured, pen(theme.measured, wide), 2)
        for z, entry in enumerate(picture.models, start=3):
            colour = theme.model(entry.model.friction)
            entries.append(LegendEntry(entry.key, self._named(entry), colour, entry.dash, SIMULATED_WIDTH))
            drawn = pen(colour, thin, entry.dash)
            self._draw(entry.key, entry.title, self.overlay, self._simulated(entry.key, channel.factor), drawn, z)
            self._draw_below(entry, channel, pen(colour), z)
        if self.below == DIFFERENCE:
            self._draw_difference(channel, pen(theme.accent))
        self.legend.set_entries(entries)
        self._curves.follow(self.legend)
        if another or (simulated and not self._zoomed):
            self.fit()
        self.drawn.emit()

    @property
    def runs_in_sight(self) -> list[str]:
        """Ids of the runs in the visible part of the time axis."""
        low, high = self.overlay.view.viewRange()[0]
        return [run for run, (begin, end) in self.offsets.items() if begin <= high and end >= low]

    def fit(self) -> None:
        """Show everything."""
        self._zoomed = False
        self.overlay.fit()
        self.lower.fit()

    def at(self, time: float) -> tuple[Bench | None, dict[str, float]]:
        """Return the bench and positions at a time on the axis.

        Args:
            time: place on the time axis [s].

        Returns:
            Bench of the run, None between runs; positions [rad] by "measured" and model key.
        """
        run = next((run for run, (begin, end) in self.offsets.items() if begin <= time <= end), "")
        recording = next((r for r in self._picture.recordings if r.id == run), None)
        if recording is None:
            return None, {}
        moment = time - self.offsets[run][0]
        found = {"measured": float(np.interp(moment, recording.time - recording.time[0], recording.position))}
        for simulated in self._simulated_runs():
            if simulated.id == run:
                for key, position in simulated.position.items():
                    found[key] = float(np.interp(moment, simulated.time, position))
        return recording.bench, found

    def colour(self, key: str) -> str:
        """Colour of a key that `at` returns."""
        theme = themes.current
        entry = next((entry for entry in self._picture.models if entry.key == key), None)
        return theme.measured if entry is None else theme.model(entry.model.friction)

    def show_run(self, run: str) -> None:
        """Zoom to one run, or show all runs for an unknown id."""
        self._zoomed = run in self.offsets
        if run in self.offsets:
            begin, end = self.offsets[run]
            self.overlay.view.setXRange(begin, end, padding=0.02)
        else:
            self.overlay.fit()

    def _paint(self) -> None:
        self._zero.setPen(pg.mkPen(themes.current.muted, width=1))

    def _zoom(self, *_: Any) -> None:
        self._zoomed = True

    def _lay_out(self, picture: Picture, theme: Theme) -> None:
        self.offsets = {}
        begin = 0.0
        for recording in picture.recordings:
            self.offsets[recording.id] = (begin, begin + recording.duration)
            if len(picture.recordings) <= MOST_TITLES:
                number = recording.id.split("_")[0]
                title = _TopLabel(
                    self.overlay.view, f"{number}  {title_of(recording.trajectory)}", number, theme.muted, self.font()
                )
                title.place(begin, begin + recording.duration)
                self._titles.append(title)
            begin += recording.duration + GAP
        for gaps in self._gaps:
            gaps.setPen(theme.separator)
            gaps.setXVals([begin - GAP / 2 for begin, _ in self.offsets.values() if begin > 0.0])
            gaps.update()

    def _named(self, entry: ModelEntry) -> str:
        """Title of a model with its mean error over the drawn runs."""
        overlays = self._picture.overlays
        mean = overlays.mean_mae.get(entry.key) if overlays is not None else None
        if mean is None or len(self._picture.models) > MOST_WITH_ERRORS:
            return entry.title
        return f"{entry.title}  {milliradians(mean)} mrad"

    def _name_axes(self, channel: Shown) -> None:
        self.overlay.set_left(channel.title, channel.unit)
        name = channel.title.lower()
        missing = f"These runs do not contain {name}, and no model simulates it"
        waiting = "Simulating…" if self._picture.models else "No models chosen: choose models at the right"
        none = f"Models do not simulate {name}, or these runs do not contain it"
        if not self._picture.recordings:
            missing = waiting = Chart.empty_text
        self.overlay.empty_text = missing
        runs = self._simulated_runs()
        self.lower.empty_text = none if any(run.position for run in runs) else waiting
        if self.below == DIFFERENCE:
            self.residual.set_left("Difference", channel.error_unit)
            self.residual.empty_text = "Choose two of the compared models at the right" if "" in self._pair else none
        else:
            self.residual.set_left("Error", channel.error_unit)
        if self.below == SPECTRUM:
            self.spectrum.set_left("Error", f"{channel.error_unit or 1}/√Hz")

    def _simulated_runs(self) -> list[SimulatedRun]:
        overlays = self._picture.overlays
        return [run for run in overlays.runs if run.id in self.offsets] if overlays is not None else []

    def _measured(self, name: str, factor: float) -> tuple[Array, Array]:
        return _joined(
            (r.time - r.time[0] + self.offsets[r.id][0], r.channels[name] * factor)
            for r in self._picture.recordings
            if name in r.channels
        )

    def _simulated(self, key: str, factor: float) -> tuple[Array, Array]:
        runs = [run for run in self._simulated_runs() if key in run.shown]
        return _joined((run.time + self.offsets[run.id][0], run.shown[key] * factor) for run in runs)

    def _draw_below(self, entry: ModelEntry, channel: Shown, drawn: Any, z: float) -> None:
        overlays = self._picture.overlays
        if self.below == ERROR:
            runs = [run for run in self._simulated_runs() if entry.key in run.error]
            error = _joined(
                (run.time + self.offsets[run.id][0], run.error[entry.key] * channel.error_factor) for run in runs
            )
            self._draw(entry.key, entry.title, self.residual, error, drawn, z)
        elif self.below == SPECTRUM and overlays is not None and entry.key in overlays.spectrum:
            frequency, density = overlays.spectrum[entry.key]
            level = np.log10(np.maximum(density * channel.error_factor, 1e-12))
            self._draw(entry.key, entry.title, self.spectrum, (frequency, level), drawn, z)

    def _draw_difference(self, channel: Shown, drawn: Any) -> None:
        one, other = self._pair
        titles = {entry.key: entry.title for entry in self._picture.models}
        runs = [run for run in self._simulated_runs() if one in run.shown and other in run.shown]
        if not runs or one not in titles or other not in titles:
            self.difference = None
            return
        gaps = [(run.shown[one] - run.shown[other]) * channel.error_factor for run in runs]
        self.difference = float(np.mean(np.abs(np.concatenate(gaps))))
        joined = _joined((r.time + self.offsets[r.id][0], gap) for r, gap in zip(runs, gaps, strict=True))
        self._draw("difference", f"{titles[one]} − {titles[other]}", self.residual, joined, drawn, 3)

    def _draw(self, key: str, title: str, chart: Chart, data: tuple[Array, Array], drawn: Any, z: float) -> None:
        self._curves.add(chart, key, title, *data, drawn, z)

    def _clear(self) -> None:
        self._curves.clear()
        for title in self._titles:
            title.remove()
        self._titles = []


class _TopLabel:
    """Text at the top of the plot over a stretch of the time axis; a shorter text if the stretch is short."""

    def __init__(self, view: Any, text: str, short: str, colour: str, font: QFont) -> None:
        self._view, self._texts, self._span = view, (text, short), (0.0, 0.0)
        self._label: Any = pg.TextItem(text, color=colour, anchor=(0, 0))
        self._label.setFont(sized(font, TICK_SIZE))
        self._label.setParentItem(view)
        view.sigRangeChanged.connect(self._move)
        view.sigResized.connect(self._move)

    def place(self, begin: float, end: float) -> None:
        """Place the text over this stretch [s]."""
        self._span = begin, end
        self._move()

    def remove(self) -> None:
        """Remove the text."""
        self._view.sigRangeChanged.disconnect(self._move)
        self._view.sigResized.disconnect(self._move)
        self._label.setParentItem(None)
        scene = self._label.scene()
        if scene is not None:
            scene.removeItem(self._label)

    def _move(self, *_: Any) -> None:
        (low, high), _y = self._view.viewRange()
        scale = self._view.width() / (high - low) if high > low else 0.0
        x = (self._span[0] - low) * scale
        text, short = self._texts
        fits = (
            QFontMetrics(self._label.textItem.font()).horizontalAdvance(text) + 8
            < (self._span[1] - self._span[0]) * scale
        )
        self._label.setText(text if fits else short)
        self._label.setPos(x, 2)
        self._label.setVisible(-20 <= x < self._view.width() - 20)


def _joined(pieces: Any) -> tuple[Array, Array]:
    """Concatenate curves with gaps between them."""
    xs: list[Array] = []
    ys: list[Array] = []
    for x, y in pieces:
        xs += [x, x[-1:] + GAP / 2]
        ys += [y, np.array([np.nan])]
    if not xs:
        return np.empty(0), np.empty(0)
    return np.concatenate(xs), np.concatenate(ys)
