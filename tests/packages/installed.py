"""What tests of packages share: programs that run as on a person's machine, and windows that are rung at."""

from __future__ import annotations

import contextlib
import ctypes
import os
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.metadata import distribution
from pathlib import Path

from packaging.requirements import Requirement
from PySide6.QtWidgets import QApplication

from bench_gui.shell.single import hand_over
from sessions.folders import HOME_VARIABLE
from tests import waiting

LONG = 600.0
"""Ends what hangs; a first start compiles the kernels, beside whatever else runs here [s]."""
_DROP_FROM_BOUNDING_SET = 24
_OVERRIDE, _READ_SEARCH = 1, 2


def bound_by_rights() -> None:
    """For a child: have file rights hold for root too, as they do for a person (Linux, prctl(2))."""
    if hasattr(os, "getuid") and os.getuid() == 0:
        for capability in (_OVERRIDE, _READ_SEARCH):
            ctypes.CDLL(None).prctl(_DROP_FROM_BOUNDING_SET, capability, 0, 0, 0)


def environment(home: Path, **others: str) -> dict[str, str]:
    """A person's, with a home of their own and nothing of the tests'."""
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "LANG", "TMPDIR", "LD_LIBRARY_PATH")}
    sessions = home / "ServoBench"
    sessions.mkdir()
    place = {"HOME": str(home), HOME_VARIABLE: str(sessions)}
    return {**kept, **place, "QT_QPA_PLATFORM": "offscreen", **others}


def output(command: Sequence[object], environment: Mapping[str, str], folder: Path | None = None) -> str:
    """What a program says that must succeed, in a folder or in the person's home."""
    done = subprocess.run(
        [str(word) for word in command],
        env=dict(environment),
        cwd=folder or environment["HOME"],
        capture_output=True,
        text=True,
        timeout=LONG,
        preexec_fn=bound_by_rights,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def link_packages(requirements: Iterable[str], folder: Path) -> None:
    """Link what requirements ask for, with all that it needs in turn, from this environment into a folder.

    It is what pip would install there, without an index and in no time.
    """
    asked, known = [Requirement(text) for text in requirements], set()
    while asked:
        requirement = asked.pop()
        wanted = ("", *requirement.extras)
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
            continue
        package = distribution(requirement.name)
        if (package.metadata["Name"], wanted) in known:
            continue
        known.add((package.metadata["Name"], wanted))
        for text in package.requires or ():
            further = Requirement(text)
            if further.marker is None or any(further.marker.evaluate({"extra": extra}) for extra in wanted):
                further.marker = None
                asked.append(further)
        tops = {file.parts[0] for file in package.files or ()} - {"..", "__pycache__"}
        for top in tops:
            link = folder / top
            if not link.exists():
                link.symlink_to(Path(str(package.locate_file(top))))


@contextlib.contextmanager
def window(command: Sequence[object], environment: Mapping[str, str], monkeypatch) -> Iterator[subprocess.Popen[bytes]]:
    """A window that is open and answers; asked to close at the end, it does."""
    assert QApplication.instance() is not None  # whom the socket of the bell belongs to
    monkeypatch.setenv(HOME_VARIABLE, environment[HOME_VARIABLE])
    program = subprocess.Popen(
        [str(word) for word in command], env=dict(environment), cwd=environment["HOME"], preexec_fn=bound_by_rights
    )
    try:
        wait_until(lambda: hand_over(None), program)
        yield program
        program.terminate()
        assert program.wait(LONG) == 0
    finally:
        program.kill()
        program.wait()


def wait_until(condition, program: subprocess.Popen[bytes]) -> None:
    """Look again and again while a program runs; it is another process, nothing of it can be waited on."""

    def look() -> None:
        assert program.poll() is None, f"the program ended with {program.returncode}"

    waiting.wait_until(condition, look)
