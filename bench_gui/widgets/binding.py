"""Binding of widgets to the fields of a dataclass: read and set together, with one signal for every edit."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Any, TypeVar, cast

from PySide6.QtCore import QObject, QSignalBlocker, Signal
from PySide6.QtWidgets import QCheckBox, QComboBox, QDoubleSpinBox, QLineEdit, QSpinBox, QWidget

from bench_gui.widgets.fields import AngleBox, choice, describe, number, whole
from core.identification.options import options_of

W = TypeVar("W", bound=QWidget)


class Binding(QObject):
    """Widgets by the field they edit.

    binding = Binding()
    binding.bind("repeats", whole("Repeats", "Searches for each model", 1, 1, 50))
    binding.show(settings)
    settings = replace(settings, **binding.values())
    """

    edited = Signal(str)
    """Emitted with the field's name when the user edits its widget."""

    def __init__(self) -> None:
        super().__init__()
        self.widgets: dict[str, Any] = {}
        self.last: dict[str, Any] = {}
        """Values after the last edit or `restore`; they outlive the widgets."""
        self._read: dict[str, Callable[[], Any]] = {}
        self._show: dict[str, Callable[[Any], object]] = {}

    def bind(self, name: str, widget: W, *, scale: float = 1.0, optional: bool = False) -> W:
        """Bind a widget to a field and return the widget.

        Args:
            name: field.
            widget: its editor.
            scale: size of the shown unit in SI units.
            optional: the number 0 and the empty text stand for None.
        """
        read, show, changed = _access(widget)
        if scale != 1.0:
            unscaled_read, unscaled_show = read, show
            read, show = (lambda: scale * unscaled_read()), (lambda value: unscaled_show(value / scale))
        self.widgets[name] = widget
        self._read[name] = (lambda: read() or None) if optional else read
        self._show[name] = (lambda value: show(value or type(read())())) if optional else show
        self.last[name] = self._read[name]()
        changed.connect(lambda *_: self._edit(name))
        return widget

    def add(self, kind: type, name: str) -> Any:
        """Make and bind the widget of an option, see `Option`; kind: dataclass with the option."""
        field, option = options_of(kind)[name]
        if option.choices:
            items: list[tuple[str, object]] = [(title, value) for value, title in option.choices.items()]
            return self.bind(name, choice(option.title, option.tip, items))
        if isinstance(field.default, bool):
            return self.bind(name, describe(QCheckBox(option.title), option.title, option.tip))
        lower, upper = option.lower / option.scale, option.upper / option.scale
        default = cast(float, field.default or 0) / option.scale
        if "float" in str(field.type):
            made = number(
                option.title, option.tip, option.unit, default, lower, upper, option.decimals, option.step
            )  # fmt: skip
        else:
            made = whole(option.title, option.tip, int(default), int(lower), int(upper), unit=option.unit)
            made.setSingleStep(int(option.step))
        made.setSpecialValueText(option.automatic)
        return self.bind(name, made, scale=option.scale, optional=field.default is None)

    def values(self) -> dict[str, Any]:
        """Values of all bound fields."""
        return {name: read() for name, read in self._read.items()}

    def restore(self, data: Mapping[str, Any]) -> None:
        """Show what `values` returned, possibly after a way through JSON; all of it or nothing.

        Raises:
            LookupError, TypeError, ValueError: A widget does not have the field or cannot show its value.
        """
        before = self.values()
        wanted = {name: tuple(value) if isinstance(value, list) else value for name, value in data.items()}
        try:
            for name, value in wanted.items():
                self._show[name](value)
                shown = self._read[name]()
                if shown != value and not (isinstance(value, float) and math.isclose(shown, value)):
                    raise ValueError(f"{name} cannot be {value!r}")
        except (LookupError, TypeError, ValueError):
            for name, value in before.items():
                self._show[name](value)
            raise
        finally:
            self.last = self.values()

    def show(self, data: object) -> None:
        """Show the fields of a dataclass without emitting `edited`."""
        with self.quiet():
            for name, show in self._show.items():
                show(getattr(data, name))

    def quiet(self) -> ExitStack:
        """Return a context in which bound widgets change without signals."""
        stack = ExitStack()
        for widget in self.widgets.values():
            stack.enter_context(QSignalBlocker(widget))
        return stack

    def _edit(self, name: str) -> None:
        self.last[name] = self._read[name]()
        self.edited.emit(name)


def _access(widget: Any) -> tuple[Callable[[], Any], Callable[[Any], object], Any]:
    """Reader and writer of a widget's value, and its change signal."""
    if hasattr(widget, "checked"):  # several check boxes, as in a `ChecksMenu`
        return lambda: widget.checked, widget.check, widget.changed
    if isinstance(widget, QComboBox):
        return (
            widget.currentData,
            lambda value: widget.setCurrentIndex(widget.findData(value)),
            widget.currentIndexChanged,
        )
    if isinstance(widget, AngleBox):
        return lambda: widget.radians, widget.set_radians, widget.radians_changed
    if isinstance(widget, QSpinBox | QDoubleSpinBox):
        return widget.value, widget.setValue, widget.valueChanged
    if isinstance(widget, QLineEdit):
        return lambda: widget.text().strip(), widget.setText, widget.textChanged
    return widget.isChecked, widget.setChecked, widget.toggled
