"""Dialog for bounds and frozen parameters: one row per parameter, SI units."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QAbstractItemView,
    QDialog,
    QDialogButtonBox,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QTableView,
    QVBoxLayout,
    QWidget,
)

from bench_gui.widgets.fields import button, describe, label
from bench_gui.widgets.tables import SymbolDelegate, plain_table
from bench_gui.widgets.text_table import ROOT, Cell, Column, Index, TextTable
from core.base.errors import ServoBenchError
from core.base.numbers import parse_number
from core.base.units import significant
from core.identification.request import check_bounds, check_value
from core.servo.parameters import Parameter, ParameterSet

Frozen = tuple[tuple[str, float], ...]
Bounds = tuple[tuple[str, float, float], ...]

SYMBOL, MEANING, UNIT, FREE, VALUE, LOWER, UPPER, CATALOGUE = range(8)
COLUMNS = (
    Column("Symbol", "Symbol used in the papers"),
    Column("Meaning", "Meaning of the parameter"),
    Column("Unit", "SI unit; angles are in rad"),
    Column("Search", "Checked: the search finds the value. Unchecked: the parameter is frozen at the value beside"),
    Column("Frozen at", "Value of a frozen parameter; double-click to change it", number=True),
    Column("Lower", "Lower bound of the search; double-click to change it", number=True),
    Column("Upper", "Upper bound of the search; double-click to change it", number=True),
    Column("Catalogue", "Bounds from the catalogue"),
)
WIDTHS = (64, 250, 92, 88, 90, 90, 90, 150)


@dataclass(frozen=True)
class _Row:
    default: Parameter
    frozen: bool
    value: float
    lower: float
    upper: float

    @property
    def bounds_changed(self) -> bool:
        return (self.lower, self.upper) != (self.default.lower, self.default.upper)

    @property
    def problem(self) -> str:
        try:
            if self.frozen:
                check_value(self.default, self.value)
            else:
                check_bounds(self.default, self.lower, self.upper)
        except ServoBenchError as error:
            return str(error)
        return ""


class ParameterChoices(TextTable):
    """Choices for each parameter, one per row."""

    def __init__(self, parameters: ParameterSet, frozen: Frozen, bounds: Bounds) -> None:
        """Create the table; parameters: the catalogue's; frozen, bounds: current choices."""
        super().__init__(COLUMNS)
        fixed, between = dict(frozen), {name: (low, high) for name, low, high in bounds}
        # Choices for parameters that these models lack are kept for models that have them.
        self._others = (
            tuple(entry for entry in frozen if entry[0] not in parameters),
            tuple(entry for entry in bounds if entry[0] not in parameters),
        )
        self._choices = [
            _Row(p, p.name in fixed, fixed.get(p.name, p.value), *between.get(p.name, (p.lower, p.upper)))
            for p in parameters.values()
            if not p.frozen or p.name in fixed
        ]

    def chosen(self) -> tuple[Frozen, Bounds]:
        """Chosen frozen values, and bounds that differ from the catalogue's."""
        frozen = tuple((row.default.name, row.value) for row in self._choices if row.frozen)
        bounds = tuple((row.default.name, row.lower, row.upper) for row in self._choices if row.bounds_changed)
        return (*self._others[0], *frozen), (*self._others[1], *bounds)

    def problem(self) -> str:
        """First invalid choice; empty if all are valid."""
        if all(row.frozen for row in self._choices):
            return "every parameter is frozen, so there is nothing to search; free at least one"
        return next((row.problem for row in self._choices if row.problem), "")

    def reset_all(self) -> None:
        """Free all parameters and restore the catalogue's bounds."""
        self._others = ((), ())
        self._choices = [
            _Row(r.default, False, r.default.value, r.default.lower, r.default.upper) for r in self._choices
        ]
        self.dataChanged.emit(self.index(0, 0), self.index(len(self._choices) - 1, CATALOGUE))

    def place(self, name: str) -> int:
        """Row of a parameter."""
        return [row.default.name for row in self._choices].index(name)

    def rowCount(self, parent: Index = ROOT) -> int:
        return 0 if parent.isValid() else len(self._choices)

    def flags(self, index: Index) -> Qt.ItemFlag:
        """Make the relevant value and bounds editable."""
        flags = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable
        frozen = self._choices[index.row()].frozen
        if index.column() == FREE:
            flags |= Qt.ItemFlag.ItemIsUserCheckable
        elif index.column() == VALUE:
            flags = flags | Qt.ItemFlag.ItemIsEditable if frozen else Qt.ItemFlag.ItemIsSelectable
        elif index.column() in (LOWER, UPPER):
            flags = Qt.ItemFlag.ItemIsSelectable if frozen else flags | Qt.ItemFlag.ItemIsEditable
        return flags

    def cell_at(self, row: int, column: int) -> Cell:
        """Return one cell, bold where it differs from the catalogue."""
        choice = self._choices[row]
        p = choice.default
        text = (
            p.symbol,
            p.description,
            "" if p.unit == "1" else p.unit,
            "frozen" if choice.frozen else "free",
            significant(choice.value) if choice.frozen else "",
            significant(choice.lower),
            significant(choice.upper),
            f"{significant(p.lower)} … {significant(p.upper)}",
        )[column]
        changed = choice.frozen if column in (FREE, VALUE) else column in (LOWER, UPPER) and choice.bounds_changed
        return Cell(text, choice.problem or f"{p.name}: {COLUMNS[column].tip}", bold=changed)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return the data of a cell, or the initial text of its editor."""
        row, column = self._choices[index.row()], index.column()
        if role == Qt.ItemDataRole.EditRole and VALUE <= column <= UPPER:
            return f"{(row.value, row.lower, row.upper)[column - VALUE]:.10g}"
        if role == Qt.ItemDataRole.CheckStateRole and column == FREE:
            return Qt.CheckState.Unchecked if row.frozen else Qt.CheckState.Checked
        return super().data(index, role)

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:
        """Apply an edit; text that is not a number is ignored."""
        row, column = self._choices[index.row()], index.column()
        if role == Qt.ItemDataRole.CheckStateRole and column == FREE:
            row = replace(row, frozen=Qt.CheckState(value) != Qt.CheckState.Checked)
        elif role == Qt.ItemDataRole.EditRole and column in (VALUE, LOWER, UPPER):
            try:
                entered = parse_number(str(value))
            except ValueError:
                return False
            row = replace(row, **{("value", "lower", "upper")[column - VALUE]: entered})
        else:
            return False
        self._choices[index.row()] = row
        self.dataChanged.emit(self.index(index.row(), 0), self.index(index.row(), CATALOGUE))
        return True


class ParameterDialog(QDialog):
    """Dialog that returns only valid choices, and only when accepted."""

    def __init__(self, parameters: ParameterSet, frozen: Frozen, bounds: Bounds, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Bounds and frozen parameters")
        self.setAccessibleName("Bounds and frozen parameters")
        self.table = ParameterChoices(parameters, frozen, bounds)
        # Delete the table with the dialog; otherwise its connections would keep the dialog alive.
        self.table.setParent(self)
        column = QVBoxLayout(self)
        hint = label(
            "Unchecked parameters keep their value. Others are searched between their bounds; the catalogue's come "
            "from the servo's ratings.",
            "muted",
        )
        hint.setWordWrap(True)
        column.addWidget(hint)
        self.view: QTableView = plain_table("Parameters", "Parameters to search, and their bounds")
        self.view.setModel(self.table)
        self._symbols = SymbolDelegate(self)
        self.view.setItemDelegateForColumn(SYMBOL, self._symbols)
        self.view.setEditTriggers(
            QAbstractItemView.EditTrigger.DoubleClicked
            | QAbstractItemView.EditTrigger.EditKeyPressed
            | QAbstractItemView.EditTrigger.AnyKeyPressed
        )
        for place, width in enumerate(WIDTHS):
            self.view.setColumnWidth(place, width)
        column.addWidget(self.view, 1)
        self.problem: QLabel = describe(label("", "fault"), "Problem", "Invalid choice that has to be corrected")
        self.problem.setWordWrap(True)
        self.problem.hide()
        column.addWidget(self.problem)
        row = QHBoxLayout()
        self.reset_button: QPushButton = button(
            "Back to the catalogue", "Free all parameters and restore the catalogue's bounds", self.table.reset_all
        )
        row.addWidget(self.reset_button)
        row.addStretch(1)
        self.box = QDialogButtonBox(QDialogButtonBox.StandardButton.Ok | QDialogButtonBox.StandardButton.Cancel)
        self.box.accepted.connect(self.accept)
        self.box.rejected.connect(self.reject)
        for standard, text, tip in (
            (QDialogButtonBox.StandardButton.Ok, "Use these", "Apply these bounds and frozen values"),
            (QDialogButtonBox.StandardButton.Cancel, "Cancel", "Discard the changes"),
        ):
            made = self.box.button(standard)
            made.setText(text)
            describe(made, text, tip)
        row.addWidget(self.box)
        column.addLayout(row)
        self.table.dataChanged.connect(lambda *_: self._check())
        self.resize(sum(WIDTHS) + 60, 520)
        self._check()

    def _check(self) -> None:
        problem = self.table.problem()
        self.problem.setText(problem)
        self.problem.setVisible(bool(problem))
        self.box.button(QDialogButtonBox.StandardButton.Ok).setEnabled(not problem)
