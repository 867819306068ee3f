"""What profile likelihood and bootstrap cost, and how often they hold the truth: `python -m tests.bench.certainty`.

On the example session: every interval of M6 with the command path, with its seconds. On random servos as in
`tests.bench.intervals`, each identified with its own model: the share of all free parameters whose linearised interval,
profile and bootstrap hold the true value. `python -m tests.bench.certainty SERVOS MODEL`; a quarter of an hour on one
core, much of it for one servo whose fit is poor.
"""

from __future__ import annotations

import math
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from bench_gui.headless.examples import example_session
from core.identification.evidence.bootstrap import bootstrap
from core.identification.evidence.certainty import Certainty, ParameterCertainty, Profile, certainty
from core.identification.evidence.profile import Optimum, profile
from core.identification.identify import IdentificationRequest, identify
from core.identification.result import ModelResult
from core.recording import Recording
from core.terms import COMMAND_PATH_TERMS
from sessions import Session
from tests.bench.design import draw
from tests.bench.intervals import cells_of, record
from tests.bench.printing import line

SERVOS = 6
DRAWS = 20
KINDS = ("linearised", "profile", "bootstrap")


def assess(result: ModelResult, runs: Sequence[Recording]) -> tuple[Certainty, float, float]:
    """Every interval of a model, and the seconds that profiles and draws took."""
    began = time.perf_counter()
    optimum = Optimum.near(result.model, runs, threads=1)
    profiles: dict[str, Profile] = {}
    for p in result.model.parameters.free:
        found = profile(optimum, p.name, result.evidence.of(p.name).half_width)
        assert found is not None
        profiles[p.name] = found
    middle = time.perf_counter()
    drawn = bootstrap(optimum.batch.model, runs, DRAWS, threads=1)
    made = certainty(result, [run.id for run in runs], profiles, drawn, moved=optimum.moved)
    return made, middle - began, time.perf_counter() - middle


def ends(known: ParameterCertainty) -> dict[str, tuple[float, float]]:
    """Interval of each kind; the bounds where it is open."""
    profiled, drawn = known.profile, known.spread
    assert profiled is not None
    assert drawn is not None
    half = known.half_width
    linear = (known.value - half, known.value + half) if math.isfinite(half) else (known.lowest, known.highest)
    low = known.lowest if profiled.lower is None else profiled.lower
    high = known.highest if profiled.upper is None else profiled.upper
    return {"linearised": linear, "profile": (low, high), "bootstrap": (drawn.lower, drawn.upper)}


def example(friction: str) -> None:
    """The example session's XL330."""
    with tempfile.TemporaryDirectory() as folder:
        runs = list(Session.open(example_session(Path(folder))).load_all())
    request = IdentificationRequest(
        servo="xl330", models=(friction,), command_path=COMMAND_PATH_TERMS, validation="none", threads=1
    )
    made, profiling, drawing = assess(identify(request, runs).results[0], runs)
    count = len(made.parameters)
    points = sum(len(p.profile.points) - 1 for p in made.parameters if p.profile is not None)
    name = f"XL330 example, {friction.upper()} + command path"
    line(f"{name}: profiles of {count} parameters, {points} points", f"{profiling:.0f} s")
    line(f"{name}: bootstrap, {DRAWS} draws", f"{drawing:.0f} s")
    for p in made.parameters:
        assert p.profile is not None
        assert p.spread is not None
        line(f"  {p.symbol} = {p.value:.4g} ± {p.half_width:.2g}", p.profile.text, p.spread.text)
        for remark in p.remarks:
            print(f"      {remark}")


def planted(servos: int) -> None:
    """Random servos whose truth is known."""
    inside: Counter[str] = Counter()
    judged = better = spent = 0.0
    for number in range(servos):
        trial = draw(number)
        truth, runs = trial.truth, record(trial, cells_of(trial))
        request = IdentificationRequest(
            servo=truth.servo,
            models=(truth.friction,),
            command_path=truth.command_path,
            validation="none",
            threads=1,
        )
        made, profiling, drawing = assess(identify(request, runs).results[0], runs)
        spent += profiling + drawing
        misses: dict[str, list[str]] = {kind: [] for kind in KINDS}
        for p in made.parameters:
            judged += 1
            better += p.profile is not None and p.profile.better is not None
            for kind, (low, high) in ends(p).items():
                rounding = 1e-9 * (p.highest - p.lowest)
                held = low - rounding <= truth.values[p.name] <= high + rounding
                inside[kind] += held
                if not held:
                    misses[kind].append(p.symbol)
        told = "; ".join(f"{kind} misses {', '.join(names) or 'none'}" for kind, names in misses.items())
        print(f"{number:3d} {truth.title}, {len(made.parameters)} free, {profiling:.0f} s: {told}", flush=True)
    for kind in KINDS:
        line(f"{kind} 95 % intervals that hold the truth", f"{100.0 * inside[kind] / judged:.1f} %")
    line("profiles that found a better optimum", f"{better:.0f} of {judged:.0f}")
    line("profiles and draws, mean", f"{spent / max(servos, 1):.0f} s a servo")


def main(arguments: Sequence[str]) -> None:
    """Print both, or the servos that are asked for, and the example with another model."""
    servos = int(arguments[0]) if arguments else SERVOS
    example(arguments[1] if len(arguments) > 1 else "m6")
    planted(servos)


if __name__ == "__main__":
    main(sys.argv[1:])
