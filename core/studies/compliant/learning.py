"""Iterative learning control of a compliant arm: the input that makes it follow a reference (seed 003, section 4.3).

The arm is moved along the same reference again and again, each time from where its first input lets it rest. The
input is the equilibrium position of each joint, first the reference itself; what the links were off by at an instant
is added, times a gain that decays from iteration to iteration, to the input of that instant (eq. 13):

    θ_eq(n) = θ_eq(n − 1) + K_q·e^{−n/N}·(q̂ − q(n − 1)),   n = 2, 3, …

Stiffness presets stay as they are, so the arm stays as soft as it was: what is learned is fed forward, nothing is fed
back. Iterations are counted as motions of the arm, so that 11 of 20 s are 220 s, as the seed counts them.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from core.atomic import write_atomically
from core.errors import InputError, ModelError
from core.studies.compliant.arm import CompliantArm, link_equilibrium, simulate_compliant_arm
from core.studies.compliant.references import Reference
from core.words import counted

Array = NDArray[np.float64]

LOST = 2.0 * math.pi
"""An error beyond this ends the learning: nothing is learned from links that go round [rad]."""
GAIN_LEFT = 0.1
"""A gain below this share of its first value learns no more."""
REST = 2.0
"""Before each motion the arm rests so long under the first sample of its input [s]."""
CSV_COLUMNS = ("time", "equilibrium_1", "equilibrium_2")
"""Of a learned input: s, rad, rad."""
CSV_FORMAT = ".9g"


@dataclass(frozen=True, kw_only=True)
class LearningLaw:
    """How an arm learns; the numbers of seed 003, section 4.3."""

    gain: float = 0.5
    """K_q, of the error [rad/rad]"""
    decay: float = 10.0
    """N: within so many iterations the gain falls to 1/e of what it was; infinite for a gain that stays."""
    tolerance: float = 0.08
    """It is learned when no joint is ever farther from the reference than this [rad]."""
    iterations: int = 11
    """Most motions of the arm, the first one included."""

    def __post_init__(self) -> None:
        if not 0.0 < self.gain < math.inf:
            raise InputError(f"learning: a gain of {self.gain} teaches nothing; give a positive one, such as 0.5")
        if not self.decay > 0.0:
            raise InputError(f"learning: a decay of {self.decay} iterations is not possible; give a positive one")
        if not 0.0 < self.tolerance < math.inf:
            raise InputError(f"learning: a tolerance of {self.tolerance} rad is never met; give a positive one")
        if self.iterations < 1:
            raise InputError(f"learning: {self.iterations} iterations are too few; give 1 or more")

    def gain_of(self, iteration: int) -> float:
        """K_off, by which the error of the iteration before changes the input of this one, counted from 1."""
        return self.gain * math.exp(-iteration / self.decay)


@dataclass(frozen=True, kw_only=True, eq=False)
class Iteration:
    """One motion of the arm."""

    number: int
    """From 1"""
    equilibrium: Array
    """(n, 2) rad: the input"""
    link_equilibrium: Array
    """(n, 2) rad: where the springs alone would hold the links, which follows the input as fast as the motors do"""
    position: Array
    """(n, 2) rad: where the links were"""
    error: Array
    """(n, 2) rad: reference less position"""

    @property
    def worst(self) -> Array:
        """Largest error of each joint, (2,) rad."""
        return np.max(np.abs(self.error), axis=0)

    @property
    def error_norm(self) -> Array:
        """‖q̂ − q‖₂ at each instant, Fig. 15 of the seed, (n,) rad."""
        return np.linalg.norm(self.error, axis=1)

    @property
    def root_mean_square(self) -> Array:
        """Of each joint's error, (2,) rad."""
        return np.sqrt(np.mean(self.error**2, axis=0))


@dataclass(frozen=True, kw_only=True, eq=False)
class Learned:
    """Every iteration of one learning."""

    law: LearningLaw
    reference: Reference
    iterations: tuple[Iteration, ...]

    @property
    def best(self) -> Iteration:
        """The iteration whose largest error is the smallest."""
        return min(self.iterations, key=lambda each: float(each.worst.max()))

    @property
    def converged(self) -> bool:
        """Whether the last iteration is within the tolerance."""
        return bool(self.iterations[-1].worst.max() <= self.law.tolerance)

    @property
    def warning(self) -> str:
        """What is wrong with it and the remedy, for a person; empty when it has converged."""
        return warning_of([float(each.worst.max()) for each in self.iterations], self.law)


def warning_of(worst: list[float], law: LearningLaw) -> str:
    """What a learning with these largest errors [rad] by iteration lacks, and the remedy; empty for nothing."""
    last = worst[-1]
    if last <= law.tolerance:
        return ""
    if len(worst) > 1 and last > worst[0]:
        return (
            f"it diverges: the largest error grew from {in_words(worst[0])} to {in_words(last)}; "
            "lower the gain, or give a slower reference"
        )
    if law.gain_of(len(worst)) < GAIN_LEFT * law.gain:
        return (
            f"it has not converged: {in_words(last)} after {len(worst)} iterations, in which the gain has decayed "
            "to nothing; let it decay slower"
        )
    reached = f"{in_words(last)} after {counted(len(worst), 'iteration')}"
    if len(worst) > 1 and last > min(worst):
        return f"it does not settle: {reached}, {in_words(min(worst))} before; lower the gain"
    return f"it has not converged: {reached}, {in_words(law.tolerance)} are asked for; allow more iterations"


def in_words(error: float) -> str:
    """An error [rad] as a person reads it."""
    return f"{1e3 * error:.0f} mrad" if error < 1.0 else f"{error:.1f} rad"


def learn(
    arm: CompliantArm,
    reference: Reference,
    law: LearningLaw | None = None,
    told: Callable[[Iteration], object] = lambda iteration: None,
) -> Learned:
    """Learn to follow a reference of two joints; `told` hears of each iteration as soon as it is known.

    Raises InputError for a reference that is not of two joints, ModelError when the arm cannot be simulated.
    """
    law = law or LearningLaw()
    wanted = reference.angles
    if wanted.shape[1] != 2:
        raise InputError(f"learning: a reference of {wanted.shape[1]} joints for an arm of two")
    equilibrium, found = wanted, []
    for number in range(1, law.iterations + 1):
        if found:
            equilibrium = found[-1].equilibrium + law.gain_of(number) * found[-1].error
        try:
            motion = simulate_compliant_arm(arm, equilibrium, reference.step, start=wanted[0], rest=REST)
        except ModelError as error:
            raise ModelError(f"learning, iteration {number}: {error}; lower the gain") from None
        found.append(
            Iteration(
                number=number,
                equilibrium=equilibrium,
                link_equilibrium=link_equilibrium(arm, motion),
                position=motion.position,
                error=wanted - motion.position,
            )
        )
        told(found[-1])
        if not law.tolerance < found[-1].worst.max() < LOST:
            break
    return Learned(law=law, reference=reference, iterations=tuple(found))


def write_input(time: Array, equilibrium: Array, path: Path | str) -> Path:
    """Write a learned input as CSV for the real arm: time (n,) s, equilibrium (n, 2) rad; see CSV_COLUMNS."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    writer.writerows([format(float(v), CSV_FORMAT) for v in row] for row in np.column_stack([time, equilibrium]))
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(target, text.getvalue().encode("utf-8"))
    return target
