"""Layout of a run inside HDF5: one group, the same in a run's own file and in an exported session.

    /                    attributes: format, creator, times, uid, exit status, hashes; bench and settings as JSON
    /provenance          JSON text: who recorded it, when, and with which equipment
    /channels/<name>     (n,) one dataset per channel, with `units` and `description`, fletcher32

A finished file ends with a line outside HDF5, see sessions.run_file.trailer. Attribute names follow NeXus (creator,
file_time, HDF5_Version) and bluesky (uid, exit_status). Everything read back is checked, because a file may have any
origin.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import math
import os
import platform
from collections.abc import Callable, Generator, Iterable, Mapping
from numbers import Real
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from core.base.errors import InputError, ServoBenchError, newer
from core.base.guards import is_object
from core.motion.recording import CHANNELS, RECORDED_CHANNELS, REQUIRED_CHANNELS, Recording
from core.servo.bench import Bench
from core.servo.catalogue import adopt_servo
from sessions.errors import NewerFormatError, SessionError, UnreadableError, cause, shown
from sessions.header import FACT_NAMES, RunFacts, checked_settings, creator_version, is_run_id, now, plain, storable
from sessions.run_file.sandbox import read_values, survive
from sessions.run_file.trailer import check_trailer

FORMAT_VERSION = 1
"""Version of the layout of runs and sessions; a file of a higher version is refused."""

RUN_FORMAT = "servobench-run"
SESSION_FORMAT = "servobench-session"
PROVENANCE_HASH = "provenance_sha256"
"""Attribute with the SHA-256 of the provenance's text; missing in runs of earlier versions."""
MAX_SAMPLES = 50_000_000
"""Most rows in a file (14 hours at 1 kHz); more count as damage."""

CHUNK_ROWS = 16_384
CHANNEL_DTYPES = {channel.name: np.dtype(channel.kind).newbyteorder("<") for channel in CHANNELS}
RECORDED_DTYPES = {channel.name: CHANNEL_DTYPES[channel.name] for channel in RECORDED_CHANNELS}
"""Types of the channels that the recorder writes."""
_NOT_THE_FILES_FAULT = frozenset(
    {errno.ENOENT, errno.EACCES, errno.EPERM, errno.EISDIR, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN}
)

Channels = Mapping[str, NDArray[Any]]


def canonical_channels(channels: Channels, run: str) -> dict[str, NDArray[Any]]:
    """Return a run's channels in the store's order and types, without empty ones.

    Raises:
        SessionError: for an unknown channel, or one with values that its type cannot hold.
    """
    unknown = [name for name in channels if name not in CHANNEL_DTYPES]
    if unknown:
        raise SessionError(
            f"run {run}: there is no channel {shown(str(unknown[0]))}; see core.motion.recording.CHANNELS"
        )
    result: dict[str, NDArray[Any]] = {}
    for name, dtype in CHANNEL_DTYPES.items():
        if name not in channels:
            continue
        given = np.asarray(channels[name])
        with np.errstate(invalid="ignore"):
            values = given.astype(dtype)
        if not np.array_equal(values, given, equal_nan=dtype.kind == "f"):
            raise SessionError(f"run {run}: channel {name} holds values that {dtype.name} cannot hold")
        if name in REQUIRED_CHANNELS or dtype.kind != "f" or not np.all(np.isnan(values)):
            result[name] = values
    return result


def channels_sha256(channels: Channels) -> str:
    """Return the SHA-256 over names, types, lengths and bytes of canonical channels."""
    digest = hashlib.sha256()
    for name, values in channels.items():
        digest.update(f"{name}:{values.dtype.str}:{len(values)}\n".encode())
        digest.update(np.ascontiguousarray(values).data)
    return digest.hexdigest()


def content_sha256(facts: RunFacts, channels_hash: str) -> str:
    """Return the SHA-256 over conditions and channels, all that a simulation needs; never id, uid, times or path."""
    conditions = {
        "trajectory": facts.trajectory,
        "bench": _as_floats(facts.bench.to_json()),
        "settings": _as_floats(facts.settings.to_json()),
        "channels": channels_hash,
    }
    return hashlib.sha256(json.dumps(conditions, sort_keys=True).encode()).hexdigest()


def recording_sha256(recording: Recording) -> tuple[str, str]:
    """Return `channels_sha256` and `content_sha256` of a recording as it would be stored.

    Raises:
        SessionError: for a channel that cannot be stored.
    """
    facts = RunFacts.from_recording(recording.id, recording, None)
    channels_hash = channels_sha256(canonical_channels(recording.channels, recording.id))
    return channels_hash, content_sha256(facts, channels_hash)


def _as_floats(data: Mapping[str, Any]) -> dict[str, Any]:
    return {name: float(value) if isinstance(value, (int, float)) else value for name, value in data.items()}


# Writing


