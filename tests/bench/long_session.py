"""What a session of 10,000 runs and 10 GB costs: `python -m tests.bench long_session [--runs 10000] [--keep FOLDER]`.

A few runs are recorded and sealed as any other; the rest are the same samples under other ids, loads, gains and times,
written as sealed files without syncing and reading back each. Every file is a valid one, and none differs from what the
real writer makes but in its facts.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.bench.printing import line
from tests.endurance.long import KINDS, make_session
from tests.endurance.vitals import vitals

RUNS = 10_000
DURATION = 53.0
"""Of a run [s]; at 200 Hz it takes about a megabyte."""
SAMPLE = 200
MB = 1e6


@contextmanager
def taking(name: str, bar: str = "") -> Iterator[None]:
    """Print how long something takes."""
    begin = time.perf_counter()
    yield
    line(name, f"{time.perf_counter() - begin:.3f} s", bar)


def headless(path: Path) -> None:
    """Open and list without the window."""
    from sessions import Annotation, Session

    (path / "index.json").unlink(missing_ok=True)
    with taking("open and list, no index: every file's header is read"):
        Session.open(path).runs()
    with taking("open and list, with the index", "≤ 1 s"):
        session = Session.open(path)
        runs = session.runs()
    with taking("list again"):
        session.runs()
    with taking("hash of the data of all runs"):
        session.data_hash()
    from sessions.sampling import sample_of

    with taking(f"choose {SAMPLE} of {len(runs)} runs"):
        sample_of(runs, SAMPLE)
    with taking("note something about a run"):
        session.annotate(runs[0].id, Annotation(note="seen"))


def commands(path: Path) -> None:
    """Commands that list and fit, each in a process of its own."""
    with taking("bench runs --json", "includes the start of Python"):
        _bench(["runs", str(path), "--json"])
    with tempfile.TemporaryDirectory() as folder:
        fit = ["identify", str(path), "--sample", str(SAMPLE), "--models", "m1,m6", "--trials", "400", "--quiet"]
        begin = time.perf_counter()
        most = _bench([*fit, "--validation", "none", "-o", f"{folder}/result"])
        line(
            f"bench identify --sample {SAMPLE}, M1 and M6: most memory",
            f"{most:.0f} MB",
            f"≤ 500 MB; {time.perf_counter() - begin:.1f} s",
        )


def _bench(arguments: list[str]) -> float:
    """Run `bench` and return the most memory it held [MB]."""
    program = "import sys; from bench_gui.cli import main; sys.exit(main(sys.argv[1:]))"
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    process = subprocess.Popen([sys.executable, "-c", program, *arguments], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"bench {arguments[0]} ended with {process.returncode}; before: {before.ru_maxrss}")
    return usage.ru_maxrss / 1024.0


def window(path: Path) -> None:
    """Open it in the window, filter, sort, select, fit."""
    from tests.bench.window import Bench, Ticks, run_for, until

    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(folder)
        library, panel = bench.controller.library, bench.window.session
        run_for(3.0)
        empty = vitals().rss

        def timed(name: str, act: Callable[[], Any], ready: Callable[[], Any] = lambda: True, bar: str = "") -> None:
            ticks = Ticks()
            begin = time.perf_counter()
            ticks.start()
            act()
            until(ready)
            panel.view.viewport().repaint()
            took = time.perf_counter() - begin
            run_for(0.05)
            away = ticks.stop().max()
            line(f"window: {name}", f"{took:.3f} s", f"{bar + '; ' if bar else ''}away for {away:.0f} ms at most")

        count = len(os.listdir(path / "runs"))

        def there() -> bool:
            return not library.loading and len(library.runs) > 0.9 * count

        (path / "index.json").unlink(missing_ok=True)
        timed("open, no index", lambda: library.open(path), there)
        timed("open another session", lambda: library.open_example(), lambda: not library.loading and there() is False)
        timed("open, with the index", lambda: library.open(path), there, "≤ 1 s")
        run_for(1.0)
        for text in ("s", "sin_sin", "kp=16 mass>0.6", "-excluded", ""):
            timed(f"filter {text!r}", lambda text=text: panel.head.filter.setText(text), bar="≤ 0.2 s")
        for column in (4, 2, 0):
            timed(f"sort by column {column}", lambda column=column: panel.view.sortByColumn(column, _ascending()))
        timed("select all", panel.select_shown)
        timed("select none", lambda: panel.select([]))
        timed("note something about a run", lambda: panel.editing.set_note(library.runs[5].id, "seen"))
        timed("exclude 5,000 runs", lambda: panel.editing.exclude([run.id for run in library.runs[:5000]], "test"))
        timed("undo it", bench.controller.undo.undo)
        run_for(1.0)
        line("window: stamps made", f"{len(panel.view.sketches._known)}", "those of the rows that were in sight")
        for number in range(7):
            timed(f"show page {number}", lambda number=number: bench.window.show_task(number))
        bench.window.show_task(1)
        run_for(2.0)
        line("window: memory", f"{vitals().rss:.0f} MB", f"{empty:.0f} MB before the session was opened")
        _fit(bench)
        bench.window.leave()


def _ascending() -> Any:
    from PySide6.QtCore import Qt

    return Qt.SortOrder.AscendingOrder


def _fit(bench: Any) -> None:
    """Identify from a sample in the window, watching the process that does it."""
    from bench_gui.identify.fit.settings import FitSettings
    from tests.bench.window import until
    from tests.endurance.vitals import descendants

    controller = bench.controller
    most: dict[int, float] = {}

    def look() -> bool:
        for pid in descendants(os.getpid()):
            most[pid] = max(most.get(pid, 0.0), vitals(pid).rss)
        return not controller.fitting.active

    settings = FitSettings(models=("m1", "m6"), command_path="off", trials=60, validation="none", sample=SAMPLE)
    begin = time.perf_counter()
    controller.identifying.identify(settings)
    until(look, 900.0)
    took = time.perf_counter() - begin
    line(f"window: fit to a sample of {SAMPLE}: most memory", f"{max(most.values()):.0f} MB", f"≤ 500 MB; {took:.1f} s")
    line("window: its own memory meanwhile", f"{vitals().rss:.0f} MB")


def main() -> None:
    """Make the session, measure, delete it."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench long_session")
    parser.add_argument("--runs", type=int, default=RUNS, help="(%(default)s)")
    parser.add_argument("--duration", type=float, default=DURATION, help="of each run [s] (%(default)s)")
    parser.add_argument("--keep", type=Path, help="make it there, or use it if it is there, and leave it")
    parser.add_argument("--only", choices=("headless", "commands", "window"), nargs="*", default=[])
    chosen = parser.parse_args()
    place = Path(tempfile.mkdtemp(prefix="long")) if chosen.keep is None else chosen.keep
    path = place / "long"
    try:
        if not path.exists():
            with taking(f"make {chosen.runs} runs of {KINDS} kinds"):
                make_session(path, chosen.runs, chosen.duration)
        size = sum(entry.stat().st_size for entry in os.scandir(path / "runs"))
        line("runs and size", f"{len(os.listdir(path / 'runs'))}, {size / 1e9:.2f} GB")
        for name, part in (("headless", headless), ("commands", commands), ("window", window)):
            if name in (chosen.only or ("headless", "commands", "window")):
                part(path)
        index = path / "index.json"
        if index.exists():
            line(
                "size of the index", f"{index.stat().st_size / MB:.1f} MB", f"{len(json.loads(index.read_text()))} keys"
            )
    finally:
        if chosen.keep is None:
            shutil.rmtree(place, ignore_errors=True)


if __name__ == "__main__":
    main()
