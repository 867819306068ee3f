"""Objective: the errors of a population of candidates on a set of recordings.

Recordings of any length and sampling are laid out once, end to end. A population is then scored by a few calls of the
kernel, spread over threads. The sum of each recording is stored separately, and sums are added in a fixed order: the
result does not depend on the number of threads, bit for bit.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from core.base.arrays import Array
from core.base.errors import IdentificationError
from core.identification.options import CHOICES
from core.identification.runs.conditions import require_own_motor
from core.identification.search.prior import Prior
from core.kernel.layout import Setup
from core.kernel.population import LANES, SUMS, population_kernel
from core.motion.recording import Recording
from core.motion.simulation import held_commands, initial_velocity, on_grid, piece_samples, smoothed_velocity
from core.servo.model import ServoModel
from core.servo.terms import Metric, Supply

S = TypeVar("S")
T = TypeVar("T")

NO_PRIOR = Prior()

VELOCITY_WEIGHT = 0.02
"""Weight of the velocity's mean absolute error in "mae_velocity" [s]."""

CHUNKS_PER_THREAD = 4
"""Chunks of work per thread: enough that a slow core does not leave the others idle."""

DIVERGED = 1e3
"""Largest residual, for simulations that diverge [rad]."""

CHECKED_SUBSTEPS = 10
"""Ratio of time steps between the fit and the finer simulation that gives the discretisation error."""


@dataclass(frozen=True, eq=False)
class Scores:
    """Errors of candidates on recordings: mae, rmse [rad] and velocity_mae [rad/s], each (n_recordings, n).

    Infinite where the simulation diverges.
    """

    mae: Array
    rmse: Array
    velocity_mae: Array

    def combined(self, metric: Metric) -> Array:
        """Return one number per candidate, (n,): the mean of the metric over recordings."""
        if metric == "mae":
            return self.mae.mean(axis=0)
        if metric == "rmse":
            return np.sqrt((self.rmse**2).mean(axis=0))
        if metric == "mae_velocity":
            return self.mae.mean(axis=0) + VELOCITY_WEIGHT * self.velocity_mae.mean(axis=0)
        raise IdentificationError(f"no metric {metric!r}; there are {', '.join(CHOICES['metric'])}")


def available_threads() -> int:
    """Return the number of processors that this program may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def measured_velocity(recording: Recording) -> Array:
    """Return the velocity from central differences of the position [rad/s], (n,); servos report theirs late."""
    velocity = np.gradient(recording.position, recording.time)
    velocity[0] = initial_velocity(recording)
    return velocity


def _joined(parts: list[NDArray[Any]]) -> Array:
    """Concatenate arrays; the list is emptied so that nothing is in memory twice."""
    whole = np.concatenate(parts).astype(np.float64, copy=False)
    parts.clear()
    return whole


def _require_comparable(model: ServoModel, recordings: Sequence[Recording]) -> None:
    """Raise IdentificationError unless there are recordings, all of the model's servo and of one kind of load."""
    if not recordings:
        raise IdentificationError("no recordings to compare with; record or import some")
    require_own_motor(recordings)
    others = sorted({r.settings.servo for r in recordings} - {model.servo})
    if others:
        raise IdentificationError(f"these are recordings of {', '.join(others)}, the model is of {model.servo}")
    if len({recording.load is None for recording in recordings}) > 1:
        raise IdentificationError("runs of a pendulum and of a joint in a robot cannot be fitted together")


