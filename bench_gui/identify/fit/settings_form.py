"""What is asked of an identification: sane as it stands, everything else a click away. Every edit can be undone."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QSize, Qt, QTimer, Signal
from PySide6.QtGui import QUndoStack
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDoubleSpinBox,
    QFileDialog,
    QGridLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QSpinBox,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from bench_gui.icons import swatch
from bench_gui.identify.fit.parameter_dialog import Bounds, Frozen, ParameterDialog
from bench_gui.identify.fit.settings import COMMAND_PATH_TITLES, FitSettings
from bench_gui.state.models import ModelShelf
from bench_gui.theme import Theme
from bench_gui.undo import change
from bench_gui.widgets.fields import FIELD_WIDTH, Section, button, choice, describe, label, number, tool, whole
from core.identification.request import COARSEST_GRID
from core.terms import CONTACT_TITLES, FRICTION_MODELS, FRICTION_TITLES

if TYPE_CHECKING:
    from sessions import RunSummary

_SHARE = "25%"
_CONDITIONS = ("trajectory", "mass", "length", "kp")
_WIDE = FIELD_WIDTH + 42
_CATALOGUE, _KEPT, _FROM_FILE = "", "kept", "file"
"""Starts that are no model of the shelf: the catalogue's values, one that has left the shelf, one to look for."""

METRIC_TITLES = {"mae": "mean |error|", "rmse": "root mean square", "mae_velocity": "position and velocity"}
GATE_TITLES = {"larger_torque": "larger torque", "opposing": "opposing torques"}
INTEGRATOR_TITLES = {"leapfrog": "leapfrog", "algorithm1": "Algorithm 1", "bam": "as Rhoban/bam"}
SUPPLY_TITLES = {"logged": "as logged", "header": "nominal"}


