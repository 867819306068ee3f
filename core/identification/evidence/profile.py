"""Profile likelihood: how far one parameter can move while all others compensate it as well as they can.

The deviance is that of the smooth loss, which `polish` minimises: twice the logarithm of the likelihood ratio, with the
number of independent samples from `sensitivity`. A parameter is held at values further and further from the optimum,
and the others are polished from their values at the previous point. The 95 % interval ends where the deviance crosses
that of χ² with one degree of freedom. Unlike the linearised interval, it may be asymmetric or open.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from core.base.arrays import Array
from core.base.errors import IdentificationError
from core.identification.evidence.certainty import LIMIT, Profile, ProfilePoint
from core.identification.evidence.sensitivity import DIFFERENCE, correlation_length, deviance_factor
from core.identification.search.objective import NO_PRIOR, Batch
from core.identification.search.polish import FINE, polish, smooth_losses, smooth_scale
from core.identification.search.prior import Prior
from core.identification.search.steps import one_blas_thread
from core.motion.recording import Recording
from core.servo.model import ServoModel
from core.servo.parameters import AT_BOUND_FRACTION
from core.servo.terms import Supply

ROOT = math.sqrt(LIMIT)
"""The search uses the square root of the deviance, which is linear in the parameter if the model is."""
CLOSE = 0.05
"""Tolerance that ends the search for a crossing: relative distance from the limit's root, or between two points."""
MOST_OUTWARD, MOST_INWARD = 10, 6
"""Largest number of points of a side: outward, and then between the last two."""
FIRST = 0.1
"""Share of the way to the bound at which the first point lies if the linearised interval is infinite."""
MOST_ROUNDS = 4
"""Number of times that the outward search may be resumed."""
GROWTH = (1.5, 3.0)
"""Smallest and largest ratio of a point's distance to that of the previous one, outward."""


@dataclass(frozen=True, eq=False)
class Optimum:
    """Model at the nearby minimum of its runs' smooth loss, and the scale of the deviance."""

    batch: Batch
    """Recordings, prepared for the model at the minimum."""
    loss: float
    """Mean over runs of the mean over samples [rad]."""
    factor: float
    """Deviance per rise of the loss [1/rad]."""
    moved: float
    """Deviance of the given model; 0 if it is at the minimum."""

    @classmethod
    def near(
        cls,
        model: ServoModel,
        recordings: Sequence[Recording],
        *,
        dt: float | None = None,
        supply: Supply = "logged",
        threads: int | None = None,
        prior: Prior = NO_PRIOR,
        should_yield: Callable[[], bool] = lambda: False,
    ) -> Optimum:
        """Polish a model on the runs that it was fitted to.

        Raises:
            IdentificationError: The model has no free parameters.
        """
        if not model.parameters.free:
            raise IdentificationError("every parameter of the model is frozen: there is nothing to profile")
        batch = Batch(model, recordings, dt=dt, supply=supply, threads=threads, prior=prior)
        batch.spared = 1 if should_yield() else 0
        given = model.parameters.vector()
        vector = _polished(batch, given)
        at = copy.copy(batch)
        at.model = model.with_vector(vector)
        before, loss = smooth_losses(batch, np.array([given, vector])).tolist()
        residuals = batch.residuals(vector[None], lambda _, found: found[:, 0].copy())
        # Every run has the same weight in the loss, so long ones count less than their samples (Kish 1965).
        samples = len(residuals) / float(np.mean(1.0 / batch.samples))
        factor = deviance_factor(np.concatenate(residuals), smooth_scale(model.servo))
        factor *= samples / correlation_length(residuals)
        return cls(at, loss, factor, factor * (before - loss))


@one_blas_thread()
def profile(
    optimum: Optimum,
    name: str,
    half_width: float,
    *,
    should_stop: Callable[[], bool] = lambda: False,
    should_yield: Callable[[], bool] = lambda: False,
) -> Profile | None:
    """Compute the profile of a free parameter.

    Args:
        optimum: Model at its minimum.
        name: Name of the parameter.
        half_width: Half width of the linearised interval, where the search for the ends starts; infinite if there is
            none.
        should_stop: Polled between points.
        should_yield: As for `identify`, polled between points.

    Returns:
        The profile, or None if it was stopped before the end.
    """
    line = _Line(optimum, name, should_stop, should_yield)
    lower = line.crossing(-1.0, half_width)
    upper = line.crossing(1.0, half_width)
    if line.stopped:
        return None
    return Profile(name=name, lower=lower, upper=upper, points=line.points)


def _polished(batch: Batch, vector: Array) -> Array:
    """Polish with wide differences, which look across kinks, then with small ones, which find the minimum."""
    for difference in (FINE, DIFFERENCE):
        vector, _ = polish(batch, vector, difference=difference)
    return vector


class _Step(NamedTuple):
    """Distance from the optimum, and the square root of the deviance there."""

    distance: float
    root: float


