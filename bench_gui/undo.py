"""Undo for edits of the user: fields, placed points, notes, layout. Motion is never undone.

Consecutive changes of the same value within a short time are one step, so that dragging a slider or typing a number is
undone as a whole.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from PySide6.QtGui import QUndoCommand, QUndoStack

COALESCE = 1.0
"""Time within which changes of one value are one step [s]."""


class Edit(QUndoCommand):
    """Change of one value."""

    def __init__(self, text: str, apply: Callable[[Any], object], old: Any, new: Any, key: str = "") -> None:
        """Create a change.

        Args:
            text: Name of the undo step, e.g. "load".
            apply: Sets the value.
            old: Value before the change.
            new: Value after the change.
            key: Name of the edited value; consecutive changes of one key are merged.
        """
        super().__init__(text)
        self._apply, self._old, self._new, self._key = apply, old, new, key
        self._at = time.monotonic()

    def redo(self) -> None:
        """Set the new value."""
        self._apply(self._new)

    def undo(self) -> None:
        """Set the old value."""
        self._apply(self._old)

    def id(self) -> int:
        """Return the id of commands that may be merged; −1 for none."""
        return hash(self._key) & 0x3FFFFFFF if self._key else -1

    def mergeWith(self, other: QUndoCommand) -> bool:
        """Merge a later change of the same value."""
        if not isinstance(other, Edit) or other._key != self._key or other._at - self._at > COALESCE:
            return False
        self._new, self._at = other._new, other._at
        self.setObsolete(self._old == self._new)
        return True


def change(stack: QUndoStack, text: str, apply: Callable[[Any], object], old: Any, new: Any, key: str = "") -> None:
    """Apply a new value as an undo step, unless it equals the old one."""
    if old != new:
        stack.push(Edit(text, apply, old, new, key))
