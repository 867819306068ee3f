"""Repeatability of a servo: the error that no deterministic model can be expected to avoid.

Repetitions get the same commands on the same bench and differ nevertheless, by backlash, temperature and the contact of
the gears. A deterministic model gives one motion m(t) for all n of them. Its mean absolute error,
(1/n)·Σ_i |y_i(t) − m(t)|, is smallest at each time where m(t) is the median of the y_i(t), so

    floor = mean over t of (1/n)·Σ_i |y_i(t) − median_j y_j(t)|

is a lower bound on these runs, whatever their distribution. For two repetitions it is half their mean absolute
difference. It is optimistic, since the median comes from the runs themselves. On unseen repetitions even a perfect
model has about √2 times the floor of two repetitions (normally distributed scatter: |y_1 − y_2|/2 averages σ/√π, |y −
μ| averages σ·√(2/π)). A model that starts each run from its own first measured angle can be slightly below the floor.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from core.base.arrays import Array
from core.base.errors import IdentificationError, reading_json
from core.base.json_fields import from_plain
from core.base.words import counted
from core.identification.runs.folds import unit_of
from core.identification.runs.grouping import SAME_DIGITS, Value
from core.motion.recording import Recording

LARGEST_SHIFT = 0.1
"""Largest difference of the start times of repetitions [s]."""

SHIFT_STEPS = (0.005, 0.001)
"""Steps in which the shift between repetitions is sought, first coarse, then around the best [s]."""

SAME_COMMANDS = 0.02
"""Mean difference of the goals beyond which runs are not repetitions [rad]."""

MOST_COMMANDS = 50
"""Number of different commands under one header, such as random motions, with which a run is compared.

Comparing each of 2,000 runs with all others would take hours.
"""

PARTNERS = 50
"""Number of runs on either side with which each run of a large set (more than twice this size) is compared.

All pairs of 2,000 runs would be two million.
"""


@dataclass(frozen=True, kw_only=True)
class Repetitions:
    """Runs with the same commands on the same bench. Errors in rad."""

    runs: tuple[str, ...]
    trajectory: str
    floor: float
    """Mean absolute deviation from the median motion, see the module's docstring."""
    distances: tuple[tuple[str, str, float], ...]
    """Two runs and the mean absolute difference of their positions, for every pair of `pairs_of`."""

    @property
    def difference(self) -> float:
        """Mean absolute difference of two of them, over all compared pairs."""
        return float(np.mean([distance for _, _, distance in self.distances]))


@dataclass(frozen=True, kw_only=True)
class FloorRow:
    """Floor of a trajectory, or of all, and a model's error on the same runs, in rad."""

    trajectory: str
    """Name of the trajectory; empty for all."""
    repetitions: int
    """Number of sets of runs."""
    runs: int
    pairs: int = 0
    """Number of compared pairs of runs, see PARTNERS; 0 in files without it."""
    floor: float
    """Floor; every run has the same weight."""
    difference: float
    """Mean difference; every pair has the same weight."""
    error: float | None
    """Mean error of a model on these runs; None without a model."""

    @property
    def ratio(self) -> float | None:
        """Model error over floor."""
        return None if self.error is None or self.floor <= 0.0 else self.error / self.floor

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {**self.__dict__, "ratio": self.ratio}

    @classmethod
    @reading_json("a repeatability floor", IdentificationError)
    def from_json(cls, data: Mapping[str, Any]) -> FloorRow:
        """Read the data of `to_json`.

        Raises:
            IdentificationError: The data do not describe a floor.
        """
        return from_plain(cls, data)


@dataclass(frozen=True, kw_only=True)
class Repeatability:
    """Repetitions among recordings."""

    sets: tuple[Repetitions, ...]

    def table(self, errors: Mapping[str, float] | None = None) -> tuple[FloorRow, ...]:
        """Return one row per trajectory and a last one for all; `errors` of a model are by run id [rad]."""
        names = sorted({found.trajectory for found in self.sets})
        rows = [_row(name, [s for s in self.sets if s.trajectory == name], errors) for name in names]
        return (*rows, _row("", self.sets, errors)) if self.sets else ()

    def text(self, errors: Mapping[str, float] | None = None) -> str:
        """Return the result as one or two sentences."""
        if not self.sets:
            return "No condition was recorded twice: record repetitions to measure the servo's repeatability."
        every = self.table(errors)[-1]
        text = (
            f"Repetitions of the same run scatter by {1e3 * every.floor:.1f} mrad around their median "
            f"({counted(every.repetitions, 'set')}, {every.runs} runs): no deterministic model can do better on them."
        )
        if every.error is None or every.ratio is None:
            return text
        return f"{text} The model's {1e3 * every.error:.1f} mrad on these runs is {every.ratio:.2g} times that."


def repeatability(recordings: Sequence[Recording], dt: float | None = None) -> Repeatability:
    """Find the repetitions among recordings and the differences between them.

    Repetitions have the same trajectory, bench, settings and unit. Their goals and releases agree after a shift in
    time.

    Args:
        recordings: The recordings.
        dt: Time step of the comparison [s]. None: the shortest of the recordings.

    Raises:
        IdentificationError: The time step is not possible.
    """
    alike: dict[tuple[Value, ...], list[Recording]] = {}
    for recording in recordings:
        alike.setdefault(_header(recording), []).append(recording)
    found = [_compared(members, dt) for group in alike.values() for members in _same_commands(group)]
    return Repeatability(sets=tuple(one for one in found if one is not None))