class _Line:
    """Optima of all other parameters at values of one."""

    def __init__(
        self, optimum: Optimum, name: str, should_stop: Callable[[], bool], should_yield: Callable[[], bool]
    ) -> None:
        self._optimum, self._name = optimum, name
        self._should_stop, self._should_yield = should_stop, should_yield
        parameters = optimum.batch.model.parameters
        self._parameter = parameters[name]
        others = [p.value for p in parameters.free if p.name != name]
        self._found: dict[float, tuple[float, Array]] = {self._parameter.value: (0.0, np.array(others))}
        """Deviance and the others' values, by value."""
        self.stopped = False

    @property
    def points(self) -> tuple[ProfilePoint, ...]:
        """All computed points, in ascending order."""
        return tuple(ProfilePoint(value=value, deviance=self._found[value][0]) for value in sorted(self._found))

    def crossing(self, side: float, half_width: float) -> float | None:
        """Return where the deviance crosses the limit on a side, −1 or 1; None if it does not before the bound."""
        parameter = self._parameter
        room = parameter.upper - parameter.value if side > 0.0 else parameter.value - parameter.lower
        if room <= AT_BOUND_FRACTION * (parameter.upper - parameter.lower):
            return None
        first = min(half_width, room) if 0.0 < half_width < math.inf else FIRST * room
        bracket = self._outward(side, room, _Step(0.0, 0.0), first)
        for _ in range(MOST_ROUNDS):
            if bracket is None:
                return None
            within, beyond, settled = self._inward(side, room, *bracket)
            if not settled:
                # The outer step was reached from a distant point; from the inner one, its fit may be as good.
                beyond = self._step(side, room, beyond.distance)
            bracket = within, beyond
            if settled or self.stopped or beyond.root >= ROOT:
                break
            bracket = self._outward(side, room, beyond, self._farther(room, beyond))
        return None if bracket is None or self.stopped else parameter.value + side * _crossing(*bracket)

    def _outward(self, side: float, room: float, within: _Step, distance: float) -> tuple[_Step, _Step] | None:
        """Return the last step within the interval and the first one beyond; None if the bound is within."""
        for left in reversed(range(MOST_OUTWARD)):
            step = self._step(side, room, distance if left else room)
            if step.root >= ROOT:
                return within, step
            if self.stopped or step.distance == room:
                return None
            within, distance = step, self._farther(room, step)
        return None

    def _farther(self, room: float, step: _Step) -> float:
        """Return the distance of the next outward step, by the rise so far."""
        least, largest = GROWTH
        distance = step.distance * min(max(1.1 * ROOT / max(step.root, 1e-9), least), largest)
        return room if distance > 0.9 * room else distance

    def _inward(self, side: float, room: float, within: _Step, beyond: _Step) -> tuple[_Step, _Step, bool]:
        """Narrow the crossing between two steps by secants, halving where one end stays.

        Returns:
            Two steps close to the crossing, and True if the outer one was computed last.
        """
        settled, repeated = True, False
        for place in range(MOST_INWARD):
            span = beyond.distance - within.distance
            near = min(ROOT - within.root, beyond.root - ROOT) <= CLOSE * ROOT
            if self.stopped or near or span <= CLOSE * beyond.distance:
                break
            share = 0.5 if repeated else min(max((_crossing(within, beyond) - within.distance) / span, 0.1), 0.9)
            step = self._step(side, room, within.distance + share * span)
            outside = step.root >= ROOT
            repeated, settled = place > 0 and outside is settled, outside
            within, beyond = (within, step) if outside else (step, beyond)
        return within, beyond, settled

    def _step(self, side: float, room: float, distance: float) -> _Step:
        """Compute the step at a distance, unless it is to be stopped."""
        self.stopped = self.stopped or self._should_stop()
        if self.stopped:
            return _Step(distance, 0.0)
        parameter = self._parameter
        bound = parameter.upper if side > 0.0 else parameter.lower
        value = bound if distance == room else parameter.value + side * distance
        return _Step(distance, math.sqrt(max(self._deviance(value), 0.0)))

    def _deviance(self, value: float) -> float:
        batch = self._held(value)
        starts = np.clip(self._starts(value), *batch.model.parameters.bounds().T)
        best = starts[int(np.argmin(smooth_losses(batch, starts)))]
        others = _polished(batch, best) if len(best) else best
        loss = float(smooth_losses(batch, others[None])[0])
        found = self._optimum.factor * (loss - self._optimum.loss), others
        if value not in self._found or found[0] < self._found[value][0]:
            self._found[value] = found
        return self._found[value][0]

    def _held(self, value: float) -> Batch:
        batch = copy.copy(self._optimum.batch)
        batch.spared = 1 if self._should_yield() else 0
        model = batch.model
        batch.model = model.with_parameters(model.parameters.frozen_at({self._name: value}))
        return batch

    def _starts(self, value: float) -> Array:
        """Return the others' values at the two nearest values, and on the line through them."""
        near = sorted(self._found.keys() - {value}, key=lambda known: abs(known - value))[:2]
        known = [self._found[at][1] for at in near]
        if len(near) == 2:
            share = (value - near[0]) / (near[1] - near[0])
            known.append(known[0] + share * (known[1] - known[0]))
        return np.array(known)


def _crossing(within: _Step, beyond: _Step) -> float:
    """Return the distance at which the line through two roots crosses the limit."""
    share = (ROOT - within.root) / (beyond.root - within.root)
    return within.distance + share * (beyond.distance - within.distance)
