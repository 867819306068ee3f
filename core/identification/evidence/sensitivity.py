"""Sensitivity of the simulated motion to each parameter, and the resulting intervals.

The Jacobian of every simulated position with respect to every free parameter comes from central differences at the
optimum. Intervals are linearised: the variance of the residuals, for the number of independent samples, through the
inverse of JᵀJ. Added are the errors of readings in whole encoder steps, of the time step, and of a control period that
is not known. A parameter whose 95 % interval would be as wide as its catalogue bounds is not determined by these runs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from core.base.arrays import Array
from core.identification.evidence.model import NORMAL_95, Evidence, ParameterEvidence
from core.identification.request import tunable_parameters
from core.identification.runs.conditions import between_samples, missing_conditions
from core.identification.search.objective import DIVERGED, Batch
from core.identification.search.prior import catalogue_width
from core.motion.recording import Recording
from core.motion.simulation import on_grid
from core.servo.actuator import DEFAULT_PERIOD
from core.servo.model import ServoModel
from core.servo.parameters import Parameter, ParameterSet
from core.servo.terms import Supply

DIFFERENCE = 1e-6
"""Step of the differences, as a share of the catalogue's bounds.

It is small because stiction makes the motion a kinked function of the parameters: larger ones hide exact trade-offs.
"""

MOST_STEPS = 6_000_000
"""Largest number of time steps, substeps included, simulated for one Jacobian, which takes a fraction of a second.

