"""The pieces of a fleet's work: plain data that any process can do with a unit's recordings.

Each gives the same numbers wherever and however often it is done. They travel between the machines of a cluster, so
that they and what they give are small; the recordings travel once a unit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from core.identification.identify import fit_repeat
from core.identification.request import IdentificationRequest, search_template
from core.identification.result import ModelResult
from core.identification.runs.split import Split
from core.identification.search.objective import Batch
from core.model import ServoModel
from core.recording import Recording
from core.terms import Supply

OWN_OFFSET = "q_offset"
"""How a unit is mounted: no other unit's concern."""


class Work(Protocol):
    """Something to do with a unit's recordings."""

    def __call__(self, recordings: Sequence[Recording]) -> Any:
        """Do it; raises ServoBenchError where the recordings do not allow it."""
        ...


@dataclass(frozen=True, kw_only=True, eq=False)
class Fit:
    """One repeat of one model."""

    request: IdentificationRequest
    friction: str
    split: Split
    repeat: int
    simpler: tuple[ModelResult, ...]
    """Of the same chain."""

    def __call__(self, recordings: Sequence[Recording]) -> ModelResult:
        """Raises IdentificationError."""
        return fit_repeat(self.request, self.friction, recordings, self.split, self.repeat, self.simpler)


@dataclass(frozen=True, kw_only=True, eq=False)
class Judge:
    """Units' models on another unit's recordings, each with the mounting angle of the unit that is judged on."""

    own: ServoModel
    values: tuple[Mapping[str, float], ...]
    """Parameter values of each unit's model."""
    dt: float | None
    supply: Supply

    def __call__(self, recordings: Sequence[Recording]) -> tuple[float, ...]:
        """Mean absolute error of each model over all these recordings [rad]."""
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
    """Loads or compiles the kernels that a request needs, before anything waits for them."""

    request: IdentificationRequest

    def __call__(self, recordings: Sequence[Recording] = ()) -> None:
        """Needs no recordings of anyone."""
        from core.export.references import default_bench
        from core.simulation import simulate_trajectory
        from core.trajectories import make_trajectory

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
