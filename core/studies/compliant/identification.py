"""Identify a compliant actuator from bench recordings: its springs, what its link loses, and its motors if asked.

A recording's goal is the equilibrium position, its stiffness preset is known and the link's position is measured; the
pendulum's gravity loads the springs. Candidates are simulated by `core.studies.compliant.runs`, the search moves the
logarithms of the numbers: damped Gauss–Newton steps for the springs alone, then for all, from there, from the start,
from far and from CMA-ES around the best, as `core.identification.search.search` orders them, then steps on the finest
grid. Intervals follow from JᵀJ.

What the runs have to hold. Small deflections tell a stiffness, not the two numbers of a spring that grows stiffer: take
two or more presets and loads, and swings to both sides. At a preset of 0 the two springs of an antagonist pair are
deflected alike and cannot be told apart. A motor's inertia needs fast goals, its friction goals that turn; its damping
and its controller's k_d act as one until a drop with the torque off. Nothing of a motor is to be seen in operation
mode 3, where motors are ideal.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from core.arrays import Array
from core.catalogue import load_servo
from core.errors import IdentificationError, InputError
from core.identification.evaluate import evaluate
from core.identification.evidence.model import Evidence, ParameterEvidence
from core.identification.evidence.sensitivity import Sensitivity, correlation_length, standard_errors
from core.identification.identify import identify
from core.identification.request import IdentificationRequest
from core.identification.runs.conditions import as_own_motor, check_motion
from core.identification.runs.split import DEFAULT_RULE, Split, split_recordings
from core.identification.search.search import search
from core.identification.search.steps import Effort, descend, normal_equations, smooth_loss
from core.parameters import AT_BOUND_FRACTION, Parameter, ParameterSet
from core.recording import Recording
from core.studies.compliant.elastic import CompliantActuator
from core.studies.compliant.files import CompliantUnit, unit_to_json
from core.studies.compliant.modes import Mode
from core.studies.compliant.runs import LINK, SPRINGS, CompliantRuns, require_runs_of, unit_with, unknowns

SPAN = math.log(100.0)
"""Numbers are searched from a hundredth to a hundred times their start, within their bounds."""
UNKNOWN_FACTOR = 2.0
"""A number whose 95 % interval reaches beyond half or double of it is not determined."""
TRIALS_PER_PARAMETER = 120
"""Candidates simulated by default, per free number."""
EFFORT = Effort(steps=30, enough=1e-4, dampings=(1e-3, 1e-1, 1e1, 1e3), shares=(1.0, 0.3))
POLISH = Effort(steps=4, enough=1e-4, dampings=(1e-6, 1e-3, 1e-1, 1e1), shares=(1.0, 0.3))
DIFFERENCE = 1e-3
"""Step of the Jacobian's differences, of a logarithm: dry friction makes smaller ones noisy."""
UNEXPLAINED_STEPS = 2.0
"""Of the encoder: a fit that leaves more is reported."""
WORSE_HELD_OUT = 3.0
"""Runs held out that are so many times as far off as those fitted to are reported."""
RIGID_MODEL = "m1"
RIGID_TRIALS = 2000


@dataclass(frozen=True, kw_only=True)
class CompliantRequest:
    """What is to be identified, and how."""

    start: CompliantUnit
    """Where the search begins, and the values of what is not identified"""
    groups: tuple[str, ...] = (SPRINGS, LINK)
    """See `core.studies.compliant.runs`"""
    mode: Mode = Mode.PID_EQ_PRES
    """6: motors with dynamics; 3: ideal ones"""
    fixed: tuple[tuple[str, float], ...] = ()
    """Numbers held at a value"""
    freed: tuple[str, ...] = ()
    """Numbers that are held otherwise, see `core.studies.compliant.runs.HELD`"""
    validation: str = DEFAULT_RULE
    """As `split_recordings`"""
    trials: int | None = None
    """Candidates simulated; None: by the number of parameters"""
    seed: int = 0
    dt: float | None = None
    """Grid [s]; None keeps that of regular recordings"""
    threads: int | None = None

    def __post_init__(self) -> None:
        if self.trials is not None and self.trials < 1:
            raise IdentificationError(f"{self.trials} trials are not possible; give 1 or more")
        if not self.parameters.free:
            raise IdentificationError("every number is held; leave one free at least")

    @property
    def parameters(self) -> ParameterSet:
        """With start values, bounds and what is held. Raises IdentificationError for unknown names or bad values."""
        found = unknowns(self.start, self.groups, self.freed)
        try:
            found = found.frozen_at(dict(self.fixed))
        except InputError as error:
            raise IdentificationError(str(error)) from None
        unit_with(self.start, found)
        return found


