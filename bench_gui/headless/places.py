"""Where the window puts what a person did not name a place for."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path

from core.errors import IdentificationError
from sessions.results.folder import FOLDER, result_folders

HOME_VARIABLE = "SERVOBENCH_HOME"
"""Environment variable that moves everything elsewhere."""


def home() -> Path:
    """The folder that holds unnamed sessions; need not exist yet."""
    return Path(os.environ.get(HOME_VARIABLE) or Path.home() / "ServoBench")


def new_session_folder(servo: str) -> Path:
    """A free place for a new session with a servo."""
    stem = f"{datetime.now():%Y-%m-%d_%H-%M}_{servo}"
    number = 1
    folder = home() / stem
    while folder.exists():
        number += 1
        folder = home() / f"{stem}_{number}"
    return folder


def as_person_writes(path: Path) -> str:
    """A path as text, the person's own folder as ~."""
    return f"~/{path.relative_to(Path.home())}" if path.is_relative_to(Path.home()) else str(path)


def results_home(session: Path) -> Path:
    """The folder under which results of a session are kept: itself, or for one exported file a place of its own."""
    return session if session.is_dir() else home() / session.stem


def result_folder(session: Path, name: str | None = None) -> Path:
    """Folder of an identification: the name of one that a session keeps, or any folder; None: the newest one.

    Raises IdentificationError when none is kept.
    """
    kept = results_home(session) / FOLDER
    if name is not None:
        return kept / name if (kept / name).is_dir() else Path(name)
    folders = result_folders(kept)
    if not folders:
        raise IdentificationError(f"{session}: no identification is kept there; make one, or name its folder")
    return folders[0]


MOST_RECENT = 10


def remember(recent: list[str], path: Path) -> list[str]:
    """The sessions opened last with this one first; those that are gone are left out."""
    this = str(path.absolute())
    others = [other for other in recent if other != this and Path(other).exists()]
    return [this, *others][:MOST_RECENT]
