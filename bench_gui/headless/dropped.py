"""Handling of dropped or chosen files and folders: open, import, or refuse with a reason.

A single session (folder or exported file) is opened. Recordings and folders of recordings are imported, and so are
sessions dropped together with anything else.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

SESSION_FILE = "session.json"
"""File that marks a folder as a session."""
SINGLE = ".h5"
ENDINGS = (".json", ".json.gz", ".csv", ".csv.gz", ".tsv", ".npz", ".parquet", SINGLE)
"""File name endings that can be imported or opened."""


@dataclass(frozen=True)
class Dropped:
    """Classified paths."""

    opens: Path | None = None
    """Session to open; nothing is imported then."""
    imports: tuple[Path, ...] = ()
    refused: tuple[str, ...] = ()
    """One line for each unusable path."""


def may_take(paths: Iterable[Path]) -> bool:
    """Return whether any path looks usable by its name; cheap enough for use during a drag."""
    return any(path.name.lower().endswith(ENDINGS) or os.path.isdir(path) for path in paths)


def classify(paths: Iterable[Path]) -> Dropped:
    """Classify paths; reads the beginning of .h5 files, so call it outside the window's thread."""
    sessions: list[Path] = []
    others: list[Path] = []
    refused: list[str] = []
    for path in dict.fromkeys(paths):
        trouble = _trouble(path)
        if trouble:
            refused.append(f"{path.name or path}: {trouble}")
        elif _is_session(path):
            sessions.append(path)
        else:
            others.append(path)
    if len(sessions) == 1 and not others:
        return Dropped(opens=sessions[0], refused=tuple(refused))
    return Dropped(imports=(*sessions, *others), refused=tuple(refused))


def _trouble(path: Path) -> str:
    # os.path returns False for a folder without permission, where pathlib raises.
    if os.path.isdir(path):
        return ""
    if not os.path.isfile(path):
        return "there is no such file"
    if not path.name.lower().endswith(ENDINGS):
        return f"not a recording; recordings end in {', '.join(ENDINGS)}"
    return ""


def _is_session(path: Path) -> bool:
    if os.path.isdir(path):
        return os.path.isfile(path / SESSION_FILE)
    if not path.name.lower().endswith(SINGLE):
        return False
    from sessions import Session, SessionError

    try:
        Session.open(path)
    except SessionError:
        # A single run or a damaged file; the import distinguishes them.
        return False
    return True
