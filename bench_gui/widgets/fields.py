"""Fields, buttons and sections with a common look and accessible names."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any, TypeVar, cast

from PySide6.QtCore import QEvent, QLocale, QObject, QSignalBlocker, QSize, Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent, QPainter, QPaintEvent, QValidator, QWheelEvent
from PySide6.QtWidgets import (
    QAbstractButton,
    QBoxLayout,
    QComboBox,
    QDoubleSpinBox,
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QSizePolicy,
    QSpinBox,
    QStyle,
    QStyleOptionComboBox,
    QToolButton,
    QToolTip,
    QVBoxLayout,
    QWidget,
)

from bench_gui.headless.symbols import printed
from bench_gui.icons import ThemeIcon
from core.base.numbers import parse_number, parse_whole
from core.base.units import AngleUnit, typeset
from core.base.words import capitalised, counted

FIELD_WIDTH = 118
SPACING = 6
MARGIN = 12

W = TypeVar("W", bound=QWidget)
B = TypeVar("B", bound=QBoxLayout)


def describe(widget: W, name: str, tip: str) -> W:
    """Set a widget's accessible name and tooltip, and return the widget."""
    widget.setAccessibleName(name)
    widget.setToolTip(tip)
    return widget


def allow(widget: QWidget, why_not: str, tip: str) -> None:
    """Enable a widget, or disable it if there is a reason; its tooltip is the tip or that reason."""
    widget.setEnabled(not why_not)
    widget.setToolTip(f"Not possible: {why_not}" if why_not else tip)


def label(text: str = "", role: str = "") -> QLabel:
    """Return a label in a role of the style sheet: muted, heading, title, reading, empty, fault."""
    made = QLabel(text)
    if role:
        made.setProperty("role", role)
    return made


def caption_of(field: QWidget, text: str) -> QLabel:
    """Return a muted label that is linked to a field, also for screen readers."""
    made = label(text, "muted")
    made.setBuddy(field)
    return made


