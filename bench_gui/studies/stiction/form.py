"""Form of the stiction tab: friction law, bristle, joint and experiment."""

from __future__ import annotations

from dataclasses import fields, replace

from PySide6.QtCore import QSignalBlocker, Signal
from PySide6.QtWidgets import QComboBox, QDoubleSpinBox, QLabel, QWidget

from bench_gui.widgets.binding import Binding
from bench_gui.widgets.fields import Section, choice, number, vbox
from core.contact.bristle import Bristle, Remedy
from core.contact.laws import FrictionLaw
from core.studies.stiction.documents import LAW_TITLES
from core.studies.stiction.exploring import EXPERIMENTS, StictionJob
from core.studies.stiction.published import DAMPING, INERTIA, LAWS, STEP, STIFFNESS

EXPERIMENT_WIDTH = 196
"""Width of the list of experiments [px]."""
_NUMBERS = (
    ("static", "F_S", "Static friction", "Torque at which the joint breaks away", "N·m", 0.0, 1e3, 4, 0.1),
    ("coulomb", "F_C", "Coulomb friction", "Friction in motion, without the viscous part", "N·m", 0.0, 1e3, 4, 0.1),
    ("breakaway_speed", "v_S", "Breakaway speed", "Speed over which stiction fades", "rad/s", 1e-4, 100.0, 4, 0.01),
    ("viscous", "D", "Viscous friction", "Friction proportional to speed", "N·m·s/rad", 0.0, 1e3, 4, 0.5),
    ("exponent", "α", "Exponent", "Exponent of the fading of stiction; 1 has a closed form", "1", 0.1, 10.0, 3, 0.1),
)
"""Field of a law, symbol, name, tooltip, unit, bounds, decimals, increment."""


class StictionForm(QWidget):
    """Sections of fields; every edit emits `changed`."""

    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        column = vbox(self, spacing=14)
        friction, bristle, joint = Section("Friction"), Section("Bristle"), Section("Joint")
        for section in (friction, bristle, joint):
            column.addWidget(section)
        self.law: QComboBox = choice("Law", "Friction as a function of speed", [(t, n) for n, t in LAW_TITLES.items()])
        friction.row("Law", self.law)
        self.numbers: dict[str, QDoubleSpinBox] = {}
        self._captions: dict[str, QLabel] = {}
        for field, symbol, name, tip, unit, lower, upper, decimals, step in _NUMBERS:
            box = number(f"{name} {symbol}", tip, unit, lower, lower, upper, decimals, step)
            self._captions[field] = friction.row(symbol, box)
            self.numbers[field] = box
        self.stiffness = number(
            "Stiffness K", "Stiffness of the bristle in the contact", "N·m/rad", STIFFNESS, 0.01, 1e7, 2, 500.0
        )
        self.damping = number(
            "Damping B", "Damping of the bristle in the contact", "N·m·s/rad", DAMPING, 1e-3, 1e5, 3, 5.0
        )
        self.step = number("Time step T", "Time step of the simulation", "ms", 1e3 * STEP, 0.01, 50.0, 3, 0.5)
        self._job = Binding()
        """Fields of the job except those of the law."""
        for symbol, name, box in (("K", "stiffness", self.stiffness), ("B", "damping", self.damping)):
            bristle.row(symbol, self._job.bind(name, box))
        bristle.row("T", self._job.bind("step", self.step, scale=1e-3))
        self.inertia = number(
            "Inertia M",
            "Inertia of the joint, including that of the rotor, N²·J_R",
            "kg·m²",
            round(INERTIA, 4),
            1e-4,
            100.0,
            4,
            0.01,
        )
        joint.row("M", self._job.bind("inertia", self.inertia))
        items: list[tuple[str, object]] = [(title, name) for name, title in EXPERIMENTS.items()]
        self.experiment: QComboBox = choice("Experiment", "Experiment to simulate on the joint", items)
        """Placed above the charts of the experiment."""
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
        """Chosen law, a key of `LAW_TITLES`."""
        return str(self.law.currentData())

    def friction_law(self) -> FrictionLaw:
        """Return the law with the constants of the form.

        Raises:
            ModelError: The constants do not describe friction.
        """
        base = LAWS[self.kind]
        return replace(base, **{field.name: self.numbers[field.name].value() for field in fields(base)})

    def bristle(self) -> Bristle:
        """Return the bristle with the constants of the form."""
        return Bristle(stiffness=self.stiffness.value(), damping=self.damping.value(), step=1e-3 * self.step.value())

    def job(self) -> StictionJob:
        """Return the experiment to run.

        Raises:
            ModelError: The constants do not describe friction.
        """
        return StictionJob(law=self.friction_law(), **self._job.values())

    def take_published(self) -> None:
        """Set the published constants of the chosen law and of the bristle."""
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
        """Set the parameter that a remedy names to its value."""
        boxes = {"B": self.damping, "K": self.stiffness, "v_S": self.numbers["breakaway_speed"]}
        if remedy.symbol in boxes:
            boxes[remedy.symbol].setValue(remedy.value)
        elif remedy.symbol == "α":
            self.numbers["exponent"].setValue(remedy.value)
        else:
            self.numbers["static"].setValue(self.numbers["coulomb"].value() + remedy.value)
