"""Recordings of other tools, as files of text."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random

from core.motion.recording import Recording
from core.studies.arm.links import read_arm_parameters
from core.studies.arm.recording import read_arm_csv
from core.studies.compliant.learning import read_reference
from sessions.header import RunFacts
from sessions.importers.bam_json import read_bam
from sessions.importers.columns import columns_text, parse_columns
from sessions.importers.kinds import NotARecordingError
from sessions.importers.own_csv import read_csv
from sessions.importers.sources import Source, read_source
from sessions.importers.table_runs import TableImport, read_runs
from sessions.importers.tables import open_table
from sessions.run_file.schema import canonical_channels, content_sha256
from sessions.source_contents import Contents
from tests.fuzz.mutation import changed_bytes, changed_json, changed_text, either
from tests.fuzz.parser import Parser, from_file

LARGEST_UNPACKED = 1 << 20


def _stored(found: object) -> None:
    """What is imported can be stored and hashed as the session does it."""
    if isinstance(found, Recording):
        facts = RunFacts.from_recording("0001_x_kp1", found, None)
        canonical_channels(found.channels, facts.id)
        content_sha256(facts, "")
        found.resampled(found.duration / 7.0)


def _bam(data: bytes) -> None:
    _stored(read_bam(data, "2024-01-01_10h20m30_log.json"))


def _csv(data: bytes) -> None:
    _stored(read_csv(data, "run.csv"))


_MEANING = TableImport(
    columns=parse_columns("time=t:ms,goal=goal:deg,position=pos:deg,current=i:mA,torque_enable=on"),
    facts={"servo": "xl330", "mass": 0.3, "length": 0.1, "kp": 400},
)


def _table(ending: str) -> Callable[[bytes], None]:
    """Reads a table, once to guess what it means and once with all that is to be known."""

    def parse(data: bytes) -> None:
        path = Path("run" + ending)
        with suppress(NotARecordingError):
            read_runs(open_table(data, ending), path, TableImport())
        for run in read_runs(open_table(data, ending), path, _MEANING):
            _stored(run)

    return parse


def _columns(data: bytes) -> None:
    columns = parse_columns(data.decode("utf-8", "replace"))
    assert parse_columns(columns_text(columns)).keys() == columns.keys()


def _zipped(data: bytes) -> None:
    found = from_file("log.json.gz", lambda path: read_source(Source(path, named=True)))(data)
    if isinstance(found, Contents):
        for recording in found.recordings:
            _stored(recording)


def _changed_inside(data: bytes, rng: Random) -> bytes:
    try:
        inside = zlib.decompressobj(31).decompress(data, LARGEST_UNPACKED)
    except zlib.error:
        return changed_bytes(data, rng)
    return gzip.compress(changed_json(inside, rng), 1, mtime=0)


def _arm(path: Path) -> None:
    recording = read_arm_csv(path)
    recording.resampled(recording.duration / 7.0)


def _links(path: Path) -> None:
    read_arm_parameters(path).links.as_bodies()


_ENTRIES = (b'"entries"', b'"timestamp"', b'"torque_enable"', b'"servobench"', b'"load"', b'"kp"', b"-0", b"1e400")
PARSERS = (
    Parser(name="log_bam", parse=_bam, mutate=changed_json, longest=8192, words=_ENTRIES),
    Parser(
        name="log_csv", parse=_csv, mutate=either(changed_text, changed_bytes), longest=8192, words=(b"nan", b"inf")
    ),
    Parser(
        name="table_csv",
        parse=_table(".csv"),
        mutate=either(changed_text, changed_bytes),
        longest=4096,
        words=(b"nan", b"inf", b";", b"\t", b"true", b"#"),
    ),
    Parser(name="table_npz", parse=_table(".npz"), longest=4096, words=(b"NUMPY", b"descr", b"shape", b"PK")),
    Parser(
        name="table_columns", parse=_columns, mutate=changed_text, longest=512, words=(b":", b'"', b"=", b"counts:")
    ),
    Parser(name="log_gzip", parse=_zipped, mutate=either(_changed_inside, changed_bytes), longest=4096),
    Parser(
        name="arm_csv", parse=from_file("arm.csv", _arm), mutate=changed_text, longest=4096, words=(b"tau1", b"goal1")
    ),
    Parser(name="arm_links", parse=from_file("arm.yml", _links), mutate=changed_text, longest=2048),
    Parser(name="reference_csv", parse=from_file("reference.csv", read_reference), mutate=changed_text, longest=4096),
)
