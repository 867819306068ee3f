"""Contents of a session, read when it is opened, including remains of a crash."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from core.servo.model import ServoModel
from sessions import SessionError
from sessions.folders import as_person_writes

if TYPE_CHECKING:
    from sessions import Annotation, RunSummary, Session

EXPORTED, GONE = "Read-only: this is an exported file", " is gone: "
"""A whole reason of `locked`, and a part of others."""


@dataclass(frozen=True)
class Recovery:
    """Remains of a crash, found when the session was opened."""

    runs: tuple[RunSummary, ...]
    """Interrupted runs, now complete files."""
    damaged: tuple[str, ...]
    """Unreadable files that were moved aside, one line each."""
    postponed: tuple[str, ...]
    """Files that could not be recovered yet, one line each."""


@dataclass(frozen=True, eq=False)
class Contents:
    """Contents of a session at the time of opening."""

    session: Session
    runs: list[RunSummary]
    annotations: dict[str, Annotation]
    troubles: list[str]
    models: list[ServoModel]
    damaged: Mapping[str, str] = field(default_factory=dict)
    """Id of each unreadable run → reason."""
    locked: str = ""
    """See `locked`."""


def read_contents(
    session: Session,
    models: list[ServoModel] | None = None,
    progress: Callable[[int, int], object] = lambda read, total: None,
) -> Contents:
    """Read everything that the window shows of a session; unreadable files are listed and do not raise.

    progress: as for `Session.runs`.
    """
    runs = session.runs(progress)
    troubles = session.problems()
    try:
        annotations = session.annotations()
    except SessionError:
        # Already in `problems`.
        annotations = {}
    return Contents(session, runs, annotations, troubles, models or [], session.damaged(), locked(session))


def locked(session: Session) -> str:
    """Return why nothing can be written into a session, in one line; empty if it can."""
    places = session.path, session.path / "runs"
    if session.gone:
        return f"{'File' if session.read_only else 'Folder'}{GONE}{as_person_writes(session.path)}"
    if session.read_only:
        return EXPORTED
    return "" if all(os.access(place, os.W_OK) for place in places) else "Read-only: this folder is write-protected"


def recovery_of(contents: Contents) -> Recovery | None:
    """Return the recovered remains of a crash, None if there were none."""
    report = contents.session.recovery
    runs = tuple(run for run in contents.runs if run.id in report.recovered)
    if not (runs or report.damaged or report.postponed):
        return None
    return Recovery(runs, report.damaged, report.postponed)
