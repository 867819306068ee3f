"""Curves in several charts that a legend shows and hides by key."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench_gui.plots.chart import Chart, pen
from bench_gui.plots.legend import Legend
from bench_gui.plots.styles import Style

Array = NDArray[np.float64]


class Curves:
    """Drawn curves by key; one key may have curves in several charts."""

    def __init__(self) -> None:
        self._drawn: dict[str, list[tuple[Chart, Any]]] = {}

    @property
    def keys(self) -> list[str]:
        """Keys in the order of their first drawing."""
        return list(self._drawn)

    def of(self, key: str) -> list[Any]:
        """Curves of a key, in the order they were added."""
        return [curve for _, curve in self._drawn[key]]

    def add(self, chart: Chart, key: str, title: str, x: Array, y: Array, style: Style, z: float = 0.0) -> Any:
        """Draw a curve and return it; title: name in exported files."""
        curve = chart.add_curve(z, title)
        curve.setPen(pen(*style))
        curve.setData(x, y)
        self._drawn.setdefault(key, []).append((chart, curve))
        return curve

    def clear(self) -> None:
        """Remove all curves."""
        for curves in self._drawn.values():
            for chart, curve in curves:
                chart.remove_item(curve)
        self._drawn = {}

    def toggle(self, key: str, on: bool) -> None:
        """Show or hide the curves of a key."""
        for _, curve in self._drawn.get(key, ()):
            curve.setVisible(on)

    def follow(self, legend: Legend) -> None:
        """Show the curves that a legend shows."""
        for key in self._drawn:
            self.toggle(key, legend.shown(key))
