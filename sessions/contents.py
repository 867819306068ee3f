"""What a source brings into a session: recordings, what is noted about them, and documents."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from core.recording import Recording
from sessions.annotations import Annotation
from sessions.documents import DOCUMENT_NAMES
from sessions.errors import SessionError
from sessions.store import Session

OWN_DOCUMENTS = tuple(name for name in DOCUMENT_NAMES if name != "annotations")
"""Documents a session has one of; annotations belong to runs and go with them."""


@dataclass(frozen=True)
class Contents:
    """Everything in a file or a session that can be taken over."""

    recordings: Sequence[Recording]
    annotations: Mapping[str, Annotation] = field(default_factory=dict)
    """By id of the recording."""
    documents: Mapping[str, Any] = field(default_factory=dict)
    """Of OWN_DOCUMENTS, those there are."""
    damage: str = ""
    """Sentence about the runs that cannot be read, see `Selection.damage`."""


def contents_of(session: Session) -> Contents:
    """Read everything in a session but damaged runs.

    Raises SessionError for a damaged document, and for a damaged run where no other one is left.
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
    """Documents that sources bring and a session, None for a new one, does not have yet; the first source's count."""
    found: dict[str, Any] = {}
    for source in sources:
        for name, data in source.documents.items():
            if name not in found and (session is None or session.document(name) is None):
                found[name] = data
    return found


def store_contents(
    session: Session, sources: Sequence[Contents], stored: Callable[[int, str], None] | None = None
) -> list[str]:
    """Add what sources bring to a session, all of it or nothing; return the new runs' ids. Raises ServoBenchError.

    A document the session has already stays as it is. stored: as in `Session.add_all`.
    """
    recordings = [recording for source in sources for recording in source.recordings]
    noted = [source.annotations.get(recording.id) for source in sources for recording in source.recordings]
    for recording, note in zip(recordings, noted, strict=True):
        if note is not None:
            recording.trimmed(note.trim_begin, note.trim_end)
    documents = missing_documents(session, sources)
    with session.adding(recordings, stored=stored) as ids:
        annotations = {identity: note for identity, note in zip(ids, noted, strict=True) if note is not None}
        try:
            # Before the runs appear: a note on a run that never came is harmless, a run without its note is not.
            session.annotate_added(annotations)
            for name, data in documents.items():
                session.set_document(name, data)
        except BaseException:
            with contextlib.suppress(SessionError):
                session.annotate_added(dict.fromkeys(annotations, Annotation()))
            for name in documents:
                with contextlib.suppress(SessionError):
                    session.set_document(name, None)
            raise
    return ids
