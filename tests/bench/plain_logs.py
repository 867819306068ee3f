"""Default fits of plain logs of servos whose values are known: `python -m tests.bench.plain_logs [OPTION …]`.

The servos of `tests.independent_servo` are recorded with 1.5 mrad of noise on the paper's motions, over several loads
and gains. Each log is identified with the model of its own truth and default settings; M2 also with bam's order of
update at the log's own step. Each fit prints

- its mean error on training and held-out runs in mrad, and both over that of the noise alone (bars: 1.03 and 1.1);
- its time step, and how far its motion is from that of steps 100 times finer (bar: a tenth of the training error);
- how many of the parameters that the runs determine lie within their 95 % interval, and how many of those that
  coverage calls good (bar: 90 % of the latter);
- the values found. An exclamation mark follows one whose interval misses the truth, a tilde one that is left open.

A line for each model, rate and integrator follows its seeds.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from core.identification.coverage.report import coverage
from core.identification.evidence.model import ParameterEvidence
from core.identification.identify import IdentificationRequest, identify
from core.identification.next.design import commands
from core.identification.result import ModelResult
from core.motion.recording import Recording
from core.motion.simulation import simulate_recording
from core.motion.trajectories import PAPER_TRAJECTORIES, make_trajectory
from core.servo.bench import Bench
from tests.independent_servo import PLANTED, with_noise

RATES = (50, 100, 200, 1000)
"""[Hz]"""
SEEDS = 5
DURATION = 10.0
"""Of a run [s]."""
FINER = 100
"""Times finer than a fit's step is the motion that its step is judged by."""


@dataclass(frozen=True)
class Plan:
    """Runs of a servo: every combination of these."""

    masses: tuple[float, ...]
    """[kg]"""
    length: float
    """[m]"""
    gains: tuple[float, ...]
    """[duty cycle/rad]"""
    motions: tuple[str, ...]

    def recorded(self, friction: str, rate: float) -> list[Recording]:
        """Runs of a planted servo without noise; rate [Hz]."""
        servo = PLANTED[friction]
        planned = [
            commands(make_trajectory(motion, DURATION), Bench(mass=mass, length=self.length), settings, 1.0 / rate)
            for mass in self.masses
            for settings in map(servo.settings, self.gains)
            for motion in self.motions
        ]
        return [replace(servo.recorded(run), id=str(number)) for number, run in enumerate(planned)]


_TWELVE_RUNS = Plan((0.25, 0.5), 0.13, (3.0, 9.0), ("sin_time_square", "sin_sin", "up_and_down"))
PLANS = {
    "m1": _TWELVE_RUNS,
    "m2": _TWELVE_RUNS,
    "m4": _TWELVE_RUNS,
    "m6": Plan((0.25, 0.5, 1.0), 0.15, (8 * 0.158, 24 * 0.158), PAPER_TRAJECTORIES),
}
"""By friction model. The gains of M6 are the MX-106's P gains of 8 and 24."""


@dataclass(frozen=True)
class Fit:
    """A fit and how it compares with the truth."""

    result: ModelResult
    train_noise: float
    held_out_noise: float
    """Mean error of the noise alone [rad]."""
    step_cost: float
    """Mean distance from the motion with FINER steps [rad]."""
    inside: dict[str, bool]
    """Determined parameters by name: whether the interval holds the truth."""
    good: frozenset[str]
    """Of these, the ones that coverage calls good."""

    @property
    def train_ratio(self) -> float:
        """Training error over the noise."""
        return self.result.train_mae / self.train_noise

    @property
    def held_out_ratio(self) -> float:
        """Held-out error over the noise."""
        return (self.result.validation_mae or np.nan) / self.held_out_noise

    @property
    def step_ratio(self) -> float:
        """Cost of the step over the training error."""
        return self.step_cost / self.result.train_mae

    @property
    def good_inside(self) -> list[bool]:
        """Of the parameters that coverage calls good: whether the interval holds the truth."""
        return [held for name, held in self.inside.items() if name in self.good]

    def __str__(self) -> str:
        model, good = self.result.model, self.good_inside
        values = ", ".join(self._in_words(p) for p in self.result.evidence.parameters)
        return (
            f"train {1e3 * self.result.train_mae:.3f} mrad ({self.train_ratio:.3f}), "
            f"held out {1e3 * (self.result.validation_mae or np.nan):.3f} ({self.held_out_ratio:.3f}), "
            f"step {1e3 * model.dt / model.substeps:.3g} ms costs {1e3 * self.step_cost:.3g} ({self.step_ratio:.3f}), "
            f"inside {sum(self.inside.values())} of {len(self.inside)} (good: {sum(good)} of {len(good)}), "
            f"{self.result.wall_seconds:.1f} s; {values}"
        )

    def _in_words(self, p: ParameterEvidence) -> str:
        mark = "~" if not p.determined else "" if self.inside[p.name] else "!"
        return f"{p.symbol} {p.value:.3g}{mark}"


