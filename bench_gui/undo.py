"""Undo for what a person edits: fields, placed points, notes, layout. Motion is never undone.

Changes of the same thing that follow each other closely are one step, so that dragging a slider or typing a number is
undone at once.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from PySide6.QtGui import QUndoCommand, QUndoStack

COALESCE = 1.0
"""Changes of one thing closer together than this are one step [s]."""


class Edit(QUndoCommand):
    """One value that became another."""

    def __init__(self, text: str, apply: Callable[[Any], object], old: Any, new: Any, key: str = "") -> None:
        """text: what is undone, e.g. "load"; apply(value) makes a value the present one; key names the thing edited."""
        super().__init__(text)
        self._apply, self._old, self._new, self._key = apply, old, new, key
        self._at = time.monotonic()

    def redo(self) -> None:
        """Make the new value the present one."""
        self._apply(self._new)

    def undo(self) -> None:
        """Make the old value the present one."""
        self._apply(self._old)

    def id(self) -> int:
        """Commands with one id may become one; −1 never does."""
        return hash(self._key) & 0x3FFFFFFF if self._key else -1

    def mergeWith(self, other: QUndoCommand) -> bool:
        """Take a later change of the same thing in."""
        if not isinstance(other, Edit) or other._key != self._key or other._at - self._at > COALESCE:
            return False
        self._new, self._at = other._new, other._at
        self.setObsolete(self._old == self._new)
        return True


def change(stack: QUndoStack, text: str, apply: Callable[[Any], object], old: Any, new: Any, key: str = "") -> None:
    """Apply a new value so that it can be undone; nothing happens when it is the old one."""
    if old != new:
        stack.push(Edit(text, apply, old, new, key))
