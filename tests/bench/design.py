"""Six chosen recordings against the paper's first six: `python -m tests.bench.design [TRIALS] [full]`.

A trial draws a servo: one of the catalogue, one of the six friction models, with or without the command path, every
parameter uniformly within its catalogue bounds. Half of what is drawn so is stuck; it is drawn again until it carries
the grid's lightest load through at least half of `sin_sin` at one of the gains. The chooser never sees these values.

The grid is the paper's (seed 004, Table I) or the one scaled to the servo (`suggested_plan`), and the paper's first
six cells are the first six of `GridPlan.cells()`: at the shortest length and lightest mass the four trajectories at
the lowest gain, then `sin_time_square` and `sin_sin` at the next gain. What is chosen comes from that grid's lightest
and heaviest masses and shortest and longest lengths, which takes less time and is no advantage; `full` takes all.

Judged is the joint 95 % interval at the truth: logarithm of its volume, from the Jacobians of the six runs at the true
parameters, white noise of one encoder step and rounding to it, the catalogue's bounds as prior. The product of the
half widths is told beside it, none wider than the catalogue's interval.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from core.bench import Bench
from core.catalogue import load_servo, servos
from core.identification.evidence.model import NORMAL_95
from core.identification.evidence.sensitivity import sensitivity
from core.identification.next.design import PRIOR_INFORMATION, candidate_cells, commands, next_best
from core.identification.search.objective import Batch
from core.identification.search.search import search
from core.model import ServoModel, build_model
from core.plan import Cell, GridPlan, dynamixel_plan, suggested_plan
from core.recording import Recording
from core.simulation import simulate_recording
from core.terms import COMMAND_PATH_TERMS, FRICTION_MODELS
from tests.bench.printing import line

TRIALS = 50
COUNT = 6
STEP = 0.005
"""[s]"""
EVALUATIONS = 150
"""Of the fit after each recording, per parameter."""

Choice = Callable[["Trial"], Sequence[Cell]]


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

    def record(self, cell: Cell, number: int) -> Recording:
        """What the servo does, as its encoder reads it."""
        planned = self.commands(cell)
        motion = simulate_recording(self.truth, planned)
        step = load_servo(self.truth.servo).encoder_step
        noise = np.random.default_rng([self.number, number]).normal(size=planned.samples)
        read = step * np.round(motion.position / step + noise)
        read[0] = motion.position[0]
        return replace(planned, id=f"{number}", channels={**planned.channels, "position": read})

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


def whole(plan: GridPlan) -> GridPlan:
    """A grid as it is."""
    return plan


def draw(number: int, offered: Callable[[GridPlan], GridPlan] = ends_of) -> Trial:
    """The servo of a trial."""
    randomness = np.random.default_rng([5, number])
    names = list(servos())
    while True:
        name, friction = names[randomness.integers(len(names))], FRICTION_MODELS[number % len(FRICTION_MODELS)]
        terms = COMMAND_PATH_TERMS if randomness.random() < 0.5 else ()
        template = build_model(name, friction, command_path=terms)
        vector = randomness.uniform(*template.parameters.bounds().T)
        truth = template.with_vector(vector)
        trial = Trial(number, truth, offered(suggested_plan(load_servo(name))))
        if any(_moves(trial, kp) for kp in trial.plan.kps):
            return trial


def _moves(trial: Trial, kp: float) -> bool:
    lightest = Cell(trial.plan.lengths[0], trial.plan.masses[0], kp, "sin_sin", 1)
    motion = simulate_recording(trial.truth, trial.commands(lightest))
    return bool(np.ptp(motion.position) >= 0.5 * np.ptp(motion.goal_position))


def paper(trial: Trial) -> Sequence[Cell]:
    """The paper's first cells."""
    return trial.plan.cells()[:COUNT]


def at_random(trial: Trial) -> Sequence[Cell]:
    """Any cells of those that can be chosen."""
    cells = trial.plan.cells()
    picked = np.random.default_rng([7, trial.number]).choice(len(cells), COUNT, replace=False)
    return [cells[i] for i in picked]


