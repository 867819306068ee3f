"""The record of an identification beside its study: the request, its runs, and how it ended.

With it, an identification that was stopped, or cut short by a closed window or a lost machine, can be continued
later, from the window or with `bench identify --resume`.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from core.base.errors import IdentificationError, ServoBenchError, newer
from core.base.sealed import warn_once
from core.base.words import counted
from core.identification.request import IdentificationRequest
from core.servo.terms import AUTOMATIC
from sessions.results.folder import RECORD, is_worked_on, read_file, result_folders, write_file

FORMAT = "servobench-identification"
VERSION = 1
ENDINGS = ("", "stopped", "failed", "finished")
"""Ways to end; empty while the identification is running, or if it was cut short."""


@dataclass(frozen=True, kw_only=True)
class IdentificationRecord:
    """Request of an identification and the way it ended."""

    folder: Path
    begun: str
    """ISO 8601 with zone."""
    runs: tuple[str, ...]
    request: IdentificationRequest
    """Settings, with the hash of the runs' data."""
    ending: str = ""

    def in_words(self) -> str:
        """Return a description of what can be resumed, e.g. "M1 … M6 from 8 runs, begun 21 Nov 14:03"."""
        models = self.request.models
        span = models[0].upper() if len(models) == 1 else f"{models[0].upper()} … {models[-1].upper()}"
        count = counted(len(self.runs), "run")
        return f"{span} from {count}, begun {datetime.fromisoformat(self.begun):%d %b %H:%M}"

    def write(self) -> None:
        """Write the record in its folder atomically.

        Raises:
            IdentificationError: if the folder is not writable.
        """
        data = {
            "format": FORMAT,
            "version": VERSION,
            "begun": self.begun,
            "runs": list(self.runs),
            "request": self.request.to_json(),
            "ending": self.ending,
        }
        write_file(self.folder, RECORD, data)

    def ended(self, ending: str) -> IdentificationRecord:
        """Write the ending and return the new record."""
        record = replace(self, ending=ending)
        record.write()
        return record


def begin_record(folder: Path, runs: tuple[str, ...], request: IdentificationRequest) -> IdentificationRecord:
    """Write and return the record of an identification that begins now."""
    begun = datetime.now().astimezone().isoformat(timespec="seconds")
    record = IdentificationRecord(folder=folder, begun=begun, runs=runs, request=request)
    record.write()
    return record


def read_record(folder: Path) -> IdentificationRecord:
    """Read a folder's record.

    Raises:
        IdentificationError: if there is none that can be read.
    """
    place = folder / RECORD
    try:
        data: Any = read_file(folder, RECORD)
        if data["format"] != FORMAT or (data["version"] <= VERSION and data["ending"] not in ENDINGS):
            raise ValueError("unknown format")
        if data["version"] > VERSION:
            raise ValueError(newer(f"format {data['version']}"))
        return IdentificationRecord(
            folder=folder,
            begun=datetime.fromisoformat(data["begun"]).isoformat(),
            runs=tuple(str(run) for run in data["runs"]),
            request=IdentificationRequest.from_json(data["request"]),
            ending=data["ending"],
        )
    except OSError as error:
        raise IdentificationError(f"{place}: cannot be read ({error.strerror or error})") from None
    except (ValueError, KeyError, TypeError, RecursionError, ServoBenchError) as error:
        raise IdentificationError(f"{place}: not a record of an identification: {error}") from None


def check_resumable(record: IdentificationRecord, request: IdentificationRequest, runs: tuple[str, ...]) -> None:
    """Raise IdentificationError, naming the differences, unless a request and its runs match the record."""
    if set(runs) != set(record.runs):
        raise IdentificationError(
            f"{record.folder} was begun from other runs ({', '.join(record.runs)}); choose the same ones, "
            "or begin a new identification"
        )
    if request.data_hash != record.request.data_hash:
        raise IdentificationError(
            f"the runs of {record.folder} have changed since it was begun (trimmed, replaced or other settings); "
            "begin a new identification"
        )
    # The number of threads does not change a result. A contact that is not given is that of the record.
    free = ("threads", "contact") if request.contact == AUTOMATIC else ("threads",)
    same = [f.name for f in fields(request) if f.name not in free]
    differ = [name for name in same if getattr(request, name) != getattr(record.request, name)]
    if differ:
        raise IdentificationError(
            f"{record.folder} holds an identification with other settings ({', '.join(differ)}); "
            "give the same ones, or choose another folder"
        )


def newest_unfinished(results: Path) -> IdentificationRecord | None:
    """Return the newest identification that can be continued; None if a later one has finished."""
    records: list[IdentificationRecord] = []
    for folder in result_folders(results, RECORD):
        try:
            records.append(read_record(folder))
        except IdentificationError as error:
            warn_once(str(error))
    for record in sorted(records, key=lambda r: datetime.fromisoformat(r.begun), reverse=True):
        if record.ending == "finished":
            return None
        if record.ending in ("", "stopped") and not is_worked_on(record.folder):
            return record
    return None