def _header(recording: Recording) -> tuple[Value, ...]:
    """Return the facts that repetitions share; numbers that agree to SAME_DIGITS digits are equal."""
    bench = recording.bench
    facts = (*recording.conditions().values(), bench.inertia, bench.gravity_torque, bench.angle_offset)
    damping = recording.settings.damping
    numbers = (*facts, math.nan if damping is None else damping)
    return (unit_of(recording), *(v if isinstance(v, str) else f"{v:.{SAME_DIGITS}g}" for v in numbers))


def _same_commands(group: Sequence[Recording]) -> list[list[tuple[Recording, float]]]:
    """Return sets of at least two runs whose commands agree with those of the first one, each with its shift [s].

    If there are more different commands than MOST_COMMANDS, a run is compared with the latest ones.
    """
    sets: list[list[tuple[Recording, float]]] = []
    for recording in group:
        for members in sets[-MOST_COMMANDS:]:
            shift, apart = _shift(members[0][0], recording)
            if apart <= SAME_COMMANDS:
                members.append((recording, shift))
                break
        else:
            sets.append([(recording, 0.0)])
    return [members for members in sets if len(members) > 1]


def _compared(members: Sequence[tuple[Recording, float]], dt: float | None) -> Repetitions | None:
    runs, shifts = zip(*members, strict=True)
    step = dt if dt is not None else min(float(np.median(np.diff(run.time))) for run in runs)
    if not step > 0.0:
        raise IdentificationError(f"repetitions cannot be compared on a grid of {step:g} s; give a positive step")
    # Time t of the first run is t + shift of the other.
    begin = max(-shift for shift in shifts)
    end = min(run.duration - shift for run, shift in zip(runs, shifts, strict=True))
    grid = np.arange(max(begin, 0.0), end + 1e-9, step)
    if len(grid) < 2:
        return None
    moved: list[Array] = [
        np.interp(grid + shift, run.time - run.time[0], run.position) for run, shift in zip(runs, shifts, strict=True)
    ]
    motions = np.array(moved)
    return Repetitions(
        runs=tuple(run.id for run in runs),
        trajectory=runs[0].trajectory,
        floor=float(np.abs(motions - np.median(motions, axis=0)).mean()),
        distances=tuple(
            (runs[i].id, runs[k].id, float(np.abs(motions[i] - motions[k]).mean())) for i, k in pairs_of(len(runs))
        ),
    )


def pairs_of(count: int) -> list[tuple[int, int]]:
    """Return the pairs of runs to compare, by index: all pairs, or in a large set those within PARTNERS on a ring."""
    if count <= 2 * PARTNERS + 1:
        return list(combinations(range(count), 2))
    return [(i, (i + step) % count) for i in range(count) for step in range(1, PARTNERS + 1)]


def _shift(first: Recording, other: Recording) -> tuple[float, float]:
    """Return how much later the other run's commands are [s], and the remaining mean difference of goals [rad]."""
    ours, theirs = (run.time - float(run.time[0]) for run in (first, other))
    inner = (ours >= LARGEST_SHIFT) & (ours <= min(ours[-1], theirs[-1]) - LARGEST_SHIFT)
    if int(inner.sum()) < 2:
        return 0.0, np.inf
    if first.command != other.command:
        return 0.0, np.inf
    same = ((ours, theirs), (first.goal, other.goal), (first.torque_enable, other.torque_enable))
    if all(np.array_equal(one, another) for one, another in same):
        return 0.0, 0.0
    moments = ours[inner]
    driven, released = first.goal[inner], ~first.torque_enable[inner]

    def apart(shift: float) -> float:
        goal = np.interp(moments + shift, theirs, other.goal)
        off = np.interp(moments + shift, theirs, ~other.torque_enable) > 0.5
        # A goal has no effect while the motor is released.
        return float((np.where(released & off, 0.0, np.abs(goal - driven)) + np.abs(off ^ released)).mean())

    best = 0.0
    for step in SHIFT_STEPS:
        reach = LARGEST_SHIFT if step == SHIFT_STEPS[0] else SHIFT_STEPS[0]
        steps = np.arange(-round(reach / step), round(reach / step) + 1) * step
        # Of equally good shifts the smallest: constant commands give no information.
        best = min((best + float(s) for s in steps[np.argsort(np.abs(steps), kind="stable")]), key=apart)
    return best, apart(best)


def _row(trajectory: str, sets: Sequence[Repetitions], errors: Mapping[str, float] | None) -> FloorRow:
    runs = [run for found in sets for run in found.runs]
    known = [errors[run] for run in runs if run in errors] if errors else []
    distances = [distance for found in sets for _, _, distance in found.distances]
    return FloorRow(
        trajectory=trajectory,
        repetitions=len(sets),
        runs=len(runs),
        pairs=len(distances),
        floor=float(np.average([found.floor for found in sets], weights=[len(found.runs) for found in sets])),
        difference=float(np.mean(distances)),
        error=float(np.mean(known)) if known else None,
    )
