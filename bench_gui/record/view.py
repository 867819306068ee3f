"""Recording: choose a trajectory, run it, watch it."""

from __future__ import annotations

import math

import numpy as np
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QVBoxLayout

from bench_gui.connect.bench_form import BenchForm
from bench_gui.connect.servo_link import ServoView
from bench_gui.controller import TICK, Controller
from bench_gui.record.live import LiveRun
from bench_gui.record.plots import LivePlots
from bench_gui.record.trajectory_form import TrajectoryForm, possible
from bench_gui.theme import Theme
from bench_gui.units import duration, fixed
from bench_gui.widgets.fields import button, describe, label
from bench_gui.widgets.page import TaskPage
from core.trajectories import PAPER_TRAJECTORIES, Trajectory, make_trajectory
from drivers.servo import ServoState

_READINGS = (
    ("position", "Position"),
    ("velocity", "Velocity"),
    ("current", "Current"),
    ("duty_cycle", "Duty cycle"),
    ("supply_voltage", "Supply"),
    ("temperature", "Temperature"),
)


class RecordView(TaskPage):
    """Data in one click once a servo is connected."""

    def __init__(self, controller: Controller) -> None:
        super().__init__()
        self._controller = controller
        self.live = LiveRun()
        self._fresh = False
        self._trajectory: Trajectory | None = None
        self._problem = ""
        self._readings = self._add_readings()
        self.plots = LivePlots()
        self.plots.set_unit(controller.angle_unit)
        self.centre.addWidget(self.plots, 1)
        self.form = TrajectoryForm()
        self.form.changed.connect(self._preview)
        self.settings.addWidget(self.form)
        self.settings.addWidget(BenchForm(controller.setup))
        self.settings.addStretch(1)
        self._add_actions()
        self._timer = QTimer(self)
        self._timer.setInterval(TICK)
        self._timer.timeout.connect(self._draw)
        controller.servo.rows.connect(self._take)
        controller.servo.changed.connect(self._show_servo)
        controller.servo.connected.connect(lambda _: self._preview())
        controller.queue.started.connect(self._begin)
        controller.queue.changed.connect(self._enable)
        controller.angle_unit_changed.connect(self._change_unit)
        self._preview()
        self._show_servo(controller.servo.view)

    def set_theme(self, theme: Theme) -> None:
        """Take over a theme's colours."""
        self.plots.set_theme(theme)

    def entered(self) -> None:
        """Draw what came while the page was out of sight."""
        self._fresh = True
        self._draw()
        self._show_servo(self._controller.servo.view)

    def _add_readings(self) -> dict[str, QLabel]:
        row = QHBoxLayout()
        row.setSpacing(0)
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

    def _add_actions(self) -> None:
        controller = self._controller
        total = sum(make_trajectory(name).duration for name in PAPER_TRAJECTORIES)
        self.run_button: QPushButton = button("Run", "Record this trajectory", self._run, "primary")
        self.run_button.setMinimumHeight(26)
        self.abort_button: QPushButton = button(
            "Abort", "End the run, keep its samples, bring the pendulum back slowly", controller.queue.abort
        )
        self.abort_button.setMinimumHeight(26)
        self.all_button: QPushButton = button(
            f"Record all four  ({duration(total)})",
            "Record the four trajectories of the paper one after the other",
            controller.queue.record_paper_set,
        )
        self.all_button.setAccessibleName("Record all four")
        row = QHBoxLayout()
        row.addWidget(self.run_button, 2)
        row.addWidget(self.abort_button, 1)
        self.actions_column.addLayout(row)
        self.actions_column.addWidget(self.all_button)

    def _run(self) -> None:
        if self._trajectory is not None:
            self._controller.queue.record([self._trajectory])

    def _preview(self) -> None:
        if self._controller.queue.current is not None:
            return
        found = possible(self.form)
        self._trajectory, self._problem = (None, found) if isinstance(found, str) else (found, "")
        if self._trajectory is not None:
            preview = self._trajectory.preview()
            self.form.show_preview(preview, self._controller.angle_unit)
            limits = self._controller.servo.limits
            if limits is not None and (
                preview.lowest < limits.lowest_position or preview.highest > limits.highest_position
            ):
                self._problem = "the trajectory leaves the servo's angle limits"
            self.plots.begin_run()
            self.plots.show_preview(preview)
        self._enable()

    def _begin(self, trajectory: Trajectory) -> None:
        self.live.clear()
        self.plots.begin_run()
        self.plots.show_preview(trajectory.preview())
        self._timer.start()

    def _take(self, rows: np.ndarray) -> None:
        self._fresh = self.live.take(rows) or self._fresh

    def _draw(self) -> None:
        if self._fresh and self.isVisible():
            self._fresh = False
            channel = "current" if np.isfinite(self.live.column("current")).any() else "duty_cycle"
            self.plots.show_effort(channel)
            self.plots.show_run(self.live)
        if not self._controller.queue.active:
            self._timer.stop()

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

    def _enable(self) -> None:
        controller = self._controller
        ready = controller.servo.view.state is ServoState.READY and not controller.queue.active
        why = "" if ready else "connect a servo first" if not controller.queue.active else "a run is on"
        self.run_button.setEnabled(ready and not self._problem)
        self.run_button.setToolTip("Record this trajectory" if self.run_button.isEnabled() else self._problem or why)
        self.all_button.setEnabled(ready)
        self.abort_button.setEnabled(controller.queue.active)

    def _change_unit(self) -> None:
        self.plots.set_unit(self._controller.angle_unit)
        found = possible(self.form)
        if not isinstance(found, str):
            self.form.show_preview(found.preview(), self._controller.angle_unit)
        if self.live.count:
            self.plots.show_run(self.live)
        self._show_servo(self._controller.servo.view)
