"""Table of a fleet's units: sorted by any column, filtered by any text, parameters in columns on request."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QSortFilterProxyModel, Qt

from bench_gui.fleet.summary import FleetSummary, Mark, ModelSummary, ParameterSummary, UnitSummary
from bench_gui.widgets.text_table import VALUE_ROLE, Cell, Column, TextTable
from core.base.units import FIGURE_DASH, RADIANS, AngleUnit, milliradians
from core.document.table import Table
from sessions.folders import as_person_writes

UNLIKE = "outlier"
"""Word in the mark of an outlier, for the filter."""


UNIT, SESSION, RUNS, FITS, BEST, TRAINING, HELD_OUT, MARK = range(8)
BESIDE_PARAMETERS = (UNIT, BEST, TRAINING, HELD_OUT, MARK)
COLUMNS = (
    Column("Unit", "Serial number, or name of the session"),
    Column("Session", "Session of its recordings; Enter or a double-click opens it"),
    Column("Runs", "Number of recordings used in a fit", number=True),
    Column("Fits", "Finished fits of the total", number=True),
    Column("Best", "Model recommended for this unit alone"),
    Column("Training [mrad]", "Mean absolute error of the chosen model on the runs it was fitted to", number=True),
    Column("Held out [mrad]", "Mean absolute error of the chosen model on held-out runs", number=True),
    Column("Mark", "What makes the unit an outlier, or why it cannot be fitted"),
)


class UnitsTable(TextTable):
    """One row per unit; a column is sorted by the values of its cells."""

    def __init__(self) -> None:
        super().__init__(COLUMNS)
        self.summary: FleetSummary | None = None
        self._model: ModelSummary | None = None
        self._parameters: tuple[ParameterSummary, ...] = ()
        """Parameters shown in columns."""
        self._angle = RADIANS

    def set_unit(self, angle: AngleUnit) -> None:
        """Show angles in another unit."""
        self._angle = angle
        self._show()

    def show_units(self, summary: FleetSummary | None, friction: str, parameters: bool) -> None:
        """Show units under one friction model; `parameters` adds columns of its parameters."""
        self.summary = summary
        self._model = summary.models.get(friction) if summary is not None else None
        self._parameters = self._model.parameters if self._model is not None and parameters else ()
        self._show()

    def row_of(self, unit: str) -> int:
        """Return the row of a unit; −1 if there is none."""
        return self.summary.place.get(unit, -1) if self.summary is not None else -1

    def contents(self) -> Table:
        """Return the whole table as numbers, with all parameters of the model and their intervals."""
        if self.summary is None:
            return Table((), ())
        parameters = self._model.parameters if self._model is not None else ()
        headings = [column.title for column in COLUMNS]
        for p in parameters:
            headings += [f"{p.name} [{p.unit}]", f"{p.name} half width of 95 % [{p.unit}]"]
        rows: list[tuple[str | float, ...]] = []
        for row, unit in enumerate(self.summary.units):
            texts = [cell.text for cell in self._usual(row, unit)]
            numbers = [float(value) for p in parameters for value in (p.values[row], p.half_widths[row])]
            rows.append((*texts[:TRAINING], *(1e3 * error for error in self._errors(row)), texts[MARK], *numbers))
        return Table(tuple(headings), tuple(rows))

    def marks(self, row: int) -> list[str]:
        """Return what makes a unit an outlier, or why it cannot be fitted."""
        assert self.summary is not None
        unit = self.summary.units[row]
        return [text for text in (unit.problem, unit.damage) if text] + [mark.text for mark in self._unlike(unit)]

    def _show(self) -> None:
        units = self.summary.units if self.summary is not None else ()
        # Parameter columns replace those whose content is shown elsewhere.
        usual = BESIDE_PARAMETERS if self._parameters else range(len(COLUMNS))
        rows = []
        for row, unit in enumerate(units):
            cells = self._usual(row, unit)
            rows.append([*(cells[place] for place in usual), *(self._value(row, unit, p) for p in self._parameters)])
        columns = [*(COLUMNS[place] for place in usual), *map(self._heading, self._parameters)]
        self.show(rows, columns, keys=[unit.name for unit in units])

    def _usual(self, row: int, unit: UnitSummary) -> tuple[Cell, ...]:
        """Return the cells of COLUMNS."""
        marks = self.marks(row)
        listed = "\n".join(f"•  {text}" for text in marks)
        session, best = Path(unit.session), unit.best.upper() or FIGURE_DASH
        return (
            Cell(unit.name, listed, value=unit.name.casefold()),
            Cell(session.name, as_person_writes(session), value=session.name.casefold()),
            Cell(str(unit.runs), value=float(unit.runs)),
            Cell(f"{unit.done}/{unit.tasks}", value=float(unit.done)),
            Cell(best, value=best.casefold(), friction=unit.best),
            *(Cell(milliradians(error), value=_last(error)) for error in self._errors(row)),
            Cell(
                self._mark(unit),
                listed or "No outlier as far as known",
                tone="fault",
                value=-float(len(marks)),
            ),
        )

    def _heading(self, parameter: ParameterSummary) -> Column:
        _, unit = parameter.shown_in(self._angle)
        title = f"{parameter.symbol} [{unit}]" if unit else parameter.symbol
        return Column(title, f"{parameter.name} with the half width of its 95 % interval", number=True)

    def _value(self, row: int, unit: UnitSummary, parameter: ParameterSummary) -> Cell:
        value, text = float(parameter.values[row]), FIGURE_DASH
        if math.isfinite(value):
            text, (_, shown) = parameter.value_in_words(row, self._angle), parameter.shown_in(self._angle)
            if shown:
                # The unit is in the heading.
                text = text.replace(f" {shown}", "", 1)
        unlike = any(mark.parameter == parameter.name for mark in self._unlike(unit))
        tone = "fault" if unlike else "" if parameter.determined[row] else "muted"
        return Cell(text, tone=tone, value=_last(value))

    def _unlike(self, unit: UnitSummary) -> Sequence[Mark]:
        return self._model.marks.get(unit.name, ()) if self._model is not None else ()

    def _mark(self, unit: UnitSummary) -> str:
        if unit.problem:
            return "cannot be fitted"
        marks = self._unlike(unit)
        if not marks:
            return "damaged runs ignored" if unit.damage else ""
        symbols = {p.name: p.symbol for p in self._model.parameters} if self._model is not None else {}
        return f"{UNLIKE} in " + ", ".join(dict.fromkeys(symbols.get(mark.parameter, "error") for mark in marks))

    def _errors(self, row: int) -> tuple[float, float]:
        """Return the errors of the model on training runs and on held-out runs [rad]."""
        if self._model is None:
            return math.nan, math.nan
        return float(self._model.train[row]), float(self._model.validation[row])


class UnitsOrder(QSortFilterProxyModel):
    """Units that pass the filter, sorted by a column."""

    def __init__(self, table: UnitsTable) -> None:
        super().__init__()
        self._table = table
        self.setSourceModel(table)
        self.setSortRole(VALUE_ROLE)
        self.setFilterKeyColumn(-1)
        self.setFilterCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)

    def unit(self, row: int) -> str:
        """Return the name of the unit in a row."""
        summary = self._table.summary
        return "" if summary is None else summary.units[self.mapToSource(self.index(row, 0)).row()].name

    def row_of(self, unit: str) -> int:
        """Return the row of a unit; −1 if it is not shown."""
        row = self._table.row_of(unit)
        return -1 if row < 0 else self.mapFromSource(self._table.index(row, 0)).row()


def _last(value: float) -> float:
    """Return a sort key that puts unknown values last."""
    return value if math.isfinite(value) else math.inf
