"""Which trajectory is recorded next, and with what numbers."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QComboBox, QDoubleSpinBox, QLabel

from bench_gui.units import AngleUnit, fixed
from bench_gui.widgets.fields import Section, choice, label, number
from core.errors import ServoBenchError
from core.trajectories import Trajectory, TrajectoryPreview, make_trajectory, trajectory_names

LONGEST = 600.0
"""[s]"""
SHORT_TITLES = {"sin_sin": "Slow with sub-oscillations"}
"""Titles that are too long for the field."""


class TrajectoryForm(Section):
    """A trajectory of the library with its parameters and its duration."""

    changed = Signal()

    def __init__(self) -> None:
        super().__init__("Trajectory")
        self.choice: QComboBox = choice("Trajectory", "What the servo is asked to do")
        for name in trajectory_names():
            title = make_trajectory(name).title
            self.choice.addItem(SHORT_TITLES.get(name, title), name)
        self.wide(self.choice)
        self.parameters = Section("")
        self.parameters.heading.hide()
        self.wide(self.parameters)
        self.facts: QLabel = label("", "muted")
        self.facts.setWordWrap(True)
        self.facts.setAccessibleName("Extremes of the trajectory")
        self.wide(self.facts)
        self._fields: dict[str, QDoubleSpinBox] = {}
        self.choice.currentIndexChanged.connect(self._rebuild)
        self._rebuild()

    def trajectory(self) -> Trajectory:
        """What is chosen; raises InputError for numbers no trajectory has."""
        values = {name: box.value() for name, box in self._fields.items()}
        length = values.pop("duration")
        return make_trajectory(self.choice.currentData(), length, **values)

    def field(self, name: str) -> QDoubleSpinBox:
        """The field of a parameter, or of the "duration"."""
        return self._fields[name]

    def show_preview(self, preview: TrajectoryPreview, unit: AngleUnit) -> None:
        """Say what the trajectory asks of the servo."""
        low, high = (fixed(v * unit.per_radian, 2) for v in (preview.lowest, preview.highest))
        speed = fixed(preview.peak_velocity * unit.per_radian, 1 if unit.per_radian < 1.5 else 0)
        self.facts.setText(f"{low} … {high} {unit.symbol}, up to {speed} {unit.symbol}/s")

    def _rebuild(self) -> None:
        base = make_trajectory(self.choice.currentData())
        self.parameters.clear()
        self._fields = {}
        for parameter in base.parameters.values():
            lower = max(parameter.lower, 1e-3) if parameter.unit == "s" else parameter.lower
            text = parameter.name.replace("_", " ").capitalize()
            box = number(text, parameter.description, parameter.unit, parameter.value, lower, parameter.upper, 4, 0.1)
            self._add(parameter.name, f"{text}", box)
        box = number("Duration", "Duration of the run", "s", base.duration, 0.1, LONGEST, 2, 0.5)
        self._add("duration", "Duration", box)
        self.changed.emit()

    def _add(self, name: str, text: str, box: QDoubleSpinBox) -> None:
        box.valueChanged.connect(lambda _: self.changed.emit())
        self.parameters.row(text, box)
        self._fields[name] = box


def possible(form: TrajectoryForm) -> Trajectory | str:
    """The chosen trajectory, or why it is not possible."""
    try:
        return form.trajectory()
    except ServoBenchError as error:
        return str(error)
