"""Buttons that start what a form describes, and start nothing while a number of the form is refused."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton, QWidget

from bench_gui.widgets.fields import REFUSALS, Refusing, describe, refusals, refused_fields


def held_by(*forms: QWidget) -> bool:
    """Take over what is being typed into the forms; if a number is refused, go to its field and return True."""
    for form in forms:
        for box in form.findChildren(QWidget):
            if isinstance(box, Refusing) and box.isVisibleTo(form):
                box.settle()
    refused = refused_fields(*forms)
    if refused:
        refused[0].setFocus(Qt.FocusReason.OtherFocusReason)
        refused[0].show_reason(refused[0].refusal)
    return bool(refused)


class StartButton(QPushButton):
    """Button that names the refused field of its forms instead of what it starts.

    Menus and shortcuts start the same without the button, so the started function itself asks `held_by`.
    """

    def __init__(
        self, text: str, tip: str, start: Callable[[], object], *forms: QWidget, kind: str = "primary"
    ) -> None:
        """Create the button; forms: their fields describe what it starts; kind: as for `button`."""
        super().__init__()
        self._forms, self._text, self._tip = forms, text, tip
        if kind:
            self.setProperty("kind", kind)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        describe(self, text.strip("… "), tip)
        self.clicked.connect(lambda: start())
        REFUSALS.changed.connect(self._show)
        self._show()

    def setText(self, text: str) -> None:
        """Set the text shown while no field is refused."""
        self._text = text
        self._show()

    def setToolTip(self, tip: str) -> None:
        """Set the tooltip shown while no field is refused."""
        self._tip = tip
        self._show()

    def _show(self) -> None:
        refused, reasons = refused_fields(*self._forms), refusals(*self._forms)
        super().setText(f"Correct {refused[0].accessibleName()}" if refused else self._text)
        super().setToolTip(reasons[0] if reasons else self._tip)
