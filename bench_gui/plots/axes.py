"""Axes with true minus signs, and a logarithmic axis that stays readable within a decade."""

from __future__ import annotations

import math
from typing import Any

import pyqtgraph as pg

_STEPS = ((1.0, 2.0, 5.0), (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0))
ENOUGH = 4


class Axis(pg.AxisItem):
    """Formats numbers like the rest of the window, in the given unit and without SI prefixes."""

    def updateAutoSIPrefix(self) -> None:
        """Choose no prefix, but draw the ticks again: this is called instead when the range changes."""
        self.picture = None
        self.update()

    def resizeEvent(self, ev: Any = None) -> None:
        """Draw the ticks again; their cached picture would otherwise stay until the range changes."""
        super().resizeEvent(ev)
        self.picture = None
        self.update()

    def tickStrings(self, values: list[float], scale: Any, spacing: Any) -> list[str]:
        return [text.replace("-", "−") for text in super().tickStrings(values, scale, spacing)]


class LogAxis(Axis):
    """Shows positions that are decimal logarithms as their values."""

    def tickValues(self, minVal: float, maxVal: float, size: float) -> list[tuple[float, list[float]]]:
        """Return round values in the range: the coarsest set with enough values."""
        if not (math.isfinite(minVal) and math.isfinite(maxVal)) or maxVal <= minVal:
            return []
        decades = range(math.floor(minVal), math.ceil(maxVal) + 1)
        ticks: list[float] = []
        for steps in _STEPS:
            ticks = [d + math.log10(s) for d in decades for s in steps if minVal <= d + math.log10(s) <= maxVal]
            if len(ticks) >= ENOUGH:
                break
        else:
            ticks = _even_ticks(10.0**minVal, 10.0**maxVal)
        room = max(2, int(size // 22))
        stride = -(-len(ticks) // room)
        return [(1.0, ticks[::stride])]

    def tickStrings(self, values: list[float], scale: Any, spacing: Any) -> list[str]:
        return [f"{10.0**value:.4g}" for value in values]


def _even_ticks(low: float, high: float) -> list[float]:
    """Logarithms of evenly spaced round values: within a decade both scales look alike."""
    rough = (high - low) / ENOUGH
    decade = 10.0 ** math.floor(math.log10(rough))
    step = decade * max(s for s in (1.0, 2.0, 5.0) if s * decade <= rough)
    first = math.ceil(low / step)
    return [math.log10(k * step) for k in range(first, math.floor(high / step) + 1) if k > 0]
