"""The runs over which an exported model is held against the identified one.

The four trajectories of seed 004, section V-A, at two loads and two gains; another load and gain, held back, show
whether a refit has only learned its runs by heart.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace

import numpy as np

from core.arrays import Array
from core.bench import Bench
from core.diagram import peak_torque
from core.model import ServoModel
from core.recording import ServoSettings
from core.simulation import Motion, simulate_trajectory
from core.trajectories import PAPER_TRAJECTORIES, make_trajectory

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

REFERENCE_STEP = 2e-4
"""Longest step of converged simulations [s]: against one of 0.025 ms, catalogue models err by 0.02 mrad at most."""
SAMPLE = 1e-3
"""Time between their samples unless told otherwise [s]."""


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


def grid_runs(
    bench: Bench, settings: ServoSettings, loads: tuple[float, ...], gains: tuple[float, ...]
) -> list[GridRun]:
    """The four trajectories at each of some loads and gains, as shares of the bench's and of the settings'."""
    return [
        GridRun(trajectory=name, bench=loaded(bench, load), settings=replace(settings, kp=settings.kp * gain))
        for name, load, gain in itertools.product(PAPER_TRAJECTORIES, loads, gains)
    ]


def bench_grid(bench: Bench, settings: ServoSettings) -> list[GridRun]:
    """The sixteen runs a refit sees and an export's error is stated over."""
    return grid_runs(bench, settings, LOADS, GAINS)


def held_back_grid(bench: Bench, settings: ServoSettings) -> list[GridRun]:
    """Four runs at a load and gain between those of the grid, which no refit sees."""
    return grid_runs(bench, settings, (OTHER_LOAD,), (OTHER_GAIN,))


def converged_positions(
    model: ServoModel, run: GridRun, every: float = SAMPLE, *, held: bool = False, step: float = REFERENCE_STEP
) -> Array:
    """Positions every `every` [s], simulated in steps of at most `step` [s]: as the model moves whatever the step.

    held: goals are held for `every`, as an engine holds them for its step; otherwise they move all the time.
    """
    fine = replace(model, integrator="leapfrog", dt=step, substeps=1)
    path = make_trajectory(run.trajectory)
    return simulate_trajectory(fine, path, run.bench, run.settings, every, held=held).position


def own_motion(model: ServoModel, run: GridRun) -> Motion:
    """Motion with the integrator and step the model was identified with; a first-order one's goals are held for dt."""
    path = make_trajectory(run.trajectory)
    return simulate_trajectory(model, path, run.bench, run.settings, model.dt, held=not model.leapfrog)


def mean_errors(runs: list[GridRun], first: ServoModel, second: ServoModel) -> Array:
    """Mean absolute position difference of two models' converged motions, one number a run [rad]."""
    return np.array([np.abs(converged_positions(first, r) - converged_positions(second, r)).mean() for r in runs])
