"""Button with a menu of check boxes; its text shows the choice."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QPushButton

from bench_gui.widgets.fields import FIELD_WIDTH, describe

LONGEST = 16
"""Longest text of the choice on the button [characters]; a longer one becomes a count."""


class ChecksMenu(QPushButton):
    """Button with a menu of check boxes."""

    changed = Signal()

    def __init__(self, name: str, tip: str, items: Sequence[tuple[str, str, str]]) -> None:
        """Create the button; items: key, short text and long text of each."""
        super().__init__()
        self._name, self._tip = name, tip
        self._short = {key: short for key, short, _ in items}
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setFixedWidth(FIELD_WIDTH)
        menu = QMenu(self)
        menu.setToolTipsVisible(True)
        self.choices: dict[str, QAction] = {}
        for key, _, text in items:
            action = QAction(text, menu)
            action.setCheckable(True)
            action.toggled.connect(lambda _: self._tell())
            menu.addAction(action)
            self.choices[key] = action
        self.setMenu(menu)
        self._tell()

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
        self.setText(short or "none")
        describe(self, self._name, f"{self._tip}: {text or 'none'}")
        self.changed.emit()
