"""One parser fuzzed in this process until its processor time is used up.

`python -m tests.fuzz.worker NAME FOLDER SECONDS` is guided by coverage where atheris is installed, else by mutation
alone. What the parser raises against its word is kept and the search goes on; what ends the process (a crash in a
library, ten seconds without an end, too much memory) leaves its input in the folder, and whoever started the process
starts it again.
"""

from __future__ import annotations

import contextlib
import faulthandler
import hashlib
import importlib.util
import json
import logging
import os
import resource
import sys
import time
import traceback
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.fuzz.parser import Parser

ROOT = Path(__file__).parents[2]
ROOMS = ("bench_gui", "core", "drivers", "sessions")
LONGEST_TIME = 10
"""Of one input [s of processor time]; an input that takes more is a finding."""
LONGEST_WAIT = 60
"""Of one input [s]; the process is ended then. A machine with other work does not give it a whole processor."""
MOST_MEMORY = 2048
"""[MB]"""
OWN_SHARE = 0.6
"""Of a guided search's mutants made by the parser's own way."""
MOST_KEPT = 5000
"""Accepted mutants an unguided search goes on from."""


def main(arguments: list[str]) -> None:
    """Fuzz NAME; FOLDER keeps its corpus, its report, tracebacks and inputs that end the process."""
    logging.disable()
    name, folder, seconds = arguments[0], Path(arguments[1]), float(arguments[2])
    guided = importlib.util.find_spec("atheris") is not None and "--blind" not in arguments[3:]
    if guided:
        _instrument()
    from tests.fuzz.parsers import parser_named

    parser = parser_named(name)
    corpus = folder / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    run = _Run(parser, folder, seconds)
    if guided:
        _guided(run, corpus)
    else:
        _blind(run)


class _Run:
    """What happens to every input, and the report of it."""

    def __init__(self, parser: Parser, folder: Path, seconds: float) -> None:
        self.parser = parser
        self.folder = folder
        self._until = seconds
        self._written = 0.0
        self.executions = self.accepted = 0
        self.found: set[str] = set()

    def one(self, data: bytes) -> None:
        """Try an input; `accepted` counts it if it was. Ends the process once its time is used up."""
        if self.executions % 32 == 0:
            self._look_at_the_time()
        self.executions += 1
        begun = time.process_time()
        try:
            accepted = self.parser.accepts(data)
            took = time.process_time() - begun
            assert took < LONGEST_TIME, f"it took {took:.1f} s"
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            self._keep(data, error)
        else:
            self.accepted += accepted

    def _keep(self, data: bytes, error: BaseException) -> None:
        from tests.fuzz.parser import FINDINGS, signature

        name = signature(error)
        if name in self.found:
            return
        self.found.add(name)
        place = FINDINGS / self.parser.name
        place.mkdir(parents=True, exist_ok=True)
        # One of that name may be of another defect, mended since.
        file = place / name
        if file.exists():
            file = place / f"{name}-{hashlib.sha256(data).hexdigest()[:8]}"
        file.write_bytes(data)
        text = "".join(traceback.format_exception(error))
        (self.folder / f"{name}.txt").write_text(text[-8000:], "utf-8", "backslashreplace")

    def _look_at_the_time(self) -> None:
        usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        now = sum(usage.ru_utime + usage.ru_stime for usage in usages)
        if now - self._written > 2.0 or now > self._until:
            self._written = now
            report = {"executions": self.executions, "accepted": self.accepted, "findings": sorted(self.found)}
            (self.folder / "report.json").write_text(json.dumps(report))
        if now > self._until:
            sys.stderr.flush()
            # Neither libFuzzer nor the emulators' threads are to have a last word.
            os._exit(0)


def _instrument() -> None:
    import atheris

    # What numba compiles must be what was written.
    compiled = [
        ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for room in ROOMS
        for file in (ROOT / room).rglob("*.py")
        if any(word in file.read_text("utf-8") for word in ("numba", "compilation import", "njit"))
    ]
    finder: Any = atheris.instrument_imports(include=list(ROOMS), exclude=compiled)
    finder.__enter__()


def _guided(run: _Run, corpus: Path) -> None:
    import atheris

    parser = run.parser

    def mutate(data: bytes, most: int, seed: int) -> bytes:
        rng = Random(seed)
        if rng.random() < OWN_SHARE:
            return parser.mutate(data, rng)[:most]
        return atheris.Mutate(data, most)

    words = run.folder / "words"
    words.write_text("".join('"' + "".join(rf"\x{byte:02x}" for byte in word) + '"\n' for word in parser.words))
    options = [
        f"-timeout={LONGEST_WAIT}",
        f"-rss_limit_mb={MOST_MEMORY}",
        f"-max_len={parser.longest}",
        f"-artifact_prefix={run.folder}/",
        # libFuzzer does not take an empty one.
        *([f"-dict={words}"] if parser.words else []),
        "-reload=0",
        str(corpus),
    ]
    for seed in parser.seeds:
        (corpus / seed.name).write_bytes(seed.read_bytes()[: parser.longest])
    atheris.Setup([sys.argv[0], *options], run.one, custom_mutator=mutate)
    atheris.Fuzz()


def _blind(run: _Run) -> None:
    parser, rng = run.parser, Random(time.time_ns())
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_DATA, (MOST_MEMORY << 20, MOST_MEMORY << 20))
    known = [seed.read_bytes() for seed in parser.seeds] or [b""]
    current = run.folder / "current"
    while True:
        data = rng.choice(known)
        for _ in range(rng.choice((1, 1, 2, 4))):
            data = parser.mutate(data, rng)[: parser.longest]
        current.write_bytes(data)
        faulthandler.dump_traceback_later(LONGEST_WAIT, exit=True)
        before = run.accepted
        run.one(data)
        faulthandler.cancel_dump_traceback_later()
        if run.accepted > before and len(known) < MOST_KEPT:
            known.append(data)


if __name__ == "__main__":
    main(sys.argv[1:])
