"""Values carried over to an engine's order of update and step, beside the identified ones, with the errors of both.

    found = compared(held, bench, settings, lambda runs: errors_of_the_engine_on(runs))
    found.plain.mean_mrad, found.carried

An engine with a coarse step or another order of update moves the identified values differently. Values carried over to
it absorb most of that error; they belong to this order and step and to nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from core.arrays import Array
from core.bench import Bench
from core.export.approximation import MOTOR, Approximation
from core.export.references import GridRun, bench_grid, held_back_grid
from core.model import ServoModel
from core.recording import ServoSettings
from core.terms import FRICTION_TERMS

Errors = Callable[[ServoModel], list[Array]]
"""Position errors [rad] that an engine makes with a model's values, one array a run."""

WORTH_CARRYING = 1e-4
"""Mean error above which values are carried over [rad]."""
RANGE = math.log(3.0)
"""A value may move by this factor either way."""
PRIOR = 1e-2
"""Weight of the values' own logarithms [rad]: it decides only what the motions leave open."""
SHIFT = 1e-3
"""Step of a derivative by differences, in logarithms."""


@dataclass(frozen=True, kw_only=True)
class Carried:
    """The identified values in an engine and those carried over to it."""

    plain: Approximation
    carried: Approximation | None
    """None where the plain values are as good."""

    def statement(self, file: str) -> str:
        """Errors of both in words; file: that of the values carried over."""
        plain, carried = self.plain, self.carried
        said = f"{plain.mean_mrad:.2f} mrad on average, {plain.worst_mrad:.2f} mrad in the worst run"
        if carried is None:
            return said
        return (
            f"{said}; with the values carried over to that step (`{file}`), {carried.mean_mrad:.2f} mrad and "
            f"{carried.worst_mrad:.2f} mrad, {1e3 * carried.held_back_error:.2f} mrad at a load and gain that the fit "
            f"has not seen ({1e3 * plain.held_back_error:.2f} mrad with the identified ones)"
        )


def compared(
    start: ServoModel, bench: Bench, settings: ServoSettings, errors_on: Callable[[list[GridRun]], Errors]
) -> Carried:
    """Measure an engine with the values of `start`, and carry them over where that is worth it and an unseen load and
    gain agree; takes a second.
    """
    runs, others = bench_grid(bench, settings), held_back_grid(bench, settings)
    errors, held_back = errors_on(runs), errors_on(others)

    def measured(model: ServoModel, refitted: Sequence[str] = ()) -> Approximation:
        return Approximation(
            model=model,
            refitted=tuple(refitted),
            errors=np.array([np.abs(run).mean() for run in errors(model)]),
            runs=tuple(runs),
            held_back_error=float(np.mean([np.abs(run).mean() for run in held_back(model)])),
        )

    plain = measured(start)
    if plain.errors.mean() <= WORTH_CARRYING:
        return Carried(plain=plain, carried=None)
    names = [name for name in (*FRICTION_TERMS[start.friction], *MOTOR) if start.values[name] > 0.0]
    carried = measured(_carried_over(start, names, errors), names)
    return Carried(plain=plain, carried=carried if carried.held_back_error < plain.held_back_error else None)


def _carried_over(start: ServoModel, names: Sequence[str], errors: Errors) -> ServoModel:
    """The model of the smallest errors, by Gauss–Newton steps over the logarithms of the named values."""
    # With it comes half a second, which most exports need not wait for.
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
