"""Fields of the bench: gain and load, shared by all tasks that show them. Every edit can be undone."""

from __future__ import annotations

from PySide6.QtCore import QSignalBlocker
from PySide6.QtWidgets import QButtonGroup, QComboBox, QDoubleSpinBox, QPushButton, QRadioButton, QWidget

from bench_gui.state.setup import LARGEST_GAIN, BenchSetup
from bench_gui.widgets.fields import (
    FIELD_WIDTH,
    AngleBox,
    Section,
    angle,
    button,
    choice,
    describe,
    hbox,
    label,
    number,
)
from core.base.errors import ServoBenchError
from core.base.units import AngleUnit
from core.motion.recording import DIRECTIONS

_POINT_MASS = (
    ("mass", "Load", "Mass at the end of the rod", "kg", 0.0, 50.0, 3, 0.05),
    ("length", "Length", "Distance from the shaft to the load", "m", 0.001, 3.0, 4, 0.01),
    ("arm_mass", "Rod mass", "Mass of the uniform rod", "kg", 0.0, 20.0, 3, 0.01),
)
_MEASURED = (
    (
        "measured_inertia",
        "Inertia",
        "Measured inertia of the whole load about the shaft, the servo's own not included",
        "kg·m²",
        0.0,
        100.0,
        6,
        0.001,
    ),
    (
        "measured_gravity_torque",
        "Gravity torque",
        "Measured torque of gravity with the arm horizontal",
        "N·m",
        0.0,
        1000.0,
        4,
        0.01,
    ),
)
_GRAVITY = ("gravity", "Gravity", "Acceleration of gravity at the bench", "m/s²", 0.0, 30.0, 5, 0.01)
LARGEST_ERROR = 3.1416
"""Largest mounting error [rad]."""


class LoadForm(Section):
    """Shows and edits the load and follows changes made elsewhere."""

    def __init__(self, setup: BenchSetup, title: str) -> None:
        super().__init__(title)
        self._setup = setup
        self.fields: dict[str, QDoubleSpinBox] = {}
        self._point_mass: list[QWidget] = []
        self._measured: list[QWidget] = []
        self.weak = label("", "fault")
        self.weak.setWordWrap(True)
        self.weak.setAccessibleName("Servo too weak")
        setup.changed.connect(self._show)

    def add_load(self) -> None:
        """Add the rows of a point mass and those of a measured load; only one kind is visible.

        Above them, say if the servo is too weak for the load.
        """
        self.wide(self.weak)
        for row in _POINT_MASS:
            self._point_mass += self._add(*row)
        for row in _MEASURED:
            self._measured += self._add(*row)

    def _add(
        self, name: str, text: str, tip: str, unit: str, lower: float, upper: float, decimals: int, step: float
    ) -> list[QWidget]:
        box = number(text, tip, unit, getattr(self._setup.bench, name) or 0.0, lower, upper, decimals, step)
        box.valueChanged.connect(lambda value: self._edit(text.lower(), name, value))
        self.fields[name] = box
        return [self.row(text, box), box]

    def _edit(self, text: str, name: str, value: float) -> None:
        try:
            self._setup.edit_bench(text, **{name: value})
        except ServoBenchError:
            self._show()

    @property
    def is_measured(self) -> bool:
        """True if the load was measured as a whole."""
        return self._setup.bench.measured_inertia is not None

    def _show(self) -> None:
        bench = self._setup.bench
        for name, box in self.fields.items():
            _show_number(box, getattr(bench, name) or 0.0)
        for widget in self._point_mass:
            widget.setVisible(not self.is_measured)
        for widget in self._measured:
            widget.setVisible(self.is_measured)
        self.weak.setText(self._setup.spec.too_weak(bench))
        self.weak.setVisible(bool(self.weak.text()))


