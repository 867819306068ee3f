"""A fleet from its plan to its result: hands out what is missing, keeps what comes back at once.

The driver holds all the state there is. An executor does the work, in this process or on a cluster, and may lose
anything at any time: what it lost is done again, what had come back is in the folder.
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

from core.errors import ServoBenchError
from core.fleet.plan import Chain, FleetPlan, UnitFacts
from core.fleet.result import FleetResult, Transfer, UnitResult, assembled
from core.fleet.store import FleetStore
from core.fleet.work import OWN_OFFSET, Fit, Judge, Work
from core.identification.result import ModelResult

POLL = 0.2
"""Between two looks at whether to stop [s]."""


@dataclass(frozen=True, kw_only=True)
class FleetProgress:
    """Where a running fleet stands."""

    done: int
    """Tasks that need no more work, those on record before included."""
    tasks: int
    """All: fits, and one a unit for the transfer matrix."""
    computed: int
    """Of those done, by this run."""
    seconds: float
    """Since this run began."""
    unit: str
    """Whose task was done last; empty at the beginning."""
    friction: str
    """Its model; empty for a row of the transfer matrix."""
    note: str = ""
    """What happened besides, in words: a worker lost, a unit that cannot be fitted."""


@dataclass(frozen=True, kw_only=True)
class FleetWatch:
    """What is told while a fleet runs, and what is asked."""

    progressed: Callable[[FleetProgress], None] = lambda progress: None
    should_stop: Callable[[], bool] = lambda: False


@dataclass(frozen=True, kw_only=True)
class Done:
    """What came of a task, see `outcome`."""

    key: str
    value: Any = None
    problem: str = ""
    """Why the recordings do not allow it; trying again would not help."""


def outcome(key: str, work: Callable[[], Any]) -> Done:
    """Do a task; one that fails says why, so that it costs the fleet no more than its unit."""
    try:
        return Done(key=key, value=work())
    except ServoBenchError as error:
        return Done(key=key, problem=str(error))
    except Exception as error:
        return Done(key=key, problem=f"an error of the program: {type(error).__name__}: {error}")


class Executor(Protocol):
    """Does the work."""

    @property
    def capacity(self) -> int:
        """Tasks it takes at once, at least 1; may change while it works."""
        ...

    def submit(self, key: str, unit: UnitFacts, work: Work) -> None:
        """Take a task; raises ServoBenchError when the unit's recordings cannot be read or nobody works any more."""
        ...

    def finished(self, timeout: float) -> list[Done]:
        """Wait for tasks to be done, at most so long [s]; raises ServoBenchError when nobody works any more."""
        ...

    def news(self) -> list[str]:
        """What happened besides since the last call, in words."""
        ...

    def release(self, unit: UnitFacts) -> None:
        """A unit's recordings are not needed for now."""
        ...


OpenExecutor = Callable[[], AbstractContextManager[Executor]]
"""Makes an executor, which need not be where nothing is to be done."""


def run_fleet(plan: FleetPlan, store: FleetStore, executor: OpenExecutor, watch: FleetWatch) -> FleetResult:
    """Compute what the folder does not hold yet; returns the fleet, complete unless it was stopped or units failed.

    Raises ServoBenchError when the executor fails for good or the folder cannot be written; what was done is kept.
    """
    store.write_plan(plan)
    with ExitStack() as stack:
        run = _Run(plan, store, lambda: stack.enter_context(executor()), watch)
        run.fit()
        store.put_problems(run.problems)
        return run.judged(assembled(plan, run.found, problems=run.problems))


@dataclass(frozen=True, eq=False)
class _Task:
    """Something to hand out, and what to do with what comes back."""

    key: str
    unit: UnitFacts
    work: Work
    settle: Callable[[Done], None]


