"""How every export is checked: the same runs under the same commands, against the identified model.

    return measured(model, options, "drake", "run in Drake 1.51.1", lambda runs, step: [move(r, step) for r in runs])

The four trajectories of seed 004, from rest at 0, at half, nominal and double load and at half and double gain. A goal
is that of the beginning of a step and is held over it, as an engine's controller gives it, in the export and in the
reference alike; the reference itself is simulated in steps so short that its own error does not count. The step is the
one the export's example uses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from core.export.contract import Check, ServoOptions, settings_of
from core.export.grid import GridRun, converged_positions, default_bench, loaded
from core.model import ServoModel
from core.trajectories import PAPER_TRAJECTORIES, make_trajectory

Array = NDArray[np.float64]
Rollout = Callable[[Sequence[GridRun], float], Iterable[Array]]
"""Positions of exported pendulums before each step [rad], a run each; the step [s]."""
Options = TypeVar("Options", bound=ServoOptions)

CONDITIONS: Mapping[str, tuple[float, float]] = {
    "": (1.0, 1.0),
    "half load": (0.5, 1.0),
    "double load": (2.0, 1.0),
    "half gain": (1.0, 0.5),
    "double gain": (1.0, 2.0),
}
"""Shares of the export's load and gain."""


def measured(
    model: ServoModel,
    options: ServoOptions,
    target: str,
    how: str,
    rollout: Rollout,
    *,
    step: float | None = None,
) -> Check:
    """Hold what an export does against the model, by the protocol.

    Args:
        how: Where the motion was computed, e.g. "run in MuJoCo 4.0.0".
        rollout: Is called once for each condition, with its four runs, the export's own condition first.
        step: Of the engine [s]; None: that of the export's example.
    """
    step = step or options.timestep
    errors: dict[str, float] = {}
    for condition, runs in conditions(model, options, target):
        for run, actual in zip(runs, rollout(runs, step), strict=True):
            expected = converged_positions(model, run, step, held=True)
            count = min(len(expected), len(actual))
            error = 1e3 * float(np.abs(actual[:count] - expected[:count]).mean())
            errors[", ".join(filter(None, (run.trajectory, condition)))] = error
    return Check(how=f"{how} with a time step of {step * 1e3:g} ms", errors=errors)


def conditions(model: ServoModel, options: ServoOptions, target: str) -> Iterator[tuple[str, list[GridRun]]]:
    """Name of each condition and its runs."""
    settings, bench = settings_of(model, options, target), options.bench or default_bench(model)
    for condition, (load, gain) in CONDITIONS.items():
        yield (
            condition,
            [
                GridRun(trajectory=name, bench=loaded(bench, load), settings=replace(settings, kp=settings.kp * gain))
                for name in PAPER_TRAJECTORIES
            ],
        )


def exact_rollout(
    model: ServoModel,
    folder: Path,
    options: Options,
    write: Callable[[ServoModel, Path, Options], object],
    simulate: Callable[[Path, Sequence[GridRun], float], Iterable[Array]],
) -> Rollout:
    """Rollout of an export that writes every model as it is: the folder's files, and such of other loads and gains.

    simulate: runs the files of a folder, all runs under the same condition.
    """
    own = (options.bench or default_bench(model), settings_of(model, options, "check").kp)

    def rollout(runs: Sequence[GridRun], step: float) -> Iterable[Array]:
        asked = (runs[0].bench, runs[0].settings.kp)
        if asked == own:
            return list(simulate(folder, runs, step))
        with TemporaryDirectory() as place:
            write(model, Path(place), replace(options, bench=asked[0], kp=asked[1]))
            return list(simulate(Path(place), runs, step))

    return rollout


def held_commands(trajectory: str, step: float) -> tuple[Array, Array]:
    """Goals [rad] and enable, 1 or 0, at the beginning of each step [s]."""
    path = make_trajectory(trajectory)
    time = step * np.arange(round(path.duration / step))
    return path.goal(time), path.torque_enable(time).astype(np.float64)


def tilted(run: GridRun, model: ServoModel) -> GridRun:
    """The run for a drive that knows no zero offset: the offset is its bench's."""
    offset = run.bench.angle_offset + model.values.get("q_offset", 0.0)
    return replace(run, bench=replace(run.bench, angle_offset=offset))