class BenchForm(LoadForm):
    """Gain and load of the next runs, shown beside the recording settings."""

    def __init__(self, setup: BenchSetup) -> None:
        super().__init__(setup, "Bench")
        self.waiting = label("", "muted")
        self.waiting.setWordWrap(True)
        self.waiting.setAccessibleName("Waiting runs")
        self.wide(self.waiting)
        self.show_waiting("")
        tip = "Position gain kp that the next run writes to the servo"
        self.kp: QDoubleSpinBox = number("Position gain", tip, "", setup.kp, 0.01, LARGEST_GAIN, 2, 1.0)
        self.kp.valueChanged.connect(setup.edit_kp)
        self.row("Gain kp", self.kp)
        self.add_load()
        self._show()

    def show_waiting(self, text: str) -> None:
        """Show what the waiting runs keep of an earlier bench; empty if they have the present one."""
        self.waiting.setText(text)
        self.waiting.setVisible(bool(text))

    def _show(self) -> None:
        super()._show()
        _show_number(self.kp, self._setup.kp)


class SetupForm(LoadForm):
    """All bench settings except the gains, which belong to the servo."""

    def __init__(self, setup: BenchSetup, unit: AngleUnit) -> None:
        super().__init__(setup, "Bench")
        kinds = QWidget()
        row = hbox(kinds)
        self.point_mass: QRadioButton = describe(
            QRadioButton("Mass on a rod"), "Mass on a rod", "The load is a mass at the end of a uniform rod"
        )
        self.measured: QRadioButton = describe(
            QRadioButton("Measured load"),
            "Measured load",
            "Inertia and gravity torque of the whole load were measured; starts with the values of the mass on a rod",
        )
        group = QButtonGroup(self)
        for kind in (self.point_mass, self.measured):
            group.addButton(kind)
            row.addWidget(kind)
        row.addStretch(1)
        self.point_mass.clicked.connect(self._take_point_mass)
        self.measured.clicked.connect(self._take_measured)
        self.wide(kinds)
        self.add_load()
        self._point_mass += self._add(*_GRAVITY)
        self.typical: QPushButton = button(
            "Typical load", "Use the typical load for this servo", setup.edit_typical_load, "small"
        )
        self.wide(self.typical)
        self.offset: AngleBox = angle(
            "Mounting error",
            "Offset added to the servo's angle: minus its reading with the pendulum hanging at rest",
            unit,
            setup.bench.angle_offset,
            -LARGEST_ERROR,
            LARGEST_ERROR,
        )
        self.offset.radians_changed.connect(lambda value: self._edit("mounting error", "angle_offset", value))
        self.row("Mounting error", self.offset)
        self.direction: QComboBox = choice(
            "Positive direction",
            "Direction in which you see the pendulum turn when the servo's angle increases. Changes only the drawing; "
            "recordings keep the servo's angle",
            [(text, direction) for direction, text in DIRECTIONS.items()],
        )
        self.direction.setFixedWidth(FIELD_WIDTH + 40)
        self.direction.activated.connect(lambda _: setup.edit_direction(self.direction.currentData()))
        self.row("Positive direction", self.direction)
        self._show()

    def show_in(self, unit: AngleUnit) -> None:
        """Show angles in another unit."""
        self.offset.show_in(unit)

    def _show(self) -> None:
        super()._show()
        (self.measured if self.is_measured else self.point_mass).setChecked(True)
        self.offset.set_radians(self._setup.bench.angle_offset)
        self.direction.setCurrentIndex(self.direction.findData(self._setup.direction))

    def _take_point_mass(self) -> None:
        self._setup.edit_bench("kind of load", measured_inertia=None, measured_gravity_torque=None)

    def _take_measured(self) -> None:
        bench = self._setup.bench
        if not self.is_measured:
            self._setup.edit_bench(
                "kind of load", measured_inertia=bench.inertia, measured_gravity_torque=bench.gravity_torque
            )


def _show_number(box: QDoubleSpinBox, value: float) -> None:
    with QSignalBlocker(box):
        box.setValue(value)
