"""Goals logged early or late: `python -m tests.bench.goal_shifts [SEEDS [FIRST [FITS]]]`.

Random servos near the shipped MX-106 with M4 friction, logged at 50 Hz as tables with the goal 2 rows early … 2 rows
late, by a program that commands a goal each row, and by one that commands four and logs one. Printed is how often an
import names the shift, how often it names one of aligned tables, and of the first FITS seeds of the former, imported
with `--goal-shift auto`, how many good values lie inside their interval.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np

from core.identification.evidence.grade import GOOD
from core.identification.identify import IdentificationRequest, identify
from core.motion.recording import Recording
from core.motion.trajectories import make_trajectory
from core.servo.bench import Bench
from core.servo.model import ServoModel
from sessions import Session, import_paths
from sessions.importers import ImportEvent, TableImport
from sessions.importers.columns import parse_columns
from tests.bench.intervals import read
from tests.bench.planted import PATH, RIGS, servo
from tests.bench.printing import line

SERVO, RATE = "mx106", 50.0
FINEST = 2e-4
"""Step of the truth [s]."""
ROWS_LATE = (-2, -1, 0, 1, 2)
FINER = 4
"""Goals in a row of a program that commands more than it logs."""
MOTIONS = (("sin_sin", 0, 0), ("sin_time_square", 1, 1), ("up_and_down", 0, 1), ("lift_and_drop", 1, 1))
"""Trajectory, and places of mass and gain, of each run."""


def planted(seed: int, finer: int = 1) -> tuple[ServoModel, list[Recording]]:
    """A servo and its aligned runs; finer: goals in each row, of which the log has the first."""
    rate, rig = RATE * finer, RIGS[SERVO]
    truth = replace(servo(SERVO, seed), dt=1.0 / rate, substeps=round(1.0 / rate / FINEST))
    runs: list[Recording] = []
    for place, (name, mass, kp) in enumerate(MOTIONS):
        path = make_trajectory(name)
        t = np.arange(round(path.duration * rate)) / rate
        goal, enable = path.goal(t), path.torque_enable(t).astype(float)
        run = Recording(
            id=f"{place}",
            trajectory=name,
            bench=Bench(mass=rig.masses[mass], length=rig.length),
            settings=replace(truth.default_settings(rig.kps[kp]), supply_voltage=rig.supply),
            channels={"time": t, "goal_position": goal, "torque_enable": enable, "position": np.zeros(len(t))},
        )
        channels = read(truth, run, seed).channels
        runs.append(replace(run, channels={channel: values[::finer] for channel, values in channels.items()}))
    return truth, runs


def written(runs: Sequence[Recording], rows_late: int, folder: Path) -> list[Path]:
    """Tables of runs whose goals are logged late, or early if negative."""
    paths: list[Path] = []
    for run in runs:
        places = np.clip(np.arange(run.samples) - rows_late, 0, run.samples - 1)
        columns = (run.time, run.goal_position[places], run.position, run.torque_enable)
        lines = [",".join(f"{value:.6f}" for value in row) for row in zip(*columns, strict=True)]
        paths.append(folder / f"{run.trajectory}_m{run.bench.mass:g}_kp{run.settings.kp:g}.csv")
        paths[-1].write_text("\n".join(["t,goal,pos,en", *lines]) + "\n")
    return paths


def imported(
    paths: Sequence[Path], home: Path, shift: int | Literal["auto"] = 0, **facts: float
) -> tuple[list[Recording], str]:
    """Runs of tables, and what was said of them."""
    rig, events = RIGS[SERVO], list[ImportEvent]()
    request = TableImport(
        columns=parse_columns("time=t,goal=goal,position=pos,torque_enable=en"),
        facts={"servo": SERVO, "length": rig.length, "supply_voltage": rig.supply, **facts},
        name_pattern="{trajectory}_m{mass}_kp{kp}",
        goal_shift=shift,
    )
    ids = import_paths(paths, home, events.append, request)
    session = Session.open(home)
    return [session.load(identity) for identity in ids], "\n".join(dict.fromkeys(event.note for event in events))


def named(runs: Sequence[Recording], rows_late: int) -> tuple[bool, str]:
    """Return True if an import names exactly this shift, and what it says."""
    with tempfile.TemporaryDirectory() as folder:
        _, said = imported(written(runs, rows_late, Path(folder)), Path(folder, "s"))
    return f"--goal-shift {-rows_late}," in said if rows_late else "--goal-shift" not in said, said


def inside(truth: ServoModel, runs: Sequence[Recording], rows_late: int) -> list[tuple[str, float]]:
    """Good parameters of a fit after `--goal-shift auto`, and how many half widths they are from the truth."""
    with tempfile.TemporaryDirectory() as folder:
        aligned, _ = imported(written(runs, rows_late, Path(folder)), Path(folder, "s"), "auto")
    request = IdentificationRequest(
        servo=SERVO, models=(truth.friction,), command_path=PATH, validation="none", threads=1
    )
    found = identify(request, aligned).results[0].evidence.parameters
    return [
        (p.symbol, abs(p.value - truth.values[p.name]) / max(p.half_width, 1e-300))
        for p in found
        if p.grade.word == GOOD
    ]


def main(seeds: int = 5, first: int = 0, fits: int = 5) -> None:
    """Print the figures."""
    judged: list[tuple[str, float]] = []
    for finer in (1, FINER):
        right, wrong = 0, 0
        for seed in range(first, first + seeds):
            truth, runs = planted(seed, finer)
            for rows_late in ROWS_LATE:
                begun = time.monotonic()
                good, said = named(runs, rows_late)
                right, wrong = right + good, wrong + (not good and not rows_late)
                print(f"    servo {seed}, {rows_late} rows late, {time.monotonic() - begun:.1f} s: {said}", flush=True)
                if finer == 1 and seed < first + fits:
                    found = inside(truth, runs, rows_late)
                    judged += found
                    print(f"    outside: {[(symbol, round(far, 1)) for symbol, far in found if far > 1.0]}", flush=True)
        how = "one goal a row" if finer == 1 else f"{finer} goals a row"
        line(f"{how}: shifts named, aligned logs among them", f"{right}/{seeds * len(ROWS_LATE)}")
        line(f"{how}: aligned logs with a shift", f"{wrong}/{seeds}", "0")
    if judged:
        good = sum(far <= 1.0 for _, far in judged)
        line(
            "good values inside after --goal-shift auto", f"{100.0 * good / len(judged):.1f} % of {len(judged)}", "90 %"
        )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
