"""A whole session in one .h5 file, to be sent or archived: one group per run, with exactly the content of its own file.

Documents are included as the bytes of their files; annotations only for the runs in the file.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import IO

import h5py
import numpy as np

from core.base.atomic import put_in_place, sweep, temporary_file
from sessions.annotations import chosen_only
from sessions.documents import DOCUMENT_NAMES, encoded
from sessions.errors import SessionError, cause, shown
from sessions.header import storable
from sessions.opening import DOCUMENTS_GROUP
from sessions.run_file.schema import SESSION_FORMAT, image, write_origin
from sessions.run_file.trailer import append_trailer
from sessions.source_contents import contents_of, store_contents
from sessions.store import Session

ROOM = 2**20
"""Space kept free for HDF5's own needs [bytes]."""
ROOM_PER_RUN = 65_536
"""Additional space of a run in the exported file, compared with its own file [bytes]."""


def export_single(session: Session, path: str | Path, ids: Iterable[str] | None = None) -> Path:
    """Write runs into one file that `Session.open` reads.

    Args:
        session: Session to export.
        path: File to write.
        ids: Runs to export; None for all that can be read.

    Returns:
        The path of the file.

    Raises:
        SessionError: if the file exists, a named run or a document is damaged, or the disk refuses. Nothing is left
            behind then.
    """
    target = Path(path)
    chosen = [identity for identity, _ in session.readable()] if ids is None else list(ids)
    if target.exists():
        raise SessionError(f"{shown(target)}: the file exists; name a new one")
    sweep(target.parent)
    try:
        with temporary_file(target) as reserved:
            _write_reserved(reserved, image(lambda file: _lay_out(file, session, chosen)), _room(session, chosen))
            aside = Path(reserved.name)
            # Our own lock marks the file as being written; HDF5's would be in its way.
            with h5py.File(aside, "r+", locking=False) as file:
                for identity in chosen:
                    session.load(identity)
                    with session.run_group(identity) as group:
                        file.copy(group, file["runs"], name=identity)
            append_trailer(aside)
            put_in_place(aside, target)
    except (OSError, RuntimeError, ValueError) as error:
        raise SessionError(f"{shown(target)}: the session cannot be exported ({cause(error)})") from None
    return target


def import_single(path: str | Path, session: Session) -> list[str]:
    """Add everything in an exported file to a session.

    Returns:
        The ids of the runs in the session.

    Raises:
        ServoBenchError: if something cannot be added; then nothing is.
    """
    return store_contents(session, [contents_of(Session.open(path))])


def _write_reserved(file: IO[bytes], content: bytes, room: int) -> None:
    """Write a new file with reserved space after its content, as HDF5 does not survive a full disk; raises OSError.

    On a system that cannot reserve space, the space is assumed to be there.
    """
    file.write(content)
    file.flush()
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), 0, len(content) + room)


def _room(session: Session, ids: list[str]) -> int:
    """Return an upper bound of the size of runs in an exported file [bytes]."""
    if session.read_only:
        return ROOM + os.path.getsize(session.path)
    known = {run.id: session.path / run.file for run in session.runs()}
    missing = [identity for identity in ids if identity not in known]
    if missing:
        raise SessionError(f"{shown(session.path)}: there is no run {shown(str(missing[0]))}")
    return ROOM + sum(os.path.getsize(known[identity]) + ROOM_PER_RUN for identity in ids)


def _lay_out(file: h5py.File, session: Session, ids: list[str]) -> None:
    file.attrs["format"] = SESSION_FORMAT
    write_origin(file)
    file.attrs["uid"], file.attrs["title"] = storable(session.uid), storable(session.title)
    file.attrs["created"] = storable(session.created)
    file.create_group("runs")
    folder = file.create_group(DOCUMENTS_GROUP)
    for name in DOCUMENT_NAMES:
        data = session.document(name)
        if name == "annotations" and data is not None:
            data = chosen_only(data, ids) or None
        if data is not None:
            content = np.frombuffer(encoded(name, data, session.path), np.uint8)
            dataset = folder.create_dataset(name, data=content, fletcher32=True, chunks=(len(content),))
            dataset.attrs["units"] = "1"
            dataset.attrs["description"] = "bytes of a JSON text in UTF-8"
