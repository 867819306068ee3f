"""Six chosen recordings against the paper's first six: `python -m tests.bench.design [TRIALS]`.

A trial draws a servo: one of the catalogue, one of the six friction models, with or without the command path, every
parameter uniformly within its catalogue bounds. Half of what is drawn so is stuck; it is drawn again until it carries
the grid's lightest load through at least half of `sin_sin` at one of the gains. The chooser never sees these values.

The grid is the one scaled to the servo (`suggested_plan`), and the paper's first six cells are the first six of
`GridPlan.cells()`: at the shortest length and lightest mass the four trajectories at the lowest gain, then
`sin_time_square` and `sin_sin` at the next gain. What is chosen comes from that grid's lightest and heaviest masses and
shortest and longest lengths, which takes less time and is no advantage.

Judged is the joint 95 % interval at the truth: logarithm of its volume, from the Jacobians of the six runs at the true
parameters, white noise of one encoder step and rounding to it, the catalogue's bounds as prior. The product of the
half widths is told beside it, none wider than the catalogue's interval.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from core.identification.evidence.model import NORMAL_95
from core.identification.evidence.sensitivity import sensitivity
from core.identification.next.design import PRIOR_INFORMATION, candidate_cells, commands, next_best
from core.motion.recording import Recording
from core.motion.simulation import simulate_recording
from core.practice.plan import Cell, GridPlan, suggested_plan
from core.servo.bench import Bench
from core.servo.catalogue import load_servo, servos
from core.servo.model import ServoModel, build_model
from core.servo.terms import COMMAND_PATH_TERMS, FRICTION_MODELS
from tests.bench.printing import line

TRIALS = 50
COUNT = 6
STEP = 0.005
"""[s]"""


@dataclass(frozen=True)
class Trial:
    """A servo nobody knows, and the grid it can be recorded on."""

    number: int
    truth: ServoModel
    plan: GridPlan

    @property
    def start(self) -> ServoModel:
        """What a person begins with: the catalogue's start values."""
        return build_model(self.truth.servo, self.truth.friction, command_path=self.truth.command_path)

    @property
    def noise(self) -> float:
        """Standard deviation of a reading [rad]: one encoder step of white noise, then rounding."""
        return load_servo(self.truth.servo).encoder_step * np.sqrt(1.0 + 1.0 / 12.0)

    def commands(self, cell: Cell) -> Recording:
        """A cell's run before it is recorded."""
        settings = self.truth.default_settings(cell.kp)
        return commands(self.plan.trajectory(cell), Bench(mass=cell.mass, length=cell.length), settings, STEP)

    def information(self, cell: Cell) -> np.ndarray:
        """What a cell's run says at the truth, (p, p) per squared catalogue interval."""
        answers = sensitivity(self.truth, [self.commands(cell)], threads=1).jacobian
        return answers.T @ answers / self.noise**2

    def judge(self, cells: Sequence[Cell]) -> tuple[float, float]:
        """Logarithm of the joint interval's volume but for a constant, and of the product of half widths."""
        count = len(self.truth.parameters.free)
        total = PRIOR_INFORMATION * np.eye(count) + sum(self.information(cell) for cell in cells)
        widths = np.minimum(NORMAL_95 * np.sqrt(np.diag(np.linalg.inv(total))), 0.5)
        return -0.5 * np.linalg.slogdet(total)[1], float(np.log(widths).sum())


def ends_of(plan: GridPlan) -> GridPlan:
    """A grid without the masses and lengths between the first and the last."""
    return replace(
        plan,
        masses=tuple(sorted({plan.masses[0], plan.masses[-1]})),
        lengths=tuple(sorted({plan.lengths[0], plan.lengths[-1]})),
    )


def draw(number: int) -> Trial:
    """The servo of a trial."""
    randomness = np.random.default_rng([5, number])
    names = list(servos())
    while True:
        name, friction = names[randomness.integers(len(names))], FRICTION_MODELS[number % len(FRICTION_MODELS)]
        terms = COMMAND_PATH_TERMS if randomness.random() < 0.5 else ()
        template = build_model(name, friction, command_path=terms)
        vector = randomness.uniform(*template.parameters.bounds().T)
        truth = template.with_vector(vector)
        trial = Trial(number, truth, ends_of(suggested_plan(load_servo(name))))
        if any(_moves(trial, kp) for kp in trial.plan.kps):
            return trial


def _moves(trial: Trial, kp: float) -> bool:
    lightest = Cell(trial.plan.lengths[0], trial.plan.masses[0], kp, "sin_sin", 1)
    motion = simulate_recording(trial.truth, trial.commands(lightest))
    return bool(np.ptp(motion.position) >= 0.5 * np.ptp(motion.goal_position))


def paper(trial: Trial) -> Sequence[Cell]:
    """The paper's first cells."""
    return trial.plan.cells()[:COUNT]


def at_once(trial: Trial) -> Sequence[Cell]:
    """All chosen at the catalogue's start values, nothing refitted."""
    return [p.cell for p in next_best(trial.start, [], candidate_cells(trial.plan), COUNT, threads=1)]


def main(trials: int = TRIALS) -> None:
    """Every trial, then how often the six that were chosen beat the paper's first six."""
    gained = []
    for trial in map(draw, range(trials)):
        gained.append(np.subtract(trial.judge(paper(trial)), trial.judge(at_once(trial))))
        path = " with command path" if trial.truth.command_path else ""
        smaller = ", ".join(f"{value:.1f}" for value in gained[-1])
        line(f"{trial.number}: {trial.truth.title}{path}", smaller, "nats smaller than the paper's six")
    for measure, values in zip(("volume", "half widths"), np.transpose(gained), strict=True):
        line(
            f"{measure} against the paper's six",
            f"{int((values > 0).sum())} of {trials} smaller",
            f"median {np.median(values):.1f} nats, mean {values.mean():.1f}, worst {values.min():.1f}",
        )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