def image(fill: Callable[[h5py.File], None]) -> bytes:
    """Return the bytes of an HDF5 file created in memory, where no write can fail."""
    with h5py.File("image", "w", driver="core", backing_store=False) as file:
        fill(file)
        file.flush()
        return file.id.get_file_image()


def write_facts(group: h5py.Group, facts: RunFacts) -> None:
    """Write all facts of a run as attributes, and its provenance as a text."""
    group.attrs["format"] = RUN_FORMAT
    write_origin(group)
    for name in ("id", "trajectory", *FACT_NAMES):
        value = getattr(facts, name)
        group.attrs[name] = storable(value) if isinstance(value, str) else value
    group.attrs["bench"] = json.dumps(facts.bench.to_json())
    group.attrs["settings"] = json.dumps(facts.settings.to_json())
    text = json.dumps(plain(facts.provenance)).encode("ascii")
    # A file of another program has no trailer, and the checksums of HDF5 cover attributes but not a text like this.
    group.attrs[PROVENANCE_HASH] = hashlib.sha256(text).hexdigest()
    provenance = group.create_dataset("provenance", data=np.bytes_(text))
    _describe(provenance, "1", "JSON: source, operator and whatever else was known about the run")


def write_origin(group: h5py.Group) -> None:
    """Write the name of the program that wrote the file, the time and the platform."""
    group.attrs["format_version"] = FORMAT_VERSION
    group.attrs["creator"] = "ServoBench"
    group.attrs["creator_version"] = creator_version()
    group.attrs["file_time"] = now()
    group.attrs["HDF5_Version"] = h5py.version.hdf5_version
    group.attrs["h5py_version"] = h5py.version.version
    group.attrs["platform"] = f"{platform.system()} {platform.machine()}, Python {platform.python_version()}"


def write_channels(group: h5py.Group, facts: RunFacts, channels: Channels) -> None:
    """Write canonical channels and the attributes derived from them."""
    time = channels["time"]
    channels_hash = channels_sha256(channels)
    group.attrs["samples"] = len(time)
    group.attrs["duration"] = float(time[-1] - time[0])
    group.attrs["sha256"] = channels_hash
    group.attrs["content_sha256"] = content_sha256(facts, channels_hash)
    folder = group.create_group("channels")
    for channel in CHANNELS:
        if channel.name in channels:
            values = channels[channel.name]
            dataset = folder.create_dataset(
                channel.name, data=values, chunks=(min(len(values), CHUNK_ROWS),), fletcher32=True
            )
            _describe(dataset, channel.unit, channel.description)


def _describe(dataset: h5py.Dataset, unit: str, description: str) -> None:
    dataset.attrs["units"] = unit
    dataset.attrs["description"] = description


# Reading


@contextlib.contextmanager
def opened(path: Path, checked: bool = True) -> Generator[h5py.File]:
    """Open an HDF5 file for reading; every error that HDF5 raises for a bad file becomes an UnreadableError.

    Args:
        path: The file.
        checked: Compare all bytes with their hash first, which takes a second per gigabyte. A file without a hash is
            tried in another process.
    """
    with reading(path):
        if checked and not check_trailer(path):
            survive(path)
        with h5py.File(path, "r") as file:
            yield file


@contextlib.contextmanager
def reading(path: Path) -> Generator[None]:
    """Turn any error from reading a bad file into an UnreadableError that names the file."""
    try:
        yield
    except (UnreadableError, NewerFormatError) as error:
        raise type(error)(f"{shown(path)}: {cause(error)}") from None
    except InputError as error:
        raise UnreadableError(f"{shown(path)}: {cause(error)}") from None
    except ServoBenchError:
        raise
    except MemoryError:
        raise SessionError(f"{shown(path)}: not enough memory to read it") from None
    except (OSError, RuntimeError, LookupError, ValueError, TypeError, AttributeError, ArithmeticError) as error:
        if isinstance(error, OSError) and error.errno in _NOT_THE_FILES_FAULT:
            raise SessionError(f"{shown(path)}: {os.strerror(error.errno)}") from None
        raise UnreadableError(f"{shown(path)}: the file is damaged or not a ServoBench file ({cause(error)})") from None


def check_format(group: h5py.Group, expected: str) -> None:
    """Raise UnreadableError unless the group has the expected format and a version known to this program."""
    if text_attribute(group, "format") != expected:
        raise UnreadableError(f"this is not a {expected} file")
    check_version(group.attrs.get("format_version"))


def check_version(version: object) -> None:
    """Raise UnreadableError or NewerFormatError unless this is a format version known to this program."""
    if not isinstance(version, (int, np.integer)) or version < 1:
        raise UnreadableError("the format version is missing")
    if version > FORMAT_VERSION:
        raise NewerFormatError(newer(f"format {version}, this one reads up to {FORMAT_VERSION}"))


