"""What a fuzzed parser is, and what counts as a finding: any exception that is not one of its typed refusals."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import TypeVar

from core.base.errors import ServoBenchError
from tests.fuzz.mutation import changed_bytes

FOLDER = Path(__file__).parent
SEEDS, FINDINGS = FOLDER / "seeds", FOLDER / "findings"

Result = TypeVar("Result")


@dataclass(frozen=True, kw_only=True)
class Parser:
    """One way for bytes to come in."""

    name: str
    parse: Callable[[bytes], object]
    """Takes the bytes and uses what they mean as the program would; raises ServoBenchError to refuse them."""
    mutate: Callable[[bytes, Random], bytes] = changed_bytes
    """Changes an input so that it stays close to what the parser understands."""
    longest: int = 4096
    """Inputs are no longer [bytes]."""
    words: tuple[bytes, ...] = ()
    """What a guided search tries to insert."""

    def accepts(self, data: bytes) -> bool:
        """Whether the parser takes the bytes; raises what a finding raises."""
        try:
            self.parse(data)
        except ServoBenchError as error:
            refusal = str(error)
        else:
            return True
        assert refusal, "a refusal without a message"
        return False

    @property
    def seeds(self) -> list[Path]:
        """Inputs to start from."""
        return _files(SEEDS / self.name)


def signature(error: BaseException) -> str:
    """Name of a finding: what was raised, and by which function of the program."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not _is_ours(frame.filename)]
    place = next((frame for frame in reversed(frames) if _in_program(frame.filename)), frames[-1] if frames else None)
    where = f"{Path(place.filename).stem}-{place.name}" if place else "nowhere"
    return "".join(c if c.isalnum() or c == "-" else "_" for c in f"{type(error).__name__}-{where}")


def from_file(name: str, read: Callable[[Path], Result]) -> Callable[[bytes], Result]:
    """A parser of bytes from one that reads a file of this name."""

    def parse(data: bytes) -> Result:
        file = scratch() / name
        file.write_bytes(data)
        return read(file)

    return parse


@cache
def scratch() -> Path:
    """This process's own folder, in memory where there is one; removed at its end."""
    memory = Path("/dev/shm")
    folder = tempfile.mkdtemp(prefix="servobench-fuzz-", dir=memory if os.access(memory, os.W_OK) else None)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def _files(folder: Path) -> list[Path]:
    return sorted(file for file in folder.iterdir() if file.is_file()) if folder.is_dir() else []


def _is_ours(file: str) -> bool:
    return Path(file).is_relative_to(FOLDER)


def _in_program(file: str) -> bool:
    parts = Path(file).parts
    return any(room in parts for room in ("core", "drivers", "sessions", "bench_gui")) and "site-packages" not in parts
