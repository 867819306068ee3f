"""Recognition of session folders and files, and the contents of an exported file besides its runs' samples."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from core.base.guards import is_object
from core.base.sealed import is_edited
from sessions.documents import MAX_DOCUMENT, decoded
from sessions.errors import SessionError, UnreadableError, cause, shown
from sessions.index import Listing
from sessions.run_file.schema import (
    FORMAT_VERSION,
    SESSION_FORMAT,
    check_format,
    check_version,
    hard_member,
    opened,
    read_values,
    reading,
    text_attribute,
)
from sessions.run_file.summary import RunSummary, read_summary

SESSION_NAME = "session.json"
DOCUMENTS_GROUP = "documents"
"""Group of an exported file with a dataset for each document, which holds exactly the bytes of its file."""


def check_creatable(folder: Path) -> None:
    """Raise SessionError unless a session can be created at this path: nothing there, or an empty folder."""
    if not is_creatable(folder):
        what = "already a session" if (folder / SESSION_NAME).exists() else "not an empty folder"
        raise SessionError(f"{shown(folder)}: this is {what}; name a new folder for the session")


def is_creatable(folder: Path) -> bool:
    """Return True if a session can be created at this path.

    Raises:
        SessionError: if the path cannot be read.
    """
    try:
        if not folder.is_dir():
            return not folder.exists() and not folder.is_symlink()
        return all(_began_here(entry) for entry in folder.iterdir())
    except (OSError, ValueError) as error:
        raise SessionError(f"{shown(folder)}: the folder cannot be read ({cause(error)})") from None


def _began_here(entry: Path) -> bool:
    """Return True if an interrupted creation left this file or folder behind."""
    return (entry.name == "runs" and not any(entry.iterdir())) or entry.match(f".{SESSION_NAME}.*.tmp")


def folder_facts(folder: Path) -> dict[str, Any]:
    """Return the facts in a session folder's own file.

    Raises:
        SessionError: if it is missing, damaged or cannot be read.
    """
    place = folder / SESSION_NAME
    try:
        with place.open("rb") as file:
            facts = json.loads(file.read(1_000_000))
    except FileNotFoundError:
        raise SessionError(f"{shown(folder)}: this is not a session, it has no {SESSION_NAME}") from None
    except OSError as error:
        raise SessionError(f"{shown(place)}: the session cannot be opened ({cause(error)})") from None
    except (ValueError, RecursionError):
        raise UnreadableError(
            f"{shown(place)}: damaged; delete it, create a session elsewhere and import the files in runs/"
        ) from None
    checked = _checked_facts(facts, place)
    is_edited(facts, shown(place))
    return checked


def _checked_facts(facts: Any, place: Path) -> dict[str, Any]:
    with reading(place):
        if not is_object(facts) or facts.get("format") != SESSION_FORMAT:
            raise UnreadableError(f"this is not a {SESSION_FORMAT} file")
        check_version(facts.get("format_version"))
        for name in ("uid", "title", "created"):
            if not isinstance(facts.get(name), str):
                raise UnreadableError(f"{name} is missing or not a text")
    return dict(facts)


def exported_facts(path: Path) -> dict[str, Any]:
    """Return the facts of the session in an exported file.

    Raises:
        SessionError: if it is not an exported session or cannot be read.
    """
    with opened(path) as file:
        check_format(file, SESSION_FORMAT)
        facts = {name: text_attribute(file, name) for name in ("uid", "title", "created")}
    return _checked_facts({**facts, "format": SESSION_FORMAT, "format_version": FORMAT_VERSION}, path)


def exported_listing(path: Path) -> Listing:
    """Return the runs in an exported file.

    Raises:
        SessionError: if the file cannot be read.
    """
    found: list[RunSummary] = []
    damaged: dict[str, str] = {}
    with opened(path, checked=False) as file:
        runs = hard_member(file, "runs", h5py.Group)
        for name in sorted(runs, key=lambda name: (len(name.split("_")[0]), name)):
            try:
                with reading(path):
                    summary = read_summary(hard_member(runs, name, h5py.Group), f"runs/{name}")
                    if summary.id != name:
                        raise UnreadableError(f"{shown(name)} holds run {summary.id}")
                    found.append(summary)
            except SessionError as error:
                damaged[name] = str(error)
    return Listing(tuple(found), damaged)


def exported_document(path: Path, name: str) -> Any | None:
    """Read a document of an exported file, None if it has none.

    Raises:
        SessionError: if the document is damaged or cannot be read.
    """
    with opened(path, checked=False) as file:
        if DOCUMENTS_GROUP not in file:
            return None
        group = hard_member(file, DOCUMENTS_GROUP, h5py.Group)
        if name not in group:
            return None
        dataset = hard_member(group, name, h5py.Dataset)
        if dataset.dtype != np.uint8 or dataset.ndim != 1 or dataset.shape[0] > MAX_DOCUMENT:
            raise UnreadableError(f"{name} is not a text; export the session again")
        content = read_values(dataset, name).tobytes()
    return decoded(content, name, path)
