"""Search tab: the cost of each model over its evaluations, beside the figures of each model."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QStackedWidget, QTableView, QVBoxLayout, QWidget

from bench_gui.controller import Controller
from bench_gui.identify.fit.messages import CostCurve, FitProgress, FitResult, FittedModel
from bench_gui.identify.tables import CostHistory, ResultTable
from bench_gui.plots.chart import Chart, pen
from bench_gui.theme import themes
from bench_gui.widgets.fields import ElidedLabel, describe, hbox, label
from bench_gui.widgets.tables import fit_columns, plain_table
from bench_gui.work.simulations import course_of_search
from core.identification.result import step_in_words

NOTHING = "No search yet: press Identify."


class SearchTab(QWidget):
    """Draws the progress since it was last visible."""

    def __init__(self, controller: Controller) -> None:
        super().__init__()
        self._controller = controller
        self._history = CostHistory()
        self._curves: dict[tuple[str, int], Any] = {}
        self._fresh = False
        self._asked: FitResult | None = None
        """Result whose searches were last requested."""
        self.cost = Chart("Cost of each model", "Cost", "mrad", bottom="Evaluations", log=True)
        self.nothing: QLabel = describe(label(NOTHING, "muted"), "No search", "Reason why no search is shown")
        self.nothing.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.nothing.setWordWrap(True)
        self._stack = QStackedWidget()
        self._stack.addWidget(self.nothing)
        self._stack.addWidget(self.cost)
        self.objective: QLabel = describe(label("", "muted"), "Objective", "Objective that the search minimises")
        self.results = ResultTable()
        self.view: QTableView = plain_table("Figures of each model", "Errors, repeats and effort of each model")
        self.view.setModel(self.results)
        fit_columns(self.view, range(self.results.columnCount()))
        self.step_note = ElidedLabel()
        self.step_note.setProperty("role", "muted")
        self.step_note.setAccessibleName("Simulation time step")
        left, right = QVBoxLayout(), QVBoxLayout()
        for column in (left, right):
            column.setSpacing(4)
        left.addWidget(self.objective)
        left.addWidget(self._stack, 1)
        right.addWidget(self.view, 1)
        right.addWidget(self.step_note)
        row = hbox(self, spacing=10, margins=(0, 4, 0, 0))
        row.addLayout(left, 2)
        row.addLayout(right, 3)
        themes.changed.connect(self._paint)

    def name_objective(self, words: str) -> None:
        """Show the objective of the search."""
        self.objective.setText(f"Cost: {words}" if words else "")

    def add(self, progress: FitProgress) -> None:
        """Store the progress of a search; `draw` shows it."""
        if not progress.trial:
            self._history.add(progress.model, progress.repeat, progress.points)
        self._fresh = True

    def show_course(self, curves: tuple[CostCurve, ...]) -> None:
        """Show stored searches."""
        asked = self._asked
        self.forget()
        self._asked = asked
        for model, repeat, evaluations, best in curves:
            points = zip(evaluations.tolist(), best.tolist(), strict=True)
            self._history.add(model, repeat, tuple((int(n), float(cost)) for n, cost in points))
        self._fresh = True
        self.draw()

    def show_row(self, row: FittedModel | None) -> None:
        """Show the time step of a result's model; None during a search, which can still change it."""
        self.step_note.setText("" if row is None else step_in_words(row.model, row.train_mae))

    def show_figures(self, result: FitResult | None, current: str) -> None:
        """Show the figures of a result; current: the bench's friction model."""
        self.results.set_rows(
            () if result is None else result.models, "" if result is None else result.recommended, current
        )

    def recall(self, result: FitResult | None) -> None:
        """Read the searches of an earlier result if none is shown."""
        if result is None or result is self._asked or self._history.curves:
            return
        self._asked = result

        def read(curves: tuple[CostCurve, ...]) -> None:
            if self._asked is result:
                self.show_course(curves)

        def failed(why: str) -> None:
            if self._asked is result:
                self.nothing.setText(f"The search cannot be shown: {why}.")

        self._controller.background.submit(
            "compute", self._controller.compute.call, course_of_search, result.folder, done=read, failed=failed
        )

    def draw(self) -> None:
        """Draw what arrived since the last call."""
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
        if self._curves:
            self._stack.setCurrentWidget(self.cost)

    def forget(self, why: str = NOTHING) -> None:
        """Remove every curve; why: text to show instead."""
        self._history = CostHistory()
        self._asked = None
        self.cost.clear()
        self._curves = {}
        self.nothing.setText(why)
        self._stack.setCurrentWidget(self.nothing)

    def _paint(self) -> None:
        for (model, repeat), curve in self._curves.items():
            curve.setPen(self._pen(model, repeat))

    def _pen(self, model: str, repeat: int) -> Any:
        return pen(themes.current.model(model), 2.0 if repeat == 0 else 1.0)
