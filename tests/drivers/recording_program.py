"""A program with a recorder, for tests that kill, stop or hang it. Runs in a process of its own."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from core.motion.recording import RunHeader
from core.motion.trajectories import make_trajectory
from core.servo.bench import Bench
from core.servo.settings import ServoSettings
from drivers.recorder import Recorder
from tests.drivers.fake_servo import FakeSource
from tests.waiting import wait_until

SETTINGS = ServoSettings(servo="mx106", kp=16.0, supply_voltage=12.0)
HEADER = RunHeader(trajectory="sin_sin", bench=Bench(mass=0.5, length=0.15), settings=SETTINGS, rate=200.0)
LONG = make_trajectory("sin_sin", 60.0)


@dataclass(frozen=True)
class FileSink:
    """Picklable; writes a run's rows and how it ended into a folder, and opens there what it describes."""

    folder: Path
    broken: bool = False

    def open(self, header: RunHeader) -> OpenFileSink:
        return OpenFileSink(self, header)


class OpenFileSink:
    def __init__(self, description: FileSink, header: RunHeader) -> None:
        self._description = description
        self._blocks: list[Any] = []
        self._name = header.trajectory

    def append(self, rows: Any) -> None:
        if self._description.broken:
            raise OSError("disk full")
        self._blocks.append(rows)

    def finish(self, exit_status: str, reason: str = "") -> str:
        folder = self._description.folder
        if self._blocks:
            np.save(folder / "rows.npy", np.concatenate(self._blocks))
        (folder / "end.txt").write_text(f"{exit_status}\n{reason}\n", encoding="utf-8")
        return self._name


def program(source: FakeSource, folder: Path, commands: float, leave: bool) -> None:
    """Record a minute; beat until so many commands were sent, then end without closing anything, or hang."""
    recorder = Recorder(source)
    recorder.start()
    recorder.record(LONG, HEADER, FileSink(folder))
    wait_until(lambda: source.log["commands"] >= commands or (recorder.poll() and not recorder.busy), recorder.beat)
    if not leave:
        threading.Event().wait()


def gone(process: int) -> bool:
    """Whether a process has ended; one that nobody waited for has ended too."""
    try:
        with open(f"/proc/{process}/stat", encoding="utf-8") as stat:
            return stat.read().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True
