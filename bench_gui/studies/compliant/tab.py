"""Compliance tab (seed 003): curves of the springs, and the motion of a joint, simulated after every change."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PySide6.QtCore import QElapsedTimer, Qt, QTimer
from PySide6.QtGui import QHideEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSplitter, QWidget

from bench_gui import file_dialogs
from bench_gui.actions import ActionSpec
from bench_gui.controller import Controller
from bench_gui.plots.export import PlotExport, gather
from bench_gui.plots.tools import PlotTools
from bench_gui.studies.compliant.compute import (
    PUSH,
    SINE,
    ComplianceJob,
    ComplianceView,
    GazeboJob,
    simulate,
    write_for_gazebo,
)
from bench_gui.studies.compliant.form import ComplianceForm
from bench_gui.studies.compliant.plots import ComplianceCurves, ComplianceMotion
from bench_gui.studies.tab import ExploreTab
from bench_gui.widgets.fields import label, restyle, vbox
from bench_gui.widgets.start_button import StartButton, held_by
from bench_gui.work.computation import Computation
from core.base.errors import ServoBenchError
from core.base.units import AngleUnit, significant
from core.base.words import capitalised

PATIENCE = 150
"""Delay between the last change and the simulation [ms]; a burst of edits is simulated once."""
FRAME = 33
"""Interval between two frames of the dial's animation [ms]."""


