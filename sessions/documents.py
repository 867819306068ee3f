"""Documents that the user adds to a session beside its runs: small JSON files that are replaced as a whole.

    annotations.json      notes, tags, exclusion and trimming by run id, see sessions.annotations
    placed_points.json    points placed by hand
    plan.json             runs to be recorded

Each file states its kind and version; its content belongs to the caller. Reading is strict: standard JSON, bounded in
size and depth. A file that fails is damaged and stays where it is until a new one is written; then it is kept as
`<name>.json.damaged`. A file of a newer version is neither read nor replaced. Writers take turns by a lock. Readers
need none, because a file is replaced atomically.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import stat
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from core.base.atomic import write_atomically
from core.base.errors import InputError, newer
from core.base.guards import is_object
from core.base.sealed import is_edited, sealed_text
from sessions.annotations import annotations_from
from sessions.errors import NewerFormatError, SessionError, UnreadableError, cause, shown
from sessions.strict_json import parse_json, storable
from sessions.writing.locks import held

LOG = logging.getLogger(__name__)

DOCUMENT_NAMES = ("annotations", "placed_points", "plan")
DOCUMENT_VERSION = 1
"""Version of the documents' layout; a file of a higher version is refused."""

MAX_DOCUMENT = 16 * 1024 * 1024
"""Largest document [bytes]; notes on 10,000 runs take about two million."""

LOCK_NAME = ".documents.lock"
PATIENCE = 10.0
"""Longest time that a writer waits for another one [s]; writing takes milliseconds."""

_NOTED = re.compile(rb'"(\d{4,8})(?:_[^"\\]{1,100})?"\s*:')


def check_name(name: str) -> None:
    """Raise SessionError unless there is a document of this name."""
    if name not in DOCUMENT_NAMES:
        raise SessionError(f"there is no document {shown(str(name))!r}; there are {', '.join(DOCUMENT_NAMES)}")


