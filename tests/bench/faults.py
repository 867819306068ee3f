"""Planted faults and whether `make test` notices: `python -m tests.bench.faults [--only NAME …] [--room ROOM] [--all]`.

Each fault of `faults.toml` is planted alone into a copy of the tracked files. Its named tests run first; if they stay
green, all others of `make test` do until one turns red. A test counts as having noticed only if it is green without the
fault.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import cache_from_source
from pathlib import Path

from tests.bench.printing import line

ROOT = Path(__file__).parents[2]
TABLE = Path(__file__).with_suffix(".toml")
ROOMS = ("numerics", "export", "drivers", "sessions", "window", "commands")
_RED = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)
GREEN, FAILED, BROKEN, NONE = 0, 1, 2, 5
"""Exit codes of pytest: no test failed; one did; one could not be collected; there was none."""


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One wrong place in a file that is right otherwise."""

    name: str
    room: str
    file: str
    old: str
    """Occurs exactly once in the file."""
    new: str
    tests: tuple[str, ...]
    """Paths or node ids that should notice."""


def read_faults() -> list[Fault]:
    """Return the faults of the table; raises SystemExit for one that does not fit the code any more."""
    faults = [Fault(**{**entry, "tests": tuple(entry["tests"])}) for entry in tomllib.loads(TABLE.read_text())["fault"]]
    wrong = [f"{name}: named twice" for name, count in Counter(f.name for f in faults).items() if count > 1]
    for fault in faults:
        file = ROOT / fault.file
        count = file.read_text("utf-8").count(fault.old) if file.is_file() else 0
        wrong += [f"{fault.name}: its text occurs {count} times in {fault.file}, not once"] * (count != 1)
        wrong += [f"{fault.name}: no room {fault.room}"] * (fault.room not in ROOMS)
        lost = [test for test in fault.tests if not (ROOT / test.partition("::")[0]).exists()]
        wrong += [f"{fault.name}: there is no {test}" for test in lost]
    if wrong:
        raise SystemExit("\n".join(wrong))
    return faults


class Copy:
    """The tracked files in a folder of their own, and the tests run there."""

    def __init__(self, folder: Path, *, exhaustive: bool) -> None:
        """exhaustive: take the tests of `make test-all` too."""
        self._folder = folder
        self._marks = [] if exhaustive else ["-m", "not exhaustive"]
        self._red: set[str] = set()
        """Tests that fail without any fault."""
        tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
        for name in tracked.decode().split("\0"):
            if name and (ROOT / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, folder / name)

    @contextmanager
    def planted(self, fault: Fault) -> Iterator[None]:
        """Hold a fault in the copy."""
        file = self._folder / fault.file
        sound = file.read_text("utf-8")
        try:
            self._write(file, sound.replace(fault.old, fault.new))
            yield
        finally:
            self._write(file, sound)

    def noticed_by(self, fault: Fault, tests: Sequence[str]) -> str:
        """Return the first of these tests that a fault turns red; empty when all stay green."""
        while True:
            with self.planted(fault):
                found = self._first_red(tests)
            if not found or not self._first_red([found]):
                return found
            self._red.add(found)

    @staticmethod
    def _write(file: Path, text: str) -> None:
        file.write_text(text, "utf-8")
        # Bytecode is told apart by whole seconds and the size of its source.
        Path(cache_from_source(str(file))).unlink(missing_ok=True)

    def _first_red(self, tests: Sequence[str]) -> str:
        """Run tests until one fails, and return its node id; empty when none does."""
        skipped = [f"--deselect={test}" for test in self._red]
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-rfE", "-p", "no:cacheprovider", *self._marks, *skipped]
        if len(tests) == 1 and (self._folder / tests[0]).is_dir():
            command += ["-n", str(2 * (os.cpu_count() or 1)), "--dist", "loadfile"]
        environment = os.environ | {"PYTHONPATH": str(self._folder), "QT_QPA_PLATFORM": "offscreen", "COLUMNS": "9999"}
        done = subprocess.run(
            [*command, *tests], cwd=self._folder, env=environment, capture_output=True, text=True, check=False
        )
        if done.returncode in (GREEN, NONE):
            return ""
        if done.returncode < 0:
            return tests[0]  # the interpreter died, which is a red run too
        found = _RED.search(done.stdout)
        if done.returncode not in (FAILED, BROKEN) or found is None:
            raise SystemExit(f"{' '.join(tests)}: pytest ended with {done.returncode}\n{done.stdout}{done.stderr}")
        return found[1]


def main(arguments: Sequence[str] | None = None) -> int:
    """Plant what is asked for, one at a time; 1 if a fault passed."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.faults", description=(__doc__ or "").partition(":")[0])
    parser.add_argument("--only", nargs="+", default=(), metavar="NAME", help="faults with these names")
    parser.add_argument("--room", choices=ROOMS, help="faults of one room")
    parser.add_argument("--all", action="store_true", help="exhaustive tests too, as in `make test-all`")
    parser.add_argument(
        "--others",
        nargs="*",
        default=["tests"],
        metavar="PATH",
        help="tests that run when the named ones stay green (default: all); without a path none",
    )
    asked = parser.parse_args(arguments)
    faults = [fault for fault in read_faults() if not asked.room or fault.room == asked.room]
    if unknown := set(asked.only) - {fault.name for fault in faults}:
        parser.error(f"there is no fault {', '.join(sorted(unknown))}")
    faults = [fault for fault in faults if not asked.only or fault.name in asked.only]
    # A terminated benchmark leaves no copy behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    caught: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="faults-") as folder:
        copy = Copy(Path(folder), exhaustive=asked.all)
        for fault in faults:
            begin = time.perf_counter()
            test = copy.noticed_by(fault, fault.tests)
            if not test and asked.others:
                test = copy.noticed_by(fault, asked.others)
            caught[fault.room] += bool(test)
            seconds = f"{time.perf_counter() - begin:.0f} s"
            line(f"{fault.room}: {fault.name}", "caught" if test else "passed", f"{seconds:>6}  {test}")
    for room in ROOMS:
        if count := sum(fault.room == room for fault in faults):
            line(f"caught in {room}", f"{caught[room]} of {count}")
    line("caught", f"{caught.total()} of {len(faults)}")
    return int(caught.total() < len(faults))


if __name__ == "__main__":
    sys.exit(main())