def at_once(trial: Trial) -> Sequence[Cell]:
    """All chosen at the catalogue's start values, nothing refitted."""
    return [p.cell for p in next_best(trial.start, [], candidate_cells(trial.plan), COUNT, threads=1)]


def knowing_the_truth(trial: Trial) -> Sequence[Cell]:
    """What the same choice makes of the true values: the most there is to gain this way."""
    return [p.cell for p in next_best(trial.truth, [], candidate_cells(trial.plan), COUNT, members=1, threads=1)]


def one_by_one(trial: Trial) -> Sequence[Cell]:
    """Each chosen with the model fitted to those before it."""
    chosen: list[Cell] = []
    recordings: list[Recording] = []
    model = trial.start
    for number in range(COUNT):
        cells = [cell for cell in candidate_cells(trial.plan) if cell not in chosen]
        chosen.append(next_best(model, recordings, cells, 1, seed=number, threads=1)[0].cell)
        recordings.append(trial.record(chosen[-1], number))
        if number + 1 < COUNT:
            model = refitted(model, trial.start, recordings)
    return chosen


def refitted(model: ServoModel, start: ServoModel, recordings: Sequence[Recording]) -> ServoModel:
    """The model after a short search from where it was and from the catalogue's start."""
    batch = Batch(model, recordings, threads=1)
    starts = [start.parameters.vector(), model.parameters.vector()]
    budget = EVALUATIONS * len(starts[0])
    found = search(
        lambda matrix: batch.scores(matrix).combined("rmse"), model.parameters.bounds(), starts, budget, len(recordings)
    )
    return model.with_vector(found.best)


CHOICES: dict[str, Choice] = {
    "one by one": one_by_one,
    "at the start values": at_once,
    "knowing the truth": knowing_the_truth,
    "at random": at_random,
}


def speed() -> None:
    """One choice of six on 4 trajectories × 3 masses × 2 lengths × 4 gains, M6 with command path."""
    model = build_model("mx106", "m6", command_path=COMMAND_PATH_TERMS)
    cells = candidate_cells(replace(dynamixel_plan(), lengths=(0.1, 0.2)))
    next_best(model, [], cells[:1], 1)
    began = time.perf_counter()
    next_best(model, [], cells, COUNT)
    line(f"six of {len(cells)} cells, M6 with command path", f"{time.perf_counter() - began:.1f} s", "a few seconds")


def main() -> None:
    """Every trial, then how often each choice beat the paper's first cells and the random ones."""
    speed()
    numbers = [int(word) for word in sys.argv[1:] if word.isdigit()]
    offered = whole if "full" in sys.argv else ends_of
    trials = [draw(number, offered) for number in range(numbers[0] if numbers else TRIALS)]
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in ("paper", *CHOICES)}
    began = time.monotonic()
    for trial in trials:
        found["paper"].append(trial.judge(paper(trial)))
        for name, choose in CHOICES.items():
            found[name].append(trial.judge(choose(trial)))
        path = " with command path" if trial.truth.command_path else ""
        smaller = ", ".join(f"{found['paper'][-1][0] - found[name][-1][0]:.1f}" for name in CHOICES)
        line(f"{trial.number}: {trial.truth.title}{path}", smaller, "nats smaller than the paper's six")
    line("time a trial", f"{(time.monotonic() - began) / len(trials):.1f} s")
    for place, measure in enumerate(("volume", "half widths")):
        ours = {name: np.array([values[place] for values in rows]) for name, rows in found.items()}
        for name in CHOICES:
            gained = ours["paper"] - ours[name]
            line(
                f"{measure}, {name}, against the paper's six",
                f"{int((gained > 0).sum())} of {len(trials)} smaller",
                f"median {np.median(gained):.1f} nats, mean {gained.mean():.1f}, worst {gained.min():.1f}",
            )
        for name in (name for name in CHOICES if name != "at random"):
            gained = ours["at random"] - ours[name]
            line(
                f"{measure}, {name}, against six at random",
                f"{int((gained > 0).sum())} of {len(trials)} smaller",
                f"median {np.median(gained):.1f} nats, mean {gained.mean():.1f}, worst {gained.min():.1f}",
            )


if __name__ == "__main__":
    main()