def read_document(folder: Path, name: str) -> Any | None:
    """Read a document of a session folder, None if there is none.

    Raises:
        UnreadableError: for a damaged document.
        NewerFormatError: for one of a newer version.
        SessionError: if the disk refuses.
    """
    path = _path(folder, name)
    try:
        content = _bounded(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise SessionError(f"{shown(path)}: cannot be read ({cause(error)}); check its permissions") from None
    return decoded(content, name, path)


def salvaged_document(folder: Path, name: str) -> Any | None:
    """Return the content of a document whose only damage is an invalid meaning; None for any other damage."""
    try:
        return _unwrapped(_bounded(_path(folder, name)), name)["data"]
    except (InputError, OSError):
        return None


def noted_numbers(folder: Path) -> set[int]:
    """Return the numbers of annotated runs. No new run may inherit the note of a run whose file was deleted."""
    try:
        content = _bounded(_path(folder, "annotations"))
    except OSError:
        return set()
    return {int(number) for number in _NOTED.findall(content)}


@contextlib.contextmanager
def writing(folder: Path) -> Generator[None]:
    """Lock out other writers of documents, in this and in other processes.

    Raises:
        SessionError: if the lock cannot be taken in time.
    """
    try:
        with held(folder / LOCK_NAME, PATIENCE):
            yield
    except OSError as error:
        raise SessionError(f"{shown(folder)}: nothing can be written there now ({cause(error)})") from None


def replace_document(folder: Path, name: str, content: bytes | None) -> None:
    """Write a document made by `encoded`, or remove it; call it inside `writing`.

    A damaged file is kept aside.

    Raises:
        NewerFormatError: if the existing file is of a newer version, which is left alone.
        SessionError: if the existing file cannot be read.
        OSError: if the disk refuses.
    """
    path = _path(folder, name)
    kept: Path | None = None
    try:
        read_document(folder, name)
    except UnreadableError as error:
        kept = keep_aside(path, error)
    try:
        if content is None:
            path.unlink(missing_ok=True)
        else:
            write_atomically(path, content)
    except OSError:
        if kept is not None:
            kept.rename(path)
        raise


def keep_aside(path: Path, reason: Exception) -> Path:
    """Rename a damaged document to make place for a new one.

    Raises:
        OSError: if the disk refuses.
    """
    target = path.with_name(f"{path.name}.damaged")
    extra = 1
    while os.path.lexists(target):
        extra += 1
        target = path.with_name(f"{path.name}.damaged.{extra}")
    path.rename(target)
    LOG.warning("%s; the file is kept as %s", reason, shown(target.name))
    return target


def encoded(name: str, data: Any, place: Path) -> bytes:
    """Return the bytes of a document.

    Raises:
        SessionError: for data that would not be read back unchanged.
    """
    whole = {"format": _format(name), "format_version": DOCUMENT_VERSION, "data": data}
    try:
        _check_plain(data)
        content = sealed_text(whole, indent=1).encode()
        _check_meaning(name, _unwrapped(content, name)["data"])
    except (InputError, ValueError) as error:
        raise SessionError(f"{shown(place)}: {name} cannot be stored: {cause(error)}") from None
    except RecursionError:
        raise SessionError(f"{shown(place)}: {name} cannot be stored: nested too deep") from None
    return content


def decoded(content: bytes, name: str, place: Path) -> Any:
    """Return the data in the bytes of a document; the inverse of `encoded`.

    Raises:
        UnreadableError: for a damaged document, naming the place.
        NewerFormatError: for one of a newer version, naming the place.
    """
    try:
        whole = _unwrapped(content, name)
        data = whole["data"]
        _check_meaning(name, data)
    except NewerFormatError as error:
        raise NewerFormatError(f"{shown(place)}: {error}") from None
    except InputError as error:
        if place.name == f"{name}.json":
            message = f"damaged ({cause(error)}); repair the file, or delete it to start again"
        else:
            message = f"{name} is damaged ({cause(error)}); export the session again"
        raise UnreadableError(f"{shown(place)}: {message}") from None
    is_edited(whole, shown(place))
    return data


def _unwrapped(content: bytes, name: str) -> dict[str, Any]:
    """Return the object in a document's bytes, without checking its meaning; raises InputError, NewerFormatError."""
    if len(content) > MAX_DOCUMENT:
        raise InputError(f"larger than {MAX_DOCUMENT // 2**20} MB")
    whole = parse_json(content)
    if not is_object(whole) or whole.get("format") != _format(name) or "data" not in whole:
        raise InputError(f"it is not a {_format(name)} file")
    version = whole.get("format_version")
    if type(version) is not int or version < 1:
        raise InputError("the format version is missing")
    if version > DOCUMENT_VERSION:
        raise NewerFormatError(f"{name} {newer(f'format {version}, this one reads up to {DOCUMENT_VERSION}')}")
    return storable(whole, "the document", MAX_DOCUMENT)


def _check_meaning(name: str, data: Any) -> None:
    """Raise InputError for data that a document of this name cannot hold."""
    if name == "annotations":
        annotations_from(data)


def _path(folder: Path, name: str) -> Path:
    return folder / f"{name}.json"


def _format(name: str) -> str:
    return f"servobench-{name.replace('_', '-')}"


def _bounded(path: Path) -> bytes:
    """Return a file's content, at most one byte beyond MAX_DOCUMENT; empty for pipes and devices."""
    with open(path, "rb", opener=unblocked) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            return b""
        return file.read(MAX_DOCUMENT + 1)


def unblocked(path: str, flags: int) -> int:
    """Open a file without waiting for the other end of a pipe."""
    return os.open(path, flags | os.O_NONBLOCK)


def _check_plain(value: Any) -> None:
    """Raise InputError for data that JSON would change: keys that are not text, objects of other types."""
    if isinstance(value, Mapping):
        for key, item in cast("Mapping[Any, Any]", value).items():
            if not isinstance(key, str):
                raise InputError(f"the key {shown(str(key))[:40]} is not a text")
            _check_plain(item)
    elif isinstance(value, (list, tuple)):
        for item in cast("Sequence[Any]", value):
            _check_plain(item)
    elif value is not None and not isinstance(value, (bool, int, float, str)):
        raise InputError(f"{type(value).__name__} cannot be stored in JSON; convert it to numbers, texts and lists")
