"""Record page: choose a trajectory, record it and watch it beside its twin, or record a list of runs."""

from __future__ import annotations

import math

from PySide6.QtCore import QSignalBlocker, Qt
from PySide6.QtGui import QKeyEvent, QKeySequence
from PySide6.QtWidgets import QLabel, QStackedWidget, QWidget

from bench_gui.actions import ActionSpec
from bench_gui.controller import Controller
from bench_gui.record.countdown import LONGEST_COUNTDOWN
from bench_gui.record.live_page import LivePage
from bench_gui.record.plan_form import PlanForm
from bench_gui.record.prompt import PromptCard
from bench_gui.record.run_list import RunList
from bench_gui.record.start_bar import StartBar
from bench_gui.record.trajectory_form import TrajectoryForm, beyond, possible
from bench_gui.state.servo_link import ServoView
from bench_gui.widgets.bench_form import BenchForm
from bench_gui.widgets.fields import Section, describe, hbox, label, number, refusals, vbox
from bench_gui.widgets.page import TaskPage
from bench_gui.widgets.tabs import Segments
from core.base.units import fixed
from core.base.words import counted
from core.motion.trajectories import Trajectory

_READINGS = (
    ("position", "Position"),
    ("velocity", "Velocity"),
    ("current", "Current"),
    ("duty_cycle", "Duty cycle"),
)
"""The bar at the top shows supply and temperature on every page."""
LIVE, LIST = range(2)
LOWEST_RATE, HIGHEST_RATE = 20.0, 1000.0
"""[Hz]"""


