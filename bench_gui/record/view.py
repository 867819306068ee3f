"""Recording: choose a trajectory, run it, watch it beside its twin; or work through a whole plan."""

from __future__ import annotations

import math

import numpy as np
from PySide6.QtCore import QSignalBlocker, Qt, QTimer
from PySide6.QtGui import QKeyEvent, QKeySequence
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QStackedWidget, QTabBar, QVBoxLayout, QWidget

from bench_gui.actions import ActionSpec
from bench_gui.controller import TICK, Controller
from bench_gui.record.countdown import LONGEST_COUNTDOWN
from bench_gui.record.live import LiveRun
from bench_gui.record.plan_page import PlanPage
from bench_gui.record.plots import LivePlots
from bench_gui.record.prompt import CountdownLabel, PromptCard
from bench_gui.record.queue_panel import QueuePanel
from bench_gui.record.trajectory_form import TrajectoryForm, beyond, possible
from bench_gui.state.servo_link import ServoView
from bench_gui.theme import Theme
from bench_gui.widgets.bench_form import BenchForm
from bench_gui.widgets.fields import Section, button, describe, label, number, tool
from bench_gui.widgets.page import TaskPage
from core.trajectories import PAPER_TRAJECTORIES, Trajectory, make_trajectory
from core.units import duration, fixed
from drivers.servo import ServoState

_READINGS = (
    ("position", "Position"),
    ("velocity", "Velocity"),
    ("current", "Current"),
    ("duty_cycle", "Duty cycle"),
    ("supply_voltage", "Supply"),
    ("temperature", "Temperature"),
)
LIVE, PLAN = range(2)
TWIN_PERIOD = 6
"""The twin's numbers change every so many frames; faster ones cannot be read."""
LOWEST_RATE, HIGHEST_RATE = 20.0, 1000.0
"""[Hz]"""


