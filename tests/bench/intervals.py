"""Whether 95 % intervals cover the truth: `python -m tests.bench.intervals [TRIALS]`.

Random servos on random benches as in `tests.bench.design`: twelve cells of each one's grid, both ends of masses and
lengths, recorded with half an encoder step of white noise and rounding. Each is identified with its own friction model
and command path as a person would, with the default budget. Told are the share of determined parameters whose interval
holds the true value, and how close to the truth's own error each fit came.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from core.catalogue import load_servo
from core.identification.evaluate import evaluate
from core.identification.evidence.model import ParameterEvidence
from core.identification.identify import IdentificationRequest, identify
from core.plan import Cell
from core.recording import Recording
from core.simulation import simulate_recording
from tests.bench.design import Trial, draw

TRIALS = 50
RUNS = 12
NOISE = 0.5
"""White, in encoder steps."""
FINE = 50
"""Parts of the truth's step in which it moves: the motion is converged to far less than an encoder step."""


@dataclass(frozen=True)
class Outcome:
    """One servo's fit."""

    trial: Trial
    parameters: tuple[ParameterEvidence, ...]
    error: float
    """Of the fit over that of the truth."""
    confirmed: bool
    """Whether the search says so."""
    seconds: float

    @property
    def judged(self) -> list[tuple[ParameterEvidence, float]]:
        """Determined parameters and how many half widths their values are from the truth."""
        truth = self.trial.truth.values
        return [
            (p, abs(p.value - truth[p.name]) / max(p.half_width, 1e-300))
            for p in self.parameters
            if p.determined and not p.frozen
        ]


def planted(number: int) -> Trial:
    """A trial whose truth moves as real servos do, without a time step of its own."""
    trial = draw(number)
    return replace(trial, truth=replace(trial.truth, substeps=FINE))


def record(trial: Trial, cells: Sequence[Cell]) -> list[Recording]:
    """The cells' runs as the encoder reads them."""
    return [_record(trial, cell, number) for number, cell in enumerate(cells)]


def _record(trial: Trial, cell: Cell, number: int) -> Recording:
    planned = trial.commands(cell)
    motion = simulate_recording(trial.truth, planned)
    step = load_servo(trial.truth.servo).encoder_step
    noise = np.random.default_rng([11, trial.number, number]).normal(scale=NOISE, size=planned.samples)
    read = step * np.round(motion.position / step + noise)
    read[0] = motion.position[0]
    return replace(planned, id=f"{number}", channels={**planned.channels, "position": read})


def cells_of(trial: Trial) -> list[Cell]:
    """Twelve cells, each trajectory as often as the others."""
    cells = list(trial.plan.cells())
    order = np.random.default_rng([13, trial.number]).permutation(len(cells))
    by_trajectory: dict[str, list[Cell]] = {}
    for place in order:
        by_trajectory.setdefault(cells[place].trajectory, []).append(cells[place])
    each = RUNS // len(by_trajectory)
    return [cell for group in by_trajectory.values() for cell in group[:each]]


def fit(trial: Trial) -> Outcome:
    """Identify a trial's servo."""
    began = time.monotonic()
    recordings = record(trial, cells_of(trial))
    truth = trial.truth
    request = IdentificationRequest(
        servo=truth.servo, models=(truth.friction,), command_path=truth.command_path, validation="none"
    )
    found = identify(request, recordings).results[0]
    error = found.train_mae / evaluate(truth, recordings).mean_mae
    return Outcome(trial, found.evidence.parameters, error, not found.evidence.search, time.monotonic() - began)


def main(trials: int = TRIALS, first: int = 0) -> None:
    """Print the coverage."""
    totals = {True: [0, 0], False: [0, 0]}
    for number in range(first, first + trials):
        outcome = fit(planted(number))
        misses = [f"{p.symbol} {off:.1f}" for p, off in outcome.judged if off > 1.0]
        totals[outcome.confirmed][0] += sum(off <= 1.0 for _, off in outcome.judged)
        totals[outcome.confirmed][1] += len(outcome.judged)
        truth = outcome.trial.truth
        print(
            f"{number:3d} {truth.servo:10s} {truth.friction} {'path' if truth.command_path else '    '} "
            f"{outcome.error:6.3f} of the truth's error, {len(outcome.judged) - len(misses)} of {len(outcome.judged)} "
            f"inside, {'' if outcome.confirmed else 'not confirmed, '}{outcome.seconds:.0f} s; "
            f"outside: {', '.join(misses) or '–'}",
            flush=True,
        )
    for known, (inside, judged) in totals.items():
        share = f"{100.0 * inside / max(judged, 1):.1f} %"
        print(
            f"{'confirmed' if known else 'other'} searches: {inside} of {judged} determined parameters inside, {share}"
        )
    inside, judged = (sum(column) for column in zip(*totals.values(), strict=True))
    print(f"{inside} of {judged} determined parameters inside: {100.0 * inside / max(judged, 1):.1f} %, bar 90 to 99 %")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
