"""Webots tab: motion of the Servo node of Webots before version 7, and its error compared with friction models."""

from __future__ import annotations

import math
from pathlib import Path

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QLabel, QPushButton, QTableView, QWidget

from bench_gui.actions import ActionSpec
from bench_gui.controller import Controller
from bench_gui.plots.export import TABLE_FILTERS, ask_plot_file
from bench_gui.plots.tools import PlotTools
from bench_gui.render.screen import PlotView
from bench_gui.studies.tab import ExploreTab
from bench_gui.studies.webots.compute import LossJob, LossNumber, LossView, find_loss
from bench_gui.studies.webots.form import FIRST, WebotsForm
from bench_gui.widgets.fields import ElidedLabel, button, hbox, label, vbox
from bench_gui.widgets.start_button import StartButton, held_by
from bench_gui.widgets.tables import plain_table
from bench_gui.widgets.text_table import Cell, Column, TextTable
from bench_gui.work.computation import Computation
from bench_gui.work.process import Share
from bench_gui.work.progress_row import ProgressRow
from core.base.errors import ServoBenchError
from core.base.units import fixed, milliradians, significant
from core.document.plot import Plot
from core.document.table import Table
from core.studies.webots.documents import scene_plot
from core.studies.webots.experiments import Shown, simulated

SETTLED = 40
"""Delay between an edit and the simulation [ms]; a burst of edits is simulated once."""
TABLE_HEIGHT = 94
"""Height of a heading and three rows [px]."""
MEASURES = (
    ("Fitted runs [mrad]", "Mean absolute error on the runs used for the fit"),
    ("Held out [mrad]", "Mean absolute error on the held-out runs"),
    ("Excess of the node [mrad]", "Error of the node minus that of the model, on the held-out runs if there are any"),
)
INVITATION = "To see how far a node is from a real servo, choose a target under Fit a node to and press Fit."


