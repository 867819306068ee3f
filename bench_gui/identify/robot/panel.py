"""Robot panel: identifies the joints of an assembled robot, in place of the page's answer for a single servo."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from PySide6.QtWidgets import QLabel, QPushButton, QWidget

from bench_gui.actions import ActionSpec
from bench_gui.controller import Controller
from bench_gui.identify.robot import compute, tables
from bench_gui.identify.robot.compute import Excited, RobotJob
from bench_gui.identify.robot.form import RobotForm
from bench_gui.state.choice import choice_of
from bench_gui.widgets.fields import allow, button, describe, hbox, label, vbox
from bench_gui.widgets.page import Placeholder
from bench_gui.widgets.start_button import StartButton, held_by
from bench_gui.widgets.tables import TablesInTurn
from bench_gui.work.process import Line
from bench_gui.work.progress_row import ProgressRow
from core.base.words import capitalised, counted
from sessions.results.folder import new_result_folder
from sessions.results.robot import JointRow, KeptRobot

EMPTY = (
    "These are runs of a robot's joints. Each joint is identified like a servo on the bench. Its load follows from the "
    "robot's file and the measured motion of the other joints."
)
UNCHECKED = "Check motions to see what they excite."
ERRORS, MOTIONS = range(2)
Act = Callable[[RobotJob, Line], Any]


class RobotPanel(QWidget):
    """Starts the work on a robot's joints and shows the results."""

    def __init__(self, controller: Controller) -> None:
        super().__init__()
        self._controller = controller
        self._shown: tuple[KeptRobot | None, Mapping[str, float], Excited | None] = None, {}, None
        self.work = controller.identifying.robot
        self.work.activity.view = self
        self.form = RobotForm()
        self.buttons = self._make_buttons()
        column = vbox(self, spacing=6)
        self.progress = ProgressRow("identification of the joints", "Share of the work that is done")
        column.addLayout(self.progress)
        self.doubts: QLabel = label("", "fault")
        self.doubts.setWordWrap(True)
        describe(self.doubts, "Warnings about the motions", "Data that look mixed up, and joints that failed")
        column.addWidget(self.doubts)
        self.parts = TablesInTurn(
            "Joints",
            (
                ("Errors", "Errors of each joint's model", ()),
                ("Motions", "What the motions of each joint excite", tables.MOTIONS),
            ),
        )
        self.parts.view.setWordWrap(False)
        self.whole_button: QPushButton = button("Evaluate whole robot", "", self.evaluate_whole, "small")
        self.report_button: QPushButton = button("Report", "", self.report, "small")
        self.parts.head.addStretch(1)
        self.parts.head.addWidget(self.whole_button)
        self.parts.head.addWidget(self.report_button)
        column.addWidget(Placeholder(self.parts), 1)
        self._connect()
        self._fill()

    def _make_buttons(self) -> QWidget:
        part = QWidget()
        column, row = vbox(part, spacing=8), hbox()
        self.check_button: QPushButton = button("Check motions", "", self.check)
        self.start_button = StartButton("Identify joints", "", self.start, self.form)
        self.stop_button: QPushButton = button("Stop", self.work.activity.cancel_tip, self.work.stop)
        for each, share in ((self.start_button, 2), (self.stop_button, 1)):
            each.setMinimumHeight(26)
            row.addWidget(each, share)
        column.addWidget(self.check_button)
        column.addLayout(row)
        return part

    def _connect(self) -> None:
        library, work = self._controller.library, self.work

        library.opened.connect(lambda: self.parts.segments.choose(ERRORS))
        library.locked_changed.connect(self.refresh)
        self._controller.identifying.changed.connect(self.refresh)
        self.form.changed.connect(self.refresh)
        self._controller.settings.keep("robot", self.form.state, self.form.restore, self.form.changed)
        work.progressed.connect(lambda _: self._show_progress())
        work.finished.connect(lambda result: self.parts.segments.choose(MOTIONS if result is None else ERRORS))
        work.written.connect(self._controller.reported)

    @property
    def offered(self) -> bool:
        """True if the runs to identify from are of a robot's joints."""
        return any(run.joint for run in self._controller.library.for_fit())

    @property
    def instead(self) -> str:
        """Reason why a servo on the bench cannot be identified; empty if there is none."""
        return "the runs are of a robot; identify its joints" if self.offered else ""

    def offer(self) -> None:
        """Offer the joints of the session's runs."""
        library = self._controller.library
        self.form.offer(library.path, list(dict.fromkeys(run.joint for run in library.runs if run.joint)))
        self.refresh()

    def actions_offered(self) -> list[ActionSpec]:
        work = self.work
        return [
            ActionSpec("Identify the joints", self.start, enabled=self.start_button.isEnabled),
            ActionSpec("Stop the work on the joints", work.stop, enabled=lambda: work.active and not work.stopping),
            ActionSpec("Evaluate the whole robot", self.evaluate_whole, enabled=self.whole_button.isEnabled),
            ActionSpec("Write the report of a joint", self.report, enabled=self.report_button.isEnabled),
        ]

    # User actions.

    def start(self) -> None:
        """Identify the checked joints."""
        results = self._controller.library.results_place
        if not held_by(self.form) and not self._obstacle() and results is not None:
            self._examine(compute.identify, new_result_folder(results))

    def check(self) -> None:
        """Find out what the motions excite."""
        self._examine(compute.check, Path())

    def evaluate_whole(self) -> None:
        """Simulate the whole robot with the shown models."""
        if self.work.kept is not None:
            self._use(compute.evaluate_whole, self.work.kept, self.work.kept.rows)

    def report(self) -> None:
        """Write the report of the selected joint, or of all."""
        kept, row = self.work.kept, self.parts.view.currentIndex().row()
        if kept is not None:
            selected = self.parts.segments.current == ERRORS and row >= 0
            self._use(compute.report, kept, kept.rows[row : row + 1] if selected else kept.rows)

    def _examine(self, act: Act, folder: Path) -> None:
        """Begin a job on the motions of the checked joints."""
        if self.form.file is not None:
            self.parts.segments.choose(MOTIONS)
            self._begin(act, folder, self.form.file, self.form.checked)

    def _use(self, act: Act, kept: KeptRobot, rows: Sequence[JointRow]) -> None:
        """Begin a job with the models of a result."""
        self._begin(act, kept.folder, kept.known.file, tuple(row.joint for row in rows))

    def _begin(self, act: Act, folder: Path, robot: Path, joints: tuple[str, ...]) -> None:
        library = self._controller.library
        if library.path is None:
            return
        # A selection of runs, made to look at them, leaves out no joint and no motion.
        runs = choice_of(library.runs, library.annotations, ()).for_fit
        self.work.start(
            RobotJob(
                act=act,
                session=library.path,
                runs=tuple(run.id for run in runs if run.joint),
                robot=robot,
                joints=joints,
                folder=folder,
                fit=self.form.fit.values(),
            )
        )

    # Events.

    def refresh(self) -> None:
        """Show the results and enable what is possible."""
        work, excited, kept = self.work, self.work.excited, self.work.kept
        why, why_not_read = self._obstacle(), self._obstacle_to_read()
        self.form.setEnabled(not work.active)
        for part, reason, tip in (
            (self.start_button, why, "Identify the servo of each checked joint"),
            (self.check_button, why_not_read, "Find out what the motions of each joint excite, and mix-ups in them"),
            (self.whole_button, self._obstacle_to_use(), "Simulate all joints at once in MuJoCo, in held-out motions"),
            (self.report_button, self._obstacle_to_use(), "Write the report of the selected joint, or of all"),
        ):
            allow(part, reason, tip)
        self.stop_button.setEnabled(work.active and not work.stopping)
        self.stop_button.setText("Stopping…" if work.stopping else "Stop")
        shown = kept, work.whole, excited
        if shown != self._shown:
            self._shown = shown
            self._fill()
        self._show_progress()

    def _fill(self) -> None:
        kept, whole, excited = self._shown
        failed = () if kept is None else (f"{joint}: {reason}" for joint, reason in kept.known.failed.items())
        self.doubts.setText("\n".join((*(() if excited is None else excited.warnings), *failed)))
        self.doubts.setVisible(bool(self.doubts.text()))
        columns, rows = tables.by_joint(kept, whole)
        self.parts.fill(ERRORS, rows, columns, _basis(kept))
        notes = UNCHECKED if excited is None else "\n".join(f"{capitalised(text)}." for text in excited.notes)
        self.parts.fill(MOTIONS, () if excited is None else tables.by_motion(excited.coverage), words=notes)
        self.parts.setVisible(kept is not None or excited is not None)

    def _show_progress(self) -> None:
        idle = EMPTY if self.work.kept is None else ""
        self.progress.show(self.work, idle, starting="Loading the program and the motions…")

    def _obstacle_to_read(self) -> str:
        """Reason why the motions cannot be examined; empty if they can."""
        if self.work.active:
            return "work on the joints is under way"
        if self.form.file is None:
            return "choose the robot's file"
        return "" if self.form.checked else "no joint is checked; check at least one"

    def _obstacle(self) -> str:
        """Reason why the joints cannot be identified; empty if they can."""
        if waits := self._controller.identifying.beside(self.work):
            return waits
        if not self.form.models.checked:
            return "no model is checked; check at least one"
        return self._obstacle_to_read() or self._controller.library.results_obstacle

    def _obstacle_to_use(self) -> str:
        """Reason why there is no result to evaluate; empty if there is one."""
        if self.work.active:
            return "work on the joints is under way"
        return "no joint is identified; identify the joints first" if self.work.kept is None else ""


def _basis(kept: KeptRobot | None) -> str:
    """Return the held-out motions and the place of a result."""
    if kept is None:
        return "Not identified yet."
    held = kept.known.held_out
    text = f"Held out: {', '.join(held)}" if held else "No motion was held out"
    return f"{text} ({len(held)} of {counted(len(held) + len(kept.known.training), 'motion')}), in {kept.folder.name}."
