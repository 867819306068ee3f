"""A box on the ground: what its friction holds, how it slides, and that a tip only ever pushes it."""

import math

import numpy as np
import pytest

from core.base.errors import ModelError
from core.studies.arm.kinematics import tip_positions
from core.studies.compliant.arm import NO_BOX, Box, box_constants
from core.studies.compliant.compiled import box_kick, contact_force
from core.studies.compliant.experiments import box_on_the_way, box_runs

BOX = Box(face=0.1, edge=-0.2)
NUMBERS = box_constants(BOX)
STEP = 1e-4


def slide(force, velocity, seconds):
    """Velocity and way of a pushed box."""
    way = 0.0
    for _ in range(round(seconds / STEP)):
        velocity = box_kick(velocity, force, NUMBERS, STEP)
        way += STEP * velocity
    return velocity, way


def test_the_seed_s_box_withstands_its_friction():
    """μ·m·g of 2 kg and 0.23 (seed 003, section 4.2.3)."""
    assert box_on_the_way().holding_force == pytest.approx(0.23 * 2.0 * 9.81)
    assert box_on_the_way().side == 0.265


@pytest.mark.parametrize("push", [0.0, 1.0, 0.999 * BOX.holding_force])
def test_a_box_that_is_pushed_too_little_does_not_move(push):
    assert slide(push, 0.0, 1.0) == (0.0, 0.0)


def test_a_box_that_is_pushed_more_accelerates_by_the_rest():
    velocity, way = slide(BOX.holding_force + 1.0, 0.0, 1.0)

    assert velocity == pytest.approx(1.0 / BOX.mass)
    assert way == pytest.approx(0.5 / BOX.mass, rel=1e-3)


def test_a_box_that_is_let_go_slides_to_a_stop():
    """v²/(2·μ·g)"""
    velocity, way = slide(0.0, 0.5, 1.0)

    assert velocity == 0.0
    assert way == pytest.approx(0.5**2 / (2.0 * BOX.friction * BOX.gravity), rel=1e-3)


def test_a_tip_pushes_in_proportion_to_how_deep_it_is_and_never_pulls():
    assert contact_force(1e-3, 0.0, -0.1, NUMBERS) == pytest.approx(1e-3 * BOX.contact_stiffness)
    assert contact_force(-1e-6, 1.0, -0.1, NUMBERS) == 0.0
    assert contact_force(1e-4, -10.0, -0.1, NUMBERS) == 0.0


def test_beside_the_box_there_is_nothing_to_push():
    assert contact_force(1e-3, 0.0, BOX.edge - 1e-6, NUMBERS) == 0.0
    assert contact_force(1e-3, 0.0, BOX.edge + BOX.side + 1e-6, NUMBERS) == 0.0
    assert contact_force(-math.inf, 0.0, 0.0, box_constants(NO_BOX)) == 0.0


@pytest.mark.parametrize("run", box_runs(), ids=lambda run: run.behaviour.name)
def test_springs_hold_what_the_tip_pushes(run):
    """At rest τ_e = Jᵀ·F within the joints' dry friction; the tip sinks in by fractions of a millimetre."""
    (l1, l2), (q1, q2), force = run.arm.links.lengths, run.motion.position[-1], run.motion.tip_force[-1]
    held = force * np.array([l1 * math.cos(q1) + l2 * math.cos(q1 + q2), l2 * math.cos(q1 + q2)])
    tip = tip_positions(run.arm.links, run.motion.position)

    np.testing.assert_allclose(run.motion.spring_torque[-1], held, atol=max(run.arm.friction) + 1e-3)
    assert force > 0.1
    assert np.max(tip[:, 0] - run.motion.box) < 1e-3


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"mass": 0.0}, "mass"),
        ({"friction": -0.1}, "friction"),
        ({"side": math.inf}, "side"),
        ({"face": math.nan}, "face"),
    ],
)
def test_a_box_that_cannot_be_is_refused(values, message):
    with pytest.raises(ModelError, match=message):
        Box(**{"face": 0.1, "edge": 0.0, **values})
