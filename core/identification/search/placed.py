"""Drive/backdrive points placed by hand as residuals of a fit (seed 004, section II-C).

A point says how much external torque the friction of a standing servo withstood at a motor torque, which no trajectory
shows as directly. Its error is the angle by which a model misplaces the pendulum, to first order: the difference of
external torques over the bench's gravity torque. A point that is a bracket, from the last rest to the first fall, has
no error while the model's boundary lies inside. The motor torque is the model's own, k_t times the current that was
measured, where the servo reports one; otherwise the torque it was told to hold.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from core.arrays import Array
from core.diagram import backdrive_torque, drive_torque
from core.errors import IdentificationError
from core.model import ServoModel
from core.placement import DRIVE, PlacedPoint, nearest_torques

LARGEST_ERROR = 1.0
"""[rad]; what a model that locks itself is wrong by, so that a search can still leave it."""


class PlacedResiduals:
    """Points of one servo, ready for whole populations."""

    def __init__(self, points: Sequence[PlacedPoint]) -> None:
        """Raises IdentificationError for a point whose bench cannot pull."""
        if any(point.bench.gravity_torque <= 0.0 for point in points):
            raise IdentificationError("a placed point has a bench without load; leave it out")
        self._points = tuple(points)
        self._drive = np.array([point.side == DRIVE for point in points])
        self._stated = np.array([abs(point.motor_torque) for point in points])
        self._current = np.array([np.nan if p.current is None else abs(p.current) for p in points])
        self._gravity = np.array([point.bench.gravity_torque for point in points])

    def of(self, model: ServoModel) -> Array:
        """Errors of a model, (n_points,) rad; positive where it holds less than the servo did."""
        offset = model.values.get("q_offset", 0.0)
        motor = np.where(np.isnan(self._current), self._stated, model.values["kt"] * self._current)
        # A model whose friction holds the unloaded shaft drives nothing: its boundary is at 0.
        drive = np.nan_to_num(np.abs(drive_torque(model, motor)), nan=0.0)
        expected = np.where(self._drive, drive, np.abs(backdrive_torque(model, motor)))
        measured = nearest_torques(self._points, expected, offset)
        return np.clip((measured - expected) / self._gravity, -LARGEST_ERROR, LARGEST_ERROR)

    def errors(self, template: ServoModel, candidates: Array) -> Array:
        """Mean absolute error of each candidate (p, n_free), (p,) rad."""
        parameters = template.parameters
        models = (template.with_parameters(parameters.with_vector(candidate)) for candidate in candidates)
        return np.array([float(np.abs(self.of(model)).mean()) for model in models])
