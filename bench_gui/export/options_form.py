"""Options of an export beyond model and target; shows only those that the target supports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from PySide6.QtCore import QSignalBlocker, Signal
from PySide6.QtWidgets import QCheckBox, QComboBox, QDoubleSpinBox, QLabel

from bench_gui.state.setup import BenchSetup
from bench_gui.widgets.fields import Section, choice, describe, number

_FIELDS = (
    ("kp", "Gain kp", "Position gain of the exported actuator, in the servo's own units", "", 2, 1.0),
    ("ki", "Gain ki", "Integral gain of the exported actuator, in the servo's own units", "", 2, 1.0),
    ("supply_voltage", "Supply", "Supply voltage of the exported actuator", "V", 2, 0.1),
    ("timestep", "Time step", "Time step of the exported pendulum scene", "ms", 2, 0.1),
)
_SHOWN_PER_SI = {"timestep": 1e3}
_WORDS = {
    "syntax": ("Syntax", "Oldest version of the program that must read the files"),
    "friction": ("Friction", "Form in which friction is exported"),
    "drive": ("Drive", "What moves the joint: the servo model, or the engine's own drive"),
}
"""Options with a fixed set of values: caption and tip."""


class OptionsForm(Section):
    """Starts from the present bench."""

    changed = Signal()

    def __init__(self, setup: BenchSetup) -> None:
        super().__init__("Options")
        self._setup = setup
        self.fields: dict[str, QDoubleSpinBox] = {}
        self._captions: dict[str, QLabel] = {}
        for name, text, tip, unit, decimals, step in _FIELDS:
            box = number(text, tip, unit, 0.0, 0.0, 1e6, decimals, step)
            box.valueChanged.connect(lambda _: self.changed.emit())
            self.fields[name] = box
            self._captions[name] = self.row(text, box)
        self.words: dict[str, QComboBox] = {}
        for name, (text, tip) in _WORDS.items():
            self.words[name] = choice(text, tip)
            self.words[name].activated.connect(lambda _: self.changed.emit())
            self._captions[name] = self.row(text, self.words[name])
        self.own_bench = QCheckBox("Pendulum of this bench")
        describe(
            self.own_bench,
            "Pendulum of this bench",
            "Use the pendulum of this bench in the scene; otherwise one that suits the servo",
        )
        self.own_bench.toggled.connect(lambda _: self.changed.emit())
        self.wide(self.own_bench)
        self._names: tuple[str, ...] = ()
        self.suit(())

    def suit(self, names: tuple[str, ...], choices: Mapping[str, tuple[str, ...]] | None = None) -> None:
        """Show the options of a target.

        Args:
            names: Options that the target takes.
            choices: Allowed values of the options that have a fixed set.
        """
        self._names = names
        for name, box in self.words.items():
            offered = (choices or {}).get(name, ())
            box.clear()
            box.addItems(list(offered))
            box.setVisible(bool(offered))
            self._captions[name].setVisible(bool(offered))
        for name, box in self.fields.items():
            box.setVisible(name in names)
            self._captions[name].setVisible(name in names)
        self.own_bench.setVisible("bench" in names)
        self.setVisible(any(name in names for name in (*self.fields, "bench")))

    def begin(self, kp: float, supply_voltage: float) -> None:
        """Start from a servo's gain and supply voltage [V]."""
        for name, value in (("kp", kp), ("ki", 0.0), ("supply_voltage", supply_voltage), ("timestep", 1e-3)):
            box = self.fields[name]
            with QSignalBlocker(box):
                box.setValue(value * _SHOWN_PER_SI.get(name, 1.0))
        self.changed.emit()

    def options(self) -> dict[str, Any]:
        """Chosen options of the target, in SI units."""
        chosen: dict[str, Any] = {
            name: box.value() / _SHOWN_PER_SI.get(name, 1.0) for name, box in self.fields.items() if name in self._names
        }
        chosen |= {name: box.currentText() for name, box in self.words.items() if box.count()}
        if "bench" in self._names and self.own_bench.isChecked():
            chosen["bench"] = self._setup.bench
        return chosen
