"""The Webots Servo by its manual, seed 002, 3.42.13: what a controller's functions do, and what it measures.

Expectations are the manual's formulas, or Newton's law for the joint with the forces that the manual names.
"""

import math
import warnings
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from core.base.errors import InputError
from core.studies.webots.chain import single
from core.studies.webots.fields import Load, ServoFields
from core.studies.webots.robot import SimulatedRobot, SimulationOver
from core.studies.webots.servo import LimitWarning, ServoDevice
from tests.core.studies.webots.manual import PENDULUM, STEP, STRONG, WEIGHTLESS, Table, passed, refused, servo_of

CASES = Table()
case = CASES.case


@pytest.mark.parametrize("check", CASES)
def test_manual(check):
    check()


# 3.42.13, the P-controller's functions.


@case("3.42.13 the target is not reached against the servo's own spring if the motor force is too small")
def _():
    """It ends where K·x is the motor's force."""
    servo, chain = servo_of(ServoFields(max_force=0.1, spring_constant=0.5, damping_constant=0.1))
    servo.set_position(1.0)
    assert passed(chain, 4000)[-1, 0] == pytest.approx(0.1 / 0.5, abs=1e-6)


@case("3.42.13 the velocity argument cannot exceed maxVelocity")
def _():
    servo, _ = servo_of()
    for asked, got in ((25.0, 10.0), (-25.0, -10.0)):
        with pytest.warns(LimitWarning, match="maxVelocity = 10"):
            servo.set_velocity(asked)
        assert servo.velocity_limit == got


@case("3.42.13 the servo accelerates until the velocity is reached")
def _():
    servo, chain = servo_of(replace(STRONG, acceleration=2.0))
    servo.set_velocity(0.5)
    servo.set_position(1.5)
    rows = passed(chain, 60)
    ramp = 2.0 * STEP * np.arange(1, 61)
    np.testing.assert_allclose(rows[:, 1], np.minimum(ramp, 0.5), rtol=1e-9)


@case("3.42.13 the motor force cannot exceed maxForce")
def _():
    servo, _ = servo_of(ServoFields(max_force=2.0))
    with pytest.warns(LimitWarning, match="maxForce = 2"):
        servo.set_motor_force(3.0)
    assert servo.motor_force == 2.0
    servo.set_motor_force(1.0)
    assert servo.motor_force == 1.0


# 3.42.13, measurements.


def sampled(period: int, steps: int) -> list[float]:
    servo, chain = servo_of()
    servo.set_position(math.inf)
    servo.set_velocity(1.0)
    servo.position_sampling.enable(period, servo.time)
    values = []
    for _ in range(steps):
        chain.step(STEP)
        values.append(servo.position_sampling.value)
    return values


@case("3.42.13 a position is measured every so many milliseconds")
def _():
    """1 rad/s, a measurement every 16 ms at steps of 8 ms: none, 16 mrad twice, 32 mrad twice …"""
    np.testing.assert_allclose(sampled(16, 7), [math.nan, 0.016, 0.016, 0.032, 0.032, 0.048, 0.048])


@case("3.42.13 a period that is no multiple of the step is kept on average")
def _():
    """20 ms at steps of 8 ms: at the first step at or after 20, 40, 60, 80 ms."""
    values = sampled(20, 10)
    np.testing.assert_allclose(values[:2], math.nan)
    np.testing.assert_allclose(values[2:], [0.024, 0.024, 0.04, 0.04, 0.04, 0.064, 0.064, 0.08])


@case("3.42.13 a position is valid only if it was enabled, and undefined after it was disabled")
def _():
    servo, chain = servo_of()
    passed(chain, 5)
    assert math.isnan(servo.position_sampling.value)
    servo.position_sampling.enable(8, servo.time)
    passed(chain, 1)
    assert servo.position_sampling.value == 0.0
    servo.position_sampling.disable()
    passed(chain, 1)
    assert math.isnan(servo.position_sampling.value)


@case("3.42.13 the sampling period is the one given, or 0 while it is disabled")
def _():
    servo, _ = servo_of()
    for sampling in (servo.position_sampling, servo.force_sampling):
        assert sampling.period == 0
        sampling.enable(37, 0.0)
        assert sampling.period == 37
        sampling.disable()
        assert sampling.period == 0
        refused(InputError, "sampling period", lambda sampling=sampling: sampling.enable(0, 0.0))


def feedback(fields: ServoFields, load: Load, ask: Callable[[ServoDevice], None], force: float = 0.0) -> float:
    servo, chain = servo_of(fields, load)
    servo.force_sampling.enable(8, servo.time)
    ask(servo)
    passed(chain, 3000, force=force)
    return servo.force_sampling.value


@case("3.42.13 motor force feedback is what holds the position")
def _():
    """G·sin θ at the target."""
    found = feedback(ServoFields(), PENDULUM, lambda servo: servo.set_position(0.6))
    assert found == pytest.approx(0.5 * math.sin(0.6))


@case("3.42.13 motor force feedback does not exceed the available force")
def _():
    found = feedback(ServoFields(max_force=0.2, damping_constant=0.1), PENDULUM, lambda servo: servo.set_position(1.5))
    assert found == pytest.approx(0.2)


@case("3.42.13 motor force feedback measures no spring, damper or outer force")
def _():
    """Released, with all three of them acting: 0."""
    fields = ServoFields(spring_constant=0.3, damping_constant=0.1)
    assert feedback(fields, PENDULUM, lambda servo: servo.set_motor_force(0.0), force=0.3) == 0.0


@case("3.42.13 set_force cannot exceed the current motor force")
def _():
    servo, chain = servo_of()
    servo.set_motor_force(0.04)
    with pytest.warns(LimitWarning, match="current motor force = 0.04"):
        servo.set_force(-1.0)
    assert passed(chain, 1)[0, 1] == pytest.approx(-0.04 / 0.02 * STEP)


@case("3.42.13 set_force resets the force that the P-controller added")
def _():
    """A motor that held the pendulum lets it fall: J·a = −G·sin θ."""
    servo, chain = servo_of(load=PENDULUM)
    servo.set_position(0.6)
    passed(chain, 3000)
    held, speed = servo.position, servo.velocity
    servo.set_force(0.0)
    assert (passed(chain, 1)[0, 1] - speed) / STEP == pytest.approx(-0.5 * math.sin(held) / 0.02)


@case("3.42.13 force control is asked for with finite numbers")
def _():
    servo, _ = servo_of()
    for ask in (servo.set_force, servo.set_velocity, servo.set_motor_force, servo.set_control_p):
        refused(InputError, "not a finite number", lambda ask=ask: ask(math.nan))
    refused(InputError, "NaN", lambda: servo.set_position(math.nan))


@case("3.42.13 a controller steps in multiples of the world's step until it is told to end")
def _():
    robot = SimulatedRobot([single(STRONG, WEIGHTLESS, "a")], basic_time_step=8, duration=0.032)
    refused(InputError, "multiple of the basic time step", lambda: robot.step(12))
    assert [robot.step(16), robot.step(16), robot.step(16)] == [0, 0, -1]
    with pytest.raises(SimulationOver):
        robot.step(16)
    assert robot.time == pytest.approx(0.032)


def test_a_controller_within_its_limits_hears_no_warning():
    servo, chain = servo_of(replace(STRONG, min_position=-1.0, max_position=1.0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        servo.set_velocity(10.0)
        servo.set_motor_force(10.0)
        servo.set_position(1.0)
        servo.set_force(10.0)
        passed(chain, 1)
