"""Form of the recording plan: its axes, and the button that adds its runs to the list."""

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
    QMenu,
    QProgressBar,
    QSpinBox,
    QToolButton,
    QWidget,
)

from bench_gui.controller import Controller
from bench_gui.record.trajectory_form import LONGEST
from bench_gui.widgets.binding import Binding
from bench_gui.widgets.fields import (
    ElidedLabel,
    ListEdit,
    caption_of,
    choice,
    describe,
    hbox,
    label,
    number,
    tool,
    vbox,
    whole,
)
from bench_gui.widgets.start_button import StartButton, held_by
from core.base.errors import InputError, ServoBenchError
from core.base.numbers import number_parts, parse_number
from core.base.units import duration, typeset
from core.base.words import capitalised, counted
from core.motion.trajectories import make_trajectory, trajectory_names
from core.practice.plan import MOST_REPETITIONS, GridPlan, dynamixel_plan, erob_plan, scaled_plan

AXES = (
    ("masses", "Loads", "kg", "Masses of the load, e.g. 0.5, 1 or 0,5; 1"),
    ("lengths", "Lengths", "m", "Distances from the shaft to the load, e.g. 0.1, 0.15 or 0,1; 0,15"),
    ("kps", "Gains kp", "", "Position gains in the servo's own units, e.g. 100, 200"),
)
STEPS = 1000
COUNT_WIDTH = 70
"""[px]"""


class PlanForm(QWidget):
    """Shows and edits the plan of the open session."""

    def __init__(self, controller: Controller) -> None:
        super().__init__()
        self._controller = controller
        self._planning = controller.plan
        self._wrong = False
        column = vbox(self, spacing=6)
        column.addLayout(self._make_axes())
        self.problem: QLabel = label("", "fault")
        self.problem.setWordWrap(True)
        self.problem.hide()
        column.addWidget(self.problem)
        column.addLayout(self._make_foot())
        self._planning.changed.connect(self.refresh)
        self._fill()
        self.refresh()

    def refresh(self) -> None:
        """Show the plan and its state, if the form is visible."""
        if not self.isVisible():
            return
        planning = self._planning
        if planning.plan != self._shown:
            self._fill()
        state, missing = planning.status, len(planning.missing)
        done, total = len(state.done), len(planning.plan)
        left = "" if state.complete else f", {duration(planning.remaining)} left"
        self.progress.setText(f"{done} of {counted(total, 'run')} recorded{left}")
        self.bar.setValue(round(STEPS * done / total))
        self.add_button.setText(f"Add {counted(missing, 'run')}" if missing else "Add runs")
        self.add_button.setEnabled(bool(missing) and not self._wrong)
        if not self._wrong:
            self._say(self._controller.setup.spec.too_weak(self._planning.plan.heaviest))

    def showEvent(self, event) -> None:
        """Catch up with changes made while the form was hidden."""
        super().showEvent(event)
        self.refresh()

    # Building.

    def _make_axes(self) -> QGridLayout:
        grid = QGridLayout()
        grid.setHorizontalSpacing(8)
        grid.setVerticalSpacing(4)
        self.preset: QComboBox = choice("Preset", "Predefined plan to start from")
        self.preset.addItem("Preset…", None)
        self.preset.addItem("Paper, Dynamixel", "dynamixel")
        self.preset.addItem("Paper, eRob80", "erob")
        self.preset.addItem("Scaled to this servo", "scaled")
        self.preset.activated.connect(self._choose_preset)
        self._binding = Binding()
        self.fields: dict[str, ListEdit] = {}
        for place, (name, text, unit, tip) in enumerate(AXES):
            field = describe(ListEdit(), text, tip)
            field.editingFinished.connect(self._edit)
            grid.addWidget(caption_of(field, f"{text} [{unit}]" if unit else text), 0, 2 * place)
            grid.addWidget(field, 0, 2 * place + 1)
            grid.setColumnStretch(2 * place + 1, 1)
            self.fields[name] = field
        self.trajectories = self._make_trajectories()
        self.repetitions: QSpinBox = whole(
            "Repetitions", "Number of recordings of each combination", 1, 1, MOST_REPETITIONS
        )
        self.repetitions.setKeyboardTracking(False)
        self.repetitions.setFixedWidth(COUNT_WIDTH)
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
        made = tool("Trajectories", "Trajectories recorded in each cell", "")
        made.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextOnly)
        made.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        menu = QMenu(made)
        menu.setToolTipsVisible(True)
        self.chosen: dict[str, QAction] = {}
        for name in trajectory_names():
            trajectory = make_trajectory(name)
            action = QAction(trajectory.title, menu)
            action.setToolTip(name)
            action.setCheckable(True)
            action.triggered.connect(lambda _: self._edit())
            menu.addAction(action)
            self.chosen[name] = action
        made.setMenu(menu)
        return made

    def _make_foot(self) -> QHBoxLayout:
        row = hbox(spacing=8)
        self.bar = describe(QProgressBar(), "Progress of the plan", "Recorded share of the plan")
        self.bar.setRange(0, STEPS)
        self.bar.setTextVisible(False)
        self.bar.setFixedWidth(120)
        self.progress = ElidedLabel()
        self.progress.setAccessibleName("State of the plan")
        self.add_button = StartButton(
            "Add runs",
            "Add the missing runs of the plan to the list, in the order with the fewest changes by hand",
            self.add_missing,
            self,
            kind="",
        )
        row.addWidget(self.preset)
        row.addWidget(self.bar)
        row.addWidget(self.progress, 1)
        row.addWidget(self.add_button)
        return row

    # Edits of the user.

    def add_missing(self) -> None:
        """Add the missing runs of the plan to the list."""
        if not held_by(self) and not self._wrong:
            self._planning.add_missing()

    def _choose_preset(self) -> None:
        spec = self._controller.setup.spec
        made = {"dynamixel": dynamixel_plan, "erob": erob_plan, "scaled": lambda: scaled_plan(spec)}
        wanted = self.preset.currentData()
        self.preset.setCurrentIndex(0)
        if wanted:
            self._planning.edit(made[wanted](), "preset of the plan")
            self.refresh()

    def _edit(self) -> None:
        for name, text, _, _ in AXES:
            self.fields[name].refuse(_problem(self.fields[name].text(), text))
        try:
            plan = self._entered()
        except ServoBenchError as error:
            self._wrong = True
            self._say(capitalised(str(error)))
            self.add_button.setEnabled(False)
            return
        self._wrong = False
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
            field.setText(", ".join(typeset(f"{value:g}") for value in getattr(plan, name)))
            field.refuse("")
        for name, action in self.chosen.items():
            action.setChecked(name in plan.trajectories)
        self.trajectories.setText(f"{len(plan.trajectories)} chosen")
        self._binding.show(plan)
        self._wrong = False

    # Updates.

    def _say(self, problem: str) -> None:
        self.problem.setText(problem)
        self.problem.setVisible(bool(problem))


def _problem(text: str, what: str) -> str:
    """Why a text is not a list of numbers; empty if it is."""
    try:
        _numbers(text, what)
    except InputError as error:
        return str(error)
    return ""


def _numbers(text: str, what: str) -> tuple[float, ...]:
    """Parse a list of numbers, see `core.base.numbers`.

    Raises:
        InputError: The text is not a list of numbers.
    """
    try:
        return tuple(parse_number(part) for part in number_parts(text))
    except ValueError as error:
        raise InputError(f"{what}: {error}") from None
