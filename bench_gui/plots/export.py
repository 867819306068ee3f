"""Export of visible charts to a file or the clipboard: same range, visible curves, on white paper."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from functools import cache
from pathlib import Path

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QMenu, QToolButton, QWidget

from bench_gui import file_dialogs
from bench_gui.headless.palette import THEMES, Theme, load_theme
from bench_gui.plots.chart import Chart
from bench_gui.widgets.fields import tool
from core.document.plot import CurvePanel, Plot, PlotArea, PlotCurve, labelled

FILTERS = {
    "Picture, scalable (*.svg)": ".svg",
    "Picture, pixels (*.png)": ".png",
    "Document (*.pdf)": ".pdf",
    "Numbers, full resolution (*.csv)": ".csv",
}
TABLE_FILTERS = {"Numbers (*.csv)": ".csv"}
LONGEST_NAME = 60


def ask_plot_file(parent: QWidget, suggestion: str, filters: Mapping[str, str] = FILTERS) -> Path | None:
    """Ask for an export file; the format follows from its ending, or from the chosen filter."""
    name, chosen = file_dialogs.ask_new(parent, "Export plot", suggestion, ";;".join(filters))
    if not name:
        return None
    path = Path(name)
    return path if path.suffix else path.with_name(path.name + filters.get(chosen, next(iter(filters.values()))))


@cache
def _on_paper() -> dict[str, str]:
    """Paper colour of each theme colour."""
    paper = load_theme("light")
    found: dict[str, str] = {}
    for name in THEMES:
        theme = load_theme(name)
        for part in fields(Theme):
            ours, white = getattr(theme, part.name), getattr(paper, part.name)
            pairs = zip(ours, white, strict=True) if isinstance(ours, tuple) else [(ours, white)]
            found.update({one.lower(): other for one, other in pairs if one.startswith("#")})
    return {**found, **{c.lower(): c for c in (paper.measured, paper.goal, *paper.models)}}


def on_paper(colour: str) -> str:
    """Return the paper colour of a theme's colour; other colours are unchanged."""
    return _on_paper().get(colour.lower(), colour)


def gather(charts: Sequence[Chart | None], title: str, columns: int = 1) -> Plot:
    """Collect the visible contents of charts, row by row; stacked charts without a curve are left out."""
    heights = [max(1, chart.height()) for chart in charts if chart is not None]
    mean = sum(heights) / max(1, len(heights))
    panels: list[CurvePanel | None] = []
    for chart in charts:
        if chart is None:
            panels.append(None)
            continue
        x_range, y_range = ((float(low), float(high)) for low, high in chart.view.viewRange())
        x_range = chart.value_at(x_range[0]), chart.value_at(x_range[1])
        curves = tuple(_printed(curve.within(x_range)) for curve in chart.seen())
        if columns == 1 and not any(len(curve.x) for curve in curves):
            continue
        panels.append(
            CurvePanel(
                left=labelled(*chart.left),
                bottom=labelled(*chart.bottom),
                x_range=x_range,
                y_range=(10.0 ** y_range[0], 10.0 ** y_range[1]) if chart.logarithmic else y_range,
                curves=curves,
                areas=tuple(_printed_area(area) for area in chart.seen_areas()),
                log=chart.logarithmic,
                log_bottom=chart.log_bottom,
                height=max(1, chart.height()) / mean,
                of=chart.belongs_to,
            )
        )
    return Plot(title, tuple(panels), columns)


def _printed(curve: PlotCurve) -> PlotCurve:
    return replace(curve, colour=on_paper(curve.colour))


def _printed_area(area: PlotArea) -> PlotArea:
    return replace(area, colour=on_paper(area.colour))


class PlotExport:
    """Button with "Export plot…" and "Copy image" for one part of the window."""

    def __init__(self, shown: QWidget, contents: Callable[[], Plot], save: Callable[[Plot, Path], object]) -> None:
        """Create the button.

        Args:
            shown: widget that "Copy image" copies.
            contents: returns what to export.
            save: writes it in the background.
        """
        self._shown, self.contents, self._save = shown, contents, save
        self.button: QToolButton = tool(
            "Export plot", "Write what is visible to a file, or copy it as an image", symbol="export"
        )
        self.button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.menu = QMenu(self.button)
        self.export_action = self.menu.addAction("Export plot…", self.ask)
        self.copy_action = self.menu.addAction("Copy image", self.copy_image)
        self.button.setMenu(self.menu)

    def ask(self) -> None:
        """Ask for a file and export what is visible."""
        contents = self.contents()
        path = ask_plot_file(self._shown, f"{file_name(contents.title)}.svg")
        if path is not None:
            self._save(contents, path)

    def copy_image(self) -> None:
        """Copy a picture of the visible widget to the clipboard."""
        QGuiApplication.clipboard().setPixmap(self._shown.grab())


def file_name(title: str) -> str:
    """Make a file name without ending from a title."""
    return re.sub(r"[^\w.+-]+", "_", title).strip("_.")[:LONGEST_NAME] or "plot"
