"""Drive/backdrive points placed by hand as residuals of a fit (seed 004, section II-C).

A point states the external torque that the friction of a standing servo withstood at a motor torque. No trajectory
shows this as directly. The error of a point is the angle by which a model misplaces the pendulum, to first order: the
difference of external torques divided by the bench's gravity torque. A point with a fall, a bracket from the last rest
to the first fall, has no error while the model's boundary lies inside. The motor torque is the model's own, k_t times
the measured current, if the servo reports one; otherwise it is the torque that the servo was commanded to hold.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from core.base.arrays import Array
from core.base.errors import IdentificationError
from core.practice.diagram import backdrive_torque, drive_torque
from core.practice.placement import DRIVE, PlacedPoint, nearest_torques
from core.servo.model import ServoModel

LARGEST_ERROR = 1.0
"""Error of a model that locks itself [rad]; it is finite so that a search can leave such a model."""


class PlacedResiduals:
    """Placed points of one servo, prepared for whole populations."""

    def __init__(self, points: Sequence[PlacedPoint]) -> None:
        """Prepare points.

        Raises:
            IdentificationError: The bench of a point has no gravity torque.
        """
        if any(point.bench.gravity_torque <= 0.0 for point in points):
            raise IdentificationError("a placed point has a bench without load; leave it out")
        self._points = tuple(points)
        self._drive = np.array([point.side == DRIVE for point in points])
        self._stated = np.array([abs(point.motor_torque) for point in points])
        self._current = np.array([np.nan if p.current is None else abs(p.current) for p in points])
        self._gravity = np.array([point.bench.gravity_torque for point in points])

    def of(self, model: ServoModel) -> Array:
        """Return the errors of a model [rad], (n_points,); positive where it holds less than the servo did."""
        offset = model.values.get("q_offset", 0.0)
        motor = np.where(np.isnan(self._current), self._stated, model.values["kt"] * self._current)
        # If friction holds even the unloaded shaft, there is no drive; the boundary is then at 0.
        drive = np.nan_to_num(np.abs(drive_torque(model, motor)), nan=0.0)
        expected = np.where(self._drive, drive, np.abs(backdrive_torque(model, motor)))
        measured = nearest_torques(self._points, expected, offset)
        return np.clip((measured - expected) / self._gravity, -LARGEST_ERROR, LARGEST_ERROR)

    def errors(self, template: ServoModel, candidates: Array) -> Array:
        """Return the mean absolute error of each candidate (p, n_free), (p,) rad."""
        parameters = template.parameters
        models = (template.with_parameters(parameters.with_vector(candidate)) for candidate in candidates)
        return np.array([float(np.abs(self.of(model)).mean()) for model in models])
