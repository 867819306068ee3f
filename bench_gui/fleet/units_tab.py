"""Table of the units with its filter, and the actions on the chosen unit."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QModelIndex, Qt, Signal
from PySide6.QtWidgets import QCheckBox, QLabel, QLineEdit, QPushButton, QToolButton, QWidget

from bench_gui.fleet.summary import FleetSummary
from bench_gui.fleet.units_table import COLUMNS, MARK, UNIT, UNLIKE, UnitsOrder, UnitsTable
from bench_gui.widgets.fields import button, describe, hbox, label, vbox
from bench_gui.widgets.tables import plain_table
from core.base.units import AngleUnit
from core.base.words import counted

WIDTHS = dict(zip(COLUMNS, (96, 110, 56, 62, 56, 122, 122, 190), strict=True))
PARAMETER_WIDTH = 150
"""[px]"""


class UnitsTab(QWidget):
    """Sorted and filtered by the user; the unit chosen here is chosen in every tab."""

    chosen = Signal(str)
    """Another unit is chosen; empty for none."""
    opened = Signal(str)
    """Request to open a unit's session and model."""

    def __init__(self) -> None:
        super().__init__()
        self.table = UnitsTable()
        self.order = UnitsOrder(self.table)
        self.view = plain_table("Units", "One row per unit; Enter or a double-click opens its session with its model")
        self.view.setModel(self.order)
        self.view.setSortingEnabled(True)
        self.view.sortByColumn(UNIT, Qt.SortOrder.AscendingOrder)
        self.view.activated.connect(lambda index: self.opened.emit(self.order.unit(index.row())))
        self.view.selectionModel().currentRowChanged.connect(self._row_chosen)
        self.filter = describe(
            QLineEdit(),
            "Filter units",
            f'Show the units whose row contains this text, e.g. "{UNLIKE}" for marked ones',
        )
        self.filter.setPlaceholderText(f"Filter, e.g. {UNLIKE}")
        self.filter.setClearButtonEnabled(True)
        self.filter.setFixedWidth(190)
        for clear in self.filter.findChildren(QToolButton):
            describe(clear, "Clear the filter", "Show every unit again")
        self.filter.textChanged.connect(self._filter)
        self.parameters = describe(
            QCheckBox("Parameters"),
            "Parameters in columns",
            "Also show the chosen model's parameters with their intervals",
        )
        self.parameters.toggled.connect(lambda _: self._show_again())
        self.count: QLabel = label("", "muted")
        self.open_button: QPushButton = button(
            "Open in Compare",
            "Open the chosen unit's session, with its model in Compare and Export",
            lambda: self.opened.emit(self.selected),
        )
        self.reason: QLabel = label("", "muted")
        self.reason.setWordWrap(True)
        self.reason.setTextFormat(Qt.TextFormat.PlainText)
        self.reason.setAccessibleName("What makes the chosen unit an outlier, or the model for all units")
        row = hbox(spacing=10)
        for part in (self.filter, self.parameters, self.count):
            row.addWidget(part)
        row.addStretch(1)
        row.addWidget(self.open_button)
        column = vbox(self, spacing=6)
        column.addLayout(row)
        column.addWidget(self.view, 1)
        column.addWidget(self.reason)
        self.selected = ""
        """Name of the chosen unit."""
        self._summary: FleetSummary | None = None
        self._friction = ""
        self._sized = False
        self._enable()

    def set_unit(self, angle: AngleUnit) -> None:
        """Show angles in another unit."""
        self.table.set_unit(angle)

    def show_model(self, summary: FleetSummary | None, friction: str) -> None:
        """Show the units under one model."""
        self._summary, self._friction = summary, friction
        self._show_again()

    def select(self, unit: str) -> None:
        """Choose a unit and scroll to its row."""
        row = self.order.row_of(unit)
        if row >= 0 and unit != self.selected:
            self.view.selectRow(row)
            self.view.scrollTo(self.order.index(row, 0))

    def _show_again(self) -> None:
        before = self.table.columns
        self.table.show_units(self._summary, self._friction, self.parameters.isChecked())
        header = self.view.horizontalHeader()
        if self.table.columns != before or not self._sized:
            self._sized = True
            by = before[min(self.order.sortColumn(), len(before) - 1)]
            there = self.table.columns.index(by) if by in self.table.columns else UNIT
            self.view.sortByColumn(there, self.order.sortOrder())
            for place, column in enumerate(self.table.columns):
                width = max(WIDTHS.get(column, PARAMETER_WIDTH), header.sectionSizeHint(place))
                self.view.setColumnWidth(place, width)
            header.setStretchLastSection(self.table.columns[-1] == COLUMNS[MARK])
        if self.selected and self.view.currentIndex().row() < 0:
            self.view.selectRow(max(0, self.order.row_of(self.selected)))
        self._enable()

    def _filter(self, text: str) -> None:
        self.order.setFilterFixedString(text.strip())
        self._enable()

    def _row_chosen(self, current: QModelIndex) -> None:
        self.selected = self.order.unit(current.row()) if current.isValid() else ""
        self._enable()
        self.chosen.emit(self.selected)

    def _enable(self) -> None:
        summary = self._summary
        every, shown = self.table.rowCount(), self.order.rowCount()
        self.count.setText(("" if shown == every else f"{shown} of ") + counted(every, "unit"))
        row = self.table.row_of(self.selected)
        self.open_button.setEnabled(row >= 0)
        marks = self.table.marks(row) if row >= 0 else []
        choice = ""
        if summary is not None and summary.choice:
            choice = f"{'All units' if summary.done == summary.tasks else 'So far'}: {summary.choice}"
        self.reason.setText("\n".join(marks) or choice)
        self.reason.setVisible(bool(marks or choice))
        if summary is not None and row >= 0:
            self.open_button.setToolTip(
                f"Open {Path(summary.units[row].session).name} with the {self._friction.upper()} of {self.selected} in "
                "Compare and Export"
            )
