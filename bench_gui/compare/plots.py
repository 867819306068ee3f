"""A channel of several runs, measured and simulated, side by side; below each: the error, or two models' difference."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtCore import QTimer, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QGridLayout, QHBoxLayout, QScrollArea, QToolButton, QWidget

from bench_gui.compare.channels import Shown, shown
from bench_gui.compare.comparison import MOST_DRAWN, Picture
from bench_gui.plots.chart import Chart
from bench_gui.plots.curves import Curves
from bench_gui.plots.export import gather
from bench_gui.plots.legend import Legend, LegendEntry
from bench_gui.plots.styles import GOAL, MEASURED, Style
from bench_gui.state.models import ModelEntry
from bench_gui.theme import themes
from bench_gui.widgets.fields import tool, vbox
from bench_gui.work.simulations import SimulatedRun
from core.base.units import RADIANS, AngleUnit, milliradians
from core.document.plot import Plot
from core.motion.recording import Recording
from core.motion.trajectories import title_of
from core.servo.bench import Bench

Array = NDArray[np.float64]
NARROWEST, LOWEST = 230, 220
"""Smallest size of a run's plots [px]; what does not fit is scrolled."""
MOST_WITH_ERRORS = 4
"""With more models than this, the legend has no room for their errors."""
MEASURED_WIDTH = 2.0
MOST_WIDE = 32
"""With more curve pieces than this, lines are 1 px wide: ten times as fast and easier to read."""
REST = 60
"""Rest of a plot until the others follow: moving all of them for every frame would take 70 ms [ms]."""
TIME = "Time [s]"
ERROR, SPECTRUM, DIFFERENCE = range(3)
"""Choices of the lower chart."""


class _Plot(Chart):
    """Chart that is fitted with all others."""

    def __init__(self, name: str, left: str, unit: str, bottom: str, fit_all: Callable[[], object]) -> None:
        super().__init__(name, left, unit, bottom=bottom)
        self.fit_all = fit_all
        self.decimated = True
        self.view.disableAutoRange()

    def fit(self) -> None:
        self.fit_all()


class RunPlots(QWidget):
    """One run: its title, its motion and, below, the error."""

    def __init__(self, fit_all: Callable[[], object], enlarge: Callable[[str], object]) -> None:
        super().__init__()
        self.run = ""
        self.title: QToolButton = tool("Run", "Show only this run, or all of them again")
        self.title.clicked.connect(lambda: enlarge(self.run))
        self.overlay = _Plot("Measured and simulated position", "Position", "rad", "", fit_all)
        self.residual = _Plot("Simulated minus measured", "Error", "mrad", TIME, fit_all)
        self.zero = pg.InfiniteLine(0.0, angle=0)
        self.residual.add_item(self.zero)
        column = vbox(self, spacing=0)
        column.addWidget(self.title)
        column.addWidget(self.overlay, 1)
        column.addWidget(self.residual, 1)
        themes.follow(self._paint)

    def _paint(self) -> None:
        self.zero.setPen(pg.mkPen(themes.current.muted, width=1))

    def show_run(self, recording: Recording | None) -> None:
        """Name a run; None: none is there."""
        self.run = "" if recording is None else recording.id
        of = () if recording is None else (recording.id.split("_")[0], title_of(recording.trajectory), recording.joint)
        text = "  ".join(filter(None, of))
        self.title.setText(text)
        self.title.setVisible(bool(text))
        for chart in (self.overlay, self.residual):
            chart.belongs_to = text


class _Scroll(QScrollArea):
    """Area whose content is arranged again for another size, also beside a readout or a scroll bar."""

    def __init__(self, arrange: Callable[[], object]) -> None:
        super().__init__()
        self._arrange = arrange

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()


