"""Curves that a legend shows and hides by key, over any charts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench_gui.plots.chart import Chart
from bench_gui.plots.legend import Legend

Array = NDArray[np.float64]


class Curves:
    """What is drawn, by key; one key may have curves in several charts."""

    def __init__(self) -> None:
        self._drawn: dict[str, list[tuple[Chart, Any]]] = {}

    @property
    def keys(self) -> list[str]:
        """In the order they were drawn first."""
        return list(self._drawn)

    def of(self, key: str) -> list[Any]:
        """The curves of a key, in the order they were added."""
        return [curve for _, curve in self._drawn[key]]

    def add(self, chart: Chart, key: str, title: str, x: Array, y: Array, drawn: Any, z: float = 0.0) -> Any:
        """Draw a curve with a pen; title: what exported files call it. Returns the curve."""
        curve = chart.add_curve(z, title)
        curve.setPen(drawn)
        curve.setData(x, y)
        self._drawn.setdefault(key, []).append((chart, curve))
        return curve

    def clear(self) -> None:
        """Take all away."""
        for curves in self._drawn.values():
            for chart, curve in curves:
                chart.removeItem(curve)
        self._drawn = {}

    def toggle(self, key: str, on: bool) -> None:
        """Show or hide what has a key."""
        for _, curve in self._drawn.get(key, ()):
            curve.setVisible(on)

    def follow(self, legend: Legend) -> None:
        """Show what a legend shows."""
        for key in self._drawn:
            self.toggle(key, legend.shown(key))
