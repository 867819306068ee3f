"""Next best recording: the cell of a grid that narrows a model's intervals most (Bayesian D-optimal design).

The information of a recording is JᵀJ/σ², where J is the sensitivity of its motion to each parameter in catalogue
intervals. The prior is a Gaussian as wide as the catalogue's bounds, so there is a result before anything was recorded.
The first choice is the cell whose information raises the logarithm of the posterior's determinant most, then the next
one on top of it (greedy).

One linearisation at wrong parameters misleads. The gain is therefore the mean over an ensemble: the current values and
draws from their own posterior, each with its own Jacobians (Chaloner and Verdinelli 1995, section 6).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtr, ndtri

from core.base.arrays import Array
from core.base.errors import IdentificationError
from core.identification.evidence.model import NORMAL_95
from core.identification.evidence.sensitivity import Sensitivity, correlation_length, sensitivity
from core.identification.next.proposal import Benefit, Narrowing, NextRecordings, Proposal, candidate_cells
from core.identification.search.objective import available_threads
from core.identification.search.steps import one_blas_thread
from core.motion.recording import Recording
from core.motion.simulation import on_grid, sampling_interval
from core.motion.trajectories import Trajectory, make_trajectory
from core.practice.plan import Cell, GridPlan
from core.servo.bench import Bench
from core.servo.model import ServoModel
from core.servo.settings import ServoSettings
from core.servo.terms import Supply

__all__ = ["OBJECTIVES", "best_of", "candidate_cells", "next_best", "next_recordings"]

OBJECTIVES = ("volume", "widths")
"""Quantity that a choice minimises: the joint interval's volume, or the product of the parameters' half widths."""

PRIOR_INFORMATION = 12.0
"""Information of a uniform prior on the catalogue interval, in units of that interval: 1 over its variance."""

MEMBERS = 4
"""Number of parameter vectors over which the gain is averaged, including the current one.

Before anything was recorded, six choices by four vectors beat the paper's six by 13.2 nats, by one vector 11.7 (means
of 18 trials of `tests.bench.design`). After a fit the number hardly matters.
"""

SAMPLING = 0.005
"""Sampling interval assumed before anything was recorded [s]; a model's own time step is no indication of it."""

SWEEPS = 20
"""Number of sweeps of the sampler, each from the current values."""


def next_recordings(
    model: ServoModel,
    recordings: Sequence[Recording],
    plan: GridPlan,
    *,
    count: int,
    objective: str = "volume",
    dt: float | None = None,
    supply: Supply = "logged",
    threads: int | None = None,
    on_run: Callable[[float], object] = lambda done: None,
) -> NextRecordings:
    """Choose the best of a plan's conditions that are not recorded yet; arguments as for `next_best`.

    Raises:
        IdentificationError: All conditions of the plan are recorded.
    """
    proposals = next_best(
        model,
        recordings,
        candidate_cells(plan, recordings),
        count,
        objective=objective,
        duration=plan.duration,
        dt=dt,
        supply=supply,
        threads=threads,
        on_run=on_run,
    )
    return NextRecordings(
        servo=model.servo,
        model=model.title,
        runs=len(recordings),
        objective=objective,
        plan=plan,
        proposals=proposals,
    )


def next_best(
    model: ServoModel,
    recordings: Sequence[Recording],
    cells: Sequence[Cell],
    count: int = 6,
    *,
    objective: str = "volume",
    members: int = MEMBERS,
    seed: int = 0,
    duration: float = 6.0,
    dt: float | None = None,
    supply: Supply = "logged",
    bench: Bench | None = None,
    settings: ServoSettings | None = None,
    threads: int | None = None,
    on_run: Callable[[float], object] = lambda done: None,
) -> tuple[Proposal, ...]:
    """Return the cells that help most, the best first, each with what it adds to those before it.

    Args:
        model: Model fitted to the recordings, or the catalogue's start values if there are none. Its free parameters
            are to be narrowed.
        recordings: Existing recordings.
        cells: Cells to choose from.
        count: Number of cells to return.
        objective: One of OBJECTIVES.
        members: Number of parameter vectors over which the gain is averaged.
        seed: Random seed of the draws.
        duration: Duration of each cell's run [s].
        dt: Sampling interval [s]. None: that of the recordings, or SAMPLING if there are none.
        supply: Supply voltage, see `core.motion.supply.supply_of`.
        bench: Bench for what a cell leaves open, e.g. the arm. None: that of the last recording, or a default one.
        settings: Settings for what a cell leaves open, e.g. other gains. None: those of the last recording or the
            catalogue.
        threads: Number of threads. None: all processors.
        on_run: Called with the share of the planned runs that is simulated, 0 to 1.

    Raises:
        IdentificationError: There are no cells to choose from, every parameter is frozen, or the recordings are of
            another servo.
    """
    if not cells:
        raise IdentificationError("no recording to choose from: name other masses, lengths, gains or trajectories")
    _require(model, recordings, objective, count, members)
    last = recordings[-1] if recordings else None
    bench = bench or (last.bench if last else Bench(mass=cells[0].mass, length=cells[0].length))
    settings = settings or (last.settings if last else model.default_settings())
    sampling = sampling_interval(recordings, dt) if recordings else dt or SAMPLING
    runs = [
        commands(make_trajectory(c.trajectory, duration), c.bench(bench), replace(settings, kp=c.kp), sampling)
        for c in cells
    ]
    chosen = best_of(
        model,
        recordings,
        runs,
        count,
        objective=objective,
        members=members,
        seed=seed,
        dt=dt,
        supply=supply,
        threads=threads,
        on_run=on_run,
    )
    return tuple(Proposal(cell=cells[k], nats=one.nats, narrowings=one.narrowings) for k, one in chosen)


