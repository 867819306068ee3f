"""Form for the user's own servo: a field for each entry of the template that `bench models --new` writes."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QScrollArea,
    QWidget,
)

from bench_gui import file_dialogs
from bench_gui.widgets.fields import MARGIN, SPACING, button, choice, describe, label, restyle, vbox
from core.base.errors import ServoBenchError
from core.base.numbers import decimal_text, number_parts
from core.base.words import capitalised
from core.servo.actuator import DRIVES, LAWS
from core.servo.catalogue import ServoSpec, add_servo, load_servo, new_servo_text, own_servo, read_servo_file
from drivers.registry import check_buses

WHAT = "Enter the numbers from your servo's data sheet. They are start values of the fit and need not be exact."
SOURCE = "The form"
CHOICES = {"law": LAWS, "drive": DRIVES}
"""Entries with a fixed set of values."""
FIELD = 200
"""Width of a field [px]."""
_ENTRY = re.compile(r'(\w+) = ("[^"]*"|\[[^\]]*\]|\S+)\s*(?:# (.*))?')
_TABLE = re.compile(r"\[(\w+)\]")


@dataclass(frozen=True)
class TemplateLine:
    """One line of the template."""

    line: int
    table: str
    name: str
    value: str
    meaning: str

    @property
    def path(self) -> str:
        """Name of the entry in error messages, for example "[ratings] stall_torque"."""
        return f"[{self.table}] {self.name}" if self.table else self.name


def entries_of(template: str) -> list[TemplateLine]:
    """Return the entries of a servo file that has each on one line."""
    entries, table = [], ""
    for number, line in enumerate(template.splitlines()):
        if head := _TABLE.match(line):
            table = head[1]
        elif found := _ENTRY.match(line):
            entries.append(TemplateLine(number, table, found[1], found[2], found[3] or ""))
    return entries


def filled(template: str, texts: dict[TemplateLine, str]) -> str:
    """Return the template with other values; quotes and the brackets of a list need not be typed."""
    lines = template.splitlines()
    for entry, text in texts.items():
        start, _, end = lines[entry.line].partition(entry.value)
        lines[entry.line] = start + _value(entry, text.strip()) + end
    return "\n".join(lines) + "\n"


def _value(entry: TemplateLine, text: str) -> str:
    is_list = entry.value.startswith("[")
    value = _with_points(f"[{text}]" if is_list and not text.startswith("[") else text)
    if _is_value(value) and not entry.value.startswith('"'):
        return value
    words = [part.strip() for part in value.strip("[]").split(",")] if is_list else text
    return json.dumps(words, ensure_ascii=False)


def _with_points(text: str) -> str:
    """Return a number, or a list with semicolons, with decimal points; any other text as it is."""
    try:
        if text.startswith("[") and text.endswith("]") and ";" in text:
            return f"[{', '.join(decimal_text(part) for part in number_parts(text[1:-1]))}]"
        return decimal_text(text)
    except ValueError:
        return text


def _is_value(text: str) -> bool:
    try:
        return len(tomllib.loads(f"value = {text}")) == 1
    except (ValueError, RecursionError):
        return False


class ServoDialog(QDialog):
    """Checks while the user types and saves into the folder of the user's servos. Not modal: STOP stays reachable."""

    added = Signal(str)
    """Name of the added servo."""
    wanted = Signal(str)
    """Name of the added servo that the user chooses."""

    def __init__(self, parent: QWidget | None) -> None:
        super().__init__(parent)
        self.setWindowTitle("New servo")
        self.resize(900, 640)
        self._template = new_servo_text()
        self._read: dict[TemplateLine, Callable[[], str]] = {}
        self.fields: dict[str, QLineEdit | QComboBox] = {}
        """Fields by the name that errors use for the entry, for example "[ratings] stall_torque"."""
        self.captions: dict[str, QLabel] = {}
        self._spec: ServoSpec | None = None
        column = vbox(self, spacing=10, margins=(MARGIN, MARGIN, MARGIN, MARGIN))
        what = label(WHAT, "muted")
        what.setWordWrap(True)
        column.addWidget(what)
        area = QScrollArea()
        area.setWidgetResizable(True)
        area.setWidget(self._make_form())
        column.addWidget(area, 1)
        self.state: QLabel = label()
        self.state.setWordWrap(True)
        self.state.setMinimumHeight(2 * self.fontMetrics().lineSpacing())
        self.state.setAccessibleName("Problem")
        column.addWidget(self.state)
        row = QHBoxLayout()
        self.open_button: QPushButton = button("Open servo file…", "Add an existing servo file", self._ask_for_file)
        self.cancel_button: QPushButton = button("Cancel", "Close without saving", self.reject)
        self.save_button: QPushButton = button("Save", "Add the servo", self._save, "primary")
        row.addWidget(self.open_button)
        row.addStretch(1)
        row.addWidget(self.cancel_button)
        self.use_button: QPushButton = button(
            "Use", "Choose it as a simulated servo; a real one is recognised when it is connected", self._use, "primary"
        )
        row.addWidget(self.save_button)
        row.addWidget(self.use_button)
        column.addLayout(row)
        self._check()

    def add_file(self, path: str) -> None:
        """Add a servo file unchanged, including entries that the form does not show."""
        try:
            self._add(read_servo_file(path))
        except ServoBenchError as error:
            self._show(str(error), "fault")

    def _make_form(self) -> QWidget:
        body = QWidget()
        grid = QGridLayout(body)
        grid.setHorizontalSpacing(MARGIN)
        grid.setVerticalSpacing(SPACING)
        grid.setColumnStretch(2, 1)
        table = ""
        for entry in entries_of(self._template):
            if entry.table != table:
                table = entry.table
                grid.addWidget(label(table.upper(), "heading"), grid.rowCount(), 0, 1, 3)
            self._add_row(grid, entry)
        grid.setRowStretch(grid.rowCount(), 1)
        return body

    def _add_row(self, grid: QGridLayout, entry: TemplateLine) -> None:
        title = entry.name.replace("_", " ") if "_" in entry.name or len(entry.name) > 2 else entry.name
        title = capitalised(title) if len(title) > 2 else title
        text = entry.value.strip('"[]')
        if entry.name in CHOICES:
            box = choice(title, entry.meaning, [(known, known) for known in CHOICES[entry.name]])
            box.setCurrentIndex(box.findData(text))
            box.activated.connect(lambda _: self._check())
            field, self._read[entry] = box, box.currentText
        else:
            line = describe(QLineEdit(text), title, entry.meaning)
            line.textEdited.connect(lambda _: self._check())
            field, self._read[entry] = line, line.text
        field.setFixedWidth(FIELD)
        caption, meaning = QLabel(title), label(entry.meaning, "muted")
        caption.setBuddy(field)
        meaning.setWordWrap(True)
        row = grid.rowCount()
        for place, widget in enumerate((caption, field, meaning)):
            grid.addWidget(widget, row, place, Qt.AlignmentFlag.AlignVCenter)
        self.fields[entry.path], self.captions[entry.path] = field, caption

    def _check(self) -> None:
        self._turn(False)
        text = filled(self._template, {entry: read() for entry, read in self._read.items()})
        self._spec, problem = None, ""
        try:
            self._spec = own_servo(text, SOURCE)
        except ServoBenchError as error:
            problem = str(error).removeprefix(f"{SOURCE}: ")
        for path, caption in self.captions.items():
            restyle(caption, "role", "fault" if problem.startswith(f"{path} =") else "")
        if self._spec is not None and _is_known(self._spec.name):
            self._show(f"Saving replaces your servo {self._spec.name}.", "muted")
        else:
            self._show(problem, "fault")
        self.save_button.setEnabled(not problem)
        self.save_button.setToolTip(problem or "Add the servo")

    def _ask_for_file(self) -> None:
        file = file_dialogs.ask_file(self, "Open a servo file", "Servo file (*.toml)")
        if file:
            self.add_file(file)

    def _save(self) -> None:
        try:
            if self._spec is not None:
                self._add(self._spec)
        except ServoBenchError as error:
            self._show(str(error), "fault")

    def _add(self, spec: ServoSpec) -> None:
        check_buses(spec)
        add_servo(spec)
        self._spec = spec
        self._show(f"{spec.title} added", "title")
        self._turn(True)
        self.added.emit(spec.name)

    def _turn(self, added: bool) -> None:
        """Offer to use an added servo, or to save."""
        self.use_button.setVisible(added)
        self.save_button.setVisible(not added)
        (self.use_button if added else self.save_button).setDefault(True)
        self.cancel_button.setText("Close" if added else "Cancel")

    def _use(self) -> None:
        self.accept()
        if self._spec is not None:
            self.wanted.emit(self._spec.name)

    def _show(self, text: str, role: str) -> None:
        self.state.setText(text)
        restyle(self.state, "role", role)


def _is_known(name: str) -> bool:
    try:
        return load_servo(name).name == name
    except ServoBenchError:
        return False