Of more recordings, a random selection is taken.
"""

PARTNER_SHARE = 0.05
"""Share of an undetermined direction from which parameters count as compensating each other."""

TRADED = 0.9
"""Correlation with others from which a parameter at a bound cannot be distinguished from them."""

RESTING = 0.1
"""Motion between two samples, in encoder steps, below which a servo rests."""

HARMONICS = np.arange(1.0, 6.0)
"""Harmonics of the rounding error that count; together nine tenths of its variance."""

SHORTER = 2.5
"""Factor on the number of time steps with which their error is estimated."""

SMALLEST = 1e-9
"""Share of the largest singular value below which others are zero."""


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """Sensitivity at an optimum: jacobian (n, p) [rad per catalogue interval] and residuals [rad] of each run."""

    parameters: tuple[Parameter, ...]
    widths: Array
    """Widths of the catalogue's bounds, (p,) in the parameters' units."""
    jacobian: Array
    residuals: tuple[Array, ...]
    all_seen: bool = True
    """True if these are all recordings rather than a selection."""
    positions: tuple[Array, ...] = ()
    """Simulated motion of each run [rad]."""


@dataclass(frozen=True, eq=False)
class Differences:
    """Candidates whose motions, subtracted, give the Jacobian at a point; a side beyond a bound is left out."""

    widths: Array
    """Widths of the catalogue's bounds, (p,) in the parameters' units."""
    matrix: Array
    """The point, then each parameter lower and higher, (1 + 2p, p)."""
    spacing: Array
    """Distance between the two, in catalogue intervals, (p,)."""

    @classmethod
    def at(cls, model: ServoModel, vector: Array, difference: float, widths: Array | None = None) -> Differences:
        """Return differences about values of a model's free parameters.

        Args:
            model: The model.
            vector: Values, (p,).
            difference: Step, as a share of the catalogue's bounds.
            widths: Widths of those bounds, if known already.
        """
        if widths is None:
            catalogue = tunable_parameters(model.spec, contact=model.contact)
            widths = np.array([catalogue_width(p, catalogue) for p in model.parameters.free])
        low, high = model.parameters.bounds().T
        below, above = np.maximum(vector - difference * widths, low), np.minimum(vector + difference * widths, high)
        # A parameter between equal bounds, or at one by rounding, still needs a step.
        above = np.where(above > below, above, below + difference * widths)
        count = len(vector)
        matrix = np.repeat(vector[None], 1 + 2 * count, axis=0)
        matrix[1 + 2 * np.arange(count), np.arange(count)] = below
        matrix[2 + 2 * np.arange(count), np.arange(count)] = above
        return cls(widths, matrix, (above - below) / widths)

    def split(self, residuals: Array) -> tuple[Array, Array]:
        """Split residuals (n, 1 + 2p) into Jacobian (n, p), 0 where a simulation diverged, and residuals (n,)."""
        jacobian = (residuals[:, 2::2] - residuals[:, 1::2]) / self.spacing
        if max(residuals.max(), -residuals.min()) >= DIVERGED:
            jacobian[(np.abs(residuals[:, 1:]) >= DIVERGED).reshape(len(jacobian), -1, 2).any(axis=2)] = 0.0
        # A copy, since a view would keep the motions of all candidates of every run in memory.
        return jacobian, residuals[:, 0].copy()


def sensitivity(
    model: ServoModel,
    recordings: Sequence[Recording],
    *,
    dt: float | None = None,
    supply: Supply = "logged",
    threads: int | None = None,
) -> Sensitivity:
    """Return the differences of all positions at a model's values.

    Of recordings that take more than MOST_STEPS to simulate, a random selection is taken.
    """
    differences = Differences.at(model, model.parameters.vector(), DIFFERENCE)
    chosen = _selection(recordings, len(differences.matrix))
    batch = Batch(model, chosen, dt=dt, supply=supply, threads=threads)
    ends = np.cumsum(batch.samples)
    jacobian = np.empty((ends[-1], len(differences.widths)))

    def of_run(run: int, residuals: Array) -> Array:
        jacobian[ends[run] - len(residuals) : ends[run]], residual = differences.split(residuals)
        return residual

    found = batch.residuals(differences.matrix, of_run)
    return Sensitivity(
        parameters=model.parameters.free,
        widths=differences.widths,
        jacobian=jacobian,
        residuals=tuple(found),
        all_seen=len(chosen) == len(recordings),
        positions=tuple(residual + batch.measured(run) for run, residual in enumerate(found)),
    )


def judge(
    model: ServoModel,
    initial: ParameterSet,
    recordings: Sequence[Recording],
    *,
    dt: float | None = None,
    supply: Supply = "logged",
    threads: int | None = None,
    others: Sequence[Array] = (),
    scatter: Sequence[Array] = (),
    beyond: Array | None = None,
) -> Evidence:
    """Return the evidence for a model from the runs that it was fitted to.

    Args:
        model: Fitted model.
        initial: Values with which its search started.
        recordings: Runs that it was fitted to.
        dt: Time between samples [s], see `Batch`.
        supply: Supply voltage, see `core.motion.supply.supply_of`.
        threads: Number of threads. None: all processors.
        others: Other optima, (n_free,) each. Those that the runs cannot distinguish from this one, by the likelihood
            ratio, widen the intervals to include theirs.
        scatter: Ends (n_free,) of the descents of a search that did not confirm its best. Their distance is an error of
            the search, which is added to that of the runs.
        beyond: Optimum (n_free,) with wider bounds where values lie at theirs. A bound that holds a value back biases
            what trades with it, so the intervals include this optimum as well.
    """
    options: dict[str, Any] = {"dt": dt, "supply": supply, "threads": threads}
    found = sensitivity(model, recordings, **options)
    seen = sum(len(residual) for residual in found.residuals)
    samples = seen if found.all_seen else sum(on_grid(recording, dt)[0].samples for recording in recordings)
    floor = model.spec.encoder_step**2 / 12.0
    residuals = np.concatenate(found.residuals)
    variance = max(float(residuals @ residuals) / seen, floor)
    alike = correlation_length(found.residuals)
    variance_of_mean = variance * alike * seen / samples
    alone, partners = standard_errors(found, variance_of_mean)
    here = model.parameters.vector()
    errors = alone
    for other in (*others, *(() if beyond is None else (beyond,))):
        moved = sensitivity(model.with_vector(other), recordings, **options)
        excess = _excess(found, moved, model.spec.encoder_step) * samples / (seen * alike)
        if excess < NORMAL_95**2:
            theirs, _ = standard_errors(moved, variance_of_mean)
            errors = _wide_enough(errors, theirs, excess, other - here, found.widths)
    errors = np.sqrt(np.square(errors) + np.square(errors_of_rounding(found, model.spec.encoder_step)))
    for variant in variants(model):
        errors = errors + np.abs(shift_of_optimum(found, variant, recordings, **options)) / NORMAL_95
    if blurred := between_samples(model, recordings):
        errors = errors + np.abs(shift_of_optimum(found, model, blurred, **options)) / NORMAL_95
    errors = _at_most_half(errors, found.widths)
    if scatter:
        missed = np.square(np.array(scatter) - here).mean(axis=0)
        errors = _at_most_half(np.sqrt(np.square(errors) + missed), found.widths)
    partners = [known or more for known, more in zip(partners, _opened(found, alone, errors), strict=True)]
    certain = {p.name: (error, with_) for p, error, with_ in zip(found.parameters, errors, partners, strict=True)}
    better, moved_with = _better_beyond(found, here, alone, here if beyond is None else beyond)
    return Evidence(
        parameters=tuple(
            replace(
                _evidence_of(p, initial[p.name].value, *certain.get(p.name, (math.nan, ()))),
                better_beyond=better.get(p.name),
                moved_with=moved_with if p.name in better else (),
            )
            for p in model.parameters.values()
        ),
        conditions=missing_conditions(model, recordings),
        noise=math.sqrt(variance),
        samples=samples,
        independent=samples / alike,
    )


def _evidence_of(
    parameter: Parameter, initial: float, standard_error: float, traded_with: tuple[str, ...]
) -> ParameterEvidence:
    return ParameterEvidence(
        name=parameter.name,
        symbol=parameter.symbol,
        unit=parameter.unit,
        value=parameter.value,
        initial=initial,
        lower=parameter.lower,
        upper=parameter.upper,
        frozen=parameter.frozen,
        at_bound=_bound_reached(parameter),
        standard_error=standard_error,
        traded_with=traded_with,
    )


def _better_beyond(
    found: Sensitivity, here: Array, errors: Sequence[float], beyond: Array
) -> tuple[dict[str, float], tuple[str, ...]]:
    """Return the values beyond their bounds by name, and the symbols that leave their intervals with them."""
    better = {
        p.name: float(value)
        for p, value in zip(found.parameters, beyond, strict=True)
        if p.at_bound and not p.lower <= value <= p.upper
    }
    away = np.abs(beyond - here) > NORMAL_95 * np.array(errors)
    moved = [p.symbol for p, far in zip(found.parameters, away, strict=True) if far and p.name not in better]
    return better, tuple(moved)


def errors_of_rounding(found: Sensitivity, step: float) -> Array:
    """Return the standard errors that readings in whole encoder steps cause, (p,) in the parameters' units.

    The rounding error is a sawtooth of the angle, here with a random phase. It averages out in motion, but at
    rest all readings share one error, unless noise lets them change (Widrow and Kollár 2008, "Quantization Noise").

    Args:
        found: Sensitivity at the optimum.
        step: Encoder step [rad].
    """
    resting = [np.abs(np.diff(position)) < RESTING * step for position in found.positions]
    changes = np.concatenate([np.diff(r)[rest] for r, rest in zip(found.residuals, resting, strict=True)]) / step
    noises = np.linspace(0.0, 1.0, 200)
    weights = np.exp(-np.square(2.0 * np.pi * np.outer(noises, HARMONICS))) / (2.0 * np.pi**2 * HARMONICS**2)
    # Readings at rest vary by the noise and the part of the rounding error that is not common to them.
    varying = np.square(noises) + weights[0].sum() - weights.sum(axis=1)
    seen = 0.5 * np.mean(np.square(changes)) if len(changes) else 0.0
    weights = weights[np.searchsorted(varying, seen).clip(max=len(noises) - 1)]
    phases = np.outer(np.concatenate(found.positions), 2.0 * np.pi / step * HARMONICS)
    waves = np.linalg.lstsq(found.jacobian, np.hstack([np.cos(phases), np.sin(phases)]), rcond=SMALLEST)[0]
    return step * found.widths * np.sqrt(np.square(waves) @ np.tile(weights, 2))


def variants(model: ServoModel) -> list[ServoModel]:
    """Return models of which the runs may as well be: with shorter time steps, with a law that acts once a period.

    A motion that nearly stops depends on where in a step it does, so the shorter one is not a whole part of the other.
    The period is the usual one, if the servo's is not known.
    """
    if not model.leapfrog:
        return []
    found = [replace(model, substeps=math.ceil(SHORTER * model.substeps))]
    if not model.control.control_period and "control_period" not in model.parameters:
        found.append(replace(model, control=replace(model.control, control_period=DEFAULT_PERIOD)))
    return found


def shift_of_optimum(found: Sensitivity, variant: ServoModel, recordings: Sequence[Recording], **options: Any) -> Array:
    """Return how far the optimum of another model is from this one, (p,) in the parameters' units."""
    batch = Batch(variant, _selection(recordings, 1 + 2 * len(found.widths)), **options)
    moved = batch.residuals(variant.parameters.vector()[None], lambda _, residuals: residuals[:, 0])
    difference = np.concatenate(found.residuals) - np.concatenate(moved)
    return found.widths * np.linalg.lstsq(found.jacobian, difference, rcond=SMALLEST)[0]


