"""Form of the Webots tab: command of the controller, fields of the node, bench, and target of the fit."""

from __future__ import annotations

import math
from pathlib import Path

from PySide6.QtCore import QSignalBlocker, Signal
from PySide6.QtWidgets import QComboBox, QDoubleSpinBox, QLabel, QWidget

from bench_gui.state.library import Library
from bench_gui.state.models import CATALOGUE, ModelList
from bench_gui.studies.webots.compute import LossJob
from bench_gui.widgets.binding import Binding
from bench_gui.widgets.fields import FIELD_WIDTH, AngleBox, Section, angle, choice, number, vbox, whole
from core.base.units import AngleUnit
from core.servo.catalogue import load_servo, servos
from core.servo.shipped import load_model, shipped_models
from core.studies.webots.experiments import PUSHED_FROM, PUSHED_TO, Scene
from core.studies.webots.fields import NO_LIMIT, ServoFields
from core.studies.webots.servo import FORCE, POSITION, VELOCITY

RECORDINGS = "recordings"
"""Key of the session's recordings in the list of models."""
WIDE = 196
"""Width of the list of models [px]."""
FIRST = ServoFields(
    max_velocity=3.0,
    max_force=2.0,
    acceleration=40.0,
    min_position=-1.3,
    max_position=1.3,
    min_stop=-1.6,
    max_stop=1.6,
    damping_constant=0.02,
)
"""Initial node: every limit is visible in its motion."""


