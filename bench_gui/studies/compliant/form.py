"""Form of a compliant joint: its springs, its command and mode, and its load."""

from __future__ import annotations

import math
from dataclasses import replace

from PySide6.QtCore import QSignalBlocker, Signal
from PySide6.QtWidgets import QComboBox, QDoubleSpinBox, QLabel, QWidget

from bench_gui.studies.compliant.compute import SHAPES, SINE, ComplianceJob
from bench_gui.widgets.fields import FIELD_WIDTH, AngleBox, Section, angle, button, choice, hbox, number, vbox
from core.base.units import AngleUnit
from core.servo.bench import STANDARD_GRAVITY, Bench
from core.servo.parameters import Parameter
from core.studies.compliant.elastic import ACTUATORS, AwasII, CompliantActuator, QbMove, Sea
from core.studies.compliant.joint import SEED_BENCH, CompliantJoint, CompliantLink
from core.studies.compliant.modes import Mode, ReferenceName, reference_names

Field = QDoubleSpinBox
"""Field for a number, or for an angle in the user's unit."""

SEA_STIFFNESS = {"soft": 200.0, "stiff": 400.0}
"""Stiffness of the SEA in the experiments of seed 003, section 4.1 [N·m/rad]."""
GRAVITY = {"earth": ("on", STANDARD_GRAVITY), "none": ("off", 0.0)}
DIGITS = 4
"""Decimals of a parameter whose value is 1 or more; smaller values get more."""
LONGEST_SYMBOL = 3
"""Longest parameter name that is shown as a symbol."""
_REFERENCES: dict[Mode, tuple[float, float]] = {
    Mode.LINK_TORQUE: (0.05, 0.0),
    Mode.LINK_PID: (0.8, 0.0),
    Mode.SPRING_REFS: (0.8, 0.4),
    Mode.SPRING_EQ_PRES: (0.8, 0.0),
    Mode.MOTOR_TORQUES: (0.15, 0.1),
    Mode.PID_REFS: (0.8, 0.4),
    Mode.PID_EQ_PRES: (0.8, 0.0),
}
"""Initial references of each mode [rad, N·m]; a stiffness preset starts at the actuator's soft one."""


