"""Protocol that checks every export: the same runs under the same commands, compared with the identified model.

    return measured(model, options, "drake", "run in Drake 1.51.1", rollout)

The runs are the four trajectories of Duclusaud et al., from rest at 0, as exported and with load and gain each halved
or doubled. Servos that are not commanded by an angle have no such gain, and a rad of a trajectory stands for a torque,
a speed or another command (`command_scale`). A goal is sampled at the beginning of a time step and held over it, as an
engine's controller does, both in the export and in the reference. The reference is simulated with time steps so short
that its own error is negligible. The time step is the one of the export's example.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

import numpy as np

from core.base.arrays import Array
from core.base.errors import ExportError
from core.export.contract import Check, ServoOptions, settings_of
from core.export.drives.envelope import EnvelopeDrive
from core.export.drives.plain import PlainDrive
from core.export.references import GridRun, command_scale, converged_positions, default_bench, loaded
from core.motion.trajectories import PAPER_TRAJECTORIES
from core.servo.bench import Bench
from core.servo.model import ServoModel
from core.servo.settings import ServoSettings

Rollout = Callable[[Sequence[GridRun], float], Iterable[Array]]
"""Maps the runs and the time step [s] to one array a run: the pendulum's position before each step [rad]."""
Options = TypeVar("Options", bound=ServoOptions)
AnyDrive = TypeVar("AnyDrive", PlainDrive, EnvelopeDrive)

CONDITIONS: Mapping[str, tuple[float, float]] = {
    "": (1.0, 1.0),
    "half load and gain": (0.5, 0.5),
    "half load at double gain": (0.5, 2.0),
    "double load at half gain": (2.0, 0.5),
    "double load and gain": (2.0, 2.0),
}
"""Factors on the export's load and gain."""


def measured(
    model: ServoModel,
    options: ServoOptions,
    target: str,
    how: str,
    rollout: Rollout,
    *,
    step: float | None = None,
    engine: str = "",
) -> Check:
    """Compare the motion of an export with the model's, following the protocol.

    Args:
        model: The exported model.
        options: Options of the export.
        target: Name of the target.
        how: Where the motion was computed, e.g. "run in MuJoCo 4.0.0".
        rollout: Runs the exported pendulum.
        step: Time step of the engine [s]. None: the one of the export's example.
        engine: Name of the engine, for the error message.

    Raises:
        ExportError: The engine rejected the export with a RuntimeError or ValueError; only if `engine` is given.
    """
    step = step or options.timestep
    runs = conditions(model, options, target)
    errors: dict[str, float] = {}
    try:
        for (name, run), actual in zip(runs.items(), rollout(list(runs.values()), step), strict=True):
            expected = converged_positions(model, run, step, held=True)
            count = min(len(expected), len(actual))
            errors[name] = 1e3 * float(np.abs(actual[:count] - expected[:count]).mean())
    except (RuntimeError, ValueError) as error:
        if not engine:
            raise
        raise ExportError(f"{engine} rejects the export: {error}") from None
    return Check(how=f"{how} with a time step of {step * 1e3:g} ms, goals held over each step", errors=errors)


def conditions(model: ServoModel, options: ServoOptions, target: str) -> dict[str, GridRun]:
    """Return the protocol's runs by their names in a `Check`, the export's own load and gain first."""
    settings = settings_of(model, options, target)
    runs = checked_runs(options.bench or default_bench(model), settings)
    if model.control.command == "position":
        return runs
    # Without gains, each load counts once.
    return {
        re.split(r" (?:and|at) ", name)[0]: replace(
            run, settings=settings, scale=command_scale(model, run.bench, settings)
        )
        for name, run in runs.items()
    }


def checked_runs(bench: Bench, settings: ServoSettings) -> dict[str, GridRun]:
    """Return the protocol's runs of an export with this pendulum and these settings."""
    return {
        ", ".join(filter(None, (name, condition))): GridRun(
            trajectory=name, bench=loaded(bench, load), settings=replace(settings, kp=settings.kp * gain)
        )
        for condition, (load, gain) in CONDITIONS.items()
        for name in PAPER_TRAJECTORIES
    }


def by_condition(runs: Sequence[GridRun]) -> list[list[GridRun]]:
    """Group consecutive runs of the same load and gain."""
    return [list(group) for _, group in itertools.groupby(runs, key=lambda run: (run.bench, run.settings))]


def rollout_of_files(
    model: ServoModel,
    folder: Path,
    options: Options,
    write: Callable[[ServoModel, Path, Options], object],
    simulate: Callable[[Path, Sequence[GridRun], float], Iterable[Array]],
) -> Rollout:
    """Return the rollout of an export's files, and of the same files written for other loads and gains.

    Args:
        model: The exported model.
        folder: Folder of the export.
        options: Options of the export.
        write: Writes the files for options with another bench and gain.
        simulate: Runs the files of a folder, with all runs of one condition.
    """

    def one_by_one(conditions: Sequence[tuple[Path, list[GridRun]]], step: float) -> Iterator[Array]:
        for place, runs in conditions:
            yield from simulate(place, runs, step)

    return rollout_of_scene(model, folder, options, write, one_by_one)


def rollout_of_scene(
    model: ServoModel,
    folder: Path,
    options: Options,
    write: Callable[[ServoModel, Path, Options], object],
    simulate: Callable[[Sequence[tuple[Path, list[GridRun]]], float], Iterable[Array]],
) -> Rollout:
    """`rollout_of_files` for engines that start slowly: `simulate` gets all folders with their runs at once."""
    own = (options.bench or default_bench(model), settings_of(model, options, "check").kp)

    def rollout(runs: Sequence[GridRun], step: float) -> Iterator[Array]:
        with TemporaryDirectory() as aside:
            conditions: list[tuple[Path, list[GridRun]]] = []
            for number, group in enumerate(by_condition(runs)):
                bench, kp = group[0].bench, group[0].settings.kp
                place = folder
                if (bench, kp) != own:
                    place = Path(aside) / str(number)
                    place.mkdir()
                    gains = {"kp": kp} if model.control.command == "position" else {}
                    write(model, place, replace(options, bench=bench, **gains))
                conditions.append((place, group))
            yield from simulate(conditions, step)

    return rollout


def at_gain(drive: AnyDrive, model: ServoModel, share: float) -> AnyDrive:
    """Return a drive with its gain scaled by `share`; a current law's damping scales with the square root."""
    falls = math.sqrt(share) if model.control.law == "current" else 1.0
    return replace(drive, stiffness=drive.stiffness * share, damping=drive.damping * falls)


def held_commands(run: GridRun, step: float) -> tuple[Array, Array]:
    """Return commands and torque enable (1 or 0) at the beginning of each time step."""
    path = run.path
    time = step * np.arange(round(path.duration / step))
    return path.goal(time), path.torque_enable(time).astype(np.float64)


def simulated_here(
    model: ServoModel, runs: Sequence[GridRun], read: Sequence[tuple[ServoModel, ServoSettings]], step: float
) -> list[Array]:
    """Simulate drives whose engine is not installed; return the positions of each run [rad]."""
    return [
        converged_positions(drive, replace(tilted(run, model), settings=settings), step, held=True)
        for run, (drive, settings) in zip(runs, read, strict=True)
    ]


def tilted(run: GridRun, model: ServoModel) -> GridRun:
    """Return the run for a drive without a zero offset of its own: the offset moves into the bench."""
    offset = run.bench.angle_offset + model.values.get("q_offset", 0.0)
    return replace(run, bench=replace(run.bench, angle_offset=offset))
