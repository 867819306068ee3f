"""What is asked of an identification."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QSize
from PySide6.QtWidgets import QCheckBox, QComboBox, QGridLayout, QSpinBox, QVBoxLayout, QWidget

from bench_gui.icons import swatch
from bench_gui.identify.messages import FitSettings
from bench_gui.theme import Theme
from bench_gui.widgets.fields import FIELD_WIDTH, Section, choice, describe, whole
from core.friction import FRICTION_MODELS, FRICTION_TITLES

if TYPE_CHECKING:
    from sessions import RunSummary

_SHARE = "25%"
_CONDITIONS = ("trajectory", "mass", "length", "kp")


class SettingsForm(QWidget):
    """Sane as it stands; everything can be changed."""

    def __init__(self) -> None:
        super().__init__()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(14)
        models = Section("Friction models")
        self.models: dict[str, QCheckBox] = {}
        holder = QWidget()
        grid = QGridLayout(holder)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setVerticalSpacing(5)
        for place, name in enumerate(FRICTION_MODELS):
            box = QCheckBox(f"{name.upper()}  {FRICTION_TITLES[name]}")
            box.setChecked(True)
            box.setIconSize(QSize(10, 10))
            describe(box, f"Identify {name.upper()}", f"Identify {name.upper()}: {FRICTION_TITLES[name]} friction")
            self.models[name] = box
            grid.addWidget(box, place, 0)
        models.wide(holder)
        column.addWidget(models)
        search = Section("Search")
        self.command_path = QCheckBox("Identify the command path")
        self.command_path.setChecked(True)
        describe(
            self.command_path,
            "Identify the command path",
            "Delay, gain ratio, velocity limit of the goal, dead band, PWM lag and braking when released",
        )
        search.wide(self.command_path)
        self.validation: QComboBox = choice(
            "Validation", "Which runs are held out to judge the models; trained on are all others"
        )
        self.validation.setFixedWidth(FIELD_WIDTH + 42)
        search.row("Hold out", self.validation)
        self.trials: QSpinBox = whole(
            "Evaluations", "Evaluations for each model and repeat; automatic: 1000 for each parameter", 0, 0, 10_000_000
        )
        self.trials.setSpecialValueText("automatic")
        self.trials.setSingleStep(500)
        search.row("Evaluations", self.trials)
        self.repeats: QSpinBox = whole(
            "Repeats", "Searches for each model; their spread tells how sure it is", 1, 1, 50
        )
        search.row("Repeats", self.repeats)
        self.seed: QSpinBox = whole("Seed", "The same seed gives the same result", 0, 0, 2_000_000_000)
        search.row("Seed", self.seed)
        column.addWidget(search)
        self.offer([])

    def set_theme(self, theme: Theme) -> None:
        """Take over a theme's colours."""
        for name, box in self.models.items():
            box.setIcon(swatch(theme.model(name)))

    def offer(self, runs: list[RunSummary]) -> None:
        """Offer to hold out what these runs differ in."""
        before = self.validation.currentData()
        self.validation.clear()
        self.validation.addItem("25 % at random", _SHARE)
        self.validation.addItem("none", "none")
        for name in _CONDITIONS:
            values = sorted({getattr(run, name) for run in runs}, key=str)
            if 1 < len(values) <= 20:
                for value in values:
                    text = value if isinstance(value, str) else f"{value:g}"
                    self.validation.addItem(f"{name} = {text}", f"{name}={value}")
        if before is None or self.validation.findData(before) < 0:
            before = "none" if len(runs) == 1 else _SHARE
        self.validation.setCurrentIndex(self.validation.findData(before))

    def settings(self) -> FitSettings:
        """What is chosen."""
        return FitSettings(
            models=tuple(name for name, box in self.models.items() if box.isChecked()),
            command_path=self.command_path.isChecked(),
            validation=self.validation.currentData(),
            trials=self.trials.value() or None,
            repeats=self.repeats.value(),
            seed=self.seed.value(),
        )
