"""Iterative learning control of a compliant arm: the input that makes it follow a reference (section 4.3).

The arm repeats the same reference, each time from its rest position under the first input. The input is the equilibrium
position of each joint, initially the reference itself. The links' error at each instant, times a gain that decays over
the iterations, is added to the input of that instant (eq. 13):

    θ_eq(n) = θ_eq(n − 1) + K_q·e^{−n/N}·(q̂ − q(n − 1)),   n = 2, 3, …

Stiffness presets stay, so the arm remains as soft as before: the learned input is feed-forward, without feedback.
Iterations are counted as motions of the arm, so that 11 of 20 s are 220 s, as in the paper.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from core.base.arrays import Array
from core.base.atomic import write_atomically
from core.base.errors import InputError, ModelError
from core.base.words import counted
from core.studies.compliant.arm import CompliantArm, link_equilibrium, simulate_compliant_arm

STEP = 5e-3
"""Default sampling interval [s]."""
LARGEST_TEXT = 64 << 20
"""Size limit of a reference file [B]."""
UNEVEN = 1e-3
"""Tolerance of the sampling interval in a file, as a share of it."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Reference:
    """Joint angles at regular times: sample k is commanded at k·step and held until the next."""

    step: float
    """Sampling interval [s]."""
    angles: Array
    """Joint angles [rad], shape (n, joints), n at least 2."""

    def __post_init__(self) -> None:
        if not 0.0 < self.step < math.inf:
            raise InputError(f"reference: a step of {self.step} s is not possible; give a positive one")
        shape = np.shape(self.angles)
        if len(shape) != 2 or shape[0] < 2 or not np.all(np.isfinite(self.angles)):
            raise InputError(f"reference: angles of shape {shape}; give two or more rows of finite angles [rad]")

    @property
    def time(self) -> Array:
        """Times [s], shape (n,)."""
        return self.step * np.arange(len(self.angles), dtype=np.float64)

    @property
    def duration(self) -> float:
        """Duration [s]."""
        return self.step * (len(self.angles) - 1)


def minimum_jerk(goal: Sequence[float], duration: float, step: float = STEP, hold: float = 0.0) -> Reference:
    """Move from 0 to `goal` [rad] of each joint in `duration` [s], then hold for `hold` [s].

    The fifth-order polynomial 10·s³ − 15·s⁴ + 6·s⁵, s = t/duration, starts and ends at rest without acceleration
    (section 4.3).
    """
    share = np.clip(_times(duration + hold, step) / duration, 0.0, 1.0)
    return Reference(step=step, angles=np.outer(share**3 * (10.0 - 15.0 * share + 6.0 * share**2), goal))


def held_step(goal: Sequence[float], duration: float, step: float = STEP) -> Reference:
    """Return 0 at the first sample, where motors start, then `goal` [rad] of each joint (Figs 7 and 12)."""
    return Reference(step=step, angles=np.outer(_times(duration, step) > 0.0, goal))


def sinusoid(amplitude: Sequence[float], rate: float, duration: float, step: float = STEP) -> Reference:
    """Return H·sin(ω·t) of each joint, H [rad], ω = rate [rad/s] (eq. 12)."""
    return Reference(step=step, angles=np.outer(np.sin(rate * _times(duration, step)), amplitude))


def chirp(amplitude: Sequence[float], lowest: float, highest: float, duration: float, step: float = STEP) -> Reference:
    """Return a sinusoid whose frequency grows linearly from `lowest` to `highest` [Hz] within `duration` [s].

    H·sin(2π·(f₀·t + (f₁ − f₀)·t²/(2·T))), as in section 4.2.1.
    """
    if not 0.0 < lowest < highest:
        raise InputError(f"a chirp from {lowest} to {highest} Hz is not possible; give rising, positive frequencies")
    phase = chirp_phase(lowest, highest, duration, _times(duration, step))
    return Reference(step=step, angles=np.outer(np.sin(phase), amplitude))


