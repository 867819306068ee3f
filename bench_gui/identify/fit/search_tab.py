"""The search as it goes on: the cost of each model over its evaluations, beside the best parameters."""

from __future__ import annotations

from typing import Any

from PySide6.QtWidgets import QHBoxLayout, QLabel, QTableView, QVBoxLayout, QWidget

from bench_gui.identify.fit.messages import FitProgress
from bench_gui.identify.tables import CostHistory
from bench_gui.plots.chart import Chart, pen
from bench_gui.theme import Theme
from bench_gui.widgets.fields import label


class SearchTab(QWidget):
    """Draws what came since it was last seen."""

    def __init__(self, parameter_view: QTableView) -> None:
        super().__init__()
        self._theme: Theme | None = None
        self._history = CostHistory()
        self._curves: dict[tuple[str, int], Any] = {}
        self._fresh = False
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 4, 0, 0)
        row.setSpacing(10)
        self.cost = Chart("Cost of each model", "Best error", "mrad", bottom="Evaluations", log=True)
        row.addWidget(self.cost, 10)
        right = QVBoxLayout()
        right.setSpacing(3)
        self.parameters_title: QLabel = label("BEST PARAMETERS", "heading")
        right.addWidget(self.parameters_title)
        right.addWidget(parameter_view, 1)
        row.addLayout(right, 9)

    def set_theme(self, theme: Theme) -> None:
        """Take over a theme's colours."""
        self._theme = theme
        self.cost.set_theme(theme)
        for (model, repeat), curve in self._curves.items():
            curve.setPen(self._pen(model, repeat))

    def add(self, progress: FitProgress) -> None:
        """Take in how far a search is; it is seen once `draw` is called."""
        if not progress.trial:
            self._history.add(progress.model, progress.repeat, progress.points)
        self._fresh = True

    def draw(self) -> None:
        """Draw what came since the last call."""
        if not self._fresh:
            return
        self._fresh = False
        for (model, repeat), (x, y) in self._history.curves.items():
            if (model, repeat) not in self._curves:
                name = model.upper() if repeat == 0 else f"{model.upper()}, repeat {repeat + 1}"
                curve = self.cost.add_curve(title=name)
                curve.setPen(self._pen(model, repeat))
                self._curves[model, repeat] = curve
            self._curves[model, repeat].setData(x, y)

    def forget(self) -> None:
        """Remove every curve: another search begins."""
        self._history = CostHistory()
        for curve in self._curves.values():
            self.cost.removeItem(curve)
        self._curves = {}

    def _pen(self, model: str, repeat: int) -> Any:
        colour = self._theme.model(model) if self._theme is not None else "#888888"
        return pen(colour, 2.0 if repeat == 0 else 1.0)
