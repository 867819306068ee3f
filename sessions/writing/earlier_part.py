"""Part files of earlier versions: HDF5 in SWMR mode, one table `samples` of rows with a CRC-32 each.

The end of the run is described by a line after the end of the closed file.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import h5py
from numpy.typing import NDArray

from sessions.errors import UnreadableError
from sessions.header import RunFacts
from sessions.run_file.sandbox import read_values, survive
from sessions.run_file.schema import MAX_SAMPLES, hard_member, read_facts

HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"
_END_MARK = b"\nServoBench end "
_MOST_END_BYTES = 32_768


def read_hdf5_part(path: Path) -> tuple[RunFacts, NDArray[Any], bytes]:
    """Return facts, rows as stored, and the line about the end.

    As its writer may have died, only a SWMR reader can open the file. If a checksum does not match, that reader waits
    for a pending write, practically for ever; the trial detects this.

    Raises:
        UnreadableError: for a damaged file. Errors of HDF5 propagate.
    """
    survive(path)
    with h5py.File(path, "r", swmr=True) as file:
        facts = read_facts(file)
        table = hard_member(file, "samples", h5py.Dataset)
        if table.ndim != 1 or table.shape[0] > MAX_SAMPLES:
            raise UnreadableError("the table of samples has the wrong type")
        rows = read_values(table, "the table of samples")
    with path.open("rb") as file:
        file.seek(max(0, os.path.getsize(path) - _MOST_END_BYTES))
        return facts, rows, file.read().rpartition(_END_MARK)[2]
