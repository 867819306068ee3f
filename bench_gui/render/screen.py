"""Plots in the window: charts with one legend, which draw the curves of a plot in the colours of the theme."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtWidgets import QHBoxLayout, QWidget

from bench_gui.plots.chart import Chart
from bench_gui.plots.curves import Curves
from bench_gui.plots.legend import Legend, LegendEntry
from bench_gui.plots.stack import LEGIBLE, stacked
from bench_gui.plots.styles import Style
from bench_gui.theme import themes
from bench_gui.widgets.fields import vbox
from core.document.plot import CurvePanel, Plot, parted


class PlotView(QWidget):
    """One chart per panel, under a common legend that shows and hides the curves of a name.

    >>> view = PlotView(("Angle of the joint", "Torque"), shares=(2, 1))
    >>> view.show_plot(plot)
    """

    def __init__(self, names: Sequence[str], *, shares: Sequence[int] = ()) -> None:
        """Create empty charts.

        Args:
            names: accessible names of the charts.
            shares: of the height, for charts above each other; without, they are side by side.
        """
        super().__init__()
        column = vbox(self, spacing=4)
        self._curves = Curves()
        self.legend = Legend(self._curves.toggle)
        self.head = QHBoxLayout()
        """Row above the charts; callers append tools to it."""
        self.head.setSpacing(8)
        self.head.addWidget(self.legend, 1)
        column.addLayout(self.head)
        self.charts = tuple(Chart(name, "", "") for name in names)
        self.row = QHBoxLayout()
        """Row of the charts; callers append the readout to it."""
        self.row.setSpacing(8)
        if shares:
            self.row.addWidget(stacked(self.charts, shares, LEGIBLE), 1)
        for chart in self.charts if not shares else ():
            chart.setMinimumHeight(LEGIBLE)
            self.row.addWidget(chart, 1)
        column.addLayout(self.row, 1)
        self._plot: Plot | None = None
        themes.changed.connect(self._draw)

    @property
    def title(self) -> str:
        """Title of the plot."""
        return "" if self._plot is None else self._plot.title

    @property
    def keys(self) -> list[str]:
        """Names in the legend, in the order of drawing."""
        return self._curves.keys

    def show_plot(self, plot: Plot | None) -> None:
        """Draw a plot with a panel of curves for each chart, and zoom to its full extent; None: draw nothing."""
        self._plot = plot
        leader, shared = self.charts[0].view, "" if plot is None else plot.shared
        for chart in self.charts[1:]:
            chart.view.setXLink(leader if "x" in shared else None)
            chart.view.setYLink(leader if "y" in shared else None)
        self._draw()
        self.fit()

    def fit(self) -> None:
        """Zoom to the ranges of the panels, or to the full extent of all curves."""
        for chart, panel in self._panels():
            if chart.view.linkedView(1) is None:
                chart.fit()
            if panel.y_range is not None:
                chart.view.setYRange(*panel.y_range, padding=0.0)

    def _panels(self) -> list[tuple[Chart, CurvePanel]]:
        panels = self._plot.panels if self._plot is not None else ()
        return [
            (chart, panel) for chart, panel in zip(self.charts, panels, strict=False) if isinstance(panel, CurvePanel)
        ]

    def _draw(self) -> None:
        self._curves.clear()
        entries: dict[str, LegendEntry] = {}
        for chart, panel in self._panels():
            chart.set_left(*parted(panel.left))
            chart.set_bottom(panel.bottom)
            for curve in panel.curves:
                name = curve.name if curve.legend is None else curve.legend
                style = Style(curve.colour, curve.width, curve.dash)
                self._curves.add(chart, name, curve.name, curve.x, curve.y, style, curve.z)
                entries.setdefault(name, LegendEntry(name, name, style))
        self.legend.set_entries(list(entries.values()))
        self._curves.follow(self.legend)
