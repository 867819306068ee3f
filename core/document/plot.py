"""Contents of a plot as plain data, which window and paper draw.

A colour is a meaning, which each renderer maps to its palette: a field of `bench_gui.theme.Theme` such as "goal",
"measured" or "muted", or a friction model, "m1" … "m6". "#RRGGBB" is drawn as it is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from core.document.table import Table

Array = NDArray[np.float64]
Range = tuple[float, float]
DASHED, DOTTED, DASH_DOTTED = (5.0, 2.5), (1.5, 2.0), (7.0, 2.0, 1.5, 2.0)
"""Dash patterns in widths of the line."""


@dataclass(frozen=True, eq=False)
class PlotCurve:
    """One curve or set of points; x, y (n,) at full resolution, NaN in y makes a gap."""

    name: str
    x: Array
    y: Array
    colour: str
    width: float = 1.0
    """Width of the line [px]; 0 for points without a line."""
    dash: tuple[float, ...] | None = None
    """Dash pattern in widths of the line."""
    marker: str = ""
    """Marker of points, named as in both plotting libraries: "o", "t" …; empty for a line alone."""
    opacity: float = 1.0
    legend: str | None = None
    """Name in a legend; None: same as `name`, empty: not in the legend. Curves with one name have one entry."""
    z: float = 0.0
    """Curves with a higher value are drawn on top."""
    note: str = ""
    """Text beside the panel, on paper, at the height of the last point."""

    def within(self, x_range: Range) -> PlotCurve:
        """Return the part inside a range, including its ends."""
        low, high = x_range
        kept = (self.x >= low) & (self.x <= high)
        return replace(self, x=self.x[kept], y=self.y[kept])

    def at(self, x: float) -> float:
        """Value by linear interpolation; NaN outside the curve and in its gaps."""
        if not len(self.x) or not self.x[0] <= x <= self.x[-1]:
            return float("nan")
        i = int(np.searchsorted(self.x, x, side="right")) - 1
        if self.x[i] == x or i + 1 == len(self.x):
            return float(self.y[i])
        share = (x - self.x[i]) / (self.x[i + 1] - self.x[i])
        return float(self.y[i] + share * (self.y[i + 1] - self.y[i]))


@dataclass(frozen=True, eq=False)
class PlotArea:
    """Area between two curves over x, all (n,)."""

    name: str
    x: Array
    low: Array
    high: Array
    colour: str
    opacity: float


@dataclass(frozen=True, eq=False)
class CurvePanel:
    """One pair of axes with curves."""

    left: str
    """Name and unit of the left axis, e.g. "Position [rad]"."""
    bottom: str
    x_range: Range | None
    """None: all curves are shown."""
    y_range: Range | None
    curves: tuple[PlotCurve, ...]
    areas: tuple[PlotArea, ...] = ()
    log: bool = False
    log_bottom: bool = False
    height: float = 1.0
    """Share of the picture's height."""
    title: str = ""
    of: str = ""
    """Thing that the curves belong to, such as a run: title of its first panel, and part of the name of its numbers."""


@dataclass(frozen=True)
class BarSeries:
    """Bars of one colour, one in each group; NaN for a missing bar."""

    name: str
    colour: str
    values: tuple[float, ...]
    pale: float = 0.0
    """Share of the paper's colour in the fill; the outline keeps the full colour."""
    colours: tuple[str, ...] = ()
    """Colour of each bar, on paper; empty: all have `colour`."""


@dataclass(frozen=True)
class BarPanel:
    """Groups of bars side by side."""

    left: str
    bottom: str
    groups: tuple[str, ...]
    series: tuple[BarSeries, ...]
    digits: int = 2
    """Decimals of the values above the bars, on paper."""


@dataclass(frozen=True, eq=False)
class HeatPanel:
    """Numbers over two conditions, shown by colour."""

    left: str
    bottom: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: Array
    """Values (rows, columns); NaN for a missing one."""
    scale: str
    """Meaning of the colours, with unit."""


Panel = CurvePanel | BarPanel | HeatPanel | Table


@dataclass(frozen=True, eq=False)
class Plot:
    """Panels under one title."""

    title: str
    panels: tuple[Panel | None, ...]
    """Panels row by row; None leaves a place free."""
    columns: int = 1
    """Number of panels side by side."""
    shared: str = ""
    """Axes that all panels share: "x", "y" or "xy"."""


def parted(text: str) -> tuple[str, str]:
    """Split an axis title into name and unit: "Position [rad]" gives "Position" and "rad"."""
    name, bracket, unit = text.rpartition(" [")
    return (name, unit.rstrip("]")) if bracket else (text, "")


def labelled(name: str, unit: str) -> str:
    """Inverse of `parted`."""
    return f"{name} [{unit}]" if unit else name


def mixed(colour: str, paper: str, share: float) -> str:
    """Mix a colour with a share of the paper's colour."""
    parts = ((int(colour[i : i + 2], 16), int(paper[i : i + 2], 16)) for i in (1, 3, 5))
    return "#" + "".join(f"{round(one + share * (other - one)):02x}" for one, other in parts)
