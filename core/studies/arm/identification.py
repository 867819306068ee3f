"""Identify the friction of both joints of a measured arm from its torques, over windows started again and again.

Every friction model is fitted to windows of one length and judged on several, on the recordings it was fitted to and
on others held back; the first row is what the file of the links alone predicts. Each model's search begins at the
ones before it, lifted into it, so on the windows it is fitted to a richer model is never worse than a simpler one.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from core.arrays import Array
from core.errors import IdentificationError, ModelError
from core.friction import lift_friction, require_friction_model
from core.identification.search.search import search
from core.identification.search.steps import Effort, descend, normal_equations, smooth_loss
from core.parameters import ParameterSet
from core.plain import plain
from core.smoothing import interpolated
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
from core.terms import FRICTION_MODELS, FRICTION_TERMS
from core.words import counted

SOURCE = "file"
"""Name of the row that holds the links' own file: its links and its friction."""
LOSS_SCALE = 0.005
"""Errors below this count by their squares, larger ones by their magnitude [rad]."""
EFFORT = Effort(steps=40, enough=1e-4, dampings=(0.1, 1.0, 10.0), shares=(0.3, 1.0))
DIFFERENCE = 1e-4
"""Step of the Jacobian's differences, of each parameter's bounds."""
DEFAULT_BUDGET = 6000
"""Candidates simulated for a model, those of the Jacobians included."""
ALIKE = 0.98
"""Commands correlated more than this are the same run repeated."""


@dataclass(frozen=True, kw_only=True)
class ArmRequest:
    """What is to be identified, and how."""

    models: tuple[str, ...] = DEFAULT_MODELS
    """Friction of both joints; "none" for links or motors without friction."""
    terms: tuple[str, ...] = TERM_GROUPS
    """Besides friction, see `core.studies.arm.parameters.TERM_GROUPS`."""
    fitted: float = 0.5
    """Length of the windows that are fitted to [s]."""
    windows: tuple[float, ...] = (0.1, 0.25, 0.5, 1.0)
    """Lengths that errors are told for [s]."""
    dt: float = 0.002
    """Grid [s]; the step is of second order."""
    substeps: int = 1
    held_out: float = 0.25
    """Share of the recordings that is held back; 0: none."""
    budget: int = DEFAULT_BUDGET
    seed: int = 0

    def __post_init__(self) -> None:
        for model in self.models:
            if model != NO_FRICTION:
                require_friction_model(model)
        if not (self.models and set(self.terms) <= set(TERM_GROUPS)):
            raise IdentificationError(
                f"nothing to identify with models {self.models} and terms {self.terms}; models are {NO_FRICTION}, "
                f"{', '.join(FRICTION_MODELS)}, terms {', '.join(TERM_GROUPS)}"
            )
        lengths = (self.fitted, *self.windows)
        if not (0 < self.dt <= 0.01 and self.substeps >= 1 and self.dt <= min(lengths) and max(lengths) <= 60.0):
            raise IdentificationError(f"windows of {lengths} s in steps of {self.dt} s are not possible")
        if not (0.0 <= self.held_out < 1.0 and self.budget >= 1 and self.windows):
            raise IdentificationError(
                f"held_out {self.held_out} must be a share below 1, budget {self.budget} positive"
            )


@dataclass(frozen=True, kw_only=True)
class ArmFit:
    """One row: an arm's parameters and how far off it is."""

    model: str
    """Friction model of both joints, "none", or "file" for the links' own file."""
    parameters: ParameterSet
    links: ArmLinks
    """With the corrections identified."""
    training: tuple[float, ...]
    """Mean absolute position error over both joints, by window length [rad]."""
    held_out: tuple[float, ...] | None
    """The same on recordings not seen in the fit."""
    evaluations: int = 0

    @property
    def at_bounds(self) -> tuple[str, ...]:
        """Parameters that the data did not determine, or that want to leave their bounds."""
        return tuple(p.name for p in self.parameters.values() if p.at_bound)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
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
    """All rows, the file's own first, and what they were made from."""

    request: ArmRequest
    train: tuple[str, ...]
    """Ids of recordings."""
    held_out: tuple[str, ...]
    fits: tuple[ArmFit, ...]
    stopped: bool = False

    @property
    def headings(self) -> tuple[str, ...]:
        """Of `table`."""
        sides = ("training", "held out") if self.held_out else ("training",)
        return ("model", *(f"{side} {length:g} s" for side in sides for length in self.request.windows))

    @property
    def table(self) -> tuple[tuple[str, *tuple[float, ...]], ...]:
        """One row a model, errors in mrad."""
        return tuple((fit.model, *(1e3 * e for e in (*fit.training, *(fit.held_out or ())))) for fit in self.fits)

    def to_json(self) -> dict[str, Any]:
        """Plain data, the same for the same request and recordings."""
        return {
            "request": asdict(self.request),
            "train": list(self.train),
            "held_out": list(self.held_out),
            "windows": list(self.request.windows),
            "fits": [fit.to_json() for fit in self.fits],
            "stopped": self.stopped,
        }


def identify_arm(
    recordings: Sequence[ArmRecording],
    source: ArmParameters,
    request: ArmRequest,
    *,
    on_progress: Callable[[str, float], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> ArmIdentification:
    """Fit each model of a request to the recordings of an arm with given links.

    on_progress hears the model that is next and the share that is done. Deterministic by the request's seed. Raises
    IdentificationError when recordings have no torques, are too short, or leave none to be trained on.
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
    """Hold back a share of recordings, repetitions of a run (the same torques commanded) on one side together.

    Raises IdentificationError when that leaves none on a side.
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
            "into trained on and held back; give more, or hold none back"
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
    """Windows of every length, of both sides."""

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
    """The start of a model at another's optimum; what the template alone has keeps its start."""
    numbers = values.numbers()
    if NO_FRICTION not in (fitted, model):
        for joint in (1, 2):
            of_joint = {name: numbers[f"{name}_{joint}"] for name in FRICTION_TERMS[fitted]}
            # Where neither holds the other, what both have is a start all the same.
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
    """The best parameters found, candidates simulated, and whether it was stopped."""
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
    """Arms (k, p) of a template's free parameters, judged on windows of motion."""

    template: ParameterSet
    links: ArmLinks
    windows: Windows

    def errors(self, candidates: Array) -> Array:
        """Mean errors (k,) rad; infinite for arms that are not possible."""
        return self._judged(candidates, self.windows.mean_errors)

    def losses(self, candidates: Array) -> Array:
        """Smooth losses (k,) as steps lower them."""
        return self._judged(
            candidates, lambda rows: smooth_loss(self.windows.residuals(rows), LOSS_SCALE).mean(axis=(0, 1, 2))
        )

    def equations(self, point: Array) -> tuple[Array, Array]:
        """Normal matrix (p, p) and slope (p,) at a point (p,), from central differences."""
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
        """Where damped steps lead from a point (p,), and how many candidates they cost."""
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
