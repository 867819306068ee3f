"""Small dialogs about runs; none is modal, so that the stop button stays usable."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox, QCompleter, QDialog, QHBoxLayout, QLineEdit, QPushButton, QWidget

from bench_gui.session.runs.cells import TagField
from bench_gui.widgets.fields import button, choice, describe, label, vbox
from bench_gui.widgets.start_button import StartButton, held_by
from core.base.words import capitalised, counted
from core.servo.catalogue import load_servo

COMMON_REASONS = ("recovered after a crash", "the load slipped", "hit a stop", "wrong load noted", "test run")


class RunDialog(QDialog):
    """Dialog with a title, a body and buttons; deleted once it is answered."""

    def __init__(self, parent: QWidget, title: str, text: str) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(title)
        self.setAccessibleName(title)
        column = vbox(self, spacing=10, margins=(16, 14, 16, 14))
        self.title = label(title, "title")
        column.addWidget(self.title)
        self.text = label(text, "muted")
        self.text.setWordWrap(True)
        self.text.setMinimumWidth(380)
        column.addWidget(self.text)
        self.body = vbox(spacing=8)
        column.addLayout(self.body, 1)
        self.buttons = QHBoxLayout()
        self.buttons.addStretch(1)
        column.addLayout(self.buttons)

    def offer(self, text: str, tip: str, act: Callable[[], object], kind: str = "") -> QPushButton:
        """Add a button that calls act and closes the dialog; Enter triggers the primary button."""

        def clicked() -> None:
            if kind != "primary" or not held_by(self):
                act()
                self.close()

        made = StartButton(text, tip, clicked, self) if kind == "primary" else button(text, tip, clicked, kind)
        made.setAutoDefault(kind == "primary")
        made.setDefault(kind == "primary")
        self.buttons.addWidget(made)
        return made


class ExcludeDialog(RunDialog):
    """Asks for the reason to exclude runs from fits."""

    def __init__(self, parent: QWidget, count: int, known: Sequence[str], exclude: Callable[[str], object]) -> None:
        """Create the dialog; known: earlier reasons, exclude: called with the reason."""
        super().__init__(
            parent,
            f"Exclude {counted(count, 'run')} from fits",
            "The recordings are kept and can be included again.",
        )
        self.reason = describe(QLineEdit(), "Reason", "Reason for the exclusion, stored with the session")
        self.reason.setPlaceholderText("Reason, e.g. the load slipped")
        completer = QCompleter(list(dict.fromkeys((*known, *COMMON_REASONS))), self)
        completer.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        completer.setFilterMode(Qt.MatchFlag.MatchContains)
        self.reason.setCompleter(completer)
        self.body.addWidget(self.reason)
        self.offer("Cancel", "Change nothing", lambda: None)
        self.exclude_button = self.offer(
            "Exclude", "Exclude the runs from fits", lambda: exclude(self.reason.text()), "primary"
        )
        self.reason.textChanged.connect(self._check)
        self._check()

    def _check(self) -> None:
        there = bool(self.reason.text().strip())
        self.exclude_button.setEnabled(there)
        self.exclude_button.setToolTip("Exclude the runs from fits" if there else "Enter a reason first")


class TagsDialog(RunDialog):
    """Edits the tags of one or several runs."""

    def __init__(
        self,
        parent: QWidget,
        count: int,
        common: Sequence[str],
        known: list[str],
        changed: Callable[[tuple[str, ...]], object],
    ) -> None:
        """Create the dialog; common: tags of all the runs, changed: called with the new ones."""
        super().__init__(
            parent,
            f"Tags of {counted(count, 'run')}",
            "Separated by commas."
            if count == 1
            else "Common tags of these runs, separated by commas. Tags of only some runs are not changed.",
        )
        self.field = TagField(known)
        self.field.setText("".join(f"{tag}, " for tag in common))
        self.field.setPlaceholderText("Tags, e.g. good, bench 2")
        self.body.addWidget(self.field)
        self.offer("Cancel", "Change nothing", lambda: None)
        self.offer("Set tags", "Assign these tags to the runs", lambda: changed(self.field.tags), "primary")


class VariantDialog(RunDialog):
    """Asks which variant of a servo a log is of, where its supply contradicts the servo that it names."""

    def __init__(self, parent: QWidget, reason: str, servos: Sequence[str], chosen: Callable[[str], object]) -> None:
        """Create the dialog; reason: the contradiction, servos: possible names, chosen: called with one of them."""
        super().__init__(parent, "Which servo?", f"{capitalised(reason)}. Choose the servo of these recordings.")
        entries: list[tuple[str, object]] = [(load_servo(name).title, name) for name in servos]
        self.servo: QComboBox = choice("Servo", "Servo of these recordings", entries)
        self.body.addWidget(self.servo)
        self.offer("Cancel", "Import nothing", lambda: None)
        self.import_button = self.offer(
            "Import",
            "Import them as recordings of this servo",
            lambda: chosen(self.servo.currentData()),
            "primary",
        )
