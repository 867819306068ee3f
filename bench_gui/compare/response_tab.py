"""Response tab: Bode diagram from goal to position, measured and simulated, of one run."""

from __future__ import annotations

from typing import Any

import numpy as np
from PySide6.QtCore import QSignalBlocker
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QWidget

from bench_gui.compare.comparison import Comparison
from bench_gui.controller import Controller
from bench_gui.plots.chart import Chart
from bench_gui.plots.curves import Curves
from bench_gui.plots.legend import Legend, LegendEntry
from bench_gui.plots.stack import stacked
from bench_gui.plots.styles import MEASURED
from bench_gui.plots.tools import PlotTools
from bench_gui.theme import themes
from bench_gui.widgets.fields import Section, choice, vbox
from bench_gui.work.simulations import Responses

WIDE = MEASURED._replace(width=1.5)
SWEEPS = ("chirp", "sin_time_square")
"""Trajectories that excite a band; such a run is shown first."""
NEW = "Choose runs and models to compare over frequency"
UNDER_WAY = "Estimating the response…"


class ResponseTab(QWidget):
    """Requests a response when it is drawn; frequencies with weak excitation or random motion are left out."""

    def __init__(self, controller: Controller) -> None:
        super().__init__()
        self._comparison: Comparison = controller.comparison
        self._found = Responses(None, {}, NEW)
        self._asked: Any = None
        self._curves = Curves()
        self.magnitude = Chart("Magnitude of the response", "Magnitude", "dB", log_bottom=True)
        self.phase = Chart("Phase of the response", "Phase", "°", bottom="Frequency [Hz]", log_bottom=True)
        charts = (self.magnitude, self.phase)
        self.legend = Legend(self._curves.toggle)
        self.tools = PlotTools(
            charts, self, lambda: self._comparison.title([self._run]), controller.save_plot, symbol="f"
        )
        body = QHBoxLayout()
        body.addWidget(stacked(charts, (1, 1), 60), 1)
        body.addWidget(self.tools.readout)
        column = vbox(self, spacing=4)
        column.addWidget(self.legend)
        column.addLayout(body, 1)
        self.run: QComboBox = choice("Run over frequency", "Run to show over frequency")
        self.run.setMinimumContentsLength(18)
        self.settings = Section("Response")
        self.settings.row("Run", self.run)
        self.run.currentIndexChanged.connect(self.draw)
        themes.follow(self._paint)

    def draw(self) -> None:
        """Offer the chosen runs and request the response of the shown one."""
        self._offer()
        self._asked = asked = object()
        if not self._run:
            self._show(Responses(None, {}, NEW))
            return

        def done(found: Responses) -> None:
            if asked is self._asked:
                self._show(found)

        def failed(message: str) -> None:
            done(Responses(None, {}, message))

        self._show(Responses(None, {}, UNDER_WAY))
        self._comparison.respond(self._run, done, failed)

    def _paint(self) -> None:
        self._show(self._found)

    @property
    def _run(self) -> str:
        return str(self.run.currentData() or "")

    def _offer(self) -> None:
        runs, before = self._comparison.runs, self._run
        with QSignalBlocker(self.run):
            self.run.clear()
            for run in runs:
                self.run.addItem(f"{run.id.split('_')[0]}  {run.trajectory}  {run.joint}".rstrip(), run.id)
            sweeps = (run.id for name in SWEEPS for run in runs if run.trajectory == name)
            wanted = before if self.run.findData(before) >= 0 else next(sweeps, "")
            self.run.setCurrentIndex(max(0, self.run.findData(wanted)))

    def _show(self, found: Responses) -> None:
        self._found = found
        self._curves.clear()
        for chart in (self.magnitude, self.phase):
            chart.say(found.reason)
        self.phase.setVisible(found.measured is not None)
        entries = [LegendEntry("measured", "measured", WIDE)] if found.measured is not None else []
        shown = [("measured", "measured", found.measured, WIDE)]
        for entry in self._comparison.entries:
            if entry.key in found.simulated:
                entries.append(LegendEntry(entry.key, entry.title, entry.style))
                shown.append((entry.key, entry.title, found.simulated[entry.key], entry.style))
        for z, (key, title, response, style) in enumerate(shown):
            if response is not None:
                place = np.log10(response.frequency)
                self._curves.add(self.magnitude, key, title, place, response.magnitude, style, z)
                self._curves.add(self.phase, key, title, place, response.phase, style, z)
        self.legend.set_entries(entries)
        self._curves.follow(self.legend)
        for chart in (self.magnitude, self.phase):
            chart.fit()