class WebotsTab(ExploreTab):
    """Simulates a node at every edit, and fits one on request."""

    title = "Webots"
    tip = "The Servo node of Webots before version 7 on the bench, and its error compared with M1 to M6"
    help_page = "webots"

    def __init__(self, controller: Controller) -> None:
        super().__init__()
        self._controller = controller
        self.fitting: Computation[LossJob, Share, LossView] = Computation(
            controller.computations,
            "Fit of a Webots Servo",
            find_loss,
            lost="the process of the Webots fit ended unexpectedly; run it again",
            missed="the fit of a Webots Servo",
        )
        self.form = WebotsForm(controller.model_list, controller.library, controller.angle_unit)
        self.form.show_node(FIRST)
        self.settings_column.addWidget(self.form)
        self.fitting.activity.view = self
        self._stale = True
        self._shown: Shown | None = None
        """Motion in the charts."""
        self._pending = QTimer(self)
        self._pending.setSingleShot(True)
        self._pending.setInterval(SETTLED)
        self._pending.timeout.connect(self.simulate)
        names = ("Position of the servo", "Velocity of the servo", "Forces on the joint")
        self.plots = PlotView(names, shares=(6, 4, 6))
        self._build_buttons()
        self.tools = PlotTools(
            self.plots.charts, self.plots, lambda: self.plots.title, controller.save_plot, fit=self.plots.fit
        )
        self.plots.row.addWidget(self.tools.readout)
        self.table_action = self.tools.export.menu.addAction("Export table…", self.export_table)
        self.plots.head.addWidget(self.tools.bar)
        self.problem: QLabel = label("", "fault")
        self.problem.setWordWrap(True)
        self.problem.setAccessibleName("Reason why the servo is not simulated")
        self.problem.setVisible(False)
        self.body.addWidget(self.problem)
        self.body.addWidget(self.plots, 1)
        self.body.addWidget(self._build_loss())
        self.form.changed.connect(self._changed)
        self.form.source_changed.connect(self._refresh)
        self.fitting.changed.connect(self._refresh)
        self.fitting.progressed.connect(lambda _: self._progress())
        controller.angle_unit_changed.connect(self._unit_changed)
        self._refresh()

    def _build_loss(self) -> QWidget:
        holder = QWidget()
        column = vbox(holder, spacing=4)
        row = hbox(spacing=8)
        row.addWidget(label("ERROR OF THE FITTED NODE", "heading"))
        self.progress = ProgressRow("fit", "Progress of the fit and the comparison", ElidedLabel())
        row.addLayout(self.progress, 1)
        column.addLayout(row)
        self.loss = TextTable(())
        self.table: QTableView = plain_table(
            "Errors of the node and of models", "Errors of the fitted node and of friction models on the same runs"
        )
        self.table.setModel(self.loss)
        self.table.setFixedHeight(TABLE_HEIGHT)
        self.table.horizontalHeader().setStretchLastSection(False)
        column.addWidget(self.table)
        self.numbers = ElidedLabel()
        self.numbers.setAccessibleName("Fields of the fitted node")
        column.addWidget(self.numbers)
        return holder

    def _build_buttons(self) -> None:
        row = hbox(spacing=8)
        self.fit_button = StartButton("Fit", "", self.fit_node, self.form)
        self.stop_button: QPushButton = button("Stop", "Cancel the fit; nothing is kept", self.fitting.stop)
        row.addWidget(self.fit_button, 1)
        row.addWidget(self.stop_button, 1)
        self.take_button: QPushButton = button(
            "Try the fitted node", "Copy the fields of the fitted node to the form", self.take_node
        )
        self.buttons_column.addLayout(row)
        self.buttons_column.addWidget(self.take_button)

    # User actions.

    def entered(self) -> None:
        """Simulate if the settings have changed while the tab was hidden."""
        if self._stale:
            self.simulate()

    def simulate(self) -> None:
        """Simulate the scene of the form and draw it."""
        self._stale = False
        try:
            self._shown = simulated(self.form.scene())
        except ServoBenchError as error:
            self.problem.setText(str(error))
            self.problem.setVisible(True)
            return
        self.problem.setVisible(False)
        self._draw()

    def fit_node(self) -> None:
        """Fit a node to the chosen target and compare it with the models."""
        if held_by(self.form) or self.fitting.active:
            return
        try:
            job = self.form.job()
        except ServoBenchError as error:
            self._controller.message.emit("error", str(error))
            return
        self.fitting.forget()
        self.fitting.start(job)

    def take_node(self) -> None:
        """Copy the fields of the fitted node to the form."""
        if self.fitting.result is not None:
            self.form.show_node(self.fitting.result.node)

    def export_table(self) -> None:
        """Ask for a file and write the errors as CSV."""
        view = self.fitting.result
        if view is None:
            return
        path: Path | None = ask_plot_file(self, "webots_servo_errors.csv", TABLE_FILTERS)
        if path is not None:
            self._controller.save_plot(Plot(f"Webots Servo, {view.title}", (table_panel(view),)), path)

    def actions_offered(self) -> list[ActionSpec]:
        return [
            ActionSpec(
                "&Fit a Webots Servo and compare it",
                self.fit_node,
                tip="Compare the error of the closest node with M1 to M6",
                enabled=self.fit_button.isEnabled,
            ),
            ActionSpec("Try the fitted Webots &node", self.take_node, enabled=self.take_button.isEnabled),
            ActionSpec(
                "Export the Webots Servo's &errors…", self.export_table, enabled=lambda: self.fitting.result is not None
            ),
        ]

    # Reactions to events.

    def _changed(self) -> None:
        self._stale = True
        if self.isVisible():
            self._pending.start()

    def _unit_changed(self) -> None:
        self.form.set_unit(self._controller.angle_unit)
        self._draw()

    def _draw(self) -> None:
        if self._shown is not None:
            self.plots.show_plot(scene_plot(self._shown, self._controller.angle_unit))

    def _refresh(self) -> None:
        fitting, view = self.fitting, self.fitting.result
        self.form.source.setEnabled(not fitting.active)
        self.fit_button.setEnabled(not fitting.active)
        self.fit_button.setToolTip(
            "Not possible: a fit is already running"
            if fitting.active
            else f"Fit a node to {self.form.source.currentText()} and compare it with M1 to M6"
        )
        self.stop_button.setEnabled(fitting.active)
        self.take_button.setEnabled(view is not None)
        self.table_action.setEnabled(view is not None)
        for part in (self.table, self.numbers):
            part.setVisible(view is not None)
        if view is not None:
            self.loss.show(loss_rows(view), loss_columns(view))
            self.table.resizeColumnsToContents()
            self.numbers.setText(numbers_text(view))
        self._progress()

    def _progress(self) -> None:
        view = self.fitting.result
        fitted = view and f"Fitted to the {view.title}; controlP at gain {view.kp:g}"
        self.progress.show(self.fitting, fitted or INVITATION)


def loss_columns(view: LossView) -> tuple[Column, ...]:
    """Return a column for the names of the measures and one per model, the node first."""
    return (
        Column("Error", "Error of the angle; all models are compared on the same runs"),
        *(Column(model.name, f"{model.name}, on the same runs as the node", True) for model in view.models),
    )


def loss_rows(view: LossView) -> list[list[Cell | str]]:
    """Return one row per entry of `MEASURES`."""
    errors = (
        [milliradians(model.train_mae) for model in view.models],
        [milliradians(model.validation_mae) for model in view.models],
        [fixed(1e3 * model.lost, 1) if model.friction else "" for model in view.models],
    )
    return [
        [Cell(title, tip), *(Cell(text, bold=place == 0) for place, text in enumerate(texts))]
        for (title, tip), texts in zip(MEASURES, errors, strict=True)
    ]


def numbers_text(view: LossView) -> str:
    """Return all fields with their 95 % intervals and remarks in one line."""
    return "95 %:  " + ",  ".join(
        f"{number.name} {significant(number.value, 3)} {number.unit} ({_within(number)})" for number in view.numbers
    )


def table_panel(view: LossView) -> Table:
    """Return the errors [mrad] for export; held-out errors are empty if no runs were held out."""
    return Table(
        ("Model", "Fitted runs [mrad]", "Held out [mrad]", "Node loses [mrad]"),
        tuple(
            (
                model.name,
                1e3 * model.train_mae,
                "" if model.validation_mae is None else 1e3 * model.validation_mae,
                1e3 * model.lost,
            )
            for model in view.models
        ),
    )


def _within(number: LossNumber) -> str:
    low, high = number.interval
    ends = [] if math.isinf(high) else [f"{significant(low, 3)} … {significant(high, 3)}"]
    return "; ".join([*ends, *([number.remark] if number.remark else [])])
