"""Plots on paper: figures (PNG, SVG, PDF) by matplotlib, numbers as CSV.

It runs in the compute process and in `bench`; the window only collects the contents and never loads matplotlib.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bench_gui.headless.palette import LIGHT
from bench_gui.headless.symbols import mathtext
from bench_gui.plots.heat import heat_colours, ink_on
from core.base.atomic import write_atomically
from core.base.errors import InputError
from core.document.plot import Array, BarPanel, CurvePanel, HeatPanel, Panel, Plot, PlotCurve, mixed, parted
from core.document.table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

NUMBERS = ".csv"
PICTURES = (".svg", ".png", ".pdf")
PAPER = "#ffffff"
WIDTH, NARROWEST = 8.0, 2.8
"""Width of a figure, and of one of several panels side by side, with room for the name of its run [in]."""
CURVES_HEIGHT, ALONE_HEIGHT, BARS_HEIGHT, HEAT_HEIGHT = 2.3, 4.4, 3.4, 3.6
"""Height of a panel [in]."""
WIDEST_BAR = 0.3
"""Largest width of a bar, as a share of its group."""
MOST_ENTRIES = 5
"""Most columns of a legend."""
LETTERS, SAMPLE = 120, 8
"""Width of a legend's row in letters, and the part of it taken by a line sample."""
_MARKERS = {"t": "v", "t1": "^", "t2": ">", "t3": "<"}
"""Markers with different names in the two plotting libraries."""


def save_plot(contents: Plot, path: Path) -> Path:
    """Write a plot in the format of the path's ending and return the path.

    Raises:
        InputError: The plot is empty, or the ending is not supported.
    """
    ending = path.suffix.lower()
    if not contents.panels:
        raise InputError(f"{path}: the plot is empty; choose runs and models first")
    if ending == NUMBERS:
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(_rows(contents))
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, text.getvalue().encode())
        return path
    if ending not in PICTURES:
        raise InputError(f"{path}: plots are written as {', '.join((*PICTURES, NUMBERS))}; choose one of these endings")
    if any(isinstance(panel, Table) for panel in contents.panels):
        raise InputError(f"{path}: a table is written as {NUMBERS}; choose this ending")
    return write_figure(contents, path)


def write_figure(contents: Plot, path: str | Path) -> Path:
    """Write a figure and return its path; raise InputError for an ending that is not in PICTURES."""
    from bench_gui.headless.report.figures import save_figure

    return save_figure(plot_figure(contents), path)


