"""The knobs of the stiction tab: friction function, bristle and joint, and the choice of what is done to it."""

from __future__ import annotations

from dataclasses import fields, replace

from PySide6.QtCore import QSignalBlocker, Signal
from PySide6.QtWidgets import QComboBox, QDoubleSpinBox, QLabel, QVBoxLayout, QWidget

from bench_gui.studies.stiction.compute import EXPERIMENTS, StictionJob
from bench_gui.widgets.binding import Binding
from bench_gui.widgets.fields import Section, choice, number
from core.contact.bristle import Bristle, Remedy
from core.contact.laws import FrictionLaw
from core.studies.stiction.published import DAMPING, INERTIA, LAWS, STEP, STIFFNESS

LAW_TITLES = {"stribeck": "Stribeck", "rational": "Rational", "coulomb": "Coulomb–viscous"}
EXPERIMENT_WIDTH = 196
"""[px]"""
_NUMBERS = (
    ("static", "F_S", "Static friction", "Torque that breaks it away", "N·m", 0.0, 1e3, 4, 0.1),
    ("coulomb", "F_C", "Coulomb friction", "Friction in motion, without its viscous part", "N·m", 0.0, 1e3, 4, 0.1),
    ("breakaway_speed", "v_S", "Breakaway speed", "How far in speed stiction reaches", "rad/s", 1e-4, 100.0, 4, 0.01),
    ("viscous", "D", "Viscous friction", "Friction that grows with speed", "N·m·s/rad", 0.0, 1e3, 4, 0.5),
    ("exponent", "α", "Exponent", "How suddenly stiction fades; 1 has a closed form", "1", 0.1, 10.0, 3, 0.1),
)
"""Field of a law, symbol, name, tool tip, unit, bounds, decimals, step."""


class StictionForm(QWidget):
    """Sections of fields; `changed` follows every one of them."""

    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(14)
        friction, bristle, joint = Section("Friction"), Section("Bristle"), Section("Joint")
        for section in (friction, bristle, joint):
            column.addWidget(section)
        self.law: QComboBox = choice("Law", "Shape of friction over speed", [(t, n) for n, t in LAW_TITLES.items()])
        friction.row("Law", self.law)
        self.numbers: dict[str, QDoubleSpinBox] = {}
        self._captions: dict[str, QLabel] = {}
        for field, symbol, name, tip, unit, lower, upper, decimals, step in _NUMBERS:
            box = number(f"{name} {symbol}", tip, unit, lower, lower, upper, decimals, step)
            self._captions[field] = friction.row(symbol, box)
            self.numbers[field] = box
        self.stiffness = number("Stiffness K", "Spring behind the contact", "N·m/rad", STIFFNESS, 0.01, 1e7, 2, 500.0)
        self.damping = number("Damping B", "Damper behind the contact", "N·m·s/rad", DAMPING, 1e-3, 1e5, 3, 5.0)
        self.step = number("Time step T", "Of the simulation", "ms", 1e3 * STEP, 0.01, 50.0, 3, 0.5)
        self._job = Binding()
        """Fields of the job but for the law's."""
        for symbol, name, box in (("K", "stiffness", self.stiffness), ("B", "damping", self.damping)):
            bristle.row(symbol, self._job.bind(name, box))
        bristle.row("T", self._job.bind("step", self.step, scale=1e-3))
        self.inertia = number(
            "Inertia M",
            "What the joint turns, with its rotor's N²·J_R",
            "kg·m²",
            round(INERTIA, 4),
            1e-4,
            100.0,
            4,
            0.01,
        )
        joint.row("M", self._job.bind("inertia", self.inertia))
        items: list[tuple[str, object]] = [(title, name) for name, title in EXPERIMENTS.items()]
        self.experiment: QComboBox = choice("Experiment", "What is done to the joint", items)
        """Stands above the experiment's charts."""
        self.experiment.setFixedWidth(EXPERIMENT_WIDTH)
        self._job.bind("experiment", self.experiment)
        column.addStretch(1)
        self.take_published()
        self.law.currentIndexChanged.connect(self.take_published)
        for box in self.numbers.values():
            box.valueChanged.connect(lambda _: self.changed.emit())
        self._job.edited.connect(lambda _: self.changed.emit())

    @property
    def kind(self) -> str:
        """The chosen law, of LAW_TITLES."""
        return str(self.law.currentData())

    def friction_law(self) -> FrictionLaw:
        """The law of the fields; raises ModelError for numbers that no friction has."""
        base = LAWS[self.kind]
        return replace(base, **{field.name: self.numbers[field.name].value() for field in fields(base)})

    def bristle(self) -> Bristle:
        """The bristle of the fields."""
        return Bristle(stiffness=self.stiffness.value(), damping=self.damping.value(), step=1e-3 * self.step.value())

    def job(self) -> StictionJob:
        """The experiment to run; raises ModelError as `friction_law` does."""
        return StictionJob(law=self.friction_law(), **self._job.values())

    def take_published(self) -> None:
        """The published constants of the chosen law and of the bristle."""
        base = LAWS[self.kind]
        names = [field.name for field in fields(base)]
        with QSignalBlocker(self):
            for name, box in self.numbers.items():
                box.setVisible(name in names)
                self._captions[name].setVisible(name in names)
                if name in names:
                    box.setValue(getattr(base, name))
            for box, value in ((self.stiffness, STIFFNESS), (self.damping, DAMPING), (self.step, 1e3 * STEP)):
                box.setValue(value)
        self.changed.emit()

    def obey(self, remedy: Remedy) -> None:
        """Change the one parameter that a remedy names."""
        boxes = {"B": self.damping, "K": self.stiffness, "v_S": self.numbers["breakaway_speed"]}
        if remedy.symbol in boxes:
            boxes[remedy.symbol].setValue(remedy.value)
        elif remedy.symbol == "α":
            self.numbers["exponent"].setValue(remedy.value)
        else:
            self.numbers["static"].setValue(self.numbers["coulomb"].value() + remedy.value)