def chirp_phase(lowest: float, highest: float, duration: float, time: Array) -> Array:
    """Return the phase of a `chirp` (n,) [rad] at times (n,) [s]."""
    return 2.0 * math.pi * (lowest * time + (highest - lowest) * time**2 / (2.0 * duration))


def read_reference(path: Path | str) -> Reference:
    """Read a CSV file with columns time [s], q1, q2 [rad] at regular times; raise InputError for any other."""
    file = Path(path)
    try:
        if file.stat().st_size > LARGEST_TEXT:
            raise InputError(f"{file}: too large for a reference")
        rows = list(csv.DictReader(io.StringIO(file.read_text("utf-8-sig"))))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{file}: cannot be read as a reference: {error}") from None
    names = ("time", "q1", "q2")
    try:
        columns = np.array([[float(row[name]) for name in names] for row in rows]).reshape(-1, len(names))
    except (KeyError, TypeError, ValueError):
        raise InputError(f"{file}: a reference needs numbers in the columns time [s], q1 and q2 [rad]") from None
    if len(columns) < 2:
        raise InputError(f"{file}: a reference needs two or more rows, this has {len(columns)}")
    steps = np.diff(columns[:, 0])
    step = float(steps.mean())
    if not step > 0.0 or np.max(np.abs(steps - step)) > UNEVEN * step:
        raise InputError(f"{file}: the times of a reference must be evenly spaced; resample it first")
    return Reference(step=step, angles=columns[:, 1:])


def _times(duration: float, step: float) -> Array:
    """Return sample times (n,) [s] from 0 to `duration`, both included."""
    if not (0.0 < step < math.inf and step <= duration < math.inf):
        raise InputError(f"a motion of {duration} s in steps of {step} s is not possible")
    return step * np.arange(round(duration / step) + 1, dtype=np.float64)


LOST = 2.0 * math.pi
"""Error that ends the learning: nothing can be learned from links that rotate [rad]."""
GAIN_LEFT = 0.1
"""Share of the initial gain below which nothing more is learned."""
REST = 2.0
"""Rest of the arm under the first input before each motion [s]."""
CSV_COLUMNS = ("time", "equilibrium_1", "equilibrium_2")
"""Columns of a learned input: s, rad, rad."""
CSV_FORMAT = ".9g"


@dataclass(frozen=True, kw_only=True)
class LearningLaw:
    """Learning law of an arm, with the numbers of section 4.3."""

    gain: float = 0.5
    """K_q, gain of the error [rad/rad]."""
    decay: float = 10.0
    """N, number of iterations in which the gain falls to 1/e; infinite for a constant gain."""
    tolerance: float = 0.08
    """Largest error of any joint at which learning has converged [rad]."""
    iterations: int = 11
    """Largest number of motions of the arm, including the first."""

    def __post_init__(self) -> None:
        if not 0.0 < self.gain < math.inf:
            raise InputError(f"learning: a gain of {self.gain} learns nothing; use a positive one, such as 0.5")
        if not self.decay > 0.0:
            raise InputError(f"learning: a decay of {self.decay} iterations is not possible; give a positive one")
        if not 0.0 < self.tolerance < math.inf:
            raise InputError(f"learning: a tolerance of {self.tolerance} rad can never be met; use a positive one")
        if self.iterations < 1:
            raise InputError(f"learning: {self.iterations} iterations are too few; use 1 or more")

    def gain_of(self, iteration: int) -> float:
        """Return K_off, the gain of the previous iteration's error; iterations count from 1."""
        return self.gain * math.exp(-iteration / self.decay)


