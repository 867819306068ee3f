"""Run a fleet's plan: submit the missing tasks, and store each result as soon as it arrives.

The driver holds all the state. An executor does the work, in this process or on a cluster, and may lose anything at any
time: lost tasks are done again, and results that arrived are in the folder.
"""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Protocol

import numpy as np

from core.base.errors import ServoBenchError
from core.base.words import counted
from core.fleet.plan import Chain, FleetPlan, UnitFacts
from core.fleet.result import FleetResult, Transfer, UnitResult, assembled
from core.fleet.store import FleetStore
from core.fleet.work import OWN_OFFSET, Fit, Judge, Work
from core.identification.result import ModelResult

POLL = 0.2
"""Interval between checks for a stop request [s]."""
ROW_COST = 0.01
"""Duration of a row of the transfer matrix as a share of a fit's: a row simulates each model once."""


@dataclass(frozen=True, kw_only=True)
class FleetProgress:
    """Progress of a running fleet."""

    done: int
    """Finished tasks, including those stored earlier."""
    tasks: int
    """Total number of tasks: fits, and one per unit for the transfer matrix."""
    share: float
    """Share of the work done, 0 to 1, by duration."""
    computed: int
    """Number of tasks computed by this run."""
    seconds: float
    """Time since the start of this run [s]."""
    text: str
    """Number of finished fits, and the task in work, e.g. "2 of 16 fits, fitting M1 of unit-003"."""
    unit: str = ""
    """Unit of the task that has just finished; empty if none has."""
    note: str = ""
    """Other event in words: a worker was lost, a unit cannot be fitted."""


@dataclass(frozen=True, kw_only=True)
class FleetWatch:
    """Callbacks of a running fleet."""

    progressed: Callable[[FleetProgress], None] = lambda progress: None
    should_stop: Callable[[], bool] = lambda: False


@dataclass(frozen=True, kw_only=True)
class Done:
    """Outcome of a task, see `outcome`."""

    key: str
    value: Any = None
    problem: str = ""
    """Reason why the recordings do not allow the task; a retry would not help."""


def outcome(key: str, work: Callable[[], Any]) -> Done:
    """Do a task; return a failure as its reason, so that it affects only its unit."""
    try:
        return Done(key=key, value=work())
    except ServoBenchError as error:
        return Done(key=key, problem=str(error))
    except Exception as error:
        return Done(key=key, problem=f"internal error: {type(error).__name__}: {error}")


class Executor(Protocol):
    """Interface of the executors that do the tasks."""

    @property
    def capacity(self) -> int:
        """Number of tasks accepted at once, at least 1; may change over time."""
        ...

    def submit(self, key: str, unit: UnitFacts, work: Work) -> None:
        """Submit a task; raise ServoBenchError if the recordings cannot be read or no worker is left."""
        ...

    def finished(self, timeout: float) -> list[Done]:
        """Wait up to `timeout` [s] for finished tasks; raise ServoBenchError if no worker is left."""
        ...

    def news(self) -> list[str]:
        """Return other events since the last call, in words."""
        ...

    def release(self, unit: UnitFacts) -> None:
        """Release a unit's recordings, which are not needed for now."""
        ...


OpenExecutor = Callable[[], AbstractContextManager[Executor]]
"""Opens an executor; called only if there is work to do."""


def run_fleet(plan: FleetPlan, store: FleetStore, executor: OpenExecutor, watch: FleetWatch) -> FleetResult:
    """Compute what the folder does not hold yet.

    Returns:
        The fleet, complete unless it was stopped or units failed.

    Raises:
        ServoBenchError: The executor failed for good, or the folder cannot be written. Finished results are kept.
    """
    store.write_plan(plan)
    with ExitStack() as stack:
        run = _Run(plan, store, lambda: stack.enter_context(executor()), watch)
        run.fit()
        store.put_problems(run.problems)
        return run.judged(assembled(plan, run.found, problems=run.problems))


@dataclass(frozen=True, eq=False)
class _Task:
    """Task to submit, and the handler of its outcome."""

    key: str
    text: str
    unit: UnitFacts
    work: Work
    settle: Callable[[Done], None]