class ComplianceForm(QWidget):
    """Three sections of fields; `changed` is emitted when the curves or the motion change."""

    changed = Signal()

    def __init__(self, unit: AngleUnit) -> None:
        super().__init__()
        self._unit = unit
        self._parameters: dict[str, Field] = {}
        self._silent = False
        column = vbox(self, spacing=14)
        for section in (
            self._actuator_section(),
            self._command_section(),
            self._springs_section(),
            self._load_section(),
        ):
            column.addWidget(section)
        column.addStretch(1)
        self._take_actuator()

    # Building.

    def _actuator_section(self) -> Section:
        section = Section("Actuator")
        self.kind: QComboBox = choice(
            "Actuator",
            "Type of the springs between motors and link",
            [(kind.title, kind.name) for kind in ACTUATORS.values()],
        )
        self.kind.setFixedWidth(FIELD_WIDTH + 40)
        self.kind.setCurrentIndex(self.kind.findData(QbMove.name))
        section.row("Type", self.kind)
        self.kind.currentIndexChanged.connect(lambda _: self._take_actuator())
        self.soft_button, self.stiff_button = (
            button(
                name.capitalize(), f"Set the {name} behaviour of the paper's experiments", lambda n=name: self.behave(n)
            )
            for name in ("soft", "stiff")
        )
        holder = QWidget()
        row = hbox(holder, spacing=8)
        for part in (self.soft_button, self.stiff_button):
            row.addWidget(part, 1)
        section.wide(holder)
        return section

    def _springs_section(self) -> Section:
        self._springs = Section("Springs")
        return self._springs

    def _command_section(self) -> Section:
        section = Section("Command")
        self.mode: QComboBox = choice(
            "Operation mode",
            "Commanded quantity: link, motors or equilibrium; ideal motors follow the command exactly",
            [(f"{int(mode)}  {mode.title}", int(mode)) for mode in Mode],
        )
        self.mode.setCurrentIndex(int(Mode.PID_EQ_PRES))
        section.wide(self.mode)
        self.shape: QComboBox = choice(
            "Shape", "Shape of the first reference over time", [(text, key) for key, text in SHAPES.items()]
        )
        self.shape.setFixedWidth(FIELD_WIDTH)
        section.row("Shape", self.shape)
        first = [
            angle("First reference", "Height of the step or amplitude of the sinusoid", self._unit, 0.8, -3.0, 3.0),
            number(
                "First reference, torque",
                "Height of the step or amplitude of the sinusoid",
                "N·m",
                0.05,
                -6.0,
                6.0,
                step=0.05,
            ),
        ]
        second = [
            angle("Second reference", "Constant during the motion", self._unit, 0.2, -3.0, 3.0),
            number("Second reference, torque", "Constant during the motion", "N·m", 0.0, -6.0, 6.0, step=0.05),
            number(
                "Second reference, length", "Constant during the motion", "m", 0.005, 0.0, 0.5, decimals=4, step=0.005
            ),
        ]
        self._first, self._second = (
            [(section.row(box.accessibleName(), box), box) for box in boxes] for boxes in (first, second)
        )
        self.speed: AngleBox = angle("Speed", "ω of the sinusoid H·sin(ω·t)", self._unit, 3.0, 0.1, 60.0, per="/s")
        self._speed_caption = section.row("Speed ω", self.speed)
        self.duration: Field = number("Duration", "Duration of the motion", "s", 4.0, 0.5, 30.0, decimals=1, step=1.0)
        section.row("Duration", self.duration)
        self.mode.currentIndexChanged.connect(lambda _: self._take_mode())
        self.shape.currentIndexChanged.connect(lambda _: self._show_rows())
        for _, box in (*self._first, *self._second):
            box.valueChanged.connect(lambda _: self._tell())
        for box in (self.speed, self.duration):
            box.valueChanged.connect(lambda _: self._tell())
        return section

    def _load_section(self) -> Section:
        section = Section("Load and push")
        self.mass: Field = number("Load", "Mass at the end of the link", "kg", SEED_BENCH.mass, 0.01, 20.0, step=0.1)
        self.length: Field = number(
            "Length", "Distance from the joint to the mass", "m", SEED_BENCH.length, 0.01, 2.0, step=0.02
        )
        self.gravity: QComboBox = choice(
            "Gravity", "Gravity on the link and its mass", [(text, key) for key, (text, _) in GRAVITY.items()]
        )
        self.gravity.setFixedWidth(FIELD_WIDTH)
        self.damping: Field = number(
            "Damping", "Viscous damping of the link's joint", "N·m·s/rad", 0.065, 0.0, 5.0, step=0.01
        )
        self.friction: Field = number(
            "Friction", "Coulomb friction of the link's joint", "N·m", 0.025, 0.0, 5.0, step=0.005
        )
        self.push: Field = number(
            "Push", "Torque on the link, as from a hand, during a fifth of the time", "N·m", 0.1, -20.0, 20.0, step=0.05
        )
        for caption, box in (
            ("Load", self.mass),
            ("Length", self.length),
            ("Gravity", self.gravity),
            ("Damping", self.damping),
            ("Friction", self.friction),
            ("Push", self.push),
        ):
            section.row(caption, box)
            (box.currentIndexChanged if isinstance(box, QComboBox) else box.valueChanged).connect(
                lambda _: self._tell()
            )
        return section

    # User actions.

    def behave(self, behaviour: str) -> None:
        """Set the paper's "soft" or "stiff" behaviour: a stiffness for the SEA, else a preset in mode 3 or 6."""
        actuator = self.actuator
        self._silent = True
        if isinstance(actuator, Sea):
            self._parameters["stiffness"].setValue(SEA_STIFFNESS[behaviour])
        else:
            if not self.operation.takes_preset and actuator.motors == 2:
                self.mode.setCurrentIndex(int(Mode.PID_EQ_PRES))
            _set(self._box(self._second), actuator.soft_preset if behaviour == "soft" else actuator.stiff_preset)
        self._silent = False
        self._tell()

    def set_unit(self, unit: AngleUnit) -> None:
        """Set the unit of angles; the values stay the same."""
        self._unit = unit
        boxes = [*self._parameters.values(), self.speed, *(box for _, box in (*self._first, *self._second))]
        for box in boxes:
            if isinstance(box, AngleBox):
                box.show_in(unit)

    # Current settings.

    @property
    def actuator(self) -> CompliantActuator:
        """Actuator with the parameters of the form."""
        kind = ACTUATORS[str(self.kind.currentData())]
        return kind(**{name: _value(box) for name, box in self._parameters.items()})

    @property
    def operation(self) -> Mode:
        """Chosen operation mode."""
        return Mode(int(self.mode.currentData()))

    @property
    def names(self) -> tuple[ReferenceName, ReferenceName | None]:
        """Names of the first and second reference; None if the mode has no second one."""
        return reference_names(self.operation, self.actuator)

    @property
    def second(self) -> float:
        """Second reference in its own unit; 0 if there is none."""
        return _value(self._box(self._second)) if self.names[1] is not None else 0.0

    @property
    def preset(self) -> float:
        """Preset of the drawn curves: that of the command, or the soft one if the command has none."""
        takes = self.operation.takes_preset or (self.operation.has_springs and isinstance(self.actuator, AwasII))
        return self.second if takes else self.actuator.soft_preset

    def job(self) -> ComplianceJob:
        """Return the simulation to run.

        Raises:
            ModelError: The numbers contradict each other.
        """
        bench = Bench(
            mass=self.mass.value(),
            length=self.length.value(),
            gravity=GRAVITY[str(self.gravity.currentData())][1],
        )
        link = CompliantLink.of_bench(bench, damping=self.damping.value(), friction=self.friction.value())
        return ComplianceJob(
            joint=replace(CompliantJoint(actuator=self.actuator), link=link),
            mode=self.operation,
            shape=str(self.shape.currentData()),
            amplitude=_value(self._box(self._first)),
            speed=self.speed.radians,
            second=self.second,
            push=self.push.value(),
            duration=self.duration.value(),
        )

    # Reactions to choices.

    def _take_actuator(self) -> None:
        """Show the parameters of the chosen actuator, with its soft preset."""
        kind = ACTUATORS[str(self.kind.currentData())]
        values = {"stiffness": SEA_STIFFNESS["soft"]} if kind is Sea else {}
        self._springs.clear()
        self._parameters = {p.name: self._field(p) for p in kind().with_values(values).parameters().values()}
        for parameter in kind().parameters().values():
            words = parameter.name.replace("_", " ").capitalize()
            caption = words if len(words) > LONGEST_SYMBOL else parameter.symbol
            self._springs.row(caption, self._parameters[parameter.name])
        self._take_mode()

    def _field(self, parameter: Parameter) -> Field:
        tip = f"{parameter.symbol}: {parameter.description[:1].lower()}{parameter.description[1:]}"
        if parameter.unit == "rad":
            box: Field = angle(parameter.name, tip, self._unit, parameter.value, parameter.lower, parameter.upper)
        else:
            decimals = DIGITS - min(0, math.floor(math.log10(parameter.value)))
            box = number(
                parameter.name,
                tip,
                parameter.unit,
                parameter.value,
                parameter.lower,
                parameter.upper,
                decimals=decimals,
                step=10.0 ** math.floor(math.log10(parameter.value)),
            )
        box.valueChanged.connect(lambda _: self._tell())
        return box

    def _take_mode(self) -> None:
        """Set the initial references of the chosen mode."""
        self._silent = True
        actuator = self.actuator
        self._bound_pivot()
        first, second = _REFERENCES[self.operation]
        names = self.names
        if (
            names[1] is not None
            and names[1].unit == actuator.preset_unit
            and (self.operation.takes_preset or actuator.motors == 1)
        ):
            second = actuator.soft_preset
        _set(self._box(self._first), first)
        if names[1] is not None:
            _set(self._box(self._second), second)
        self._silent = False
        self._show_rows()

    def _show_rows(self) -> None:
        for rows, name in zip((self._first, self._second), self.names, strict=True):
            shown = self._box(rows) if name is not None else None
            for caption, box in rows:
                caption.setVisible(box is shown)
                box.setVisible(box is shown)
                if name is not None:
                    caption.setText(name.title)
        for widget in (self._speed_caption, self.speed):
            widget.setVisible(self.shape.currentData() == SINE)
        self._tell()

    def _box(self, rows: list[tuple[QLabel, Field]]) -> Field:
        """Return the field of a reference in its current unit."""
        name = self.names[0 if rows is self._first else 1]
        place = {"rad": 0, "N·m": 1, "m": 2}[name.unit] if name is not None else 0
        return rows[place][1]

    def _tell(self) -> None:
        if self._silent:
            return
        self._bound_pivot()
        self.changed.emit()

    def _bound_pivot(self) -> None:
        """Limit the pivot position to the length of the lever."""
        actuator = self.actuator
        if actuator.preset_unit == "m":
            length = self._second[2][1]
            with QSignalBlocker(length):
                length.setMaximum(actuator.preset_limits()[1])


def _value(box: Field) -> float:
    return box.radians if isinstance(box, AngleBox) else box.value()


def _set(box: Field, value: float) -> None:
    if isinstance(box, AngleBox):
        box.set_radians(value)
    else:
        box.setValue(value)
