"""The recording plan: its axes above, the grid with what is done in the middle, what to do next below."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import (
    QComboBox,
    QDoubleSpinBox,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QMenu,
    QProgressBar,
    QPushButton,
    QSpinBox,
    QTableView,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from bench_gui.controller import Controller
from bench_gui.record.plan_table import PlanTable
from bench_gui.record.trajectory_form import LONGEST
from bench_gui.theme import Theme
from bench_gui.widgets.binding import Binding
from bench_gui.widgets.fields import button, caption_of, choice, describe, label, number, tool, whole
from bench_gui.widgets.tables import plain_table
from core.errors import InputError, ServoBenchError
from core.plan import MOST_REPETITIONS, Cell, GridPlan, dynamixel_plan, erob_plan, scaled_plan
from core.trajectories import make_trajectory, trajectory_names
from core.units import duration
from core.words import capitalised, counted

AXES = (
    ("masses", "Loads", "kg", "Masses to hang, with commas between them"),
    ("lengths", "Lengths", "m", "Distances from the shaft to the load, with commas between them"),
    ("kps", "Gains kp", "", "Position gains in the servo's own units, with commas between them"),
)
STEPS = 1000


class PlanPage(QWidget):
    """Shows and edits the plan of the open session."""

    def __init__(self, controller: Controller) -> None:
        super().__init__()
        self._controller = controller
        self._planning = controller.plan
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(6)
        column.addLayout(self._make_axes())
        self.problem: QLabel = label("", "fault")
        self.problem.setWordWrap(True)
        self.problem.hide()
        column.addWidget(self.problem)
        self.table = PlanTable()
        self.grid: QTableView = plain_table("Recording plan", "Recorded and planned runs of each load, length and gain")
        self.grid.setSelectionBehavior(QTableView.SelectionBehavior.SelectItems)
        self.grid.setModel(self.table)
        self.grid.setShowGrid(True)
        self.grid.horizontalHeader().setSectionResizeMode(self.grid.horizontalHeader().ResizeMode.Stretch)
        self.grid.selectionModel().currentChanged.connect(lambda *_: self._enable())
        self.table.modelReset.connect(self._enable)
        column.addWidget(self.grid, 1)
        column.addLayout(self._make_foot())
        self._planning.changed.connect(self.refresh)
        controller.servo.changed.connect(lambda _: self._enable())
        self._fill()
        self.refresh()

    def set_theme(self, theme: Theme) -> None:
        """Take over a theme's colours."""
        self.table.set_theme(theme)

    def refresh(self) -> None:
        """Show the plan and its state, if anybody looks."""
        if not self.isVisible():
            return
        planning = self._planning
        if planning.plan != self._shown:
            self._fill()
        state = planning.status
        self.table.show_status(state, planning.running)
        done, total = len(state.done), len(planning.plan)
        left = "" if state.complete else f", {duration(planning.remaining)} left"
        self.progress.setText(f"{done} of {counted(total, 'run')}{left}")
        self.bar.setValue(round(STEPS * done / total))
        self._warn()
        self._enable()

    def showEvent(self, event) -> None:
        """Catch up with what happened out of sight."""
        super().showEvent(event)
        self.refresh()

    # Building.

    def _make_axes(self) -> QGridLayout:
        grid = QGridLayout()
        grid.setHorizontalSpacing(8)
        grid.setVerticalSpacing(4)
        self.preset: QComboBox = choice("Preset", "A grid to begin with")
        self.preset.addItem("Preset…", None)
        self.preset.addItem("Paper, Dynamixel", "dynamixel")
        self.preset.addItem("Paper, eRob80", "erob")
        self.preset.addItem("Scaled to this servo", "scaled")
        self.preset.activated.connect(self._choose_preset)
        self._binding = Binding()
        self.fields: dict[str, QLineEdit] = {}
        for place, (name, text, unit, tip) in enumerate(AXES):
            field = describe(QLineEdit(), text, tip)
            field.editingFinished.connect(self._edit)
            grid.addWidget(caption_of(field, f"{text} [{unit}]" if unit else text), 0, 2 * place)
            grid.addWidget(field, 0, 2 * place + 1)
            grid.setColumnStretch(2 * place + 1, 1)
            self.fields[name] = field
        grid.addWidget(self.preset, 0, 6)
        self.trajectories = self._make_trajectories()
        self.repetitions: QSpinBox = whole(
            "Repetitions", "How often each combination is recorded", 1, 1, MOST_REPETITIONS
        )
        self.repetitions.setKeyboardTracking(False)
        self._binding.bind("repetitions", self.repetitions)
        self.length: QDoubleSpinBox = number("Duration", "Duration of each run", "s", 6.0, 0.1, LONGEST, 2, 0.5)
        self._binding.bind("duration", self.length)
        self._binding.edited.connect(lambda _: self._edit())
        for place, (text, field) in enumerate(
            (("Trajectories", self.trajectories), ("Repetitions", self.repetitions), ("Duration", self.length))
        ):
            grid.addWidget(caption_of(field, text), 1, 2 * place)
            grid.addWidget(field, 1, 2 * place + 1, Qt.AlignmentFlag.AlignLeft)
        return grid

    def _make_trajectories(self) -> QToolButton:
        made = tool("Trajectories", "Which trajectories are recorded in each cell", "")
        made.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextOnly)
        made.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        menu = QMenu(made)
        self.chosen: dict[str, QAction] = {}
        for name in trajectory_names():
            trajectory = make_trajectory(name)
            action = QAction(trajectory.short_title or trajectory.title, menu)
            action.setCheckable(True)
            action.triggered.connect(lambda _: self._edit())
            menu.addAction(action)
            self.chosen[name] = action
        made.setMenu(menu)
        return made

    def _make_foot(self) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(8)
        self.bar = describe(QProgressBar(), "Progress of the plan", "How much of the plan is recorded")
        self.bar.setRange(0, STEPS)
        self.bar.setTextVisible(False)
        self.bar.setFixedWidth(120)
        self.progress: QLabel = label("")
        self.progress.setAccessibleName("State of the plan")
        self.redo_button: QPushButton = button(
            "Record again", "Record the chosen cell once more; the new runs take the place of the old ones", self._redo
        )
        self.here_button: QPushButton = button(
            "Start here", "Record what is missing, beginning with the chosen cell", self._start_here
        )
        self.start_button: QPushButton = button(
            "Start plan", "Record what is missing, in order", self._start, "primary"
        )
        row.addWidget(self.bar)
        row.addWidget(self.progress, 1)
        for part in (self.redo_button, self.here_button, self.start_button):
            row.addWidget(part)
        return row

    # A person's edits.

    def _choose_preset(self) -> None:
        spec = self._controller.setup.spec
        made = {"dynamixel": dynamixel_plan, "erob": erob_plan, "scaled": lambda: scaled_plan(spec)}
        wanted = self.preset.currentData()
        self.preset.setCurrentIndex(0)
        if wanted:
            self._planning.edit(made[wanted](), "preset of the plan")
            self.refresh()

    def _edit(self) -> None:
        try:
            plan = self._entered()
        except ServoBenchError as error:
            self.problem.setText(capitalised(str(error)))
            self.problem.show()
            self._enable()
            return
        self.problem.hide()
        if plan != self._planning.plan:
            self._planning.edit(plan, "recording plan")
        self.refresh()

    def _entered(self) -> GridPlan:
        values = {name: _numbers(self.fields[name].text(), text) for name, text, _, _ in AXES}
        old = self._planning.plan
        names = tuple(name for name, action in self.chosen.items() if action.isChecked())
        kept = [name for name in old.trajectories if name in names]
        changed = replace(
            old,
            **values,
            trajectories=(*kept, *(name for name in names if name not in kept)),
            **self._binding.values(),
        )
        return changed if changed == old else replace(changed, title="", source="")

    def _fill(self) -> None:
        plan = self._shown = self._planning.plan
        for name, field in self.fields.items():
            field.setText(", ".join(f"{value:g}" for value in getattr(plan, name)))
        for name, action in self.chosen.items():
            action.setChecked(name in plan.trajectories)
        self.trajectories.setText(f"{len(plan.trajectories)} chosen")
        self._binding.show(plan)
        self.problem.hide()

    # What a person asks for.

    def _start(self) -> None:
        planning = self._planning
        if planning.active and not self._controller.queue.paused:
            planning.pause()
        else:
            planning.start()

    def _start_here(self) -> None:
        cells = self._chosen_cells()
        pending = [cell for cell in cells if cell in self._planning.status.pending]
        if pending:
            self._planning.forget_queued()
            self._planning.start(pending[0])

    def _redo(self) -> None:
        self._planning.redo(self._chosen_cells())

    def _chosen_cells(self) -> list[Cell]:
        return self.table.cells(self.grid.currentIndex())

    # What happens.

    def _warn(self) -> None:
        spec, torque = self._controller.setup.spec, self._planning.plan.heaviest_torque
        if torque > spec.stall_torque:
            self.problem.setText(
                f"The largest load at the largest length needs {torque:.2g} N·m, {spec.title} stalls at "
                f"{spec.stall_torque:.2g} N·m: it cannot lift it"
            )
            self.problem.show()
        elif "cannot lift" in self.problem.text():
            self.problem.setText("")
            self.problem.hide()

    def _enable(self) -> None:
        planning, queue = self._planning, self._controller.queue
        state, chosen = planning.status, self._chosen_cells()
        wrong = self.problem.isVisible() and "cannot lift" not in self.problem.text()
        connected = self._controller.servo.identity is not None
        pausing = planning.active and not queue.paused
        begun = bool(state.done)
        self.start_button.setText("Pause plan" if pausing else "Continue plan" if begun else "Start plan")
        self.start_button.setAccessibleName(self.start_button.text())
        missing = any(cell in state.pending for cell in chosen)
        recorded = any(cell in state.done for cell in chosen)
        for part, possible, why in (
            (self.start_button, pausing or not state.complete, "every run of the plan is recorded"),
            (
                self.here_button,
                missing and not queue.active,
                "choose a cell with missing runs, while nothing is recorded",
            ),
            (self.redo_button, recorded, "choose a cell with recorded runs"),
        ):
            reason = "mend the plan first" if wrong else "connect a servo first" if not connected else why
            part.setEnabled(connected and possible and not wrong)
            part.setToolTip(_TIPS[part is self.start_button, part is self.here_button] if part.isEnabled() else reason)


_TIPS = {
    (True, False): "Record what is missing, in order; Pause lets the run that is on come to its end",
    (False, True): "Record what is missing, beginning with the chosen cell",
    (False, False): "Record the chosen cell once more; the new runs take the place of the old ones",
}


def _numbers(text: str, what: str) -> tuple[float, ...]:
    """Numbers with commas or semicolons between them; raises InputError."""
    parts = [part.strip() for part in text.replace(";", ",").split(",") if part.strip()]
    try:
        return tuple(float(part) for part in parts)
    except ValueError:
        raise InputError(f"{what}: {text!r} is no list of numbers; write them like 0.5, 1, 1.5") from None
