"""Measured, initial and identified motion of the worst and the median run, with residuals."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QWidget

from bench_gui.identify.fit.messages import Array, FitOverlay
from bench_gui.plots.chart import Chart, pen
from bench_gui.plots.dashes import CATALOGUE_DASH, IDENTIFIED_DASH
from bench_gui.plots.decimate import min_max
from bench_gui.plots.legend import Legend, LegendEntry
from bench_gui.theme import Theme, themes
from bench_gui.widgets.fields import ElidedLabel, hbox, vbox
from core.base.units import RADIANS, AngleUnit, milliradians
from core.identification.overlay import RunOverlay
from core.motion.trajectories import title_of

COLUMNS = 600
"""Curves are reduced to the extremes of this many columns, about the width of a pane in pixels."""
LOWEST = 34
"""Smallest height of a chart [px]."""
MEASURED, INITIAL, SIMULATED, RESIDUAL = "measured", "initial", "simulated", "residual"


@dataclass(eq=False)
class _Pane:
    """Charts of one run."""

    widget: QWidget
    title: QLabel
    position: Chart
    residual: Chart
    curves: dict[str, Any] = field(default_factory=dict)


class OverlayPlots(QWidget):
    """Titles and a legend above two panes, one per run; without any run the first pane says that it is empty."""

    def __init__(self) -> None:
        super().__init__()
        column = vbox(self, spacing=2, margins=(0, 5, 0, 0))
        self.legend = Legend(self._toggle)
        self.panes = [_pane("Worst run"), _pane("Median run")]
        worst, median = self.panes
        head, row = hbox(spacing=10), hbox(spacing=10)
        for part, share in ((worst.title, 1), (self.legend, 0), (median.title, 1)):
            head.addWidget(part, share)
        median.title.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        column.addLayout(head)
        column.addLayout(row, 1)
        for pane in self.panes:
            row.addWidget(pane.widget, 1)
        self._unit = RADIANS
        self._shown = FitOverlay("", ())
        self._placed: tuple[str, ...] = ()
        themes.follow(self._paint)

    @property
    def shown(self) -> FitOverlay:
        """The overlay that is drawn."""
        return self._shown

    def set_unit(self, unit: AngleUnit) -> None:
        """Show angles in a unit."""
        self._unit = unit
        for pane in self.panes:
            pane.position.set_left("Position", unit.symbol)
            pane.residual.set_left("Residual", unit.symbol)
        self._placed = ()
        self.show_overlay(self._shown)

    def show_overlay(self, overlay: FitOverlay) -> None:
        """Draw an overlay; the panes are fitted if its runs changed."""
        self._shown = overlay
        theme = themes.current
        pens = {
            MEASURED: pen(theme.measured),
            INITIAL: pen(theme.goal, 1.0, CATALOGUE_DASH),
            SIMULATED: pen(theme.model(overlay.friction), 1.0, IDENTIFIED_DASH) if overlay.friction else None,
            RESIDUAL: pen(theme.model(overlay.friction)) if overlay.friction else None,
        }
        self._name_curves(overlay, theme)
        runs: list[RunOverlay | None] = [*overlay.runs[: len(self.panes)]]
        runs += [None] * (len(self.panes) - len(runs))
        for pane, run in zip(self.panes, runs, strict=True):
            pane.widget.setVisible(run is not None or pane is self.panes[0])
            pane.title.setText(_title(run))
            pane.residual.setVisible(run is not None and run.simulated is not None)
            for key, values in _values(run).items():
                curve = pane.curves[key]
                if run is None or values is None:
                    curve.setData([], [])
                    continue
                curve.setPen(pens[key])
                curve.setData(*min_max(run.time, values * self._unit.per_radian, COLUMNS))
                curve.setVisible(self.legend.shown(key))
        placed = tuple(run.id if run is not None else "" for run in runs)
        if placed != self._placed:
            self._placed = placed
            for pane in self.panes:
                pane.position.fit()
                pane.residual.fit()

    def _paint(self) -> None:
        self.show_overlay(self._shown)

    def _name_curves(self, overlay: FitOverlay, theme: Theme) -> None:
        entries = [LegendEntry(MEASURED, "measured", theme.measured)] if overlay.runs else []
        if any(run.initial is not None for run in overlay.runs):
            entries.append(LegendEntry(INITIAL, "start", theme.goal, CATALOGUE_DASH))
        if any(run.simulated is not None for run in overlay.runs):
            colour = theme.model(overlay.friction)
            entries.append(LegendEntry(SIMULATED, overlay.friction.upper(), colour, IDENTIFIED_DASH))
        if [entry.title for entry in entries] != [button.text() for button in self.legend.buttons.values()]:
            self.legend.set_entries(entries)

    def _toggle(self, key: str, shown: bool) -> None:
        for pane in self.panes:
            pane.curves[key].setVisible(shown)


def _pane(name: str) -> _Pane:
    widget = QWidget()
    title = ElidedLabel()
    title.setProperty("role", "muted")
    position = Chart(f"{name}, measured and simulated position", "Position", "rad", bottom="Time [s]")
    residual = Chart(f"{name}, simulated minus measured", "Residual", "rad")
    residual.view.setXLink(position.view)
    column = vbox(widget, spacing=2)
    column.addWidget(residual, 2)
    column.addWidget(position, 5)
    pane = _Pane(widget, title, position, residual)
    for chart in (position, residual):
        chart.setMinimumHeight(LOWEST)
    for place, key in enumerate((INITIAL, MEASURED, SIMULATED)):
        pane.curves[key] = position.add_curve(float(place), key)
    pane.curves[RESIDUAL] = residual.add_curve(0.0, RESIDUAL)
    return pane


def _values(run: RunOverlay | None) -> dict[str, Array | None]:
    """Curves of a run by key [rad]; None for a missing one."""
    if run is None:
        return dict.fromkeys((MEASURED, INITIAL, SIMULATED, RESIDUAL))
    residual = None if run.simulated is None else run.simulated - run.measured
    return {MEASURED: run.measured, INITIAL: run.initial, SIMULATED: run.simulated, RESIDUAL: residual}


def _title(run: RunOverlay | None) -> str:
    if run is None:
        return ""
    name = f"{run.id.split('_')[0]} {title_of(run.trajectory)}"
    if run.mae is None:
        return f"Measured: {name}"
    return f"{run.place.capitalize()}: {milliradians(run.mae)} mrad, {name}"
