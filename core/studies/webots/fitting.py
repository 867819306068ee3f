"""Fit a node to the motion of given runs by CMA-ES over populations of nodes, with intervals by Gauss–Newton.

A node's numbers are positive and differ by orders of magnitude, so the search moves their logarithms. It starts at the
servo's own no-load speed and stall torque and never exceeds them. A number without effect on the runs keeps its start
value. Multiplying a servo's gain by k multiplies P by k. Besides the node's own numbers, recordings leave open the
servo's own inertia and the error of the bench's angle; a world has these in its Physics nodes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass, replace

import numpy as np

from core.base.arrays import Array
from core.base.errors import ModelError
from core.studies.webots.fields import Load, ServoFields
from core.studies.webots.kernel import AT, DIVERGED, ROW, motion_of, population_errors, row_of

NODE_NUMBERS = ("control_p", "max_velocity", "max_force", "acceleration", "damping_constant")
ALL_NUMBERS = (*NODE_NUMBERS, "armature", "angle_offset")
UNITS = {
    "control_p": "1/s",
    "max_velocity": "rad/s",
    "max_force": "N·m",
    "acceleration": "rad/s²",
    "damping_constant": "N·m·s/rad",
    "armature": "kg·m²",
    "angle_offset": "rad",
}
SPAN = math.log(30.0)
"""Each number is searched between 1/30 and 30 times its start value."""
FACTS = ("max_velocity", "max_force")
"""Numbers that start at the servo's no-load speed and stall torque, which no node may exceed."""
UNFELT = 1e-3
"""Relative change of the error below which a number keeps its start value."""
OFFSET_SPAN = 0.2
"""Largest error of the bench's angle [rad]."""
POPULATION, GENERATIONS = 16, 50
SEEDS = (1, 2)
"""Each search runs once per seed and the better result is kept: the error has several local minima."""
FIRST_STEP = 0.4
"""Standard deviation of the logarithms in the first generation."""
OFFSET_STEP = 0.05
"""Factor on FIRST_STEP for the angle offset [rad]."""
PIECE = 1.0
"""Length of the pieces of a run whose residuals count as independent for the intervals [s]."""
NUDGE = 1e-3
"""Finite-difference step of a logarithm or of an angle [rad]."""
NORMAL_95 = 1.959964


@dataclass(frozen=True, kw_only=True, eq=False)
class FitRun:
    """Run to which a node is fitted."""

    id: str
    load: Load
    gain: float
    """Factor on P."""
    step: float
    """Time step [s]."""
    goal: Array
    """Goals [rad], shape (n,)."""
    enable: Array
    """Torque enable, 1 or 0, shape (n,)."""
    measured: Array
    """Positions [rad], shape (n,); the node starts at the first."""
    velocity: float = 0.0
    """Start velocity [rad/s]."""

    @property
    def setup(self) -> Array:
        """Numbers of the run for the kernel."""
        begin = float(self.measured[0])
        return np.array([*astuple(self.load), 1.0, self.gain, self.step, begin, self.velocity])


@dataclass(frozen=True, kw_only=True)
class FittedNumber:
    """Fitted number of a node."""

    name: str
    unit: str
    value: float
    interval: tuple[float, float]
    """95 % interval within the bound; 0 or −∞ to ∞ if the runs do not determine the number."""
    at_bound: bool
    """True at the servo's own limit, or at the end of the search range."""

    @property
    def determined(self) -> bool:
        """True if the runs determine the number."""
        return math.isfinite(self.interval[1])

    @property
    def remark(self) -> str:
        """Short note for a table: bound reached, or not determined; may be empty."""
        place = ("the servo's own limit" if self.name in FACTS else "end of the search") if self.at_bound else ""
        return ", ".join(part for part in ("" if self.determined else "not determined", place) if part)


