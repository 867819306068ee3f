"""Charts stacked above each other with one time axis."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtWidgets import QVBoxLayout, QWidget

from bench_gui.plots.chart import Chart

LEGIBLE = 120
"""Height below which the shape of a curve cannot be read; a page scrolls instead [px]."""


def stacked(charts: Sequence[Chart], shares: Sequence[int], least: int) -> QWidget:
    """Return a column of charts whose time axes move together; shares: of the height; least: height of each [px]."""
    holder = QWidget()
    column = QVBoxLayout(holder)
    column.setContentsMargins(0, 0, 0, 0)
    column.setSpacing(4)
    for chart, share in zip(charts, shares, strict=True):
        chart.setMinimumHeight(least)
        column.addWidget(chart, share)
    for chart in charts[1:]:
        chart.view.setXLink(charts[0].view)
    return holder