def fit(friction: str, rate: float, seed: int, integrator: str | None, threads: int | None) -> Fit:
    """Record a planted servo and identify it; integrator: at the log's own step, None for the default.

    rate [Hz]; seed: of the noise, the split and the search.
    """
    servo = PLANTED[friction]
    exact = {run.id: run for run in PLANS[friction].recorded(friction, rate)}
    noisy = {name: with_noise(run, [seed, int(name)]) for name, run in exact.items()}
    request = IdentificationRequest(servo=servo.servo, models=(friction,), seed=seed, threads=threads)
    if integrator is not None:
        request = replace(request, integrator=integrator, substeps=1)
    found = identify(request, list(noisy.values()))
    result, split = found.results[0], found.split
    train = [noisy[name] for name in split.train]
    truth = {"q_offset": 0.0, **servo.values}
    terms = coverage(train, model=result.model, threads=threads).terms

    def noise(names: Sequence[str]) -> float:
        return float(np.mean([np.abs(noisy[name].position - exact[name].position).mean() for name in names]))

    finer = replace(result.model, substeps=FINER * result.model.substeps)
    motions = [(simulate_recording(result.model, run), simulate_recording(finer, run)) for run in train]
    return Fit(
        result=result,
        train_noise=noise(split.train),
        held_out_noise=noise(split.validation),
        step_cost=float(np.mean([np.abs(own.position - fine.position).mean() for own, fine in motions])),
        inside={
            p.name: abs(p.value - truth[p.name]) <= p.half_width
            for p in result.evidence.parameters
            if p.determined and not p.frozen
        },
        good=frozenset(term.name for term in terms if term.verdict == "good"),
    )


def summary(fits: Sequence[Fit]) -> str:
    """The worst ratios of several fits and how many of all their intervals hold the truth."""
    inside = [held for f in fits for held in f.inside.values()]
    good = [held for f in fits for held in f.good_inside]
    return (
        f"train ≤ {max(f.train_ratio for f in fits):.3f}, held out ≤ {max(f.held_out_ratio for f in fits):.3f}, "
        f"step ≤ {max(f.step_ratio for f in fits):.3f}, inside {100 * np.mean(inside):.0f} % of {len(inside)} "
        f"(good: {100 * np.mean(good):.0f} % of {len(good)}), {np.mean([f.result.wall_seconds for f in fits]):.1f} s"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Print every fit that is asked for."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench plain_logs", description=(__doc__ or "").partition(":")[0]
    )
    parser.add_argument("--models", nargs="+", choices=list(PLANS), default=list(PLANS), help="default: all")
    parser.add_argument("--rates", nargs="+", type=float, default=RATES, help="sampling rates in Hz (default: all)")
    parser.add_argument("--seeds", type=int, default=SEEDS, help=f"seeds 0 … N − 1 (default: {SEEDS})")
    parser.add_argument("--threads", type=int, help="of a fit (default: one per processor)")
    chosen = parser.parse_args(arguments)
    for friction in chosen.models:
        truth = ", ".join(f"{name} {value:g}" for name, value in PLANTED[friction].values.items())
        print(f"{friction} truth: {truth}", flush=True)
        for rate in chosen.rates:
            for integrator in (None, "bam") if friction == "m2" else (None,):
                name = f"{friction} {rate:g} Hz {integrator or 'default'}"
                fits = []
                for seed in range(chosen.seeds):
                    fits.append(fit(friction, rate, seed, integrator, chosen.threads))
                    print(f"{name} seed {seed}: {fits[-1]}", flush=True)
                print(f"{name} all seeds: {summary(fits)}", flush=True)


if __name__ == "__main__":
    main()