class RecordView(TaskPage):
    """Data in one click once a servo is connected."""

    help_page = "recording"

    def __init__(self, controller: Controller) -> None:
        super().__init__()
        self._controller = controller
        self.live = LiveRun()
        self._stale = 0
        self._ticks = 0
        self._trajectory: Trajectory | None = None
        self._problem = ""
        self.prompt = PromptCard(controller.queue)
        self.centre.addWidget(self.prompt)
        self._readings = self._add_head()
        self.tasks = QStackedWidget()
        self.centre.addWidget(self.tasks, 1)
        self.tasks.addWidget(self._make_live())
        self.plan = PlanPage(controller)
        self.tasks.addWidget(self.plan)
        self.tabs.currentChanged.connect(self._turn)
        self.form = TrajectoryForm(controller.undo)
        self.form.show_in(controller.angle_unit)
        self.form.changed.connect(self._preview)
        self.queue = QueuePanel(controller.queue)
        self.settings.addWidget(self.form)
        self.settings.addWidget(self.queue)
        self.settings.addWidget(BenchForm(controller.setup))
        self.settings.addWidget(self._make_start())
        self.settings.addStretch(1)
        self._add_actions()
        self._timer = QTimer(self)
        self._timer.setInterval(TICK)
        self._timer.timeout.connect(self._frame)
        controller.servo.rows.connect(self._take)
        controller.servo.changed.connect(self._show_servo)
        controller.servo.connected.connect(lambda _: self._meet())
        controller.servo.configured.connect(lambda _: self._meet())
        controller.queue.started.connect(self._begin)
        controller.queue.changed.connect(self._queue_changed)
        controller.twin.appeared.connect(self._show_twin)
        controller.twin.changed.connect(self._note_twin)
        controller.angle_unit_changed.connect(self._change_unit)
        controller.setup.changed.connect(self._show_rate)
        self._meet()
        self._show_servo(controller.servo.view)

    def set_theme(self, theme: Theme) -> None:
        """Take over a theme's colours."""
        self.plots.set_theme(theme)
        self.plan.set_theme(theme)
        self.count.set_theme(theme)

    def entered(self) -> None:
        """Draw what came while the page was out of sight."""
        self._stale = self.plots.shown_charts
        self._draw()
        self._preview()
        self._show_words()
        self._show_servo(self._controller.servo.view)
        self.plan.refresh()

    def actions_offered(self) -> list[ActionSpec]:
        """What a person can ask of this page."""
        queue, planning = self._controller.queue, self._controller.plan
        return [
            ActionSpec(
                "&Run the trajectory", self._run, "Ctrl+R", self.run_button.toolTip(), self.run_button.isEnabled
            ),
            ActionSpec("Add the trajectory to the &queue", self._add, "Ctrl+Shift+R", "", self.add_button.isEnabled),
            ActionSpec("Start the queue", queue.resume, "", "", lambda: bool(queue.waiting) and not queue.active),
            ActionSpec("Pause the queue", queue.pause, "", "", lambda: queue.active and not queue.paused),
            ActionSpec("Clear the queue", queue.clear, "", "", lambda: bool(queue.waiting)),
            ActionSpec("A&bort the run", queue.abort, "Ctrl+.", "", lambda: queue.active),
            ActionSpec("Freeze the live plots", self.freeze.toggle, "Ctrl+Shift+F", self.freeze.toolTip()),
            ActionSpec("Show live plots", lambda: self.tabs.setCurrentIndex(LIVE)),
            ActionSpec("Show the recording plan", lambda: self.tabs.setCurrentIndex(PLAN)),
            ActionSpec("Record what the plan is missing", planning.start, "", "", self.plan.start_button.isEnabled),
        ]

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter, or the foot pedal, says that the load hangs as asked for."""
        keys = {Qt.Key.Key_Return, Qt.Key.Key_Enter}
        pedal = QKeySequence(self._controller.settings.capture_key)
        pressed = event.key() in keys or QKeySequence(event.keyCombination()) == pedal
        if self.prompt.asking and pressed and not event.isAutoRepeat():
            self._controller.queue.resume()
        else:
            super().keyPressEvent(event)

    # Building.

    def _add_head(self) -> dict[str, QLabel]:
        row = QHBoxLayout()
        row.setSpacing(0)
        self.tabs = describe(QTabBar(), "Live or plan", "The run that is on, or the recording plan")
        self.tabs.addTab("Live")
        self.tabs.addTab("Plan")
        self.tabs.setExpanding(False)
        row.addWidget(self.tabs, 0, Qt.AlignmentFlag.AlignBottom)
        row.addSpacing(24)
        readings: dict[str, QLabel] = {}
        for name, title in _READINGS:
            column = QVBoxLayout()
            column.setSpacing(0)
            value = label("–", "reading")
            describe(value, title, f"{title} as the servo reports it now")
            column.addWidget(label(title, "muted"))
            column.addWidget(value)
            row.addLayout(column, 1)
            readings[name] = value
        self.centre.addLayout(row)
        return readings

    def _make_live(self) -> QWidget:
        made = QWidget()
        column = QVBoxLayout(made)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        self.plots = LivePlots()
        self.plots.set_unit(self._controller.angle_unit)
        self.freeze = tool("Freeze the plots", "Hold the picture while recording goes on; nothing is lost", "flat")
        self.freeze.setText("Freeze")
        self.freeze.setCheckable(True)
        self.freeze.toggled.connect(self._freeze)
        self.plots.bar.addWidget(self.freeze)
        self.twin_text: QLabel = label("", "muted")
        self.twin_text.setAccessibleName("Twin")
        self.twin_words: QLabel = label("", "fault")
        self.twin_words.setWordWrap(True)
        self.twin_words.setAccessibleName("What to check at the bench")
        self.twin_words.hide()
        column.addWidget(self.plots, 1)
        column.addWidget(self.twin_words)
        column.addWidget(self.twin_text)
        self.count = CountdownLabel(self._controller.queue, self.plots)
        return made

    def _make_start(self) -> Section:
        queue = self._controller.queue
        section = Section("Start")
        self.countdown = number(
            "Countdown",
            "Time before each run in which Abort calls it off; a real servo begins with 3 s, a simulated one with 0 s",
            "s",
            queue.countdown.seconds,
            0.0,
            LONGEST_COUNTDOWN,
            1,
            1.0,
        )
        self.countdown.valueChanged.connect(self._set_countdown)
        section.row("Countdown", self.countdown)
        setup = self._controller.setup
        tip = (
            "Samples in a second. A Dynamixel manages about 200, an EtherCAT drive is regular at divisors of its cycle"
        )
        self.rate = number("Rate", tip, "Hz", setup.rate, LOWEST_RATE, HIGHEST_RATE, 0, 50.0)
        self.rate.setKeyboardTracking(False)
        self.rate.valueChanged.connect(setup.edit_rate)
        section.row("Rate", self.rate)
        return section

    def _add_actions(self) -> None:
        controller = self._controller
        total = sum(make_trajectory(name).duration for name in PAPER_TRAJECTORIES)
        self.run_button: QPushButton = button("Run", "Record this trajectory", self._run, "primary")
        self.run_button.setMinimumHeight(26)
        self.abort_button: QPushButton = button(
            "Abort", "End the run, keep its samples, bring the pendulum back slowly", controller.queue.abort
        )
        self.abort_button.setMinimumHeight(26)
        self.add_button: QPushButton = button(
            "Add to queue", "Record this trajectory after the others, with the bench as it is set up now", self._add
        )
        self.all_button: QPushButton = button(
            f"All four  ({duration(total)})",
            "Record the four trajectories of the paper one after the other",
            controller.queue.record_paper_set,
        )
        self.all_button.setAccessibleName("Record all four")
        for left, right in ((self.run_button, self.abort_button), (self.add_button, self.all_button)):
            row = QHBoxLayout()
            row.addWidget(left, 1)
            row.addWidget(right, 1)
            self.actions_column.addLayout(row)

    # What a person does.

    def _run(self) -> None:
        if self._trajectory is not None and not self._problem:
            self._controller.queue.record([self._trajectory])

    def _add(self) -> None:
        if self._trajectory is not None and not self._problem:
            self._controller.queue.add([self._trajectory])

    def _set_countdown(self, seconds: float) -> None:
        queue = self._controller.queue
        queue.countdown.seconds = seconds
        if not queue.simulated:
            self._controller.settings.set("countdown", seconds)

    def _turn(self, tab: int) -> None:
        self.tasks.setCurrentIndex(tab)
        if tab == LIVE:
            self._stale = self.plots.shown_charts
            self._draw()
        else:
            self.plan.refresh()

    def _freeze(self, frozen: bool) -> None:
        self.freeze.setText("Frozen" if frozen else "Freeze")
        self._stale = self.plots.shown_charts
        self._draw()

    # What happens.

    def _meet(self) -> None:
        """Another servo or other limits."""
        controller = self._controller
        self.plots.show_limits(controller.servo.limits)
        with QSignalBlocker(self.countdown):
            self.countdown.setValue(controller.queue.countdown.seconds)
        self._show_rate()
        self._preview()

    def _show_rate(self) -> None:
        with QSignalBlocker(self.rate):
            self.rate.setValue(self._controller.setup.rate)

    def _preview(self) -> None:
        controller = self._controller
        found = possible(self.form)
        self._trajectory, self._problem = (None, found) if isinstance(found, str) else (found, "")
        if self._trajectory is not None:
            preview = self._trajectory.preview()
            limits, queue = controller.servo.limits, controller.queue
            if limits is not None:
                self._problem = beyond(preview, limits, controller.angle_unit)
            self.form.show_preview(preview, controller.setup.rate, limits, queue.countdown.seconds + queue.waiting_time)
            if not queue.active and not self._shows_run(self._trajectory):
                self._clear(self._trajectory)
        self._enable()

    def _clear(self, trajectory: Trajectory) -> None:
        """Show what comes next in the place of the run before."""
        self.live.clear()
        self.plots.begin_run(self.live)
        self.plots.show_twin(None, None)
        self.plots.show_preview(trajectory.preview())
        self.twin_text.setText("")
        self.twin_words.hide()

    def _shows_run(self, trajectory: Trajectory) -> bool:
        """Whether the plots hold a run of this very trajectory: it stays until another is chosen."""
        last = self._controller.queue.last
        if last is None or not self.live.count:
            return False
        one, other = last.trajectory, trajectory
        same = one.name == other.name and one.duration == other.duration
        return same and one.parameters.numbers() == other.parameters.numbers()

    def _begin(self, trajectory: Trajectory) -> None:
        self.live.clear()
        self.plots.begin_run(self.live)
        self.plots.show_preview(trajectory.preview())
        self._timer.start()

    def _take(self, rows: np.ndarray) -> None:
        if self.live.take(rows):
            self._draw_soon()

    def _draw_soon(self) -> None:
        """At the next ticks; what comes after the run has ended is drawn as well."""
        self._stale = self.plots.shown_charts
        if not self._timer.isActive():
            self._timer.start()

    def _draw(self) -> None:
        """Draw everything that came."""
        if self._stale and self._drawing:
            self._stale = 0
            self.plots.show_run(self.live)
        if not self._controller.queue.active:
            self._timer.stop()

    def _frame(self) -> None:
        """One chart at each tick, and between two rounds of them the twin's numbers."""
        self._ticks += 1
        self._timer.setInterval(TICK // self.plots.shown_charts)
        if self._stale and self._drawing:
            if self._ticks % (TWIN_PERIOD * self.plots.shown_charts) == 0:
                self._show_words()
            else:
                self._stale -= 1
                self.plots.show_next(self.live)
        if not self._controller.queue.active:
            self._draw()

    @property
    def _drawing(self) -> bool:
        return self.plots.isVisible() and not self.freeze.isChecked()

    def _show_twin(self) -> None:
        twin = self._controller.twin
        self.plots.show_twin(twin.motion, twin.entry)
        self._draw_soon()
        self._show_words()

    def _note_twin(self) -> None:
        # While a run is on the words follow the frames; what the compute process finds afterwards has none.
        if self._controller.queue.running is None:
            self._show_words()

    def _show_words(self) -> None:
        if not self.plots.isVisible():
            return
        twin, unit = self._controller.twin, self._controller.angle_unit
        self.twin_text.setText(twin.numbers(unit))
        words = twin.words(unit)
        self.twin_words.setText(words)
        self.twin_words.setVisible(bool(words))

    def _show_servo(self, view: ServoView) -> None:
        self._enable()
        if not self.isVisible():
            return
        unit = self._controller.angle_unit
        fine = unit.per_radian < 1.5
        shown = {
            "position": (view.position * unit.per_radian, 3 if fine else 1, unit.symbol),
            "velocity": (view.velocity * unit.per_radian, 2 if fine else 0, f"{unit.symbol}/s"),
            "current": (view.current, 2, "A"),
            "duty_cycle": (100 * view.duty_cycle, 0, "%"),
            "supply_voltage": (view.supply_voltage, 2, "V"),
            "temperature": (view.temperature, 1, "°C"),
        }
        for name, (value, digits, symbol) in shown.items():
            self._readings[name].setText(fixed(value, digits, symbol) if math.isfinite(value) else "–")

    def _queue_changed(self) -> None:
        if self.prompt.asking and self.isVisible():
            self.prompt.continue_button.setFocus()
        queue = self._controller.queue
        if not queue.active:
            self._stale = self.plots.shown_charts
            self._draw()
            self._show_words()
        elif queue.running is None and queue.waiting:
            self._clear(queue.waiting[0].trajectory)
        self._preview()

    def _enable(self) -> None:
        controller, queue = self._controller, self._controller.queue
        ready = controller.servo.view.state is ServoState.READY and not queue.active
        why = "a run is on; “Add to queue” records this one after it" if queue.active else "connect a servo first"
        if controller.servo.view.state is ServoState.FAULT:
            why = "acknowledge the fault first"
        self.run_button.setEnabled(ready and not self._problem)
        self.run_button.setToolTip("Record this trajectory" if self.run_button.isEnabled() else self._problem or why)
        self.add_button.setEnabled(not self._problem)
        added = "Record this trajectory after the others, with the bench as it is set up now"
        self.add_button.setToolTip(self._problem or added)
        self.all_button.setEnabled(ready)
        self.abort_button.setEnabled(queue.active)

    def _change_unit(self) -> None:
        unit = self._controller.angle_unit
        self.form.show_in(unit)
        self.plots.set_unit(unit)
        self._preview()
        if self.live.count:
            self.plots.show_run(self.live)
        self._show_words()
        self._show_servo(self._controller.servo.view)