def plot_figure(contents: Plot) -> Figure:
    """Draw a plot on white paper."""
    from matplotlib.figure import Figure

    panels, columns = contents.panels, contents.columns
    heights = [max(map(_height, panels[i : i + columns])) for i in range(0, len(panels), columns)]
    if len(panels) == 1 and isinstance(panels[0], CurvePanel):
        heights = [ALONE_HEIGHT * panels[0].height]
    figure = Figure(
        figsize=(max(WIDTH, columns * NARROWEST), sum(heights) + 0.9), layout="constrained", facecolor=PAPER
    )
    if contents.title:
        figure.suptitle(contents.title, fontsize=9.5, x=0.01, ha="left")
    ranges = {panel.x_range if isinstance(panel, CurvePanel) else None for panel in panels}
    same = columns == 1 and len(panels) > 1 and len(ranges) == 1 and None not in ranges
    places = (
        figure.subplots(
            len(heights),
            columns,
            sharex=same or "x" in contents.shared,
            sharey="y" in contents.shared,
            squeeze=False,
            height_ratios=heights,
        )
        .ravel()
        .tolist()
    )
    for place, (axes, panel) in enumerate(zip(places, panels, strict=True)):
        if panel is None:
            axes.set_axis_off()
        elif isinstance(panel, CurvePanel):
            _draw_curves(axes, panel)
            if panel.of:
                _fit_in(axes, panel, panels[place - columns] if place >= columns else None, place % columns == 0)
            elif columns > 1 and place % columns == 0 and not any(panels[place + 1 : place + columns]):
                axes.set_subplotspec(axes.get_gridspec()[place // columns, :])  # as wide as all runs
        elif isinstance(panel, BarPanel):
            _draw_bars(axes, panel)
        elif isinstance(panel, HeatPanel):
            _draw_heat(figure, axes, panel)
    _add_legend(figure, places)
    return figure


def _fit_in(axes: Axes, panel: CurvePanel, above: Panel | None, first: bool) -> None:
    """Name a panel of one of several runs, and write on its axes only what no neighbour has; all share their ranges."""
    if not (isinstance(above, CurvePanel) and above.of == panel.of):
        axes.set_title(panel.of, fontsize=8.5, loc="left")
    axes.tick_params(labelsize=8, labelbottom=bool(panel.bottom), labelleft=first)
    if not first:
        axes.set_ylabel("")


def _height(panel: Panel | None) -> float:
    if panel is None:
        return 0.0
    if isinstance(panel, CurvePanel):
        return CURVES_HEIGHT * panel.height
    return max(HEAT_HEIGHT, 0.34 * len(panel.rows) + 1.2) if isinstance(panel, HeatPanel) else BARS_HEIGHT


def _add_legend(figure: Figure, places: Sequence[Axes]) -> None:
    """Add one legend for all panels; a curve in several panels has one entry."""
    entries: dict[str, Any] = {}
    for axes in places:
        for handle, name in zip(*axes.get_legend_handles_labels(), strict=True):
            if name:
                entries.setdefault(name, handle)
    if entries:
        figure.legend(
            list(entries.values()),
            list(entries),
            loc="outside lower left",
            ncols=_columns(list(entries)),
            fontsize=8,
            frameon=False,
        )


def _columns(names: Sequence[str]) -> int:
    """Return the number of legend columns that fit, with evenly filled rows."""
    fitting = min(MOST_ENTRIES, max(1, LETTERS // (max(len(name) for name in names) + SAMPLE)))
    return math.ceil(len(names) / math.ceil(len(names) / fitting))


def _draw_curves(axes: Axes, panel: CurvePanel) -> None:
    for area in panel.areas:
        colour = LIGHT.colour(area.colour)
        axes.fill_between(
            area.x, area.low, area.high, color=colour, alpha=area.opacity, linewidth=0, label=area.name or None
        )
    for curve in panel.curves:
        dashes: Any = (0, curve.dash) if curve.dash else "solid"
        axes.plot(
            curve.x,
            curve.y,
            color=LIGHT.colour(curve.colour),
            alpha=curve.opacity,
            linewidth=0.75 * curve.width,
            linestyle=dashes if curve.width else "none",
            marker=_MARKERS.get(curve.marker, curve.marker) or None,
            markersize=5,
            label=curve.name if curve.legend is None else curve.legend,
            zorder=2.0 + curve.z,
        )
        if curve.note:
            beside = axes.get_yaxis_transform()
            height = float(curve.y[-1])
            axes.text(1.01, height, _typeset(curve.note), transform=beside, va="center", fontsize=8, parse_math=True)
    if panel.log:
        axes.set_yscale("log")
        _plain_numbers(axes.yaxis)
    if panel.log_bottom:
        axes.set_xscale("log")
        _plain_numbers(axes.xaxis)
    if panel.x_range is not None:
        axes.set_xlim(*panel.x_range)
    if panel.y_range is not None:
        axes.set_ylim(*panel.y_range)
    axes.set_ylabel(panel.left)
    if panel.bottom:
        axes.set_xlabel(panel.bottom)
    if panel.title:
        axes.set_title(_typeset(panel.title), fontsize=9.5, loc="left", parse_math=True)


def _typeset(text: str) -> str:
    """Return a text with its symbols, such as F_S, as mathtext."""
    return " ".join(mathtext(word.replace("$", r"\$")) for word in text.split(" "))


def _plain_numbers(axis: Axis) -> None:
    """Label decades as 0.1, 1, 10 …, since powers would be typeset as formulas."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def _draw_bars(axes: Axes, panel: BarPanel) -> None:
    places = np.arange(len(panel.groups))
    width = min(WIDEST_BAR, 0.8 / max(1, len(panel.series)))
    for i, series in enumerate(panel.series):
        values = np.array(series.values)
        colours = [LIGHT.colour(colour) for colour in series.colours or (series.colour,) * len(values)]
        shift = (i - (len(panel.series) - 1) / 2) * width
        drawn = axes.bar(
            places + shift,
            np.nan_to_num(values),
            0.92 * width,
            color=[mixed(colour, PAPER, series.pale) for colour in colours],
            edgecolor=colours,
            label=series.name,
        )
        texts = [f"{value:.{panel.digits}f}" if math.isfinite(value) else "" for value in values]
        crowded = len(panel.groups) * len(panel.series) > 20
        axes.bar_label(drawn, texts, padding=2, fontsize=7, rotation=90 if crowded else 0)
    axes.set_xticks(places, list(panel.groups))
    axes.set_ylabel(panel.left)
    axes.set_xlabel(panel.bottom)
    axes.grid(axis="x", visible=False)
    axes.margins(y=0.16)


def _draw_heat(figure: Figure, axes: Axes, panel: HeatPanel) -> None:
    from matplotlib.colors import ListedColormap, Normalize

    colours = ListedColormap(heat_colours(256))
    known = panel.values[np.isfinite(panel.values)]
    low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
    high = high if high > low else low + 1.0
    axes.set_facecolor("#f2f2f2")
    drawn = axes.imshow(np.ma.masked_invalid(panel.values), cmap=colours, vmin=low, vmax=high, aspect="auto")
    scale = Normalize(low, high)
    for (row, column), value in np.ndenumerate(panel.values):
        if math.isfinite(value):
            rgb = colours(scale(value))
            ink = ink_on("#" + "".join(f"{round(255 * part):02x}" for part in rgb[:3]))
            axes.text(column, row, f"{value:.2f}", ha="center", va="center", fontsize=8, color=ink)
        else:
            axes.text(column, row, "–", ha="center", va="center", fontsize=8, color="#555555")
    axes.set_xticks(range(len(panel.columns)), list(panel.columns))
    axes.set_yticks(range(len(panel.rows)), list(panel.rows))
    axes.set_xlabel(panel.bottom)
    axes.set_ylabel(panel.left)
    axes.grid(visible=False)
    figure.colorbar(drawn, ax=axes, label=panel.scale)


def _rows(contents: Plot) -> Iterator[list[str]]:
    curves = [(panel, curve) for panel in contents.panels if isinstance(panel, CurvePanel) for curve in panel.curves]
    if curves:
        yield from _curve_rows(curves)
    for panel in contents.panels:
        if isinstance(panel, BarPanel):
            yield [panel.bottom, *(f"{series.name}: {panel.left}" for series in panel.series)]
            for i, group in enumerate(panel.groups):
                yield [group.replace("\n", " "), *(_cell(series.values[i]) for series in panel.series)]
        elif isinstance(panel, HeatPanel):
            name, unit = parted(panel.scale)
            yield [f"{panel.left} \\ {panel.bottom}", *(f"{column}: {name} [{unit}]" for column in panel.columns)]
            for row, values in zip(panel.rows, panel.values, strict=True):
                yield [row, *(_cell(value) for value in values)]
        elif isinstance(panel, Table):
            yield list(panel.headings)
            for cells in panel.rows:
                yield [cell if isinstance(cell, str) else _cell(cell) for cell in cells]


def _curve_rows(curves: Sequence[tuple[CurvePanel, PlotCurve]]) -> Iterator[list[str]]:
    """Yield rows of curves; curves with a common x share its column. Gaps between runs are skipped."""
    bottom = next((panel.bottom for panel, _ in reversed(curves) if panel.bottom), "x")
    headings: list[str] = []
    columns: list[Array] = []
    blocks: list[tuple[Array, list[tuple[str, Array]]]] = []
    for panel, curve in curves:
        name, unit = parted(panel.left)
        title = ": ".join(filter(None, (curve.name, panel.of, f"{name} [{unit or '1'}]")))
        for x, members in blocks:
            if np.array_equal(x, curve.x):
                members.append((title, curve.y))
                break
        else:
            blocks.append((curve.x, [(title, curve.y)]))
    for x, members in blocks:
        there = np.any([np.isfinite(y) for _, y in members], axis=0)
        headings += [bottom, *(title for title, _ in members)]
        columns += [x[there], *(y[there] for _, y in members)]
    yield headings
    for i in range(max(len(column) for column in columns)):
        yield [_cell(column[i]) if i < len(column) else "" for column in columns]


def _cell(value: float | None) -> str:
    return repr(float(value)) if value is not None and math.isfinite(value) else ""
