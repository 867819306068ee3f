"""Form of the next trajectory and its parameters."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtGui import QUndoStack
from PySide6.QtWidgets import QComboBox, QDoubleSpinBox, QLabel

from bench_gui.undo import change
from bench_gui.widgets.fields import AngleBox, Section, angle, choice, label, number
from core.base.errors import ServoBenchError
from core.base.units import RADIANS, AngleUnit, duration, fixed
from core.base.words import capitalised
from core.motion.recording import SAMPLE_DTYPE
from core.motion.trajectories import (
    Trajectory,
    TrajectoryPreview,
    canonical_name,
    make_trajectory,
    trajectory_names,
)
from core.servo.parameters import Parameter
from drivers.limits import Limits

LONGEST = 600.0
"""[s]"""
DURATION = "duration"


@dataclass(frozen=True)
class Choice:
    """Contents of the form: a trajectory and the parameters that differ from its defaults."""

    name: str
    values: Mapping[str, float] = field(default_factory=dict)

    def made(self) -> Trajectory:
        """Return the trajectory.

        Raises:
            InputError: A parameter is not possible for it.
        """
        values = dict(self.values)
        length = values.pop(DURATION, None)
        return make_trajectory(self.name, length, **values)


class TrajectoryForm(Section):
    """A trajectory of the library with its parameters and its duration."""

    changed = Signal()

    def __init__(self, undo: QUndoStack | None = None) -> None:
        """Build the form; `undo` receives its edits."""
        super().__init__("Trajectory")
        self._undo = QUndoStack(self) if undo is None else undo
        self._unit = RADIANS
        self._chosen = Choice(trajectory_names()[0])
        self.choice: QComboBox = choice("Trajectory", "Motion of the run")
        for name in trajectory_names():
            made = make_trajectory(name)
            self.choice.addItem(made.title, name)
            self.choice.setItemData(self.choice.count() - 1, name, Qt.ItemDataRole.ToolTipRole)
        self.wide(self.choice)
        self.parameters = Section("")
        self.parameters.heading.hide()
        self.wide(self.parameters)
        self.problem: QLabel = label("", "fault")
        self.problem.setWordWrap(True)
        self.problem.setAccessibleName("Problem with this trajectory")
        self.wide(self.problem)
        self.facts: QLabel = label("", "muted")
        self.facts.setWordWrap(True)
        self.facts.setAccessibleName("Range of the trajectory, size and end time of the run")
        self.wide(self.facts)
        self._fields: dict[str, QDoubleSpinBox] = {}
        self.choice.currentIndexChanged.connect(self._choose)
        self._rebuild()

    def trajectory(self) -> Trajectory:
        """Return the chosen trajectory.

        Raises:
            InputError: A parameter is not possible for it.
        """
        return self._chosen.made()

    def state(self) -> dict[str, Any]:
        """Return the contents as JSON data."""
        return {"name": self._chosen.name, "values": dict(self._chosen.values)}

    def restore(self, data: Any) -> None:
        """Restore what `state` returned.

        Raises:
            InputError: The data is not a trajectory.
        """
        chosen = Choice(canonical_name(data["name"]), data["values"])
        chosen.made()
        self._take(chosen)

    def field(self, name: str) -> QDoubleSpinBox:
        """Return the field of a parameter, or of "duration"."""
        return self._fields[name]

    def show_in(self, unit: AngleUnit) -> None:
        """Show angles in another unit; the trajectory stays the same."""
        self._unit = unit
        for box in self._fields.values():
            if isinstance(box, AngleBox):
                box.show_in(unit)

    def show_preview(self, preview: TrajectoryPreview, rate: float, limits: Limits | None, before: float) -> None:
        """Show the range of the trajectory and the size and end time of the run.

        Args:
            preview: The trajectory, sampled.
            rate: Sampling rate [Hz].
            limits: Limits of the servo, None if unknown.
            before: Time until the run starts [s].
        """
        unit = self._unit
        digits = 2 if unit.per_radian < 1.5 else 0
        low, high = (fixed(v * unit.per_radian, digits) for v in (preview.lowest, preview.highest))
        speed = fixed(preview.peak_velocity * unit.per_radian, 1 if unit.per_radian < 1.5 else 0)
        length = float(preview.time[-1])
        lines = [f"{low} … {high} {unit.symbol}, up to {speed} {unit.symbol}/s"]
        if limits is not None:
            ends = (limits.lowest_position, limits.highest_position)
            least, most = (fixed(v * unit.per_radian, digits) for v in ends)
            lines.append(f"Limits {least} … {most} {unit.symbol}")
        size = size_in_words(file_size(length, rate))
        lines.append(f"{duration(length)}, about {size}, ends {end_time(before + length, datetime.now())}")
        self.facts.setText("\n".join(lines))

    def show_problem(self, problem: str) -> None:
        """Show why the trajectory cannot be recorded, below its parameters; empty if it can."""
        self.problem.setText(capitalised(problem))
        self.problem.setVisible(bool(problem))

    # Edits of the user.

    def _choose(self) -> None:
        name = self.choice.currentData()
        if name and name != self._chosen.name:
            change(self._undo, "trajectory", self._take, self._chosen, Choice(name))

    def _edit(self, name: str, value: float) -> None:
        new = replace(self._chosen, values={**self._chosen.values, name: value})
        change(self._undo, name.replace("_", " "), self._take, self._chosen, new, f"trajectory {name}")

    def _take(self, chosen: Choice) -> None:
        other = chosen.name != self._chosen.name
        self._chosen = chosen
        if other:
            with QSignalBlocker(self.choice):
                self.choice.setCurrentIndex(self.choice.findData(chosen.name))
            self._rebuild()
        base = make_trajectory(chosen.name)
        own = {**base.parameters.numbers(), DURATION: base.duration}
        for name, box in self._fields.items():
            value = chosen.values.get(name, own[name])
            if isinstance(box, AngleBox):
                box.set_radians(value)
            else:
                with QSignalBlocker(box):
                    box.setValue(value)
        self.changed.emit()

    def _rebuild(self) -> None:
        base = make_trajectory(self._chosen.name)
        self.parameters.clear()
        self._fields = {}
        for parameter in base.parameters.values():
            self._add(parameter.name, self._box(parameter))
        box = number("Duration", "Duration of the run", "s", base.duration, 0.1, LONGEST, 2, 0.5)
        self._add(DURATION, box)

    def _box(self, parameter: Parameter) -> QDoubleSpinBox:
        text, tip = _caption(parameter.name), parameter.description
        if parameter.unit == "rad":
            return angle(text, tip, self._unit, parameter.value, parameter.lower, parameter.upper)
        lower = max(parameter.lower, 1e-3) if parameter.unit == "s" else parameter.lower
        return number(text, tip, parameter.unit, parameter.value, lower, parameter.upper, 4, 0.1)

    def _add(self, name: str, box: QDoubleSpinBox) -> None:
        edited = box.radians_changed if isinstance(box, AngleBox) else box.valueChanged
        edited.connect(lambda value, name=name: self._edit(name, value))
        self.parameters.row(_caption(name), box)
        self._fields[name] = box


def _caption(name: str) -> str:
    return name.replace("_", " ").capitalize()


def possible(form: TrajectoryForm) -> Trajectory | str:
    """Return the chosen trajectory, or the reason why it is not possible."""
    try:
        return form.trajectory()
    except ServoBenchError as error:
        return str(error)


def beyond(preview: TrajectoryPreview, limits: Limits, unit: AngleUnit) -> str:
    """Return why a trajectory may not be run and what to change; empty if it stays within the angle limits."""
    digits = 2 if unit.per_radian < 1.5 else 0
    for value, limit, word in (
        (preview.highest, limits.highest_position, "above"),
        (preview.lowest, limits.lowest_position, "below"),
    ):
        over = value > limit if word == "above" else value < limit
        if over:
            reached, allowed = (fixed(v * unit.per_radian, digits, unit.symbol) for v in (value, limit))
            return (
                f"the trajectory reaches {reached}, {word} the servo's angle limits, {allowed}; "
                "reduce it or widen the limits"
            )
    return ""


FILE_OVERHEAD = 45_400
"""Size of a run's file without its samples [bytes], measured; within 2 kB for any length."""
CHUNK_ROWS = 16_384
"""Long runs are stored in whole blocks of this many rows."""


def file_size(duration: float, rate: float) -> int:
    """Return the size of the file of a run of `duration` [s] at `rate` [Hz] with every channel, in bytes.

    Samples are not compressed. A servo that does not report every channel needs less.
    """
    rows = max(1, round(duration * rate))
    stored = rows if rows <= CHUNK_ROWS else CHUNK_ROWS * math.ceil(rows / CHUNK_ROWS)
    return FILE_OVERHEAD + stored * SAMPLE_DTYPE.itemsize


def size_in_words(count: int) -> str:
    """Return a number of bytes as text, in kB or MB."""
    return f"{count / 1e3:.0f} kB" if count < 1e6 else f"{count / 1e6:.1f} MB"


def end_time(seconds: float, now: datetime) -> str:
    """Return the time of day in so many seconds, for example "14:32"; with the weekday if it is not today."""
    end = now + timedelta(seconds=seconds)
    return end.strftime("%H:%M") if end.date() == now.date() else end.strftime("%a %H:%M")
