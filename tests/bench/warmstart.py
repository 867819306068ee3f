"""What a start from an earlier unit saves: `python -m tests.bench.warmstart [PAIRS] [SPREAD %] [TRIALS]`.

Pairs of units of random servos as in `tests.bench.design`: the second one's parameters differ from the first one's by
SPREAD per cent (one sigma of the logarithm; the angle offset by as much of its bounds). The second unit is recorded as
in `tests.bench.intervals` and identified from the catalogue's values, then with the first unit's true values as another
start. Told is after how many evaluations the error came within 10 and 2 % of the least that either search found, after
how many each search ended, and how long the identification took.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from core.identification.identify import IdentificationRequest, Progress, identify
from core.model import ServoModel
from core.recording import Recording
from tests.bench.design import Trial, draw
from tests.bench.intervals import cells_of, record
from tests.bench.printing import line

PAIRS = 10
SPREAD = 5.0
"""[%]"""
WITHIN = (1.1, 1.02)
"""Of the least error."""


@dataclass(frozen=True)
class Course:
    """One search."""

    evaluations: np.ndarray
    errors: np.ndarray
    """Least error so far after each of them [rad]."""
    seconds: float
    train_mae: float
    """Of the model that was kept [rad]."""

    def reached(self, error: float) -> float:
        """Evaluations after which the error was no larger; infinite if it never was."""
        good = self.errors <= error
        return float(self.evaluations[good.argmax()]) if good.any() else math.inf


def second_unit(first: Trial, spread: float) -> Trial:
    """Another unit of a trial's servo."""
    randomness = np.random.default_rng([17, first.number])
    parameters = first.truth.parameters
    values = {}
    for p in parameters.free:
        shift = spread / 100.0 * randomness.normal()
        value = p.value + shift * (p.upper - p.lower) if p.name == "q_offset" else p.value * math.exp(shift)
        values[p.name] = min(max(value, p.lower), p.upper)
    return replace(first, truth=first.truth.with_parameters(parameters.with_values(values)))


def search(truth: ServoModel, recordings: Sequence[Recording], start: ServoModel | None, trials: int | None) -> Course:
    """Identify with the truth's friction model and command path."""
    told: list[tuple[int, float]] = []

    def note(progress: Progress) -> None:
        told.append((progress.generation.evaluations, progress.generation.overall_best_value))

    request = IdentificationRequest(
        servo=truth.servo,
        models=(truth.friction,),
        command_path=truth.command_path,
        validation="none",
        trials=trials,
        start=() if start is None else tuple(start.values.items()),
        threads=1,
    )
    began = time.monotonic()
    found = identify(request, recordings, on_progress=note).results[0]
    evaluations, errors = np.array(told).T
    return Course(evaluations, errors, time.monotonic() - began, found.train_mae)


def main(pairs: int = PAIRS, spread: float = SPREAD, trials: int | None = None) -> None:
    """Print every pair, then the medians."""
    saved: dict[str, list[float]] = {f"within {100 * (share - 1):.0f} %": [] for share in WITHIN}
    saved |= {"end": [], "time": []}
    for number in range(pairs):
        first = draw(number)
        second = second_unit(first, spread)
        recordings = record(second, cells_of(second))
        cold = search(second.truth, recordings, None, trials)
        warm = search(second.truth, recordings, first.truth, trials)
        least = min(cold.errors[-1], warm.errors[-1])
        told = []
        for name, share in zip(saved, WITHIN, strict=False):
            before, after = cold.reached(share * least), warm.reached(share * least)
            saved[name].append(after / before)
            told.append(f"{name} {before:.0f} → {after:.0f}")
        saved["end"].append(warm.evaluations[-1] / cold.evaluations[-1])
        saved["time"].append(warm.seconds / cold.seconds)
        path = " path" if second.truth.command_path else ""
        line(
            f"{number}: {second.truth.title}{path}",
            ", ".join(told),
            f"end {cold.evaluations[-1]:.0f} → {warm.evaluations[-1]:.0f}, {cold.seconds:.0f} → {warm.seconds:.0f} s, "
            f"error {1e3 * cold.train_mae:.3f} → {1e3 * warm.train_mae:.3f} mrad",
        )
    for name, shares in saved.items():
        line(
            f"{name}, with the start over without",
            f"median {np.median(shares):.2f}",
            f"better in {sum(share < 1.0 for share in shares)} of {pairs}",
        )


if __name__ == "__main__":
    count, share, budget = [*sys.argv[1:], *("",) * 3][:3]
    main(int(count or PAIRS), float(share or SPREAD), int(budget) if budget else None)