@one_blas_thread()
def best_of(
    model: ServoModel,
    recordings: Sequence[Recording],
    runs: Sequence[Recording],
    count: int,
    *,
    objective: str = "volume",
    members: int = MEMBERS,
    seed: int = 0,
    dt: float | None = None,
    supply: Supply = "logged",
    threads: int | None = None,
    on_run: Callable[[float], object] = lambda done: None,
) -> list[tuple[int, Benefit]]:
    """Return the planned runs that help most by index, the best first, each with what it adds to those before it.

    Args:
        model: As for `next_best`, like the options.
        recordings: Existing recordings.
        runs: Planned ones, see `commands`.
        count: Number of runs to return.
        objective: One of OBJECTIVES.
        members: Number of parameter vectors over which the gain is averaged.
        seed: Random seed of the draws.
        dt: Sampling interval of the recordings [s], see `Batch`.
        supply: Supply voltage, see `core.motion.supply.supply_of`.
        threads: Number of threads. None: all processors.
        on_run: Called with the share of the planned runs that is simulated, 0 to 1.

    Raises:
        IdentificationError: Every parameter is frozen, or the recordings are of another servo.
    """
    _require(model, recordings, objective, count, members)
    threads = available_threads() if threads is None else max(1, threads)
    known = _known(model, recordings, runs[0], dt, supply, threads)
    ensemble = [model, *known.draws(members - 1, seed)]
    base = np.array([known.information(member) for member in ensemble])
    offered = _informations(ensemble, runs, known.variance, threads, on_run)
    return _greedy(known.found, base, offered, min(count, len(runs)), objective)


def _require(model: ServoModel, recordings: Sequence[Recording], objective: str, count: int, members: int) -> None:
    """Raise IdentificationError for a choice that cannot be made."""
    if objective not in OBJECTIVES:
        raise IdentificationError(f"no objective {objective!r}; there are {', '.join(OBJECTIVES)}")
    if count < 1 or members < 1:
        raise IdentificationError("choose at least one recording, with at least one parameter vector")
    model.require_goal_angles("the search for the next recordings")
    if not model.parameters.free:
        raise IdentificationError(
            f"every parameter of {model.title} is frozen; free one to find recordings that determine it"
        )
    others = sorted({r.settings.servo for r in recordings} - {model.servo})
    if others:
        raise IdentificationError(f"these are recordings of {', '.join(others)}, the model is of {model.servo}")


def commands(trajectory: Trajectory, bench: Bench, settings: ServoSettings, dt: float) -> Recording:
    """Return a run that is not recorded yet: commands from rest at the first goal, one sample every dt [s]."""
    time = np.arange(max(2, math.ceil(trajectory.duration / dt - 1e-9)), dtype=np.float64) * dt
    goal = trajectory.goal(time)
    channels = {
        "time": time,
        "goal_position": goal,
        "torque_enable": trajectory.torque_enable(time),
        "position": np.full(len(time), goal[0]),
    }
    return Recording(id="planned", trajectory=trajectory.name, bench=bench, settings=settings, channels=channels)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Known:
    """Information in existing recordings about a model, and the precision of any recording."""

    model: ServoModel
    sensitivity_at: Callable[[ServoModel], Sensitivity]
    """Sensitivity on the recordings, or on a planned run if there are none."""
    found: Sensitivity
    """Sensitivity at the model."""
    share: float
    """Ratio of existing samples to simulated ones; 0 without recordings."""
    variance: float
    """Variance of a sample's residual, times the number of neighbours that count as one [rad²]."""

    def information(self, member: ServoModel) -> Array:
        """Return the information of prior and recordings together, (p, p) per squared catalogue interval."""
        prior = PRIOR_INFORMATION * np.eye(len(self.found.widths))
        if not self.share:
            return prior
        found = self.found if member is self.model else self.sensitivity_at(member)
        return prior + _information(found) * (self.share / self.variance)

    def draws(self, count: int, seed: int) -> list[ServoModel]:
        """Return the model at values from its own posterior: a Gaussian about its values, within their bounds."""
        if not count:
            return []
        parameters, widths = self.model.parameters, self.found.widths
        low, high = parameters.bounds().T / widths
        sampled = _truncated_normal(parameters.vector() / widths, self.information(self.model), low, high, count, seed)
        return [self.model.with_parameters(parameters.with_vector(values * widths)) for values in sampled]


