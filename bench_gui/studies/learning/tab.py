"""Learning tab (seed 003, section 4.3): a soft arm learns the input that makes it follow a motion."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QSignalBlocker, Qt
from PySide6.QtWidgets import QLabel, QProgressBar, QPushButton, QSpinBox, QWidget

from bench_gui import file_dialogs
from bench_gui.actions import ActionSpec
from bench_gui.controller import Controller
from bench_gui.plots.export import ask_plot_file, file_name, gather
from bench_gui.plots.tools import PlotTools
from bench_gui.studies.learning.form import LearningForm
from bench_gui.studies.learning.plots import LearningPlots
from bench_gui.studies.learning.running import Learning
from bench_gui.studies.tab import ExploreTab
from bench_gui.widgets.fields import button, caption_of, describe, hbox, label, restyle, whole
from bench_gui.widgets.start_button import StartButton, held_by
from core.base.errors import ServoBenchError
from core.base.words import capitalised, counted
from core.studies.compliant.learning import Iteration, in_words, write_input


class LearningTab(ExploreTab):
    """Runs a learning and shows each finished iteration; the latest one is shown until the user chooses another."""

    title = "Learning"
    tip = "Iterative learning control: a soft arm learns by repetition to follow a motion"
    help_page = "learning"

    def __init__(self, controller: Controller) -> None:
        super().__init__()
        self._controller = controller
        self.running = Learning(controller.computations)
        self.form = LearningForm(controller.angle_unit)
        self.settings_column.addWidget(self.form)
        self.running.activity.view = self
        self._outdated = False
        self.plots = LearningPlots()
        self.plots.set_unit(controller.angle_unit)
        self._build_head()
        self._build_buttons()
        self._build_tools()
        self.body.addWidget(self.plots, 1)
        self.form.changed.connect(self._form_changed)
        self.running.changed.connect(self.refresh)
        self.running.progressed.connect(lambda _: self.refresh())
        self.plots.chosen.connect(self.iteration.setValue)
        controller.angle_unit_changed.connect(self._unit_changed)
        self.refresh()

    def _build_head(self) -> None:
        self.bar = describe(QProgressBar(), "Progress of the learning", "Share of the iterations that are finished")
        self.bar.setTextVisible(False)
        self.bar.setFixedWidth(120)
        self.status: QLabel = label("", "muted")
        self.status.setWordWrap(True)
        self.status.setTextFormat(Qt.TextFormat.PlainText)
        self.status.setAccessibleName("State of the learning")
        row = hbox(spacing=8)
        row.addWidget(self.bar)
        row.addWidget(self.status, 1)
        self._head = row
        self.body.addLayout(row)
        self.iteration: QSpinBox = whole(
            "Iteration shown", "Iteration whose motion and input are drawn over time", 1, 1, 1
        )
        self.iteration.valueChanged.connect(lambda _: self._show())
        self.plots.head.addWidget(caption_of(self.iteration, "Iteration shown"))
        self.plots.head.addStretch(1)
        self.plots.head.addWidget(self.iteration)

    def _build_buttons(self) -> None:
        holder = QWidget()
        row = hbox(holder, spacing=8)
        self.learn_button = StartButton("Learn", "", self.learn, self.form)
        self.stop_button: QPushButton = button("Stop", "Stop learning; finished iterations are kept", self.running.stop)
        row.addWidget(self.learn_button, 1)
        row.addWidget(self.stop_button, 1)
        self.write_button: QPushButton = button(
            "Write the input…",
            "Write the input of the shown iteration for the real arm: a CSV file with time and equilibria",
            self.ask_write,
        )
        for part in (holder, self.write_button):
            self.buttons_column.addWidget(part)

    def _build_tools(self) -> None:
        self.tools = PlotTools(
            self.plots.over_time, self.plots, self._title, self._controller.save_plot, fit=self.plots.fit
        )
        self._head.addWidget(self.tools.bar)
        self.plots.row.addWidget(self.tools.readout)
        self.errors_action = self.tools.export.menu.addAction("Export errors by iteration…", self._export_errors)

    # User actions.

    def learn(self) -> None:
        """Start learning with the current settings."""
        if held_by(self.form) or self.form.obstacle or self.running.active:
            return
        try:
            job = self.form.job()
        except ServoBenchError as error:
            self._controller.message.emit("error", str(error))
            return
        self._outdated = False
        self.running.start(job)

    def ask_write(self) -> None:
        """Ask for a file and write the shown input."""
        job, shown = self.running.job, self.shown
        if job is None or shown is None:
            return
        file, _ = file_dialogs.ask_new(self, "Write the learned input", f"input_{shown.number}.csv", "Numbers (*.csv)")
        if not file:
            return
        path = Path(file)
        try:
            written = write_input(
                job.reference.time, shown.equilibrium, path if path.suffix else path.with_suffix(".csv")
            )
        except OSError as error:
            self._controller.message.emit(
                "error", f"The input was not written to {path.name}: {error.strerror or error}"
            )
            return
        self._controller.message.emit("info", f"Input of iteration {shown.number} written to {written.name}")

    def actions_offered(self) -> list[ActionSpec]:
        there = self.write_button.isEnabled
        return [
            ActionSpec("&Learn the motion", self.learn, tip=self.tip, enabled=self.learn_button.isEnabled),
            ActionSpec("S&top learning", self.running.stop, enabled=self.stop_button.isEnabled),
            ActionSpec(
                "&Write the learned input…",
                self.ask_write,
                tip="Write the input of the shown iteration as CSV, for the real arm",
                enabled=there,
            ),
            ActionSpec(
                "Export the learned &motion…",
                self.tools.export.ask,
                tip="Write the motion as PNG, SVG, PDF or CSV",
                enabled=there,
            ),
            ActionSpec("Export &errors by iteration…", self._export_errors, enabled=there),
        ]

    @property
    def shown(self) -> Iteration | None:
        """Iteration that is drawn over time; None if there is none yet."""
        place = self.iteration.value() - 1
        found = self.running.iterations
        return found[place] if 0 <= place < len(found) else None

    # Reactions to events.

    def refresh(self) -> None:
        """Update the results and the state of the controls."""
        running = self.running
        count, why = len(running.iterations), self.form.obstacle
        at_end = self.iteration.value() >= self.iteration.maximum()
        with QSignalBlocker(self.iteration):
            self.iteration.setRange(1, max(count, 1))
            if at_end:
                self.iteration.setValue(max(count, 1))
        self.iteration.setEnabled(count > 0)
        self.form.setEnabled(not running.active)
        self.learn_button.setEnabled(not why and not running.active)
        reason = "the arm is already learning" if running.active else why
        self.learn_button.setToolTip(f"Not possible: {reason}" if reason else "Learn with these settings")
        self.stop_button.setEnabled(running.active)
        self.write_button.setEnabled(count > 0)
        self.bar.setVisible(running.active)
        if running.job is not None:
            self.bar.setRange(0, running.job.law.iterations)
            self.bar.setValue(count)
        self.status.setText(self._state_in_words())
        for chart in (self.plots.by_iteration, *self.plots.over_time):
            chart.say(self.status.text())
        wrong = running.problem or (running.warning and not self._outdated)
        restyle(self.status, "role", "fault" if wrong and not running.active else "muted")
        self._show()

    def _state_in_words(self) -> str:
        running = self.running
        worst = [in_words(float(each.worst.max())) for each in running.iterations]
        if running.active:
            total = "" if running.job is None else f" of {running.job.law.iterations}"
            return f"Iteration {len(worst)}{total}: {worst[-1]} at worst" if worst else "Loading the program…"
        if running.problem:
            return capitalised(running.problem)
        if self._outdated and worst:
            return "The settings have changed; learn again to see their effect."
        if running.stopped:
            return f"Stopped after {counted(len(worst), 'iteration')}."
        if not worst or running.job is None:
            return "Nothing learned yet: press Learn. With the paper's arm this takes a few seconds."
        if running.warning:
            return f"{capitalised(running.warning)}."
        return (
            f"Learned in {counted(len(worst), 'iteration')}: the largest error is {worst[-1]}; "
            f"it was {worst[0]} at first."
        )

    def _show(self) -> None:
        self.plots.show_learning(self.running.job, self.running.iterations, self.shown)

    def _form_changed(self) -> None:
        self._outdated = True
        self.refresh()

    def _unit_changed(self) -> None:
        unit = self._controller.angle_unit
        self.form.show_in(unit)
        self.plots.set_unit(unit)

    def _title(self) -> str:
        job, shown = self.running.job, self.shown
        return f"{job.title}, iteration {shown.number}" if job is not None and shown is not None else ""

    def _export_errors(self) -> None:
        job = self.running.job
        if job is None or not self.running.iterations:
            return
        title = f"{job.title}, errors"
        path = ask_plot_file(self, f"{file_name(title)}.svg")
        if path is not None:
            self._controller.save_plot(gather((self.plots.by_iteration,), title), path)
