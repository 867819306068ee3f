"""Dialog of a scan for servos: every attempt, the servos that answered, and the choice of one."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QStandardItem, QStandardItemModel
from PySide6.QtWidgets import QDialog, QHBoxLayout, QHeaderView, QPushButton, QTableView, QWidget

from bench_gui.connect.servo.scanning import Scanning
from bench_gui.widgets.fields import MARGIN, button, label, vbox
from bench_gui.widgets.tables import plain_table
from drivers.scan import Found, ScanStep, answered

ADDRESS = Qt.ItemDataRole.UserRole
CHOOSE_BY_LABEL = "Servos of different voltage or gear ratio answer alike: choose what the label says"


class ScanDialog(QDialog):
    """Not modal; closing it ends the scan."""

    taken = Signal(str)
    """Address of the servo that the user chose."""

    def __init__(self, parent: QWidget, scanning: Scanning, family: str, title: str, values: dict[str, str]) -> None:
        """Start a scan.

        Args:
            parent: Window that the dialog belongs to.
            scanning: Runs the scan.
            family: Name of the family.
            title: Title of the family.
            values: Values of the family's form.
        """
        super().__init__(parent)
        self.setWindowTitle(f"Scan: {title}")
        self.resize(660, 440)
        self._scanning = scanning
        self._unchosen = "Choose a servo in the list first"
        column = vbox(self, spacing=6, margins=(MARGIN, MARGIN, MARGIN, MARGIN))
        column.addWidget(label("ANSWERED", "heading"))
        self.found, self.found_model = _table(
            "Servos that answered", "Double-click to use one", ("Servo", "Detail", "Address"), self
        )
        column.addWidget(self.found, 2)
        column.addWidget(label("TRIED", "heading"))
        self.tried, self.tried_model = _table("Attempts", "Every attempt and its answer", ("Tried", "Answer"), self)
        column.addWidget(self.tried, 3)
        self.state = label("", "muted")
        self.state.setWordWrap(True)
        column.addWidget(self.state)
        row = QHBoxLayout()
        row.addStretch(1)
        self.cancel_button: QPushButton = button("Cancel", "End the scan", self.close)
        self.use_button: QPushButton = button("Use", "Enter the chosen servo into the form", self._use, "primary")
        # Enter uses the chosen servo; it does nothing without one.
        self.use_button.setDefault(True)
        row.addWidget(self.cancel_button)
        row.addWidget(self.use_button)
        column.addLayout(row)
        self.found.doubleClicked.connect(lambda _: self._use())
        self.found.selectionModel().selectionChanged.connect(lambda *_: self._enable())
        scanning.stepped.connect(self._step)
        scanning.finished.connect(self._finish)
        scanning.failed.connect(self._fail)
        scanning.start(family, values)
        self.state.setText("Scanning…")
        self._enable()

    def done(self, result: int) -> None:
        """End the scan and close."""
        for signal, slot in (
            (self._scanning.stepped, self._step),
            (self._scanning.finished, self._finish),
            (self._scanning.failed, self._fail),
        ):
            signal.disconnect(slot)
        self._scanning.stop()
        super().done(result)

    def _step(self, step: ScanStep) -> None:
        _append(self.tried_model, (step.tried, step.answer))
        self.tried.scrollToBottom()
        self.state.setText(f"Scanning… {self._scanning.activity.words or f'{self.tried_model.rowCount()} tried'}")

    def _finish(self, found: list[Found]) -> None:
        for servo in found:
            _append(self.found_model, (servo.title, servo.detail, servo.address)).setData(servo.address, ADDRESS)
        if alike := any(servo.by_label for servo in found):
            self._unchosen = CHOOSE_BY_LABEL
        elif found:
            self.found.selectRow(0)
        tried = self.tried_model.rowCount()
        self.state.setText(
            f"{answered(found)} answered, {tried} tried.{f' {CHOOSE_BY_LABEL}.' * alike}"
            if found
            else f"Nothing answered ({tried} tried). Check power, cable and port, or try another speed or ID."
        )
        self._end()

    def _fail(self, reason: str) -> None:
        self.state.setProperty("role", "fault")
        self.state.style().polish(self.state)
        self.state.setText(f"The scan failed: {reason}")
        self._end()

    def _end(self) -> None:
        self.cancel_button.setText("Close")
        self.cancel_button.setAccessibleName("Close")
        self.cancel_button.setToolTip("Close the scan")
        self._enable()

    def _chosen(self) -> str:
        rows = self.found.selectionModel().selectedRows()
        return self.found_model.item(rows[0].row(), 0).data(ADDRESS) if rows else ""

    def _enable(self) -> None:
        chosen = bool(self._chosen())
        self.use_button.setEnabled(chosen)
        self.use_button.setToolTip("Enter the chosen servo into the form" if chosen else self._unchosen)

    def _use(self) -> None:
        address = self._chosen()
        if address:
            self.close()
            self.taken.emit(address)


def _table(name: str, tip: str, headings: tuple[str, ...], parent: QWidget) -> tuple[QTableView, QStandardItemModel]:
    table = plain_table(name, tip)
    model = QStandardItemModel(0, len(headings), parent)
    model.setHorizontalHeaderLabels(list(headings))
    table.setModel(model)
    header = table.horizontalHeader()
    header.setStretchLastSection(False)
    header.setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
    return table, model


def _append(model: QStandardItemModel, texts: tuple[str, ...]) -> QStandardItem:
    items = [QStandardItem(text) for text in texts]
    for item in items:
        item.setEditable(False)
    model.appendRow(items)
    return items[0]
