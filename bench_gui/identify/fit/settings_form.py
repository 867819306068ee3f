"""Form of an identification's settings: sensible defaults, the rest under Expert settings. Every edit can be undone."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QSize, Qt, QTimer, Signal
from PySide6.QtGui import QUndoStack
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QGridLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QToolButton,
    QWidget,
)

from bench_gui import file_dialogs
from bench_gui.icons import swatch
from bench_gui.identify.fit.parameter_dialog import Bounds, Frozen, ParameterDialog
from bench_gui.identify.fit.settings import QUICK_MODELS, FitSettings
from bench_gui.state.models import ModelList
from bench_gui.theme import themes
from bench_gui.undo import change
from bench_gui.widgets.binding import Binding
from bench_gui.widgets.fields import (
    FIELD_WIDTH,
    Section,
    button,
    choice,
    describe,
    label,
    preset_row,
    restyle,
    tool,
    vbox,
)
from core.base.errors import IdentificationError
from core.base.json_fields import from_plain, plain
from core.identification.options import options_of
from core.identification.search.start import start_values
from core.motion.trajectories import title_of
from core.servo.catalogue import servos
from core.servo.terms import FRICTION_MODELS, FRICTION_TITLES

if TYPE_CHECKING:
    from bench_gui.identify.fit.messages import FitResult
    from sessions import RunSummary

_SHARE = "25%"
_CONDITIONS = ("trajectory", "mass", "length", "kp")
_WIDE = FIELD_WIDTH + 42
_CATALOGUE, _KEPT, _FROM_FILE = "", "kept", "file"
"""Start values from outside the model list: the catalogue, a model removed from the list, a file."""

_OPTIONS = options_of(FitSettings)
_UNDO_TEXTS = {"models": "models", "validation": "what is held out", "points": "placed points"}
"""Names of edits in the undo menu, where they differ from the option's title."""


def _default_rule(runs: int) -> str:
    """Return what is held out unless the user chooses."""
    return "none" if runs == 1 else _SHARE


def _title(name: str) -> str:
    return _OPTIONS[name][1].title if name in _OPTIONS and _OPTIONS[name][1].title else name.capitalize()


def _named(section: str) -> list[str]:
    """Options that belong to a section of the form."""
    return [name for name, (_, option) in _OPTIONS.items() if option.section == section]


class _ModelChecks(QWidget):
    """A check box for each friction model."""

    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.boxes: dict[str, QCheckBox] = {}
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setVerticalSpacing(5)
        for place, name in enumerate(FRICTION_MODELS):
            box = QCheckBox(f"{name.upper()}  {FRICTION_TITLES[name]}")
            box.setChecked(True)
            box.setIconSize(QSize(10, 10))
            describe(box, f"Identify {name.upper()}", f"Identify {name.upper()}: {FRICTION_TITLES[name]} friction")
            box.toggled.connect(self.changed)
            self.boxes[name] = box
            grid.addWidget(box, place, 0)

    @property
    def checked(self) -> tuple[str, ...]:
        """Names of the checked models."""
        return tuple(name for name, box in self.boxes.items() if box.isChecked())

    def check(self, names: Sequence[str]) -> None:
        """Check exactly these models."""
        for name, box in self.boxes.items():
            box.setChecked(name in names)