@dataclass(frozen=True, kw_only=True, eq=False)
class Iteration:
    """Motion of the arm in one iteration."""

    number: int
    """Number, from 1."""
    equilibrium: Array
    """Input [rad], shape (n, 2)."""
    link_equilibrium: Array
    """Link angles at equilibrium of the springs, which follow the input like the motors [rad], shape (n, 2)."""
    position: Array
    """Positions of the links [rad], shape (n, 2)."""
    error: Array
    """Reference minus position [rad], shape (n, 2)."""

    @property
    def worst(self) -> Array:
        """Largest error of each joint, (2,) [rad]."""
        return np.max(np.abs(self.error), axis=0)

    @property
    def error_norm(self) -> Array:
        """‖q̂ − q‖₂ at each instant, as in Fig. 15, (n,) [rad]."""
        return np.linalg.norm(self.error, axis=1)

    @property
    def root_mean_square(self) -> Array:
        """Root mean square of each joint's error, (2,) [rad]."""
        return np.sqrt(np.mean(self.error**2, axis=0))


@dataclass(frozen=True, kw_only=True, eq=False)
class Learned:
    """All iterations of a learning."""

    law: LearningLaw
    reference: Reference
    iterations: tuple[Iteration, ...]

    @property
    def best(self) -> Iteration:
        """Iteration with the smallest largest error."""
        return min(self.iterations, key=lambda each: float(each.worst.max()))

    @property
    def converged(self) -> bool:
        """True if the last iteration is within the tolerance."""
        return bool(self.iterations[-1].worst.max() <= self.law.tolerance)

    @property
    def warning(self) -> str:
        """Problem and remedy in words; empty if it has converged."""
        return warning_of([float(each.worst.max()) for each in self.iterations], self.law)


def warning_of(worst: list[float], law: LearningLaw) -> str:
    """Return problem and remedy of a learning with these largest errors [rad] by iteration; empty if none."""
    last = worst[-1]
    if last <= law.tolerance:
        return ""
    if len(worst) > 1 and last > worst[0]:
        return (
            f"it diverges: the largest error grew from {in_words(worst[0])} to {in_words(last)}; "
            "lower the gain, or use a slower reference"
        )
    if law.gain_of(len(worst)) < GAIN_LEFT * law.gain:
        return (
            f"it has not converged: {in_words(last)} after {len(worst)} iterations, in which the gain has decayed "
            "to nothing; let it decay more slowly"
        )
    reached = f"{in_words(last)} after {counted(len(worst), 'iteration')}"
    if len(worst) > 1 and last > min(worst):
        return f"it does not settle: {reached}, {in_words(min(worst))} before; lower the gain"
    return f"it has not converged: {reached}, {in_words(law.tolerance)} are required; allow more iterations"


def in_words(error: float) -> str:
    """Format an error [rad] for the user."""
    return f"{1e3 * error:.0f} mrad" if error < 1.0 else f"{error:.1f} rad"


def learn(
    arm: CompliantArm,
    reference: Reference,
    law: LearningLaw | None = None,
    on_iteration: Callable[[Iteration], object] = lambda iteration: None,
) -> Learned:
    """Learn to follow a reference of two joints.

    Args:
        arm: The arm.
        reference: The reference.
        law: Learning law. None: the paper's.
        on_iteration: Called with each iteration as soon as it is finished.

    Raises:
        InputError: The reference does not have two joints.
        ModelError: The arm cannot be simulated.
    """
    law = law or LearningLaw()
    wanted = reference.angles
    if wanted.shape[1] != 2:
        raise InputError(f"learning: a reference of {wanted.shape[1]} joints for an arm of two")
    equilibrium = wanted
    found: list[Iteration] = []
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
        on_iteration(found[-1])
        if not law.tolerance < found[-1].worst.max() < LOST:
            break
    return Learned(law=law, reference=reference, iterations=tuple(found))


def write_input(time: Array, equilibrium: Array, path: Path | str) -> Path:
    """Write a learned input as CSV for the real arm: time (n,) [s], equilibrium (n, 2) [rad]; see CSV_COLUMNS."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    writer.writerows([format(float(v), CSV_FORMAT) for v in row] for row in np.column_stack([time, equilibrium]))
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(target, text.getvalue().encode("utf-8"))
    return target
