"""Lists of the session's earlier identifications: the shown one, and one to compare it with."""

from __future__ import annotations

from PySide6.QtCore import QSignalBlocker, Signal
from PySide6.QtWidgets import QComboBox, QWidget

from bench_gui.identify.fit.messages import FitResult
from bench_gui.identify.fit.running import Fitting
from bench_gui.widgets.fields import choice, hbox

NARROWEST, CHARACTERS = 64, 20
"""Smallest [px] and usual width of each list."""


class EarlierChoice(QWidget):
    """Two lists: the first hidden while the session has no identification, the second while it has only one."""

    compared = Signal(object)
    """FitResult to compare with, or None."""

    def __init__(self, fitting: Fitting) -> None:
        super().__init__()
        self._fitting = fitting
        self.shown: QComboBox = choice("Identification", "Identifications of this session, newest first")
        self.other: QComboBox = choice("Compare with", "Show another identification beside this one, under Parameters")
        row = hbox(self, spacing=6)
        for field in (self.shown, self.other):
            field.setMinimumWidth(NARROWEST)
            field.setMinimumContentsLength(CHARACTERS)
            row.addWidget(field)
        self.shown.activated.connect(lambda place: fitting.show(fitting.kept[place]))
        self.other.activated.connect(lambda _: self.compared.emit(self._chosen_other()))
        for other in (fitting.kept_changed, fitting.recalled, fitting.changed):
            other.connect(self._refresh)
        self._refresh()

    def _refresh(self) -> None:
        fitting = self._fitting
        before = self._chosen_other()
        with QSignalBlocker(self.shown), QSignalBlocker(self.other):
            for combo in (self.shown, self.other):
                combo.clear()
            self.other.addItem("Compare with…", None)
            for result in fitting.kept:
                self.shown.addItem(result.title, result)
                if result is not fitting.result:
                    self.other.addItem(result.title, result)
            self.shown.setCurrentIndex(next((n for n, one in enumerate(fitting.kept) if one is fitting.result), -1))
            places = (n for n in range(self.other.count()) if self.other.itemData(n) is before)
            self.other.setCurrentIndex(next(places, 0))
        self.setVisible(bool(fitting.kept))
        self.other.setVisible(self.other.count() > 1)
        self.setEnabled(not fitting.active)
        if self._chosen_other() is not before:
            self.compared.emit(self._chosen_other())

    def _chosen_other(self) -> FitResult | None:
        return self.other.currentData()
