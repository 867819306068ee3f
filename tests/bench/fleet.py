"""A fleet on two workers against the plain loop: numbers, speed, killed workers, overhead, cost a servo.

`python -m tests.bench.fleet [--units 40] [--repeats 3] [--trials N] [--workers 2]` fits simulated MX-106 units with
M1–M6. Each figure is a ratio within one run; run it on a quiet machine.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import signal
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench_gui.headless.fleet.gather import gather_units, load_unit, simulated_sessions
from core.fleet.cluster import DaskExecutor, cluster
from core.fleet.driver import Executor, FleetWatch, run_fleet
from core.fleet.local import PlainLoop
from core.fleet.plan import FleetPlan, FleetRequest, UnitFacts, make_plan
from core.fleet.result import FleetResult
from core.fleet.store import FleetStore
from core.fleet.work import Warm
from core.identification.request import IdentificationRequest
from core.motion.recording import Recording
from tests.bench.printing import line

SERVO = "mx106"
KILL_PERIOD = 10.0
"""Between two kills of a worker [s]."""
EMPTY_TASKS = 500
LARGE_FLEET, LARGE_CLUSTER = 1000, 64
"""Units and processors the estimate is for."""


@dataclass(frozen=True)
class Nothing:
    """Work that takes no time."""

    def __call__(self, recordings: Sequence[Recording]) -> float:
        return float(recordings[0].samples)


def numbers(result: FleetResult) -> str:
    """All that was found, without how long it took, to the last bit."""
    fits = [
        (unit.facts.name, friction, found.train_mae, found.validation_mae, found.model.values, found.evidence.to_json())
        for unit in result.units
        for friction, found in unit.results.items()
    ]
    return json.dumps([fits, None if result.transfer is None else result.transfer.errors.tolist()])


def timed(plan: FleetPlan, executor: Executor, watch: FleetWatch | None = None) -> tuple[float, FleetResult, Path]:
    """Seconds of a run in a new folder, executor and kernels ready, and what it found."""
    folder = Path(tempfile.mkdtemp(prefix="fleet-"))
    begun = time.perf_counter()
    result = run_fleet(plan, FleetStore(folder), lambda: contextlib.nullcontext(executor), watch or FleetWatch())
    return time.perf_counter() - begun, result, folder


class Killer:
    """Kills a worker at random every so often, until it is told to stop."""

    def __init__(self, executor: DaskExecutor) -> None:
        self.killed = 0
        self._pids = lambda: list(executor._client.run(os.getpid).values())
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Killer:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        chance = random.Random(1)
        while not self._stop.wait(KILL_PERIOD):
            with contextlib.suppress(Exception):
                os.kill(chance.choice(self._pids()), signal.SIGKILL)
                self.killed += 1


def empty_tasks(plan: FleetPlan, executor: DaskExecutor) -> float:
    """Seconds of the driver's time a task costs that does nothing, recordings scattered before."""
    waiting = list(range(EMPTY_TASKS))
    units: Sequence[UnitFacts] = plan.units
    begun, running, done = 0.0, 0, 0
    while done < EMPTY_TASKS:
        while waiting and running < executor.capacity:
            number = waiting.pop()
            executor.submit(f"nothing-{number}", units[number % 2], Nothing())
            running += 1
        count = len(executor.finished(1.0))
        running, done = running - count, done + count
        if not begun and done >= 10:
            begun, first = time.perf_counter(), done
    return (time.perf_counter() - begun) / (EMPTY_TASKS - first)


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--units", type=int, default=40)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--trials", type=int)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--without-kills", action="store_true")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        sessions = simulated_sessions(SERVO, chosen.units, Path(place))
        units = gather_units(sessions)
        request = FleetRequest(
            fit=IdentificationRequest(servo=SERVO, repeats=chosen.repeats, trials=chosen.trials),
        )

        def plans(count: int) -> FleetPlan:
            return make_plan(request, units[:count], load_unit)

        whole = plans(chosen.units)
        warm = Warm(request=request.fit)
        warm()
        line("fleet", f"{chosen.units} units, {whole.tasks} fits")
        plain_seconds, plain, _ = timed(whole, PlainLoop(load_unit))
        line("plain loop", f"{plain_seconds:.1f} s, {1e3 * plain_seconds / whole.tasks:.0f} ms a fit")
        wanted = numbers(plain)
        with cluster(load_unit, warm, workers=chosen.workers) as executor:
            line("empty task", f"{1e3 * empty_tasks(whole, executor):.1f} ms")
            seconds, result, folder = timed(whole, executor)
            same = "the same numbers, bit for bit" if numbers(result) == wanted else "OTHER NUMBERS"
            line(f"{chosen.workers} workers", f"{seconds:.1f} s, {plain_seconds / seconds:.2f} times as fast, {same}")
            busy = sum(fit.wall_seconds for unit in result.units for fit in unit.results.values())
            spent = (chosen.workers * seconds - busy) / whole.tasks
            line("not fitting", f"{1e3 * spent:.1f} ms of a worker a fit, transfer matrix and last chains included")
            again = run_fleet(whole, FleetStore(folder), no_executor, FleetWatch())
            line("second run", f"computed nothing, {'same' if numbers(again) == wanted else 'OTHER'} numbers")
            costs = []
            for count in sorted({max(1, chosen.units // 4), max(1, chosen.units // 2)}):
                part, _, _ = timed(plans(count), executor)
                costs.append((count, part))
            costs.append((chosen.units, seconds))
            for count, part in costs:
                line(f"{count} units", f"{part:.1f} s, {part / count:.2f} s a unit")
            hours = seconds / chosen.units * LARGE_FLEET * chosen.workers / LARGE_CLUSTER / 3600.0
            line(f"{LARGE_FLEET} units", f"about {60 * hours:.0f} min on {LARGE_CLUSTER} such processors, by this")
            if not chosen.without_kills:
                notes: list[str] = []
                with Killer(executor) as killer:
                    struck, result, _ = timed(whole, executor, FleetWatch(progressed=lambda p: notes.append(p.note)))
                same = "same numbers" if numbers(result) == wanted else "OTHER NUMBERS"
                again_count = sum(bool(note) for note in notes)
                line(
                    f"kill -9 every {KILL_PERIOD:.0f} s",
                    f"{killer.killed} killed, {again_count} tasks done again, {struck:.1f} s, {same}",
                )


def no_executor() -> contextlib.AbstractContextManager[Executor]:
    """For a run that has nothing to do."""
    raise AssertionError("something was left to compute")


if __name__ == "__main__":
    main()
