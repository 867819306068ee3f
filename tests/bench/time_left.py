"""How good the estimated time left is: identification, cross-validation and fleet, from a tenth of the work on.

`python -m tests.bench.time_left [--units 6] [--trials N] [--only identify]` runs each once, replays what it told to
the estimate and compares that with the time it then took. Run it on a quiet machine.
"""

from __future__ import annotations

import argparse
import contextlib
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from bench_gui.headless.examples import example_session
from bench_gui.headless.fleet.gather import gather_units, load_unit, simulated_sessions
from core.fleet.driver import FleetWatch, run_fleet
from core.fleet.local import PlainLoop
from core.fleet.plan import FleetRequest, make_plan
from core.fleet.store import FleetStore
from core.fleet.work import Warm
from core.identification.request import IdentificationRequest
from core.recording import FIT_CHANNELS
from core.time_left import TimeLeft
from sessions import Session
from sessions.results.crossvalidating import CrossValidationWatch, Question, run_crossvalidation
from sessions.results.identifying import Watch, run_identification
from tests.bench.printing import line

PERIOD = 0.2
"""The estimate is asked this often [s]."""
FIRST, LAST = 0.1, 0.95
"""Compared from this share of the time on, to this one: in the last twentieth a second is a factor."""
Tell = Callable[[float], object]


def compare(name: str, work: Callable[[Tell], object]) -> None:
    """Do the work and print how far off the estimates were."""
    told: list[tuple[float, float]] = []
    begun = time.monotonic()
    work(lambda share: told.append((time.monotonic() - begun, share)))
    took = time.monotonic() - begun
    now = 0.0
    estimate = TimeLeft(lambda: now)
    said: list[tuple[float, float | None]] = []
    coming = iter([*told, (took, 1.0)])
    at, share = next(coming)
    for moment in np.arange(0.0, took, PERIOD):
        while at <= moment:
            now = at
            estimate.told(share)
            at, share = next(coming)
        now = float(moment)
        said.append((took - now, estimate.left()))
    compared = [(true, left) for true, left in said if FIRST <= 1.0 - true / took <= LAST]
    factors = np.array([left / true for true, left in compared if left is not None])
    within = 100.0 * np.mean((factors >= 0.5) & (factors <= 2.0))
    unknown = 100.0 * (1.0 - len(factors) / len(compared))
    line(
        name,
        f"{took:.0f} s; within a factor 2 for {within:.0f} % of the time, from {factors.min():.2f} to "
        f"{factors.max():.2f} of the truth, median {np.median(factors):.2f}; unknown for {unknown:.0f} %",
    )


def identifying(tell: Tell, trials: int | None) -> None:
    """The example's eight runs, M1 to M6."""
    session = Session.open(example_session())
    recordings = session.load_for_fit(session.fit_ids(), FIT_CHANNELS)
    with tempfile.TemporaryDirectory() as place:
        watch = Watch(progressed=lambda step: tell(step.done))
        request = IdentificationRequest(servo=recordings[0].settings.servo, trials=trials)
        run_identification(recordings, request, Path(place), watch)


def crossvalidating(tell: Tell, trials: int | None) -> None:
    """The same runs by trajectory: M1, M4 and M6 without the command path."""
    session = Session.open(example_session())
    recordings = session.load_for_fit(session.fit_ids())
    request = IdentificationRequest(
        servo=recordings[0].settings.servo, models=("m1", "m4", "m6"), validation="none", trials=trials
    )
    question = Question(request=request, by=("trajectory",), command_path="off")
    watch = CrossValidationWatch(on_progress=lambda done, _: tell(done), judged=lambda cell: tell(cell.done))
    with tempfile.TemporaryDirectory() as place:
        run_crossvalidation(question, recordings, Path(place), watch)


def fleet(tell: Tell, units: int, trials: int | None) -> None:
    """Simulated MX-106 units, M1 to M6, one after the other."""
    with tempfile.TemporaryDirectory() as place:
        sessions = simulated_sessions("mx106", units, Path(place) / "sessions")
        request = FleetRequest(fit=IdentificationRequest(servo="mx106", trials=trials))
        plan = make_plan(request, gather_units(sessions), load_unit)
        watch = FleetWatch(progressed=lambda step: tell(step.share))
        store = FleetStore(Path(place) / "fleet")
        run_fleet(plan, store, lambda: contextlib.nullcontext(PlainLoop(load_unit)), watch)


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--units", type=int, default=6)
    parser.add_argument("--trials", type=int)
    parser.add_argument("--only", choices=("identify", "crossvalidate", "fleet"))
    chosen = parser.parse_args()
    Warm(request=IdentificationRequest(servo="mx106"))()
    jobs: dict[str, Callable[[Tell], object]] = {
        "identify": lambda tell: identifying(tell, chosen.trials),
        "crossvalidate": lambda tell: crossvalidating(tell, chosen.trials),
        "fleet": lambda tell: fleet(tell, chosen.units, chosen.trials),
    }
    for name, work in jobs.items():
        if chosen.only in (None, name):
            compare(name, work)


if __name__ == "__main__":
    main()
