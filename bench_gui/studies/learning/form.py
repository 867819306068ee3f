"""Form of the learning tab: the arm and its springs, the motion to follow, and the learning law."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import QCheckBox, QComboBox, QDoubleSpinBox, QPushButton, QSpinBox, QWidget

from bench_gui import file_dialogs
from bench_gui.studies.learning.compute import LearningJob
from bench_gui.widgets.binding import Binding
from bench_gui.widgets.fields import (
    FIELD_WIDTH,
    AngleBox,
    Section,
    angle,
    button,
    choice,
    describe,
    number,
    vbox,
    whole,
)
from core.base.errors import InputError
from core.base.units import AngleUnit
from core.studies.compliant.arm import DATASHEET, IDENTIFIED, TWO_JOINTS, CompliantArm, two_joints
from core.studies.compliant.elastic import AwasII, Bavs, CompliantActuator, QbMove, Sea
from core.studies.compliant.learning import LearningLaw, Reference, minimum_jerk, read_reference, sinusoid

SPRINGS: dict[str, tuple[str, tuple[CompliantActuator, CompliantActuator]]] = {
    "identified": ("qbMove, identified", IDENTIFIED),
    "datasheet": ("qbMove, data sheet", (DATASHEET, DATASHEET)),
    "qbmove": ("qbMove, toolbox", (QbMove(), QbMove())),
    "sea": ("SEA", (Sea(), Sea())),
    "awas2": ("AwAS-II", (AwasII(), AwasII())),
    "bavs": ("BAVS", (Bavs(), Bavs())),
}
"""Title and springs of both joints by key."""
JERK, SINE, FILE = "jerk", "sine", "file"
MOTIONS = {JERK: "minimum jerk", SINE: "sinusoid", FILE: "from a file"}
WIDE = FIELD_WIDTH + 34
"""Width of fields with text [px]."""
BESIDE_TEXT = 28
"""Width of a button in addition to its text [px]."""
FURTHEST = 2.5
"""Largest goal of a joint [rad]."""


class LearningForm(QWidget):
    """Three sections of fields; `changed` is emitted when the settings change."""

    changed = Signal()

    def __init__(self, unit: AngleUnit) -> None:
        super().__init__()
        self._unit = unit
        self.reference_path: Path | None = None
        column = vbox(self, spacing=14)
        for section in (self._law_section(), self._motion_section(), self._arm_section()):
            column.addWidget(section)
        column.addStretch(1)
        self._take_springs()
        self._take_motion()

    # Building.

    def _law_section(self) -> Section:
        section, law = Section("Learning"), LearningLaw()
        self.gain: QDoubleSpinBox = number(
            "Gain",
            "Share K of the error that is added to the input; iteration n uses K·exp(−n/N)",
            "1",
            law.gain,
            0.01,
            20.0,
            step=0.1,
        )
        self.decay: QDoubleSpinBox = number(
            "Decay",
            "Number of iterations N in which the gain falls to 37 %",
            "iter.",
            law.decay,
            0.5,
            1000.0,
            decimals=1,
            step=1.0,
        )
        self.tolerance: AngleBox = angle(
            "Tolerance", "Learning ends when no joint is ever further off", self._unit, law.tolerance, 1e-3, 1.0
        )
        self.most: QSpinBox = whole("Max iterations", "Largest number of motions of the arm", law.iterations, 1, 100)
        self._law = Binding()
        for caption, name, box in (
            ("Gain K", "gain", self.gain),
            ("Decay N", "decay", self.decay),
            ("Tolerance", "tolerance", self.tolerance),
            ("Max iterations", "iterations", self.most),
        ):
            section.row(caption, self._law.bind(name, box))
        self._law.edited.connect(lambda _: self.changed.emit())
        return section

    def _motion_section(self) -> Section:
        section = Section("Motion")
        self.motion: QComboBox = choice(
            "Motion", "Motion that the links learn to follow", [(text, key) for key, text in MOTIONS.items()]
        )
        self.motion.setFixedWidth(WIDE)
        section.row("Shape", self.motion)
        self.file_button: QPushButton = button(
            "Choose…", "Open a CSV file with the columns time [s], q1, q2 [rad], evenly spaced", self.ask_reference
        )
        self.file_button.setFixedWidth(WIDE)
        self.goals: list[AngleBox] = [
            angle(
                f"Goal of joint {joint}",
                "End of the motion, or amplitude of the sinusoid",
                self._unit,
                0.8,
                -FURTHEST,
                FURTHEST,
            )
            for joint in (1, 2)
        ]
        self.rate: AngleBox = angle("Speed", "ω of the sinusoid", self._unit, 0.8, 0.05, 20.0, per="/s")
        self.duration: QDoubleSpinBox = number(
            "Duration", "Duration of the motion", "s", 20.0, 0.5, 120.0, decimals=1, step=1.0
        )
        self._motion_rows: dict[QWidget, tuple[QWidget, tuple[str, ...]]] = {}
        for caption, field, motions in (
            ("File", self.file_button, (FILE,)),
            ("Joint 1", self.goals[0], (JERK, SINE)),
            ("Joint 2", self.goals[1], (JERK, SINE)),
            ("Speed ω", self.rate, (SINE,)),
            ("Duration", self.duration, (JERK, SINE)),
        ):
            self._motion_rows[field] = (section.row(caption, field), motions)
            if isinstance(field, QDoubleSpinBox):
                field.valueChanged.connect(lambda _: self.changed.emit())
        self.motion.currentIndexChanged.connect(lambda _: self._take_motion())
        return section

    def _arm_section(self) -> Section:
        section = Section("Arm")
        self.springs: QComboBox = choice(
            "Springs",
            "Springs of both joints; the identified ones are those of the paper's arm",
            [(t, k) for k, (t, _) in SPRINGS.items()],
        )
        self.springs.setFixedWidth(WIDE)
        section.row("Springs", self.springs)
        tip = "Stiffness of the joint, constant while the arm learns"
        self._presets: dict[str, list[QDoubleSpinBox]] = {
            "rad": [angle(f"Stiffness preset of joint {j}", tip, self._unit, 0.2, 0.0, 3.0) for j in (1, 2)],
            "m": [number(f"Pivot of joint {j}", tip, "m", 0.005, 0.0, 0.5, decimals=4, step=0.005) for j in (1, 2)],
        }
        self._preset_captions = {
            unit: [section.row(f"Preset {joint}", box) for joint, box in enumerate(boxes, start=1)]
            for unit, boxes in self._presets.items()
        }
        self.load: QDoubleSpinBox = number(
            "Load", "Mass at the end of the arm", "kg", TWO_JOINTS.masses[1], 0.01, 5.0, decimals=2, step=0.1
        )
        self.load_at: QDoubleSpinBox = number(
            "Distance of the load", "Distance from joint 2", "m", TWO_JOINTS.centres[1], 0.0, 0.5, step=0.01
        )
        section.row("Load", self.load)
        section.row("Load distance", self.load_at)
        self.gravity = describe(QCheckBox("Gravity"), "Gravity", "Off: the arm moves in a horizontal plane")
        self.gravity.setChecked(True)
        section.wide(self.gravity)
        self.gravity.toggled.connect(lambda _: self.changed.emit())
        for box in (*self._presets["rad"], *self._presets["m"], self.load, self.load_at):
            box.valueChanged.connect(lambda _: self.changed.emit())
        self.springs.currentIndexChanged.connect(lambda _: self._take_springs())
        return section

    # User actions.

    def show_in(self, unit: AngleUnit) -> None:
        """Set the unit of angles; the values stay the same."""
        self._unit = unit
        for box in (self.tolerance, *self.goals, self.rate, *self._presets["rad"]):
            assert isinstance(box, AngleBox)
            box.show_in(unit)

    def ask_reference(self) -> None:
        """Ask for a file with a motion."""
        file = file_dialogs.ask_file(self, "Open a motion of two joints", "Motions (*.csv);;All files (*)")
        if file:
            self.reference_path = Path(file)
            chosen = self.file_button
            chosen.setText(
                chosen.fontMetrics().elidedText(
                    self.reference_path.name, Qt.TextElideMode.ElideMiddle, chosen.width() - BESIDE_TEXT
                )
            )
            chosen.setAccessibleDescription(self.reference_path.name)
            self.changed.emit()

    @property
    def presets(self) -> list[QDoubleSpinBox]:
        """Fields of the stiffness of both joints; hidden for springs with a fixed stiffness."""
        return self._presets["m" if self._actuators[0].preset_unit == "m" else "rad"]

    # Current settings.

    @property
    def obstacle(self) -> str:
        """Reason why learning cannot start, with the remedy; empty if it can."""
        if self.motion.currentData() == FILE and self.reference_path is None:
            return "no motion is chosen; choose its file"
        return ""

    def job(self) -> LearningJob:
        """Return the learning to run.

        Raises:
            ServoBenchError: A value is out of range, or the motion cannot be read.
        """
        springs, _ = SPRINGS[str(self.springs.currentData())]
        return LearningJob(
            arm=self._arm(),
            reference=self._reference(),
            law=LearningLaw(**self._law.values()),
            title=f"Learning, {springs}, {MOTIONS[str(self.motion.currentData())]}",
        )

    @property
    def _actuators(self) -> tuple[CompliantActuator, CompliantActuator]:
        return SPRINGS[str(self.springs.currentData())][1]

    def _arm(self) -> CompliantArm:
        links = two_joints(self.load.value(), self.load_at.value())
        links = links if self.gravity.isChecked() else replace(links, gravity=0.0)
        presets = [box.radians if isinstance(box, AngleBox) else box.value() for box in self.presets]
        return CompliantArm(links=links, actuators=self._actuators, presets=(presets[0], presets[1]))

    def _reference(self) -> Reference:
        motion = self.motion.currentData()
        goal = [box.radians for box in self.goals]
        if motion == JERK:
            return minimum_jerk(goal, self.duration.value())
        if motion == SINE:
            return sinusoid(goal, self.rate.radians, self.duration.value())
        if self.reference_path is None:
            raise InputError(f"learning: {self.obstacle}")
        return read_reference(self.reference_path)

    # Reactions to choices.

    def _take_springs(self) -> None:
        actuator = self._actuators[0]
        for unit, boxes in self._presets.items():
            for caption, box in zip(self._preset_captions[unit], boxes, strict=True):
                for part in (caption, box):
                    part.setVisible(unit == actuator.preset_unit)
                if unit != actuator.preset_unit:
                    continue
                if isinstance(box, AngleBox):
                    box.set_radians(actuator.soft_preset)
                else:
                    with QSignalBlocker(box):
                        box.setValue(actuator.soft_preset)
        self.changed.emit()

    def _take_motion(self) -> None:
        for field, (caption, motions) in self._motion_rows.items():
            for part in (field, caption):
                part.setVisible(self.motion.currentData() in motions)
        self.changed.emit()