def read_facts(group: h5py.Group) -> RunFacts:
    """Read the facts of a run; the inverse of `write_facts`.

    Raises:
        UnreadableError: if the group is damaged.
        InputError: for values that a run cannot have.
    """
    check_format(group, RUN_FORMAT)
    identity = _text(group, "id")
    if not is_run_id(identity):
        raise UnreadableError("the run has no valid id")
    bench = Bench.from_json(_mapping(_text(group, "bench"), "bench"))
    settings = checked_settings(_mapping(_text(group, "settings"), "settings"))
    provenance_text = read_values(hard_member(group, "provenance", h5py.Dataset), "provenance")
    if not isinstance(provenance_text, bytes):
        raise UnreadableError("the provenance is not a text")
    if text_attribute(group, PROVENANCE_HASH) not in (None, hashlib.sha256(provenance_text).hexdigest()):
        raise UnreadableError("the provenance is not the one that was written (SHA-256 differs)")
    texts = {
        name: _text(group, name)
        for name in ("trajectory", "uid", "started", "finished", "exit_status", "reason", "git_revision")
    }
    return RunFacts(
        id=identity,
        bench=bench,
        settings=settings,
        provenance=_mapping(provenance_text, "provenance"),
        rate=number_attribute(group, "rate"),
        rows_dropped=int(number_attribute(group, "rows_dropped")),
        **texts,
    )


def read_channels(group: h5py.Group) -> dict[str, NDArray[Any]]:
    """Read a run's channels and check them against their hash.

    Raises:
        UnreadableError: if they do not match it.
    """
    folder = hard_member(group, "channels", h5py.Group)
    channels: dict[str, NDArray[Any]] = {}
    check_channels(folder)
    for name, dtype in CHANNEL_DTYPES.items():
        if name not in folder:
            continue
        dataset = hard_member(folder, name, h5py.Dataset)
        if dataset.dtype != dtype or dataset.ndim != 1 or dataset.shape[0] > MAX_SAMPLES:
            raise UnreadableError(f"channel {name} has type {dataset.dtype} and shape {dataset.shape}")
        channels[name] = read_values(dataset, f"channel {name}")
    if channels_sha256(channels) != _text(group, "sha256"):
        raise UnreadableError("the samples are not the ones that were written (SHA-256 differs)")
    return channels


def check_channels(names: Iterable[str]) -> None:
    """Raise NewerFormatError for a channel that this version does not know."""
    if unknown := sorted(set(names) - set(CHANNEL_DTYPES)):
        raise NewerFormatError(newer(f"channel {shown(unknown[0])}"))


def read_recording(group: h5py.Group) -> Recording:
    """Read a run.

    Raises:
        UnreadableError: if the group is damaged.
        InputError: for values that a run cannot have.
    """
    facts = read_facts(group)
    provenance = facts.full_provenance()
    adopt_servo(facts.settings.servo, provenance)
    provenance.setdefault("creator", f"ServoBench {_text(group, 'creator_version')}")
    return Recording(
        id=facts.id,
        trajectory=facts.trajectory,
        bench=facts.bench,
        settings=facts.settings,
        channels=read_channels(group),
        provenance=provenance,
    )


def hard_member(group: h5py.Group, name: str, kind: type) -> Any:
    """Return a member stored in this file; links and datasets that point elsewhere are refused."""
    if not isinstance(group.get(name, getlink=True), h5py.HardLink):
        raise UnreadableError(f"{name} is missing or only a link")
    member = group[name]
    if not isinstance(member, kind):
        raise UnreadableError(f"{name} is not a {kind.__name__.lower()}")
    if isinstance(member, h5py.Dataset) and (member.is_virtual or member.external is not None):
        raise UnreadableError(f"{name} is in another file")
    return member


def number_attribute(group: h5py.Group, name: str) -> float:
    """Return an attribute that is a finite number of at least 0.

    Raises:
        UnreadableError: if it is not.
    """
    value = group.attrs.get(name)
    if not isinstance(value, Real) or not 0 <= float(value) < math.inf:
        raise UnreadableError(f"attribute {name} is missing or not a valid number")
    return float(value)


def text_attribute(group: h5py.Group, name: str) -> str | None:
    """Return an attribute that is a valid text, of fixed or variable length; None if it is not."""
    value = group.attrs.get(name)
    try:
        if isinstance(value, str):
            value = value.encode()
        return value.decode() if isinstance(value, bytes) else None
    except UnicodeError:
        return None


def _text(group: h5py.Group, name: str) -> str:
    value = text_attribute(group, name)
    if value is None:
        raise UnreadableError(f"attribute {name} is missing or not a text")
    return value


def _mapping(text: str | bytes, name: str) -> dict[str, Any]:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        data = None
    if not is_object(data):
        raise UnreadableError(f"{name} is not a JSON object")
    return dict(data)
