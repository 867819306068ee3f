"""What to do with files and folders that were dropped on the window or chosen: open them, import them, or say why not.

One session, as a folder or exported as one file, is opened; recordings, and folders of them, are imported, as are
sessions that come together with anything else.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

SESSION_FILE = "session.json"
"""What makes a folder a session."""
SINGLE = ".h5"
ENDINGS = (".json", ".json.gz", ".csv", ".csv.gz", ".tsv", ".npz", ".parquet", SINGLE)
"""Of files that can be imported or opened."""


@dataclass(frozen=True)
class Dropped:
    """What dropped paths turned out to be."""

    opens: Path | None = None
    """A session to open; nothing is imported then."""
    imports: tuple[Path, ...] = ()
    refused: tuple[str, ...] = ()
    """One line for each path nothing can be done with."""


def may_take(paths: Iterable[Path]) -> bool:
    """Whether any of these could be taken, by their names alone: cheap enough to ask while something is dragged."""
    return any(path.name.lower().endswith(ENDINGS) or os.path.isdir(path) for path in paths)


def classify(paths: Iterable[Path]) -> Dropped:
    """Look at paths; reads the beginning of .h5 files, so call it where files may be read."""
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
    # Of os.path, which takes a folder one may not look into for nothing instead of raising.
    if os.path.isdir(path):
        return ""
    if not os.path.isfile(path):
        return "there is no such file"
    if not path.name.lower().endswith(ENDINGS):
        return f"no recording; recordings end in {', '.join(ENDINGS)}"
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
        # A single run, or a damaged file: the import tells which.
        return False
    return True
