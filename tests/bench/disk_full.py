"""Commands on a full disk, and once there is room again: `python -m tests.bench.disk_full [COMMAND …]`.

Each command runs on a small disk in memory with a few free sizes. It has to end with 0 or with one clear line. Then the
disk gets room, and the same command, or its `--resume`, has to end with 0; no file that was there before may be lost,
and no aside file may be left. Linux only: the disk is mounted in a namespace of its own.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from bench_gui.cli import main as bench
from bench_gui.headless.examples import example_session
from tests.bench.printing import line

SIZE = 96 * 2**20
"""Of the whole disk [bytes]."""
FREE = (0, 4_096, 8_192, 12_288, 24_576, 65_536, 131_072, 262_144, 524_288, 1_048_576)
"""Left free for the command [bytes]."""
INSIDE = "SERVOBENCH_DISK_FULL"
QUICK = ("--models", "m1", "--trials", "64", "--threads", "1", "--quiet")
FIT = (*QUICK, "--no-command-path", "--validation", "none")
FLEET = ("--models", "m1", "--trials", "64", "--workers", "1", "--quiet", "--validation", "none")
CACHES = ("index.json", ".identifying", "study.journal", "identification.json", "servos.log")
"""Files that a command may replace by others that say the same or more."""

Steps = Callable[[Path], list[str]]
COMMANDS: dict[str, tuple[Steps, Steps]] = {}
"""Name to the command's arguments on a disk at a path, and to those of the call after it."""


def _command(name: str, steps: Steps, again: Steps | None = None) -> None:
    COMMANDS[name] = (steps, again or steps)


def _fit(disk: Path) -> list[str]:
    return ["identify", str(disk / "lab"), *FIT, "-o", str(disk / "fit")]


def _fit_again(disk: Path) -> list[str]:
    return [*_fit(disk), *(["--resume"] if (disk / "fit" / "study.journal").exists() else [])]


_command("record", lambda d: ["record", "--fast", "--trajectory", "sin_sin", "--duration", "4", "-o", str(d / "new")])
_command("import", lambda d: ["import", str(d / "lab"), "-o", str(d / "new"), "--quiet"])
_command("annotate", lambda d: ["annotate", str(d / "lab"), "0001_lift_and_drop_kp100", "--note", "n" * 3999])
_command("export", lambda d: ["export", str(d / "lab"), "--to", "h5", "-o", str(d / "out")])
_command("models", lambda d: ["models", "--new", str(d / "mine.toml")])
_command("identify", _fit, _fit_again)
_command(
    "crossvalidate",
    lambda d: ["crossvalidate", str(d / "lab"), *QUICK, "--by", "kp", "--command-path", "off", "-o", str(d / "cross")],
)
_command(
    "certainty",
    lambda d: ["certainty", str(d / "lab"), "--result", str(d / "result"), "--bootstrap", "2", "--quiet"],
)
_command("report", lambda d: ["report", str(d / "lab"), str(d / "result")])
_command("fleet", lambda d: ["fleet", str(d / "lab"), *FLEET, "-o", str(d / "fleet")])


def main(arguments: Sequence[str] | None = None) -> int:
    """Run every command at every size and print what came of it."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.disk_full", description=__doc__)
    parser.add_argument("commands", nargs="*", metavar="COMMAND", help=f"of {', '.join(COMMANDS)}; default: all")
    chosen = parser.parse_args(arguments).commands or list(COMMANDS)
    if not os.environ.get(INSIDE):
        here = [sys.executable, "-m", "tests.bench.disk_full", *chosen]
        return subprocess.run(["unshare", "-Urm", *here], env={**os.environ, INSIDE: "1"}, check=False).returncode
    begun, wrong = time.monotonic(), 0
    with tempfile.TemporaryDirectory() as folder, _disk(Path(folder) / "disk") as disk:
        os.environ["SERVOBENCH_HOME"] = str(Path(folder) / "home")
        stored = Path(folder) / "stored"
        stored.mkdir()
        example_session(stored).rename(stored / "lab")
        _, told = _run(["identify", str(stored / "lab"), *FIT, "-o", str(stored / "result")])
        assert (stored / "result" / "result.json").exists(), told
        for name in chosen:
            found = [_tried(name, free, stored, disk) for free in FREE]
            refused = sum(text.startswith("refused") for text in found)
            faults = [(free, text) for free, text in zip(FREE, found, strict=True) if text not in ("refused", "done")]
            wrong += len(faults)
            line(name, f"{len(FREE)} sizes, {refused} refused, {len(faults)} wrong")
            for free, text in faults:
                print(f"    {free} bytes free: {text}", flush=True)
    line("all", f"{len(chosen) * len(FREE)} cases, {wrong} wrong, {time.monotonic() - begun:.0f} s")
    return 1 if wrong else 0


def _tried(name: str, free: int, stored: Path, disk: Path) -> str:
    """Return "done" or "refused" for a command that behaved, else what was wrong."""
    steps, again = COMMANDS[name]
    for entry in disk.iterdir():
        shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    shutil.copytree(stored, disk, dirs_exist_ok=True)
    before = _contents(disk)
    with _filled(disk, free):
        code, told = _run(steps(disk))
    if code not in (0, 1) or (code == 1 and ("No space left" not in told or "internal error" in told)):
        return f"ended with {code}: {told.strip()[-300:]}"
    lost = _lost(before, disk)
    second, said = _run(again(disk)) if code else (0, "")
    lost += _lost(before, disk)
    left = [path.name for path in disk.rglob(".*.tmp")]
    if second != 0:
        return f"with room again it ended with {second}: {said.strip()[-300:]}"
    if lost or left:
        return f"lost {', '.join(lost) or 'nothing'}, left behind {', '.join(left) or 'nothing'}"
    if name == "record" and (crashed := _statuses(disk / "new")):
        return f"runs that were complete are called {', '.join(crashed)}"
    return "refused" if code else "done"


def _run(arguments: list[str]) -> tuple[int, str]:
    """Status of a command and what it printed."""
    told = io.StringIO()
    with contextlib.redirect_stdout(told), contextlib.redirect_stderr(told):
        try:
            code = bench(arguments)
        except SystemExit as exit_:
            code = int(exit_.code or 0)
    return code, told.getvalue()


def _contents(disk: Path) -> dict[str, bytes]:
    return {str(path.relative_to(disk)): path.read_bytes() for path in disk.rglob("*") if path.is_file()}


def _lost(before: dict[str, bytes], disk: Path) -> list[str]:
    """Names of files that changed or are gone, other than caches."""
    now = _contents(disk)
    return [name for name, content in before.items() if Path(name).name not in CACHES and now.get(name) != content]


def _statuses(session: Path) -> list[str]:
    from sessions import Session

    return sorted({run.exit_status for run in Session.open(session).runs()} & {"crashed"})


@contextlib.contextmanager
def _disk(path: Path) -> Iterator[Path]:
    path.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(path)], check=True)
    try:
        yield path
    finally:
        subprocess.run(["umount", "--lazy", str(path)], check=True)


@contextlib.contextmanager
def _filled(disk: Path, free: int) -> Iterator[None]:
    """Fill the disk to so many free bytes, and make room again."""
    file = disk / "filling"
    room = os.statvfs(disk)
    with file.open("wb") as opened:
        os.posix_fallocate(opened.fileno(), 0, max(1, room.f_bavail * room.f_frsize - free))
    try:
        yield
    finally:
        file.unlink()


if __name__ == "__main__":
    sys.exit(main())
