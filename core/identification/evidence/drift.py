"""Friction that drifts with the clock: warm-up, running in, wear.

Each run shows by its error at which level of friction, a factor on all of it, the model would follow it best. Commands
reach a servo some milliseconds earlier or later from run to run, which resembles another level while it is driven, so
each run may also be shifted in time.

The logarithm of the level is taken for a stationary process of the time at which a run began (Ornstein-Uhlenbeck), so
that runs near each other share a level without a division into sessions. Its spread and time constant, and the scatter
of single runs, maximise the marginal likelihood (Rasmussen and Williams 2006, section 5.4.1), restricted to what does
not depend on the mean, which a slow drift resembles (Patterson and Thompson 1971). Single runs scatter by more than a
normal distribution allows, so levels far from the median of their neighbours are drawn in (Huber 1964).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np
from scipy.optimize import minimize

from core.base.arrays import Array
from core.identification.coverage.findings import Finding
from core.identification.evidence.sensitivity import correlation_length, deviance_factor
from core.identification.runs.folds import began
from core.identification.search.objective import Batch
from core.identification.search.steps import smooth_loss
from core.motion.recording import Recording
from core.servo.model import ServoModel
from core.servo.parameters import ParameterSet
from core.servo.terms import FRICTION_TERMS, NEUTRAL, Supply

FEWEST_RUNS, MOST_RUNS = 8, 150
"""Numbers of runs that can show a drift, and that are used at most."""
LEVELS, STEP = np.linspace(-1.0, 1.0, 81, retstep=True)
"""Logarithms of the levels that are tried, and their distance."""
SHORTEST = 1.0 / 3.0
"""Shortest time constant [h]; what changes faster is scatter of single runs."""
SIGNIFICANT = 6.0
"""Smallest gain in twice the logarithm of the likelihood to report a drift."""
MAD_TO_DEVIATION = 1.4826
"""Standard deviation of a normal distribution over its median absolute deviation."""
NEIGHBOURS, OUTLIER = 4, 2.0
"""Runs before and after one whose levels have a median with it, and the distance from this median beyond which the
level counts as at this distance, in standard deviations of the distances."""
SMALLEST = 0.02
"""Smallest change of the level to report."""
_STARTS = [(spread, time, scatter) for spread in (0.03, 0.15) for time in (0.3, 3.0) for scatter in (0.01, 0.1)]


@dataclass(frozen=True, eq=False)
class Drift:
    """Friction of runs over the clock, relative to the model's."""

    times: Array
    """Times at which the runs began, rising [s since 1970], (n,)."""
    levels: Array
    """Level of friction at these times, (n,)."""
    spread: float
    """Standard deviation of the level's logarithm."""
    time_constant: float
    """Time within which levels are alike [s]."""
    gain: float
    """Gain in twice the logarithm of the likelihood over a constant level."""


def shown_levels(
    model: ServoModel,
    recordings: Sequence[Recording],
    *,
    dt: float | None = None,
    supply: Supply = "logged",
    threads: int | None = None,
) -> tuple[Array, Array]:
    """Return the logarithm of the level at which a model follows each run best, and its standard error, (n,) each.

    Both are those of a parabola through the smallest of the losses at LEVELS and its neighbours, for the residuals of
    all runs, each shifted in time. The error is infinite for a run on which friction has no effect, and for one that is
    followed best at an end of LEVELS, since something else than friction is wrong there.
    """
    sizes = _sizes(model)
    scaled = ParameterSet([replace(p, frozen=p.name not in sizes) for p in model.parameters.values()])
    batch = Batch(model.with_parameters(scaled), recordings, dt=dt, supply=supply, threads=threads)
    scale = model.spec.encoder_step

    def best(run: int, residuals: Array) -> tuple[float, float, Array]:
        residuals = _without_shift(residuals, batch.measured(run))
        losses = smooth_loss(residuals, scale).sum(axis=0)
        place = int(losses.argmin())
        if not 0 < place < len(losses) - 1:
            return LEVELS[place], 0.0, residuals[:, place].copy()
        below, here, above = losses[place - 1 : place + 2].tolist()
        bend = below - 2.0 * here + above
        aside = 0.5 * (below - above) / bend if bend > 0.0 else 0.0
        return LEVELS[place] + aside * STEP, 0.5 * bend / STEP**2, residuals[:, place].copy()

    logs, bends, left = zip(*batch.residuals(np.exp(LEVELS)[:, None] * scaled.vector(), best), strict=True)
    factor = deviance_factor(np.concatenate(left), scale) / correlation_length(left)
    with np.errstate(divide="ignore"):
        return np.array(logs), 1.0 / np.sqrt(factor * np.maximum(bends, 0.0))


