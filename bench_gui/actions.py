"""What a person can ask for, as data: each action once, for its menu, its keys and the command palette."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class ActionSpec:
    """One action. A page lists its own in `TaskPage.actions_offered`; the window makes menus and palette of them."""

    text: str
    """As it reads in the palette, e.g. "Abort the run"; "&" marks a menu's letter."""
    act: Callable[[], object]
    keys: str = ""
    """Shortcut, e.g. "Ctrl+R"; empty for none. No two actions share one."""
    tip: str = ""
    enabled: Callable[[], bool] | None = None
    """Asked each time a menu or the palette opens; None: always."""
