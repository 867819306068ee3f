"""Computation of a fleet from its plan to its files, for the window and for `bench fleet`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec

from core.fleet.driver import Executor, FleetProgress, FleetWatch, run_fleet
from core.fleet.local import PlainLoop
from core.fleet.plan import FleetPlan, LoadUnit
from core.fleet.result import FleetResult
from core.fleet.store import FleetStore
from core.fleet.work import Warm
from sessions.results.identification import save_identification


@dataclass(frozen=True, kw_only=True)
class EngineChoice:
    """Machine or cluster that computes a fleet."""

    scheduler: str = ""
    """Address of a Dask scheduler, e.g. "tcp://10.0.0.5:8786"; empty: this machine."""
    workers: int | None = None
    """Processes on this machine; None: one per processor, 1: only this process."""


def run_fleet_job(
    plan: FleetPlan, load: LoadUnit, store: FleetStore, engine: EngineChoice, watch: FleetWatch
) -> FleetResult:
    """Compute the missing fits and write the models of each unit to `units/<name>/`, as an identification does.

    Returns:
        The fleet, incomplete if it was stopped.

    Raises:
        ServoBenchError: A step failed; completed fits are kept.
    """
    result = run_fleet(plan, store, partial(_executor, plan, load, engine, watch), watch)
    for unit in result.units:
        if unit.complete:
            found = unit.identification(plan.request_of(unit.facts))
            more = {"selection": unit.facts.selection} if unit.facts.selection else {}
            save_identification(found.with_provenance(more), store.unit_folder(unit.facts.name))
    return result


@contextlib.contextmanager
def _executor(plan: FleetPlan, load: LoadUnit, engine: EngineChoice, watch: FleetWatch) -> Iterator[Executor]:
    """Yield the requested executor; a plain loop if Dask is neither installed nor required by a scheduler."""
    warm = Warm(request=plan.request.fit)
    if engine.workers == 1 and not engine.scheduler:
        yield PlainLoop(load)
    elif engine.workers is None and not engine.scheduler and find_spec("distributed") is None:
        text = "Dask is not installed, so only one processor is used; to use all: pip install 'servobench[cluster]'"
        watch.progressed(
            FleetProgress(done=0, tasks=plan.tasks, share=0.0, computed=0, seconds=0.0, text="starting", note=text)
        )
        yield PlainLoop(load)
    else:
        from core.fleet.cluster import cluster

        with cluster(load, warm, scheduler=engine.scheduler, workers=engine.workers) as executor:
            yield executor
