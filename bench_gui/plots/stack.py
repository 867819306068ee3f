"""Charts one above another over one time."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtWidgets import QVBoxLayout, QWidget

from bench_gui.plots.chart import Chart


def stacked(charts: Sequence[Chart], shares: Sequence[int], least: int) -> QWidget:
    """A column of charts whose abscissae move together; shares: of the height, each at least `least` px a share."""
    holder = QWidget()
    column = QVBoxLayout(holder)
    column.setContentsMargins(0, 0, 0, 0)
    column.setSpacing(4)
    for chart, share in zip(charts, shares, strict=True):
        chart.setMinimumHeight(least * share)
        column.addWidget(chart, share)
    for chart in charts[1:]:
        chart.axes.setXLink(charts[0].axes)
    return holder
