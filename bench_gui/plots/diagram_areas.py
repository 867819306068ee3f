"""Areas of a drive/backdrive diagram: colours, names and contents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyqtgraph as pg

from bench_gui.plots.chart import Chart
from bench_gui.theme import Theme
from core.document.plot import PlotArea
from core.practice.diagram import DriveBackdriveDiagram, area_labels, areas


def boundary_shades(theme: Theme) -> dict[str, str]:
    """Colour of each area of a single model, as in Fig. 2 of seed 004."""
    return {"drive": theme.drive, "static": theme.goal, "backdrive": theme.backdrive}


def plot_areas(diagram: DriveBackdriveDiagram, colours: Mapping[str, str], opacity: float) -> list[PlotArea]:
    """Areas of a diagram that have a colour: "drive", "static" or "backdrive"."""
    return [
        PlotArea(name, torque, low, high, colours[name], opacity)
        for name, torque, low, high in areas(diagram)
        if name in colours
    ]


def area_titles(chart: Chart, diagram: DriveBackdriveDiagram, theme: Theme) -> list[Any]:
    """Add the names of the areas to a chart."""
    titles = []
    for name, torque, external in area_labels(diagram):
        title = pg.TextItem(name, color=theme.muted, anchor=(0.5, 0.5))
        title.setPos(torque, external)
        chart.add_item(title)
        titles.append(title)
    return titles