class SettingsForm(QWidget):
    """Shows settings and lets a person change them."""

    changed = Signal()
    """Other settings, or other runs to divide."""

    def __init__(self, stack: QUndoStack, shelf: ModelShelf) -> None:
        """shelf: the models a search can start from."""
        super().__init__()
        self._stack = stack
        self._shelf = shelf
        self._settings = FitSettings()
        self._default_rule = _SHARE
        self._servo = ""
        self._frozen: Frozen = ()
        self._bounds: Bounds = ()
        self._start: Frozen = ()
        self._start_title = ""
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(14)
        column.addWidget(self._models())
        column.addWidget(self._search())
        self.expert_button: QToolButton = tool(
            "Expert settings", "Metric, simulation, budget, bounds and what is frozen"
        )
        self.expert_button.setText("Expert settings")
        self.expert_button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.expert_button.setArrowType(Qt.ArrowType.RightArrow)
        self.expert_button.setCheckable(True)
        self.expert_button.toggled.connect(self._unfold)
        column.addWidget(self.expert_button)
        self.expert = self._expert()
        self.expert.hide()
        column.addWidget(self.expert)
        self._watched()
        self.offer([], "")
        shelf.changed.connect(self._offer_starts)

    # What there is to choose.

    def _models(self) -> Section:
        section = Section("Friction models")
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
        section.wide(holder)
        self.contact = self._choice(
            "Contact",
            "How friction acts before it slips: rigid takes what it needs up to its budget; elastoplastic gives first, "
            "by a spring and a damper that are identified too, and neither drifts nor chatters",
            CONTACT_TITLES,
        )
        section.row("Contact", self.contact)
        return section

    def _search(self) -> Section:
        section = Section("Search")
        self.command_path = self._choice(
            "Command path",
            "Delay, gain ratio, velocity limit of the goal, dead band, PWM lag and braking when released; if it helps: "
            "the richest model is fitted without them and with them first, and held-out runs decide",
            COMMAND_PATH_TITLES,
        )
        section.row("Command path", self.command_path)
        self.points = describe(
            QCheckBox("Use placed points"),
            "Use placed points",
            "The drive/backdrive points placed by hand join the runs: their mean error counts as much as the runs'",
        )
        section.wide(self.points)
        self.validation: QComboBox = choice(
            "Validation", "Which runs are held out to judge the models; trained on are all others"
        )
        self.validation.setFixedWidth(_WIDE)
        section.row("Hold out", self.validation)
        self.start: QComboBox = choice(
            "Start from",
            "A model that is known, e.g. of an earlier unit of the servo: the search begins there too, and finds a "
            "similar unit sooner",
        )
        self.start.setFixedWidth(_WIDE)
        section.row("Start from", self.start)
        self.repeats: QSpinBox = whole(
            "Repeats", "Searches for each model; their spread tells how sure it is", 1, 1, 50
        )
        section.row("Repeats", self.repeats)
        self.sample: QSpinBox = whole(
            "Most runs",
            "Of more runs a sample is used in which every condition keeps its share, so that a long session needs "
            "little memory and time; all: however many there are",
            0, 0, 1_000_000, special="all",
        )  # fmt: skip
        self.sample.setSingleStep(100)
        section.row("Most runs", self.sample)
        return section

    def _expert(self) -> QWidget:
        holder = QWidget()
        column = QVBoxLayout(holder)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(14)
        parameters = Section("Parameters")
        self.parameters_note: QLabel = label("", "muted")
        self.parameters_note.setWordWrap(True)
        parameters.wide(self.parameters_note)
        self.parameters_button: QPushButton = button(
            "Bounds and frozen parameters…", "Choose what is searched, and between which bounds", self.ask_parameters
        )
        parameters.wide(self.parameters_button)
        self.prior: QDoubleSpinBox = number(
            "Prior",
            "Cost of a value that lies a whole catalogue interval from where its search begins; 10 to 30 for few runs "
            "or one gain: what they leave open stays there",
            "mrad", 0.0, 0.0, 1000.0, 1, 5.0,
        )  # fmt: skip
        self.prior.setSpecialValueText("none")
        parameters.row("Prior", self.prior)
        column.addWidget(parameters)
        column.addWidget(self._expert_simulation())
        column.addWidget(self._expert_budget())
        self.defaults_button: QPushButton = button(
            "Back to defaults", "All models, command path on, catalogue bounds, automatic budget", self.back_to_defaults
        )
        column.addWidget(self.defaults_button)
        return holder

    def _expert_simulation(self) -> Section:
        section = Section("Error and simulation")
        self.error_metric = self._choice("Metric", "What the search makes small", METRIC_TITLES)
        section.row("Metric", self.error_metric)
        self.integrator = self._choice(
            "Integrator",
            "Leapfrog is of second order. For comparisons: the paper's Algorithm 1 and the order of update of "
            "Rhoban/bam, both of first order, whose values hold for their step only",
            INTEGRATOR_TITLES,
        )
        section.row("Integrator", self.integrator)
        self.dt: QDoubleSpinBox = number(
            "Sample time",
            "Recordings are resampled at this interval; automatic: a regular recording's own, for others their median, "
            "5 ms at least",
            "ms", 0.0, 0.0, 1e3 * COARSEST_GRID, 2, 1.0,
        )  # fmt: skip
        self.dt.setSpecialValueText("automatic")
        section.row("Sample time", self.dt)
        self.substeps: QSpinBox = whole(
            "Substeps",
            "Simulation steps between two samples; automatic: as many as the fit needs, so that the step costs a small "
            "share of its error",
            0, 0, 100, special="automatic",
        )  # fmt: skip
        section.row("Substeps", self.substeps)
        self.run_offsets = describe(
            QCheckBox("Offsets of each run"),
            "Offsets of each run",
            "The values are polished with an angle and a supply voltage of its own for each run, so that they do not "
            "make up for a horn that was put on anew; placed points cannot join",
        )
        section.wide(self.run_offsets)
        self.gate = self._choice("Quadratic term", "When M6's quadratic friction acts", GATE_TITLES)
        section.row("Quadratic term", self.gate)
        self.supply = self._choice(
            "Supply voltage",
            "The voltage measured during the run where there is one, or the nominal one",
            SUPPLY_TITLES,
        )
        section.row("Supply voltage", self.supply)
        return section

    def _expert_budget(self) -> Section:
        section = Section("Budget")
        self.trials: QSpinBox = whole(
            "Evaluations", "Evaluations for each model and repeat; automatic: 1000 for each parameter", 0, 0, 10_000_000
        )
        self.trials.setSpecialValueText("automatic")
        self.trials.setSingleStep(500)
        section.row("Evaluations", self.trials)
        self.seed: QSpinBox = whole("Seed", "The same seed gives the same result", 0, 0, 2_000_000_000)
        section.row("Seed", self.seed)
        self.threads: QSpinBox = whole(
            "Threads", "Processors that work on it; automatic: all. The result is the same", 0, 0, 256
        )
        self.threads.setSpecialValueText("automatic")
        section.row("Threads", self.threads)
        return section

    def _choice(self, name: str, tip: str, titles: dict[str, str]) -> QComboBox:
        made = choice(name, tip, [(title, key) for key, title in titles.items()])
        made.setFixedWidth(_WIDE)
        return made

    def _watched(self) -> None:
        for name, box in self.models.items():
            box.toggled.connect(lambda _, name=name: self._edited("models", name))
        self.points.toggled.connect(lambda _: self._edited("placed points"))
        self.run_offsets.toggled.connect(lambda _: self._edited("offsets of each run"))
        for text, spin in (
            ("repeats", self.repeats),
            ("most runs", self.sample),
            ("substeps", self.substeps),
            ("sample time", self.dt),
            ("prior", self.prior),
            ("evaluations", self.trials),
            ("seed", self.seed),
            ("threads", self.threads),
        ):
            spin.valueChanged.connect(lambda _, text=text: self._edited(text))
        for text, combo in (
            ("command path", self.command_path),
            ("what is held out", self.validation),
            ("metric", self.error_metric),
            ("integrator", self.integrator),
            ("contact", self.contact),
            ("quadratic term", self.gate),
            ("supply voltage", self.supply),
        ):
            combo.currentIndexChanged.connect(lambda _, text=text: self._edited(text))
        self.start.activated.connect(lambda _: self._pick_start())

    # What is chosen.

    def settings(self) -> FitSettings:
        """What is chosen."""
        return self._settings

    def apply(self, settings: FitSettings) -> None:
        """Show these settings as the chosen ones."""
        with self._quiet():
            for name, box in self.models.items():
                box.setChecked(name in settings.models)
            self.command_path.setCurrentIndex(self.command_path.findData(settings.command_path))
            self.points.setChecked(settings.points)
            self._select_rule(settings.validation)
            self.repeats.setValue(settings.repeats)
            self.sample.setValue(settings.sample or 0)
            self.trials.setValue(settings.trials or 0)
            self.seed.setValue(settings.seed)
            self.substeps.setValue(settings.substeps or 0)
            self.run_offsets.setChecked(settings.run_offsets)
            self.prior.setValue(1e3 * settings.prior)
            self.dt.setValue(1e3 * (settings.dt or 0.0))
            self.threads.setValue(settings.threads or 0)
            for combo, value in (
                (self.error_metric, settings.metric),
                (self.integrator, settings.integrator),
                (self.contact, settings.contact),
                (self.gate, settings.quadratic_gate),
                (self.supply, settings.supply),
            ):
                combo.setCurrentIndex(combo.findData(value))
            self._frozen, self._bounds = settings.frozen, settings.bounds
            self._start, self._start_title = settings.start, settings.start_title
        self._offer_starts()
        self._taken()

    def change(self, text: str, settings: FitSettings, key: str = "") -> None:
        """Choose other settings so that it can be undone; text: what was changed."""
        change(self._stack, text, self.apply, self._settings, settings, key)

    def back_to_defaults(self) -> None:
        """Choose what is chosen at the start."""
        self.change("back to defaults", FitSettings(validation=self._default_rule))

    def hold_out(self, rule: str) -> None:
        """Divide the runs by another rule."""
        with self._quiet():
            self._select_rule(rule)
        self._edited("what is held out")

    def ask_parameters(self) -> None:
        """Let a person choose bounds and frozen parameters."""
        if not self._servo or not self._settings.models:
            return
        dialog = ParameterDialog(
            self._settings.parameters(self._servo), self._settings.frozen, self._settings.bounds, self.window()
        )
        if dialog.exec():
            self.set_parameters(*dialog.table.chosen())
        dialog.deleteLater()

    def set_parameters(
        self, frozen: tuple[tuple[str, float], ...], bounds: tuple[tuple[str, float, float], ...]
    ) -> None:
        """Freeze these parameters and search those between other bounds, and no others."""
        self._frozen, self._bounds = frozen, bounds
        self._edited("parameters")

    def set_theme(self, theme: Theme) -> None:
        """Take over a theme's colours."""
        for name, box in self.models.items():
            box.setIcon(swatch(theme.model(name)))

    def offer(self, runs: list[RunSummary], servo: str) -> None:
        """Offer to hold out what these runs differ in; another servo has other bounds."""
        if servo != self._servo and servo:
            self._servo = servo
            self._frozen, self._bounds = (), ()
            self._start, self._start_title = (), ""
        before: str | None = self.validation.currentData()
        untouched = before in (None, self._default_rule)
        self._default_rule = "none" if len(runs) == 1 else _SHARE
        with self._quiet():
            self.validation.clear()
            self.validation.addItem("25 % at random", _SHARE)
            self.validation.addItem("none", "none")
            for name in _CONDITIONS:
                values = sorted({getattr(run, name) for run in runs}, key=str)
                if 1 < len(values) <= 20:
                    for value in values:
                        text = value if isinstance(value, str) else f"{value:g}"
                        self.validation.addItem(f"{name} = {text}", f"{name}={value}")
            self._select_rule(self._default_rule if untouched or before is None else before)
        self._offer_starts()
        self._taken()

    def offer_points(self, count: int) -> None:
        """Offer to use the points placed by hand, of which there are so many for this servo."""
        self.points.setText(f"Use placed points ({count})" if count else "Use placed points")
        self.points.setEnabled(count > 0)

    def start_from(self, key: str) -> None:
        """Start searches from a model of the shelf too; an empty key leaves the catalogue's values alone."""
        entry = self._shelf.entry(key)
        if entry is not None and entry.model.servo != self._servo:
            self._shelf.problem.emit(
                f"{entry.title} is a model of {entry.model.servo}, the runs are of {self._servo}; "
                "choose one of the same servo"
            )
        elif entry is not None:
            self._start, self._start_title = tuple(entry.model.values.items()), entry.title
        elif key == _CATALOGUE:
            self._start, self._start_title = (), ""
        self._edited("where the search starts")
        self._offer_starts()

    # Behind the scenes.

    def _pick_start(self) -> None:
        key = self.start.currentData()
        if key == _FROM_FILE:
            file, _ = QFileDialog.getOpenFileName(self.window(), "Start from a model", "", "Model (*.json)")
            key = self._shelf.open_file(Path(file)) or _KEPT if file else _KEPT
        self.start_from(key)

    def _offer_starts(self) -> None:
        """The shelf's models of the servo, and the present start where it is none of them."""
        entries = [entry for entry in self._shelf.entries if entry.model.servo == self._servo]
        same = next((e.key for e in entries if tuple(e.model.values.items()) == self._start), _KEPT)
        with self._quiet():
            self.start.clear()
            self.start.addItem("catalogue", _CATALOGUE)
            for entry in entries:
                self.start.addItem(entry.title, entry.key)
            if self._start and same == _KEPT:
                self.start.addItem(self._start_title, _KEPT)
            self.start.addItem("a file…", _FROM_FILE)
            self.start.setCurrentIndex(self.start.findData(same) if self._start else 0)

    def _edited(self, text: str, detail: str = "") -> None:
        settings = self._read()
        self.change(text, settings, f"identify:{text}:{detail}")

    def _taken(self) -> None:
        self._settings = self._read()
        self._note()
        self.changed.emit()

    def _read(self) -> FitSettings:
        return FitSettings(
            models=tuple(name for name, box in self.models.items() if box.isChecked()),
            command_path=self.command_path.currentData(),
            validation=self.validation.currentData(),
            trials=self.trials.value() or None,
            repeats=self.repeats.value(),
            seed=self.seed.value(),
            metric=self.error_metric.currentData(),
            contact=self.contact.currentData(),
            quadratic_gate=self.gate.currentData(),
            integrator=self.integrator.currentData(),
            substeps=self.substeps.value() or None,
            run_offsets=self.run_offsets.isChecked(),
            prior=1e-3 * self.prior.value(),
            dt=1e-3 * self.dt.value() or None,
            supply=self.supply.currentData(),
            threads=self.threads.value() or None,
            frozen=self._frozen,
            bounds=self._bounds,
            sample=self.sample.value() or None,
            points=self.points.isChecked(),
            start=self._start,
            start_title=self._start_title,
        )

    def _select_rule(self, rule: str) -> None:
        place = self.validation.findData(rule)
        self.validation.setCurrentIndex(place if place >= 0 else self.validation.findData(self._default_rule))

    @contextmanager
    def _quiet(self):
        """Change widgets without taking it for a person's edit."""
        widgets: list[Any] = [
            *self.models.values(), self.command_path, self.points, self.validation, self.repeats, self.sample,
            self.trials, self.prior, self.seed, self.substeps, self.run_offsets, self.dt, self.threads,
            self.error_metric, self.contact, self.integrator, self.gate, self.supply, self.start,
        ]  # fmt: skip
        before = [widget.blockSignals(True) for widget in widgets]
        try:
            yield
        finally:
            for widget, was in zip(widgets, before, strict=True):
                widget.blockSignals(was)

    def _note(self) -> None:
        frozen, bounds = len(self._frozen), len(self._bounds)
        parts = [f"{frozen} frozen" if frozen else "", f"{bounds} with other bounds" if bounds else ""]
        said = ", ".join(part for part in parts if part)
        self.parameters_note.setText(said or "All free, between the catalogue's bounds")
        self.parameters_button.setEnabled(bool(self._servo))

    def _unfold(self, open_: bool) -> None:
        self.expert_button.setArrowType(Qt.ArrowType.DownArrow if open_ else Qt.ArrowType.RightArrow)
        self.expert.setVisible(open_)
        if open_:
            # Once the layout has taken it in, so that what was asked for is in sight.
            QTimer.singleShot(0, self, self._scroll_to_expert)

    def _scroll_to_expert(self) -> None:
        area = self.parentWidget()
        while area is not None and not isinstance(area, QScrollArea):
            area = area.parentWidget()
        if area is not None:
            area.verticalScrollBar().setValue(self.expert_button.y())
