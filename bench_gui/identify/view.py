"""Identification: one click, watched live, a table at the end."""

from __future__ import annotations

import math
from typing import Any

from PySide6.QtCore import QModelIndex
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from bench_gui.controller import Controller
from bench_gui.identify.messages import FitProgress, FitResult, FittedModel
from bench_gui.identify.settings_form import SettingsForm
from bench_gui.identify.tables import BAR_COLUMN, BOUND_COLUMN, BarDelegate, CostHistory, ParameterTable, ResultTable
from bench_gui.plots.chart import Chart, pen
from bench_gui.theme import Theme
from bench_gui.units import milliradians
from bench_gui.widgets.fields import EmptyState, button, label
from bench_gui.widgets.page import TaskPage
from bench_gui.widgets.symbols import SymbolDelegate
from bench_gui.widgets.tables import plain_table
from core.friction import FRICTION_TITLES
from core.model import ServoModel


class IdentifyView(TaskPage):
    """Starts, shows, stops."""

    def __init__(self, controller: Controller, record_four: QPushButton, example: QPushButton) -> None:
        """record_four, example: what the empty state offers."""
        super().__init__()
        self._controller = controller
        self._theme: Theme | None = None
        self._history = CostHistory()
        self._curves: dict[tuple[str, int], Any] = {}
        self._candidates: dict[str, FittedModel] = {}
        self._fresh = False
        self.form = SettingsForm()
        self.settings.addWidget(self.form)
        self.settings.addStretch(1)
        self.summary = label("", "muted")
        self.summary.setWordWrap(True)
        self.start_button: QPushButton = button(
            "Identify", "Search for the parameters of the checked models", self._start, "primary"
        )
        self.start_button.setMinimumHeight(26)
        self.stop_button: QPushButton = button(
            "Stop", "End the search and keep the best models found so far", controller.fitting.stop
        )
        self.stop_button.setMinimumHeight(26)
        row = QHBoxLayout()
        row.addWidget(self.start_button, 2)
        row.addWidget(self.stop_button, 1)
        self.actions_column.addWidget(self.summary)
        self.actions_column.addLayout(row)
        self._build_picture()
        self.set_empty_state(
            EmptyState(
                "No recordings to identify from",
                "Record the four trajectories (24 s), or look at the example recorded with a real XL330.",
                record_four,
                example,
            )
        )
        fitting = controller.fitting
        fitting.changed.connect(self._enable)
        fitting.divided.connect(lambda train, held: self.summary.setText(f"{train} runs to fit, {held} to judge"))
        fitting.progressed.connect(self._take)
        fitting.finished.connect(self._show_result)
        controller.library.runs_changed.connect(self._offer)
        controller.library.selection_changed.connect(self._offer)
        controller.library.opened.connect(self._forget)
        self._offer()
        self._enable()

    def _build_picture(self) -> None:
        upper = QHBoxLayout()
        upper.setSpacing(10)
        left, right = QVBoxLayout(), QVBoxLayout()
        left.setSpacing(4)
        right.setSpacing(4)
        left.addWidget(label("BEST ERROR SO FAR", "heading"))
        self.cost = Chart("Cost of each model", "Mean error", "mrad", bottom="Evaluations", log=True)
        left.addWidget(self.cost, 1)
        self.parameters_title: QLabel = label("BEST PARAMETERS", "heading")
        right.addWidget(self.parameters_title)
        self.parameters = ParameterTable()
        self._bars = BarDelegate()
        self.parameter_view = plain_table(
            "Best parameters", "The best parameters found and where they lie in their bounds"
        )
        self.parameter_view.setModel(self.parameters)
        self.parameter_view.setItemDelegateForColumn(BAR_COLUMN, self._bars)
        self._symbols = SymbolDelegate()
        self.parameter_view.setItemDelegateForColumn(0, self._symbols)
        for place, width in enumerate((68, 98, 90)):
            self.parameter_view.setColumnWidth(place, width)
        right.addWidget(self.parameter_view, 1)
        upper.addLayout(left, 10)
        upper.addLayout(right, 9)
        holder = QWidget()
        holder.setLayout(upper)
        upper.setContentsMargins(0, 0, 0, 0)
        self.centre.addWidget(holder, 5)
        heading = QHBoxLayout()
        heading.addWidget(label("RESULT", "heading"))
        heading.addStretch(1)
        heading.addWidget(label("★ recommended: lowest error on runs it was not fitted to", "muted"))
        self.centre.addLayout(heading)
        self.results = ResultTable()
        self.result_view = plain_table("Result", "What was found for each model; select one to see its parameters")
        self.result_view.setModel(self.results)
        for place, width in enumerate((226, 118, 128, 112, 96, 72)):
            self.result_view.setColumnWidth(place, width)
        self.result_view.setItemDelegateForColumn(BOUND_COLUMN, self._symbols)
        self.result_view.selectionModel().currentRowChanged.connect(self._show_row)
        self.centre.addWidget(self.result_view, 4)

    def set_theme(self, theme: Theme) -> None:
        """Take over a theme's colours."""
        self._theme = theme
        self.form.set_theme(theme)
        self.cost.set_theme(theme)
        self.parameters.set_theme(theme)
        self._bars.set_theme(theme)
        self.results.set_theme(theme)
        for (model, repeat), curve in self._curves.items():
            curve.setPen(self._pen(model, repeat))

    def entered(self) -> None:
        """Draw what came while the page was out of sight."""
        self._draw()

    def _start(self) -> None:
        self._forget()
        self.summary.setText("Loading the recordings…")
        self._controller.identify(self.form.settings())

    def _forget(self) -> None:
        self._history = CostHistory()
        self._candidates = {}
        for curve in self._curves.values():
            self.cost.removeItem(curve)
        self._curves = {}
        self.results.set_rows((), "")
        self.parameters.set_parameters([])
        self.summary.setText("")

    def _take(self, progress: FitProgress) -> None:
        self._history.add(progress.model, progress.repeat, progress.points)
        if progress.candidate is not None:
            self._show_parameters(progress.candidate)
            self._note_candidate(progress, progress.candidate)
        self._fresh = True
        if self.isVisible():
            self._draw()

    def _note_candidate(self, progress: FitProgress, candidate: ServoModel) -> None:
        """Show the best so far where the result will stand."""
        evaluations, error = progress.points[-1]
        before = self._candidates.get(progress.model)
        if before is None or error <= before.train_mae:
            self._candidates[progress.model] = FittedModel(candidate, error, None, evaluations, math.nan, None)
            self.results.set_rows(tuple(self._candidates.values()), "")

    def _draw(self) -> None:
        if not self._fresh:
            return
        self._fresh = False
        for (model, repeat), (x, y) in self._history.curves.items():
            if (model, repeat) not in self._curves:
                curve = self.cost.add_curve()
                curve.setPen(self._pen(model, repeat))
                self._curves[model, repeat] = curve
            self._curves[model, repeat].setData(x, y)

    def _pen(self, model: str, repeat: int) -> Any:
        colour = self._theme.model(model) if self._theme is not None else "#888888"
        return pen(colour, 2.0 if repeat == 0 else 1.0)

    def _show_parameters(self, model: ServoModel) -> None:
        self.parameters_title.setText(f"BEST PARAMETERS OF {model.friction.upper()}")
        self.parameters.set_parameters(list(model.parameters.values()))

    def _show_result(self, result: FitResult) -> None:
        self._draw()
        self.results.set_rows(result.models, result.recommended)
        best = self.results.recommended_row
        if best >= 0:
            self.result_view.selectRow(best)
            row = self.results.row(best)
            error = row.train_mae if row.validation_mae is None else row.validation_mae
            early = "Stopped early. " if result.stopped else ""
            name = f"{row.model.friction.upper()} {FRICTION_TITLES[row.model.friction].lower()}"
            kind = "training" if row.validation_mae is None else "validation"
            self.summary.setText(f"{early}Best: {name}, {kind} error {milliradians(error)} mrad")

    def _show_row(self, current: QModelIndex, _: QModelIndex) -> None:
        if current.isValid():
            self._show_parameters(self.results.row(current.row()).model)

    def _offer(self) -> None:
        runs = self._controller.library.chosen()
        self.form.offer(runs)
        self.show_empty(not runs)
        self._enable()

    def _enable(self) -> None:
        fitting = self._controller.fitting
        count = len(self._controller.library.chosen())
        self.start_button.setEnabled(not fitting.active and count > 0)
        self.start_button.setText("Identify" if count == 0 else f"Identify from {count} run{'s' if count != 1 else ''}")
        self.stop_button.setEnabled(fitting.active and not fitting.stopping)
        self.stop_button.setText("Stopping…" if fitting.stopping else "Stop")
        if not fitting.active and fitting.result is None and self.summary.text().startswith("Loading"):
            self.summary.setText("")
