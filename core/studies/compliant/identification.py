"""Identify a compliant actuator from bench recordings: its springs, the losses of its link and, optionally, its motors.

A recording's goal is the equilibrium position, its stiffness preset is known and the link's position is measured. The
pendulum's gravity loads the springs. `core.studies.compliant.runs` simulates candidates, and the search moves the
logarithms of the numbers. Damped Gauss–Newton steps fit the springs alone, then all numbers, from that result, from the
start values, from random starts and from CMA-ES around the best, in the order of
`core.identification.search.search`. The last steps use the finest time step. Intervals follow from JᵀJ.

Requirements on the runs: small deflections determine a stiffness, but not the two numbers of a stiffening spring, so
use two or more presets and loads, and swings to both sides. At a preset of 0 the two springs of an antagonist pair have
the same deflection and cannot be separated. A motor's inertia needs fast goals, its friction needs goals that reverse.
Its damping and its controller's k_d act as one until a drop with the torque off. Operation mode 3 shows nothing of a
motor, because motors are ideal there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from core.base.arrays import Array
from core.base.errors import IdentificationError, InputError
from core.identification.evaluate import evaluate
from core.identification.evidence.model import Evidence, ParameterEvidence
from core.identification.evidence.sensitivity import Sensitivity, correlation_length, standard_errors
from core.identification.identify import identify
from core.identification.request import IdentificationRequest
from core.identification.runs.conditions import as_own_motor, check_motion
from core.identification.runs.split import DEFAULT_RULE, Split, split_recordings
from core.identification.search.search import search
from core.identification.search.steps import Effort, descend, normal_equations, one_blas_thread, smooth_loss
from core.motion.recording import Recording
from core.servo.catalogue import load_servo
from core.servo.parameters import AT_BOUND_FRACTION, Parameter, ParameterSet
from core.studies.compliant.elastic import CompliantActuator
from core.studies.compliant.files import CompliantUnit, unit_to_json
from core.studies.compliant.modes import Mode
from core.studies.compliant.runs import LINK, SPRINGS, CompliantRuns, require_runs_of, unit_with, unknowns

SPAN = math.log(100.0)
"""Numbers are searched between 1/100 and 100 times their start value, within their bounds."""
UNKNOWN_FACTOR = 2.0
"""A number whose 95 % interval exceeds half or double its value is not determined."""
TRIALS_PER_PARAMETER = 120
"""Default number of simulated candidates per free number."""
EFFORT = Effort(steps=30, enough=1e-4, dampings=(1e-3, 1e-1, 1e1, 1e3), shares=(1.0, 0.3))
POLISH = Effort(steps=4, enough=1e-4, dampings=(1e-6, 1e-3, 1e-1, 1e1), shares=(1.0, 0.3))
DIFFERENCE = 1e-3
"""Finite-difference step of a logarithm; dry friction makes smaller ones noisy."""
UNEXPLAINED_STEPS = 2.0
"""Residual, in encoder steps, above which a fit is reported as doubtful."""
WORSE_HELD_OUT = 3.0
"""Ratio of the errors of held-out and fitted runs above which a warning is given."""
RIGID_MODEL = "m1"
RIGID_TRIALS = 2000


@dataclass(frozen=True, kw_only=True)
class CompliantRequest:
    """Request for the identification of a compliant actuator."""

    start: CompliantUnit
    """Start values of the search, and values of the numbers that are not identified."""
    groups: tuple[str, ...] = (SPRINGS, LINK)
    """Groups to identify, see `core.studies.compliant.runs`."""
    mode: Mode = Mode.PID_EQ_PRES
    """Operation mode. 6: motors with dynamics; 3: ideal motors."""
    fixed: tuple[tuple[str, float], ...] = ()
    """Numbers held at a value."""
    freed: tuple[str, ...] = ()
    """Numbers that are free although held by default, see `core.studies.compliant.runs.HELD`."""
    validation: str = DEFAULT_RULE
    """Rule of `split_recordings`."""
    trials: int | None = None
    """Number of simulated candidates. None: from the number of parameters."""
    seed: int = 0
    dt: float | None = None
    """Time step [s]. None: that of regular recordings."""
    threads: int | None = None

    def __post_init__(self) -> None:
        if self.trials is not None and self.trials < 1:
            raise IdentificationError(f"{self.trials} trials are not possible; use 1 or more")
        if not self.parameters.free:
            raise IdentificationError("every number is held; leave at least one free")

    @property
    def parameters(self) -> ParameterSet:
        """Parameters with start values, bounds and held ones; raises IdentificationError for bad names or values."""
        found = unknowns(self.start, self.groups, self.freed)
        try:
            found = found.frozen_at(dict(self.fixed))
        except InputError as error:
            raise IdentificationError(str(error)) from None
        unit_with(self.start, found)
        return found


@dataclass(frozen=True, kw_only=True, eq=False)
class CompliantIdentification:
    """Result of the identification of a compliant actuator."""

    request: CompliantRequest
    split: Split
    unit: CompliantUnit
    evidence: Evidence
    """Intervals and warnings; half widths are those of a number known up to a factor."""
    train_errors: Array
    """Mean absolute position error of each fitted run [rad]."""
    validation_errors: Array
    """Mean absolute position error of each held-out run [rad], shape (0,) if there is none."""
    start_error: float
    """Mean error of the start values on the fitted runs [rad]."""
    discretisation_error: float
    """Change by time steps a quarter as long [rad]."""
    evaluations: int
    stopped: bool

    @property
    def train_mae(self) -> float:
        """Mean error on the fitted runs [rad]."""
        return float(self.train_errors.mean())

    @property
    def validation_mae(self) -> float | None:
        """Mean error on the held-out runs [rad]; None if there is none."""
        return float(self.validation_errors.mean()) if len(self.validation_errors) else None

    def to_json(self) -> dict[str, Any]:
        """Return plain data, identical for the same request and recordings."""
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


@one_blas_thread()
def identify_compliant(
    recordings: Sequence[Recording],
    request: CompliantRequest,
    *,
    on_progress: Callable[[float, float], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> CompliantIdentification:
    """Fit a compliant actuator to its recordings; the result is deterministic for a seed.

    Args:
        recordings: Recordings of the actuator.
        request: The request.
        on_progress: Called with the used share of the trials and the best mean loss so far [rad].
        should_stop: Polled; returns True to stop with the best result so far.

    Raises:
        IdentificationError: Recordings of another actuator.
        UnusableRuns: Runs to which no actuator can be fitted.
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
    """Return the errors of the best servo model with Coulomb and viscous friction (M1) on the same runs [rad].

    The errors are those on the fitted and on the held-out runs. A servo has no springs behind its gear, so its error
    shows the effect of the compliance.
    """
    runs = [as_own_motor(recording) for recording in recordings]
    train = [run for run in runs if run.id in split.train]
    request = IdentificationRequest(
        servo=train[0].settings.servo, models=(RIGID_MODEL,), validation="none", trials=RIGID_TRIALS, seed=seed
    )
    model = identify(request, train).results[0].model
    held = [run for run in runs if run.id in split.validation]
    return evaluate(model, train).mean_mae, evaluate(model, held).mean_mae if held else None


