"""The Webots Servo by its manual, seed 002, 3.42.8–3.42.12: limits, stops, springs, dampers, servos in series.

Expectations are the manual's formulas, or Newton's law for the joint with the forces that the manual names.
"""

import math
from dataclasses import replace

import numpy as np
import pytest

from core.base.errors import ModelError
from core.studies.webots.chain import Chain, single
from core.studies.webots.fields import Load, ServoFields
from core.studies.webots.robot import SimulatedRobot
from core.studies.webots.servo import LimitWarning, ServoDevice
from tests.core.studies.webots.manual import STEP, STRONG, WEIGHTLESS, Table, passed, refused, servo_of

CASES = Table()
case = CASES.case


@pytest.mark.parametrize("check", CASES)
def test_manual(check):
    check()


# 3.42.8


@case("3.42.8 a target beyond the soft limits is clipped")
def _():
    servo, chain = servo_of(replace(STRONG, min_position=-0.5, max_position=0.8))
    for goal, reached in ((2.0, 0.8), (-2.0, -0.5)):
        with pytest.warns(LimitWarning, match="soft limits"):
            servo.set_position(goal)
        assert passed(chain, 400)[-1, 0] == pytest.approx(reached, abs=1e-9)


@case("3.42.8 the P-controller does not attempt to move beyond the soft limits at a velocity either")
def _():
    servo, chain = servo_of(replace(STRONG, min_position=-0.5, max_position=0.8))
    servo.set_position(math.inf)
    for velocity, end in ((3.0, 0.8), (-3.0, -0.5)):
        servo.set_velocity(velocity)
        rows = passed(chain, 300)
        assert rows[-1, 0] == pytest.approx(end, abs=1e-9)
        assert np.abs(rows[:, 0] - 0.15).max() <= 0.65 + 1e-9


@case("3.42.8 soft limits are off while both are zero")
def _():
    servo, chain = servo_of()
    servo.set_position(5.0)
    assert passed(chain, 600)[-1, 0] == pytest.approx(5.0, abs=1e-6)


@case("3.42.8 soft limits are on while only one is zero")
def _():
    servo, _ = servo_of(replace(STRONG, max_position=0.3))
    with pytest.warns(LimitWarning):
        servo.set_position(-1.0)
    assert servo.target == 0.0


@case("3.42.8 a force above the motor's oversteps the soft limits")
def _():
    servo, chain = servo_of(ServoFields(max_force=0.1, max_position=0.5, damping_constant=0.05))
    servo.set_position(0.5)
    passed(chain, 400)
    assert passed(chain, 100, force=0.5)[-1, 0] > 0.6


@case("3.42.8 no force overruns a hard stop")
def _():
    for force in (1e3, -1e3, 1e9, -1e9):
        _, chain = servo_of(ServoFields(max_force=1.0, min_stop=-0.4, max_stop=0.6))
        positions = passed(chain, 50, force=force)[:, 0]
        assert positions[-1] == (0.6 if force > 0.0 else -0.4)
        assert positions.min() >= -0.4
        assert positions.max() <= 0.6


@case("3.42.8 neither the motor nor force control overruns a hard stop")
def _():
    for ask in (lambda servo: servo.set_position(3.0), lambda servo: servo.set_force(1e5)):
        servo, chain = servo_of(replace(STRONG, min_stop=-0.4, max_stop=0.6))
        ask(servo)
        rows = passed(chain, 400)
        assert rows[:, 0].max() == rows[-1, 0] == 0.6
        assert rows[-1, 1] == 0.0


@case("3.42.8 a servo cannot begin beyond its stops")
def _():
    refused(ModelError, "which nothing can pass", lambda: ServoFields(min_stop=-0.5, max_stop=0.5, position=0.6))


@case("3.42.8 minStop is within −π … 0, maxStop within 0 … π, both zero for none")
def _():
    assert ServoFields(min_stop=-math.pi, max_stop=math.pi).stops == (-math.pi, math.pi)
    refused(ModelError, "minStop", lambda: ServoFields(min_stop=-3.5))
    refused(ModelError, "maxStop", lambda: ServoFields(max_stop=3.5))
    assert ServoFields().stops == (-math.inf, math.inf)


@case("3.42.8 soft limits lie within the hard ones")
def _():
    inside = ServoFields(min_position=-0.5, max_position=0.5, min_stop=-0.5, max_stop=0.6)
    assert inside.has_soft_limits
    assert inside.has_stops
    refused(ModelError, "must lie within the hard", lambda: replace(inside, min_position=-0.6))
    refused(ModelError, "must lie within the hard", lambda: replace(inside, max_position=0.7))


# 3.42.9


# 3.42.10 and Table 3.7


