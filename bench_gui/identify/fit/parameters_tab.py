"""Parameters of the selected model inside their bounds, optionally beside those of another identification."""

from __future__ import annotations

from PySide6.QtWidgets import QHeaderView, QLabel, QStyleOptionViewItem, QTableView, QWidget

from bench_gui.identify.fit.messages import FitResult, FittedModel
from bench_gui.identify.fit.parameter_detail import ParameterDetail
from bench_gui.identify.fit.settings_form import SettingsForm
from bench_gui.identify.tables import (
    FOREST_COLUMN,
    INTERVAL_COLUMN,
    NAME_COLUMN,
    NOTE_COLUMN,
    OTHER_COLUMN,
    START_COLUMN,
    SYMBOL_COLUMN,
    UNIT_COLUMN,
    VALUE_COLUMN,
    ForestDelegate,
    ParameterTable,
)
from bench_gui.identify.words_cell import WordsDelegate
from bench_gui.widgets.fields import describe, hbox, label, vbox
from bench_gui.widgets.tables import ROW_HEIGHT, SymbolDelegate, fit_columns, plain_table
from bench_gui.widgets.text_table import ROOT
from core.base.units import milliradians
from core.identification.evidence.certainty import Certainty
from core.servo.model import ServoModel

_WIDTHS = {NAME_COLUMN: 190, FOREST_COLUMN: 136}
_FITTED = (SYMBOL_COLUMN, VALUE_COLUMN, INTERVAL_COLUMN, UNIT_COLUMN, START_COLUMN, OTHER_COLUMN)


class ParametersTab(QWidget):
    """Table that fills during a search; a click on a row shows the details of its parameter."""

    def __init__(self, form: SettingsForm) -> None:
        super().__init__()
        self.table = ParameterTable()
        self._symbols, self._forest = SymbolDelegate(), ForestDelegate()
        self.view: QTableView = plain_table("Parameters", "Values inside their bounds; select a row for its details")
        self.view.setModel(self.table)
        self._names = WordsDelegate(self.view, NAME_COLUMN)
        # Only long names need more than the usual height.
        self.view.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.view.horizontalHeader().sectionResized.connect(self._fit_rows)
        self.table.modelReset.connect(self._fit_rows)
        self.view.setItemDelegateForColumn(SYMBOL_COLUMN, self._symbols)
        self.view.setItemDelegateForColumn(FOREST_COLUMN, self._forest)
        self.view.setItemDelegateForColumn(NOTE_COLUMN, self._symbols)
        for place, width in _WIDTHS.items():
            self.view.setColumnWidth(place, width)
        fit_columns(self.view, _FITTED)
        self.view.setColumnHidden(OTHER_COLUMN, True)
        self.view.selectionModel().currentRowChanged.connect(lambda *_: self._show_detail())
        self.detail = ParameterDetail(form.freeze, form.ask_parameters, lambda: self.view.setCurrentIndex(ROOT))
        self.compared: QLabel = describe(
            label("", "muted"), "Compared identifications", "Errors of the same model in both identifications"
        )
        self.compared.setWordWrap(True)
        self.compared.hide()
        self._row: FittedModel | None = None
        self._certainty: Certainty | None = None
        self._other: FitResult | None = None
        row = hbox(spacing=10)
        row.addWidget(self.view, 1)
        row.addWidget(self.detail)
        column = vbox(self, spacing=4, margins=(0, 6, 0, 0))
        column.addWidget(self.compared)
        column.addLayout(row, 1)

    def show_candidate(self, model: ServoModel) -> None:
        """Show the best values so far of a running search."""
        self._row = None
        self.table.set_parameters(list(model.parameters.values()))
        self._show_detail()

    def show_row(self, row: FittedModel | None, certainty: Certainty | None) -> None:
        """Show a model of a result, or None; certainty: profiles and bootstrap, ignored if of another model."""
        self._row = row
        self._certainty = (
            certainty if row is not None and certainty is not None and certainty.made_of(row.model) else None
        )
        self._show()

    def compare_with(self, other: FitResult | None) -> None:
        """Show the values of another identification too, or None."""
        self._other = other
        self._show()

    def _fit_rows(self) -> None:
        option = QStyleOptionViewItem()
        option.font = self.view.font()  # type: ignore[attr-defined]
        for place in range(self.table.rowCount()):
            height = self._names.sizeHint(option, self.table.index(place, NAME_COLUMN)).height()
            self.view.setRowHeight(place, max(ROW_HEIGHT, height))

    def _show(self) -> None:
        row = self._row
        if row is None:
            self.table.set_parameters([])
        then = None
        if row is not None and self._other is not None:
            then = next((one for one in self._other.models if one.model.friction == row.model.friction), None)
        if row is not None:
            values = None if then is None else then.model.values
            parameters = list(row.model.parameters.values())
            self.table.set_parameters(parameters, row.evidence, torque_off(row), self._certainty, values)
        self.view.setColumnHidden(OTHER_COLUMN, then is None)
        self.compared.setVisible(row is not None and self._other is not None)
        if row is not None and self._other is not None:
            self.compared.setText(_compared(row, then, self._other))
        self._show_detail()

    def _show_detail(self) -> None:
        row, index = self._row, self.view.currentIndex()
        shown = row is not None and index.isValid()
        for column in (START_COLUMN, NOTE_COLUMN):
            self.view.setColumnHidden(column, shown)
        if row is None or not index.isValid():
            self.detail.hide()
            return
        parameter = list(row.model.parameters.values())[index.row()]
        known = None if row.evidence is None else row.evidence.of(parameter.name)
        certain = () if self._certainty is None else self._certainty.parameters
        # The first line of the tooltip is the name; the rest are the notes.
        note = "\n".join(self.table.cell_at(index.row(), NOTE_COLUMN).tip.split("\n")[1:])
        self.detail.show_parameter(parameter, known, next((p for p in certain if p.name == parameter.name), None), note)


def torque_off(row: FittedModel | None) -> str:
    """Behaviour of a released motor, in words; empty if unknown."""
    if row is None or row.evidence is None:
        return ""
    return row.evidence.torque_off(row.model.control).text


def _compared(row: FittedModel, then: FittedModel | None, other: FitResult) -> str:
    name = row.model.friction.upper()
    if then is None:
        return f"{name} was not identified in {other.title}."
    held_out = (milliradians(one.validation_mae) for one in (row, then))
    training = (milliradians(one.train_mae) for one in (row, then))
    return (
        f"{name} here against {other.title}: held out {' against '.join(held_out)} mrad, "
        f"training {' against '.join(training)} mrad."
    )
