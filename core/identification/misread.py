"""Facts of imported runs that cannot be right: a zero that does not hang down, goals of neighbouring rows.

A quick fit to a few seconds of driven motion tries both before the runs are used, with M4 and a delay of the command. A
goal that is logged late looks like a negative delay, which does not exist. One that is logged early looks like a longer
delay, so it counts only beyond the delay that the servo may have, or most of a row where that is longer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from core.base.errors import ServoBenchError
from core.identification.coverage.audit import FIRST_STEPS, best_fit
from core.identification.coverage.causes import (
    EXPLAINS,
    FRICTION,
    NOTICED,
    POOR,
    STEP,
    TURNS,
    Comparison,
    shifted,
    turned,
    with_delay,
)
from core.identification.coverage.findings import Misread
from core.identification.coverage.problem import WIDE, Point, Problem
from core.identification.runs.folds import balanced_subset
from core.identification.search.steps import one_blas_thread
from core.motion.recording import Recording
from core.motion.simulation import sampling_step
from core.servo.catalogue import load_servo
from core.servo.model import build_model

ROWS = (-2, -1, 0, 1, 2)
"""Rows by which goals are moved, later if positive."""
ALIKE = 1.25
"""Shifts whose errors are within this ratio of the smallest explain as much; the smallest shift is taken."""
PARTS, STAY = 4, 0.4
"""Goals between two rows of a servo that was given finer goals than were logged, and the time for which a goal stays
that is followed by a step [s]."""
LATER = 0.45
"""Goals moved later leave at most this share of the error: a servo that answers after about a row left 0.55."""
FINE = 0.5
"""Error in steps of the encoder that leaves nothing to explain."""
SAME_SAMPLING = 1.1
"""Largest ratio of sampling intervals of runs that were logged alike."""
MOST_MOTION, MOST_PIECES, FEWEST_ROWS = 16.0, 4, 20
"""Seconds of driven motion of a fit, the runs that they come from, and the fewest rows of one."""
MOST_FITTED, MOST_SHIFTS = 2, 4
"""Numbers of turned zeros, and of shifts, that are fitted to the end."""
REST, STILL, FELL, HELD = 0.3, 3.0, 0.2, 0.3
"""A released load rests if it moves by at most STILL steps of the encoder for REST [s] after it fell by FELL [rad]; up
to HELD [rad] from hanging down friction may hold it."""
EVEN = 0.1
"""An offset this near to a multiple of a quarter turn is one [rad]."""


@one_blas_thread()
def misread(recordings: Sequence[Recording], shifts: bool = True, *, threads: int | None = None) -> list[Misread]:
    """Return what explains more than the runs as they were read: at most one zero and one shift of runs logged alike.

    Runs that a fit cannot use are left out.

    Args:
        recordings: The runs.
        shifts: Also look for a shift of the goals.
        threads: Number of threads. None: all processors.
    """
    found: list[Misread] = []
    for places in _logged_alike(recordings):
        with suppress(ServoBenchError, ArithmeticError, ValueError):
            runs = [recordings[place] for place in places]
            look = _Look(runs, threads)
            if (zero := look.zero()) is not None:
                found.append(replace(zero, places=places))
                turn = (zero.angle_offset or 0.0) - runs[0].bench.angle_offset
                look = _Look([turned(turn)(run) for run in runs], threads)
            if shifts and (shift := look.shift()) is not None:
                found.append(replace(shift, places=places))
    return found


def _logged_alike(recordings: Sequence[Recording]) -> list[tuple[int, ...]]:
    """Return the places of runs of one servo with the same sampling and commanded by an angle, for each."""
    about = [(run.settings.servo, sampling_step(run)) for run in recordings]
    groups: list[list[int]] = []
    angles = [place for place, run in enumerate(recordings) if run.command.kind == "position"]
    for place in sorted(angles, key=about.__getitem__):
        first = about[groups[-1][0]] if groups else ("", 0.0)
        if about[place][0] != first[0] or about[place][1] > SAME_SAMPLING * first[1]:
            groups.append([])
        groups[-1].append(place)
    return list(map(tuple, groups))


class _Look:
    """Quick fits to some driven motion of runs that were logged alike."""

    def __init__(self, runs: Sequence[Recording], threads: int | None) -> None:
        self._runs, self._threads = tuple(runs), threads
        self._interval = float(np.median([sampling_step(run) for run in runs]))
        chosen = balanced_subset([run for run in runs if _liveliest(run, MOST_MOTION)], MOST_PIECES)
        pieces = [(run, _liveliest(run, MOST_MOTION / len(chosen))) for run in chosen]
        self._pieces = [(run, piece) for run, piece in pieces if piece]
        self._model = with_delay(build_model(runs[0].settings.servo, FRICTION), self._interval)

    def _problem(self, rows: int = 0, turn: float = 0.0, parts: int = 1) -> Problem:
        """Return the fit with a change; parts: goals between two rows, which otherwise hold until the next row."""
        # As many samples earlier as a shift moves them later.
        runs = [turned(turn)(shifted(-rows)(run)).trimmed(*piece) for run, piece in self._pieces]
        runs = [_finer(run, parts) for run in runs] if parts > 1 else runs
        return Problem(self._model, runs, dt=max(self._interval, STEP), threads=self._threads)

    @cached_property
    def _own(self) -> Point:
        """Fit to the runs as they were read."""
        return best_fit(self._problem())

    def shift(self) -> Misread | None:
        """Return the shift of the goals that explains clearly more than the delay of the command; None if none does.

        A servo that was given finer goals than were logged seems to know them half a row before.
        """
        if not self._pieces or _error(self._own) < FINE * self._model.spec.encoder_step:
            return None
        problems = {(rows, parts): self._problem(rows, parts=parts) for rows in ROWS for parts in (1, PARTS)}
        begun = {how: _begun(problem, [self._own]) for how, problem in problems.items()}
        likely = sorted(problems, key=lambda how: _error(begun[how]))[:MOST_SHIFTS]
        ends = {how: _ended(problems[how], begun[how]) for how in likely}
        errors = {
            rows: min(_error(ends[how]) for how in likely if how[0] == rows) for rows in {how[0] for how in likely}
        }
        rows = min((rows for rows in errors if errors[rows] <= ALIKE * min(errors.values())), key=abs)
        if not rows:
            return None
        # A better start must not count for a shift.
        fair = [problems[0, parts] for parts in (1, PARTS)]
        again = [_ended(problem, _begun(problem, [self._own, *ends.values()])) for problem in fair]
        before = min(map(_error, (self._own, *again)))
        if not errors[rows] <= min((LATER if rows > 0 else EXPLAINS) * before, POOR):
            return None
        return Misread(places=(), rows=rows, before=before, after=errors[rows])

    def zero(self) -> Misread | None:
        """Return the offset of a zero that does not hang down; None if the stated one explains as much."""
        if not self._pieces or _error(self._own) < NOTICED:
            return None
        rests = [rest for run in self._runs if (rest := _rest(run)) is not None]
        rest = float(np.median(rests)) if rests else 0.0
        if rests and abs(rest) <= HELD:
            return None
        problem = self._problem()
        vectors = np.array([problem.fitted(replace(self._own, scaled=start)).parameters.vector()
                            for start in (self._own.scaled, *problem.starts())])  # fmt: skip
        how = Comparison(dt=max(self._interval, STEP), threads=self._threads)

        def simulated(turn: float) -> float:
            return how.error(problem.model, self._problem(turn=turn).recordings, vectors)

        turns = [-rest] if rests else sorted(TURNS, key=simulated)[:MOST_FITTED]
        ends: dict[float, Point] = {}
        for turn in turns:
            hung = self._problem(turn=turn)
            ends[turn] = _ended(hung, _begun(hung, [self._own]))
        turn = min(turns, key=lambda turn: _error(ends[turn]))
        before = min(_error(self._own), _error(_ended(problem, _begun(problem, [ends[turn]]))))
        after = _error(ends[turn])
        if not after <= min(EXPLAINS * before, POOR):
            return None
        exact = turn + problem.fitted(ends[turn]).values["q_offset"]
        even = 0.5 * math.pi * round(exact / (0.5 * math.pi))
        offset = _wrapped(self._runs[0].bench.angle_offset + (even if abs(exact - even) < EVEN else exact))
        return Misread(places=(), angle_offset=offset, rest=rest, before=before, after=after)


def _error(point: Point) -> float:
    return float(np.mean([np.abs(residuals).mean() for residuals in point.residuals]))


def _begun(problem: Problem, known: Sequence[Point]) -> Point:
    """Return first steps from the best of known values and the problem's own starts."""
    first = [problem.at(scaled) for scaled in (*(end.scaled for end in known), *problem.starts())]
    best = problem.rescale(min(first, key=_error))
    return problem.minimise(best, steps=FIRST_STEPS, difference=WIDE)


