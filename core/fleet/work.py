"""Tasks of a fleet: plain data that any process can apply to a unit's recordings.

Each gives the same numbers wherever and however often it runs. Tasks travel between the machines of a cluster, so tasks
and their results are small; a unit's recordings travel once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from core.export.references import default_bench
from core.identification.identify import fit_repeat
from core.identification.request import IdentificationRequest, search_template
from core.identification.result import ModelResult
from core.identification.runs.split import Split
from core.identification.search.objective import Batch
from core.motion.recording import Recording
from core.motion.simulation import simulate_trajectory
from core.motion.trajectories import make_trajectory
from core.servo.model import ServoModel
from core.servo.terms import Supply

OWN_OFFSET = "q_offset"
"""Parameter of a unit's mounting, which does not apply to other units."""


class Work(Protocol):
    """Task on a unit's recordings."""

    def __call__(self, recordings: Sequence[Recording]) -> Any:
        """Do the task; raise ServoBenchError if the recordings do not allow it."""
        ...


@dataclass(frozen=True, kw_only=True, eq=False)
class Fit:
    """Fit of one repeat of one model."""

    request: IdentificationRequest
    friction: str
    split: Split
    repeat: int
    simpler: tuple[ModelResult, ...]
    """Earlier fits of the same chain."""

    def __call__(self, recordings: Sequence[Recording]) -> ModelResult:
        """Fit the model; raise IdentificationError if it is impossible."""
        return fit_repeat(self.request, self.friction, recordings, self.split, self.repeat, self.simpler)


@dataclass(frozen=True, kw_only=True, eq=False)
class Judge:
    """Judgement of units' models on one unit's recordings, with that unit's mounting angle."""

    own: ServoModel
    values: tuple[Mapping[str, float], ...]
    """Parameter values of each unit's model."""
    dt: float | None
    supply: Supply

    def __call__(self, recordings: Sequence[Recording]) -> tuple[float, ...]:
        """Return the mean absolute error of each model over the recordings [rad]."""
        batch = Batch(self.own, recordings, dt=self.dt, supply=self.supply, threads=1)
        batch.model = replace(self.own, dt=float(np.median(batch.steps)))
        names = [parameter.name for parameter in self.own.parameters.free]
        mine = self.own.values
        matrix = np.array(
            [[mine[name] if name == OWN_OFFSET else values[name] for name in names] for values in self.values]
        )
        return tuple(float(error) for error in batch.scores(matrix).mae.mean(axis=0))


@dataclass(frozen=True, kw_only=True, eq=False)
class Warm:
    """Loading or compilation of a request's kernels, before tasks need them."""

    request: IdentificationRequest

    def __call__(self, recordings: Sequence[Recording] = ()) -> None:
        """Load the kernels; needs no recordings."""
        for friction in self.request.models:
            model = search_template(self.request, friction)
            path, settings = make_trajectory("nothing", 0.1), model.default_settings()
            motion = simulate_trajectory(model, path, default_bench(model), settings, 0.01)
            channels = {
                "time": motion.time,
                "goal_position": motion.goal_position,
                "torque_enable": path.torque_enable(motion.time),
                "position": motion.position,
            }
            still = Recording(
                id="0001_nothing",
                trajectory=path.name,
                bench=default_bench(model),
                settings=settings,
                channels=channels,
            )
            Batch(model, [still], threads=1).scores()
