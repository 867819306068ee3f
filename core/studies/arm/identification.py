"""Identify the friction of both joints of a measured arm from its torques, over windows that restart repeatedly.

Every friction model is fitted to windows of one length and judged on several lengths, on its own and on held-out
recordings. The first row is the prediction of the links' file alone. Each model's search also starts from the simpler
models' results, lifted into it. On the windows it is fitted to, a richer model is therefore never worse than a simpler
one.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from core.base.arrays import Array
from core.base.errors import IdentificationError, ModelError
from core.base.json_fields import plain
from core.base.words import counted
from core.identification.search.search import search
from core.identification.search.steps import Effort, descend, normal_equations, one_blas_thread, smooth_loss
from core.motion.smoothing import interpolated
from core.servo.friction import lift_friction, require_friction_model
from core.servo.parameters import ParameterSet
from core.servo.terms import FRICTION_MODELS, FRICTION_TERMS
from core.studies.arm import DEFAULT_MODELS
from core.studies.arm.dynamics import ARM_AT
from core.studies.arm.links import ArmLinks, ArmParameters
from core.studies.arm.parameters import (
    NO_FRICTION,
    TERM_GROUPS,
    arm_parameters,
    candidate_rows,
    corrected_links,
    possible,
)
from core.studies.arm.recording import ArmRecording
from core.studies.arm.windows import Windows, cut_windows

SOURCE = "file"
"""Name of the row of the links' own file, with its links and its friction."""
LOSS_SCALE = 0.005
"""Errors below this are squared in the loss, larger ones are linear [rad]."""
EFFORT = Effort(steps=40, enough=1e-4, dampings=(0.1, 1.0, 10.0), shares=(0.3, 1.0))
DIFFERENCE = 1e-4
"""Finite-difference step of the Jacobian, as a share of each parameter's bounds."""
DEFAULT_BUDGET = 6000
"""Number of candidates simulated for a model, including those of the Jacobians."""
ALIKE = 0.98
"""Correlation of commands above which two recordings repeat the same run."""


@dataclass(frozen=True, kw_only=True)
class ArmRequest:
    """Request for the identification of an arm."""

    models: tuple[str, ...] = DEFAULT_MODELS
    """Friction models of both joints; "none" identifies links or motors without friction."""
    terms: tuple[str, ...] = TERM_GROUPS
    """Groups of terms besides friction, see `core.studies.arm.parameters.TERM_GROUPS`."""
    fitted: float = 0.5
    """Length of the fitted windows [s]."""
    windows: tuple[float, ...] = (0.1, 0.25, 0.5, 1.0)
    """Lengths of the windows for which errors are reported [s]."""
    dt: float = 0.002
    """Time step [s]; the integrator is of second order."""
    substeps: int = 1
    held_out: float = 0.25
    """Share of held-out recordings; 0: none."""
    budget: int = DEFAULT_BUDGET
    seed: int = 0

    def __post_init__(self) -> None:
        for model in self.models:
            if model != NO_FRICTION:
                require_friction_model(model)
        if not (self.models and set(self.terms) <= set(TERM_GROUPS)):
            raise IdentificationError(
                f"nothing to identify with models {self.models} and terms {self.terms}; available models are "
                f"{NO_FRICTION}, {', '.join(FRICTION_MODELS)}, terms {', '.join(TERM_GROUPS)}"
            )
        lengths = (self.fitted, *self.windows)
        if not (0 < self.dt <= 0.01 and self.substeps >= 1 and all(self.dt <= length <= 60.0 for length in lengths)):
            raise IdentificationError(f"windows of {lengths} s with time steps of {self.dt} s are not possible")
        if not (0.0 <= self.held_out < 1.0 and self.budget >= 1 and self.windows):
            raise IdentificationError(
                f"held_out {self.held_out} must be a share below 1, budget {self.budget} positive"
            )


@dataclass(frozen=True, kw_only=True)
class ArmFit:
    """One row of the result: an arm's parameters and its errors."""

    model: str
    """Friction model of both joints, "none", or "file" for the links' own file."""
    parameters: ParameterSet
    links: ArmLinks
    """Links with the identified corrections."""
    training: tuple[float, ...]
    """Mean absolute position error over both joints for each window length [rad]."""
    held_out: tuple[float, ...] | None
    """The same on held-out recordings."""
    evaluations: int = 0

    @property
    def at_bounds(self) -> tuple[str, ...]:
        """Names of parameters at a bound: not determined by the data, or the bound is too narrow."""
        return tuple(p.name for p in self.parameters.values() if p.at_bound)

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "model": self.model,
            "training": list(self.training),
            "held_out": plain(self.held_out),
            "evaluations": self.evaluations,
            "at_bounds": list(self.at_bounds),
            "links": plain(self.links),
            "parameters": self.parameters.to_json(),
        }