class RecordView(TaskPage):
    """Data in one click once a servo is connected."""

    help_page = "recording"

    def __init__(self, controller: Controller) -> None:
        super().__init__()
        self._controller = controller
        self._trajectory: Trajectory | None = None
        self._problem = ""
        self.prompt = PromptCard(controller.queue)
        self.centre.addWidget(self.prompt)
        self._readings = self._add_head()
        self.tasks = QStackedWidget()
        self.centre.addWidget(self.tasks, 1)
        self.page = LivePage(controller)
        self.live, self.plots = self.page.run, self.page.plots
        self.tasks.addWidget(self.page)
        self.tasks.addWidget(self._make_list())
        self.form = TrajectoryForm(controller.undo)
        controller.settings.keep("trajectory", self.form.state, self.form.restore, self.form.changed)
        self.form.show_in(controller.angle_unit)
        self.form.changed.connect(self._form_changed)
        self.settings.addWidget(self.form)
        self.bench = BenchForm(controller.setup)
        start = self._make_start()
        for section in (self.bench, start):
            self.settings.addWidget(section)
        controller.library.lock_with(self.form, self.bench, start)
        self.settings.addStretch(1)
        self.start = StartBar(
            controller,
            self.inspector,
            lambda: self._problem or self._trajectory or "",
            self.plan.add_missing,
            lambda: self.task_wanted.emit("Identify"),
        )
        controller.queue.refused = lambda: next(iter(refusals(self.inspector)), "")
        self.actions_column.addWidget(self.start)
        self.run_button = self.start.run_button
        controller.servo.changed.connect(self._show_servo)
        controller.servo.connected.connect(lambda _: self._meet())
        controller.servo.configured.connect(lambda _: self._meet())
        controller.queue.changed.connect(self._queue_changed)
        controller.angle_unit_changed.connect(self._change_unit)
        controller.setup.changed.connect(self._show_rate)
        controller.setup.changed.connect(self._show_waiting)
        self._meet()
        self._show_waiting()
        self._show_servo(controller.servo.view)

    def entered(self) -> None:
        """Draw samples that arrived while the page was hidden."""
        self.page.refresh()
        self._preview()
        self._show_servo(self._controller.servo.view)

    def actions_offered(self) -> list[ActionSpec]:
        queue, start, page = self._controller.queue, self.start, self.page
        return [
            ActionSpec(
                "&Record the waiting runs, or the trajectory", start.go, "Ctrl+R", enabled=lambda: not queue.active
            ),
            ActionSpec("Record the &trajectory now", start.record_chosen, enabled=lambda: not queue.active),
            ActionSpec("&Add the trajectory to the list", start.add, "Ctrl+Shift+R"),
            ActionSpec("Add the missing runs of the plan", self.plan.add_missing),
            ActionSpec("Pause after this run", queue.pause, enabled=lambda: queue.active and not queue.paused),
            ActionSpec("Clear the list", lambda: queue.keep(()), enabled=lambda: bool(queue.waiting)),
            ActionSpec("A&bort the run", queue.abort, "Ctrl+.", "", lambda: queue.active),
            ActionSpec("Record the last run again", page.again, enabled=page.again_button.isVisible),
            ActionSpec("Freeze the live plots", page.freeze.toggle, "Ctrl+Shift+F", page.freeze.toolTip()),
            ActionSpec("Show live plots", lambda: self.tabs.choose(LIVE)),
            ActionSpec("Show the list of runs", lambda: self.tabs.choose(LIST)),
        ]

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter, or the foot pedal, confirms that the load is mounted."""
        keys = {Qt.Key.Key_Return, Qt.Key.Key_Enter}
        pedal = QKeySequence(self._controller.settings.capture_key)
        pressed = event.key() in keys or QKeySequence(event.keyCombination()) == pedal
        if self.prompt.asking and pressed and not event.isAutoRepeat():
            self._controller.queue.resume()
        else:
            super().keyPressEvent(event)

    # Building.

    def _add_head(self) -> dict[str, QLabel]:
        row = hbox(spacing=12)
        self.tabs = Segments([("Live", "The present run"), ("List", "All runs: recorded, failed, waiting")], self._turn)
        row.addWidget(self.tabs, 0, Qt.AlignmentFlag.AlignBottom)
        row.addSpacing(12)
        readings: dict[str, QLabel] = {}
        for name, title in _READINGS:
            column = vbox(spacing=0)
            value = label("–", "reading")
            describe(value, title, f"{title} as reported by the servo")
            column.addWidget(label(title, "muted"))
            column.addWidget(value)
            row.addLayout(column, 1)
            readings[name] = value
        self.centre.addLayout(row)
        return readings

    def _make_start(self) -> Section:
        queue = self._controller.queue
        section = Section("Start")
        self.countdown = number(
            "Countdown",
            "Time before each run in which Abort cancels it (default: 3 s for a real servo, 0 s for a simulated one)",
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
        tip = "Samples per second. A Dynamixel reaches about 200; an EtherCAT drive needs a divisor of its cycle rate"
        self.rate = number("Rate", tip, "Hz", setup.rate, LOWEST_RATE, HIGHEST_RATE, 0, 50.0)
        self.rate.setKeyboardTracking(False)
        self.rate.valueChanged.connect(setup.edit_rate)
        section.row("Rate", self.rate)
        return section

    def _make_list(self) -> QWidget:
        controller = self._controller
        made = QWidget()
        column = vbox(made, spacing=8)
        self.plan = PlanForm(controller)
        self.runs = RunList(controller.queue, controller.plan)
        column.addWidget(self.plan)
        column.addWidget(self.runs, 1)
        return made

    # Actions of the user.

    def _set_countdown(self, seconds: float) -> None:
        queue = self._controller.queue
        queue.countdown.seconds = seconds
        if not queue.simulated:
            self._controller.settings.set("countdown", seconds)

    def _turn(self, tab: int) -> None:
        self.tasks.setCurrentIndex(tab)
        if tab == LIVE:
            self.page.refresh()

    # Updates.

    def _meet(self) -> None:
        """Adapt to another servo or other limits."""
        controller = self._controller
        self.plots.show_limits(controller.servo.limits)
        with QSignalBlocker(self.countdown):
            self.countdown.setValue(controller.queue.countdown.seconds)
        self._show_rate()
        self._preview()

    def _show_rate(self) -> None:
        with QSignalBlocker(self.rate):
            self.rate.setValue(self._controller.setup.rate)

    def _show_waiting(self) -> None:
        """Say how many runs wait, and which load they keep; those of a plan have their own."""
        setup, waiting = self._controller.setup, self._controller.queue.waiting
        self.tabs.buttons[LIST].setText(f"List ({len(waiting)} waiting)" if waiting else "List")
        headers = [run.header for run in waiting if run.cell is None]
        other = [h for h in headers if (h.bench, h.settings.kp) != (setup.bench, setup.kp)]
        loads = dict.fromkeys(f"{h.bench.mass:g} kg at {h.bench.length:g} m, kp {h.settings.kp:g}" for h in other)
        keep = "keeps" if len(other) == 1 else "keep"
        self.bench.show_waiting(f"{counted(len(other), 'waiting run')} {keep} {'; '.join(loads)}" if other else "")

    def _form_changed(self) -> None:
        """Replace the curves of the last run by a preview of the next."""
        if not self._controller.queue.active:
            self.page.clear()
        self._preview()

    def _preview(self) -> None:
        controller = self._controller
        found = possible(self.form)
        self._trajectory, self._problem = (None, found) if isinstance(found, str) else (found, "")
        if self._trajectory is not None:
            preview = self._trajectory.preview()
            limits, queue = controller.servo.limits, controller.queue
            if limits is not None:
                self._problem = beyond(preview, limits, controller.angle_unit)
            before = queue.countdown.seconds + queue.time(queue.waiting)
            self.form.show_preview(preview, controller.setup.rate, limits, before)
            if not queue.active and not self.live.count:
                self.plots.show_preview(preview)
        self.form.show_problem(self._problem)
        self.start.refresh()

    def _show_servo(self, view: ServoView) -> None:
        if not self.isVisible():
            return
        unit = self._controller.angle_unit
        fine = unit.per_radian < 1.5
        shown = {
            "position": (view.position * unit.per_radian, 3 if fine else 1, unit.symbol),
            "velocity": (view.velocity * unit.per_radian, 2 if fine else 0, f"{unit.symbol}/s"),
            "current": (view.current, 2, "A"),
            "duty_cycle": (100 * view.duty_cycle, 0, "%"),
        }
        for name, (value, digits, symbol) in shown.items():
            self._readings[name].setText(fixed(value, digits, symbol) if math.isfinite(value) else "–")

    def _queue_changed(self) -> None:
        if self.prompt.asking and self.isVisible():
            self.prompt.setFocus()
        queue = self._controller.queue
        if not queue.active:
            self.page.refresh()
        elif queue.running is None and queue.waiting:
            self.page.prepare(queue.waiting[0].trajectory)
        self._show_waiting()
        self._preview()

    def _change_unit(self) -> None:
        unit = self._controller.angle_unit
        self.form.show_in(unit)
        self.page.change_unit()
        self._preview()
        self._show_servo(self._controller.servo.view)
