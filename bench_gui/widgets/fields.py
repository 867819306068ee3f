"""Fields, buttons and sections that look the same in every task and say what they are to everybody."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from PySide6.QtCore import QEvent, QLocale, QObject, QSignalBlocker, QSize, Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent, QPainter, QPaintEvent, QValidator, QWheelEvent
from PySide6.QtWidgets import (
    QAbstractButton,
    QComboBox,
    QDoubleSpinBox,
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QSizePolicy,
    QSpinBox,
    QToolButton,
    QToolTip,
    QVBoxLayout,
    QWidget,
)

from bench_gui.headless.words import printed
from core.units import AngleUnit, typeset

FIELD_WIDTH = 118
SPACING = 6
MARGIN = 12

W = TypeVar("W", bound=QWidget)


def describe(widget: W, name: str, tip: str) -> W:
    """Give a widget its accessible name and its tool tip."""
    widget.setAccessibleName(name)
    widget.setToolTip(tip)
    return widget


def label(text: str = "", role: str = "") -> QLabel:
    """A label in one of the style sheet's roles: muted, heading, title, reading, empty, fault."""
    made = QLabel(text)
    if role:
        made.setProperty("role", role)
    return made


def caption_of(field: QWidget, text: str) -> QLabel:
    """A muted label that belongs to a field, also for a screen reader."""
    made = label(text, "muted")
    made.setBuddy(field)
    return made


