"""List of choices with check boxes; its text shows those that are checked."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtGui import QAction, QWheelEvent
from PySide6.QtWidgets import QMenu

from bench_gui.widgets.fields import FIELD_WIDTH, ElidedComboBox, describe
from core.servo.terms import FRICTION_MODELS, FRICTION_TITLES

LONGEST = 16
"""Longest text of the choice in the field [characters]; a longer one becomes a count."""


class ChecksMenu(ElidedComboBox):
    """Field that opens a menu of check boxes in place of a list."""

    changed = Signal()

    def __init__(self, name: str, tip: str, items: Sequence[tuple[str, str, str]]) -> None:
        """Create the field; items: key, short text and long text of each."""
        super().__init__()
        self._name, self._tip = name, tip
        self._short = {key: short for key, short, _ in items}
        self.setFixedWidth(FIELD_WIDTH)
        self.addItem("")
        self._menu = menu = QMenu(self)
        menu.setToolTipsVisible(True)
        self.choices: dict[str, QAction] = {}
        for key, _, text in items:
            action = QAction(text, menu)
            action.setCheckable(True)
            action.toggled.connect(lambda _: self._tell())
            menu.addAction(action)
            self.choices[key] = action
        self._tell()

    def showPopup(self) -> None:
        """Open the menu."""
        self._menu.popup(self.mapToGlobal(self.rect().bottomLeft()))

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Let the page scroll."""
        event.ignore()

    @property
    def checked(self) -> tuple[str, ...]:
        """Keys of the checked and allowed items, in the menu's order."""
        return tuple(key for key in self.wanted if self.choices[key].isEnabled())

    @property
    def wanted(self) -> tuple[str, ...]:
        """Keys of the checked items, also of those that are not allowed now."""
        return tuple(key for key, action in self.choices.items() if action.isChecked())

    def check(self, keys: Sequence[str]) -> None:
        """Check exactly these items."""
        for key, action in self.choices.items():
            action.setChecked(key in keys)

    def allow(self, key: str, reason: str = "") -> None:
        """Allow an item, or disable it with a reason."""
        action = self.choices[key]
        action.setToolTip(reason or action.text())
        if action.isEnabled() == bool(reason):
            action.setEnabled(not reason)
            self._tell()

    def _tell(self) -> None:
        chosen = self.checked
        text = ", ".join(self._short[key] for key in chosen)
        count, every = len(chosen), len(self.choices)
        short = text if len(text) <= LONGEST else f"all {every}" if count == every else f"{count} of {every}"
        self.setItemText(0, short or "none")
        describe(self, self._name, f"{self._tip}: {text or 'none'}")
        self.changed.emit()


def friction_menu(name: str, tip: str, checked: Sequence[str]) -> ChecksMenu:
    """Return a menu of the friction models."""
    items = [(each, each.upper(), f"{each.upper()}  {FRICTION_TITLES[each]}") for each in FRICTION_MODELS]
    menu = ChecksMenu(name, tip, items)
    menu.check(checked)
    return menu
