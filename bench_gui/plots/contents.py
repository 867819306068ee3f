"""What a plot shows, as plain data without Qt: handed to the process that writes pictures and tables of numbers.

Colours are those for white paper, whatever theme the window has.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Range = tuple[float, float]


@dataclass(frozen=True, eq=False)
class PlotCurve:
    """One curve or set of points; x, y (n,) at full resolution, gaps where y is NaN."""

    name: str
    x: Array
    y: Array
    colour: str
    width: float = 1.0
    """[px]; 0 for points without a line."""
    dash: tuple[float, ...] | None = None
    """In widths of the line."""
    marker: str = ""
    """Of points, as both plotting libraries call it: "o", "t" …; empty for a line alone."""
    opacity: float = 1.0
    legend: str | None = None
    """As a legend calls it; None: by its name, empty: not at all."""

    def within(self, x_range: Range) -> PlotCurve:
        """The part inside a range, its ends included."""
        low, high = x_range
        kept = (self.x >= low) & (self.x <= high)
        return replace(self, x=self.x[kept], y=self.y[kept])

    def at(self, x: float) -> float:
        """Value between the neighbouring points, by a straight line; NaN outside the curve and in its gaps."""
        if not len(self.x) or not self.x[0] <= x <= self.x[-1]:
            return float("nan")
        i = int(np.searchsorted(self.x, x, side="right")) - 1
        if self.x[i] == x or i + 1 == len(self.x):
            return float(self.y[i])
        share = (x - self.x[i]) / (self.x[i + 1] - self.x[i])
        return float(self.y[i] + share * (self.y[i + 1] - self.y[i]))


@dataclass(frozen=True, eq=False)
class PlotArea:
    """The area between two curves over x, all (n,)."""

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
    """What the axis shows, with its unit, e.g. "Position [rad]"."""
    bottom: str
    x_range: Range
    y_range: Range
    curves: tuple[PlotCurve, ...]
    areas: tuple[PlotArea, ...] = ()
    log: bool = False
    log_bottom: bool = False
    height: float = 1.0
    """Share of the picture's height."""


@dataclass(frozen=True)
class BarSeries:
    """Bars of one colour, one in each group; NaN where there is none."""

    name: str
    colour: str
    values: tuple[float, ...]
    pale: float = 0.0
    """Share of the paper's colour in the filling; the outline keeps the whole colour."""


@dataclass(frozen=True)
class BarPanel:
    """Bars in groups, side by side."""

    left: str
    bottom: str
    groups: tuple[str, ...]
    series: tuple[BarSeries, ...]


@dataclass(frozen=True, eq=False)
class HeatPanel:
    """Numbers over two conditions, by colour."""

    left: str
    bottom: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: Array
    """(rows, columns); NaN where there is none."""
    scale: str
    """What the colours mean, with its unit."""


@dataclass(frozen=True)
class TablePanel:
    """A table, for files of numbers only."""

    headings: tuple[str, ...]
    rows: tuple[tuple[str | float, ...], ...]


Panel = CurvePanel | BarPanel | HeatPanel | TablePanel


@dataclass(frozen=True, eq=False)
class PlotContents:
    """Panels above each other under one title."""

    title: str
    panels: tuple[Panel, ...]


def parted(text: str) -> tuple[str, str]:
    """Name and unit of an axis: "Position [rad]" is "Position" and "rad"."""
    name, bracket, unit = text.rpartition(" [")
    return (name, unit.rstrip("]")) if bracket else (text, "")


def labelled(name: str, unit: str) -> str:
    """Inverse of `parted`."""
    return f"{name} [{unit}]" if unit else name


def mixed(colour: str, paper: str, share: float) -> str:
    """A colour with a share of the paper's in it."""
    parts = ((int(colour[i : i + 2], 16), int(paper[i : i + 2], 16)) for i in (1, 3, 5))
    return "#" + "".join(f"{round(one + share * (other - one)):02x}" for one, other in parts)