class ElidedLabel(QLabel):
    """A line that is cut with an ellipsis when there is no room; its tool tip holds the whole of it."""

    def setText(self, text: str) -> None:
        """Show a text, and all of it in the tool tip."""
        super().setText(text)
        self.setToolTip(text)

    def minimumSizeHint(self) -> QSize:
        """Any width will do."""
        return QSize(0, super().minimumSizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw what fits."""
        painter = QPainter(self)
        text = self.fontMetrics().elidedText(self.text(), Qt.TextElideMode.ElideRight, self.width())
        self.style().drawItemText(
            painter, self.rect(), int(self.alignment()), self.palette(), self.isEnabled(), text, self.foregroundRole()
        )


def button(text: str, tip: str, clicked: Callable[[], object], kind: str = "") -> QPushButton:
    """A push button; kind: primary, flat, stop or none."""
    made = QPushButton(text)
    if kind:
        made.setProperty("kind", kind)
    # Reached by the tab key; a click leaves the focus where it is, also when the button is then disabled.
    made.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    made.clicked.connect(lambda: clicked())
    return describe(made, text.replace("&", "").strip("… "), tip)


def tool(name: str, tip: str, kind: str = "flat") -> QToolButton:
    """A tool button without an action yet."""
    made = QToolButton()
    made.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    made.setProperty("kind", kind)
    return describe(made, name, tip)


def rule() -> QFrame:
    """A thin horizontal line."""
    line = QFrame()
    line.setProperty("role", "rule")
    return line


def restyle(widget: QWidget, name: str, value: str) -> None:
    """Change a property the style sheet selects by."""
    if widget.property(name) != value:
        widget.setProperty(name, value)
        widget.style().unpolish(widget)
        widget.style().polish(widget)


class _NoStrayWheel(QObject):
    """A wheel that scrolls past a field must not change it."""

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Ignore the wheel over a field that does not have the focus."""
        if isinstance(event, QWheelEvent) and isinstance(watched, QWidget) and not watched.hasFocus():
            event.ignore()
            return True
        return False


_WHEEL = _NoStrayWheel()


def _field(widget: W) -> W:
    widget.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
    widget.installEventFilter(_WHEEL)
    return widget


class _Refusing:
    """What `NumberBox` and `WholeBox` do with a number beyond their bounds: keep it in sight, in red, with the bound.

    The value stays the last one that was taken.
    """

    refusal = ""
    """Why the number in sight is not taken; empty when it is."""

    def refuse(self: Any, reason: str) -> None:
        """Mark the field, the reason beside it; an empty reason clears it."""
        if reason != self.refusal:
            self.refusal = reason
            restyle(self, "refused", "yes" if reason else "")
            self.setAccessibleDescription(reason)
            self.show_reason(reason)

    def show_reason(self: Any, reason: str) -> None:
        """Show why the number is refused; a form has a line of its own for it."""
        QToolTip.showText(self.mapToGlobal(self.rect().bottomLeft()), reason, self)

    def setValue(self: Any, value: float) -> None:
        """Show another value, which is taken."""
        super().setValue(value)  # type: ignore[misc]
        self._reconsider()

    def validate(self: Any, text: str, at: int) -> object:
        """Let any number be typed."""
        found = super().validate(text, at)  # type: ignore[misc]
        return (QValidator.State.Intermediate, text, at) if self._bound(text) else found

    def focusOutEvent(self: Any, event: QFocusEvent) -> None:
        """Leave a number beyond the bounds in sight."""
        if self._judge():
            self.lineEdit().event(event)
            QWidget.focusOutEvent(self, event)
        else:
            super().focusOutEvent(event)  # type: ignore[misc]

    def keyPressEvent(self: Any, event: QKeyEvent) -> None:
        """Take the number on Enter, or say why not."""
        if event.key() not in (Qt.Key.Key_Return, Qt.Key.Key_Enter) or not self._judge():
            super().keyPressEvent(event)  # type: ignore[misc]

    def _judge(self: Any) -> bool:
        """Whether the number in sight is refused."""
        bound = self._bound(self.text())
        self.refuse(f"{bound}; still {self.textFromValue(self.value())}{self.suffix()}" if bound else "")
        return bool(bound)

    def _follow(self: Any) -> None:
        self.lineEdit().textChanged.connect(self._reconsider)
        self.valueChanged.connect(self._reconsider)

    def _reconsider(self: Any) -> None:
        if self.refusal and not self._bound(self.text()):
            self.refuse("")

    def _bound(self: Any, text: str) -> str:
        """The bound that a text is beyond, in words; empty for a number within and for what is no number."""
        bare = text.removesuffix(self.suffix()).strip().replace("\N{MINUS SIGN}", "-").replace(",", ".")
        try:
            value = float(bare)
        except ValueError:
            return ""
        if value > self.maximum():
            return f"At most {self.textFromValue(self.maximum())}{self.suffix()}"
        if value < self.minimum():
            return f"At least {self.textFromValue(self.minimum())}{self.suffix()}"
        return ""


def refusals(form: QWidget) -> list[str]:
    """What is wrong with the numbers of a form, e.g. "Duration: At most 600 s; still 6 s"."""
    boxes = [box for box in form.findChildren(QWidget) if isinstance(box, _Refusing)]
    return [f"{cast(QWidget, box).accessibleName()}: {box.refusal}" for box in boxes if box.refusal]


class WholeBox(_Refusing, QSpinBox):
    """A whole number."""

    def __init__(self) -> None:
        super().__init__()
        self._follow()


class NumberBox(_Refusing, QDoubleSpinBox):
    """A number without trailing zeros, with a decimal point everywhere."""

    def __init__(self) -> None:
        super().__init__()
        self.setLocale(QLocale.c())
        self._follow()

    def textFromValue(self, value: float) -> str:
        """Show as many decimals as the number has."""
        text = typeset(f"{value:.{self.decimals()}f}")
        return text.rstrip("0").rstrip(".") if "." in text else text

    def valueFromText(self, text: str) -> float:
        """Read a number with either minus sign."""
        return super().valueFromText(text.replace("−", "-"))

    def validate(self, text: str, at: int) -> object:
        """Let either minus sign be typed."""
        state, *_ = cast(tuple[QValidator.State, str, int], super().validate(text.replace("−", "-"), at))
        return state, text, at


class AngleBox(NumberBox):
    """A number that is an angle or an angular speed: radians inside, shown in the unit a person chose."""

    radians_changed = Signal(float)
    """A person entered another value [rad, rad/s]; changing the unit is no such change."""

    def __init__(self, unit: AngleUnit, radians: float, lower: float, upper: float, per: str = "") -> None:
        """radians, lower, upper in rad; per: what follows the unit, e.g. "/s"."""
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
        """Show another value without telling anybody."""
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
    """A field for an angle [rad] or, with per="/s", an angular speed, shown in `unit`."""
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
    """A field for a number with its unit; "1": it has none."""
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
    """A field for a whole number; special: what the lowest value is shown as."""
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
    """A field to choose one of several; items: text and data."""
    box = _field(QComboBox())
    box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
    box.setMinimumContentsLength(8)
    for text, data in items or ():
        box.addItem(text, data)
    return describe(box, name, tip)


def preset_row(*buttons: QPushButton) -> QHBoxLayout:
    """Row of buttons that each choose several settings at once."""
    row = QHBoxLayout()
    row.setSpacing(6)
    row.addWidget(label("Preset", "muted"))
    for one in buttons:
        row.addWidget(one)
    row.addStretch(1)
    return row


class Section(QWidget):
    """A heading with rows of label and field below it."""

    def __init__(self, title: str) -> None:
        super().__init__()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(SPACING)
        self.heading = label(title.upper(), "heading")
        column.addWidget(self.heading)
        self._grid = QGridLayout()
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(8)
        self._grid.setVerticalSpacing(SPACING)
        self._grid.setColumnStretch(0, 1)
        column.addLayout(self._grid)

    def row(self, text: str, field: QWidget) -> QLabel:
        """Add a labelled field; text: words or a symbol such as "v_S". Returns the label."""
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
        """Add a widget or a row of widgets over the whole width."""
        if isinstance(part, QWidget):
            self._grid.addWidget(part, self._row(), 0, 1, 2)
        else:
            self._grid.addLayout(part, self._row(), 0, 1, 2)

    def _row(self) -> int:
        """The next free row but one: below each field there is room for why its number is refused."""
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
    """What is missing here, and the button that supplies it."""

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
