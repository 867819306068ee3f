"""Sealing: from samples to a finished run file that is verified before it is put in place and never changed again."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from core.base.atomic import put_in_place
from core.base.words import counted
from core.motion.recording import REQUIRED_CHANNELS
from sessions.errors import EmptyRunError, SessionError, cause, shown
from sessions.header import RunFacts
from sessions.run_file.schema import (
    RECORDED_DTYPES,
    canonical_channels,
    channels_sha256,
    image,
    opened,
    read_recording,
    write_channels,
    write_facts,
)
from sessions.run_file.trailer import with_trailer
from sessions.writing.part import ASIDE


def seal(path: Path, facts: RunFacts, rows: NDArray[Any]) -> None:
    """Write the finished file of a run from rows of SAMPLE_DTYPE.

    Rows that a Recording cannot hold are dropped and counted.

    Raises:
        EmptyRunError: if fewer than two rows remain.
        SessionError: if the file cannot be written.
    """
    required = np.column_stack([rows[name].astype(float) for name in REQUIRED_CHANNELS])
    usable = np.all(np.isfinite(required), axis=1)
    time = np.where(usable, rows["time"], -np.inf)
    before = np.concatenate(([-np.inf], np.maximum.accumulate(time)[:-1])) if len(time) else time
    usable &= time > before
    count = int(np.count_nonzero(usable))
    if count < 2:
        raise EmptyRunError(f"run {facts.id}: it ended after {counted(count, 'usable sample')}, at least 2 are needed")
    channels = {name: rows[name][usable] for name in RECORDED_DTYPES}
    write_run(path, replace(facts, rows_dropped=len(rows) - count), channels)


def write_run(path: Path, facts: RunFacts, channels: dict[str, NDArray[Any]]) -> None:
    """Write a finished run file under a temporary name, verify it by reading it back, sync and rename it.

    HDF5 creates the file in memory and ordinary writes bring it to the disk, as HDF5 does not survive a full disk.

    Raises:
        SessionError: if the file cannot be written or reads back differently.
    """
    stored = canonical_channels(channels, facts.id)

    def fill(file: h5py.File) -> None:
        write_facts(file, facts)
        write_channels(file, facts, stored)

    aside = path.with_name(path.name + ASIDE)
    try:
        aside.write_bytes(with_trailer(image(fill)))
        _verify(aside, path, stored)
        put_in_place(aside, path)
    except (OSError, RuntimeError, ValueError) as error:
        _discard(aside)
        raise SessionError(f"{shown(path)}: the run cannot be written ({cause(error)})") from None
    except BaseException:
        _discard(aside)
        raise


def _verify(aside: Path, path: Path, expected: dict[str, NDArray[Any]]) -> None:
    try:
        with opened(aside) as file:
            recording = read_recording(file)
    except SessionError as error:
        why = str(error).removeprefix(f"{shown(aside)}: ")
        raise SessionError(f"{shown(path)}: the written file cannot be read back ({why}): check the disk") from None
    if channels_sha256(recording.channels) != channels_sha256(expected):
        raise SessionError(f"{shown(path)}: the written file reads back differently: check the disk")


def _discard(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink(missing_ok=True)