class _Stopped(Exception):
    """Raised when a stop was requested."""


class _Watch:
    """Counter of candidates that reports progress and checks for a stop request."""

    def __init__(
        self,
        budget: int,
        on_progress: Callable[[float, float], None] | None,
        should_stop: Callable[[], bool] | None,
    ) -> None:
        self.budget, self.seen, self.least = budget, 0, math.inf
        self._on_progress, self._should_stop = on_progress, should_stop

    def saw(self, count: int, least: float) -> None:
        """Count candidates with their smallest loss [rad]; raise _Stopped if requested."""
        self.seen += count
        self.least = min(self.least, least)
        if self._on_progress is not None:
            self._on_progress(min(1.0, self.seen / self.budget), self.least)
        if self._should_stop is not None and self._should_stop():
            raise _Stopped


def _led_by_springs(fit: _Fit, request: CompliantRequest) -> Array:
    """Return the start values with the springs fitted alone first, which brings the others close."""
    others = [p.name not in request.start.actuator.parameters() for p in fit.free]
    if not any(others) or all(others):
        return fit.start
    alone = _Fit(fit.runs, replace(request, groups=(SPRINGS,)), fit.scale, fit.watch)
    found, _ = alone.descended(alone.start)
    values = fit.parameters.with_values(dict(zip((p.name for p in alone.free), np.exp(found).tolist(), strict=True)))
    return np.log(values.vector())


