"""A fleet's own process: it gathers recordings, computes missing fits, and reports progress to the window."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from bench_gui.fleet.messages import FleetJob, FleetStep
from bench_gui.fleet.reading import summarise
from bench_gui.fleet.summary import FleetSummary
from bench_gui.work.process import Line
from core.fleet.plan import Chain, FleetPlan, make_plan
from core.fleet.result import assembled
from core.fleet.store import FleetStore
from core.identification.result import ModelResult

if TYPE_CHECKING:
    from core.fleet.driver import FleetProgress

TELL_PERIOD = 0.1
"""Interval between two progress messages [s]."""
SUMMARY_PERIOD = 1.0
"""Minimum interval between two summaries [s]."""
SUMMARY_SHARE = 0.1
"""Maximum share of the time spent on summaries."""


def run(job: FleetJob, line: Line) -> FleetSummary:
    """Compute the fits that the folder does not hold; completed fits are kept.

    Returns:
        The fleet, as far as it was computed when it was stopped.

    Raises:
        ServoBenchError: The fleet cannot be computed.
    """
    from bench_gui.headless.fleet.gather import SESSIONS, gather_units, load_unit, simulated_sessions
    from bench_gui.headless.fleet.job import EngineChoice, run_fleet_job
    from core.fleet.driver import FleetWatch

    def made(count: int) -> None:
        line.tell(FleetStep(done=0.0, text=f"simulating unit {count} of {job.simulated}"))

    paths: list[Path] = list(job.sessions)
    if job.simulated:
        paths = simulated_sessions(job.servo, job.simulated, job.folder / SESSIONS, job.fit.seed, made=made)
    line.tell(FleetStep(done=0.0, text="reading the recordings"))
    plan = make_plan(job.request, gather_units(paths, job.servo), load_unit)
    store = FleetStore(job.folder)
    teller = _Teller(line, plan, store)
    line.tell(FleetStep(done=0.0, text="starting the workers"))
    engine = EngineChoice(scheduler=job.scheduler, workers=job.workers)
    watch = FleetWatch(progressed=teller.take, should_stop=line.stop_asked)
    return summarise(run_fleet_job(plan, load_unit, store, engine, watch), job.folder)


class _Teller:
    """Reports progress a few times a second, and an intermediate summary now and then."""

    def __init__(self, line: Line, plan: FleetPlan, store: FleetStore) -> None:
        self._line, self._plan, self._store = line, plan, store
        self._found: dict[str, ModelResult] = {}
        self._touched = {unit.name for unit in plan.units}
        """Units whose fits have to be reloaded from the folder."""
        self._chains: dict[str, list[Chain]] = {unit.name: [] for unit in plan.units}
        for chain in plan.chains:
            self._chains[chain.unit].append(chain)
        self._problems: dict[str, str] = {}
        self._next = self._next_summary = 0.0

    def take(self, progress: FleetProgress) -> None:
        """Process a progress message."""
        if progress.unit:
            self._touched.add(progress.unit)
        unit, _, problem = progress.note.partition(": ")
        if progress.unit and unit == progress.unit:
            self._problems[unit] = problem
        now = time.monotonic()
        if now >= self._next or progress.note:
            self._next = now + TELL_PERIOD
            self._line.tell(
                FleetStep(
                    done=progress.share,
                    text=progress.text,
                    recorded=not progress.computed,
                    computed=progress.computed,
                    note=progress.note,
                )
            )
        if self._touched and now >= self._next_summary and progress.done < progress.tasks:
            self._summarise()

    def _summarise(self) -> None:
        begun = time.monotonic()
        for chain in (chain for name in self._touched for chain in self._chains[name]):
            for key in chain.keys:
                known = self._found.get(key) or self._store.get(chain, key)
                if known is None:
                    break
                self._found[key] = known
        self._touched = set()
        self._line.tell(summarise(assembled(self._plan, self._found, problems=self._problems), self._store.folder))
        now = time.monotonic()
        self._next_summary = now + max(SUMMARY_PERIOD, (now - begun) / SUMMARY_SHARE)