def _known(
    model: ServoModel,
    recordings: Sequence[Recording],
    planned: Recording,
    dt: float | None,
    supply: Supply,
    threads: int,
) -> _Known:
    def at(member: ServoModel) -> Sensitivity:
        return sensitivity(member, recordings or [planned], dt=dt, supply=supply, threads=threads)

    found = at(model)
    floor = model.spec.encoder_step**2 / 12.0
    if not recordings:
        return _Known(model=model, sensitivity_at=at, found=found, share=0.0, variance=floor)
    seen = sum(len(residual) for residual in found.residuals)
    samples = seen if found.all_seen else sum(on_grid(recording, dt)[0].samples for recording in recordings)
    variance = max(sum(float(residual @ residual) for residual in found.residuals) / seen, floor)
    return _Known(
        model=model,
        sensitivity_at=at,
        found=found,
        share=samples / seen,
        variance=variance * correlation_length(found.residuals),
    )


def _truncated_normal(mean: Array, information: Array, low: Array, high: Array, count: int, seed: int) -> list[Array]:
    """Draw (n,) from a Gaussian within a box.

    Gibbs sampling uses the information matrix's own directions. Along them the components are independent, so the draws
    follow a trade-off as far as the bounds allow.
    """
    randomness = np.random.default_rng(seed)
    values, directions = np.linalg.eigh(information)
    spread = 1.0 / np.sqrt(values)
    drawn: list[Array] = []
    for _ in range(count):
        at = np.clip(mean, low, high)
        for place in np.concatenate([randomness.permutation(len(mean)) for _ in range(SWEEPS)]):
            direction = directions[:, place]
            moving = direction != 0.0
            ends = np.sort(np.array([low - at, high - at])[:, moving] / direction[moving], axis=0)
            begin, end = ends[0].max(), ends[1].min()
            middle = -float(direction @ (at - mean))
            lowest, highest = ndtr((np.array([begin, end]) - middle) / spread[place])
            step = middle + spread[place] * ndtri(randomness.uniform(float(lowest), float(highest)))
            at = np.clip(at + np.clip(step, min(begin, 0.0), max(end, 0.0)) * direction, low, high)
        drawn.append(at)
    return drawn


def _informations(
    ensemble: Sequence[ServoModel],
    runs: Sequence[Recording],
    variance: float,
    threads: int,
    on_run: Callable[[float], object],
) -> Array:
    """Return the information of each run at each parameter vector, (k, c, p, p) per squared catalogue interval."""

    def of(pair: tuple[ServoModel, Recording]) -> Array:
        return _information(sensitivity(pair[0], [pair[1]], threads=1)) / variance

    with ThreadPoolExecutor(threads) as pool:
        found: list[Array] = []
        for information in pool.map(of, [(member, run) for member in ensemble for run in runs]):
            found.append(information)
            on_run(len(found) / (len(ensemble) * len(runs)))
    return np.array(found).reshape(len(ensemble), len(runs), *found[0].shape)


def _information(found: Sensitivity) -> Array:
    return found.jacobian.T @ found.jacobian


def _greedy(found: Sensitivity, base: Array, offered: Array, count: int, objective: str) -> list[tuple[int, Benefit]]:
    left = list(range(offered.shape[1]))
    chosen: list[tuple[int, Benefit]] = []
    for _ in range(count):
        after = base[:, None] + offered[:, left]
        nats = 0.5 * (np.linalg.slogdet(after)[1] - np.linalg.slogdet(base)[1][:, None]).mean(axis=0)
        narrower, before = _half_widths(after), _half_widths(base)
        gains = nats if objective == "volume" else np.log(before / narrower).sum(axis=-1)
        best = int(gains.argmax())
        narrowings = tuple(
            Narrowing(
                name=p.name, symbol=p.symbol, unit=p.unit, widest=0.5 * w, before=float(b * w), after=float(a * w)
            )
            for p, w, b, a in zip(found.parameters, found.widths.tolist(), before, narrower[best], strict=True)
        )
        chosen.append((left[best], Benefit(nats=float(nats[best]), narrowings=narrowings)))
        base = after[:, best]
        del left[best]
    return chosen


def _half_widths(information: Array) -> Array:
    """Return half widths of the 95 % intervals in catalogue intervals: geometric means over the ensemble."""
    variances = np.diagonal(np.linalg.inv(information), axis1=-2, axis2=-1)
    widths = np.minimum(NORMAL_95 * np.sqrt(np.maximum(variances, 0.0)), 0.5)
    return np.exp(np.log(np.maximum(widths, np.finfo(np.float64).tiny)).mean(axis=0))
