"""Bounds that hold a value back, and models beyond them.

A bound that holds a value back biases every parameter that can compensate it. Terms whose value without effect lies
beyond their bounds are searched up to where the runs cannot show them, and left out if the runs do not need them. For
other parameters, a model with wider bounds shows what the bound changes. A bound at a physical limit, such as a
friction of 0, stays.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from core.base.arrays import Array
from core.identification.search.polish import FINE, WIDE, polish
from core.identification.search.timestep import Simulated
from core.motion.recording import Recording
from core.servo.model import ServoModel
from core.servo.parameters import Parameter, ParameterSet
from core.servo.terms import NEUTRAL, physical_limits

WIDENED = 2.0
"""Widths of its interval by which a bound moves."""
DIVIDED = 10.0
"""Divisor of a lower bound whose parameter must stay positive."""
FASTER, MOST_TIMES = 20.0, 100.0
"""Upper bound of a velocity limit: this multiple of the fastest goal, at most so many times the catalogue's bound.

Goals are held from sample to sample. A limit of this multiple spreads each change over a twentieth of the sample, which
is hardly a delay. Goals that step have any speed.
"""
NEEDED = 0.05
"""Share of the loss that such a term must save to stay."""
MISLED = 0.1
"""Share of the loss that leaving a term out must gain to show that its bound misled the search."""
LOGARITHMIC = 50.0
"""Ratio of bounds from which such a term is searched by its logarithm: most of a wide interval has little effect."""


def up_to_goals(model: ServoModel, recordings: Sequence[Recording], own: Iterable[str]) -> ServoModel:
    """Return the model with velocity limits of the goal up to where these runs cannot show them.

    Args:
        model: Template of a search.
        recordings: Runs to fit.
        own: Names of the parameters with the user's bounds, which stay.
    """
    limit = model.parameters.get("goal_slew")
    if limit is None or limit.frozen or limit.name in own:
        return model
    upper = max(limit.upper, min(FASTER * fastest_goal(recordings), MOST_TIMES * limit.upper))
    return replace(model, parameters=model.parameters.with_bounds({limit.name: (limit.lower, upper)}))


def logarithmic(parameters: ParameterSet) -> list[bool]:
    """Return, for each free parameter, whether it is searched by its logarithm."""
    return [p.neutral_beyond and p.upper > LOGARITHMIC * p.lower for p in parameters.free]


def nearest_neutral(parameters: ParameterSet) -> ParameterSet:
    """Return the set with terms that cannot be neutral at the bounds nearest to that."""
    hidden = [p for p in parameters.free if p.neutral_beyond]
    return parameters.with_values({p.name: min(max(NEUTRAL[p.name], p.lower), p.upper) for p in hidden})


def without(model: ServoModel, names: Iterable[str]) -> ServoModel:
    """Return the model with terms frozen at the values at which they have no effect."""
    return model.with_parameters(model.parameters.frozen_at({name: NEUTRAL[name] for name in names}))


def widened(model: ServoModel) -> ServoModel | None:
    """Return the model with wider bounds where values lie at them; None if no bound can move."""
    bounds = model.parameters.with_bounds({p.name: _wider(p) for p in model.parameters.free if p.at_bound})
    return None if bounds == model.parameters else replace(model, parameters=bounds)


def optimum_beyond(model: ServoModel, recordings: Sequence[Recording], how: Simulated) -> Array | None:
    """Return the optimum with wider bounds where values lie at theirs, (n_free,); None without such a value."""
    wide = widened(model)
    if wide is None:
        return None
    batch = how.batch(wide, recordings)
    near, _ = polish(batch, model.parameters.vector(), rough=True, difference=WIDE)
    return polish(batch, near, difference=FINE)[0]


def _wider(p: Parameter) -> tuple[float, float]:
    """Return bounds that are wider on the side of the value, as far as they have a meaning."""
    least, most, _ = physical_limits(p.name)
    reach = WIDENED * (p.upper - p.lower)
    low, high = p.lower, p.upper
    if p.value - p.lower <= p.upper - p.value:
        low = p.lower / DIVIDED if p.lower > least >= 0.0 else max(p.lower - reach, least)
    else:
        high = min(high + reach, most)
    return low, high


def fastest_goal(recordings: Sequence[Recording]) -> float:
    """Return the largest speed of the goal between two samples [rad/s]."""
    speeds = (
        np.abs(np.diff(run.goal) / np.diff(run.time))
        for run in recordings
        if run.samples > 1 and run.command.kind == "position"
    )
    return max((float(speed.max()) for speed in speeds), default=0.0)


def left_out(model: ServoModel) -> list[str]:
    """Return the terms that are left out of a model."""
    return [p.name for p in model.parameters.values() if p.left_out]
