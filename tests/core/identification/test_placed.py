"""Points placed by hand as residuals of a fit."""

from dataclasses import replace

import numpy as np
import pytest

from core.base.errors import IdentificationError
from core.identification.identify import IdentificationRequest, identify
from core.identification.search.placed import LARGEST_ERROR, PlacedResiduals
from core.practice.placement import SIDES, PlacedPoint, expected_angles
from core.servo.bench import Bench
from core.servo.model import build_model
from core.servo.shipped import load_model
from tests.core.conftest import recorded

SERVO = "mx106"
TRUTH = replace(load_model(SERVO, "m3"), integrator="algorithm1")
BENCH = Bench(mass=2.0, length=0.2)
TORQUES = (0.6, 1.0, 1.4, -1.0)
NOISE = 0.02
"""Of the recorded angle [rad]: so much that the runs alone leave the load's friction open."""


def points(model=TRUTH, with_current=True):
    """Where a model's pendulum just rests, exactly."""
    return tuple(
        PlacedPoint(
            motor_torque=torque,
            angle=angle,
            side=side,
            bench=BENCH,
            servo=SERVO,
            current=torque / model.values["kt"] if with_current else None,
        )
        for torque in TORQUES
        for side, angle in zip(SIDES, expected_angles(model, BENCH, torque), strict=True)
    )


def recordings():
    """Two short runs at one load and one gain, with noise."""
    bench = Bench(mass=0.5, length=0.1)
    return [
        recorded(TRUTH, name, bench, 16.0, duration=3.0, noise=NOISE, seed=5 + place)
        for place, name in enumerate(("sin_sin", "up_and_down"))
    ]


@pytest.mark.parametrize("with_current", [True, False])
def test_the_model_behind_the_points_has_no_error(with_current):
    residuals = PlacedResiduals(points(with_current=with_current))
    np.testing.assert_allclose(residuals.of(TRUTH), 0.0, atol=1e-12)
    more = TRUTH.with_values({"friction_base": TRUTH.values["friction_base"] + 0.1})
    found = residuals.of(more)
    drive = np.array([point.side == "drive" for point in points()])
    # More friction: the motor lifts less (it holds more than the servo did), the load needs more to move it.
    assert (found[drive] > 0.0).all()
    assert (found[~drive] < 0.0).all()
    population = np.stack([TRUTH.parameters.vector(), more.parameters.vector()])
    assert residuals.errors(TRUTH, population) == pytest.approx([0.0, float(np.abs(found).mean())], abs=1e-12)


def test_the_torque_is_the_models_own_where_the_current_is_known():
    """A torque constant twice as large makes the same current twice the torque."""
    stronger = TRUTH.with_values({"kt": 2.0 * TRUTH.values["kt"]})
    assert np.abs(PlacedResiduals(points()).of(stronger)).min() > 0.05
    np.testing.assert_allclose(PlacedResiduals(points(with_current=False)).of(stronger), 0.0, atol=1e-12)


def test_a_model_without_a_boundary_is_wrong_but_finite():
    sticky = build_model(SERVO, "m1")
    sticky = sticky.with_parameters(
        sticky.parameters.with_bounds({"friction_base": (0.0, 20.0)}).with_values({"friction_base": 10.0})
    )
    found = PlacedResiduals(points()).of(sticky)
    assert np.isfinite(found).all()
    assert np.abs(found).max() <= LARGEST_ERROR


def test_points_settle_what_the_runs_leave_open():
    runs = recordings()
    request = IdentificationRequest(servo=SERVO, models=("m3",), validation="none", trials=3000)
    alone = identify(request, runs).results[0].model
    joined = identify(replace(request, points=points()), runs).results[0].model
    error = np.abs(PlacedResiduals(points()).of(joined)).mean()
    assert joined.provenance["placed_points"] == {"count": len(points()), "mean_error": pytest.approx(error)}
    assert "placed_points" not in alone.provenance
    assert error < 1e-3 < np.abs(PlacedResiduals(points()).of(alone)).mean()
    name = "load_friction_base"
    before, after = (abs(model.values[name] / TRUTH.values[name] - 1.0) for model in (alone, joined))
    assert after < 0.05
    assert after < 0.5 * before


def test_points_that_do_not_fit_are_refused():
    request = IdentificationRequest(servo=SERVO, points=points())
    with pytest.raises(IdentificationError, match="xl330"):
        replace(request, servo="xl330")
    with pytest.raises(IdentificationError, match="without load"):
        PlacedResiduals([replace(points()[0], bench=Bench(mass=0.0, length=0.1, arm_mass=0.0))])
