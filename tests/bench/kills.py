"""What kills leave behind: `python -m tests.bench.kills`, or `make bench WHAT=kills`.

Each command is killed at random moments, with all of its processes. Then no run that was told as stored may be missing,
no half file may be read as a whole one, an import is there whole or not at all, and the same command, or its
`--resume`, has to end as if nothing had happened.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import core.export
import core.fleet
import sessions.results.identifying
from bench_gui.cli import main as bench
from core.base.errors import ServoBenchError
from core.servo.model import ServoModel
from sessions import Session
from tests.bench.printing import line

LOADED = (sessions.results.identifying, core.export, core.fleet)
"""Before the commands are forked, so that they begin at once."""
KILLS = 64
RUNS = 4
SHORT = ("--trajectory", "paper", "--duration", "1", "--fast")
SEARCH = ("--trials", "30", "--quiet")


class Defect(Exception):
    """A kill lost or spoilt something."""


def runs_in(session: Path) -> list[str]:
    """Ids of the session's runs, each of them read."""
    return [run.id for run in Session.open(session).load_all()] if (session / "session.json").exists() else []


def require(true: bool, text: str) -> None:
    """Raise Defect with the text unless true."""
    if not true:
        raise Defect(text)


def recorded(folder: Path, whole: Path) -> None:
    """Every run the command told of is there."""
    told = (folder / "told").read_text("utf-8").splitlines()
    stored = {run for run, _, status in (text.partition(": ") for text in told) if status == "success"}
    lost = stored - set(runs_in(folder / "lab"))
    require(not lost, f"told as stored, and lost: {', '.join(sorted(lost))}")


def imported(folder: Path, whole: Path) -> None:
    """All runs, or none."""
    found = len(runs_in(folder / "lab"))
    require(found in (0, RUNS), f"{found} of {RUNS} runs were imported")


def annotated(folder: Path, whole: Path) -> None:
    """No note yet, or all."""
    notes = {annotation.note for annotation in Session.open(folder / "lab").annotations().values()}
    require(notes <= {"after"}, f"the notes are {notes}")
    unharmed(folder, whole)


def unharmed(folder: Path, whole: Path) -> None:
    """The session is as it was, and models that are there can be read."""
    require(len(runs_in(folder / "lab")) == RUNS, "runs are missing")
    for path in (folder / "out").glob("**/m?.json"):
        ServoModel.read(path)


def exported(folder: Path, whole: Path) -> None:
    """Files under their own names are those of an export that was not killed; the README gets its notes last."""
    unharmed(folder, whole)
    for path in (folder / "out").glob("**/*"):
        if path.is_file() and path.suffix != ".tmp" and path.name != "README.md":
            require(path.read_bytes() == (whole / path.relative_to(folder)).read_bytes(), f"{path.name} is half a file")


@dataclass(frozen=True)
class Command:
    """A command, and what is looked at when it was killed."""

    words: str
    look: Callable[[Path, Path], None]
    """Called with the folder it was killed in and one in which it ended; raises Defect or what reading raises."""
    given: str = "lab"
    """The folder's contents before: a session "lab" or a file "runs.h5" with all of it."""


COMMANDS = {
    "record": Command(f"record {' '.join(SHORT)} -o lab", recorded, given=""),
    "import": Command("import runs.h5 -o lab --quiet", imported, given="runs.h5"),
    "annotate": Command("annotate lab RUNS --note after", annotated),
    "identify": Command(f"identify lab --models m1 --no-command-path {' '.join(SEARCH)} -o out", unharmed),
    "crossvalidate": Command(
        f"crossvalidate lab --by trajectory --models m1 --command-path off {' '.join(SEARCH)} -o out", unharmed
    ),
    "export": Command("export mx106:m6 --to mujoco-hook -o out", exported),
    "fleet": Command(f"fleet lab --models m1 {' '.join(SEARCH)} -o out", unharmed),
}


def begin(words: list[str], folder: Path) -> int:
    """Run a command in a process group of its own; returns the process id."""
    process = os.fork()
    if process:
        with suppress(OSError):
            os.setpgid(process, process)
        return process
    os.setpgid(0, 0)
    os.chdir(folder)
    told = os.open("told", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(told, 1)
    os.dup2(told, 2)
    status = 1
    try:
        status = bench(words)
    except SystemExit as end:
        status = int(end.code or 0)
    finally:
        sys.stdout.flush()
        os._exit(status)


def status_of(words: list[str], folder: Path) -> int:
    """Exit status of a command that is left alone."""
    return os.waitstatus_to_exitcode(os.waitpid(begin(words, folder), 0)[1])


def words_of(command: Command, given: Path) -> list[str]:
    """The command's words with the names of the runs in place of RUNS."""
    runs = runs_in(given / "lab") if "RUNS" in command.words else []
    return [part for word in command.words.split() for part in (runs if word == "RUNS" else [word])]


def try_out(name: str, kills: int, place: Path, chance: random.Random) -> list[str]:
    """Kill a command so many times; returns what was wrong, with the time of the kill."""
    command, wrong = COMMANDS[name], []
    words = words_of(command, place / "given")

    def fresh(called: str) -> Path:
        folder = place / called
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        source = place / "given" / command.given
        if command.given:
            (shutil.copytree if source.is_dir() else shutil.copy)(source, folder / command.given)
        return folder

    whole = fresh(f"{name}_whole")
    start = time.monotonic()
    if status_of(words, whole):
        return [f"fails without being killed: {(whole / 'told').read_text('utf-8')[-300:]}"]
    duration = time.monotonic() - start
    for _ in range(kills):
        folder, after = fresh(name), chance.uniform(0.0, duration)
        process = begin(words, folder)
        time.sleep(after)
        with suppress(ProcessLookupError):
            os.killpg(process, signal.SIGKILL)
        os.waitpid(process, 0)
        try:
            command.look(folder, whole)
            again = [[*words, "--resume"], words] if name == "identify" else [words]
            require(any(status_of(once, folder) == 0 for once in again), "cannot be run again")
            command.look(folder, whole)
            require(
                sorted(p.relative_to(whole) for p in whole.glob("out/**/m?.json"))
                == sorted(p.relative_to(folder) for p in folder.glob("out/**/m?.json")),
                "run again, other models are there",
            )
        except (Defect, ServoBenchError, OSError) as error:
            said = (folder / "told").read_text("utf-8")[-300:]
            wrong.append(f"{name} killed after {after:.2f} s of {duration:.2f}: {error}; it said {said!r}")
            shutil.copytree(folder, place / f"{name}_{len(wrong)}")
    return wrong


def main() -> int:
    """Print how many kills did harm, and which; not 0 when any did."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--command", choices=list(COMMANDS), action="append")
    parser.add_argument("--kills", type=int, default=KILLS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, help="folder to work in, kept")
    chosen = parser.parse_args()
    found = 0
    with tempfile.TemporaryDirectory() as temporary:
        place = chosen.keep or Path(temporary)
        given = place / "given"
        given.mkdir(parents=True)
        for words in (["record", *SHORT, "-o", "lab"], ["export", "lab", "--to", "h5", "-o", "out"]):
            if status_of(words, given):
                raise SystemExit((given / "told").read_text("utf-8"))
        [single] = (given / "out").glob("*.h5")
        single.rename(given / "runs.h5")
        for name in chosen.command or COMMANDS:
            wrong = try_out(name, chosen.kills, place, random.Random(chosen.seed))
            found += len(wrong)
            line(f"{name}: harmful kills", f"{len(wrong)} of {chosen.kills}")
            for text in wrong:
                print(f"  {text}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
