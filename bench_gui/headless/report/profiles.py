"""Profile likelihoods and bootstrap intervals: rows of the table, and figures of the profiles."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bench_gui.headless.palette import LIGHT
from bench_gui.headless.report.figures import new_figure
from bench_gui.headless.symbols import mathtext
from core.identification.evidence.certainty import LIMIT, Certainty, ParameterCertainty

COLUMNS = 4
HIGHEST = 3.0
"""Largest plotted deviance, as a multiple of the limit, which keeps the crossings visible."""
PROFILE_COLOUR, INTERVAL_COLOUR = "#1463b8", "#8db6e4"


@dataclass(frozen=True, kw_only=True)
class CertaintyRow:
    """Row of a parameter with a profile or bootstrap interval."""

    parameter: ParameterCertainty
    profile: str
    bootstrap: str
    remarks: tuple[str, ...]


def certainty_rows(found: Certainty) -> list[CertaintyRow]:
    """Return a row per parameter with more than a linearised interval."""
    return [
        CertaintyRow(
            parameter=p,
            profile="–" if p.profile is None else p.profile.text,
            bootstrap="–" if p.spread is None else p.spread.text,
            remarks=p.remarks,
        )
        for p in found.parameters
        if p.profile is not None or p.spread is not None
    ]


def profile_figure(found: Certainty) -> Figure | None:
    """Draw the deviance over each profiled parameter; return None if there are none."""
    shown = [p for p in found.parameters if p.profile is not None]
    if not shown:
        return None
    rows = -(-len(shown) // COLUMNS)
    figure = new_figure(7.2, 1.7 * rows + 0.3)
    grid = np.atleast_2d(figure.subplots(rows, COLUMNS, sharey=True))
    for axes in grid.flat[len(shown) :]:
        axes.set_visible(False)
    for axes, parameter in zip(grid.flat, shown, strict=False):
        _draw(axes, parameter)
    figure.supylabel("deviance", fontsize=9.5)
    return figure


def _draw(axes: Axes, parameter: ParameterCertainty) -> None:
    profile = parameter.profile
    assert profile is not None
    values = np.array([point.value for point in profile.points])
    deviances = np.array([point.deviance for point in profile.points])
    low = parameter.lowest if profile.lower is None else profile.lower
    high = parameter.highest if profile.upper is None else profile.upper
    axes.axvspan(low, high, color=INTERVAL_COLOUR, alpha=0.35, linewidth=0.0)
    axes.axhline(LIMIT, color=LIGHT.measured, linewidth=0.7, linestyle="--")
    axes.plot(values, deviances, "o-", color=PROFILE_COLOUR, markersize=2.5, linewidth=1.2)
    axes.axvline(parameter.value, color=LIGHT.measured, linewidth=0.8)
    axes.set_ylim(min(-0.3, 1.1 * float(deviances.min())), HIGHEST * LIMIT)
    margin = 0.35 * (high - low) or 0.05 * (parameter.highest - parameter.lowest)
    axes.set_xlim(max(low - margin, parameter.lowest), min(high + margin, parameter.highest))
    unit = "" if parameter.unit == "1" else f" / {parameter.unit}"
    axes.set_title(f"{mathtext(parameter.symbol)}{unit}", fontsize=8.5, loc="left", parse_math=True)
    axes.tick_params(labelsize=7)
    axes.locator_params(axis="x", nbins=4)