@dataclass(frozen=True, kw_only=True, eq=False)
class CompliantIdentification:
    """What was found."""

    request: CompliantRequest
    split: Split
    unit: CompliantUnit
    evidence: Evidence
    """Intervals and warnings; half widths are those of a number that is told up to a factor"""
    train_errors: Array
    """Mean absolute position error of each run it was fitted to [rad]"""
    validation_errors: Array
    """Of each run held out, (0,) where none was"""
    start_error: float
    """Of the start on the runs it was fitted to [rad]"""
    discretisation_error: float
    """What steps a quarter as long would change [rad]"""
    evaluations: int
    stopped: bool

    @property
    def train_mae(self) -> float:
        """[rad]"""
        return float(self.train_errors.mean())

    @property
    def validation_mae(self) -> float | None:
        """[rad]; None where no run was held out"""
        return float(self.validation_errors.mean()) if len(self.validation_errors) else None

    def to_json(self) -> dict[str, Any]:
        """Plain data, the same for the same request and recordings."""
        data = unit_to_json(self.unit)
        return {
            **{key: data[key] for key in ("actuator", "parameters", "motor", "controller", "link")},
            "groups": list(self.request.groups),
            "mode": int(self.request.mode),
            "seed": self.request.seed,
            "split": asdict(self.split),
            "train_mae": self.train_mae,
            "validation_mae": self.validation_mae,
            "start_mae": self.start_error,
            "discretisation_error": self.discretisation_error,
            "evidence": self.evidence.to_json(),
            "warnings": list(self.evidence.warnings),
            "evaluations": self.evaluations,
            "stopped": self.stopped,
        }


