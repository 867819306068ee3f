"""Folders of results: where a session keeps them, how their files are read and written, who works on one."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, TypedDict

from core.atomic import write_atomically
from core.errors import IdentificationError
from core.sealed import parse_sealed, sealed_text

FOLDER = "results"
"""Folder of a session that holds one folder an identification."""
RESULT = "result.json"
RECORD = "identification.json"
CROSSVALIDATION = "crossvalidation.json"
CROSSVALIDATION_REQUEST = "crossvalidation_request.json"
"""Says which searches a folder's studies are of, so that they are gone on with and not mixed with others."""
CROSSVALIDATION_FITS = "crossvalidation_fits.json"
"""Fits of a cross-validation that is not complete."""
CERTAINTY = "certainty.json"
LOCK = ".identifying"
FOLDER_TIME = "%Y-%m-%dT%H-%M-%S"
"""How the name of an identification's folder begins."""

OnProgress = Callable[[float, str], None]
"""Called with the share that is done, 0 … 1, and what is going on."""


class Stops(TypedDict):
    """Questions that a computation asks now and then."""

    should_stop: Callable[[], bool]
    should_yield: Callable[[], bool]
    """See `core.identification.identify`."""


def new_result_folder(session: Path) -> Path:
    """A folder for the next identification of a session that can be written to; not created yet."""
    stamp = datetime.now().strftime(FOLDER_TIME)
    wanted = session / FOLDER / stamp
    number = 1
    while wanted.exists():
        number += 1
        wanted = session / FOLDER / f"{stamp}_{number}"
    return wanted


def result_folders(results: Path, file: str = RESULT) -> list[Path]:
    """Folders below a folder of results that hold a file, the newest first; none when it cannot be read."""
    try:
        return sorted((entry for entry in results.iterdir() if (entry / file).is_file()), reverse=True)
    except OSError:
        return []


def read_file(folder: Path, name: str) -> Any:
    """Data of a sealed file; raises OSError and ValueError."""
    return parse_sealed((folder / name).read_text("utf-8"))


def write_file(folder: Path, name: str, data: Any) -> None:
    """Seal a file and replace it as a whole; raises IdentificationError when the folder cannot be written to."""
    text = sealed_text(data)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(folder / name, text.encode())
    except OSError as error:
        raise _refused(folder / name, error) from None


@contextlib.contextmanager
def working_on(folder: Path) -> Iterator[None]:
    """Hold a folder's lock, which a dying holder loses; raises IdentificationError while another process has it."""
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
    """True while a living process holds a folder's lock."""
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
