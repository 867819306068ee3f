"""The fields of the bench: gain and load, the same in every task that shows them."""

from __future__ import annotations

from PySide6.QtWidgets import QDoubleSpinBox

from bench_gui.connect.setup import BenchSetup
from bench_gui.widgets.fields import Section, number
from core.errors import ServoBenchError

_FIELDS = (
    ("mass", "Load", "Mass at the end of the rod", "kg", 0.0, 50.0, 3, 0.05),
    ("length", "Length", "Distance from the shaft to the load", "m", 0.001, 3.0, 4, 0.01),
    ("arm_mass", "Rod mass", "Mass of the uniform rod", "kg", 0.0, 20.0, 3, 0.01),
)
_MORE = (
    ("gravity", "Gravity", "Acceleration of gravity at the bench", "m/s²", 0.0, 30.0, 5, 0.01),
    ("angle_offset", "Mounting error", "Added to the measured angle before gravity acts", "rad", -3.15, 3.15, 4, 0.01),
)


class BenchForm(Section):
    """Shows and edits the set-up bench; what another view changes appears here too."""

    def __init__(self, setup: BenchSetup, *, everything: bool = False) -> None:
        super().__init__("Bench")
        self._setup = setup
        self.kp: QDoubleSpinBox = number(
            "Position gain", "Position gain kp as it is written into the servo", "", setup.kp, 0.01, 10_000, 2, 1.0
        )
        self.kp.valueChanged.connect(setup.set_kp)
        self.row("Gain kp", self.kp)
        self.fields: dict[str, QDoubleSpinBox] = {}
        for name, text, tip, unit, lower, upper, decimals, step in (*_FIELDS, *(_MORE if everything else ())):
            box = number(text, tip, unit, getattr(setup.bench, name), lower, upper, decimals, step)
            box.valueChanged.connect(lambda value, name=name: self._edit(name, value))
            self.fields[name] = box
            self.row(text, box)
        setup.changed.connect(self._show)

    def _edit(self, name: str, value: float) -> None:
        try:
            self._setup.set_bench(**{name: value})
        except ServoBenchError:
            self._show()

    def _show(self) -> None:
        values = {name: getattr(self._setup.bench, name) for name in self.fields}
        for box, value in ((self.kp, self._setup.kp), *((self.fields[n], v) for n, v in values.items())):
            box.blockSignals(True)
            box.setValue(value)
            box.blockSignals(False)
