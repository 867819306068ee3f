"""Contents of a source that is added to a session: recordings, their annotations, and documents."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from core.motion.recording import Recording
from sessions.annotations import Annotation
from sessions.documents import DOCUMENT_NAMES
from sessions.errors import SessionError
from sessions.store import Session

OWN_DOCUMENTS = tuple(name for name in DOCUMENT_NAMES if name != "annotations")
"""Documents of which a session has one each; annotations belong to runs and go with them."""


@dataclass(frozen=True)
class Contents:
    """Everything that can be taken over from a file or a session."""

    recordings: Sequence[Recording]
    annotations: Mapping[str, Annotation] = field(default_factory=dict[str, Annotation])
    """Annotations by id of the recording."""
    documents: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The documents among OWN_DOCUMENTS that exist."""
    damage: str = ""
    """Sentence about the runs that cannot be read, see `Selection.damage`."""


def contents_of(session: Session) -> Contents:
    """Read everything in a session except damaged runs.

    Raises:
        SessionError: for a damaged document, or if all runs are damaged.
    """
    for problem in session.document_problems():
        raise SessionError(problem)
    documents = {name: data for name in OWN_DOCUMENTS if (data := session.document(name)) is not None}
    recordings = [run for _, run in session.readable()]
    damaged = session.damaged()
    if damaged and not recordings:
        raise SessionError(next(iter(damaged.values())))
    return Contents(recordings, session.annotations(), documents, session.damage())


def missing_documents(session: Session | None, sources: Sequence[Contents]) -> dict[str, Any]:
    """Return the documents that sources bring and a session does not have yet; the first source's are used.

    Args:
        session: The session; None for a new one.
        sources: What is to be added.
    """
    found: dict[str, Any] = {}
    for source in sources:
        for name, data in source.documents.items():
            if name not in found and (session is None or session.document(name) is None):
                found[name] = data
    return found


def store_contents(
    session: Session, sources: Sequence[Contents], stored: Callable[[int, str], None] | None = None
) -> list[str]:
    """Add sources to a session, all or nothing.

    A document that the session has already stays as it is.

    Args:
        session: Session to add to.
        sources: What to add.
        stored: See `Session.add_all`.

    Returns:
        The ids of the new runs.

    Raises:
        ServoBenchError: if something cannot be stored; then nothing is added.
    """
    recordings = [recording for source in sources for recording in source.recordings]
    noted = [source.annotations.get(recording.id) for source in sources for recording in source.recordings]
    for recording, note in zip(recordings, noted, strict=True):
        if note is not None:
            recording.trimmed(note.trim_begin, note.trim_end)
    documents = missing_documents(session, sources)
    ids: list[str] = []
    annotations: dict[str, Annotation] = {}
    written: list[str] = []
    try:
        with session.adding(recordings, stored=stored) as ids:
            annotations = {identity: note for identity, note in zip(ids, noted, strict=True) if note is not None}
            # Before the runs appear: a note on a run that was never stored is harmless, a run without its note is not.
            session.annotate_added(annotations)
            for name, data in documents.items():
                written.append(name)
                session.set_document(name, data)
    except BaseException:
        if not session.are_committed(ids):
            with contextlib.suppress(SessionError):
                session.annotate_added(dict.fromkeys(annotations, Annotation()))
            for name in written:
                with contextlib.suppress(SessionError):
                    session.set_document(name, None)
        raise
    return ids
