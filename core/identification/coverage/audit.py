"""Audit of headers: facts of the headers, and the values that the recordings suggest.

A group of runs can share a wrong fact: one load, one gain, one supply, one run, all runs from one on. For every group,
the audit determines how much of the position residuals a change of the fact would remove, with the model's parameters
free to follow. It is linearised first, with the parameters' directions projected out, then solved for the best few by
least squares over both. It therefore matters little whether the model was fitted to the faulty recordings. A fit
absorbs an error of the whole session completely; that shows in the motor's constants, see `plausibility`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.base.arrays import Array
from core.base.errors import IdentificationError
from core.identification.coverage.doubts import Fact, HeaderDoubt, Suspect, doubt_of, sign_doubt, suspects
from core.identification.coverage.plausibility import implausible_constants, strangeness
from core.identification.coverage.problem import WIDE, Point, Problem
from core.identification.coverage.signals import swapped_sign
from core.identification.evidence.sensitivity import correlation_length
from core.identification.search.steps import one_blas_thread
from core.motion.recording import Recording
from core.servo.model import ServoModel
from core.servo.terms import Supply

REFINED = 8
"""Number of suspects that are fitted together with the parameters: those that explain most when linearised."""

WORTHWHILE = 0.03
"""Share of the squared residuals that a suspect must explain when linearised in order to be fitted."""

FIRST_STEPS = 3
FINISHED = 4
"""Number of suspects that are fitted to the end after the first steps."""

MOST_DOUBTS = 3
"""Largest number of faults; each is sought after correcting those before it."""

SMALLEST = {"mass": 0.04, "kp": 0.08, "supply_voltage": 0.05, "angle_offset": 0.03}
"""Smallest factors (as logarithm) and offsets [rad] to report: scales, rulers and servos are no more accurate."""

SHARE = 0.2
"""Share of the loss that a fact must remove."""

GOOD_FIT = 1.0
SHARE_OF_POOR = 0.4
"""Same share if the median residual exceeds this many encoder counts.

