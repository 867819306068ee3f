"""The units of a fleet as a table: sorted by any column, filtered by any text, parameters in columns on demand."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, QSortFilterProxyModel, Qt
from PySide6.QtGui import QColor

from bench_gui.fleet.summary import FleetSummary, ModelSummary, ParameterSummary
from bench_gui.headless.places import as_person_writes
from bench_gui.plots.contents import TablePanel
from bench_gui.theme import Theme
from core.units import FIGURE_DASH, RADIANS, AngleUnit, milliradians

Index = QModelIndex | QPersistentModelIndex
_ROOT = QModelIndex()
SORT_ROLE = Qt.ItemDataRole.UserRole
UNLIKE = "unlike"
"""What the mark of an outlier says, so that a filter finds it."""


@dataclass(frozen=True)
class Column:
    """One that is always there."""

    title: str
    tip: str
    number: bool = False


UNIT, SESSION, RUNS, FITS, BEST, TRAINING, HELD_OUT, MARK = range(8)
BESIDE_PARAMETERS = (UNIT, BEST, TRAINING, HELD_OUT, MARK)
COLUMNS = (
    Column("Unit", "Serial number, or the session's name"),
    Column("Session", "Where its recordings are; open it by Enter or a double click"),
    Column("Runs", "Recordings a fit uses", number=True),
    Column("Fits", "Done, of those there are to be", number=True),
    Column("Best", "Model recommended for this unit alone"),
    Column("Training [mrad]", "Mean absolute error of the chosen model on the runs it was fitted to", number=True),
    Column("Held out [mrad]", "The same on runs it has not seen", number=True),
    Column("Mark", "In what the unit is unlike the others, or why it cannot be fitted"),
)


class UnitsTable(QAbstractTableModel):
    """One row a unit."""

    def __init__(self) -> None:
        super().__init__()
        self.summary: FleetSummary | None = None
        self._model: ModelSummary | None = None
        self._parameters: tuple[ParameterSummary, ...] = ()
        self.columns: tuple[int, ...] = tuple(range(len(COLUMNS)))
        """What the columns show: places in COLUMNS, then in the parameters."""
        self._angle = RADIANS
        self._theme: Theme | None = None

    def set_theme(self, theme: Theme) -> None:
        """Take over a theme's colours."""
        self._theme = theme
        self._refresh()

    def set_unit(self, angle: AngleUnit) -> None:
        """Show angles in another unit."""
        self._angle = angle
        self.headerDataChanged.emit(Qt.Orientation.Horizontal, 0, max(0, self.columnCount() - 1))
        self._refresh()

    def show(self, summary: FleetSummary | None, friction: str, parameters: bool) -> None:
        """Show these units under one friction model; parameters: with its parameters in columns."""
        model = summary.models.get(friction) if summary is not None else None
        columns = model.parameters if model is not None and parameters else ()
        same = (
            summary is not None
            and self.summary is not None
            and [unit.name for unit in summary.units] == [unit.name for unit in self.summary.units]
            and [p.name for p in columns] == [p.name for p in self._parameters]
        )
        if not same:
            self.beginResetModel()
        self.summary, self._model, self._parameters = summary, model, columns
        # Parameters take the room of what is known anyway.
        usual = range(len(COLUMNS)) if not columns else BESIDE_PARAMETERS
        self.columns = (*usual, *(len(COLUMNS) + place for place in range(len(columns))))
        if same:
            self._refresh()
        else:
            self.endResetModel()

    def row_of(self, unit: str) -> int:
        """Row of a unit; −1 if there is none."""
        return self.summary.place.get(unit, -1) if self.summary is not None else -1

    def contents(self) -> TablePanel:
        """The whole table in numbers, with all parameters of the model and their intervals."""
        if self.summary is None:
            return TablePanel((), ())
        parameters = self._model.parameters if self._model is not None else ()
        headings = [column.title for column in COLUMNS]
        for p in parameters:
            headings += [f"{p.name} [{p.unit}]", f"{p.name} half width of 95 % [{p.unit}]"]
        rows: list[tuple[str | float, ...]] = []
        for row in range(len(self.summary.units)):
            fixed = [self._text(row, column) for column in range(len(COLUMNS))]
            errors = [self._error(row, column) for column in (TRAINING, HELD_OUT)]
            numbers = [float(value) for p in parameters for value in (p.values[row], p.half_widths[row])]
            rows.append((*fixed[:TRAINING], *(1e3 * error for error in errors), fixed[MARK], *numbers))
        return TablePanel(tuple(headings), tuple(rows))

    def rowCount(self, parent: Index = _ROOT) -> int:
        """Number of units."""
        return 0 if parent.isValid() or self.summary is None else len(self.summary.units)

    def columnCount(self, parent: Index = _ROOT) -> int:
        """The usual ones and a parameter each."""
        return 0 if parent.isValid() else len(self.columns)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Titles of the columns."""
        if orientation is not Qt.Orientation.Horizontal or section >= self.columnCount():
            return None
        section = self.columns[section]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return int(_side(section >= len(COLUMNS) or COLUMNS[section].number))
        if section < len(COLUMNS):
            column = COLUMNS[section]
            return {Qt.ItemDataRole.DisplayRole: column.title, Qt.ItemDataRole.ToolTipRole: column.tip}.get(
                Qt.ItemDataRole(role)
            )
        parameter = self._parameters[section - len(COLUMNS)]
        _, unit = parameter.shown_in(self._angle)
        if role == Qt.ItemDataRole.DisplayRole:
            return f"{parameter.symbol} [{unit}]" if unit else parameter.symbol
        if role == Qt.ItemDataRole.ToolTipRole:
            return f"{parameter.name} with the half width of its 95 % interval"
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """One cell."""
        row, column = index.row(), self.columns[index.column()]
        if role == Qt.ItemDataRole.DisplayRole:
            return self._text(row, column)
        if role == SORT_ROLE:
            return self._sort_key(row, column)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return int(_side(column >= len(COLUMNS) or COLUMNS[column].number))
        if role == Qt.ItemDataRole.ToolTipRole:
            return self._tip(row, column)
        if role == Qt.ItemDataRole.ForegroundRole and self._theme is not None:
            return self._colour(row, column)
        return None

    def marks(self, row: int) -> list[str]:
        """In what a unit is unlike the others, or why it cannot be fitted."""
        assert self.summary is not None
        unit = self.summary.units[row]
        told = [mark.text for mark in self._model.marks.get(unit.name, ())] if self._model is not None else []
        return [text for text in (unit.problem, unit.damage) if text] + told

    def _text(self, row: int, column: int) -> str:
        assert self.summary is not None
        unit = self.summary.units[row]
        if column >= len(COLUMNS):
            parameter = self._parameters[column - len(COLUMNS)]
            if not math.isfinite(parameter.values[row]):
                return FIGURE_DASH
            # The unit is in the heading.
            text = parameter.value_in_words(row, self._angle)
            _, shown = parameter.shown_in(self._angle)
            return text.replace(f" {shown}", "", 1) if shown else text
        if column in (TRAINING, HELD_OUT):
            return milliradians(self._error(row, column))
        if column == MARK:
            return self._mark(row)
        return {
            UNIT: unit.name,
            SESSION: Path(unit.session).name,
            RUNS: str(unit.runs),
            FITS: f"{unit.done}/{unit.tasks}",
            BEST: unit.best.upper() or FIGURE_DASH,
        }[column]

    def _mark(self, row: int) -> str:
        assert self.summary is not None
        unit = self.summary.units[row]
        if unit.problem:
            return "cannot be fitted"
        marks = self._model.marks.get(unit.name, ()) if self._model is not None else ()
        if not marks:
            return "damaged runs left out" if unit.damage else ""
        symbols = {p.name: p.symbol for p in self._model.parameters} if self._model is not None else {}
        return f"{UNLIKE} in " + ", ".join(dict.fromkeys(symbols.get(mark.parameter, "error") for mark in marks))

    def _error(self, row: int, column: int) -> float:
        if self._model is None:
            return math.nan
        return float((self._model.train if column == TRAINING else self._model.validation)[row])

    def _sort_key(self, row: int, column: int) -> str | float:
        assert self.summary is not None
        unit = self.summary.units[row]
        if column >= len(COLUMNS):
            return _last(float(self._parameters[column - len(COLUMNS)].values[row]))
        if column in (TRAINING, HELD_OUT):
            return _last(self._error(row, column))
        if column == MARK:
            return -float(len(self.marks(row)))
        numbers = {RUNS: unit.runs, FITS: unit.done}
        return float(numbers[column]) if column in numbers else self._text(row, column).casefold()

    def _tip(self, row: int, column: int) -> str:
        assert self.summary is not None
        if column == MARK or (column == UNIT and self.marks(row)):
            return "\n".join(f"•  {text}" for text in self.marks(row)) or "Like the others as far as it is known"
        if column == SESSION:
            return as_person_writes(Path(self.summary.units[row].session))
        return self._text(row, column)

    def _colour(self, row: int, column: int) -> QColor | None:
        assert self.summary is not None
        assert self._theme is not None
        if column == MARK:
            return QColor(self._theme.fault)
        if column >= len(COLUMNS) and self._model is not None:
            parameter = self._parameters[column - len(COLUMNS)]
            marks = self._model.marks.get(self.summary.units[row].name, ())
            if any(mark.parameter == parameter.name for mark in marks):
                return QColor(self._theme.fault)
            if not parameter.determined[row]:
                return QColor(self._theme.muted)
        return None

    def _refresh(self) -> None:
        if self.rowCount():
            self.dataChanged.emit(self.index(0, 0), self.index(self.rowCount() - 1, self.columnCount() - 1))


class UnitsOrder(QSortFilterProxyModel):
    """The units that pass the filter, sorted by a column."""

    def __init__(self, table: UnitsTable) -> None:
        super().__init__()
        self._table = table
        self.setSourceModel(table)
        self.setSortRole(SORT_ROLE)
        self.setFilterKeyColumn(-1)
        self.setFilterCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)

    def unit(self, row: int) -> str:
        """Name of the unit in a row."""
        summary = self._table.summary
        return "" if summary is None else summary.units[self.mapToSource(self.index(row, 0)).row()].name

    def row_of(self, unit: str) -> int:
        """Row of a unit; −1 if it is not shown."""
        row = self._table.row_of(unit)
        return -1 if row < 0 else self.mapFromSource(self._table.index(row, 0)).row()


def _last(value: float) -> float:
    """What is not known is sorted behind everything."""
    return value if math.isfinite(value) else math.inf


def _side(number: bool) -> Qt.AlignmentFlag:
    return (Qt.AlignmentFlag.AlignRight if number else Qt.AlignmentFlag.AlignLeft) | Qt.AlignmentFlag.AlignVCenter