class _Run:
    """State of one run of the driver."""

    def __init__(self, plan: FleetPlan, store: FleetStore, begin: Callable[[], Executor], watch: FleetWatch) -> None:
        self.plan = plan
        self.store = store
        self.watch = watch
        self.found: dict[str, ModelResult] = {}
        self.problems: dict[str, str] = {}
        """Reasons why units cannot be fitted, by unit."""
        self.stopped = False
        self._begin = begin
        self._waiting: deque[_Task] = deque()
        self._left: Counter[str] = Counter()
        """Number of unfinished tasks or chains of each unit."""
        self._started = time.monotonic()
        self._computed = 0
        self._skipped = 0
        """Number of fits that are skipped because their unit cannot be fitted."""
        self._rows = 0
        self._all_rows = len(plan.units) if len(plan.units) > 1 else 0
        self._facts = {unit.name: unit for unit in plan.units}
        self._doing = ""
        """Task in work, in words."""

    def fit(self) -> None:
        """Compute all missing fits."""
        for chain in self.plan.chains:
            results = self._recalled(chain)
            if len(results) < len(chain.keys):
                self._waiting.append(self._next_fit(chain, results))
                self._left[chain.unit] += 1
        self._doing = "starting the workers" if self._waiting else ""
        self._tell()
        self._drain()

    @cached_property
    def executor(self) -> Executor:
        """Executor, opened when the first task is submitted."""
        return self._begin()

    def _drain(self) -> None:
        """Submit waiting tasks, and tasks that follow, until none is left or a stop is requested."""
        running: dict[str, _Task] = {}
        while (self._waiting or running) and not self._stop():
            while self._waiting and len(running) < self.executor.capacity:
                task = self._waiting.popleft()
                running[task.key] = task
                self.executor.submit(task.key, task.unit, task.work)
            self._doing = next(task.text for task in running.values())
            self._tell()
            for done in self.executor.finished(POLL):
                running.pop(done.key).settle(done)
            for note in self.executor.news():
                self._tell(note=note)

    def _recalled(self, chain: Chain) -> list[ModelResult]:
        """Return the stored fits from the beginning of a chain."""
        results: list[ModelResult] = []
        for key in chain.keys:
            known = self.store.get(chain, key)
            if known is None:
                break
            self.found[key] = known
            results.append(known)
        return results

    def _next_fit(self, chain: Chain, results: Sequence[ModelResult]) -> _Task:
        unit, place = self._facts[chain.unit], len(results)
        friction = self.plan.request.fit.models[place]
        fit = Fit(
            request=self.plan.request_of(unit),
            friction=friction,
            split=chain.split,
            repeat=chain.repeat,
            simpler=tuple(results),
        )

        def settle(done: Done) -> None:
            if done.problem:
                self._give_up(chain, place, done.problem)
            else:
                self.store.put(chain, done.key, done.value)
                self.found[done.key] = done.value
                self._computed += 1
                if place + 1 < len(chain.keys):
                    # Ahead of chains that have not begun, so that few units are in work at a time.
                    self._waiting.appendleft(self._next_fit(chain, [*results, done.value]))
                else:
                    self._leave(unit)
            self._tell(chain.unit, f"{chain.unit}: {done.problem}" if done.problem else "")

        return _Task(chain.keys[place], f"fitting {friction.upper()} of {unit.name}", unit, fit, settle)

    def _give_up(self, chain: Chain, place: int, problem: str) -> None:
        """Record that a unit cannot be fitted, and skip the rest of its chain."""
        self.problems.setdefault(chain.unit, problem)
        self._skipped += len(chain.keys) - place
        self._leave(self._facts[chain.unit])

    def _leave(self, unit: UnitFacts) -> None:
        self._left[unit.name] -= 1
        if not self._left[unit.name]:
            self.executor.release(unit)

    def judged(self, result: FleetResult) -> FleetResult:
        """Return the fleet with the transfer matrix of its recommended model; unchanged if it was stopped."""
        units = [unit for unit in result.units if result.models and unit.complete]
        if self.stopped or len(units) < 2:
            return result
        friction = result.recommended
        basis = hashlib.sha256(
            json.dumps(
                [friction, *(chain.keys for chain in self.plan.chains if chain.unit not in self.problems)]
            ).encode()
        ).hexdigest()
        known = self.store.get_transfer(basis)
        if known is None:
            known = self._transfer(friction, units)
            if known is None:
                return result
            self.store.put_transfer(known, basis)
        self._rows = len(self.plan.units)
        self._tell()
        return assembled(self.plan, self.found, known, self.problems)

    def _transfer(self, friction: str, units: Sequence[UnitResult]) -> Transfer | None:
        """Compute the transfer matrix row by row; return None if stopped."""
        models = [unit.results[friction].model for unit in units]
        names = [parameter.name for parameter in models[0].parameters.free]
        values = tuple({name: model.values[name] for name in names if name != OWN_OFFSET} for model in models)
        request = self.plan.request.fit
        columns: dict[str, Sequence[float]] = {}

        def settle(unit: UnitFacts, done: Done) -> None:
            columns[unit.name] = [math.inf] * len(models) if done.problem else done.value
            self._rows += 1
            self._computed += 1
            self.executor.release(unit)
            self._tell(unit.name)

        for unit, model in zip(units, models, strict=True):
            judge = Judge(own=model, values=values, dt=request.dt, supply=request.supply)
            facts = unit.facts
            text = f"judging all models on {facts.name}"
            self._waiting.append(_Task(f"transfer-{facts.name}", text, facts, judge, partial(settle, facts)))
        self._drain()
        if self.stopped:
            return None
        order = tuple(unit.facts.name for unit in units)
        return Transfer(friction=friction, units=order, errors=np.array([columns[name] for name in order]).T)

    def _stop(self) -> bool:
        self.stopped = self.stopped or self.watch.should_stop()
        return self.stopped

    def _tell(self, unit: str = "", note: str = "") -> None:
        seconds = time.monotonic() - self._started
        fits, all_fits = len(self.found) + self._skipped, self.plan.tasks
        self.watch.progressed(
            FleetProgress(
                done=fits + self._rows,
                tasks=all_fits + self._all_rows,
                share=(fits + ROW_COST * self._rows) / (all_fits + ROW_COST * self._all_rows),
                computed=self._computed,
                seconds=seconds,
                text=", ".join(filter(None, (f"{fits} of {counted(all_fits, 'fit')}", self._doing))),
                unit=unit,
                note=note,
            )
        )
