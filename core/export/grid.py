"""The runs over which an exported model is held against the identified one.

The four trajectories of seed 004, section V-A, at two loads and two gains; another load and gain, held back, show
whether a refit has only learned its runs by heart.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from core.bench import Bench
from core.diagram import peak_torque
from core.model import ServoModel
from core.recording import ServoSettings
from core.simulation import simulate_trajectory
from core.trajectories import PAPER_TRAJECTORIES, make_trajectory

Array = NDArray[np.float64]

PENDULUM = Bench(mass=0.5, length=0.15)
"""The pendulum nobody chose, as long as the servo can swing it."""
LIGHTEST, HEAVIEST = 0.02, 0.25
"""Shares of the servo's peak torque between which a pendulum's gravity torque tells something."""
FITTING_SHARE = 0.12
"""Share that replaces a pendulum outside of them."""

LOADS, GAINS = (1.0, 2.0), (1.0, 0.5)
"""Shares of the bench's load and of the exported gain in the grid."""
OTHER_LOAD, OTHER_GAIN = 1.5, 0.75
"""The same in the runs held back."""

REFERENCE_STEP = 1e-4
"""Goals are held for this long in converged simulations [s]."""
REFERENCE_SUBSTEPS = 2


@dataclass(frozen=True, kw_only=True)
class GridRun:
    """One run of the grid."""

    trajectory: str
    bench: Bench
    settings: ServoSettings

    @property
    def title(self) -> str:
        """How a note names it."""
        return f"{self.trajectory}, {self.bench.gravity_torque:.3g} N·m at 90°, kp {self.settings.kp:g}"


def default_bench(model: ServoModel) -> Bench:
    """0.5 kg at 0.15 m; a load of the same length that suits the servo if that one is too heavy or too light."""
    peak = peak_torque(model)
    if LIGHTEST * peak <= PENDULUM.gravity_torque <= HEAVIEST * peak:
        return PENDULUM
    mass = FITTING_SHARE * peak / (PENDULUM.gravity * PENDULUM.length)
    return Bench(mass=float(f"{mass:.2g}"), length=PENDULUM.length)


def loaded(bench: Bench, share: float) -> Bench:
    """The bench with its load, and what was measured of it, times a share."""
    return replace(
        bench,
        mass=bench.mass * share,
        arm_mass=bench.arm_mass * share,
        measured_inertia=None if bench.measured_inertia is None else bench.measured_inertia * share,
        measured_gravity_torque=(
            None if bench.measured_gravity_torque is None else bench.measured_gravity_torque * share
        ),
    )


def _runs(bench: Bench, settings: ServoSettings, loads: tuple[float, ...], gains: tuple[float, ...]) -> list[GridRun]:
    return [
        GridRun(trajectory=name, bench=loaded(bench, load), settings=replace(settings, kp=settings.kp * gain))
        for name, load, gain in itertools.product(PAPER_TRAJECTORIES, loads, gains)
    ]


def bench_grid(bench: Bench, settings: ServoSettings) -> list[GridRun]:
    """The sixteen runs a refit sees and an export's error is stated over."""
    return _runs(bench, settings, LOADS, GAINS)


def held_back_grid(bench: Bench, settings: ServoSettings) -> list[GridRun]:
    """Four runs at a load and gain between those of the grid, which no refit sees."""
    return _runs(bench, settings, (OTHER_LOAD,), (OTHER_GAIN,))


def converged_positions(
    model: ServoModel, run: GridRun, step: float = REFERENCE_STEP, substeps: int = REFERENCE_SUBSTEPS
) -> Array:
    """Positions of Algorithm 1, every `step` [s]; by default with a step short enough to be called the motion."""
    fine = replace(model, integrator="algorithm1", substeps=substeps)
    return simulate_trajectory(fine, make_trajectory(run.trajectory), run.bench, run.settings, step).position


def own_positions(model: ServoModel, run: GridRun, time: Array) -> Array:
    """Positions at `time` [s] with the integrator, step and substeps the model was identified with."""
    motion = simulate_trajectory(model, make_trajectory(run.trajectory), run.bench, run.settings, model.dt)
    return np.interp(time, motion.time, motion.position)


def mean_errors(runs: list[GridRun], first: ServoModel, second: ServoModel) -> Array:
    """Mean absolute position difference of two models' converged motions, one number a run [rad]."""
    return np.array([np.abs(converged_positions(first, r) - converged_positions(second, r)).mean() for r in runs])
