"""Arm tab (seed 004, section VI-B): errors of friction models on an arm of two servos, and the motion."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QPushButton, QSplitter, QStackedWidget, QTableView, QWidget

from bench_gui.actions import ActionSpec
from bench_gui.controller import Controller
from bench_gui.plots.export import FILTERS, TABLE_FILTERS, ask_plot_file, file_name
from bench_gui.plots.tools import PlotTools
from bench_gui.studies.arm.compute import ArmView
from bench_gui.studies.arm.form import MUJOCO_MISSING, ArmForm
from bench_gui.studies.arm.plots import ArmPlots
from bench_gui.studies.arm.running import ArmComparison
from bench_gui.studies.arm.table import columns_of, ratio_text, rows_of, table_panel
from bench_gui.widgets.fields import ElidedLabel, EmptyState, button, hbox, restyle, vbox
from bench_gui.widgets.start_button import StartButton, held_by
from bench_gui.widgets.tables import plain_table
from bench_gui.widgets.text_table import TextTable
from bench_gui.work.progress_row import ProgressRow
from core.base.errors import ServoBenchError
from core.base.words import counted
from core.document.plot import Plot

STEPS = 1000
ABOUT = (
    "In MuJoCo, two servos move an arm along a circle, a square and two waves, with low and high gains. Each friction "
    "model drives the joints in turn. Its error is the distance from the true motion, which is simulated at a tenth of "
    "the time step, or from that of a measured arm. Choose the arm at the right. No recordings are needed."
)
TABLE_HEIGHT = 92
"""Minimum height: two rows and a scroll bar [px]."""
HEADING = "MEAN ABSOLUTE ERROR OF BOTH JOINTS [mrad] / MEAN DISTANCE OF THE TIP [mm]"


class ArmTab(QWidget):
    """Runs comparisons on an arm and shows their results; needs no session."""

    started = Signal()
    """Emitted when a comparison starts, so that the page can show the tab."""

    def __init__(self, controller: Controller) -> None:
        super().__init__()
        self._controller = controller
        self.comparison = ArmComparison(controller.computations)
        self.settings = ArmForm(controller.model_list)
        self.plots = ArmPlots()
        self.plots.set_unit(controller.angle_unit)
        self._shown: ArmView | None = None
        column = vbox(self, spacing=6)
        self.progress = ProgressRow("comparison on the arm", "Progress of the comparison")
        column.addLayout(self.progress)
        self._stack = QStackedWidget()
        self._stack.addWidget(self._build_empty())
        self._stack.addWidget(self._build_result())
        column.addWidget(self._stack, 1)
        self.buttons = self._build_buttons()
        """Buttons that are visible while the tab is."""
        self._build_tools()
        self.settings.changed.connect(self.refresh)
        self.comparison.activity.view = self
        self.comparison.changed.connect(self.refresh)
        self.comparison.progressed.connect(lambda _: self._progress())
        controller.angle_unit_changed.connect(lambda: self.plots.set_unit(controller.angle_unit))
        self.refresh()

    # Building.

    def _build_empty(self) -> QWidget:
        self.first_button = StartButton("Run the comparison", "", self.run, self.settings)
        self.empty = EmptyState("How much does friction matter on an arm?", ABOUT, self.first_button)
        return self.empty

    def _build_result(self) -> QWidget:
        self.table = TextTable(())
        self.table_view: QTableView = plain_table(
            "Errors on the arm", "Errors of each model by path and gain; select a row to see its motion"
        )
        self.table_view.setModel(self.table)
        self.table_view.setMinimumHeight(TABLE_HEIGHT)
        self.table_view.horizontalHeader().setStretchLastSection(False)
        self.table_view.selectionModel().currentRowChanged.connect(lambda now, _: self._choose(now.row()))
        self.ratio = ElidedLabel()
        self.ratio.setAccessibleName("Ratio of the errors")
        upper = QWidget()
        column = vbox(upper, spacing=4)
        head = hbox(spacing=14)
        heading = ElidedLabel()
        heading.setText(HEADING)
        heading.setProperty("role", "heading")
        head.addWidget(heading, 3)
        self.about = ElidedLabel()
        self.about.setProperty("role", "muted")
        self.about.setAlignment(Qt.AlignmentFlag.AlignRight)
        head.addWidget(self.about, 1)
        column.addLayout(head)
        column.addWidget(self.table_view, 1)
        column.addWidget(self.ratio)
        splitter = QSplitter(Qt.Orientation.Vertical)
        splitter.setChildrenCollapsible(False)
        splitter.setHandleWidth(8)
        splitter.addWidget(upper)
        splitter.addWidget(self.plots)
        splitter.setStretchFactor(0, 2)
        splitter.setStretchFactor(1, 5)
        splitter.setSizes([155, 290])
        return splitter

    def _build_buttons(self) -> QWidget:
        holder = QWidget()
        column = vbox(holder, spacing=8)
        row = hbox(spacing=8)
        self.run_button = StartButton("Run", "", self.run, self.settings)
        self.stop_button: QPushButton = button(
            "Stop", "Stop the comparison; finished cases are kept", self.comparison.stop
        )
        row.addWidget(self.run_button, 1)
        row.addWidget(self.stop_button, 1)
        self.measured_button: QPushButton = button(
            "Open a measured arm…",
            "Compare models with the recording of an arm: a CSV file with goals",
            self.ask_measured,
        )
        column.addLayout(row)
        column.addWidget(self.measured_button)
        return holder

    def _build_tools(self) -> None:
        self.tools = PlotTools(
            self.plots.over_time, self.plots, self._title, self._controller.save_plot, fit=self.plots.fit
        )
        self.plots.body.addWidget(self.tools.readout)
        menu = self.tools.export.menu
        self.plane_action = menu.addAction("Export path…", self._export_plane)
        self.table_action = menu.addAction("Export table…", self._export_table)

    # User actions.

    def run(self) -> None:
        """Start the comparison with the current settings."""
        if held_by(self.settings) or self.settings.obstacle or self.comparison.active:
            return
        try:
            job = self.settings.job()
        except ServoBenchError as error:
            self._controller.message.emit("error", str(error))
            return
        self._shown = None
        self.started.emit()
        self.comparison.start(job)

    def ask_measured(self) -> None:
        """Ask for the recording of a measured arm and compare with it."""
        if self.settings.ask_recording():
            self.run()

    def actions_offered(self) -> list[ActionSpec]:
        return [
            ActionSpec(
                "&Run the comparison on the arm",
                self.run,
                tip="Compare friction models on an arm of two servos",
                enabled=self.run_button.isEnabled,
            ),
            ActionSpec(
                "Open a &measured arm…",
                self.ask_measured,
                tip="Compare models with the recording of an arm",
                enabled=self.measured_button.isEnabled,
            ),
            ActionSpec("Export the arm's &path…", self._export_plane, enabled=lambda: bool(self.comparison.views)),
            ActionSpec("Export the arm's &table…", self._export_table, enabled=lambda: bool(self.comparison.views)),
        ]

    def _title(self) -> str:
        job = self.comparison.job
        return ", ".join(part.title for part in (job, self._shown) if part is not None)

    def _export_plane(self) -> None:
        self._export("path", ".svg", FILTERS, lambda: self.plots.plane_contents(self._title()))

    def _export_table(self) -> None:
        job, views = self.comparison.job, self.comparison.views
        title = job.title if job is not None else ""
        panels = (table_panel(views),) if views else ()
        self._export("errors", ".csv", TABLE_FILTERS, lambda: Plot(title, panels))

    def _export(self, what: str, ending: str, filters: dict[str, str], contents: Callable[[], Plot]) -> None:
        job = self.comparison.job
        stem = file_name("_".join(m.servo for m in job.joints)) if job is not None else "arm"
        path: Path | None = ask_plot_file(self, f"{stem}_{what}{ending}", filters)
        if path is not None:
            self._controller.save_plot(contents(), path)

    # Reactions to events.

    def refresh(self) -> None:
        """Update the results and the state of the buttons."""
        running, why = self.comparison, self.settings.obstacle
        self.settings.setEnabled(not running.active)
        reason = "a comparison is already running" if running.active else why
        for start in (self.run_button, self.first_button):
            start.setEnabled(not why and not running.active)
            start.setToolTip(
                f"Not possible: {reason}" if reason else "Simulate the arm with each model and compare them"
            )
        self.stop_button.setEnabled(running.active)
        self.measured_button.setEnabled(not running.active)
        self.empty.text.setText(f"{ABOUT}\n\n{MUJOCO_MISSING}." if why == MUJOCO_MISSING else ABOUT)
        self._progress()

    def _progress(self) -> None:
        running, count = self.comparison, len(self.comparison.views)
        stopped = f"Stopped after {counted(count, 'case')}." if count else "Stopped."
        self.progress.show(running, stopped if running.stopped else "")
        self.about.setText("" if running.job is None else running.job.title)
        self._fill()

    def _fill(self) -> None:
        """Update the table after a new case or a restart."""
        views = self.comparison.views
        self._stack.setCurrentIndex(1 if views else 0)
        restyle(self.run_button, "kind", "primary" if views else "")
        if len(views) == self.table.rowCount() and (not views or self._shown in views):
            return
        place = views.index(self._shown) if self._shown in views else 0
        self.table.show(rows_of(views), columns_of(views))
        self.table_view.resizeColumnsToContents()
        self.ratio.setText(ratio_text(views))
        self.ratio.setVisible(bool(self.ratio.text()))
        if views:
            self.table_view.selectRow(place)
        else:
            self._choose(-1)

    def _choose(self, row: int) -> None:
        views, job = self.comparison.views, self.comparison.job
        self._shown = views[row] if 0 <= row < len(views) else None
        self.plots.show_view(self._shown, job is not None and job.recording is not None)
