"""Tools of a group of charts that share their lower axis: Δ cursors, fit, export, copy.

A page makes one `PlotTools` for its charts, places `bar` near them and `readout` beside them, and adds
`actions_offered` to its menu.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtWidgets import QHBoxLayout, QToolButton, QWidget

from bench_gui.actions import ActionSpec
from bench_gui.plots.chart import Chart
from bench_gui.plots.cursors import CursorReadout, DeltaCursors
from bench_gui.plots.export import PlotExport, gather
from bench_gui.widgets.fields import restyle, tool
from core.document.plot import Plot


class PlotTools:
    """Δ cursors, "Fit", "Export plot…" and "Copy image" for stacked charts."""

    def __init__(
        self,
        charts: Sequence[Chart],
        shown: QWidget,
        title: Callable[[], str],
        save: Callable[[Plot, Path], object],
        *,
        symbol: str = "t",
        fit: Callable[[], object] | None = None,
        exported: Callable[[], Plot] | None = None,
    ) -> None:
        """Create the tools of some charts.

        Args:
            charts: charts from top to bottom.
            shown: widget around the charts and their legend, for "Copy image".
            title: returns the title of an exported plot.
            save: `Controller.save_plot`.
            symbol: name of the lower axis.
            fit: shows everything; None fits each chart.
            exported: returns what to export; None: all charts, stacked.
        """
        self._charts = tuple(charts)
        self.fit = fit or self._fit_all
        self.cursors = DeltaCursors(self._charts)
        self.readout = CursorReadout(self.cursors, symbol, lambda: self._charts[-1].bottom[1])
        self.export = PlotExport(shown, exported or (lambda: gather(self._charts, title())), save)
        self.cursor_button: QToolButton = tool(
            "Cursors", "Show two cursors that read values and differences from the curves"
        )
        self.cursor_button.setText("Δ")
        self.cursor_button.setCheckable(True)
        self.cursor_button.toggled.connect(self.cursors.show)
        self.cursor_button.toggled.connect(lambda on: restyle(self.cursor_button, "kind", "on" if on else "flat"))
        self.fit_button: QToolButton = tool("Fit", "Show everything; same as a double-click in a plot", symbol="fit")
        self.fit_button.clicked.connect(lambda: self.fit())
        self.bar = QWidget()
        self._row = QHBoxLayout(self.bar)
        self._row.setContentsMargins(0, 0, 0, 0)
        self._row.setSpacing(2)
        for part in (self.cursor_button, self.fit_button, self.export.button):
            self._row.addWidget(part)

    def add(self, button: QToolButton) -> None:
        """Add a page's own button before the others."""
        self._row.insertWidget(0, button)

    def actions_offered(self) -> list[ActionSpec]:
        """Actions for these charts."""
        return [
            ActionSpec("Δ &cursors", self.cursor_button.toggle, tip="Read values and differences from the curves"),
            ActionSpec("&Fit the plots", self.fit, tip="Show everything"),
            ActionSpec("E&xport plot…", self.export.ask, tip="Write what is visible as PNG, SVG, PDF or CSV"),
            ActionSpec("Copy plot as &image", self.export.copy_image),
        ]

    def _fit_all(self) -> None:
        for chart in self._charts:
            chart.fit()
