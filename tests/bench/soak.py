"""Whether a bench that works all day leaks or loses: `python -m tests.bench soak [--hours 8] [--speed auto]`.

The real window without a screen, the real recorder process, a simulated servo whose clock runs `speed` times as fast,
a session on the disk, and a person who does everything a person does (tests/endurance/day.py). Each minute of the
bench everything the processes hold is noted; at the end every run's file is read and compared with what was asked.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
import tempfile
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from tests.bench.printing import line
from tests.endurance.day import Day
from tests.endurance.evidence import check_runs
from tests.endurance.vitals import Stopwatch, Vitals, allocations, descendants, vitals

MINUTE, HOUR = 60.0, 3600.0
SPEEDS = (20.0, 16.0, 12.0, 8.0)
"""Tried from the fastest; eight hours take 24 to 60 minutes."""
MOST_SKIPPED = 0.005
"""A speed will do if at most this share of the cycles of a trial is skipped."""
WARM_UP = 1.0
"""Of the bench's time [h], a quarter of a shorter day: caches fill. Everything was done twice before."""
SLOPE_BAR = 1.0
"""[MB/h]"""


@dataclass(frozen=True)
class Row:
    """One look, once a minute of the bench."""

    bench_h: float
    wall_s: float
    rss: float
    """Of the window [MB], as the next."""
    pss: float
    own: float
    heap: float
    """Of the C library's in the window: in use, and free between [MB]."""
    holes: float
    blocks: int
    """In use of Python's."""
    threads: int
    handles: int
    recorder_rss: float
    recorder_threads: int
    recorder_handles: int
    others_rss: float
    """Of the compute process and every computing process."""
    processes: int
    zombies: int
    wrappers: int
    widgets: int
    runs: int
    samples: int
    skipped: int
    idle: int
    """1 when nothing was under way, so that counts of threads and handles can be compared."""
    doing: str


class Soak:
    """A day, looked at once a minute of the bench; what is seen goes to the disk, it would make memory grow itself."""

    def __init__(self, day: Day, speed: float, path: Path) -> None:
        from PySide6.QtCore import QTimer

        self.day = day
        self.path = path
        self.watch = Stopwatch(speed)
        self._timer = QTimer()
        self._timer.setInterval(round(1e3 * MINUTE / speed))
        self._timer.timeout.connect(self.look)
        with path.open("w", newline="") as file:
            csv.writer(file).writerow([field.name for field in fields(Row)])

    def run(self, hours: float, pace: float) -> None:
        """Work until so much of the bench's time has passed, a round every `pace` [s] of it."""
        self._timer.start()
        number = 0
        while self.watch.bench < hours * HOUR:
            self.day.round(number)
            self.day.doing = "idle"
            self.day.settle()
            self.look()
            number += 1
            self.day.wait(max(0.0, number * pace - self.watch.bench) / self.watch.speed)
        self._timer.stop()

    def look(self) -> None:
        """Take one row."""
        import shiboken6
        from PySide6.QtWidgets import QApplication

        day = self.day
        own, asked = vitals(), allocations()
        below = descendants(os.getpid())
        recorder = day.controller.servo.recorder
        its = recorder._child.pid if recorder is not None else None
        held = vitals(its) if its is not None else Vitals()
        others = sum((vitals(pid) for pid in below if pid != its), Vitals())
        row = Row(
            bench_h=self.watch.bench / HOUR,
            wall_s=self.watch.wall,
            rss=own.rss,
            pss=own.pss,
            own=own.own,
            heap=asked.heap,
            holes=asked.holes,
            blocks=asked.blocks,
            threads=own.threads,
            handles=own.handles,
            recorder_rss=held.rss,
            recorder_threads=held.threads,
            recorder_handles=held.handles,
            others_rss=others.rss,
            processes=len(below),
            zombies=sum(state == "Z" for state in below.values()),
            wrappers=len(shiboken6.getAllValidWrappers()),
            widgets=len(QApplication.allWidgets()),
            runs=day.ledger.count,
            samples=day.samples,
            skipped=day.skipped,
            idle=int(day.idle),
            doing=day.doing,
        )
        with self.path.open("a", newline="") as file:
            csv.writer(file).writerow([f"{v:.4g}" if isinstance(v, float) else v for v in row.__dict__.values()])


def read_rows(path: Path) -> list[Row]:
    """Read what a soak has noted so far."""
    kinds = {field.name: {"float": float, "int": int, "str": str}[str(field.type)] for field in fields(Row)}
    with path.open(newline="") as file:
        return [Row(**{name: kinds[name](text) for name, text in row.items()}) for row in csv.DictReader(file)]


def column(rows: list[Row], name: str) -> np.ndarray:
    """One figure over time."""
    return np.array([getattr(row, name) for row in rows], dtype=float)


def after_warm_up(rows: list[Row]) -> list[Row]:
    """The rows that count."""
    return [row for row in rows if row.bench_h >= min(WARM_UP, 0.25 * rows[-1].bench_h)]


def slope(rows: list[Row], name: str, over: str = "bench_h") -> tuple[float, float, float]:
    """Median of the slopes between all pairs of rows (Theil and Sen), and its 95 % interval."""
    from scipy.stats import theilslopes

    middle, _, low, high = np.array(theilslopes(column(rows, name), column(rows, over))).tolist()
    return middle, low, high


