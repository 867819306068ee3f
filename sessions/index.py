"""List of a session's runs, cached in index.json so that 10,000 runs need not be opened to be listed.

The index is only a cache. Each entry is keyed by file name, size and modification time. Missing or outdated entries are
read again from the runs, and an index that cannot be read or written is ignored. Runs that could not be read are not
cached: each process tries them again. Writers of runs never touch the index, so two processes cannot lose each
other's entries.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from core.base.atomic import write_atomically
from core.base.errors import ServoBenchError
from core.base.sealed import parse_sealed, sealed_text
from sessions.errors import UnreadableError, shown
from sessions.header import is_run_id
from sessions.run_file.schema import FORMAT_VERSION, opened
from sessions.run_file.summary import RunSummary, read_summary
from sessions.writing.locks import number_of

INDEX_NAME = "index.json"
READS_PER_WRITE = 50
"""Entries of the index whose writing costs about as much as reading one run."""

Key = tuple[int, int]
"""Size and modification time [ns] of a run's file."""


@dataclass(frozen=True)
class Listing:
    """The runs of a session at one moment, in the order of their numbers."""

    runs: tuple[RunSummary, ...]
    damaged: Mapping[str, str]
    """Runs whose file cannot be read: id to the reason, one line."""


class RunIndex:
    """The runs of one session folder; reads only files that changed."""

    def __init__(self, session: Path) -> None:
        self._path = session / INDEX_NAME
        self._runs = session / "runs"
        self._entries: dict[str, tuple[Key, RunSummary | str]] | None = None
        self._unsaved = 0

    def listing(self, on_progress: Callable[[int, int], object] = lambda read, total: None) -> Listing:
        """Return the runs that are on the disk now.

        Args:
            on_progress: Called after each file with the number of files read and the number of runs. It may raise to
                stop; entries read so far are kept.

        Raises:
            ServoBenchError: if the folder cannot be read.
        """
        if self._entries is None:
            self._entries = _load(self._path)
        known, current = self._entries, _scan(self._runs)
        entries: dict[str, tuple[Key, RunSummary | str]] = {}
        read = 0
        try:
            for name, key in current.items():
                entry = known.get(name)
                if entry is None or entry[0] != key:
                    entry = (key, _read(self._runs / name))
                    read += 1
                    on_progress(read, len(current))
                entries[name] = entry
        finally:
            # Saving costs more the longer the index is, so a few changes to a long one are not saved yet.
            self._unsaved += read + len(known.keys() - current.keys())
            self._entries = entries if len(entries) == len(current) else {**known, **entries}
            if self._unsaved * READS_PER_WRITE >= len(entries) and self._unsaved:
                self._save()
        found = {name: entry for name, (_, entry) in entries.items()}
        return Listing(
            tuple(item for item in found.values() if isinstance(item, RunSummary)),
            {name.removesuffix(".h5"): item for name, item in found.items() if isinstance(item, str)},
        )

    def note_damaged(self, run: str, why: str) -> None:
        """List a run as unreadable, although its file has not changed since it was listed."""
        name = f"{run}.h5"
        if self._entries is not None and name in self._entries:
            self._entries[name] = (self._entries[name][0], why)
            self._save()

    def forget(self) -> None:
        """Drop all entries; the next listing reads the saved index."""
        if self._entries is not None and self._unsaved:
            self._save()
        self._entries = None

    def _save(self) -> None:
        entries = {
            name: [*key, asdict(item)]
            for name, (key, item) in (self._entries or {}).items()
            if isinstance(item, RunSummary)
        }
        text = sealed_text({"format_version": FORMAT_VERSION, "runs": entries}, indent=None)
        with contextlib.suppress(OSError):
            write_atomically(self._path, text.encode())
        self._unsaved = 0


def _scan(runs: Path) -> dict[str, Key]:
    """Return the finished runs in a folder, in the order of their numbers."""
    found: list[tuple[int, str, Key]] = []
    try:
        with os.scandir(runs) as entries:
            for entry in entries:
                name = entry.name
                number = number_of(name)
                if number is None or not name.endswith(".h5") or not is_run_id(name.removesuffix(".h5")):
                    continue
                with contextlib.suppress(FileNotFoundError):
                    status = entry.stat()
                    found.append((number, name, (status.st_size, status.st_mtime_ns)))
    except OSError as error:
        raise UnreadableError(f"{shown(runs)}: the runs cannot be listed ({error.strerror})") from None
    found.sort()
    return {name: key for _, name, key in found}


def _read(path: Path) -> RunSummary | str:
    try:
        with opened(path) as file:
            summary = read_summary(file, f"runs/{path.name}")
            if summary.id != path.name.removesuffix(".h5"):
                raise UnreadableError(f"the file was renamed, it holds run {shown(summary.id)}")
            return summary
    except ServoBenchError as error:
        return str(error)


def _load(path: Path) -> dict[str, tuple[Key, RunSummary | str]]:
    """Read a saved index; empty if it is missing, old or damaged."""
    try:
        data: Any = parse_sealed(path.read_bytes())
        if data["format_version"] != FORMAT_VERSION:
            return {}
        entries: dict[str, tuple[Key, RunSummary | str]] = {}
        for name, (size, modified, item) in data["runs"].items():
            entries[name] = ((size, modified), RunSummary.from_json(item))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}
    return entries