def _ended(problem: Problem, begun: Point) -> Point:
    return problem.minimise(problem.minimise(problem.rescale(begun), difference=WIDE))


def _finer(run: Recording, parts: int) -> Recording:
    """Return a run with more rows, between which everything changes evenly, as the goal does between its changes."""
    rows = np.arange(run.samples)
    places = np.arange((run.samples - 1) * parts + 1) / parts
    goal, changed = run.goal_position, np.diff(run.goal_position, prepend=np.nan) != 0.0
    since = run.time - run.time[np.maximum.accumulate(np.where(changed, rows, 0))]
    knots = changed | (np.append(changed[1:], True) & (since > STAY))
    knots[-1] = True
    channels = {n: np.interp(places, rows, v) for n, v in run.channels.items()}
    return replace(run, channels={**channels, "goal_position": np.interp(places, rows[knots], goal[knots])})


def _stretches(chosen: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return first and last place, exclusive, of each stretch of rows that are chosen."""
    edges = np.flatnonzero(np.diff(chosen.astype(int), prepend=0, append=0)).tolist()
    return list(zip(edges[::2], edges[1::2], strict=True))


def _liveliest(run: Recording, length: float) -> tuple[float, float] | None:
    """Return begin and end [s] of the driven motion in which the goal moves farthest; None if it does not move."""
    time = np.asarray(run.time - run.time[0])
    driven = _stretches(np.asarray(run.torque_enable) > 0)
    if not driven:
        return None
    first, last = max(driven, key=lambda stretch: stretch[1] - stretch[0])
    far = np.abs(np.diff(np.asarray(run.goal_position), prepend=run.goal_position[0])).cumsum()
    starts = np.arange(first, last)
    ends = np.minimum(np.searchsorted(time, time[starts] + length, "right"), last)
    moved = far[ends - 1] - far[starts]
    best = int(np.argmax(moved))
    if moved[best] == 0.0 or ends[best] - starts[best] < FEWEST_ROWS:
        return None
    return float(time[starts[best]]), float(time[ends[best] - 1])


def _rest(run: Recording) -> float | None:
    """Return the angle from hanging down at which a released load has come to rest [rad]; None if none has."""
    for first, last in _stretches(np.asarray(run.torque_enable) == 0):
        time, position = np.asarray(run.time[first:last]), np.asarray(run.position[first:last])
        still = position[time > time[-1] - REST]
        at_rest = (
            time[-1] - time[0] > 2.0 * REST and np.ptp(still) <= STILL * load_servo(run.settings.servo).encoder_step
        )
        if at_rest and np.ptp(position) > FELL:
            return _wrapped(float(np.median(still)) + run.bench.angle_offset)
    return None


def _wrapped(angle: float) -> float:
    return (angle + math.pi) % (2.0 * math.pi) - math.pi
