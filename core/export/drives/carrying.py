"""Carry values over to an engine's update order and time step, and state the errors with and without.

    found = compared(held, bench, settings, lambda runs: errors_of_the_engine_on(runs))
    found.plain.mean_mrad, found.carried

An engine with a long time step or another update order moves the identified values differently. Carried-over values
absorb most of that error. They are valid for this update order and time step only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from core.base.arrays import Array
from core.export.approximation import MOTOR, Approximation
from core.export.protocol import checked_runs
from core.export.references import GridRun, held_back_grid
from core.servo.bench import Bench
from core.servo.model import ServoModel
from core.servo.settings import ServoSettings
from core.servo.terms import FRICTION_TERMS

Errors = Callable[[ServoModel], list[Array]]
"""Maps a model to its position errors in an engine [rad], one array per run."""

WORTH_CARRYING = 1e-4
"""Mean error above which values are carried over [rad]."""
RANGE = math.log(3.0)
"""Logarithm of the factor by which a value may change in either direction."""
PRIOR = 1e-2
"""Weight of the values' logarithms [rad]: small, so it fixes only what the motions leave undetermined."""
SHIFT = 1e-3
"""Finite-difference step of the logarithms."""


@dataclass(frozen=True, kw_only=True)
class Carried:
    """Identified values in an engine, and the values carried over to it."""

    plain: Approximation
    carried: Approximation | None
    """None if the plain values are as good."""

    def statement(self, file: str) -> str:
        """State the errors of both; `file` holds the carried-over values."""
        plain, carried = self.plain, self.carried
        said = f"{plain.mean_mrad:.2f} mrad on average, {plain.worst_mrad:.2f} mrad in the worst run"
        if carried is None:
            return said
        return (
            f"{said}; with the values carried over to that time step (`{file}`), {carried.mean_mrad:.2f} mrad and "
            f"{carried.worst_mrad:.2f} mrad"
        )


def compared(
    start: ServoModel, bench: Bench, settings: ServoSettings, errors_on: Callable[[list[GridRun]], Errors]
) -> Carried:
    """Measure an engine's error with the values of `start`, and carry them over if that pays off; takes a second.

    The fit uses, and both errors are over, the runs of a check. Carried-over values are kept only if they also reduce
    the error at a load and gain that the fit did not use.
    """
    runs = list(checked_runs(bench, settings).values())
    errors, held_back = errors_on(runs), errors_on(held_back_grid(bench, settings))

    def measured(model: ServoModel, refitted: Sequence[str] = ()) -> Approximation:
        return Approximation(
            model=model,
            refitted=tuple(refitted),
            errors=mean_magnitudes(errors(model)),
            runs=tuple(runs),
            held_back_error=float(mean_magnitudes(held_back(model)).mean()),
        )

    plain = measured(start)
    if plain.errors.mean() <= WORTH_CARRYING:
        return Carried(plain=plain, carried=None)
    names = [name for name in (*FRICTION_TERMS[start.friction], *MOTOR) if start.values[name] > 0.0]
    carried = measured(_carried_over(start, names, errors), names)
    return Carried(plain=plain, carried=carried if carried.held_back_error < plain.held_back_error else None)


def mean_magnitudes(errors: Sequence[Array]) -> Array:
    """Return the mean absolute error of each run, in the unit of `errors`; (runs,)."""
    return np.array([np.abs(run).mean() for run in errors])


def _carried_over(start: ServoModel, names: Sequence[str], errors: Errors) -> ServoModel:
    """Minimise the errors over the logarithms of the named values by Gauss–Newton steps."""
    # Importing it takes half a second, which most exports do not need.
    from scipy.optimize import least_squares

    origin = np.array([start.values[name] for name in names])

    def moved(shift: Array) -> ServoModel:
        values = dict(zip(names, (origin * np.exp(shift)).tolist(), strict=True))
        return start.with_values(values)

    def residuals(shift: Array) -> Array:
        return np.concatenate([*errors(moved(shift)), PRIOR * shift])

    def jacobian(shift: Array) -> Array:
        here = residuals(shift)
        return np.stack([residuals(shift + SHIFT * way) - here for way in np.eye(len(shift))], axis=1) / SHIFT

    found = least_squares(residuals, np.zeros(len(names)), jacobian, (-RANGE, RANGE), max_nfev=12)
    return moved(found.x)
