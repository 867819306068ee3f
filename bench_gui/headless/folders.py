"""Default locations of sessions, settings and results."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path

from core.base.errors import IdentificationError
from sessions.results.folder import FOLDER, result_folders

HOME_VARIABLE = "SERVOBENCH_HOME"
"""Environment variable that overrides the location."""


def home() -> Path:
    """Return the folder of sessions without a chosen location; it may not exist yet."""
    return Path(os.environ.get(HOME_VARIABLE) or Path.home() / "ServoBench")


def new_session_folder(servo: str) -> Path:
    """Return an unused path for a new session of a servo."""
    stem = f"{datetime.now():%Y-%m-%d_%H-%M}_{servo}"
    number = 1
    folder = home() / stem
    while folder.exists():
        number += 1
        folder = home() / f"{stem}_{number}"
    return folder


def as_person_writes(path: Path) -> str:
    """Return a path as text, with the home folder as ~."""
    return f"~/{path.relative_to(Path.home())}" if path.is_relative_to(Path.home()) else str(path)


def results_home(session: Path) -> Path:
    """Return the folder for results of a session: the session itself, or a separate folder for an exported file."""
    return session if session.is_dir() else home() / session.stem


def result_folder(session: Path, name: str | None = None) -> Path:
    """Return the folder of an identification.

    Args:
        session: The session.
        name: Name of an identification in the session, or any folder; None: the newest one of the session.

    Raises:
        IdentificationError: The session has no identification.
    """
    kept = results_home(session) / FOLDER
    if name is not None:
        return kept / name if (kept / name).is_dir() else Path(name)
    folders = result_folders(kept)
    if not folders:
        raise IdentificationError(f"{session}: no identification found; run bench identify, or name its folder")
    return folders[0]


MOST_RECENT = 10


def remember(recent: list[str], path: Path) -> list[str]:
    """Return the recently opened sessions with this one first and without deleted ones."""
    this = str(path.absolute())
    others = [other for other in recent if other != this and Path(other).exists()]
    return [this, *others][:MOST_RECENT]