The model then lacks physics, and any change of a header compensates it a little.
"""

SIGNIFICANT = 30.0
"""Smallest ratio of removed to remaining loss per independent sample (an F statistic)."""

AS_GOOD = 0.85
"""A suspect that removes this share of what the best one removes is as likely."""

INVISIBLE = 1e-6
"""A fact is ignored if the parameters can compensate its effect except for this share (squared)."""


@dataclass(frozen=True)
class _Trial:
    suspect: Suspect
    point: Point
    gain: float


@one_blas_thread()
def audit(
    model: ServoModel,
    recordings: Sequence[Recording],
    *,
    dt: float | None = None,
    supply: Supply = "logged",
    threads: int | None = None,
) -> tuple[HeaderDoubt, ...]:
    """Return header facts that these recordings contradict, the most certain first; empty if there are none.

    Args:
        model: Model fitted to these recordings or to others; its free parameters follow.
        recordings: The recordings.
        dt: Time between samples [s], see `Batch`.
        supply: Supply voltage, see `core.motion.supply.supply_of`.
        threads: Number of threads. None: all processors.

    Raises:
        IdentificationError: There are no recordings, or they are of another servo.
    """
    others = sorted({run.settings.servo for run in recordings} - {model.servo})
    if others or not recordings:
        what = f"these are recordings of {', '.join(others)}" if others else "there are no recordings"
        raise IdentificationError(f"{what}, the model is of {model.servo}; choose recordings of that servo")
    swapped = tuple(run for run in recordings if swapped_sign(run))
    doubts = [sign_doubt(swapped, len(recordings))] if swapped else []
    sound = [run for run in recordings if run not in swapped]
    if not sound:
        return tuple(doubts)
    problem = Problem(model, sound, dt=dt, supply=supply, threads=threads)
    point, facts = best_fit(problem), ()
    for _ in range(MOST_DOUBTS):
        trial, others = _surest(problem, point, facts)
        if trial is None:
            break
        doubts.append(
            doubt_of(
                trial.suspect,
                float(trial.point.values[-1]),
                trial.gain,
                [(t.suspect, float(t.point.values[-1])) for t in others],
                sound,
            )
        )
        facts = (*facts, trial.suspect.fact)
        point = problem.minimise(trial.point, facts)
    if not any(fact.name in ("kp", "supply_voltage") for fact in facts):
        doubts += implausible_constants(problem.fitted(point), sound, well_fitted=_well_fitted(problem, point))
    return tuple(doubts)


def best_fit(problem: Problem) -> Point:
    """Return the best fit with the header as it is; it starts from random points unless the model fits well already."""
    own = problem.at(problem.start)
    if _well_fitted(problem, own):
        return problem.rescale(problem.minimise(problem.rescale(own)))
    first = [problem.at(start) for start in problem.starts()]
    problem.rescale(min(first, key=lambda p: p.cost))
    begun = [problem.minimise(problem.at(p.scaled), steps=FIRST_STEPS, difference=WIDE) for p in first]
    begun.sort(key=lambda p: p.cost)
    ended = [problem.minimise(problem.minimise(p, difference=WIDE)) for p in begun[:2]]
    return problem.rescale(min(ended, key=lambda p: p.cost))


def _surest(problem: Problem, point: Point, facts: tuple[Fact, ...]) -> tuple[_Trial | None, list[_Trial]]:
    """Return the suspect that removes most of the loss, if it removes enough, and those that are as good."""
    known = {(fact.name, fact.runs) for fact in facts}
    begun = [
        (suspect, _begun(problem, point, facts, suspect, value))
        for suspect, value in _screened(problem, point, facts)
        if (suspect.fact.name, suspect.fact.runs) not in known
    ]
    if not begun:
        return None, []
    begun.sort(key=lambda entry: entry[1].cost)
    ended = [(suspect, problem.minimise(start, (*facts, suspect.fact))) for suspect, start in begun[:FINISHED]]
    best = min(ended, key=lambda entry: entry[1].cost)[1]
    # Fit the parameters alone, from where the best fact led them: a better start must not count for the fact.
    alone = problem.minimise(problem.at(best.scaled, facts, point.values), facts)
    base = min(point.cost, alone.cost)
    trials = [_Trial(suspect, end, 1.0 - end.cost / base) for suspect, end in ended if _large(suspect, end)]
    if not trials:
        return None, []
    gain = max(t.gain for t in trials)
    if gain < SHARE:
        return None, []
    likely = [t for t in trials if t.gain >= AS_GOOD * gain]
    likely.sort(key=lambda t: (t.suspect.rank, strangeness(problem.fitted(t.point)), -t.gain))
    first = likely[0]
    independent = sum(map(len, first.point.residuals)) / correlation_length(first.point.residuals)
    ratio = (base - first.point.cost) / max(first.point.cost, 1e-300) * independent
    if first.gain < (SHARE if _well_fitted(problem, first.point) else SHARE_OF_POOR) or ratio < SIGNIFICANT:
        return None, []
    return first, likely[1:]


def _well_fitted(problem: Problem, point: Point) -> bool:
    """Return True if little is left that only other physics can explain."""
    return float(np.median(np.abs(np.concatenate(point.residuals)))) < GOOD_FIT * problem.floor


def _large(suspect: Suspect, point: Point) -> bool:
    return abs(float(point.values[-1])) >= SMALLEST[suspect.fact.name]


def _begun(problem: Problem, point: Point, facts: tuple[Fact, ...], suspect: Suspect, value: float) -> Point:
    """Take first steps with parameters and fact together."""
    every = (*facts, suspect.fact)
    starts = [problem.at(point.scaled, every, np.append(point.values, v)) for v in (0.0, value, 0.5 * value)]
    return problem.minimise(min(starts, key=lambda p: p.cost), every, FIRST_STEPS, WIDE)


def _screened(problem: Problem, point: Point, facts: tuple[Fact, ...]) -> list[tuple[Suspect, float]]:
    """Return the suspects that explain most when linearised, with the value of each."""
    weights = [(1.0 + (residual / problem.scale) ** 2) ** -0.25 for residual in point.residuals]
    weighed = np.concatenate([w * residual for w, residual in zip(weights, point.residuals, strict=True)])
    jacobian = np.concatenate([w[:, None] * j for w, j in zip(weights, problem.jacobian(point, facts), strict=True)])
    count = len(point.scaled)
    movable = np.ones(jacobian.shape[1], dtype=bool)
    movable[:count] = ~problem.pushed(point, (jacobian.T @ weighed)[:count])
    basis, singular, _ = np.linalg.svd(jacobian[:, movable], full_matrices=False)
    basis = basis[:, singular > 1e-6 * singular[0]]
    left = weighed - basis @ (basis.T @ weighed)
    ends = np.cumsum([len(residual) for residual in point.residuals])[:-1]
    basis_of, left_of = np.split(basis, ends), np.split(left, ends)

    @functools.cache
    def products(name: str, run: int, begin: float) -> tuple[float, Array, float]:
        """Return products of a run's sensitivity to a fact: with itself, with the basis, with the residuals."""
        column = weights[run] * problem.by_fact(point, run, Fact(name, (run,), begin), facts)
        return float(column @ column), basis_of[run].T @ column, float(column @ left_of[run])

    found: list[tuple[float, Suspect, float]] = []
    for suspect in suspects(problem.recordings):
        fact = suspect.fact
        squares, shadows, slopes = zip(*(products(fact.name, run, fact.begin) for run in fact.runs), strict=True)
        shadow = np.sum(shadows, axis=0)
        free = sum(squares) - float(shadow @ shadow)
        if free > INVISIBLE * sum(squares):
            value = -sum(slopes) / free
            found.append((value * value * free, suspect, min(max(value, -math.log(2.0)), math.log(2.0))))
    found.sort(key=lambda entry: -entry[0])
    enough = WORTHWHILE * float(left @ left)
    return _varied([entry for entry in found if entry[0] >= enough])


def _varied(found: Sequence[tuple[float, Suspect, float]]) -> list[tuple[Suspect, float]]:
    """Return the first of them, but not many of one kind."""
    seen: dict[tuple[str, int], int] = {}
    kept: list[tuple[Suspect, float]] = []
    for _, suspect, value in found:
        kind = (suspect.fact.name, suspect.rank)
        seen[kind] = seen.get(kind, 0) + 1
        if seen[kind] <= 2 and len(kept) < REFINED:
            kept.append((suspect, value))
    return kept