class ComparePlots(QWidget):
    """Plots of each run, which share their ranges, in as many columns as fit."""

    drawn = Signal()
    """Emitted when other curves are drawn."""

    def __init__(self) -> None:
        super().__init__()
        column = vbox(self, spacing=4)
        self.legend = Legend(lambda key, on: self._curves.toggle(key, on))
        column.addWidget(self.legend)
        self.cells = [RunPlots(self.fit, self._enlarge) for _ in range(MOST_DRAWN)]
        holder = QWidget()
        self._grid = QGridLayout(holder)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setSpacing(4)
        self._scroll = _Scroll(self._arrange)
        self._scroll.setFrameShape(QFrame.Shape.NoFrame)
        self._scroll.setWidgetResizable(True)
        self._scroll.setWidget(holder)
        self._charts = vbox(spacing=4)
        self._charts.addWidget(self._scroll, 7)
        self.body = QHBoxLayout()
        """Layout with the charts and room for more beside them."""
        self.body.setSpacing(8)
        self.body.addLayout(self._charts, 1)
        column.addLayout(self.body, 1)
        self._sharing = False
        self._rest = QTimer(self)
        """Time after a movement until the plots of the other runs follow."""
        self._rest.setSingleShot(True)
        self._rest.timeout.connect(lambda: self._share(self._moved, self.charts))
        self._moved = self.cells[0].overlay
        for chart in self.charts:
            chart.view.sigRangeChanged.connect(lambda *_, chart=chart: self._follow(chart))
            chart.view.sigRangeChangedManually.connect(self._zoom)
        self._unit, self._doing = RADIANS, ""
        self._picture = Picture()
        self._alone = ""
        """Id of the run that is shown alone; empty: all are shown."""
        self._zoomed = False
        """True once the user has zoomed or moved the plots of these runs."""
        self.below = ERROR
        self._pair = ("", "")
        self.difference: float | None = None
        """Mean absolute difference of the two models in the channel's unit of errors; None without one."""
        self._curves = Curves()
        self._columns = 1

    @property
    def charts(self) -> list[Chart]:
        """The charts that share their time axis, run by run."""
        return [chart for cell in self.cells for chart in (cell.overlay, cell.residual)]

    @property
    def shown(self) -> dict[str, RunPlots]:
        """Plots of the visible runs, by run id."""
        return {cell.run: cell for cell in self.cells if cell.run and self._alone in ("", cell.run)}

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
        self._charts.addWidget(chart, 6)
        return chart

    def exported(self, title: str) -> Plot:
        """The visible plots, arranged as on the page."""
        cells, wide = list(self.shown.values()), self._columns
        kinds = ("overlay",) if self.below == SPECTRUM else ("overlay", "residual")
        charts: list[Chart | None] = []
        for first in range(0, len(cells), wide):
            row = cells[first : first + wide]
            for kind in kinds:
                charts += [*(getattr(cell, kind) for cell in row), *[None] * (wide - len(row))]
        if self.below == SPECTRUM:
            charts += [self.spectrum, *[None] * (wide - 1)]
        return gather(charts, title, wide)

    def set_unit(self, unit: AngleUnit) -> None:
        """Show angles in a unit."""
        self._unit = unit
        self.show_picture(self._picture)
        self.fit()

    def show_below(self, what: int, pair: tuple[str, str]) -> None:
        """Show ERROR, SPECTRUM or DIFFERENCE below; pair: keys of the two models for DIFFERENCE."""
        another, self.below, self._pair = what != self.below, what, pair
        if what == SPECTRUM or "spectrum" in vars(self):
            self.spectrum.setVisible(what == SPECTRUM)
        for cell in self.cells:
            cell.residual.setVisible(what != SPECTRUM)
            cell.overlay.set_bottom(TIME if what == SPECTRUM else "")
        self.show_picture(self._picture)
        if another and not self._zoomed:
            self.fit()

    def tell(self, doing: str) -> None:
        """Show what is being done where the simulations will be."""
        self._doing = doing
        self._name_axes()

    def show_picture(self, picture: Picture) -> None:
        """Draw recordings, and the simulations that are ready."""
        another = [picture.channel, *(r.id for r in picture.recordings)] != [
            self._picture.channel, *(r.id for r in self._picture.recordings)
        ]  # fmt: skip
        simulated = picture.overlays is not self._picture.overlays
        self._picture = picture
        self._curves.clear()
        recordings = [*picture.recordings, *[None] * MOST_DRAWN]
        for cell, recording in zip(self.cells, recordings, strict=False):
            cell.show_run(recording)
        if self._alone not in (cell.run for cell in self.cells):
            self._alone = ""
        self._arrange()
        channel = shown(picture.channel, self._unit)
        self._name_axes()
        pieces = len(picture.recordings) * (1 + len(picture.models))
        wide = pieces <= MOST_WIDE
        line = MEASURED._replace(width=MEASURED_WIDTH if wide else 1.0)
        entries = []
        if any(picture.channel in recording.channels for recording in picture.recordings):
            entries.append(LegendEntry("measured", "measured", line))
        goal = f"goal_{picture.channel}"
        if any(goal in recording.channels for recording in picture.recordings):
            entries.append(LegendEntry("goal", "goal", GOAL))
            self._draw_measured("goal", goal, channel.factor, GOAL, 1)
        self._draw_measured("measured", picture.channel, channel.factor, line, 2)
        for z, entry in enumerate(picture.models, start=3):
            style = entry.style if wide else entry.style._replace(width=1.0)
            entries.append(LegendEntry(entry.key, self._named(entry), style))
            for run in self._simulated_runs():
                if entry.key in run.shown:
                    place, y = self._plots_of(run).overlay, run.shown[entry.key] * channel.factor
                    self._curves.add(place, entry.key, entry.title, run.time, y, style, z)
            self._draw_below(entry, channel, Style(style.colour), z)
        if self.below == DIFFERENCE:
            self._draw_difference(channel, Style("accent"))
        self.legend.set_entries(entries)
        self._curves.follow(self.legend)
        if another or (simulated and not self._zoomed):
            self.fit()
        self.drawn.emit()

    @property
    def duration(self) -> float:
        """Duration of the longest visible run [s]."""
        return max((r.duration for r in self._picture.recordings if r.id in self.shown), default=0.0)

    def fit(self) -> None:
        """Show everything."""
        self._zoomed = False
        for charts in ([cell.overlay for cell in self.cells], [cell.residual for cell in self.cells]):
            values = [y[np.isfinite(y)] for chart in charts for y in (c.points()[1] for c in chart.curves)]
            values = [y for y in values if len(y)]
            low, high = (min(map(np.min, values)), max(map(np.max, values))) if values else (-1.0, 1.0)
            slack = 0.06 * max(high - low, 1e-6)
            charts[0].view.setRange(xRange=(0.0, self.duration or 1.0), padding=0.02)
            charts[0].view.setYRange(low - slack, high + slack, padding=0.0)
            self._share(charts[0], self.charts)
        self._rest.stop()
        if self.below == SPECTRUM:
            self.spectrum.fit()

    def at(self, time: float) -> tuple[Bench | None, dict[str, float]]:
        """Return the bench and positions of the first visible run at a time.

        Args:
            time: place on the time axis [s].

        Returns:
            Bench of the run, None outside it; positions [rad] by "measured" and model key.
        """
        recording = next((r for r in self._picture.recordings if r.id in self.shown), None)
        if recording is None or not 0.0 <= time <= recording.duration:
            return None, {}
        found = {"measured": float(np.interp(time, recording.time - recording.time[0], recording.position))}
        for simulated in self._simulated_runs():
            if simulated.id == recording.id:
                for key, position in simulated.position.items():
                    found[key] = float(np.interp(time, simulated.time, position))
        return recording.bench, found

    def colour(self, key: str) -> str:
        """Colour of a key that `at` returns."""
        theme = themes.current
        entry = next((entry for entry in self._picture.models if entry.key == key), None)
        return theme.measured if entry is None else theme.model(entry.model.friction)

    def show_run(self, run: str) -> None:
        """Show one run alone, or all runs for an unknown id."""
        self._alone = run if any(cell.run == run for cell in self.cells) else ""
        self._arrange()
        self.fit()
        self.drawn.emit()

    def _enlarge(self, run: str) -> None:
        self.show_run("" if run == self._alone else run)

    def _arrange(self) -> None:
        there = list(self.shown.values()) or self.cells[:1]
        columns = max(1, self._scroll.viewport().width() // NARROWEST)
        rows = -(-len(there) // columns)
        self._columns = columns = -(-len(there) // rows)
        for cell in self.cells:
            cell.setVisible(cell in there)
        for place, cell in enumerate(there):
            cell.setMinimumHeight(LOWEST if len(there) > 1 else 0)
            self._grid.addWidget(cell, place // columns, place % columns)
        for place in range(MOST_DRAWN):
            self._grid.setColumnStretch(place, place < columns)
            self._grid.setRowStretch(place, place < rows)

    def _follow(self, moved: Chart) -> None:
        """Give a chart's range to the other one of its run at once, and to those of the other runs when it rests."""
        if not self._sharing:
            self._moved = moved
            self._share(moved, next(pair for cell in self.cells if moved in (pair := (cell.overlay, cell.residual))))
            self._rest.start(REST)

    def _share(self, moved: Chart, charts: Sequence[Chart]) -> None:
        """Give a chart's range to others: the time to each, the height to those of its kind."""
        self._sharing = True
        x, y = moved.view.viewRange()
        for chart in charts:
            same = chart.accessibleName() == moved.accessibleName()
            chart.view.setRange(xRange=x, yRange=y if same else None, padding=0.0)
        self._sharing = False

    def _zoom(self, *_: Any) -> None:
        self._zoomed = True

    def _named(self, entry: ModelEntry) -> str:
        """Title of a model with its mean error over the drawn runs."""
        overlays = self._picture.overlays
        mean = overlays.mean_mae.get(entry.key) if overlays is not None else None
        if mean is None or len(self._picture.models) > MOST_WITH_ERRORS:
            return entry.title
        return f"{entry.title}  {milliradians(mean)} mrad"

    def _name_axes(self) -> None:
        channel = shown(self._picture.channel, self._unit)
        name = channel.title.lower()
        missing = f"This run does not contain {name}, and no model simulates it"
        waiting = self._doing if self._picture.models else "No models chosen: choose models at the right"
        none = f"Models do not simulate {name}, or this run does not contain it"
        if not self._picture.recordings:
            missing = waiting = "Reading the runs…" if self._picture.total else "No runs are chosen"
        below = none if any(run.position for run in self._simulated_runs()) else waiting
        difference = self.below == DIFFERENCE
        if difference and "" in self._pair:
            below = "Choose two of the compared models at the right"
        for cell in self.cells:
            cell.overlay.set_left(channel.title, channel.unit)
            cell.overlay.say(missing)
            cell.residual.say(below)
            cell.residual.set_left("Difference" if difference else "Error", channel.error_unit)
        if self.below == SPECTRUM:
            self.spectrum.set_left("Error", f"{channel.error_unit or 1}/√Hz")
            self.spectrum.say(below)

    def _simulated_runs(self) -> list[SimulatedRun]:
        overlays = self._picture.overlays
        there = {cell.run for cell in self.cells}
        return [run for run in overlays.runs if run.id in there] if overlays is not None else []

    def _plots_of(self, run: Recording | SimulatedRun) -> RunPlots:
        return next(cell for cell in self.cells if cell.run == run.id)

    def _draw_measured(self, key: str, name: str, factor: float, style: Style, z: float) -> None:
        for run in self._picture.recordings:
            if name in run.channels:
                place, time = self._plots_of(run).overlay, run.time - run.time[0]
                self._curves.add(place, key, key, time, run.channels[name] * factor, style, z)

    def _draw_below(self, entry: ModelEntry, channel: Shown, style: Style, z: float) -> None:
        overlays = self._picture.overlays
        if self.below == ERROR:
            for run in self._simulated_runs():
                if entry.key in run.error:
                    place, error = self._plots_of(run).residual, run.error[entry.key] * channel.error_factor
                    self._curves.add(place, entry.key, entry.title, run.time, error, style, z)
        elif self.below == SPECTRUM and overlays is not None and entry.key in overlays.spectrum:
            frequency, density = overlays.spectrum[entry.key]
            level = np.log10(np.maximum(density * channel.error_factor, 1e-12))
            self._curves.add(self.spectrum, entry.key, entry.title, frequency, level, style, z)

    def _draw_difference(self, channel: Shown, style: Style) -> None:
        one, other = self._pair
        titles = {entry.key: entry.title for entry in self._picture.models}
        runs = [run for run in self._simulated_runs() if one in run.shown and other in run.shown]
        if not runs or one not in titles or other not in titles:
            self.difference = None
            return
        gaps = [(run.shown[one] - run.shown[other]) * channel.error_factor for run in runs]
        self.difference = float(np.mean(np.abs(np.concatenate(gaps))))
        title = f"{titles[one]} − {titles[other]}"
        for run, gap in zip(runs, gaps, strict=True):
            self._curves.add(self._plots_of(run).residual, "difference", title, run.time, gap, style, 3)
