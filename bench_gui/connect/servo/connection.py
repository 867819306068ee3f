"""Form for a servo's address: one field for each part, as its family describes it."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QComboBox, QDoubleSpinBox, QLabel, QLineEdit, QPushButton, QSpinBox, QWidget

from bench_gui.widgets.fields import FIELD_WIDTH, Section, button, choice, describe, hbox, label, number, whole
from core.base.errors import ServoBenchError
from core.base.numbers import parse_number, parse_whole
from core.base.words import capitalised
from drivers.registry import AddressField, Family, families

FAMILY_TIP = "How the servo is connected"
SCAN_TIP = "Search for servos and show every attempt"
NEW_TIP = "Define a servo that is not in the list, or open its file"
EMULATE_TIP = "Start an emulated servo on its bus, to try the program without hardware"
LARGEST_WHOLE = 2**31 - 1
LARGEST_NUMBER = 1e9


class ConnectionForm(Section):
    """Emits `edited` when the user changed a field. Typed values stay until they are changed again."""

    edited = Signal()
    scan_asked = Signal()
    emulation_asked = Signal()
    new_asked = Signal()

    def __init__(self, address: str) -> None:
        super().__init__("Connection")
        self._families = {family.name: family for family in families()}
        self.family: QComboBox = choice(
            "Kind of servo", FAMILY_TIP, [(f.title, f.name) for f in self._families.values()]
        )
        self.family.setVisible(len(self._families) > 1)
        self.family.activated.connect(lambda _: self._choose_family())
        self.wide(self.family)
        self._body = Section("")
        self._body.heading.hide()
        self.wide(self._body)
        self.scan_button: QPushButton = button("Scan…", SCAN_TIP, self.scan_asked.emit)
        """Not part of the form; its owner places it beside the connect button."""
        self.emulate_button: QPushButton = button("Emulate a servo…", EMULATE_TIP, self.emulation_asked.emit)
        self.new_button: QPushButton = button("New servo…", NEW_TIP, self.new_asked.emit)
        buttons = QWidget()
        row = hbox(buttons)
        row.addWidget(self.emulate_button)
        row.addWidget(self.new_button)
        self.wide(buttons)
        self.failure: QLabel = label("", "fault")
        self.failure.setWordWrap(True)
        self.failure.setAccessibleName("Why connecting failed")
        self.failure.hide()
        self.wide(self.failure)
        self.fields: dict[str, QWidget] = {}
        self._read: dict[str, Callable[[], str]] = {}
        self._captions: dict[str, QLabel] = {}
        self._locked = ""
        self._kept: dict[str, dict[str, str]] = {}
        """What was entered for each family."""
        self.show_address(address)

    @property
    def chosen(self) -> Family:
        """The chosen family."""
        return self._families[self.family.currentData()]

    def values(self) -> dict[str, str]:
        """Texts of the fields by name."""
        return {name: read() for name, read in self._read.items()}

    def address(self) -> str:
        """Address of the described servo.

        Raises:
            AddressError: The fields do not form an address.
        """
        return self.chosen.address(self.values())

    def show_address(self, address: str) -> None:
        """Fill the form with an address, for example a scanned one; an unknown address is ignored."""
        name = address.partition("?")[0].partition(":")[0]
        if name not in self._families:
            return
        try:
            if self._read and self.chosen.name == name and self.address() == address:
                return
        except ServoBenchError:
            pass
        self.family.setCurrentIndex(self.family.findData(name))
        self._build(self.chosen.values(address))

    def choose_family(self, name: str) -> None:
        """Choose a kind of servo, like the user in the list."""
        if name != self.chosen.name:
            self.family.setCurrentIndex(self.family.findData(name))
            self._choose_family()

    def reload(self) -> None:
        """Offer newly added servos; filled-in fields stay."""
        self._families = {family.name: family for family in families()}
        self._build(self.values())

    def show_failure(self, text: str) -> None:
        """Show why connecting failed; an empty text clears it."""
        self.failure.setText(capitalised(text))
        self.failure.setVisible(bool(text))

    def lock(self, reason: str) -> None:
        """Disable the fields and show the reason; an empty reason enables them."""
        if reason == self._locked:
            return
        self._locked = reason
        tips = {field.name: field.tip for field in self.chosen.fields}
        named = [(self.fields[name], tip) for name, tip in tips.items()]
        for widget, tip in ((self.family, FAMILY_TIP), *named, (self.scan_button, SCAN_TIP)):
            widget.setEnabled(not reason)
            widget.setToolTip(reason or tip)

    def _choose_family(self) -> None:
        self._build(self._kept.get(self.chosen.name, {}))
        self._changed()

    def _build(self, values: dict[str, str]) -> None:
        self._body.clear()
        self.fields, self._read, self._captions = {}, {}, {}
        for field in self.chosen.fields:
            widget, read = field_widget(field, values.get(field.name, field.default), self._changed)
            self.fields[field.name], self._read[field.name] = widget, read
            self._captions[field.name] = self._body.row(field.title, widget)
        self._show_applying()
        self.scan_button.setVisible(self.chosen.can_scan)
        locked, self._locked = self._locked, ""
        self.lock(locked)

    def _show_applying(self) -> None:
        values = self._kept[self.chosen.name] = self.values()
        for field in self.chosen.fields:
            for part in (self._captions[field.name], self.fields[field.name]):
                part.setVisible(field.applies(values))

    def _changed(self) -> None:
        self._show_applying()
        self.show_failure("")
        self.edited.emit()


def field_widget(field: AddressField, value: str, changed: Callable[[], object]) -> tuple[QWidget, Callable[[], str]]:
    """Return a field's widget and a function that reads it."""
    if field.kind == "choice":
        box = choice(field.title, field.tip, list(field.choices))
        box.setFixedWidth(FIELD_WIDTH + 40)
        box.setCurrentIndex(max(0, box.findData(value)))
        box.activated.connect(lambda _: changed())
        return box, lambda: str(box.currentData())
    if field.kind == "text" and field.choices:
        editable = choice(field.title, field.tip, list(field.choices))
        editable.setEditable(True)
        editable.setFixedWidth(FIELD_WIDTH + 40)
        place = editable.findData(value)
        editable.setCurrentText(editable.itemText(place) if place >= 0 else value)
        line = editable.lineEdit()
        assert line is not None
        editable.activated.connect(lambda _: changed())
        line.editingFinished.connect(changed)
        return editable, lambda: _suggested(editable)
    if field.kind == "text":
        text = describe(QLineEdit(value), field.title, field.tip)
        text.setFixedWidth(FIELD_WIDTH + 40)
        text.editingFinished.connect(changed)
        return text, text.text
    if field.kind == "whole":
        low, high = (round(min(max(v, -LARGEST_WHOLE), LARGEST_WHOLE)) for v in (field.lowest, field.highest))
        spin: QSpinBox = whole(field.title, field.tip, parse_whole(value or "0"), low, high, unit=field.unit)
        spin.setKeyboardTracking(False)
        spin.valueChanged.connect(lambda _: changed())
        return spin, lambda: str(spin.value())
    low, high = (min(max(v, -LARGEST_NUMBER), LARGEST_NUMBER) for v in (field.lowest, field.highest))
    real: QDoubleSpinBox = number(field.title, field.tip, field.unit, parse_number(value or "0"), low, high, 3, 1.0)
    real.valueChanged.connect(lambda _: changed())
    return real, lambda: f"{real.value():.10g}"


def _suggested(box: QComboBox) -> str:
    """Return the typed text, or the value behind the chosen suggestion."""
    place = box.findText(box.currentText())
    return str(box.itemData(place)) if place >= 0 else box.currentText()