class ComplianceTab(ExploreTab):
    """Curves of the springs above, motion below, settings at the side."""

    title = "Compliance"
    tip = "Springs between motor and link: torque, stiffness and motion of four compliant actuators"
    help_page = "compliance"

    def __init__(self, controller: Controller) -> None:
        super().__init__()
        self._controller = controller
        self.form = ComplianceForm(controller.angle_unit)
        self.settings_column.addWidget(self.form)
        self.view: ComplianceView | None = None
        self._simulation: Computation[ComplianceJob, None, ComplianceView] = Computation(
            controller.computations,
            "Compliant joint",
            simulate,
            lost="the simulation process ended unexpectedly; change a setting to run it again",
        )
        self._simulation.finished.connect(self._show)
        self._simulation.failed.connect(self._fail)
        self._writer: Computation[GazeboJob, None, list[Path]] = Computation(
            controller.computations, "Files for Gazebo", write_for_gazebo
        )
        for each in (self._simulation, self._writer):
            each.activity.view = self
        self._writer.finished.connect(self._written)
        self._writer.failed.connect(lambda text: controller.journal.say("error", text, task="Explore"))
        self._waiting = QTimer(self)
        self._waiting.setSingleShot(True)
        self._waiting.setInterval(PATIENCE)
        self._waiting.timeout.connect(self._simulate)
        self._frames = QTimer(self)
        self._frames.setInterval(FRAME)
        self._frames.timeout.connect(self._next_frame)
        self._clock = QElapsedTimer()
        self.curves = ComplianceCurves()
        self.motion = ComplianceMotion()
        self._build_body()
        self._build_buttons()
        self.form.changed.connect(self._change)
        controller.angle_unit_changed.connect(self._take_unit)
        self._take_unit()

    def _build_body(self) -> None:
        lower = QWidget()
        column = vbox(lower, spacing=4)
        self.tools = PlotTools(
            self.motion.over_time, self.motion, self._title, self._controller.save_plot, fit=self.motion.fit
        )
        self.curve_export = PlotExport(
            self.curves,
            lambda: gather((self.curves.torque, self.curves.stiffness), self.form.actuator.title),
            self._controller.save_plot,
        )
        self.tools.export.menu.addAction("Export the springs' curves…", self.curve_export.ask)
        head = QHBoxLayout()
        self.status: QLabel = label("", "muted")
        self.status.setAccessibleName("State of the compliant joint")
        self.status.setWordWrap(True)
        self.status.setTextFormat(Qt.TextFormat.PlainText)
        head.addWidget(self.status, 1)
        head.addWidget(self.tools.bar)
        self.motion.body.addWidget(self.tools.readout)
        column.addLayout(head)
        column.addWidget(self.motion, 1)
        splitter = QSplitter(Qt.Orientation.Vertical)
        splitter.setChildrenCollapsible(False)
        splitter.setHandleWidth(8)
        splitter.addWidget(self.curves)
        splitter.addWidget(lower)
        splitter.setStretchFactor(0, 2)
        splitter.setStretchFactor(1, 3)
        splitter.setSizes([190, 330])
        self.body.addWidget(splitter, 1)

    def _build_buttons(self) -> None:
        self.play_button = StartButton(
            "Play the motion", "Animate the dial with the simulated motion, in real time", self.play, self.form
        )
        self.gazebo_button = StartButton(
            "Write for Gazebo…",
            "Write a URDF with the tags of the paper's plugin, and the configuration of its manager",
            self.ask_gazebo,
            self.form,
            kind="",
        )
        self.buttons_column.addWidget(self.play_button)
        self.buttons_column.addWidget(self.gazebo_button)
        self.play_button.setEnabled(False)

    # User actions.

    def entered(self) -> None:
        """Simulate when the tab first becomes visible."""
        if self.view is None and not self._simulation.active:
            self._change()

    def play(self) -> None:
        """Animate the dial through the motion once."""
        if self.view is not None and not held_by(self.form):
            self._clock.start()
            self._frames.start()

    def ask_gazebo(self) -> None:
        """Ask for a folder and export the joint to it."""
        if held_by(self.form):
            return
        folder = file_dialogs.ask_folder(self, "Write the joint for Gazebo")
        job = self._job() if folder else None
        if job is not None:
            self._writer.start(GazeboJob(job=job, folder=Path(folder)))

    def actions_offered(self) -> list[ActionSpec]:
        return [
            ActionSpec(
                "&Play the compliant joint's motion",
                self.play,
                tip="Animate the dial with the simulated motion",
                enabled=self.play_button.isEnabled,
            ),
            ActionSpec("S&oft behaviour", lambda: self.form.behave("soft"), tip="Set the paper's soft preset"),
            ActionSpec("S&tiff behaviour", lambda: self.form.behave("stiff"), tip="Set the paper's stiff preset"),
            ActionSpec("&Write the joint for Gazebo…", self.ask_gazebo, tip="Write a URDF with the paper's plugin"),
            ActionSpec(
                "E&xport the joint's motion…",
                self.tools.export.ask,
                tip="Write angles and torques as PNG, SVG, PDF or CSV",
                enabled=self.play_button.isEnabled,
            ),
            ActionSpec(
                "Export the springs' &curves…",
                self.curve_export.ask,
                tip="Write torque and stiffness as PNG, SVG, PDF or CSV",
            ),
        ]

    # Reactions to events.

    def hideEvent(self, event: QHideEvent) -> None:
        """Stop the animation while the tab is hidden."""
        super().hideEvent(event)
        self._frames.stop()

    def _change(self) -> None:
        """Draw the curves at once, and schedule a simulation."""
        try:
            self.curves.show_actuator(self.form.actuator, self.form.preset)
        except ServoBenchError as error:
            self._fail(str(error))
            return
        self._frames.stop()
        self._say("Simulating the joint…")
        self._waiting.start()

    def _simulate(self) -> None:
        job = self._job()
        if job is not None:
            self._simulation.start(job)

    def _job(self) -> ComplianceJob | None:
        try:
            return self.form.job()
        except ServoBenchError as error:
            self._fail(str(error))
            return None

    def _show(self, view: ComplianceView) -> None:
        # The settings have changed during the simulation; a newer one is already scheduled.
        if self._waiting.isActive():
            return
        self.view = view
        self.motion.show_view(view)
        self.play_button.setEnabled(True)
        self._say(_summary(view, self._controller.angle_unit))
        if self.isVisible():
            self.play()

    def _next_frame(self) -> None:
        assert self.view is not None
        now = 1e-3 * self._clock.elapsed()
        self.motion.show_moment(now)
        if now >= self.view.job.duration:
            self._frames.stop()

    def _take_unit(self) -> None:
        unit = self._controller.angle_unit
        for part in (self.form, self.curves, self.motion):
            part.set_unit(unit)
        if self.view is not None:
            self._say(_summary(self.view, unit))

    def _say(self, text: str, role: str = "muted") -> None:
        self.status.setText(text)
        for chart in self.motion.over_time:
            chart.say(text)
        restyle(self.status, "role", role)

    def _fail(self, text: str) -> None:
        self._say(capitalised(text), "fault")

    def _written(self, files: list[Path]) -> None:
        names = " and ".join(file.name for file in files)
        self._controller.journal.say("info", f"Wrote {names} to {files[0].parent}", task="Explore")

    def _title(self) -> str:
        return self.view.job.title if self.view is not None else self.form.actuator.title


def _summary(view: ComplianceView, unit: AngleUnit) -> str:
    """Return the position before the push, the stiffness there, and the deflection by the push, in one sentence."""
    motion = view.motion
    before, end = (int(share * len(motion.time)) - 1 for share in PUSH)

    def shown(angle: float) -> str:
        return f"{significant(angle * unit.per_radian, 3)} {unit.symbol}"

    if view.job.shape == SINE and view.job.mode.has_springs:
        return f"The springs deflect by up to {shown(float(np.max(np.abs(motion.position - view.equilibrium))))}."
    parts = [f"Before the push: link at {shown(float(motion.position[before]))}"]
    if view.job.mode.has_springs:
        parts.append(f"stiffness {significant(float(motion.stiffness[before]), 3)} N·m/rad")
    if view.job.push != 0.0:
        turned = shown(float(motion.position[end] - motion.position[before]))
        parts.append(f"the push of {view.job.push:g} N·m turns it by {turned}")
    return ", ".join(parts) + "."
