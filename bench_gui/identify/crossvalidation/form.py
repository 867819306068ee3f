"""Form of a cross-validation: conditions to hold out, models, effort."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QCheckBox, QComboBox, QGridLayout, QSpinBox, QWidget

from bench_gui.identify.fit.settings import QUICK_MODELS, FitSettings
from bench_gui.widgets.binding import Binding
from bench_gui.widgets.checks_menu import ChecksMenu, friction_menu
from bench_gui.widgets.fields import FIELD_WIDTH, button, caption_of, choice, describe, hbox, whole
from core.identification.defaults import CONDITIONS
from core.identification.runs.grouping import SAME_DIGITS, named
from core.servo.terms import COMMAND_PATH, COMMAND_PATH_TERMS, CONTACT_TITLES, FRICTION_MODELS
from sessions.results.crossvalidating import Question

if TYPE_CHECKING:
    from sessions import RunSummary

_CONDITIONS = (
    ("mass", "load", "Load"),
    ("length", "length", "Length"),
    ("kp", "kp", "Gain kp"),
    ("trajectory", "trajectory", "Trajectory"),
    ("supply_voltage", "supply", "Supply voltage"),
    ("unit", "unit", "Unit of the servo"),
    ("time", "time", "Time of recording"),
)
_PATHS = {"both": "both", "on": "with", "off": "without"}


class CrossValidationForm(QWidget):
    """Fields in two columns."""

    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._asked, self._fit = Binding(), Binding()
        """Bindings of the question's fields, and of the settings of its fits."""
        hint = "Each value of these conditions is held out in turn to judge the models"
        self.by = self._asked.bind("by", ChecksMenu("Hold out by", hint, _CONDITIONS))
        self.by.check(CONDITIONS)
        self.models = friction_menu(
            "Models to compare", "Friction models that are fitted and compared", FRICTION_MODELS
        )
        self.path: QComboBox = choice(
            "Command path",
            "Fit each model with the command path, without it, or both",
            [(text, key) for key, text in _PATHS.items()],
        )
        self.path.setFixedWidth(FIELD_WIDTH)
        self._asked.bind("command_path", self.path)
        self.additions = self._asked.bind("additions", _additions())
        self._fit.bind("models", self.models)
        self.trials: QSpinBox = whole(
            "Evaluations of a search", "Evaluations for each model and fold; automatic: 1000 per parameter",
            0, 0, 10_000_000, "automatic",
        )  # fmt: skip
        self.trials.setSingleStep(500)
        self.most: QSpinBox = whole(
            "Runs to fit to",
            "Maximum number of training runs per fold, every condition kept; all held-out runs are always judged",
            0, 0, 100_000, "all",
        )  # fmt: skip
        self.transfer = describe(
            QCheckBox("Transfer"),
            "Transfer",
            "Also fit the chosen model to each single value and judge it on the other values",
        )
        self.quick_button = button(
            "Quick", "M1, M4 and M6 without the command path, each load held out", self.take_quick, "small"
        )
        self.full_button = button(
            "Full", "Every model, with and without the command path, each condition held out", self.take_full, "small"
        )
        self.terms = describe(
            QCheckBox("Terms"),
            "Terms",
            "Show the benefit of each term: also leave out each term of the chosen model in turn",
        )
        self._fit.bind("trials", self.trials, optional=True)
        self._asked.bind("most_training_runs", self.most, optional=True)
        self._asked.bind("transfer", self.transfer)
        self._asked.bind("terms", self.terms)
        self._lay_out()
        for binding in (self._asked, self._fit):
            binding.edited.connect(self._note)
        self._wanted = self.by.wanted
        self._values: dict[str, int] = {}

    def _lay_out(self) -> None:
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(8)
        grid.setVerticalSpacing(6)
        columns: Sequence[Sequence[tuple[str, QWidget]]] = (
            (
                ("Hold out by", self.by),
                ("Models", self.models),
                ("Command path", self.path),
                ("Also compare", self.additions),
            ),
            (("Evaluations", self.trials), ("Runs to fit to", self.most)),
        )
        for column, fields in enumerate(columns):
            for row, (text, field) in enumerate(fields):
                grid.addWidget(caption_of(field, text), row, 2 * column)
                grid.addWidget(field, row, 2 * column + 1)
        also = hbox(spacing=14)
        also.addWidget(self.transfer)
        also.addWidget(self.terms)
        also.addStretch(1)
        grid.addLayout(also, 2, 2, 1, 2)
        grid.setColumnStretch(4, 1)

    def state(self) -> dict[str, Any]:
        """Return what was chosen as JSON data, also conditions that the present runs do not offer."""
        return {"asked": self._asked.last | {"by": self._wanted}, "fit": self._fit.last}

    def restore(self, data: Any) -> None:
        """Apply what `state` returned, before runs are offered.

        Raises:
            LookupError, TypeError, ValueError: The data are not possible.
        """
        self._asked.restore(data["asked"])
        self._fit.restore(data["fit"])

    def _note(self) -> None:
        self._wanted = self.by.wanted
        self.changed.emit()

    def offer(self, runs: Sequence[RunSummary]) -> None:
        """Offer the conditions of which these runs have several values."""
        for name, _, _ in _CONDITIONS:
            # Only the recordings themselves state their unit and time.
            recorded = set() if name in ("unit", "time") else {getattr(run, name) for run in runs}
            values = {_rounded(value) for value in recorded}
            self._values[name] = len(values)
            reason = ""
            if len(values) == 1:
                reason = f"Every run has {named(name, next(iter(values)))}: record others to hold one out"
            self.by.allow(name, reason)

    def take_quick(self) -> None:
        """Choose the fewest searches that show whether a simple model is enough, with one condition held out."""
        possible = [name for name, action in self.by.choices.items() if action.isEnabled() and name in self._values]
        self._take(possible[:1], QUICK_MODELS, "off")

    def take_full(self) -> None:
        """Choose all models and conditions."""
        self._take(CONDITIONS, FRICTION_MODELS, "both")

    def _take(self, by: Sequence[str], models: Sequence[str], path: str) -> None:
        self.by.check(by)
        self.models.check(models)
        self.path.setCurrentIndex(self.path.findData(path))

    @property
    def searches(self) -> int:
        """Number of searches it takes, without those for units and times."""
        variants = self._paths * len(self.models.checked) + len(self.additions.checked) * self._has_path
        return variants * sum(self._values.get(name, 0) for name in self.by.checked)

    def seconds(self, seconds: Mapping[str, float]) -> float | None:
        """Expected duration [s], from the duration of a search with all runs by model; None if that is unknown."""
        if self.trials.value() or self.most.value() or not set(self.models.checked) <= set(seconds):
            return None
        # With one of n values held out, a search uses the runs of the others.
        shares = sum(max(0, self._values.get(name, 0) - 1) for name in self.by.checked)
        models = self.models.checked
        added = len(self.additions.checked) * self._has_path * seconds[models[-1]] if models else 0.0
        return (self._paths * sum(seconds[name] for name in models) + added) * shares

    @property
    def _has_path(self) -> bool:
        return self.path.currentData() != "off"

    @property
    def _paths(self) -> int:
        return 2 if self.path.currentData() == "both" else 1

    def question(self, settings: FitSettings, servo: str) -> Question:
        """Build the question; `settings` supplies what is not chosen here.

        Raises:
            ServoBenchError: if the question is impossible.
        """
        own: dict[str, Any] = {**self._fit.values(), "command_path": "off", "repeats": 1, "validation": "none"}
        request = replace(settings, **own, points=False).request(servo)
        return Question(request=request, **self._asked.values())


def _additions() -> ChecksMenu:
    contacts = [(name, title, f"{title} contact") for name, title in CONTACT_TITLES.items() if name != "rigid"]
    terms = [(name, COMMAND_PATH[name].title) for name in COMMAND_PATH if name not in COMMAND_PATH_TERMS]
    return ChecksMenu(
        "Also compare",
        "Contacts and terms to fit the last of the models with as well, each alone, beside the command path",
        [*contacts, *((name, title, title) for name, title in terms if title)],
    )


def _rounded(value: str | float) -> str | float:
    return value if isinstance(value, str) else float(f"{value:.{SAME_DIGITS}g}")