def _doubts(steps: float, train: Array, validation: Array) -> str:
    """Return the reason why the fit may be wrong, or an empty text; `steps` is the residual in encoder steps."""
    if steps > UNEXPLAINED_STEPS:
        return (
            f"the fit leaves {steps:.2g} encoder steps unexplained: an effect is missing among these numbers, or the "
            "search found no better optimum; identify more numbers, or use more trials"
        )
    if len(validation) and validation.mean() > WORSE_HELD_OUT * train.mean():
        return (
            f"the error of held-out runs is {validation.mean() / train.mean():.0f} times that of the fitted runs, "
            "which determine too little: record more presets, loads and trajectories"
        )
    return ""


class _Fit:
    """Losses over the logarithms of the free numbers (p,), and the best point so far."""

    def __init__(self, runs: CompliantRuns, request: CompliantRequest, scale: float, watch: _Watch) -> None:
        """Prepare a fit; `scale` is ε of the smooth loss, an encoder step [rad]."""
        self.runs, self.scale, self.watch = runs, scale, watch
        self.parameters = request.parameters
        self._unit = request.start
        self.free = self.parameters.free
        self.start = np.log(self.parameters.vector())
        self.best, self.least = self.start, math.inf
        low, high = np.log(self.parameters.bounds()).T
        self.bounds = np.column_stack([np.maximum(low, self.start - SPAN), np.minimum(high, self.start + SPAN)])

    def unit(self, point: Array) -> CompliantUnit:
        """Return the unit of one candidate."""
        values = np.clip(np.exp(point), *self.parameters.bounds().T)
        return unit_with(self._unit, self.parameters.with_vector(values))

    def residuals(self, points: Array) -> list[Array]:
        """Return the residuals of each run, shape (samples, candidates) [rad]."""
        return self.runs.residuals([self.unit(point) for point in points])

    def losses(self, points: Array) -> Array:
        """Return the smooth loss, averaged over runs, (candidates,) [rad]; raise _Stopped if requested."""
        values = np.mean([smooth_loss(each, self.scale).mean(axis=0) for each in self.residuals(points)], axis=0)
        least = int(np.argmin(values))
        if values[least] < self.least:
            self.best, self.least = points[least].copy(), float(values[least])
        self.watch.saw(len(points), float(values[least]))
        return values

    def differences(self, point: Array) -> tuple[list[Array], list[Array]]:
        """Return Jacobian (samples, p) and residuals (samples,) of each run."""
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
        """Return normal matrix and gradient of the mean loss; raise _Stopped if requested."""
        jacobians, residuals = self.differences(point)
        self.watch.saw(2 * len(point) + 1, math.inf)
        normal, slope = np.zeros((len(point), len(point))), np.zeros(len(point))
        for jacobian, residual in zip(jacobians, residuals, strict=True):
            more, rise = normal_equations(jacobian, residual, self.scale)
            normal += more / (len(residual) * len(residuals))
            slope += rise / (len(residual) * len(residuals))
        return normal, slope

    def descended(self, point: Array, effort: Effort = EFFORT) -> tuple[Array, int]:
        """Descend from a point; return the result and the number of candidates; raise _Stopped if requested."""
        before = self.watch.seen
        found, _ = descend(point, self.bounds, self.losses, self.equations, effort)
        return found, self.watch.seen - before

    def evidence(self, recordings: Sequence[Recording]) -> Evidence:
        """Return the intervals at the best point, and what these runs leave undetermined."""
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
    """Return the conditions that the runs lack to determine the free numbers, each with its remedy."""
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