def identify_compliant(
    recordings: Sequence[Recording],
    request: CompliantRequest,
    *,
    on_progress: Callable[[float, float], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> CompliantIdentification:
    """Fit a compliant actuator to recordings of it.

    on_progress hears the share of the trials that is used and the best mean loss so far [rad]; should_stop is polled,
    the best so far is kept. Deterministic by the request's seed. Raises IdentificationError for recordings of something
    else, UnusableRuns for runs that no actuator can be fitted to.
    """
    require_runs_of(recordings, request.start.actuator.name)
    check_motion(recordings)
    split = split_recordings(recordings, request.validation, request.seed)
    train = [recording for recording in recordings if recording.id in split.train]
    held = [recording for recording in recordings if recording.id in split.validation]
    start = unit_with(request.start, request.parameters)
    runs = CompliantRuns(train, start, request.mode, dt=request.dt, threads=request.threads)
    scale = load_servo(train[0].settings.servo).encoder_step
    watch = _Watch(request.trials or TRIALS_PER_PARAMETER * len(request.parameters.free), on_progress, should_stop)
    fit = _Fit(runs, request, scale, watch)
    try:
        starts = [_led_by_springs(fit, request), fit.start]
        found = search(fit.losses, fit.bounds, starts, watch.budget, request.seed, refine=fit.descended)
        fit.runs = runs.finer_for(fit.unit(found.best))
        fit.best, fit.least = found.best, math.inf
        fit.descended(found.best, POLISH)
        stopped = False
    except _Stopped:
        stopped = True
    unit = fit.unit(fit.best)
    train_errors, validation_errors = fit.runs.errors(unit), np.empty(0)
    if held:
        validation_errors = CompliantRuns(held, unit, request.mode, dt=request.dt, threads=request.threads).errors(unit)
    evidence = fit.evidence(train)
    return CompliantIdentification(
        request=request,
        split=split,
        unit=unit,
        evidence=replace(evidence, search=_doubts(evidence.noise / scale, train_errors, validation_errors)),
        train_errors=train_errors,
        validation_errors=validation_errors,
        start_error=float(runs.errors(start).mean()),
        discretisation_error=fit.runs.discretisation_error(unit),
        evaluations=watch.seen,
        stopped=stopped,
    )


def rigid_errors(recordings: Sequence[Recording], split: Split, seed: int = 0) -> tuple[float, float | None]:
    """What the best servo model with Coulomb and viscous friction (M1) comes to on the same runs [rad]: on those it is
    fitted to, and on those held out. A servo has no springs behind its gear: what it misses is the compliance."""
    runs = [as_own_motor(recording) for recording in recordings]
    train = [run for run in runs if run.id in split.train]
    request = IdentificationRequest(
        servo=train[0].settings.servo, models=(RIGID_MODEL,), validation="none", trials=RIGID_TRIALS, seed=seed
    )
    model = identify(request, train).results[0].model
    held = [run for run in runs if run.id in split.validation]
    return evaluate(model, train).mean_mae, evaluate(model, held).mean_mae if held else None


class _Stopped(Exception):
    """Somebody asked to stop."""


class _Watch:
    """Counts candidates and tells whoever waits."""

    def __init__(
        self,
        budget: int,
        on_progress: Callable[[float, float], None] | None,
        should_stop: Callable[[], bool] | None,
    ) -> None:
        self.budget, self.seen, self.least = budget, 0, math.inf
        self._on_progress, self._should_stop = on_progress, should_stop

    def saw(self, count: int, least: float) -> None:
        """Candidates and the least of their losses [rad]; raises _Stopped."""
        self.seen += count
        self.least = min(self.least, least)
        if self._on_progress is not None:
            self._on_progress(min(1.0, self.seen / self.budget), self.least)
        if self._should_stop is not None and self._should_stop():
            raise _Stopped


def _led_by_springs(fit: _Fit, request: CompliantRequest) -> Array:
    """The start with its springs where they fit best alone, from which the others are not far."""
    others = [p.name not in request.start.actuator.parameters() for p in fit.free]
    if not any(others) or all(others):
        return fit.start
    alone = _Fit(fit.runs, replace(request, groups=(SPRINGS,)), fit.scale, fit.watch)
    found, _ = alone.descended(alone.start)
    values = fit.parameters.with_values(dict(zip((p.name for p in alone.free), np.exp(found).tolist(), strict=True)))
    return np.log(values.vector())


def _doubts(steps: float, train: Array, validation: Array) -> str:
    """Why the fit may not be trusted; steps: what it leaves unexplained, in steps of the encoder."""
    if steps > UNEXPLAINED_STEPS:
        return (
            f"the fit leaves {steps:.2g} steps of the encoder unexplained: something acts that is not among these "
            "numbers, or the search found no better optimum; identify more of them, or give it more trials"
        )
    if len(validation) and validation.mean() > WORSE_HELD_OUT * train.mean():
        return (
            f"the runs held out are {validation.mean() / train.mean():.0f} times as far off as those fitted to, which "
            "tell too little: record more presets, loads and trajectories"
        )
    return ""


class _Fit:
    """Losses over the logarithms of the free numbers, (p,), and the best seen."""

    def __init__(self, runs: CompliantRuns, request: CompliantRequest, scale: float, watch: _Watch) -> None:
        """scale: ε of the smooth loss, an encoder's step [rad]."""
        self.runs, self.scale, self.watch = runs, scale, watch
        self.parameters = request.parameters
        self._unit = request.start
        self.free = self.parameters.free
        self.start = np.log(self.parameters.vector())
        self.best, self.least = self.start, math.inf
        low, high = np.log(self.parameters.bounds()).T
        self.bounds = np.column_stack([np.maximum(low, self.start - SPAN), np.minimum(high, self.start + SPAN)])

    def unit(self, point: Array) -> CompliantUnit:
        """Of one candidate."""
        values = np.clip(np.exp(point), *self.parameters.bounds().T)
        return unit_with(self._unit, self.parameters.with_vector(values))

    def residuals(self, points: Array) -> list[Array]:
        """Of each run, (samples, candidates) [rad]."""
        return self.runs.residuals([self.unit(point) for point in points])

    def losses(self, points: Array) -> Array:
        """Mean over runs of the mean smooth loss, (candidates,) [rad]; raises _Stopped."""
        values = np.mean([smooth_loss(each, self.scale).mean(axis=0) for each in self.residuals(points)], axis=0)
        least = int(np.argmin(values))
        if values[least] < self.least:
            self.best, self.least = points[least].copy(), float(values[least])
        self.watch.saw(len(points), float(values[least]))
        return values

    def differences(self, point: Array) -> tuple[list[Array], list[Array]]:
        """Jacobians (samples, p) and residuals (samples,) of each run."""
        count = len(point)
        ends = np.clip(
            np.repeat(point[None], 2 * count, axis=0) + DIFFERENCE * np.vstack([np.eye(count), -np.eye(count)]),
            *self.bounds.T,
        )
        apart = np.diag(ends[:count]) - np.diag(ends[count:])
        found = self.residuals(np.vstack([point, ends]))
        jacobians = [(each[:, 1 : 1 + count] - each[:, 1 + count :]) / apart for each in found]
        return jacobians, [each[:, 0] for each in found]

    def equations(self, point: Array) -> tuple[Array, Array]:
        """Normal matrix and slope of the mean loss; raises _Stopped."""
        jacobians, residuals = self.differences(point)
        self.watch.saw(2 * len(point) + 1, math.inf)
        normal, slope = np.zeros((len(point), len(point))), np.zeros(len(point))
        for jacobian, residual in zip(jacobians, residuals, strict=True):
            more, rise = normal_equations(jacobian, residual, self.scale)
            normal += more / (len(residual) * len(residuals))
            slope += rise / (len(residual) * len(residuals))
        return normal, slope

    def descended(self, point: Array, effort: Effort = EFFORT) -> tuple[Array, int]:
        """Where steps lead, and how many candidates they took; raises _Stopped."""
        before = self.watch.seen
        found, _ = descend(point, self.bounds, self.losses, self.equations, effort)
        return found, self.watch.seen - before

    def evidence(self, recordings: Sequence[Recording]) -> Evidence:
        """Intervals at the best, and what these runs leave open."""
        point = self.best
        jacobians, residuals = self.differences(point)
        samples = sum(len(each) for each in residuals)
        every = np.concatenate(residuals)
        variance = max(float(every @ every) / samples, self.scale**2 / 12.0)
        alike = correlation_length(residuals)
        widths = np.full(len(point), 2.0 * math.log(UNKNOWN_FACTOR))
        seen = Sensitivity(
            parameters=self.free,
            widths=widths,
            jacobian=np.concatenate(jacobians) * widths,
            residuals=tuple(residuals),
        )
        errors, partners = standard_errors(seen, variance * alike)
        certain = {p.name: place for place, p in enumerate(self.free)}
        unit = self.unit(point)
        values = unknowns(unit, ()).numbers()

        def of(p: Parameter) -> ParameterEvidence:
            place = certain.get(p.name)
            return ParameterEvidence(
                name=p.name,
                symbol=p.symbol,
                unit=p.unit,
                value=values[p.name],
                initial=p.value,
                lower=p.lower,
                upper=p.upper,
                frozen=place is None,
                at_bound="" if place is None else _bound_reached(p, point[place]),
                standard_error=math.nan if place is None else values[p.name] * errors[place],
                traded_with=() if place is None else partners[place],
            )

        return Evidence(
            parameters=tuple(of(p) for p in self.parameters.values()),
            conditions=missing_conditions(unit.actuator, {p.name for p in self.free}, recordings),
            noise=math.sqrt(variance),
            samples=samples,
            independent=samples / alike,
        )


def missing_conditions(actuator: CompliantActuator, free: set[str], recordings: Sequence[Recording]) -> tuple[str, ...]:
    """What runs lack to determine an actuator's free numbers, each with the remedy; empty when nothing is missed."""
    found: list[str] = []
    springs = [p.symbol for p in actuator.parameters().values() if p.name in free]
    presets = {r.settings.preset for r in recordings}
    if actuator.preset_unit and len(presets) == 1 and len(springs) > 1:
        found.append(f"every run has the same stiffness preset: record another one, for {', '.join(springs)}")
    loads = {(r.bench.inertia, r.bench.gravity_torque) for r in recordings}
    if len(loads) == 1 and springs:
        found.append(f"every run has the same load: record with another mass or length, for {', '.join(springs)}")
    return tuple(found)


def _bound_reached(parameter: Parameter, point: float) -> str:
    low, high = math.log(parameter.lower), math.log(parameter.upper)
    if point - low < AT_BOUND_FRACTION * (high - low):
        return "lower"
    return "upper" if high - point < AT_BOUND_FRACTION * (high - low) else ""