class ElidedLabel(QLabel):
    """Single line that is elided when there is no room; the tooltip contains the full text."""

    mode = Qt.TextElideMode.ElideRight

    def setText(self, text: str) -> None:
        """Show a text, with the full text in the tooltip."""
        super().setText(text)
        self.setToolTip(text)

    def minimumSizeHint(self) -> QSize:
        """Allow any width."""
        return QSize(0, super().minimumSizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw as much as fits."""
        painter = QPainter(self)
        text = self.fontMetrics().elidedText(self.text(), self.mode, self.width())
        self.style().drawItemText(
            painter, self.rect(), int(self.alignment()), self.palette(), self.isEnabled(), text, self.foregroundRole()
        )


class ElidedComboBox(QComboBox):
    """Combo box whose text is elided when there is no room."""

    def initStyleOption(self, option: QStyleOptionComboBox) -> None:
        """Elide the text that is drawn."""
        super().initStyleOption(option)
        box, field = QStyle.ComplexControl.CC_ComboBox, QStyle.SubControl.SC_ComboBoxEditField
        room = self.style().subControlRect(box, option, field, self).width()
        option.currentText = self.fontMetrics().elidedText(option.currentText, Qt.TextElideMode.ElideRight, room)


def button(text: str, tip: str, clicked: Callable[[], object], kind: str = "") -> QPushButton:
    """Return a push button; kind: primary, flat, stop or none."""
    made = QPushButton(text)
    if kind:
        made.setProperty("kind", kind)
    # Focusable with Tab only; a click keeps the focus, even if the button is then disabled.
    made.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    made.clicked.connect(lambda: clicked())
    return describe(made, text.replace("&", "").strip("… "), tip)


def tool(name: str, tip: str, kind: str = "flat", symbol: str = "", size: int = 20) -> QToolButton:
    """Return a tool button without an action; symbol, size: its icon, if any."""
    made = QToolButton()
    if symbol:
        ThemeIcon(made, symbol, size=size)
    made.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    made.setProperty("kind", kind)
    return describe(made, name, tip)


def rule() -> QFrame:
    """Return a thin horizontal line."""
    line = QFrame()
    line.setProperty("role", "rule")
    return line


def restyle(widget: QWidget, name: str, value: str) -> None:
    """Change a property that the style sheet selects by."""
    if widget.property(name) != value:
        widget.setProperty(name, value)
        widget.style().unpolish(widget)
        widget.style().polish(widget)


class _NoStrayWheel(QObject):
    """Keeps a wheel that scrolls past a field from changing it."""

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Ignore the wheel over a field without the focus."""
        if isinstance(event, QWheelEvent) and isinstance(watched, QWidget) and not watched.hasFocus():
            event.ignore()
            return True
        return False


_WHEEL = _NoStrayWheel()


def _field(widget: W) -> W:
    widget.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
    widget.installEventFilter(_WHEEL)
    return widget


class _Refusals(QObject):
    """Signal for start buttons: the refused fields have changed."""

    changed = Signal()


REFUSALS = _Refusals()


class Refusing:
    """Mix-in of fields that keep refused text visible in red, with the reason."""

    refusal = ""
    """Reason why the shown text is refused; empty if it is accepted."""

    def refuse(self: Any, reason: str) -> None:
        """Mark the field and show a reason; an empty reason clears the mark."""
        if reason != self.refusal:
            self.refusal = reason
            restyle(self, "refused", "yes" if reason else "")
            self.setAccessibleDescription(reason)
            self.show_reason(reason)
            REFUSALS.changed.emit()

    def show_reason(self: Any, reason: str) -> None:
        """Show why the number is refused; overridden where a form has a line for it."""
        QToolTip.showText(self.mapToGlobal(self.rect().bottomLeft()), reason, self)

    def settle(self) -> None:
        """Accept or refuse what is being typed."""


class ListEdit(Refusing, QLineEdit):
    """Field for a list of numbers; its form parses the text when editing is finished, and shows what is wrong."""

    def show_reason(self, reason: str) -> None:
        """Leave it to the form."""

    def settle(self) -> None:
        """Let the form parse what is being typed."""
        if self.isModified():
            self.setModified(False)
            self.editingFinished.emit()


class _NumberField(Refusing):
    """Mix-in of `NumberBox` and `WholeBox`; the value remains the last accepted one.

    Every key is accepted while typing: a field that ignores a comma turns 0,5 into 5.
    """

    def settle(self: Any) -> None:
        """Accept or refuse what is being typed."""
        if not self._judge():
            self.interpretText()

    def setValue(self: Any, value: float) -> None:
        """Show another value, which is accepted."""
        super().setValue(value)  # type: ignore[misc]
        self._reconsider()

    def validate(self: Any, text: str, at: int) -> object:
        """Accept any text while typing, and a number within the bounds as a value."""
        good = self._number_in(text) and not self._fault(text)
        return QValidator.State.Acceptable if good else QValidator.State.Intermediate, text, at

    def valueFromText(self: Any, text: str) -> float:
        """Read a number as people type it, see `core.base.numbers`."""
        number_in = self._number_in(text)
        return self._parse(number_in) if number_in else self.minimum()

    def focusOutEvent(self: Any, event: QFocusEvent) -> None:
        """Keep refused text visible."""
        if self._judge():
            self.lineEdit().event(event)
            QWidget.focusOutEvent(self, event)
        else:
            super().focusOutEvent(event)  # type: ignore[misc]

    def keyPressEvent(self: Any, event: QKeyEvent) -> None:
        """Accept the number on Enter, or show why it is refused; the first key replaces a word such as "automatic"."""
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self._judge():
            return
        if event.text().isprintable() and event.text() and self.text() == self.specialValueText():
            self.selectAll()
        super().keyPressEvent(event)  # type: ignore[misc]

    def _judge(self: Any) -> bool:
        """Return True if the shown text is refused."""
        fault = self._fault(self.text())
        self.refuse(f"{fault}; still {self._shown(self.value())}" if fault else "")
        return bool(fault)

    def _follow(self: Any) -> None:
        self.setLocale(QLocale.c())
        self.lineEdit().textChanged.connect(self._reconsider)
        self.valueChanged.connect(self._reconsider)

    def _reconsider(self: Any) -> None:
        if self.refusal and not self._fault(self.text()):
            self.refuse("")

    def _number_in(self: Any, text: str) -> str:
        """The typed number without the unit and the word for the lowest value."""
        unit, bare = self.suffix().strip(), text.replace(self.specialValueText(), "").strip()
        # Twice where it was pasted with the number; the m of "5 mm" is no metre.
        while unit and re.search(rf"(?<![^\W\d_]){re.escape(unit)}$", bare):
            bare = bare.removesuffix(unit).strip()
        return bare

    def _shown(self: Any, value: float) -> str:
        special = self.specialValueText()
        return special if special and value == self.minimum() else self.textFromValue(value) + self.suffix()

    def _fault(self: Any, text: str) -> str:
        """Why a text is not accepted; empty for a valid number and for an empty field, which keeps its value."""
        number_in = self._number_in(text)
        if not number_in:
            return ""
        try:
            value = self._parse(number_in)
        except ValueError as error:
            return capitalised(str(error))
        if value > self.maximum():
            return f"At most {self._shown(self.maximum())}"
        if value < self.minimum():
            return f"At least {self._shown(self.minimum())}"
        return ""


def refused_fields(*forms: QWidget) -> list[Any]:
    """Refused fields of forms, see `Refusing`, without those that are hidden or disabled."""
    return [
        box
        for form in forms
        for box in form.findChildren(QWidget)
        if isinstance(box, Refusing) and box.refusal and box.isVisibleTo(form) and box.isEnabled()
    ]


def refusals(*forms: QWidget) -> list[str]:
    """Refused numbers of forms, e.g. "Duration: At most 600 s; still 6 s"."""
    return [f"{box.accessibleName()}: {box.refusal}" for box in refused_fields(*forms)]


class WholeBox(_NumberField, QSpinBox):
    """Field for a whole number."""

    def __init__(self) -> None:
        super().__init__()
        self._follow()

    def textFromValue(self, value: int) -> str:
        """Show a true minus sign, as `NumberBox` does."""
        return typeset(str(value))

    _parse = staticmethod(parse_whole)


class NumberBox(_NumberField, QDoubleSpinBox):
    """Field for a number without trailing zeros, shown with a decimal point."""

    def __init__(self) -> None:
        super().__init__()
        self._follow()

    def textFromValue(self, value: float) -> str:
        """Show as many decimals as the number has."""
        text = typeset(f"{value:.{self.decimals()}f}")
        return text.rstrip("0").rstrip(".") if "." in text else text

    def _parse(self, text: str) -> float:
        """Read a number that the field can show.

        Raises:
            ValueError: It is not a number, or has more decimals than the field.
        """
        value = parse_number(text)
        if not math.isclose(value, round(value, self.decimals()), rel_tol=1e-12):
            raise ValueError(
                f"at most {counted(self.decimals(), 'decimal')}" if self.decimals() else "whole numbers only"
            )
        return value


class AngleBox(NumberBox):
    """Field for an angle or angular speed: radians inside, shown in the user's unit."""

    radians_changed = Signal(float)
    """Emitted when the user enters another value [rad, rad/s], but not when the unit changes."""

    def __init__(self, unit: AngleUnit, radians: float, lower: float, upper: float, per: str = "") -> None:
        """Create the field; radians, lower, upper in rad; per: suffix of the unit, e.g. "/s"."""
        super().__init__()
        self._lower, self._upper, self._per = lower, upper, per
        self._radians = radians
        self._unit = unit
        self.show_in(unit)
        self.valueChanged.connect(self._edited)

    @property
    def radians(self) -> float:
        """The value [rad, rad/s]."""
        return self._radians

    def set_radians(self, radians: float) -> None:
        """Show another value without emitting a signal."""
        self._radians = min(max(radians, self._lower), self._upper)
        with QSignalBlocker(self):
            self.setValue(self._radians * self._unit.per_radian)

    def show_in(self, unit: AngleUnit) -> None:
        """Show the same value in another unit."""
        self._unit = unit
        coarse = unit.per_radian > 1.5
        with QSignalBlocker(self):
            self.setDecimals(2 if coarse else 4)
            self.setRange(self._lower * unit.per_radian, self._upper * unit.per_radian)
            self.setSingleStep(1.0 if coarse else 0.01)
            self.setSuffix(f" {unit.symbol}{self._per}")
            self.setValue(self._radians * unit.per_radian)

    def _edited(self, value: float) -> None:
        self._radians = min(max(value / self._unit.per_radian, self._lower), self._upper)
        self.radians_changed.emit(self._radians)


def angle(name: str, tip: str, unit: AngleUnit, radians: float, lower: float, upper: float, per: str = "") -> AngleBox:
    """Return a field for an angle [rad] or, with per="/s", an angular speed, shown in `unit`."""
    box = _field(AngleBox(unit, radians, lower, upper, per))
    _dress(box)
    return describe(box, name, tip)


def _dress(box: QDoubleSpinBox) -> None:
    box.setAlignment(Qt.AlignmentFlag.AlignRight)
    box.setKeyboardTracking(False)
    box.lineEdit().setTextMargins(0, 0, 5, 0)
    box.setFixedWidth(FIELD_WIDTH)


def number(
    name: str, tip: str, unit: str, value: float, lower: float, upper: float, decimals: int = 3, step: float = 0.0
) -> NumberBox:
    """Return a field for a number with its unit; "1": without a unit."""
    box = _field(NumberBox())
    _dress(box)
    box.setDecimals(decimals)
    box.setRange(lower, upper)
    box.setSingleStep(step or 10.0 ** (1 - decimals))
    box.setSuffix("" if unit in ("", "1") else f" {unit}")
    box.setProperty("dimensionless", unit == "1")
    box.setValue(value)
    return describe(box, name, tip)


def whole(name: str, tip: str, value: int, lower: int, upper: int, special: str = "", unit: str = "") -> WholeBox:
    """Return a field for a whole number; special: text shown for the lowest value."""
    box = _field(WholeBox())
    box.setKeyboardTracking(False)
    box.setAlignment(Qt.AlignmentFlag.AlignRight)
    box.setRange(lower, upper)
    box.setValue(value)
    box.setSuffix(f" {unit}" if unit else "")
    box.setProperty("dimensionless", not unit)
    box.setSpecialValueText(special)
    box.lineEdit().setTextMargins(0, 0, 5, 0)
    box.setFixedWidth(FIELD_WIDTH)
    return describe(box, name, tip)


def choice(name: str, tip: str, items: list[tuple[str, object]] | None = None) -> QComboBox:
    """Return a combo box; items: text and data."""
    box = _field(ElidedComboBox())
    box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
    box.setMinimumContentsLength(8)
    for text, data in items or ():
        box.addItem(text, data)
    return describe(box, name, tip)


def vbox(
    parent: QWidget | None = None, *, spacing: int = -1, margins: tuple[int, int, int, int] = (0, 0, 0, 0)
) -> QVBoxLayout:
    """Return a column, that of a parent if there is one; spacing: −1 for the style's."""
    return _placed(QVBoxLayout(), parent, spacing, margins)


def hbox(
    parent: QWidget | None = None, *, spacing: int = -1, margins: tuple[int, int, int, int] = (0, 0, 0, 0)
) -> QHBoxLayout:
    """Return a row, see `vbox`."""
    return _placed(QHBoxLayout(), parent, spacing, margins)


def _placed(box: B, parent: QWidget | None, spacing: int, margins: tuple[int, int, int, int]) -> B:
    box.setSpacing(spacing)
    box.setContentsMargins(*margins)
    if parent is not None:
        parent.setLayout(box)
    return box


def preset_row(*buttons: QPushButton) -> QHBoxLayout:
    """Return a row of buttons that each choose several settings at once."""
    row = hbox(spacing=6)
    row.addWidget(label("Preset", "muted"))
    for one in buttons:
        row.addWidget(one)
    row.addStretch(1)
    return row


class Section(QWidget):
    """Heading with rows of labels and fields below it."""

    def __init__(self, title: str) -> None:
        super().__init__()
        column = vbox(self, spacing=SPACING)
        name, bracket, unit = title.partition(" [")
        self.heading = label(f"{name.upper()}{bracket}{unit}", "heading")
        column.addWidget(self.heading)
        self._grid = QGridLayout()
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(8)
        self._grid.setVerticalSpacing(SPACING)
        self._grid.setColumnStretch(0, 1)
        column.addLayout(self._grid)

    def row(self, text: str, field: QWidget) -> QLabel:
        """Add a labelled field and return the label; text: words or a symbol such as "v_S"."""
        place = self._row()
        caption = QLabel(printed(text) if "_" in text else text)
        caption.setBuddy(field)
        caption.setToolTip(field.toolTip())
        self._grid.addWidget(caption, place, 0)
        self._grid.addWidget(field, place, 1, Qt.AlignmentFlag.AlignRight)
        if isinstance(field, NumberBox | WholeBox):
            field.show_reason = lambda reason: self._show_refusal(place + 1, reason)
        return caption

    def wide(self, part: QWidget | QHBoxLayout) -> None:
        """Add a widget or a row of widgets across the full width."""
        if isinstance(part, QWidget):
            self._grid.addWidget(part, self._row(), 0, 1, 2)
        else:
            self._grid.addLayout(part, self._row(), 0, 1, 2)

    def _row(self) -> int:
        """Next free row but one: the row below each field is kept for the reason of a refused number."""
        return self._grid.rowCount() + 1

    def _show_refusal(self, place: int, reason: str) -> None:
        item = self._grid.itemAtPosition(place, 0)
        shown = cast(QLabel, item.widget()) if item is not None else label("", "fault")
        if item is None:
            shown.setWordWrap(True)
            self._grid.addWidget(shown, place, 0, 1, 2)
        shown.setText(reason)
        shown.setVisible(bool(reason))

    def clear(self) -> None:
        """Remove every row."""
        while (item := self._grid.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()


class EmptyState(QWidget):
    """States what is missing, with buttons that supply it."""

    def __init__(self, title: str, text: str, *actions: QAbstractButton) -> None:
        super().__init__()
        column = QVBoxLayout(self)
        column.addStretch(2)
        self.title = label(title, "empty")
        self.text = label(text, "muted")
        for part in (self.title, self.text):
            part.setAlignment(Qt.AlignmentFlag.AlignHCenter)
            part.setWordWrap(True)
            part.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Minimum)
            column.addWidget(part)
        column.addSpacing(8)
        row = QHBoxLayout()
        row.addStretch(1)
        for action in actions:
            row.addWidget(action)
        row.addStretch(1)
        column.addLayout(row)
        column.addStretch(3)