class Batch:
    """Recordings prepared for simulating many candidates at once."""

    def __init__(
        self,
        model: ServoModel,
        recordings: Sequence[Recording],
        *,
        dt: float | None = None,
        supply: Supply = "logged",
        threads: int | None = None,
        prior: Prior = NO_PRIOR,
    ) -> None:
        """Prepare recordings.

        Args:
            model: Model that defines the free parameters and the simulation.
            recordings: The recordings.
            dt: Time between samples [s]. None: that of each regular recording.
            supply: Supply voltage, see `core.motion.supply.supply_of`.
            threads: Number of threads. None: all processors.
            prior: Penalty of values in addition to the errors, see `penalised`.

        Raises:
            IdentificationError: There are no recordings, or they are of another servo, actuator or kind of load.
        """
        _require_comparable(model, recordings)
        self.model = model
        self.prior = prior
        self.ids = tuple(recording.id for recording in recordings)
        parts: list[tuple[NDArray[Any], ...]] = []
        steps: list[float] = []
        substeps: list[int] = []
        setups: list[Array] = []
        for recording in recordings:
            recording = recording.commanded(model.control.command)
            run, step = on_grid(recording, dt)
            n = model.steps_between(step, run.settings)
            steps.append(step)
            substeps.append(n)
            setups.append(model.setup(run.bench, run.settings, step / n))
            commands = held_commands(recording, run, step, n, supply, sags=model.sags)
            inputs = (commands.goal, commands.lasts, commands.enable, commands.supply, commands.load)
            parts.append((*inputs, run.position, measured_velocity(run)))
        goals, lasts, enables, supplies, loads, positions, velocities = map(list, zip(*parts, strict=True))
        del parts
        self.samples = np.array([len(position) for position in positions])
        self.steps = tuple(steps)
        self._substeps = np.array(substeps)
        self._first_step = np.cumsum(self.samples * self._substeps) - self.samples * self._substeps
        self._setups = np.array(setups)
        self._first = np.cumsum(self.samples) - self.samples
        self._resets = np.array([piece_samples(model, step) for step in steps], dtype=np.int64)
        self._goal = _joined(goals)
        self._lasts = _joined(lasts)
        self._enable = _joined(enables)
        self._supply = _joined(supplies)
        self._loads = _joined(loads)
        self._position = _joined(positions)
        self._velocity = _joined(velocities)
        if self._resets.any():
            begun = self._velocity[self._first]
            self._velocity = self._smoothed_velocity()
            self._velocity[self._first] = begun
        full = any(model.needs_full_step(recording.settings) for recording in recordings)
        self._kernel = population_kernel(full, *model.kernel_variant, moving=len(self._loads) > 0)
        self._threads = available_threads() if threads is None else max(1, threads)
        self._dealt: dict[int, list[NDArray[np.int64]]] = {}
        self.spared = 0
        """Threads left to others from the next call of `scores` on; the scores are the same."""

    def selection(self, most_samples: int) -> Batch:
        """Return these runs, or always the same random runs if there are more samples than this."""
        order = np.random.default_rng(0).permutation(len(self.samples))
        count = max(1, int((np.cumsum(self.samples[order]) <= most_samples).sum()))
        chosen = np.sort(order[:count])
        places: list[int] = chosen.tolist()
        some = copy.copy(self)
        some.ids = tuple(self.ids[i] for i in places)
        some.steps = tuple(self.steps[i] for i in places)
        some.samples, some._first, some._resets = self.samples[chosen], self._first[chosen], self._resets[chosen]
        some._setups = self._setups[chosen]
        some._substeps, some._first_step = self._substeps[chosen], self._first_step[chosen]
        some._dealt = {}
        return some

    def in_pieces(self, duration: float) -> Batch:
        """Return these runs with the shaft reset to its measured state at this interval [s] (multiple shooting)."""
        cut = copy.copy(self)
        cut._resets = np.array([max(1, round(duration / step)) for step in self.steps])
        cut._velocity = self._smoothed_velocity()
        # Large errors far from the optimum would hold a descent near the prior's centre.
        cut.prior = replace(self.prior, share=0.0)
        return cut

    def shifted(self, angles: Array, supplies: Array, delays: Array) -> Batch:
        """Return these runs with each load turned, each supply raised and each command delayed.

        A run whose commands arrive later shows the same motion later, except for its beginning.

        Args:
            angles: Angles [rad], (runs,).
            supplies: Voltages [V], (runs,).
            delays: Times [s], (runs,).
        """
        moved = copy.copy(self)
        moved._setups, moved._supply = self._setups.copy(), self._supply.copy()
        moved._position, moved._velocity = self._position.copy(), self._velocity.copy()
        moved._setups[:, Setup.ANGLE_OFFSET] += angles
        for run, samples in enumerate(self.samples.tolist()):
            first, steps = self._first_step[run], samples * self._substeps[run]
            moved._supply[first : first + steps] += supplies[run]
            part, place = slice(self._first[run], self._first[run] + samples), np.arange(samples, dtype=np.float64)
            for signal in (moved._position, moved._velocity):
                signal[part] = np.interp(place + delays[run] / self.steps[run], place, signal[part])
        return moved

    def _smoothed_velocity(self) -> Array:
        """Return the velocity to which a shaft is reset [rad/s], (N,): slopes of parabolas through a few samples."""
        velocity = self._velocity.copy()
        for first, samples, step in zip(self._first, self.samples, self.steps, strict=True):
            part = slice(first, first + samples)
            velocity[part] = smoothed_velocity(self._position[part], step)
        return velocity

    @property
    def total_samples(self) -> int:
        """Number of samples of all recordings."""
        return int(self.samples.sum())

    @property
    def total_steps(self) -> int:
        """Number of time steps in which one candidate is simulated on all recordings."""
        return int(self.samples @ self._substeps)

    def _deal(self, threads: int) -> list[NDArray[np.int64]]:
        """Return portions of recordings of nearly equal length, the longest first."""
        count = 1 if threads == 1 else min(len(self.samples), CHUNKS_PER_THREAD * threads)
        loads = np.zeros(count)
        portions: list[list[int]] = [[] for _ in range(count)]
        for recording in np.argsort(-self.samples, kind="stable"):
            lightest = int(np.argmin(loads))
            portions[lightest].append(int(recording))
            loads[lightest] += self.samples[recording]
        return [np.array(portion) for portion in portions]

    def penalised(self, errors: Array, matrix: Array) -> Array:
        """Return the mean errors (n,) of candidates (n, n_free) with the penalty of the prior, (n,) [rad]."""
        return self.prior.penalised(errors, [p.name for p in self.model.parameters.free], matrix)

    def scores(self, matrix: Array | None = None) -> Scores:
        """Simulate candidates (n, n_free) of the model's free parameters; None simulates the model itself."""
        rows, count = self._padded(matrix)
        sums = np.empty((len(self.samples), len(rows), SUMS))
        nothing = np.empty((0, len(rows)))
        threads = max(1, self._threads - self.spared)
        if threads not in self._dealt:
            self._dealt[threads] = self._deal(threads)
        _spread(threads, lambda chosen: self._simulate(rows, chosen, sums, nothing), self._dealt[threads])
        # NaN compares with nothing, so a diverging motion could pass for the best.
        sums = np.where(np.isnan(sums[:, :count]), np.inf, sums[:, :count])
        mean = sums / self.samples[:, None, None]
        return Scores(mae=mean[:, :, 0], rmse=np.sqrt(mean[:, :, 1]), velocity_mae=mean[:, :, 2])

    def residuals(self, matrix: Array | None, take: Callable[[int, Array], T]) -> list[T]:
        """Apply a function to the residuals of each run.

        Args:
            matrix: Candidates, as for `scores`.
            take: Function of the run's index and its residuals: simulated minus measured positions [rad], (samples, n),
                limited to DIVERGED. Several threads call it.

        Returns:
            The results in the order of the runs.
        """
        rows, count = self._padded(matrix)
        sums = np.empty((len(self.samples), len(rows), SUMS))

        def simulate(run: int) -> T:
            motions = np.empty((self.samples[run], len(rows)))
            self._simulate(rows, np.array([run]), sums, motions)
            motions -= self.measured(run)[:, None]
            # Most candidates never diverge; the sum of squares shows this at a fraction of the cost.
            if not sums[run, :, 1].max() < DIVERGED**2:
                motions = np.clip(np.nan_to_num(motions, nan=DIVERGED), -DIVERGED, DIVERGED)
            return take(run, motions[:, :count])

        return _spread(max(1, self._threads - self.spared), simulate, range(len(self.samples)))

    def measured(self, run: int) -> Array:
        """Return the measured positions of a run on its grid [rad], (samples,)."""
        return self._position[self._first[run] : self._first[run] + self.samples[run]]

    def _padded(self, matrix: Array | None) -> tuple[Array, int]:
        """Return the rows of the candidates, padded to whole lanes with the last one, and the number of candidates."""
        rows = self.model.rows(matrix)
        count = len(rows)
        return np.concatenate([rows, np.repeat(rows[-1:], -count % LANES, axis=0)]), count

    def _simulate(self, rows: Array, chosen: NDArray[np.int64], sums: Array, motions: Array) -> None:
        self._kernel(
            rows,
            self._setups,
            chosen,
            self._first,
            self.samples,
            self._substeps,
            self._first_step,
            self._resets,
            self._goal,
            self._lasts,
            self._enable,
            self._supply,
            self._loads,
            self._position,
            self._velocity,
            sums,
            motions,
        )


_POOLS: dict[int, ThreadPoolExecutor] = {}


def _spread(threads: int, work: Callable[[S], T], portions: Sequence[S]) -> list[T]:
    """Return the results of the portions in their order."""
    if threads == 1:
        return [work(portion) for portion in portions]
    return list(_pool(threads).map(work, portions))


def _pool(threads: int) -> ThreadPoolExecutor:
    if threads not in _POOLS:
        _POOLS[threads] = ThreadPoolExecutor(threads, thread_name_prefix="kernel")
    return _POOLS[threads]