class SettingsForm(QWidget):
    """Shows settings and lets the user change them."""

    changed = Signal()
    """Emitted when the settings or the runs to split change."""

    def __init__(self, stack: QUndoStack, model_list: ModelList) -> None:
        """Create the form; model_list: models that a search can start from."""
        super().__init__()
        self._stack = stack
        self._model_list = model_list
        self._settings = FitSettings()
        self._default_rule = _SHARE
        self._servo = ""
        self._with_runs = False
        self._reference: FitSettings | None = None
        """Settings of the shown result."""
        self._rule = _SHARE
        """What a person or a result holds out, also while the selected runs do not allow it."""
        self._captions: dict[str, QLabel] = {}
        self._binding = Binding()
        self.fields = self._binding.widgets
        """Widget of each option by field name."""
        column = vbox(self, spacing=14)
        self.changed_note: QLabel = describe(
            label("", "changed"), "Changed settings", "Settings that differ from those of the shown result"
        )
        self.changed_note.setWordWrap(True)
        self.restore_button: QPushButton = button(
            "Back to its settings", "Restore the settings of the shown result", self._restore
        )
        for part in (self.changed_note, self.restore_button):
            part.hide()
            column.addWidget(part)
        column.addWidget(self._models())
        column.addWidget(self._search())
        self.expert_button: QToolButton = tool(
            "Expert settings", "Metric, simulation, budget, bounds and frozen parameters"
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
        self._binding.show(self._settings)
        self._binding.edited.connect(self._edit_option)
        self.start.activated.connect(lambda _: self._pick_start())
        self.offer([], "")
        model_list.changed.connect(self._offer_starts)
        themes.follow(self._paint)

    # Fields.

    def _fill(self, section: Section, *names: str) -> Section:
        """Add rows of options to a section."""
        for name in names:
            title, widget = _OPTIONS[name][1].title, self._binding.add(FitSettings, name)
            if isinstance(widget, QCheckBox):
                section.wide(widget)
            else:
                self._captions[name] = section.row(title, widget)
            if isinstance(widget, QComboBox):
                widget.setFixedWidth(_WIDE)
        return section

    def _models(self) -> Section:
        checks = self._binding.bind("models", _ModelChecks())
        self.models = checks.boxes
        section = Section("Friction models")
        self.quick_button: QPushButton = button(
            "Quick", "M1, M4 and M6 without the command path, in about half a minute", self.take_quick, "small"
        )
        self.full_button: QPushButton = button(
            "Full", "Every model, with the command path if it helps", self.take_full, "small"
        )
        section.wide(preset_row(self.quick_button, self.full_button))
        section.wide(checks)
        return self._fill(section, *_named("Friction models"))

    def _search(self) -> Section:
        section = self._fill(Section("Search"), "command_path", "points")
        self.points: QCheckBox = self.fields["points"]
        self.validation = self._binding.bind("validation", choice("Validation", _OPTIONS["validation"][1].tip))
        self.start: QComboBox = choice("Start from", _OPTIONS["start"][1].tip)
        for name, combo in (("validation", self.validation), ("start", self.start)):
            combo.setFixedWidth(_WIDE)
            self._captions[name] = section.row(_OPTIONS[name][1].title, combo)
        return self._fill(section, *_named("Search"))

    def _expert(self) -> QWidget:
        holder = QWidget()
        column = vbox(holder, spacing=14)
        parameters = Section("Parameters")
        self.parameters_note: QLabel = label("", "muted")
        self.parameters_note.setWordWrap(True)
        parameters.wide(self.parameters_note)
        self.parameters_button: QPushButton = button(
            "Bounds and frozen parameters…", "Choose the parameters to search, and their bounds", self.ask_parameters
        )
        parameters.wide(self.parameters_button)
        column.addWidget(self._fill(parameters, *_named("Parameters")))
        for title in ("Error and simulation", "Budget"):
            column.addWidget(self._fill(Section(title), *_named(title)))
        self.defaults_button: QPushButton = button(
            "Back to defaults", "All models, command path on, catalogue bounds, automatic budget", self.back_to_defaults
        )
        column.addWidget(self.defaults_button)
        return holder

    # Settings.

    def settings(self) -> FitSettings:
        """Return the current settings."""
        return self._settings

    def apply(self, settings: FitSettings) -> None:
        """Apply settings to the form."""
        if settings.validation != self._settings.validation:
            self._rule = settings.validation
        self._settings = settings
        self._binding.show(settings)
        self._select_rule(settings.validation)
        self._offer_starts()
        self._taken()

    def state(self) -> dict[str, Any]:
        """Return the settings, and the servo that bounds and start values belong to, as JSON data."""
        return {"servo": self._servo, "settings": plain(self._wanted)}

    def restore(self, data: Any) -> None:
        """Apply what `state` returned.

        Raises:
            ServoBenchError, LookupError, TypeError, ValueError: The data are not possible settings.
        """
        settings = from_plain(FitSettings, data["settings"])
        # A servo of the session's own is not known yet; what refers to it is checked with the runs.
        replace(settings, frozen=(), bounds=(), start=()).request(next(iter(servos())))
        self._servo, self._rule = str(data["servo"]), settings.validation
        self.apply(settings)

    def change(self, text: str, settings: FitSettings, key: str = "") -> None:
        """Change the settings as an undoable edit; text: name of the edit."""
        change(self._stack, text, self.apply, self._settings, settings, key)

    def show_settings_of(self, result: FitResult | None, take: bool) -> None:
        """Mark settings that differ from a result's; take: apply the result's settings first."""
        self._reference = None if result is None else FitSettings.of(result, self._wanted)
        if take and self._reference is not None:
            self._rule = self._reference.validation
            self.apply(self._reference)
        self._note()

    @property
    def changed_since(self) -> tuple[str, ...]:
        """Titles of the options that a person set to other values than those of the shown result."""
        return tuple(_title(name) for name in self._changed_names())

    def freeze(self, name: str, value: float) -> None:
        """Freeze one more parameter at a value."""
        others = tuple(entry for entry in self._settings.frozen if entry[0] != name)
        self.set_parameters((*others, (name, value)), self._settings.bounds)

    def set_option(self, name: str, value: Any) -> None:
        """Set the value of one option."""
        self._edited_to(_UNDO_TEXTS.get(name, _title(name).lower()), replace(self._settings, **{name: value}))

    def back_to_defaults(self) -> None:
        """Restore the default settings."""
        self.change("back to defaults", FitSettings(validation=self._default_rule))

    def take_quick(self) -> None:
        """Choose the few models that show whether a simple model is enough."""
        self.change("quick preset", replace(self._settings, models=QUICK_MODELS, command_path="off"))

    def take_full(self) -> None:
        """Choose every model, with the command path if it helps."""
        self.change("full preset", replace(self._settings, models=FRICTION_MODELS, command_path="auto"))

    def hold_out(self, rule: str) -> None:
        """Split the runs by another rule."""
        self._select_rule(rule)
        self._edit_option("validation")

    def ask_parameters(self) -> None:
        """Let the user choose bounds and frozen parameters."""
        if not self._servo or not self._settings.models:
            return
        dialog = ParameterDialog(
            self._settings.parameters(self._servo), self._settings.frozen, self._settings.bounds, self
        )
        if dialog.exec():
            self.set_parameters(*dialog.table.chosen())
        dialog.deleteLater()

    def set_parameters(self, frozen: Frozen, bounds: Bounds) -> None:
        """Set the frozen parameters and the changed bounds."""
        self._edited("parameters", frozen=frozen, bounds=bounds)

    def offer(self, runs: list[RunSummary], servo: str) -> None:
        """Offer to hold out conditions in which these runs differ; another servo resets bounds and start values."""
        if servo != self._servo and servo:
            self._servo = servo
            self._settings = replace(self._settings, frozen=(), bounds=(), start=(), start_title="")
        self._with_runs = bool(runs)
        self._default_rule = _default_rule(len(runs))
        with self._binding.quiet():
            self.validation.clear()
            self.validation.addItem("25 % at random", _SHARE)
            self.validation.addItem("none", "none")
            for name in _CONDITIONS:
                values = sorted({getattr(run, name) for run in runs}, key=str)
                if 1 < len(values) <= 20:
                    for value in values:
                        text = title_of(value) if isinstance(value, str) else f"{value:g}"
                        self.validation.addItem(f"{name} = {text}", f"{name}={value}")
        self._select_rule(self._default_rule if len(runs) == 1 else self._rule)
        self._offer_starts()
        self._taken()

    def offer_points(self, count: int) -> None:
        """Offer to use the points placed by hand; count: number of points for this servo."""
        self.points.setText(f"Use placed points ({count})" if count else "Use placed points")
        self.points.setEnabled(count > 0)

    def start_from(self, key: str) -> None:
        """Start searches also from a model of the model list; an empty key uses only the catalogue's values."""
        entry = self._model_list.entry(key)
        start: dict[str, Any] = {}
        if entry is not None:
            try:
                values, note = start_values(entry.model, self._servo)
                start = {"start": tuple(values.items()), "start_title": note or entry.title}
            except IdentificationError as error:
                self._model_list.problem.emit(f"{entry.title}: {error}")
        elif key == _CATALOGUE:
            start = {"start": (), "start_title": ""}
        self._edited("where the search starts", **start)
        self._offer_starts()

    # Internals.

    def _paint(self) -> None:
        for name, box in self.models.items():
            box.setIcon(swatch(themes.current.model(name)))

    def _pick_start(self) -> None:
        key = self.start.currentData()
        if key == _FROM_FILE:
            file = file_dialogs.ask_file(self, "Start from a model", "Model (*.json)")
            key = self._model_list.open_file(Path(file)) or _KEPT if file else _KEPT
        self.start_from(key)

    def _offer_starts(self) -> None:
        """Offer the models of the servo and its variants, and the current start if it is not among them."""
        start, same = self._settings.start, _KEPT
        self.start.clear()
        self.start.addItem("catalogue", _CATALOGUE)
        for entry in self._model_list.entries if self._servo else ():
            with contextlib.suppress(IdentificationError):
                values, note = start_values(entry.model, self._servo)
                self.start.addItem(f"{entry.title}: {note}" if note else entry.title, entry.key)
                same = entry.key if same == _KEPT and tuple(values.items()) == start else same
        if start and same == _KEPT:
            self.start.addItem(self._settings.start_title, _KEPT)
        self.start.addItem("a file…", _FROM_FILE)
        self.start.setCurrentIndex(self.start.findData(same) if start else 0)

    def _edit_option(self, name: str) -> None:
        self._edited(_UNDO_TEXTS.get(name, _OPTIONS[name][1].title.lower()))

    def _edited(self, text: str, **elsewhere: Any) -> None:
        """Store what the widgets show, and fields that have no widget."""
        self._edited_to(text, replace(self._read(), **elsewhere))

    def _edited_to(self, text: str, settings: FitSettings) -> None:
        models = sorted({*settings.models} ^ {*self._settings.models})
        self.change(text, settings, f"identify:{text}:{models}")

    def _taken(self) -> None:
        self._settings = self._read()
        self._note()
        self.changed.emit()

    def _read(self) -> FitSettings:
        return replace(self._settings, **self._binding.values())

    def _select_rule(self, rule: str) -> None:
        with self._binding.quiet():
            if not self._with_runs and self.validation.findData(rule) < 0:
                self.validation.addItem(rule, rule)  # kept until there are runs
            place = self.validation.findData(rule)
            self.validation.setCurrentIndex(place if place >= 0 else self.validation.findData(self._default_rule))

    def _restore(self) -> None:
        if self._reference is not None:
            self.change("settings of the result", self._reference)

    @property
    def _wanted(self) -> FitSettings:
        """The settings as a person set them: a selection of runs may not allow what shall be held out."""
        return replace(self._settings, validation=self._rule)

    def _changed_names(self) -> tuple[str, ...]:
        return () if self._reference is None else self._wanted.changed_since(self._reference)

    def _note(self) -> None:
        changed = self._changed_names()
        for name, caption in self._captions.items():
            restyle(caption, "role", "changed" if name in changed else "")
        self.changed_note.setText(f"Changed since this result: {', '.join(map(_title, changed))}.")
        for part in (self.changed_note, self.restore_button):
            part.setVisible(bool(changed))
        frozen, bounds = len(self._settings.frozen), len(self._settings.bounds)
        parts = [f"{frozen} frozen" if frozen else "", f"{bounds} with changed bounds" if bounds else ""]
        said = ", ".join(part for part in parts if part)
        self.parameters_note.setText(said or "All free, with the catalogue's bounds")
        self.parameters_button.setEnabled(bool(self._servo))

    def _unfold(self, open_: bool) -> None:
        self.expert_button.setArrowType(Qt.ArrowType.DownArrow if open_ else Qt.ArrowType.RightArrow)
        self.expert.setVisible(open_)
        if open_:
            # Scroll after the layout has placed the section, so that it is visible.
            QTimer.singleShot(0, self, self._scroll_to_expert)

    def _scroll_to_expert(self) -> None:
        area = self.parentWidget()
        while area is not None and not isinstance(area, QScrollArea):
            area = area.parentWidget()
        if area is not None:
            area.verticalScrollBar().setValue(self.expert_button.y())
