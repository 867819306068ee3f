"""Actions of the user as data, declared once for menu, shortcut and command palette."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class ActionSpec:
    """An action; pages list theirs in `TaskPage.actions_offered` for the menus and the palette."""

    text: str
    """Text, e.g. "Abort the run"; "&" marks the mnemonic."""
    act: Callable[[], object]
    keys: str = ""
    """Unique shortcut, e.g. "Ctrl+R"; empty for none."""
    tip: str = ""
    enabled: Callable[[], bool] | None = None
    """Called each time a menu or the palette opens; None: always enabled."""
