"""Coverage of the truth by 95 % intervals: `python -m tests.bench.intervals [TRIALS [FIRST [outrun]]]`.

Random servos on random benches as in `tests.bench.design`: twelve cells of each one's grid, both ends of masses and
lengths, recorded with white noise of up to half an encoder step and rounding. Each is identified with its own friction
model and command path as a person would, with the default budget. With "outrun", servos near the shipped ones have or
lack delay, velocity limit and dead band, sampled at 50 to 1,000 Hz with goals up to eight times their no-load speed,
and each is identified with the whole command path. Printed are the share of good values whose interval holds the true
value, the farthest miss in half widths, and how close to the truth's own error each fit came.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from core.identification.evaluate import evaluate
from core.identification.evidence.grade import GOOD
from core.identification.evidence.model import ParameterEvidence
from core.identification.identify import IdentificationRequest, identify
from core.motion.recording import Recording
from core.motion.simulation import simulate_recording
from core.practice.plan import Cell
from core.servo.bench import Bench
from core.servo.catalogue import load_servo
from core.servo.model import ServoModel, build_model
from core.servo.shipped import load_model
from core.servo.terms import COMMAND_PATH_TERMS, FRICTION_MODELS, NEUTRAL
from tests.bench.design import Trial, draw
from tests.bench.planted import RIGS

TRIALS = 50
RUNS = 12
NOISE = 0.5
"""Largest, white, in encoder steps: with less, the readings at rest share one error."""
RATES = (50.0, 100.0, 200.0, 500.0, 1000.0)
"""Sampling rates of servos that are outrun [Hz]."""
OUTRUNNING = 8
"""Their runs."""
SAMPLES = 12
"""Fewest samples of a period of their goals."""
FINEST = 5e-5
"""Step of their truth [s]."""
FINE = 50
"""Parts of the truth's step in which it moves: the motion is converged to far less than an encoder step."""


@dataclass(frozen=True)
class Outcome:
    """One servo's fit."""

    truth: ServoModel
    parameters: tuple[ParameterEvidence, ...]
    error: float
    """Of the fit over that of the truth."""
    confirmed: bool
    """Whether the search says so."""
    seconds: float

    @property
    def judged(self) -> list[tuple[ParameterEvidence, float]]:
        """Good parameters and how many half widths their values are from the truth."""
        truth = self.truth.values
        return [
            (p, abs(p.value - truth[p.name]) / max(p.half_width, 1e-300))
            for p in self.parameters
            if p.grade.word == GOOD
        ]


def planted(number: int) -> Trial:
    """A trial whose truth moves as real servos do, without a time step of its own."""
    trial = draw(number)
    return replace(trial, truth=replace(trial.truth, substeps=FINE))


def record(trial: Trial, cells: Sequence[Cell]) -> list[Recording]:
    """The cells' runs as the encoder reads them."""
    return [
        read(trial.truth, replace(trial.commands(cell), id=f"{number}"), trial.number)
        for number, cell in enumerate(cells)
    ]


def read(truth: ServoModel, planned: Recording, seed: int) -> Recording:
    """A planned run as the servo moves and its encoder reads it."""
    motion = simulate_recording(truth, planned)
    step = load_servo(truth.servo).encoder_step
    scale = NOISE * np.random.default_rng([19, seed]).random()
    noise = np.random.default_rng([11, seed, int(planned.id)]).normal(scale=scale, size=planned.samples)
    position = step * np.round(motion.position / step + noise)
    position[0] = motion.position[0]
    return replace(planned, channels={**planned.channels, "position": position})


def cells_of(trial: Trial) -> list[Cell]:
    """Twelve cells, each trajectory as often as the others."""
    cells = list(trial.plan.cells())
    order = np.random.default_rng([13, trial.number]).permutation(len(cells))
    by_trajectory: dict[str, list[Cell]] = {}
    for place in order:
        by_trajectory.setdefault(cells[place].trajectory, []).append(cells[place])
    each = RUNS // len(by_trajectory)
    return [cell for group in by_trajectory.values() for cell in group[:each]]


