"""Facts of a run besides its samples, and the forms in which they can be stored and named."""

from __future__ import annotations

import math
import re
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache
from importlib import metadata
from typing import Any, cast

import numpy as np

from core.base.errors import InputError
from core.base.guards import is_finite, is_object
from core.motion.recording import STATUS_WORDS, Recording, RunHeader
from core.servo.bench import Bench
from core.servo.settings import ServoSettings
from sessions.errors import shown

EXIT_STATUSES = tuple(STATUS_WORDS)
MAX_TEXT = 2000
"""Longest text stored as an attribute; HDF5 limits their sum."""


@dataclass(frozen=True, kw_only=True)
class RunFacts:
    """Everything known about a run except its samples."""

    id: str
    trajectory: str
    bench: Bench
    settings: ServoSettings
    provenance: Mapping[str, Any] = field(default_factory=dict[str, Any])
    uid: str = field(default_factory=lambda: str(uuid.uuid4()))
    started: str = ""
    """ISO 8601, with the zone if known; empty if unknown."""
    finished: str = ""
    exit_status: str = ""
    reason: str = ""
    git_revision: str = ""
    rate: float = 0.0
    """Nominal sampling rate [Hz]; 0 if unknown."""
    rows_dropped: int = 0
    """Rows dropped on sealing, because time stood still or a required channel was not a number."""

    @classmethod
    def from_header(cls, run_id: str, header: RunHeader) -> RunFacts:
        """Return the facts of a run that starts now.

        Raises:
            InputError: for values that cannot be stored.
        """
        rate = plain(header.rate)
        if not _is_rate(rate):
            raise InputError(f"run {run_id}: a sampling rate of {header.rate} Hz is not possible")
        facts = cls.from_provenance(run_id, header.trajectory, header.bench, header.settings, header.provenance)
        return replace(facts, started=facts.started or now(), rate=float(rate))

    @classmethod
    def from_recording(cls, run_id: str, recording: Recording, exit_status: str | None) -> RunFacts:
        """Return the facts of an existing run.

        Args:
            run_id: Id of the run.
            recording: The run.
            exit_status: None keeps the recording's own.

        Raises:
            InputError: for values that cannot be stored.
        """
        facts = cls.from_provenance(
            run_id, recording.trajectory, recording.bench, recording.settings, recording.provenance
        )
        return replace(facts, exit_status=exit_status or facts.exit_status or "success")

    @classmethod
    def from_provenance(
        cls,
        run_id: str,
        trajectory: str,
        bench: Bench,
        settings: ServoSettings,
        provenance: Mapping[str, Any],
    ) -> RunFacts:
        """Extract the facts from a provenance; values that cannot be facts stay in it."""
        rest = dict(plain(provenance))
        known: dict[str, Any] = {}
        for name, possible in _FACTS.items():
            if possible(rest.get(name)):
                value = rest.pop(name)
                known[name] = storable(value) if isinstance(value, str) else value
        return cls(
            id=run_id,
            trajectory=storable(trajectory),
            bench=Bench.from_json(plain(bench.to_json())),
            settings=checked_settings(plain(settings.to_json())),
            provenance=rest,
            **known,
        )

    def full_provenance(self) -> dict[str, Any]:
        """Return the provenance of the Recording: the stored one and all known facts."""
        known = {name: value for name in _FACTS if (value := getattr(self, name))}
        return {**self.provenance, **known}


def now() -> str:
    """Return the current time, ISO 8601 with zone."""
    return datetime.now().astimezone().isoformat(timespec="milliseconds")


@cache
def creator_version() -> str:
    """Return the version of this program."""
    try:
        return metadata.version("servobench")
    except metadata.PackageNotFoundError:
        return "unknown"


def run_id(number: int, trajectory: str, kp: float) -> str:
    """Return a readable name that every file system accepts, e.g. "0001_sin_sin_kp400"."""
    slug = re.sub(r"[^A-Za-z0-9-]+", "_", trajectory).strip("_-")[:48] or "run"
    gain = re.sub(r"[^0-9A-Za-z.-]", "", f"{kp:g}")
    return f"{number:04d}_{slug}_kp{gain}"


def is_run_id(text: object) -> bool:
    """Return True if a text can be a run's id, and thus a file name of a run."""
    return isinstance(text, str) and re.fullmatch(r"\d{4,9}(_[A-Za-z0-9._-]{1,100})?", text, re.ASCII) is not None


def plain(value: Any) -> Any:
    """Convert a value to what JSON can hold: numpy numbers to numbers, unknown objects to their text."""
    if is_object(value):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item) for item in cast("Iterable[Any]", value)]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)


def storable(text: str) -> str:
    """Return a text that HDF5 can store: without zero bytes and lone surrogates."""
    return text[:MAX_TEXT].encode("utf-8", "replace").decode().replace("\0", "")


SETTING_TEXTS = ("servo", "actuator")
"""Servo settings that are text; all others are numbers."""


def checked_settings(data: Mapping[str, Any]) -> ServoSettings:
    """Return servo settings from plain data.

    Raises:
        InputError: for unknown names and values that are not finite.
    """
    for name, value in data.items():
        valid = isinstance(value, str) if name in SETTING_TEXTS else is_finite(value)
        if not valid:
            raise InputError(f"servo settings: {name} = {shown(str(value))[:40]} is not possible")
    return ServoSettings.from_json(data)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _is_rate(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value <= 1e9


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**31


_FACTS: dict[str, Callable[[Any], bool]] = {
    "uid": _is_text,
    "started": _is_text,
    "finished": _is_text,
    "exit_status": EXIT_STATUSES.__contains__,
    "reason": _is_text,
    "git_revision": _is_text,
    "rate": _is_rate,
    "rows_dropped": _is_count,
}
FACT_NAMES = tuple(_FACTS)
"""Facts that a run's file stores as attributes and a Recording carries in its provenance."""