def at_level(model: ServoModel, level: float) -> ServoModel:
    """Return the model with all of its friction multiplied by a level."""
    return model.with_values({name: level * model.values[name] for name in _sizes(model)})


def _sizes(model: ServoModel) -> list[str]:
    """Return the parameters to which friction is proportional."""
    return [name for name in FRICTION_TERMS[model.friction] if name in NEUTRAL]


def _without_shift(residuals: Array, measured: Array) -> Array:
    """Return the residuals (n, levels) [rad] of one run without what a shift of its simulated motion in time explains.

    Args:
        residuals: Simulated minus measured positions.
        measured: Measured positions (n,) [rad].
    """
    velocity = np.gradient(residuals + measured[:, None], axis=0)
    squares = np.maximum(np.square(velocity).sum(axis=0), np.finfo(np.float64).tiny)
    return residuals - velocity * ((velocity * residuals).sum(axis=0) / squares)


def drift_of(times: Array, logs: Array, errors: Array) -> Drift:
    """Return the drift that the levels of runs show.

    Args:
        times: Times at which the runs began, rising [s since 1970], (n,).
        logs: Logarithms of their levels, (n,).
        errors: Standard errors of these, (n,).
    """
    hours = times / 3600.0
    apart = np.abs(hours[:, None] - hours)

    def settled(values: Array) -> tuple[float, Array]:
        """Return −2 ln of the restricted likelihood and the smoothed logarithms."""
        spread, time, scatter = np.exp(np.clip(values, -12.0, 6.0)).tolist()
        shared: Array = spread**2 * np.exp(-apart / (SHORTEST + time))
        covariance: Array = shared + np.diag(errors**2 + scatter**2)
        weights = np.linalg.solve(covariance, np.ones(len(logs)))
        left = logs - float(weights @ logs / weights.sum())
        solved = np.linalg.solve(covariance, left)
        cost = float(left @ solved + np.linalg.slogdet(covariance)[1] + np.log(weights.sum()))
        return cost, logs - left + shared @ solved

    def cost(values: Array) -> float:
        return settled(values)[0]

    def constant(scatter: Array) -> float:
        return cost(np.array([-12.0, 0.0, scatter[0]]))

    first = min(np.log(_STARTS), key=cost)
    found = minimize(cost, first, method="Nelder-Mead", options={"xatol": 0.05, "fatol": 0.05})
    without = minimize(constant, first[2:], method="Nelder-Mead", options={"xatol": 0.05, "fatol": 0.05})
    spread, time, _ = np.exp(np.clip(found.x, -12.0, 6.0)).tolist()
    return Drift(
        times=times,
        levels=np.exp(settled(found.x)[1]),
        spread=spread,
        time_constant=3600.0 * (SHORTEST + time),
        gain=float(without.fun - found.fun),
    )


def drift_findings(
    model: ServoModel,
    recordings: Sequence[Recording],
    *,
    dt: float | None = None,
    supply: Supply = "logged",
    threads: int | None = None,
) -> list[Finding]:
    """Return a finding if the friction of runs follows the time at which they began; arguments as of `Batch`."""
    dated = sorted((run for run in recordings if math.isfinite(began(run))), key=began)
    dated = dated[:: math.ceil(len(dated) / MOST_RUNS) or 1]
    times = np.array([began(run) for run in dated])
    if len(dated) < FEWEST_RUNS or not times[-1] > times[0]:
        return []
    logs, errors = shown_levels(model, dated, dt=dt, supply=supply, threads=threads)
    shown = np.isfinite(errors)
    if shown.sum() < FEWEST_RUNS:
        return []
    logs = logs[shown]
    around = [logs[max(0, k - NEIGHBOURS) : k + NEIGHBOURS + 1] for k in range(len(logs))]
    middle: Array = np.array([np.median(near) for near in around])
    far = OUTLIER * MAD_TO_DEVIATION * float(np.median(np.abs(logs - middle)))
    found = drift_of(times[shown], np.clip(logs, middle - far, middle + far), errors[shown])
    low, high = int(found.levels.argmin()), int(found.levels.argmax())
    change = found.levels[high] / found.levels[low] - 1.0
    if found.gain < SIGNIFICANT or change < SMALLEST:
        return []
    first, last = sorted((low, high))
    ends = [f"{found.levels[place]:.2f} times the model's at {_clock(found.times[place])}" for place in (first, last)]
    return [
        Finding(
            kind="residual_clock",
            severity="warning",
            text=f"friction drifts with the clock: it is {ends[0]} and {ends[1]}",
            remedy="let the servo warm up before recording, and mix loads and motions in time: what the model lacks "
            "looks alike if they were recorded one after the other",
        )
    ]


def _clock(time: float) -> str:
    return f"{datetime.fromtimestamp(time):%d %b %H:%M}"