class WebotsForm(QWidget):
    """Four sections of fields."""

    changed = Signal()
    """Emitted when the scene changes."""
    source_changed = Signal()
    """Emitted when the target of the fit changes."""

    def __init__(self, model_list: ModelList, library: Library, unit: AngleUnit) -> None:
        super().__init__()
        self._model_list, self._library, self._unit = model_list, library, unit
        self._scene, self._node = Binding(), Binding()
        """Bindings of the scene's fields and of the node's fields."""
        column = vbox(self, spacing=14)
        for section in (self._controller_section(), self._fit_section(), self._fields_section(), self._bench_section()):
            column.addWidget(section)
        for binding in (self._scene, self._node):
            binding.edited.connect(lambda _: self.changed.emit())
        model_list.changed.connect(self._offer_sources)
        library.opened.connect(self._offer_sources)
        self._mode_changed()
        self._offer_sources()

    def _controller_section(self) -> Section:
        section, unit = Section("Controller"), self._unit
        self.mode: QComboBox = choice(
            "Control mode",
            "Position, velocity or force control; force control disables P-controller and motor",
            [("position", POSITION), ("velocity", VELOCITY), ("force", FORCE)],
        )
        self.mode.setFixedWidth(FIELD_WIDTH)
        self.target: AngleBox = angle(
            "Target position", "Set at 0.25 s and clipped to the soft limits", unit, 1.2, -2 * math.pi, 2 * math.pi
        )
        self.velocity: AngleBox = angle(
            "Target velocity", "Velocity for an infinite target, at most maxVelocity", unit, 2.0, -50.0, 50.0, "/s"
        )
        self.force = number("Force", "Force on the joint, at most the motor force", "N·m", 0.5, -100.0, 100.0, step=0.1)
        for name, field in (("mode", self.mode), ("target", self.target), ("velocity", self.velocity)):
            self._scene.bind(name, field)
        self._scene.bind("force", self.force)
        section.row("Mode", self.mode)
        self._asked: dict[str, tuple[QLabel, QWidget]] = {
            mode: (section.row(caption, field), field)
            for mode, caption, field in (
                (POSITION, "Target", self.target),
                (VELOCITY, "Velocity", self.velocity),
                (FORCE, "Force", self.force),
            )
        }
        self.mode.currentIndexChanged.connect(lambda _: self._mode_changed())
        return section

    def _fit_section(self) -> Section:
        section = Section("Fit a node to")
        self.source: QComboBox = choice(
            "Fit a node to", "Target of the fit: the motion of a model, or the recordings of the session"
        )
        section.wide(self.source)
        self.source.currentIndexChanged.connect(lambda _: self.source_changed.emit())
        return section

    def _fields_section(self) -> Section:
        section, unit = Section("Node fields"), self._unit
        self.angles: dict[str, AngleBox] = {
            "max_velocity": angle(
                "maxVelocity", "Highest velocity that the controller may request", unit, 3.0, 1e-3, 500.0, "/s"
            ),
            "min_position": angle("minPosition", "Lower soft limit; off while both are 0", unit, 0.0, -10.0, 0.0),
            "max_position": angle("maxPosition", "Upper soft limit; off while both are 0", unit, 0.0, 0.0, 10.0),
            "min_stop": angle("minStop", "Lower hard stop; off while both are 0", unit, 0.0, -math.pi, 0.0),
            "max_stop": angle("maxStop", "Upper hard stop; off while both are 0", unit, 0.0, 0.0, math.pi),
        }
        self.numbers: dict[str, QDoubleSpinBox] = {
            "max_force": number(
                "maxForce", "Largest force of the motor; 0 for a passive joint", "N·m", 2.0, 0.0, 1000.0, step=0.1
            ),
            "control_p": number(
                "controlP", "Gain P: requested velocity per position error", "1/s", 10.0, 1e-3, 1000.0, step=1.0
            ),
            "acceleration": number(
                "acceleration", "Largest acceleration of the motor; 0: no limit", "rad/s²", 40.0, 0.0, 1e5,
                decimals=2, step=5.0,
            ),
            "spring_constant": number(
                "springConstant", "Constant K of the force −K·x", "N·m/rad", 0.0, 0.0, 100.0, step=0.1
            ),
            "damping_constant": number(
                "dampingConstant", "Constant B of the force −B·v", "N·m·s/rad", 0.02, 0.0, 10.0, decimals=4, step=0.01
            ),
        }  # fmt: skip
        self.numbers["acceleration"].setSpecialValueText("no limit")
        for name in (
            "max_velocity", "max_force", "control_p", "acceleration", "min_position", "max_position", "min_stop",
            "max_stop", "spring_constant", "damping_constant",
        ):  # fmt: skip
            field = self._node.bind(name, self.angles.get(name) or self.numbers[name])
            field.setFixedWidth(FIELD_WIDTH + 14)
            section.row(field.accessibleName(), field)
        return section

    def _bench_section(self) -> Section:
        section = Section("Bench")
        self.mass = number("Load", "Mass at the end of the rod", "kg", 0.5, 0.001, 50.0, step=0.1)
        self.length = number("Length", "Distance from the shaft to the mass", "m", 0.15, 0.01, 2.0, step=0.01)
        self.push = number(
            "Push", f"Torque on the pendulum from {PUSHED_FROM:g} to {PUSHED_TO:g} s", "N·m", 3.5, -100.0, 100.0,
            step=0.1,
        )  # fmt: skip
        self.step = whole("Time step", "Time step of the world (basicTimeStep)", 8, 2, 64, unit="ms")
        for name, caption, field in (
            ("mass", "Load", self.mass),
            ("length", "Length", self.length),
            ("push", "Push", self.push),
        ):
            section.row(caption, self._scene.bind(name, field))
        section.row("Time step", self._scene.bind("step", self.step, scale=1e-3))
        return section

    def set_unit(self, unit: AngleUnit) -> None:
        """Set the unit of angles; the values stay the same."""
        self._unit = unit
        for box in (self.target, self.velocity, *self.angles.values()):
            box.show_in(unit)

    def scene(self) -> Scene:
        """Return the scene to simulate.

        Raises:
            ModelError: Fields of the node contradict each other.
        """
        values = self._node.values()
        if values["acceleration"] == 0.0:
            values["acceleration"] = NO_LIMIT
        return Scene(fields=ServoFields(**values), **self._scene.values())

    def show_node(self, node: ServoFields) -> None:
        """Copy the fields of a node to the form."""
        self._node.show(node)
        self.changed.emit()

    def job(self) -> LossJob:
        """Return the fit to run.

        Raises:
            ModelError: A model of the catalogue cannot be read.
        """
        key = str(self.source.currentData())
        if key == RECORDINGS:
            assert self._library.path is not None
            used = self._library.for_fit()
            runs = tuple(run.id for run in used)
            models = tuple((entry.title, entry.model) for entry in self._model_list.entries)
            title = f"{self.source.currentText()}, {self._library.selection(used).brief}"
            return LossJob(title=title, session=Path(self._library.path), runs=runs, models=models)
        entry = self._model_list.entry(key)
        if entry is not None:
            return LossJob(title=entry.model.title, model=entry.model)
        _, servo, friction = key.split(":")
        model = load_model(servo, friction)
        return LossJob(title=model.title, model=model)

    def _mode_changed(self) -> None:
        for mode, widgets in self._asked.items():
            for widget in widgets:
                widget.setVisible(mode == self.mode.currentData())

    def _offer_sources(self) -> None:
        """List the session's recordings, the available models, then the rest of the catalogue."""
        current = self._model_list.current
        before = self.source.currentData() or (current.key if current is not None else None)
        with QSignalBlocker(self.source):
            self.source.clear()
            if self._library.path is not None:
                self.source.addItem("recordings of the session", RECORDINGS)
            offered = set()
            for entry in self._model_list.entries:
                text = entry.model.title if entry.origin == CATALOGUE else f"{entry.model.title} ({entry.origin})"
                self.source.addItem(text, entry.key)
                offered.add(entry.key)
            for servo in servos():
                for friction in reversed(shipped_models(servo)):
                    key = f"{CATALOGUE}:{servo}:{friction}"
                    if key not in offered:
                        self.source.addItem(f"{load_servo(servo).title} {friction.upper()}", key)
            self.source.setCurrentIndex(max(0, self.source.findData(before)))
        self.source_changed.emit()
