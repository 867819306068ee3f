"""Runs on which an exported model is compared with the identified one.

The four trajectories of Duclusaud et al., section V-A, at two loads and two gains. Held-out runs at another load and
gain show whether a refit has overfitted.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, replace

from core.base.arrays import Array
from core.motion.simulation import Motion, simulate_trajectory
from core.motion.trajectories import PAPER_TRAJECTORIES, Trajectory, make_trajectory
from core.practice.diagram import peak_torque
from core.servo.bench import Bench
from core.servo.model import ServoModel
from core.servo.settings import ServoSettings

PENDULUM = Bench(mass=0.5, length=0.15)
"""Default pendulum, used if the servo can swing it."""
LIGHTEST, HEAVIEST = 0.02, 0.25
"""Range of a pendulum's gravity torque, as shares of the servo's peak torque, in which the comparison is meaningful."""
FITTING_SHARE = 0.12
"""Share of the pendulum that replaces one outside this range."""

LOADS, GAINS = (1.0, 2.0), (1.0, 0.5)
"""Factors on the bench's load and on the exported gain in the grid of runs."""
OTHER_LOAD, OTHER_GAIN = 1.5, 0.75
"""The same factors in the held-out runs."""

LARGEST_ANGLE = 1.6
"""Largest angle of the four trajectories, about [rad]."""
SHARE_OF_SPEED = 0.25
"""Share of the no-load speed that is commanded in place of that angle."""

REFERENCE_STEP = 2e-4
"""Longest time step of converged simulations [s]; catalogue models are within 0.02 mrad of steps of 0.025 ms."""
SAMPLE = 1e-3
"""Default sampling interval of converged simulations [s]."""


@dataclass(frozen=True, kw_only=True)
class GridRun:
    """Simulated run: a trajectory on a bench under servo settings."""

    trajectory: str
    bench: Bench
    settings: ServoSettings
    scale: float = 1.0
    """Command per rad of the trajectory, see `command_scale`."""

    @property
    def path(self) -> Trajectory:
        """Trajectory in the unit of the servo's command."""
        path = make_trajectory(self.trajectory)

        def scaled(time: Array, numbers: Mapping[str, float]) -> Array:
            return self.scale * path.goal_function(time, numbers)

        return replace(path, goal_function=scaled)

    @property
    def title(self) -> str:
        """Name of the run in a note."""
        return f"{self.trajectory}, {self.bench.gravity_torque:.3g} N·m at 90°, kp {self.settings.kp:g}"


def default_bench(model: ServoModel) -> Bench:
    """Return 0.5 kg at 0.15 m, or a mass at the same length that suits the servo if that is too heavy or light."""
    peak = peak_torque(model)
    if LIGHTEST * peak <= PENDULUM.gravity_torque <= HEAVIEST * peak:
        return PENDULUM
    mass = FITTING_SHARE * peak / (PENDULUM.gravity * PENDULUM.length)
    return Bench(mass=float(f"{mass:.2g}"), length=PENDULUM.length)


def command_scale(model: ServoModel, bench: Bench, settings: ServoSettings) -> float:
    """Return the command per rad of a trajectory that moves this bench as far as the angles would.

    It is 1 for an angle. For a torque, the largest angle stands for that of gravity and friction at 90°; for a speed,
    for a part of the no-load speed.
    """
    values, kind = model.values, model.control.command
    current = (bench.gravity_torque + values["friction_base"]) / (LARGEST_ANGLE * values["kt"])
    return {
        "position": 1.0,
        "velocity": SHARE_OF_SPEED * settings.supply_voltage / (LARGEST_ANGLE * values["kt"]),
        "duty_cycle": current * values["R"] / settings.supply_voltage,
        "voltage": current * values["R"],
        "current": current,
        "torque": current * values["kt"],
    }[kind]


def loaded(bench: Bench, share: float) -> Bench:
    """Return the bench with its load, measured values included, multiplied by a factor."""
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
    """Return the four trajectories at each load and gain, given as factors on the bench's and the settings' values."""
    return [
        GridRun(trajectory=name, bench=loaded(bench, load), settings=replace(settings, kp=settings.kp * gain))
        for name, load, gain in itertools.product(PAPER_TRAJECTORIES, loads, gains)
    ]


def bench_grid(bench: Bench, settings: ServoSettings) -> list[GridRun]:
    """Return the sixteen runs that a refit uses and over which an export's error is stated."""
    return grid_runs(bench, settings, LOADS, GAINS)


def held_back_grid(bench: Bench, settings: ServoSettings) -> list[GridRun]:
    """Return the four held-out runs, at a load and gain between those of the grid."""
    return grid_runs(bench, settings, (OTHER_LOAD,), (OTHER_GAIN,))


def converged_positions(
    model: ServoModel, run: GridRun, every: float = SAMPLE, *, held: bool = False, step: float = REFERENCE_STEP
) -> Array:
    """Simulate a run with time steps short enough that their length no longer matters.

    Args:
        model: The model.
        run: The run.
        every: Sampling interval [s].
        held: Hold goals for `every`, as an engine does over its time step; otherwise they move continuously.
        step: Longest time step [s].

    Returns:
        Positions every `every` [rad].
    """
    fine = replace(model, integrator="leapfrog", dt=step, substeps=1)
    return simulate_trajectory(fine, run.path, run.bench, run.settings, every, held=held).position


def own_motion(model: ServoModel, run: GridRun) -> Motion:
    """Simulate with the identified integrator and time step; a first-order integrator holds goals over it."""
    return simulate_trajectory(model, run.path, run.bench, run.settings, model.dt, held=not model.leapfrog)