@dataclass(frozen=True, kw_only=True)
class ArmIdentification:
    """Result of an identification: all rows, the file's own first, with their request and recordings."""

    request: ArmRequest
    train: tuple[str, ...]
    """Ids of the training recordings."""
    held_out: tuple[str, ...]
    fits: tuple[ArmFit, ...]
    stopped: bool = False

    @property
    def headings(self) -> tuple[str, ...]:
        """Headings of `table`."""
        sides = ("training", "held out") if self.held_out else ("training",)
        return ("model", *(f"{side} {length:g} s" for side in sides for length in self.request.windows))

    @property
    def table(self) -> tuple[tuple[str, *tuple[float, ...]], ...]:
        """One row per model, errors in mrad."""
        return tuple((fit.model, *(1e3 * e for e in (*fit.training, *(fit.held_out or ())))) for fit in self.fits)

    def to_json(self) -> dict[str, Any]:
        """Return plain data, identical for the same request and recordings."""
        return {
            "request": asdict(self.request),
            "train": list(self.train),
            "held_out": list(self.held_out),
            "windows": list(self.request.windows),
            "fits": [fit.to_json() for fit in self.fits],
            "stopped": self.stopped,
        }


@one_blas_thread()
def identify_arm(
    recordings: Sequence[ArmRecording],
    source: ArmParameters,
    request: ArmRequest,
    *,
    on_progress: Callable[[str, float], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> ArmIdentification:
    """Fit each model of a request to the recordings of an arm with given links.

    The result is deterministic for a seed.

    Args:
        recordings: Recordings with torques.
        source: Links and friction of the arm.
        request: The request.
        on_progress: Called with the next model and the completed share.
        should_stop: Returns True to stop.

    Raises:
        IdentificationError: Recordings have no torques, are too short, or leave none to train on.
    """
    train, held = split_arm_recordings(recordings, request.held_out, request.seed)
    judge = _Judge(train, held, request)
    fitted_to = cut_windows(train, request.fitted, request.dt, substeps=request.substeps)
    speed = float(np.percentile(np.abs(fitted_to.states[:, 2:]), 99.0))
    own = ParameterSet()
    fits = [judge.fit(SOURCE, own, source.links, _source_row(source))]
    starts: list[tuple[str, ParameterSet]] = []
    stopped = False
    for place, model in enumerate(request.models):
        if on_progress is not None:
            on_progress(model, place / len(request.models))
        template = arm_parameters(model, request.terms, source.links, max(speed, 1e-3))
        begin = [_lifted(values, simple, model, template) for simple, values in starts]
        best, evaluations, stopped = _fit(template, begin, source.links, fitted_to, request, should_stop)
        starts.append((model, best))
        rows = candidate_rows(source.links, best)
        fit = judge.fit(model, best, corrected_links(source.links, best), rows)
        fits.append(replace(fit, evaluations=evaluations))
        if stopped:
            break
    return ArmIdentification(
        request=request,
        train=tuple(run.id for run in train),
        held_out=tuple(run.id for run in held),
        fits=tuple(fits),
        stopped=stopped,
    )


def split_arm_recordings(
    recordings: Sequence[ArmRecording], share: float, seed: int
) -> tuple[list[ArmRecording], list[ArmRecording]]:
    """Hold out a share of recordings; repetitions of a run (the same commanded torques) stay on one side.

    Raises IdentificationError if a side would be empty.
    """
    groups: list[list[ArmRecording]] = []
    for recording in recordings:
        same = next((group for group in groups if _alike(group[0], recording)), None)
        if same is None:
            groups.append([recording])
        else:
            same.append(recording)
    wanted = share * len(recordings)
    held: set[str] = set()
    order: list[int] = np.random.default_rng(seed).permutation(len(groups)).tolist()
    for place in order:
        if len(held) < wanted and len(held) + len(groups[place]) < len(recordings):
            held |= {recording.id for recording in groups[place]}
    train = [recording for recording in recordings if recording.id not in held]
    if not train or (share > 0 and not held):
        raise IdentificationError(
            f"{counted(len(recordings), 'recording')} of {counted(len(groups), 'different run')} cannot be divided "
            "into training and held-out recordings; give more, or hold none out"
        )
    return train, [recording for recording in recordings if recording.id in held]


def _alike(one: ArmRecording, other: ArmRecording) -> bool:
    if one.torque is None or other.torque is None or abs(one.duration - other.duration) > 0.05 * one.duration:
        return False
    grid = np.linspace(0.0, min(one.duration, other.duration), 1000)
    first = interpolated(grid, one.time, one.torque).T.ravel()
    second = interpolated(grid, other.time, other.torque).T.ravel()
    size = float(np.sqrt((first @ first) * (second @ second)))
    return size > 0 and float(first @ second) > ALIKE * size


class _Judge:
    """Windows of every length, of training and held-out recordings."""

    def __init__(self, train: Sequence[ArmRecording], held: Sequence[ArmRecording], request: ArmRequest) -> None:
        def cut(runs: Sequence[ArmRecording]) -> list[Windows]:
            return [cut_windows(runs, length, request.dt, substeps=request.substeps) for length in request.windows]

        self.train = cut(train)
        self.held = cut(held) if held else None

    def fit(self, model: str, parameters: ParameterSet, links: ArmLinks, row: Array) -> ArmFit:
        def errors(sides: list[Windows]) -> tuple[float, ...]:
            return tuple(float(windows.mean_errors(row)[0]) for windows in sides)

        return ArmFit(
            model=model,
            parameters=parameters,
            links=links,
            training=errors(self.train),
            held_out=None if self.held is None else errors(self.held),
        )


def _source_row(source: ArmParameters) -> Array:
    row = candidate_rows(source.links, ParameterSet(), np.zeros((1, 0)))
    for joint in (1, 2):
        row[:, ARM_AT[f"friction_base_of_{joint}"]] = source.coulomb[joint - 1]
        row[:, ARM_AT[f"friction_viscous_of_{joint}"]] = source.viscous[joint - 1]
    return row


def _lifted(values: ParameterSet, fitted: str, model: str, template: ParameterSet) -> Array:
    """Return a model's start at another model's optimum; parameters of the template alone keep their start."""
    numbers = values.numbers()
    if NO_FRICTION not in (fitted, model):
        for joint in (1, 2):
            of_joint = {name: numbers[f"{name}_{joint}"] for name in FRICTION_TERMS[fitted]}
            # If neither model contains the other, their common parameters are still a useful start.
            with contextlib.suppress(ModelError):
                of_joint = lift_friction(of_joint, fitted, model)
            numbers |= {f"{name}_{joint}": value for name, value in of_joint.items()}
    return template.with_values({name: value for name, value in numbers.items() if name in template}).vector()


def _fit(
    template: ParameterSet,
    starts: Sequence[Array],
    links: ArmLinks,
    windows: Windows,
    request: ArmRequest,
    should_stop: Callable[[], bool] | None,
) -> tuple[ParameterSet, int, bool]:
    """Return the best parameters, the number of simulated candidates, and True if stopped."""
    arms = _Candidates(template, links, windows)
    found = search(
        arms.errors,
        template.bounds(),
        [*starts[::-1], template.vector()],
        request.budget,
        request.seed,
        refine=arms.descent,
        should_stop=should_stop,
    )
    return template.with_vector(found.best), found.evaluations, found.stopped


@dataclass(frozen=True)
class _Candidates:
    """Judgement of candidates (k, p), values of a template's free parameters, on windows of motion."""

    template: ParameterSet
    links: ArmLinks
    windows: Windows

    def errors(self, candidates: Array) -> Array:
        """Return mean errors (k,) [rad]; infinite for impossible arms."""
        return self._judged(candidates, self.windows.mean_errors)

    def losses(self, candidates: Array) -> Array:
        """Return the smooth losses (k,) that the descent minimises."""
        return self._judged(
            candidates, lambda rows: smooth_loss(self.windows.residuals(rows), LOSS_SCALE).mean(axis=(0, 1, 2))
        )

    def equations(self, point: Array) -> tuple[Array, Array]:
        """Return the normal matrix (p, p) and the gradient (p,) at a point (p,), by central differences."""
        low, high = self.template.bounds().T
        delta = DIFFERENCE * np.diag(high - low)
        ends = np.clip(np.vstack([point + delta, point - delta]), low, high)
        residuals = self.windows.residuals(candidate_rows(self.links, self.template, np.vstack([point, ends])))
        flat = residuals.reshape(-1, residuals.shape[-1])
        count = len(point)
        apart = np.diag(ends[:count]) - np.diag(ends[count:])
        jacobian = (flat[:, 1 : 1 + count] - flat[:, 1 + count :]) / apart
        return normal_equations(jacobian, flat[:, 0], LOSS_SCALE)

    def descent(self, point: Array) -> tuple[Array, int]:
        """Descend from a point (p,) by damped steps; return the result and the number of simulated candidates."""
        spent = 0

        def losses(candidates: Array) -> Array:
            nonlocal spent
            spent += len(candidates)
            return self.losses(candidates)

        def equations(at: Array) -> tuple[Array, Array]:
            nonlocal spent
            spent += 2 * len(at) + 1
            return self.equations(at)

        if not np.isfinite(losses(point[None])[0]):
            return point, spent
        found, _ = descend(point, self.template.bounds(), losses, equations, EFFORT)
        return found, spent

    def _judged(self, candidates: Array, judge: Callable[[Array], Array]) -> Array:
        rows = candidate_rows(self.links, self.template, candidates)
        values = np.full(len(rows), np.inf)
        sound = possible(rows)
        if sound.any():
            values[sound] = judge(rows[sound])
        return np.where(np.isfinite(values), values, np.inf)
