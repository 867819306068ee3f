"""Measured and simulated motion of the worst and the median run, side by side; measured alone without a fit."""

from __future__ import annotations

from typing import Any

from PySide6.QtWidgets import QHBoxLayout, QLabel, QVBoxLayout, QWidget

from bench_gui.identify.fit.messages import FitOverlay, OverlayRun
from bench_gui.plots.chart import Chart, pen
from bench_gui.plots.dashes import IDENTIFIED_DASH
from bench_gui.plots.decimate import min_max
from bench_gui.theme import Theme
from bench_gui.widgets.fields import ElidedLabel
from core.units import RADIANS, AngleUnit, milliradians

PANES = 2
COLUMNS = 600
"""Curves are reduced to the extremes of so many columns: a pane is about as wide in pixels."""


class OverlayPlots(QWidget):
    """Two panes."""

    def __init__(self) -> None:
        super().__init__()
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 5, 0, 0)
        row.setSpacing(10)
        self.titles: list[QLabel] = []
        self.charts: list[Chart] = []
        self.measured: list[Any] = []
        self.simulated: list[Any] = []
        for name in ("Worst run", "Median run"):
            title = ElidedLabel()
            title.setProperty("role", "muted")
            chart = Chart(f"{name}, measured and simulated position", "Position", "rad", bottom="Time [s]")
            column = QVBoxLayout()
            column.setSpacing(2)
            column.addWidget(title)
            column.addWidget(chart, 1)
            row.addLayout(column, 1)
            self.titles.append(title)
            self.charts.append(chart)
            self.measured.append(chart.add_curve(1.0, "measured"))
            self.simulated.append(chart.add_curve(2.0, "simulated"))
        self._theme: Theme | None = None
        self._unit = RADIANS
        self._shown = FitOverlay("", ())
        self._placed: tuple[str, ...] = ()

    @property
    def shown(self) -> FitOverlay:
        """What is drawn."""
        return self._shown

    def set_theme(self, theme: Theme) -> None:
        """Take over a theme's colours."""
        self._theme = theme
        for chart in self.charts:
            chart.set_theme(theme)
        self.show_overlay(self._shown)

    def set_unit(self, unit: AngleUnit) -> None:
        """Show angles in a unit."""
        self._unit = unit
        for chart in self.charts:
            chart.set_left("Position", unit.symbol)
        self._placed = ()
        self.show_overlay(self._shown)

    def show_overlay(self, overlay: FitOverlay) -> None:
        """Draw these runs; other runs than before are fitted into the panes."""
        self._shown = overlay
        theme = self._theme
        if theme is None:
            return
        factor = self._unit.per_radian
        runs: list[OverlayRun | None] = [*overlay.runs[:PANES]]
        runs += [None] * (PANES - len(runs))
        for place, run in enumerate(runs):
            self.titles[place].setText(_title(run, overlay.friction))
            measured, simulated = self.measured[place], self.simulated[place]
            measured.setPen(pen(theme.measured))
            if run is None:
                measured.setData([], [])
                simulated.setData([], [])
                continue
            measured.setData(*min_max(run.time, run.measured * factor, COLUMNS))
            if run.simulated is None:
                simulated.setData([], [])
            else:
                simulated.setPen(pen(theme.model(overlay.friction), 1.0, IDENTIFIED_DASH))
                simulated.setData(*min_max(run.time, run.simulated * factor, COLUMNS))
        placed = tuple(run.id if run is not None else "" for run in runs)
        if placed != self._placed:
            self._placed = placed
            for chart in self.charts:
                chart.fit()


def _title(run: OverlayRun | None, friction: str) -> str:
    if run is None:
        return ""
    name = f"{run.id.split('_')[0]} {run.trajectory}"
    if run.mae is None:
        return f"Measured: {name}"
    return f"{friction.upper()}, {run.place} run: {name}, {milliradians(run.mae)} mrad"