@dataclass(frozen=True, kw_only=True, eq=False)
class NodeFit:
    """Fitted node and its errors on the runs."""

    node: ServoFields
    armature: float
    """Inertia of the servo itself, to be added to the load's [kg·m²]."""
    angle_offset: float
    """Error of the bench's angle [rad]."""
    errors: Array
    """Mean absolute position error of each run [rad]."""
    evaluations: int

    @property
    def mean_mrad(self) -> float:
        """Mean error over the runs [mrad]."""
        return 1e3 * float(self.errors.mean())

    @property
    def row(self) -> Array:
        """Row of the node for the kernel."""
        return row_of(self.node, self.armature, self.angle_offset)


def run_errors(runs: Sequence[FitRun], rows: Array) -> Array:
    """Return mean absolute position errors (runs, p) [rad] of candidates (p, len(ROW))."""
    samples = np.array([len(run.goal) for run in runs])
    return population_errors(
        np.ascontiguousarray(rows),
        np.array([run.setup for run in runs]),
        np.cumsum(samples) - samples,
        samples,
        np.concatenate([run.goal for run in runs]),
        np.concatenate([run.enable for run in runs]),
        np.concatenate([run.measured for run in runs]),
    )


def fit_node(
    runs: Sequence[FitRun],
    start: ServoFields,
    *,
    names: Sequence[str] = NODE_NUMBERS,
    armature: float = 0.0,
    generations: int = GENERATIONS,
) -> NodeFit:
    """Fit the named numbers around a start; the same arguments give the same node.

    Args:
        runs: Runs to fit.
        start: Node with the servo's own numbers, of which FACTS are upper bounds.
        names: Numbers to fit.
        armature: Start value [kg·m²], above 0 if it is fitted.
        generations: Generations of each search; 0 judges the start.

    Raises:
        ModelError: There are no runs.
    """
    if not runs:
        raise ModelError("a node is fitted to no runs; give at least one")
    begin = row_of(start, armature)
    logarithmic = np.array([name != "angle_offset" for name in names])
    places = [AT[name] for name in names]

    def rows_at(points: Array) -> Array:
        rows = np.repeat(begin[None], len(points), axis=0)
        for place, column, is_log in zip(places, points.T, logarithmic, strict=True):
            rows[:, place] = begin[place] * np.exp(column) if is_log else column
        return rows

    def errors_at(points: Array) -> Array:
        return run_errors(runs, rows_at(points)).mean(axis=0)

    span = np.where(logarithmic, SPAN, OFFSET_SPAN)
    highest = np.where([name in FACTS for name in names], 0.0, span)
    first = FIRST_STEP * np.where(logarithmic, 1.0, OFFSET_STEP)
    best_point, best_error, evaluations = _searched(errors_at, np.column_stack([-span, highest]), first, generations)
    best_point = _without_unfelt(errors_at, best_point, best_error)
    best = dict(zip(ROW, rows_at(best_point[None])[0], strict=True))
    return NodeFit(
        node=replace(start, **{name: float(best[name]) for name in NODE_NUMBERS}),
        armature=float(best["armature"]),
        angle_offset=float(best["angle_offset"]),
        errors=run_errors(runs, rows_at(best_point[None]))[:, 0],
        evaluations=evaluations,
    )


def _searched(
    errors_at: Callable[[Array], Array], bounds: Array, first: Array, generations: int
) -> tuple[Array, float, int]:
    """Search from 0 within bounds (p, 2).

    Args:
        errors_at: Maps points (k, p) to errors (k,).
        bounds: Bounds, shape (p, 2).
        first: Standard deviations of the first generation, shape (p,).
        generations: Generations of each search.

    Returns:
        The best point (p,), its error, and the number of judged points.
    """
    # cmaes imports scipy.stats, which takes half a second; other export targets do not need it.
    from cmaes import CMA

    best_point, evaluations = np.zeros(len(first)), 1
    best_error = float(errors_at(best_point[None])[0])
    for seed in SEEDS:
        cma = CMA(np.zeros(len(first)), 1.0, bounds=bounds / first[:, None], seed=seed, population_size=POPULATION)
        for _ in range(generations):
            asked = np.array([cma.ask() for _ in range(POPULATION)])
            errors = errors_at(asked * first)
            evaluations += POPULATION
            cma.tell(list(zip(asked, errors.tolist(), strict=True)))
            if errors.min() < best_error:
                best_error, best_point = float(errors.min()), asked[errors.argmin()] * first
            if cma.should_stop():
                break
    return best_point, best_error, evaluations


