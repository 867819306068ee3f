"""Whether the model that is recommended predicts as well as the true one: `python -m tests.bench.verdict [OPTION …]`.

The servos and runs are those of `plain_logs`, with M3 and M5 beside them. Each log is identified with every model and
default settings, so that the command path, which none of these servos has, is tried too. A line prints the planted and
the recommended model, how far the recommended and the planted one are from the exact motion of the held-out runs
[mrad], and the gravest warning. A verdict is right if the recommended model is the planted one, or no farther from the
exact motion than the planted one by a tenth of the noise.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence

import numpy as np

from core.identification.cautions import cautions
from core.identification.identify import IdentificationRequest, identify
from core.identification.result import ModelResult
from core.recording import Recording
from core.simulation import simulate_recording
from core.terms import COMMAND_PATH_TERMS
from tests.bench.plain_logs import PLANS, RATES, SEEDS
from tests.independent_servo import NOISE, PLANTED, with_noise

ALL_PLANS = {**PLANS, "m3": PLANS["m4"], "m5": PLANS["m6"]}
SHARE = 0.1
"""Of the noise's mean error: farther from the exact motion than that, a model predicts less well."""


def verdict(friction: str, rate: float, seed: int, threads: int | None) -> tuple[bool, str]:
    """Identify one log; whether the recommended model is right, and the line to print."""
    servo = PLANTED[friction]
    exact = {run.id: run for run in ALL_PLANS[friction].recorded(friction, rate)}
    noisy = [with_noise(run, [seed, int(name)]) for name, run in exact.items()]
    request = IdentificationRequest(
        servo=servo.servo,
        command_path=COMMAND_PATH_TERMS,
        command_path_if_better=True,
        seed=seed,
        threads=threads,
    )
    started = time.perf_counter()
    found = identify(request, noisy)
    best = found.recommended
    planted = next(result for result in found.results if result.model.friction == friction)
    held = [exact[name] for name in found.split.validation]
    ours, theirs = _distance(best, held), _distance(planted, held)
    right = best is planted or ours <= theirs + SHARE * NOISE * np.sqrt(2.0 / np.pi)
    told = cautions(found)
    path = " + path" if found.request.command_path else ""
    return right, (
        f"{friction} {rate:g} Hz seed {seed}: {best.model.friction}{path} {'right' if right else 'WRONG'}, "
        f"{1e3 * ours:.3f} mrad from the exact motion, planted {1e3 * theirs:.3f}; "
        f"{time.perf_counter() - started:.0f} s; {len(told)} warnings{f', first: {told[0]}' if told else ''}"
    )


def _distance(result: ModelResult, exact: Sequence[Recording]) -> float:
    return float(
        np.mean([np.abs(simulate_recording(result.model, run).position - run.position).mean() for run in exact])
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Print every verdict that is asked for, and how many are right."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench verdict", description=(__doc__ or "").partition(":")[0]
    )
    parser.add_argument("--models", nargs="+", choices=sorted(ALL_PLANS), default=sorted(ALL_PLANS))
    parser.add_argument("--rates", nargs="+", type=float, default=RATES, help="sampling rates in Hz (default: all)")
    parser.add_argument("--seeds", type=int, default=SEEDS, help=f"seeds 0 … N − 1 (default: {SEEDS})")
    parser.add_argument("--threads", type=int, help="of a fit (default: one per processor)")
    chosen = parser.parse_args(arguments)
    right = []
    for seed in range(chosen.seeds):
        for rate in chosen.rates:
            for friction in chosen.models:
                good, line = verdict(friction, rate, seed, chosen.threads)
                right.append(good)
                print(line, flush=True)
    print(f"{sum(right)} of {len(right)} verdicts are right ({100 * np.mean(right):.0f} %)")


if __name__ == "__main__":
    main()