def correlation_length(residuals: Sequence[Array]) -> float:
    """Return how many neighbouring samples count as one: 1 + 2·Σρ_k, summed to five times itself (Sokal 1997)."""
    longest = max(len(residual) for residual in residuals)
    total = np.zeros(longest)
    for residual in residuals:
        size = 1 << (2 * len(residual) - 1).bit_length()
        spectrum = np.fft.rfft(residual, size)
        total[: len(residual)] += np.fft.irfft(spectrum * np.conj(spectrum), size)[: len(residual)]
    if not total[0] > 0.0:
        return 1.0
    lengths = 2.0 * np.cumsum(total / total[0]) - 1.0
    enough = np.arange(longest) >= 5.0 * lengths
    return float(max(1.0, lengths[int(enough.argmax()) if enough.any() else -1]))


def standard_errors(found: Sensitivity, variance: float) -> tuple[list[float], list[tuple[str, ...]]]:
    """Return standard errors in the parameters' units, and the trade-offs of undetermined parameters.

    Args:
        found: Sensitivity at the optimum.
        variance: Variance of the residuals [rad²], times the number of samples that count as one.

    Returns:
        Standard errors, and for each parameter the symbols with which it is traded if it is not determined or at a
        bound.
    """
    jacobian = found.jacobian
    count = jacobian.shape[1]
    _, found_values, directions = np.linalg.svd(np.linalg.qr(jacobian, mode="r"), full_matrices=True)
    singular = np.zeros(count)
    singular[: len(found_values)] = found_values
    with np.errstate(divide="ignore"):
        spread = np.where(singular > SMALLEST * singular[0], variance / singular**2, np.inf)
    wide = (0.5 / NORMAL_95) ** 2
    shares = directions**2
    with np.errstate(invalid="ignore"):
        # Each row is a direction with its contribution to each parameter's variance.
        added = np.where(shares > SMALLEST, shares * spread[:, None], 0.0)
    scaled = added.sum(axis=0)
    with np.errstate(divide="ignore"):
        alone = variance / (jacobian**2).sum(axis=0)
    errors: list[float] = []
    partners: list[tuple[str, ...]] = []
    for place, width in enumerate(found.widths):
        if scaled[place] <= wide:
            errors.append(float(width * math.sqrt(scaled[place])))
            partners.append(_correlated(found, directions, spread, place) if found.parameters[place].at_bound else ())
            continue
        errors.append(math.inf)
        partners.append(() if alone[place] > wide else _partners(found, shares, added, place))
    return errors, partners