@case("3.42.10 motor, spring and damper act in parallel")
def _():
    """At rest at x the motor holds K·x: their sum is zero."""
    servo, chain = servo_of(ServoFields(spring_constant=0.3, damping_constant=0.1))
    servo.set_position(0.5)
    rows = passed(chain, 2000)
    assert rows[-1, 0] == pytest.approx(0.5)
    assert rows[-1, 3] == pytest.approx(0.3 * 0.5)


@case("Table 3.7 regular spring and damper")
def _():
    """x = e^(−δt)·(cos ωt + δ/ω·sin ωt) from 1 rad at rest."""
    _, chain = servo_of(
        ServoFields(max_force=0.0, position=1.0, spring_constant=0.5, damping_constant=0.02), WEIGHTLESS
    )
    step = 1e-4
    decay = 0.02 / (2 * 0.02)
    ringing = math.sqrt(0.5 / 0.02 - decay**2)
    time = step * np.arange(1, 10001)
    expected = np.exp(-decay * time) * (np.cos(ringing * time) + decay / ringing * np.sin(ringing * time))
    np.testing.assert_allclose(passed(chain, 10000, step=step)[:, 0], expected, atol=1e-3)


# 3.42.11 and 3.42.12


def in_series(first: ServoFields, second: ServoFields, between: float = 1e-3) -> Chain:
    servos = [ServoDevice(first, "first"), ServoDevice(second, "second")]
    return Chain(servos, [Load(inertia=between), Load(inertia=0.02)])


@case("3.42.11 a child servo is carried by its parent")
def _():
    """Both at 0.5 rad: the outer body is at 1 rad, and the base motor felt its inertia too."""
    chain = in_series(replace(STRONG, acceleration=4.0), STRONG)
    chain.servos[0].set_position(0.5)
    chain.step(STEP)
    assert chain.servos[0].used_force == pytest.approx(4.0 * (1e-3 + 0.02), rel=1e-9)
    chain.servos[1].set_position(0.5)
    passed(chain, 500)
    assert sum(servo.position for servo in chain.servos) == pytest.approx(1.0, abs=1e-6)


@case("3.42.11 a motor controls the resting position of a spring")
def _():
    """The outer body swings about where the motor is, with ω² = K/J₂, and settles there."""
    spring = ServoFields(max_force=0.0, spring_constant=0.8, damping_constant=0.01)
    chain = in_series(STRONG, spring)
    chain.servos[0].set_position(0.6)
    rows = passed(chain, 8000)
    assert chain.servos[0].position == pytest.approx(0.6, abs=1e-6)
    assert rows[-1, 0] == pytest.approx(0.0, abs=1e-6)
    crossings = np.flatnonzero(np.diff(np.sign(rows[200:600, 0])) > 0) + 200
    period = np.diff(crossings).mean() * STEP
    assert period == pytest.approx(2 * math.pi / math.sqrt(0.8 / 0.02), rel=0.02)


@case("3.42.11 Newton's law holds for every body of a series")
def _():
    """Momentum changes by the outer forces alone: an inner motor and spring cannot turn the whole."""
    free = ServoFields(max_force=0.0)
    chain = in_series(free, ServoFields(max_force=0.3, spring_constant=0.2), between=0.01)
    chain.servos[1].set_position(1.0)
    for _ in range(200):
        chain.step(STEP)
        first, second = (servo.velocity for servo in chain.servos)
        assert abs(0.01 * first + 0.02 * (first + second)) < 1e-12
    assert chain.servos[1].position > 0.1


@case("3.42.11 every body in a series needs its mass")
def _():
    refused(ModelError, "needs a mass", lambda: Load(inertia=0.0))
    refused(ModelError, "moves one body", lambda: Chain([ServoDevice(STRONG), ServoDevice(STRONG)], [WEIGHTLESS]))


@case("3.42.12 a dummy body of a millimetre between two axes changes nothing")
def _():
    """A sphere of radius 1 mm and 1000 kg/m³ has 2/5·m·r² = 1.7e−12 kg·m²."""
    dummy = 0.4 * (4.0 / 3.0 * math.pi * 1e-3**3 * 1000.0) * 1e-3**2
    chain = in_series(replace(STRONG, max_force=5.0), replace(STRONG, max_force=5.0), between=dummy)
    for servo, goal in zip(chain.servos, (0.4, -0.7), strict=True):
        servo.set_position(goal)
    rows = passed(chain, 400)
    assert chain.servos[0].position == pytest.approx(0.4, abs=1e-6)
    assert rows[-1, 0] == pytest.approx(-0.7, abs=1e-6)


@case("3.42.12 independent axes are servos of their own")
def _():
    """Pan and tilt of a ball, whose inertia is the same about both."""
    robot = SimulatedRobot([single(STRONG, WEIGHTLESS, "pan"), single(STRONG, WEIGHTLESS, "tilt")])
    robot.device("pan").set_position(0.5)
    robot.device("tilt").set_position(-0.2)
    for _ in range(300):
        robot.step(8)
    assert [servo.position for servo in robot.servos] == pytest.approx([0.5, -0.2], abs=1e-6)
