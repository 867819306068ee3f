"""Confirmation before writing to the servo: present and new values side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QStandardItem, QStandardItemModel
from PySide6.QtWidgets import QDialog, QHBoxLayout, QHeaderView, QPushButton, QTableView, QWidget

from bench_gui.connect.servo.draft import Change
from bench_gui.widgets.fields import MARGIN, button, label, vbox
from bench_gui.widgets.tables import ROW_HEIGHT, plain_table
from core.base.units import AngleUnit, fixed
from core.base.words import counted

HEADINGS = ("Setting", "In the servo", "New", "Unit")


class WriteDialog(QDialog):
    """Asks once; `refuse` disables the button while the servo moves."""

    def __init__(
        self, parent: QWidget, changes: Sequence[Change], unit: AngleUnit, write: Callable[[], object]
    ) -> None:
        """Create the dialog.

        Args:
            parent: Window that the dialog belongs to.
            changes: Rows of the difference.
            unit: Unit of angles.
            write: Called when the user confirms.
        """
        super().__init__(parent)
        self.setWindowTitle("Write to the servo")
        self._write = write
        count = len(changes)
        column = vbox(self, spacing=10, margins=(MARGIN, MARGIN, MARGIN, MARGIN))
        column.addWidget(label(f"{counted(count, 'value')} will be written", "title"))
        self.table: QTableView = plain_table("Changes", "Present and new values in the servo")
        self.table.setModel(_model(changes, unit, self))
        self.table.setSelectionMode(QTableView.SelectionMode.NoSelection)
        self.table.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        header = self.table.horizontalHeader()
        header.setStretchLastSection(False)
        for place in range(1, len(HEADINGS)):
            header.setSectionResizeMode(place, QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        self.table.setFixedHeight((count + 1) * (ROW_HEIGHT + 2) + 10)
        column.addWidget(self.table)
        self.reason = label("", "fault")
        self.reason.setWordWrap(True)
        self.reason.hide()
        column.addWidget(self.reason)
        row = QHBoxLayout()
        row.addStretch(1)
        self.cancel_button: QPushButton = button("Cancel", "Write nothing; the edits stay marked", self.reject)
        self.write_button: QPushButton = button(
            f"Write {counted(count, 'value')}", "Write and read back", self._agree, "primary"
        )
        self.write_button.setAccessibleName("Write")
        row.addWidget(self.cancel_button)
        row.addWidget(self.write_button)
        column.addLayout(row)
        self.setMinimumWidth(440)

    def refuse(self, reason: str) -> None:
        """Disable writing and show the reason; an empty reason enables it."""
        self.write_button.setEnabled(not reason)
        self.write_button.setToolTip(reason or "Write and read back")
        self.reason.setText(reason)
        self.reason.setVisible(bool(reason))

    def _agree(self) -> None:
        self.accept()
        self._write()


def _model(changes: Sequence[Change], unit: AngleUnit, parent: QWidget) -> QStandardItemModel:
    model = QStandardItemModel(len(changes), len(HEADINGS), parent)
    model.setHorizontalHeaderLabels(list(HEADINGS))
    right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
    for row, entry_change in enumerate(changes):
        for place, text in enumerate(_texts(entry_change, unit)):
            item = QStandardItem(text)
            item.setEditable(False)
            if place in (1, 2):
                item.setTextAlignment(right)
            model.setItem(row, place, item)
    return model


def _texts(change: Change, unit: AngleUnit) -> tuple[str, str, str, str]:
    entry = change.entry
    angular = entry.unit.startswith("rad")
    scale = unit.per_radian if angular else 1.0
    symbol = entry.unit.replace("rad", unit.symbol) if angular else entry.unit
    digits = (1 if unit.per_radian > 1.5 else 3) if angular else entry.decimals
    now = fixed(change.now * scale, digits)
    return entry.title, "unknown" if now == "–" else now, fixed(change.new * scale, digits), symbol or "servo's own"
