"""Dialog for the columns of a table and its bench; the importer checks the answer."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox, QDoubleSpinBox, QGridLayout, QLineEdit, QWidget

from bench_gui.session.dialogs.about_runs import RunDialog
from bench_gui.widgets.fields import FIELD_WIDTH, Section, caption_of, choice, describe, hbox, label, number
from bench_gui.widgets.tables import ROW_HEIGHT, plain_table
from bench_gui.widgets.text_table import Column as Head
from bench_gui.widgets.text_table import TextTable
from core.base.errors import InputError
from core.base.words import capitalised
from core.motion.recording import REQUIRED_CHANNELS
from core.servo.catalogue import load_servo, servos

if TYPE_CHECKING:
    from sessions.importers import TableImport, UnknownTableError
    from sessions.importers.columns import Column

CHANNELS = {
    "time": "Time",
    "goal_position": "Goal",
    "position": "Position",
    "torque_enable": "Torque on",
    "velocity": "Velocity",
    "current": "Current",
    "duty_cycle": "Duty cycle",
    "supply_voltage": "Supply voltage",
    "temperature": "Temperature",
    "command_time": "Time of the goal",
}
"""Channels of a table, with labels."""
UNIT_TIP = "Unit of {}; a factor and an offset may follow it, as in *-1+90"
NONE = "—"
FACTS = (
    ("mass", "Load *", "Mass at the end of the rod", "kg", 0.0, 1e6, 4, NONE),
    ("length", "Length *", "Distance from the shaft to the load", "m", 0.0, 1e6, 4, NONE),
    ("arm_mass", "Rod mass", "Mass of the uniform rod", "kg", 0.0, 1e6, 4, ""),
    ("angle_offset", "Zero", "Offset added to the angle; 0 must point down", "rad", -6.2832, 6.2832, 4, ""),
    ("kp", "Gain kp *", "Position gain in the servo's unit", "", 0.0, 1e6, 3, NONE),
    ("supply_voltage", "Supply", "Nominal supply voltage", "V", 0.0, 1e3, 2, "the servo's"),
)
"""Name, label, tip, unit, lowest, highest, decimals, and text shown at the lowest value."""
SHIFTS: tuple[tuple[str, object], ...] = (
    ("as logged", 0),
    ("1 row earlier", -1),
    ("2 rows earlier", -2),
    ("1 row later", 1),
    ("2 rows later", 2),
    ("automatic", "auto"),
)
"""Rows by which goals are moved, see `TableImport.goal_shift`."""
PREVIEWED = 5
"""Rows of the preview."""


class TableDialog(RunDialog):
    """Assigns a column and a unit to each channel, and asks for the bench."""

    def __init__(
        self,
        parent: QWidget,
        paths: list[Path],
        table: UnknownTableError,
        columns: str,
        servo: str,
        answered: Callable[[TableImport, str], object],
    ) -> None:
        """Create the dialog.

        Args:
            parent: Parent of the dialog.
            paths: Files to import.
            table: Error with the columns and first rows of a table among them.
            columns: Known meaning of the columns.
            servo: Catalogue name of the preselected servo.
            answered: Called with the answer and the meaning of the columns.
        """
        names = paths[0].name if len(paths) == 1 else f"{len(paths)} files"
        super().__init__(
            parent,
            f"Import {names}",
            "Assign the columns and describe the bench. The answer is stored for tables with the same columns.",
        )
        self.setMinimumWidth(720)
        self._files = paths
        self._names = list(dict.fromkeys(table.names))
        self.columns: dict[str, QComboBox] = {}
        self.units: dict[str, QComboBox] = {}
        self.facts: dict[str, QDoubleSpinBox] = {}
        self.body.addWidget(self._preview(table))
        row = hbox(spacing=24)
        row.addWidget(self._channels(), 3, Qt.AlignmentFlag.AlignTop)
        row.addWidget(self._bench(servo or table.servo), 2, Qt.AlignmentFlag.AlignTop)
        self.body.addLayout(row)
        self.reason = label("", "muted")
        self.reason.setWordWrap(True)
        self.body.addWidget(self.reason)
        self.offer("Cancel", "Import nothing", lambda: None)
        self.import_button = self.offer("Import", "", lambda: answered(*self._answer()), "primary")
        self.pattern.setText(table.pattern)
        self.split.setCurrentIndex(max(0, self.split.findData(table.rows_option.get("split_by", ""))))
        self.where.setText(table.rows_option.get("where", ""))
        self._show(columns)
        self._check()

    def _preview(self, table: UnknownTableError) -> QWidget:
        self._model = TextTable([Head(name) for name in table.names])
        self._model.setParent(self)
        self._model.show(table.rows[:PREVIEWED])
        view = plain_table("Preview", "The first rows of the file")
        view.setModel(self._model)
        view.horizontalHeader().setDefaultSectionSize(130)
        view.setFixedHeight((PREVIEWED + 1) * ROW_HEIGHT + 16)
        return view

    def _channels(self) -> QWidget:
        from sessions.importers.columns import GOALS, units_of

        holder = QWidget()
        grid = QGridLayout(holder)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.addWidget(label("COLUMNS", "heading"), 0, 0, 1, 3)
        for row, (channel, text) in enumerate(CHANNELS.items(), start=1):
            needed = channel in REQUIRED_CHANNELS and channel != "torque_enable"
            units = (
                [each for goal in GOALS.values() for each in units_of(goal)]
                if channel == "goal_position"
                else units_of(channel)
            )
            column = choice(text, f"Column with {channel}", [(NONE, ""), *((name, name) for name in self._names)])
            unit = choice(f"Unit of {text}", UNIT_TIP.format(channel), [(each, each) for each in units])
            unit.setEditable(True)
            unit.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
            column.setMinimumWidth(150)
            grid.addWidget(caption_of(column, f"{text} *" if needed else text), row, 0)
            grid.addWidget(column, row, 1)
            grid.addWidget(unit, row, 2)
            self.columns[channel], self.units[channel] = column, unit
            column.currentIndexChanged.connect(self._check)
            unit.editTextChanged.connect(self._check)
        row = len(CHANNELS) + 1
        self.split: QComboBox = choice(
            "A run of each", "Column of whose values each makes a run", [(NONE, ""), *((n, n) for n in self._names)]
        )
        self.where: QLineEdit = describe(QLineEdit(), "Only rows with", "Take only rows with this value, e.g. id=3")
        self.where.setPlaceholderText("e.g. id=3")
        self.split.currentIndexChanged.connect(self._check)
        self.where.textChanged.connect(self._check)
        for place, field in enumerate((self.split, self.where), start=row):
            grid.addWidget(caption_of(field, field.accessibleName()), place, 0)
            grid.addWidget(field, place, 1, 1, 2)
        grid.setColumnStretch(1, 1)
        return holder

    def _bench(self, servo: str) -> QWidget:
        section = Section("Bench")
        entries: list[tuple[str, object]] = [("choose", ""), *((spec.title, name) for name, spec in servos().items())]
        self.servo: QComboBox = choice("Servo", "Servo of the catalogue", entries)
        self.servo.setFixedWidth(FIELD_WIDTH + 40)
        self.servo.setCurrentIndex(max(0, self.servo.findData(servo)))
        self.servo.currentIndexChanged.connect(self._check)
        section.row("Servo *", self.servo)
        for name, text, tip, unit, lowest, highest, decimals, meaning in FACTS:
            box = number(text.rstrip(" *"), tip, unit, 0.0, lowest, highest, decimals)
            box.setSpecialValueText(meaning)
            # Update the button while the user types.
            box.setKeyboardTracking(True)
            box.valueChanged.connect(self._check)
            self.facts[name] = box
            section.row(text, box)
        self.shift: QComboBox = choice(
            "Goals",
            "Move goals that were logged in a neighbouring row; “automatic” takes what explains most",
            [*SHIFTS],
        )
        section.row("Goals", self.shift)
        self.pattern: QLineEdit = describe(
            QLineEdit(),
            "File names",
            "Conditions in file names, e.g. {trajectory}_m{mass}_l{length}_kp{kp}; they override the fields above",
        )
        self.pattern.setPlaceholderText("e.g. {trajectory}_m{mass}_kp{kp}")
        self.pattern.textChanged.connect(self._check)
        section.wide(caption_of(self.pattern, "Conditions from file names"))
        section.wide(self.pattern)
        return section

    def _show(self, columns: str) -> None:
        from sessions.importers.columns import GOALS, parse_columns, units_of

        try:
            known = parse_columns(columns)
        except InputError:
            return
        for named, column in known.items():
            channel = "goal_position" if named in GOALS.values() else named
            if channel in self.columns and column.name in self._names:
                self.columns[channel].setCurrentIndex(self.columns[channel].findData(column.name))
                unit = self.units[channel]
                unit.setCurrentText(column.unit_text(column.unit or units_of(named)[0]))

    def _answer(self) -> tuple[TableImport, str]:
        """Return the answer and the meaning of the columns; raises InputError for an unknown unit."""
        from sessions.importers import TableImport
        from sessions.importers.columns import columns_text

        columns = dict(self._column(channel) for channel, box in self.columns.items() if box.currentData())
        facts = {name: box.value() for name, box in self.facts.items() if box.value()}
        servo = {"servo": self.servo.currentData()} if self.servo.currentData() else {}
        pattern = self.pattern.text().strip()
        name, _, value = self.where.text().strip().rpartition("=")
        request = TableImport(
            columns=columns,
            facts={**servo, **facts},
            name_pattern=pattern,
            where={name: value} if name else {},
            split_by=self.split.currentData(),
            goal_shift=self.shift.currentData(),
        )
        return request, columns_text(columns)

    def _column(self, channel: str) -> tuple[str, Column]:
        """Return the channel, that of a goal by its unit, and its column; raises InputError for another unit."""
        from sessions.importers.columns import goal_channel, is_unit_of, parse_column

        box = self.units[channel]
        with contextlib.suppress(InputError):
            column = parse_column(f"{self.columns[channel].currentData()}:{box.currentText().strip()}", channel)
            named = goal_channel(channel, column.unit)
            if is_unit_of(column.unit.partition(":")[0], named):
                return named, column
        units = ", ".join(box.itemText(place) for place in range(box.count()))
        raise InputError(
            f"the unit of {CHANNELS[channel].lower()} is one of {units}; a factor and an offset may follow"
        )

    def _check(self) -> None:
        """Enable the import once nothing is missing, else show the missing entry."""
        from sessions.importers.bam_json import doubtful_supply
        from sessions.importers.table_runs import stem

        doubt = ""
        try:
            answer, _ = self._answer()
            if self.servo.currentData() and (voltage := self.facts["supply_voltage"].value()):
                doubt = doubtful_supply(load_servo(self.servo.currentData()), voltage)
            trouble = answer.trouble(next((path for path in self._files if stem(path) != path.name), None))
        except InputError as error:
            trouble = str(error)
        for channel, unit in self.units.items():
            unit.setEnabled(bool(self.columns[channel].currentData()))
        trouble = capitalised(trouble)
        doubt = f"{doubt}: check the servo" if doubt else doubt
        checks = "The import checks for speeds, loads and times that the servo cannot reach."
        self.reason.setText(trouble or doubt or checks)
        self.import_button.setEnabled(not trouble)
        self.import_button.setToolTip(trouble or "Import the recordings")