def deviance_factor(residuals: Array, scale: float) -> float:
    """Return the factor from a rise of the summed smooth loss [rad] to χ² at the optimum, for independent samples.

    It holds for any distribution of the residuals (Heritier and Ronchetti 1994).

    Args:
        residuals: Residuals [rad], (n,).
        scale: ε of the loss [rad].
    """
    size = np.sqrt(residuals**2 + scale**2)
    slope, curvature = np.mean((residuals / size) ** 2), np.mean(scale**2 / size**3)
    return 2.0 * float(curvature / max(slope, np.finfo(np.float64).tiny))


def _excess(found: Sensitivity, other: Sensitivity, scale: float) -> float:
    """Return twice the logarithm of the likelihood ratio of the smooth loss, for independent samples."""
    ours, theirs = (np.sqrt(np.concatenate(s.residuals) ** 2 + scale**2) for s in (found, other))
    return deviance_factor(np.concatenate(found.residuals), scale) * float(np.sum(theirs - ours))


def _wide_enough(
    errors: Sequence[float], theirs: Sequence[float], excess: float, apart: Array, widths: Array
) -> list[float]:
    """Return standard errors whose intervals include another optimum's, infinite beyond half of the bounds."""
    share = math.sqrt(1.0 - max(excess, 0.0) / NORMAL_95**2)
    return _at_most_half(np.maximum(errors, np.abs(apart) / NORMAL_95 + share * np.array(theirs)), widths)


