"""What is read of a session when it is opened, where files may be read, and what a crash had left in it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from core.model import ServoModel
    from sessions import Annotation, RunSummary, Session


@dataclass(frozen=True)
class Recovery:
    """What a crash had left behind when the session was opened."""

    runs: tuple[RunSummary, ...]
    """Runs that were being recorded, now finished files."""
    damaged: tuple[str, ...]
    """Files that could not be read and were kept aside, one line each."""
    postponed: tuple[str, ...]
    """What could not be recovered now and stays as it is, one line each."""


@dataclass(frozen=True, eq=False)
class Contents:
    """A session as it is read when it is opened."""

    session: Session
    runs: list[RunSummary]
    annotations: dict[str, Annotation]
    troubles: list[str]
    models: list[ServoModel]
    damaged: Mapping[str, str] = field(default_factory=dict)
    """Run id to why it cannot be read."""
    locked: str = ""
    """Why nothing can be written into the session; empty when it can."""


def read_contents(
    session: Session,
    models: list[ServoModel] | None = None,
    progress: Callable[[int, int], object] = lambda read, total: None,
) -> Contents:
    """Everything the window shows of a session; files in it that cannot be read are troubles, no failure.

    progress: as for `Session.runs`.
    """
    from sessions import SessionError

    runs = session.runs(progress)
    troubles = session.problems()
    try:
        annotations = session.annotations()
    except SessionError:
        # `problems` has named it.
        annotations = {}
    return Contents(session, runs, annotations, troubles, models or [], session.damaged(), _locked(session))


def _locked(session: Session) -> str:
    if session.read_only:
        return "This is an exported file, which is read-only"
    if all(os.access(place, os.W_OK) for place in (session.path, session.path / "runs")):
        return ""
    return "You may not write into this folder"


def recovery_of(contents: Contents) -> Recovery | None:
    """What opening the session recovered; None when there was nothing to recover."""
    report = contents.session.recovery
    runs = tuple(run for run in contents.runs if run.id in report.recovered)
    if not (runs or report.damaged or report.postponed):
        return None
    return Recovery(runs, report.damaged, report.postponed)