def tell(rows: list[Row], speed: float) -> None:
    """Print what the rows say."""
    counted = after_warm_up(rows)
    still = [row for row in counted if row.idle]
    middle, low, high = slope(counted, "rss")
    wall = slope(counted, "rss", "wall_s")[0] * HOUR
    line(
        f"resident memory of the window over {rows[-1].bench_h:.2f} h at {speed:g} ×",
        f"{middle:+.2f} MB/h",
        f"≤ {SLOPE_BAR:g} MB/h; 95 %: {low:+.2f} … {high:+.2f}; {wall:+.1f} MB per hour of the machine; "
        f"{counted[0].rss:.0f} → {counted[-1].rss:.0f} MB",
    )
    recorded = column(counted, "runs")[-1] - column(counted, "runs")[0]
    line("runs meanwhile", f"{recorded / (counted[-1].bench_h - counted[0].bench_h):.0f} an hour")
    line("the same, shared memory divided", f"{slope(counted, 'pss')[0]:+.2f} MB/h")
    line("the same, of no file", f"{slope(counted, 'own')[0]:+.2f} MB/h")
    line("the heap in use, holes in it", f"{slope(counted, 'heap')[0]:+.2f}, {slope(counted, 'holes')[0]:+.2f} MB/h")
    line("Python's blocks in use", f"{slope(counted, 'blocks')[0]:+.0f} an hour")
    later = [row for row in counted if row.bench_h >= 0.5 * rows[-1].bench_h]
    line("resident memory of the window, second half of the time", f"{slope(later, 'rss')[0]:+.2f} MB/h")
    line("resident memory of the recorder", f"{slope(counted, 'recorder_rss')[0]:+.2f} MB/h")
    line(
        "resident memory of the compute process, at rest",
        f"{slope(still, 'others_rss')[0]:+.2f} MB/h" if len(still) > 1 else "–",
    )
    for name, what in (
        ("threads", "threads of the window"),
        ("handles", "handles of the window"),
        ("recorder_threads", "threads of the recorder"),
        ("recorder_handles", "handles of the recorder"),
        ("processes", "processes"),
        ("widgets", "widgets"),
        ("wrappers", "Qt objects Python knows"),
    ):
        values = column(still, name)
        if len(values):
            line(f"{what}, at rest: first, least, most, last", " ".join(f"{v:.0f}" for v in _ends(values)), "constant")


def _ends(values: np.ndarray) -> tuple[float, float, float, float]:
    return values[0], values.min(), values.max(), values[-1]


def possible_speed(day_of: Any) -> float:
    """The highest speed at which this machine, as busy as it is, skips next to no cycle."""
    for speed in SPEEDS:
        with tempfile.TemporaryDirectory() as folder:
            day = day_of(Path(folder), speed)
            day.begin()
            day.record(("sin_sin", "lift_and_drop"))
            day.end()
            if day.skipped <= MOST_SKIPPED * (day.samples + day.skipped) and not day.incidents:
                return speed
    return SPEEDS[-1]


def main(arguments: list[str] | None = None) -> int:
    """Work a day and print the figures; 1 when a bar is missed."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench soak", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--hours", type=float, default=8.0, help="of the bench's time (%(default)s)")
    parser.add_argument("--speed", default="auto", help="of the bench's clock, 0.1 to 20, or auto (%(default)s)")
    parser.add_argument(
        "--pace",
        type=float,
        default=4.0,
        help="bench's time from one round of work, about four runs, to the next; 0: no rest (%(default)s) [min]",
    )
    parser.add_argument("--rate", type=float, default=100.0, help="samples per second of the bench (%(default)s)")
    parser.add_argument("--out", type=Path, default=Path("soak"), help="takes soak.csv (%(default)s)")
    chosen = parser.parse_args(arguments)
    chosen.out.mkdir(parents=True, exist_ok=True)
    place = chosen.out / "soak.csv"
    speed = possible_speed(lambda folder, at: Day(folder, at, chosen.rate)) if chosen.speed == "auto" else 0.0
    speed = speed or float(chosen.speed)
    with tempfile.TemporaryDirectory() as folder:
        day = Day(Path(folder), speed, chosen.rate)
        day.begin()
        for _ in range(2):
            day.everything()
        soak = Soak(day, speed, place)
        soak.run(chosen.hours, MINUTE * chosen.pace)
        day.end()
        rows = read_rows(place)
        tell(rows, speed)
        from sessions import Session

        evidence = check_runs(Session.open(day.session), day.ledger.runs())
    line(
        f"samples in the files of {evidence.runs} runs",
        f"{evidence.samples}",
        f"{evidence.lost} lost, {len(evidence.wrong)} runs wrong; {evidence.skipped} cycles told as skipped",
    )
    line("done", ", ".join(f"{count} {name}" for name, count in sorted(day.done.items())))
    for text, count in day.incidents.most_common():
        line("went wrong by itself", f"{count} ×", text)
    for text in evidence.wrong[:20]:
        line("wrong", text)
    return int(bool(evidence.wrong) or slope(after_warm_up(rows), "rss")[0] > SLOPE_BAR)


if __name__ == "__main__":
    sys.exit(main())
