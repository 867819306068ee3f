"""Measured, initial and identified motion of one run, with its residual, and the choice of the run."""

from __future__ import annotations

from PySide6.QtCore import QSignalBlocker, Signal
from PySide6.QtWidgets import QComboBox, QToolButton, QWidget

from bench_gui.identify.fit.messages import FitOverlay
from bench_gui.plots.chart import Chart, pen
from bench_gui.plots.decimate import min_max
from bench_gui.plots.legend import Legend, LegendEntry
from bench_gui.plots.styles import CATALOGUE_DASH, IDENTIFIED_DASH, Style
from bench_gui.theme import themes
from bench_gui.widgets.fields import choice, hbox, tool, vbox
from core.base.units import RADIANS, AngleUnit, milliradians
from core.identification.overlay import JudgedRun
from core.motion.trajectories import title_of

COLUMNS = 1200
"""Curves are reduced to the extremes of this many columns, about the width of the plot in pixels."""
LOWEST = 62, 94
"""Smallest heights of position and residual, with room for the names of their axes [px]."""
WIDEST = 360
"""Largest width of the choice of the run [px]."""
MEASURED, INITIAL, SIMULATED, RESIDUAL = "measured", "initial", "simulated", "residual"
MILLIRADIANS = 1e3


class OverlayPlots(QWidget):
    """Choice of the run and legend, above the position and the residual over one time axis."""

    picked = Signal(str)
    """Emitted with the id of the run that the user picks."""

    def __init__(self) -> None:
        super().__init__()
        self.run: QComboBox = choice("Run", "Run to show, the one with the largest error first")
        self.run.setMaximumWidth(WIDEST)
        self.run.activated.connect(lambda _: self.picked.emit(self.run.currentData()))
        self.steps: tuple[QToolButton, QToolButton] = (
            tool("Run with a larger error", "Show the run before this one"),
            tool("Run with a smaller error", "Show the run after this one"),
        )
        self.legend = Legend(lambda key, on: self.curves[key].setVisible(on))
        self.position = Chart("Measured and simulated position", "Position", "rad")
        self.residual = Chart("Simulated minus measured", "Residual", "mrad", bottom="Time [s]")
        self.residual.view.setXLink(self.position.view)
        self.curves = {k: self.position.add_curve(float(z), k) for z, k in enumerate((INITIAL, MEASURED, SIMULATED))}
        self.curves[RESIDUAL] = self.residual.add_curve(0.0, RESIDUAL)
        head, column = hbox(spacing=6), vbox(self, spacing=2, margins=(0, 5, 0, 0))
        for step, text, way in zip(self.steps, "‹›", (-1, 1), strict=True):
            step.setText(text)
            step.clicked.connect(lambda _=False, way=way: self._step(way))
        for part, share in ((self.steps[0], 0), (self.run, 2), (self.steps[1], 0), (self.legend, 3)):
            head.addWidget(part, share)
        column.addLayout(head)
        for chart, share, least in zip((self.position, self.residual), (5, 3), LOWEST, strict=True):
            chart.setMinimumHeight(least)
            column.addWidget(chart, share)
        self._unit = RADIANS
        self._shown = FitOverlay()
        self._awaiting = False
        self._offered: tuple[JudgedRun, ...] = ()
        self._placed = ""
        themes.follow(self._paint)

    @property
    def shown(self) -> FitOverlay:
        """The overlay that is drawn."""
        return self._shown

    def set_unit(self, unit: AngleUnit) -> None:
        """Show positions in a unit."""
        self._unit, self._placed = unit, ""
        self.position.set_left("Position", unit.symbol)
        self.show_overlay(self._shown)

    def show_overlay(self, overlay: FitOverlay) -> None:
        """Draw an overlay; the plots are fitted to another run."""
        self._shown, run = overlay, overlay.run
        colour = overlay.friction or "goal"
        named = {
            MEASURED: ("measured", Style("measured")),
            INITIAL: ("start", Style("goal", dash=CATALOGUE_DASH)),
            SIMULATED: (overlay.friction.upper(), Style(colour, dash=IDENTIFIED_DASH)),
        }
        values = dict.fromkeys(self.curves) if run is None else {key: getattr(run, key) for key in named}
        if run is not None:
            values[RESIDUAL] = None if run.simulated is None else (run.simulated - run.measured) * MILLIRADIANS
        entries = [LegendEntry(key, *looks) for key, looks in named.items() if values[key] is not None]
        if [entry.title for entry in entries] != [button.text() for button in self.legend.buttons.values()]:
            self.legend.set_entries(entries)
        for key, curve in self.curves.items():
            curve.setPen(pen(*(Style(colour) if key == RESIDUAL else named[key][1])))
            factor = 1.0 if key == RESIDUAL else self._unit.per_radian
            y = values[key]
            curve.setData(*(([], []) if run is None or y is None else min_max(run.time, y * factor, COLUMNS)))
            curve.setVisible(self.legend.shown(key))
        self._show_residual()
        self._offer(overlay)
        if run is not None and run.id != self._placed:
            self._placed = run.id
            self.position.fit()
            self.residual.fit()

    def await_motion(self, sentence: str, simulated: bool) -> None:
        """Show what is awaited in the place of its curves; simulated: it is a simulation."""
        self._awaiting = simulated
        for chart in (self.position, self.residual):
            chart.say(sentence)
        self._show_residual()

    def _show_residual(self) -> None:
        run = self._shown.run
        shown = run is not None and (self._awaiting or run.simulated is not None)
        self.residual.setVisible(shown)
        self.position.set_bottom("" if shown else "Time [s]")

    def _offer(self, overlay: FitOverlay) -> None:
        with QSignalBlocker(self.run):
            if overlay.runs != self._offered:
                self._offered = overlay.runs
                self.run.clear()
                for run in overlay.runs:
                    self.run.addItem(_named(run), run.id)
            self.run.setCurrentIndex(-1 if overlay.run is None else self.run.findData(overlay.run.id))
        here, last = self.run.currentIndex(), self.run.count() - 1
        for part, possible in ((self.run, True), (self.steps[0], here > 0), (self.steps[1], here < last)):
            part.setVisible(last >= 0)
            part.setEnabled(possible and not overlay.live)
        self.run.setToolTip(
            "The search shows the run with the largest error" if overlay.live else "Run to show, the worst first"
        )

    def _step(self, way: int) -> None:
        self.picked.emit(self.run.itemData(self.run.currentIndex() + way))

    def _paint(self) -> None:
        self.show_overlay(self._shown)


def _named(run: JudgedRun) -> str:
    name = f"{run.id.split('_')[0]} {title_of(run.trajectory)}"
    return f"Measured: {name}" if run.mae is None else f"{milliradians(run.mae)} mrad, {name}"