class _Run:
    """One run of the driver."""

    def __init__(self, plan: FleetPlan, store: FleetStore, begin: Callable[[], Executor], watch: FleetWatch) -> None:
        self.plan = plan
        self.store = store
        self.watch = watch
        self.found: dict[str, ModelResult] = {}
        self.problems: dict[str, str] = {}
        """Unit → why it cannot be fitted."""
        self.stopped = False
        self._begin = begin
        self._waiting: deque[_Task] = deque()
        self._left: Counter[str] = Counter()
        """Tasks or chains of tasks of a unit that are not over."""
        self._started = time.monotonic()
        self._computed = 0
        self._skipped = 0
        """Fits that will never be, for their unit cannot be fitted."""
        self._rows = 0
        self._tasks = plan.tasks + (len(plan.units) if len(plan.units) > 1 else 0)
        self._facts = {unit.name: unit for unit in plan.units}

    def fit(self) -> None:
        """All fits that are missing."""
        for chain in self.plan.chains:
            results = self._recalled(chain)
            if len(results) < len(chain.keys):
                self._waiting.append(self._next_fit(chain, results))
                self._left[chain.unit] += 1
        self._tell("", "")
        self._drain()

    @cached_property
    def executor(self) -> Executor:
        """Begun when the first task is handed out."""
        return self._begin()

    def _drain(self) -> None:
        """Hand out what waits, and what joins it, until nothing is left or it shall stop."""
        running: dict[str, _Task] = {}
        while (self._waiting or running) and not self._stop():
            while self._waiting and len(running) < self.executor.capacity:
                task = self._waiting.popleft()
                running[task.key] = task
                self.executor.submit(task.key, task.unit, task.work)
            for done in self.executor.finished(POLL):
                running.pop(done.key).settle(done)
            for note in self.executor.news():
                self._tell("", "", note)

    def _recalled(self, chain: Chain) -> list[ModelResult]:
        """A chain as far as it is on record."""
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
                    # Before chains that have not begun, so that few units are under way at a time.
                    self._waiting.appendleft(self._next_fit(chain, [*results, done.value]))
                else:
                    self._leave(unit)
            self._tell(chain.unit, friction, f"{chain.unit}: {done.problem}" if done.problem else "")

        return _Task(chain.keys[place], unit, fit, settle)

    def _give_up(self, chain: Chain, place: int, problem: str) -> None:
        """A unit that cannot be fitted costs no more than this task."""
        self.problems.setdefault(chain.unit, problem)
        self._skipped += len(chain.keys) - place
        self._leave(self._facts[chain.unit])

    def _leave(self, unit: UnitFacts) -> None:
        self._left[unit.name] -= 1
        if not self._left[unit.name]:
            self.executor.release(unit)

    def judged(self, result: FleetResult) -> FleetResult:
        """The fleet with its transfer matrix, by the models it recommends; as it is when it was stopped."""
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
        self._tell("", "")
        return assembled(self.plan, self.found, known, self.problems)

    def _transfer(self, friction: str, units: Sequence[UnitResult]) -> Transfer | None:
        """One row of models after the other; None when it was stopped."""
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
            self._tell(unit.name, "")

        for unit, model in zip(units, models, strict=True):
            judge = Judge(own=model, values=values, dt=request.dt, supply=request.supply)
            facts = unit.facts
            self._waiting.append(_Task(f"transfer-{facts.name}", facts, judge, partial(settle, facts)))
        self._drain()
        if self.stopped:
            return None
        order = tuple(unit.facts.name for unit in units)
        return Transfer(friction=friction, units=order, errors=np.array([columns[name] for name in order]).T)

    def _stop(self) -> bool:
        self.stopped = self.stopped or self.watch.should_stop()
        return self.stopped

    def _tell(self, unit: str, friction: str, note: str = "") -> None:
        seconds = time.monotonic() - self._started
        done = len(self.found) + self._skipped + self._rows
        self.watch.progressed(
            FleetProgress(
                done=done,
                tasks=self._tasks,
                computed=self._computed,
                seconds=seconds,
                unit=unit,
                friction=friction,
                note=note,
            )
        )