def _at_most_half(errors: Array, widths: Array) -> list[float]:
    """Return standard errors, infinite where the interval is wider than that of the catalogue."""
    return np.where(NORMAL_95 * errors > 0.5 * widths, np.inf, errors).tolist()


def _opened(found: Sensitivity, before: Sequence[float], after: Sequence[float]) -> list[tuple[str, ...]]:
    """Return, for each parameter that only other optima leave open, the symbols of the others that they leave open."""
    opened = [
        p.symbol if math.isfinite(b) and not math.isfinite(a) else ""
        for p, b, a in zip(found.parameters, before, after, strict=True)
    ]
    return [tuple(other for other in opened if other and other != symbol) if symbol else () for symbol in opened]


def _partners(found: Sensitivity, shares: Array, added: Array, place: int) -> tuple[str, ...]:
    """Return symbols of the parameters that compensate one: those of the direction that leaves it most open."""
    # Of entirely open directions, take the one in which it has the largest share.
    candidates = np.flatnonzero(added[:, place] == added[:, place].max())
    direction = shares[candidates[shares[candidates, place].argmax()]]
    return tuple(p.symbol for i, p in enumerate(found.parameters) if i != place and direction[i] >= PARTNER_SHARE)


def _correlated(found: Sensitivity, directions: Array, spread: Array, place: int) -> tuple[str, ...]:
    """Return symbols of the parameters whose estimates are closely correlated with that of a determined one."""
    known = np.isfinite(spread)
    covariance = (directions[known].T * spread[known]) @ directions[known]
    size = np.sqrt(np.maximum(np.diag(covariance), np.finfo(np.float64).tiny))
    close = np.abs(covariance[place]) > TRADED * size[place] * size
    return tuple(p.symbol for i, p in enumerate(found.parameters) if i != place and close[i])


def _selection(recordings: Sequence[Recording], variants: int) -> list[Recording]:
    """Return as many recordings as can be simulated, always the same, at random so that no condition is left out."""
    order: list[int] = np.random.default_rng(0).permutation(len(recordings)).tolist()
    steps = np.cumsum([recordings[i].samples * variants for i in order])
    count = max(1, int((steps <= MOST_STEPS).sum()))
    return [recordings[i] for i in sorted(order[:count])]


def _bound_reached(parameter: Parameter) -> str:
    if not parameter.at_bound:
        return ""
    return "lower" if parameter.value - parameter.lower <= parameter.upper - parameter.value else "upper"