def _without_unfelt(errors_at: Callable[[Array], Array], point: Array, error: float) -> Array:
    """Reset the numbers of a point (p,) without effect on the runs to the start value, 0."""
    for place in range(len(point)):
        kept = np.where(np.arange(len(point)) == place, 0.0, point)
        there = float(errors_at(kept[None])[0])
        if there <= (1.0 + UNFELT) * error:
            point, error = kept, there
    return point


def fitted_numbers(
    fit: NodeFit, start: ServoFields, runs: Sequence[FitRun], names: Sequence[str] = ALL_NUMBERS, armature: float = 0.0
) -> list[FittedNumber]:
    """Return each number with its 95 % interval, from residuals and their derivatives at the fit.

    The covariance is (JᵀJ)⁺·(Σ sₖsₖᵀ)·(JᵀJ)⁺ with the scores sₖ = Jₖᵀrₖ of pieces of PIECE seconds, within which the
    residuals of a motion are correlated.

    Args:
        fit: The fit.
        start: Node at which the fit started.
        runs: Runs of the fit.
        names: Numbers to report.
        armature: Start value of the armature [kg·m²].
    """
    before = row_of(start, armature)
    jacobian_square = np.zeros((len(names), len(names)))
    scores: list[Array] = []
    for run in runs:
        residual = _residual(fit.row, run)
        columns: list[Array] = []
        for name in names:
            high, low = (_nudged(fit.row, name, sign * NUDGE) for sign in (1.0, -1.0))
            columns.append((_residual(high, run) - _residual(low, run)) / (2.0 * NUDGE))
        jacobian = np.column_stack(columns)
        jacobian_square += jacobian.T @ jacobian
        length = max(1, round(PIECE / run.step))
        cuts = np.arange(length, len(residual), length)
        scores += [j.T @ r for j, r in zip(np.split(jacobian, cuts), np.split(residual, cuts), strict=True)]
    inverse = np.linalg.pinv(jacobian_square, rcond=1e-10, hermitian=True)
    spread = np.array(scores)
    covariance = inverse @ (spread.T @ spread) @ inverse
    silent = np.diag(jacobian_square) <= 1e-12 * max(float(np.diag(jacobian_square).max()), 1e-300)
    found: list[FittedNumber] = []
    for i, name in enumerate(names):
        value = float(fit.row[AT[name]])
        half = NORMAL_95 * math.sqrt(max(float(covariance[i, i]), 0.0))
        if silent[i] or half > 2.0 * SPAN:
            half = math.inf
        if name == "angle_offset":
            interval = (value - half, value + half)
            bound = abs(value) > 0.999 * OFFSET_SPAN
        else:
            interval = (value * math.exp(-half), value * math.exp(half))
            moved = math.log(value / before[AT[name]])
            highest = 0.0 if name in FACTS else SPAN
            bound = not -0.999 * SPAN < moved < highest - 0.001 * SPAN
            if name in FACTS and math.isfinite(half):
                interval = (interval[0], min(interval[1], before[AT[name]]))
        found.append(FittedNumber(name=name, unit=UNITS[name], value=value, interval=interval, at_bound=bound))
    return found


def _residual(row: Array, run: FitRun) -> Array:
    away = motion_of(row, run.setup, run.goal, run.enable).position - run.measured
    return np.clip(np.nan_to_num(away, nan=DIVERGED), -DIVERGED, DIVERGED)


def _nudged(row: Array, name: str, by: float) -> Array:
    moved = row.copy()
    moved[AT[name]] = moved[AT[name]] + by if name == "angle_offset" else moved[AT[name]] * math.exp(by)
    return moved
