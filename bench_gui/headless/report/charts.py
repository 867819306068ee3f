"""Figures of the search for a model and of its residuals."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter
from numpy.typing import NDArray

from bench_gui.headless.palette import LIGHT
from bench_gui.headless.report.figures import new_figure
from bench_gui.headless.report.traces import SearchTrace
from bench_gui.headless.symbols import mathtext
from core.base.units import fixed
from core.identification.evidence.correlation import Correlations
from core.identification.evidence.residuals import SIGNIFICANT, ResidualBin

Array = NDArray[np.float64]

SHOWN_CORRELATION = 0.5
"""Smallest correlation printed as a number; smaller ones show as colour only."""

PANELS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("speed / no-load speed", ("speed",)),
    ("load |τₑ| / N·m", ("load",)),
    ("direction and phase", ("direction", "phase")),
    ("time within the run / s", ("time",)),
    ("temperature / °C", ("temperature",)),
    ("trajectory", ("trajectory",)),
)
"""Title and factors of each panel of residuals."""
ANGLE_PANELS = (PANELS[0], PANELS[2], PANELS[3])

COLUMNS = 3


def search_figure(traces: Sequence[SearchTrace], used: str) -> Figure:
    """Draw the best value over evaluations of every search; used: the friction model with a thick line."""
    figure = new_figure(7.2, 3.4)
    axes = figure.subplots()
    for trace in traces:
        own = trace.friction == used
        best = 1e3 * np.append(trace.best, trace.best[-1])
        axes.step(
            np.append(trace.evaluations, trace.total),
            np.where(np.isfinite(best), best, np.nan),
            where="post",
            color=LIGHT.model(trace.friction),
            linewidth=2.0 if own else 1.2,
            zorder=3 if own else 2,
            alpha=1.0 if trace.repeat == 0 else 0.5,
            label=f"{trace.name}: {best[-1]:.2f} mrad",
        )
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 1.5, 2.0, 3.0, 5.0, 7.0)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_xlim(left=0.0)
    axes.set_xlabel("evaluations")
    axes.set_ylabel("best value so far / mrad")
    axes.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=3, fontsize=8)
    return figure


def correlation_figure(found: Correlations) -> Figure:
    """Draw correlations of the free parameters as a heat map; a cross marks parameters without effect."""
    count = len(found.symbols)
    figure = new_figure(7.2, min(6.3, 1.2 + 0.3 * count))
    axes = figure.subplots()
    image = axes.pcolormesh(found.matrix, cmap="RdBu_r", vmin=-1.0, vmax=1.0, edgecolors="#ffffff", linewidth=0.5)
    for i in range(count):
        for k in range(count):
            value = found.matrix[i, k]
            if np.isnan(value):
                axes.text(k + 0.5, i + 0.5, "×", ha="center", va="center", color="#999999", fontsize=7)
            elif i != k and abs(value) >= SHOWN_CORRELATION:
                colour = "#ffffff" if abs(value) > 0.7 else LIGHT.measured
                axes.text(k + 0.5, i + 0.5, fixed(value, 2), ha="center", va="center", color=colour, fontsize=5.5)
    places = np.arange(count) + 0.5
    symbols = [mathtext(symbol) for symbol in found.symbols]
    axes.set_xticks(places, symbols, rotation=50, ha="left", rotation_mode="anchor", parse_math=True)
    axes.set_yticks(places, symbols, parse_math=True)
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.set_aspect("equal")
    axes.invert_yaxis()
    axes.grid(visible=False)
    for spine in axes.spines.values():
        spine.set_visible(False)
    bar = figure.colorbar(image, ax=axes, label="correlation of the estimates", shrink=0.8)
    if bar.solids is not None:
        # Vector cells, not an embedded bitmap.
        bar.solids.set_rasterized(False)
    return figure


def friction_residuals(bins: Sequence[ResidualBin]) -> Figure:
    """Draw the missing friction by speed, load, direction, phase and time: mean and standard error."""
    return _panels(PANELS, bins, "missing friction / mN·m", lambda b: (b.friction_mean, _error(b), b.significance))


def position_residuals(bins: Sequence[ResidualBin]) -> Figure:
    """Draw the position error by speed, direction, phase and time: mean and standard deviation of the samples."""
    return _panels(
        ANGLE_PANELS, bins, "simulated − measured / mrad", lambda b: (b.position_mean, b.position_spread, 0.0)
    )


def _panels(
    panels: Sequence[tuple[str, tuple[str, ...]]],
    bins: Sequence[ResidualBin],
    label: str,
    numbers: Callable[[ResidualBin], tuple[float, float, float]],
) -> Figure:
    """Draw a panel per factor; numbers: returns mean, error bar and significance of a bin."""
    shown = [(title, found) for title, factors in panels if (found := [b for b in bins if b.factor in factors])]
    rows = max(1, -(-len(shown) // COLUMNS))
    figure = new_figure(7.2, 2.3 * rows)
    grid = np.atleast_2d(figure.subplots(rows, COLUMNS, sharey=True))
    for axes in grid.flat[len(shown) :]:
        axes.set_visible(False)
    for axes, (title, found) in zip(grid.flat, shown, strict=False):
        ordered = _from_negative(found)
        means, errors, significances = np.array([numbers(entry) for entry in ordered]).T
        certain = np.abs(significances) > SIGNIFICANT
        for chosen, colour in ((~certain, "#1463b8"), (certain, "#b3261e")):
            _draw(axes, np.flatnonzero(chosen), 1e3 * means[chosen], 1e3 * errors[chosen], colour)
        axes.axhline(0.0, color=LIGHT.measured, linewidth=0.6)
        labels = [_short(entry.label) for entry in ordered]
        axes.set_xticks(range(len(ordered)), labels, rotation=45, ha="right", rotation_mode="anchor", fontsize=7)
        axes.set_title(title, fontsize=8.5, loc="left")
        axes.grid(axis="x", visible=False)
        axes.set_xlim(-0.5, len(ordered) - 0.5)
    figure.supylabel(label, fontsize=9.5)
    return figure


def _draw(axes: Axes, places: NDArray[np.int64], means: Array, errors: Array, colour: str) -> None:
    axes.errorbar(places, means, np.nan_to_num(errors), fmt="o", color=colour, markersize=4, capsize=2)


def _error(entry: ResidualBin) -> float:
    """Return the standard error of the missing friction [N·m]; NaN if it is unknown."""
    return abs(entry.friction_mean / entry.significance) if entry.significance else np.nan


def _from_negative(bins: Sequence[ResidualBin]) -> list[ResidualBin]:
    """Order speeds from the fastest negative to the fastest positive one; keep the order of others."""
    negative = [entry for entry in bins if entry.label.startswith("−")]
    return [*reversed(negative), *(entry for entry in bins if not entry.label.startswith("−"))]


def _short(label: str) -> str:
    """Return the label of a bin without the unit, which the title has: "0…0.0729" for "4.35e-05 … 0.0729 N·m"."""
    low, _, rest = label.partition(" … ")
    high, _, unit = rest.partition(" ")
    if not high or not unit:
        return label
    if unit == "%":
        return f"{low}…{high} %"
    decimals = 2 - math.floor(math.log10(abs(float(high)) or 1.0))
    return f"{round(float(low), decimals):g}…{high}"