def outrun(number: int) -> tuple[ServoModel, list[Recording]]:
    """A servo near a shipped one that has or lacks each of PATH, and runs whose goals it cannot follow."""
    draw = np.random.default_rng([17, number])
    name, friction = list(RIGS)[number % len(RIGS)], FRICTION_MODELS[number % len(FRICTION_MODELS)]
    rate = RATES[number % len(RATES)]
    template = build_model(name, friction, command_path=COMMAND_PATH_TERMS)
    template = replace(template, dt=1.0 / rate, substeps=max(1, round(1.0 / rate / FINEST)))
    known = load_model(name, friction).values
    values = {p: known[p] * np.exp(0.15 * draw.normal()) for p in template.parameters if p in known}
    fastest = template.spec.no_load_speed
    path = {"command_delay": draw.uniform(0.003, 0.03), "goal_slew": fastest * draw.uniform(0.5, 6.0),
            "dead_band": draw.uniform(0.002, 0.01)}  # fmt: skip
    present = {term: value for term, value in path.items() if draw.random() < 0.5}
    off = {term: NEUTRAL[term] for term in COMMAND_PATH_TERMS}
    truth = template.with_values({**values, "q_offset": 0.01 * draw.normal(), **off, **present})
    rig, runs = RIGS[name], []
    for place in range(OUTRUNNING):
        settings = replace(truth.default_settings(rig.kps[place // 2 % 2]), supply_voltage=rig.supply)
        bench = Bench(mass=rig.masses[place % 2], length=rig.length)
        speed = fastest * draw.uniform(0.3, 8.0)
        amplitude = max(draw.uniform(0.3, 1.2), speed / (2.0 * np.pi * rate / SAMPLES))
        time = np.arange(round(3.0 * rate)) / rate
        channels = {
            "time": time,
            "goal_position": amplitude * np.sin(speed / amplitude * time),
            "torque_enable": (time < 2.4).astype(float) if place % 4 == 1 else np.ones_like(time),
            "position": np.zeros_like(time),
        }
        planned = Recording(id=f"{place}", trajectory="sine", bench=bench, settings=settings, channels=channels)
        runs.append(read(truth, planned, number))
    return truth, runs


def fit(truth: ServoModel, recordings: Sequence[Recording], path: tuple[str, ...], threads: int | None) -> Outcome:
    """Identify a servo."""
    began = time.monotonic()
    request = IdentificationRequest(
        servo=truth.servo, models=(truth.friction,), command_path=path, validation="none", threads=threads
    )
    found = identify(request, recordings).results[0]
    error = found.train_mae / evaluate(truth, recordings).mean_mae
    return Outcome(truth, found.evidence.parameters, error, not found.evidence.search, time.monotonic() - began)


def main(trials: int = TRIALS, first: int = 0, kind: str = "drawn") -> None:
    """Print the coverage."""
    totals = {True: [0, 0], False: [0, 0]}
    farthest = 0.0
    for number in range(first, first + trials):
        if kind == "outrun":
            truth, recordings = outrun(number)
            outcome = fit(truth, recordings, COMMAND_PATH_TERMS, 1)
        else:
            trial = planted(number)
            truth = trial.truth
            outcome = fit(truth, record(trial, cells_of(trial)), truth.command_path, None)
        misses = [f"{p.symbol} {off:.1f}" for p, off in outcome.judged if off > 1.0]
        farthest = max([farthest, *(off for _, off in outcome.judged)])
        totals[outcome.confirmed][0] += sum(off <= 1.0 for _, off in outcome.judged)
        totals[outcome.confirmed][1] += len(outcome.judged)
        print(
            f"{number:3d} {truth.servo:10s} {truth.friction} {1.0 / truth.dt:4.0f} Hz "
            f"{'path' if truth.command_path else '    '} "
            f"{outcome.error:6.3f} of the truth's error, {len(outcome.judged) - len(misses)} of {len(outcome.judged)} "
            f"inside, {'' if outcome.confirmed else 'not confirmed, '}{outcome.seconds:.0f} s; "
            f"outside: {', '.join(misses) or '–'}",
            flush=True,
        )
    for known, (inside, judged) in totals.items():
        share = f"{100.0 * inside / max(judged, 1):.1f} %"
        print(f"{'confirmed' if known else 'other'} searches: {inside} of {judged} good values inside, {share}")
    inside, judged = (sum(column) for column in zip(*totals.values(), strict=True))
    print(
        f"{inside} of {judged} good values inside: {100.0 * inside / max(judged, 1):.1f} %, bar 90 to 99 %; "
        f"farthest {farthest:.1f} half widths from the truth, bar 2"
    )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]), *sys.argv[3:])
