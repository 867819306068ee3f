"""Whether every sample of a run is in its file, once and in its place.

A run's goal says which cycle a row belongs to: row i was commanded in cycle i + the cycles its rows say were skipped,
and holds exactly that cycle's goal. A row lost, doubled or swapped on the way to the disk breaks the equality.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from core.motion.recording import Recording
from core.motion.trajectories import make_trajectory
from drivers.recorder.run import RunPlan
from sessions import Session


@dataclass(frozen=True)
class AskedRun:
    """A run as it was asked for and as the recorder said it ended."""

    id: str
    trajectory: str
    duration: float
    """[s]"""
    rate: float
    """[Hz]"""
    exit_status: str
    samples: int
    """Rows the loop handed out."""
    skipped: int
    """Cycles the loop said it skipped."""

    @classmethod
    def from_row(cls, row: dict[str, str]) -> AskedRun:
        """Read a line of `write`."""
        return cls(
            row["id"],
            row["trajectory"],
            float(row["duration"]),
            float(row["rate"]),
            row["exit_status"],
            int(row["samples"]),
            int(row["skipped"]),
        )


@dataclass(frozen=True)
class Evidence:
    """What was found in the files of all runs."""

    runs: int
    samples: int
    skipped: int
    """Cycles without a sample, each told in the row that follows."""
    lost: int
    """Rows handed out by the loop that are not in the file."""
    wrong: tuple[str, ...]
    """One line for each run that does not hold what it should."""


def check_run(asked: AskedRun, recording: Recording) -> str:
    """What is wrong with a run's file; empty when nothing is."""
    plan = RunPlan.sample(make_trajectory(asked.trajectory, asked.duration), asked.rate)
    count = len(recording.time)
    if count != asked.samples:
        return f"{asked.samples} samples were taken, {count} are there"
    cycle = np.arange(count) + np.cumsum(recording.channels["skipped_cycles"].astype(int))
    if cycle[-1] >= len(plan):
        return f"a sample of cycle {cycle[-1]} of {len(plan)}"
    if asked.exit_status == "success" and count + asked.skipped != len(plan):
        return f"{count} samples and {asked.skipped} skipped cycles are not the {len(plan)} cycles of the run"
    strange = np.flatnonzero(recording.goal_position != plan.goal[cycle])
    # A released servo's row holds its position as goal.
    strange = strange[recording.channels["torque_enable"][strange] != 0]
    if len(strange):
        return f"{len(strange)} samples hold the goal of another cycle, the first is sample {strange[0]}"
    if not np.all(np.diff(recording.time) > 0):
        return "times do not increase"
    return ""


def check_runs(session: Session, asked: Iterable[AskedRun]) -> Evidence:
    """Read every run that was asked for, and look for runs nobody asked for."""
    there = {run.id for run in session.runs()}
    runs = samples = skipped = lost = 0
    wrong: list[str] = []
    known: set[str] = set()
    for one in asked:
        runs += 1
        skipped += one.skipped
        known.add(one.id)
        if one.id not in there:
            if one.samples >= 2:
                lost += one.samples
                wrong.append(f"{one.id or one.trajectory}: {one.samples} samples, but no file")
            continue
        recording = session.load(one.id)
        samples += len(recording.time)
        lost += max(0, one.samples - len(recording.time))
        problem = check_run(one, recording)
        if problem:
            wrong.append(f"{one.id}: {problem}")
    wrong += [f"{identity}: nobody asked for it" for identity in sorted(there - known)]
    wrong += session.problems()
    return Evidence(runs, samples, skipped, lost, tuple(wrong))


class Ledger:
    """The runs asked for, kept in a file so that keeping them costs no memory."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.count = 0
        with path.open("w", newline="") as file:
            csv.writer(file).writerow(AskedRun.__dataclass_fields__)

    def add(self, run: AskedRun) -> None:
        """Note a run."""
        self.count += 1
        with self._path.open("a", newline="") as file:
            csv.writer(file).writerow(run.__dict__.values())

    def runs(self) -> list[AskedRun]:
        """All that were noted."""
        with self._path.open(newline="") as file:
            return [AskedRun.from_row(row) for row in csv.DictReader(file)]
