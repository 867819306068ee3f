"""Folders of results: their place in a session, reading and writing their files, and their locks."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Callable, Generator
from datetime import datetime
from pathlib import Path
from typing import Any, TypedDict

from core.base.atomic import write_atomically
from core.base.errors import IdentificationError
from core.base.sealed import parse_sealed, sealed_text
from sessions.folders import home

FOLDER = "results"
"""Folder of a session with one subfolder per identification."""
RESULT = "result.json"
RECORD = "identification.json"
CROSSVALIDATION = "crossvalidation.json"
CROSSVALIDATION_REQUEST = "crossvalidation_request.json"
"""Names the searches of a folder's studies, so that these are continued and not mixed with others."""
CROSSVALIDATION_FITS = "crossvalidation_fits.json"
"""Fits of a cross-validation that is not complete."""
CERTAINTY = "certainty.json"
DIAGNOSIS = "diagnosis.json"
LOCK = ".identifying"
FOLDER_TIME = "%Y-%m-%dT%H-%M-%S"
"""Prefix of the name of an identification's folder."""

OnProgress = Callable[[float, str], None]
"""Called with the share done, 0 … 1, and a description of the current step."""


class Stops(TypedDict):
    """Callbacks that a computation polls."""

    should_stop: Callable[[], bool]
    should_yield: Callable[[], bool]
    """See `core.identification.identify`."""


def new_result_folder(session: Path) -> Path:
    """Return a writable folder for the next identification of a session; it is not created yet."""
    stamp = datetime.now().strftime(FOLDER_TIME)
    wanted = session / FOLDER / stamp
    number = 1
    while wanted.exists():
        number += 1
        wanted = session / FOLDER / f"{stamp}_{number}"
    return wanted


def result_folders(results: Path, file: str = RESULT) -> list[Path]:
    """Return the folders of results that contain a file, the newest first; empty if they cannot be listed."""
    try:
        return sorted((entry for entry in results.iterdir() if (entry / file).is_file()), reverse=True)
    except OSError:
        return []


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


def read_file(folder: Path, name: str) -> Any:
    """Return the data of a sealed file.

    Raises:
        OSError: if it cannot be read.
        ValueError: if its content is not valid.
    """
    return parse_sealed((folder / name).read_text("utf-8"))


def write_file(folder: Path, name: str, data: Any) -> None:
    """Write a sealed file atomically.

    Raises:
        IdentificationError: if the folder is not writable.
    """
    text = sealed_text(data)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(folder / name, text.encode())
    except OSError as error:
        raise _refused(folder / name, error) from None


@contextlib.contextmanager
def working_on(folder: Path) -> Generator[None]:
    """Hold a folder's lock, which is freed when its holder dies.

    Raises:
        IdentificationError: if another process has it.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise _refused(folder, error) from None
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise IdentificationError(f"{folder}: another process identifies here; wait for it or stop it") from None
        yield
    finally:
        os.close(descriptor)


def is_worked_on(folder: Path) -> bool:
    """Return True while a living process holds a folder's lock."""
    try:
        descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _refused(place: Path, error: OSError) -> IdentificationError:
    return IdentificationError(
        f"{place}: cannot be written ({error.strerror or error}); make the folder writable, or choose another"
    )
