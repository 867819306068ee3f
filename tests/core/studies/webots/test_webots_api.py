"""Controller programs with the seed's names (seed 002, section 3.42.13), and run as Webots runs them."""

import contextvars
import math

import pytest

from core.base.errors import InputError
from core.studies.webots import api
from core.studies.webots.controller import Robot, controller_module
from core.studies.webots.fields import ServoFields
from core.studies.webots.robot import bench_robot

SEED_FUNCTIONS = (
    "wb_servo_set_position",
    "wb_servo_set_velocity",
    "wb_servo_set_acceleration",
    "wb_servo_set_motor_force",
    "wb_servo_set_control_p",
    "wb_servo_enable_position",
    "wb_servo_disable_position",
    "wb_servo_get_position_sampling_period",
    "wb_servo_get_position",
    "wb_servo_enable_motor_force_feedback",
    "wb_servo_disable_motor_force_feedback",
    "wb_servo_get_motor_force_feedback_sampling_period",
    "wb_servo_get_motor_force_feedback",
    "wb_servo_set_force",
)
TIME_STEP = 16


@pytest.fixture(autouse=True)
def own_robot():
    """Each test has its own attached robot, or none."""
    yield
    api.wb_robot_cleanup()


class TestFunctions:
    def test_all_of_the_seed_are_there(self):
        assert set(SEED_FUNCTIONS) <= set(api.__all__)
        assert all(callable(getattr(api, name)) for name in SEED_FUNCTIONS)

    def test_waiting_for_a_target_as_the_manual_does(self):
        """Its loop ends when the position is within 1 mrad, before its delay has passed."""
        api.wb_robot_init()
        tag = api.wb_robot_get_device("arm")
        target, delay = 1.0, 5000
        api.wb_servo_set_position(tag, target)
        api.wb_servo_enable_position(tag, TIME_STEP)
        while True:
            api.wb_robot_step(TIME_STEP)
            delay -= TIME_STEP
            effective = api.wb_servo_get_position(tag)
            if abs(target - effective) <= 0.001 or delay <= 0:
                break
        api.wb_servo_disable_position(tag)

        assert delay > 0
        assert math.isnan(api.wb_servo_get_position(tag))
        assert api.wb_robot_get_time() == pytest.approx((5000 - delay) / 1000.0)

    def test_every_setter_reaches_its_servo(self):
        robot = bench_robot(ServoFields())
        api.attach(robot)
        tag = api.wb_robot_get_device("a")
        api.wb_servo_set_velocity(tag, 2.0)
        api.wb_servo_set_acceleration(tag, 3.0)
        api.wb_servo_set_motor_force(tag, 4.0)
        api.wb_servo_set_control_p(tag, 5.0)
        api.wb_servo_set_position(tag, 0.6)
        servo = robot.servos[0]
        assert (servo.velocity_limit, servo.acceleration, servo.motor_force) == (2.0, 3.0, 4.0)
        assert (servo.control_p, servo.target) == (5.0, 0.6)

        api.wb_servo_set_force(tag, 0.7)
        assert servo.applied_force == 0.7

    def test_measurements_have_their_own_periods(self):
        api.attach(bench_robot(ServoFields(), basic_time_step=4))
        tag = api.wb_robot_get_device("a")
        api.wb_servo_enable_position(tag, 12)
        api.wb_servo_enable_motor_force_feedback(tag, 20)
        assert api.wb_servo_get_position_sampling_period(tag) == 12
        assert api.wb_servo_get_motor_force_feedback_sampling_period(tag) == 20
        api.wb_robot_step(16)
        assert api.wb_servo_get_position(tag) == 0.0
        assert math.isnan(api.wb_servo_get_motor_force_feedback(tag))
        api.wb_robot_step(4)
        assert api.wb_servo_get_motor_force_feedback(tag) == 0.0
        api.wb_servo_disable_motor_force_feedback(tag)
        assert api.wb_servo_get_motor_force_feedback_sampling_period(tag) == 0
        assert api.wb_robot_get_basic_time_step() == 4.0

    @pytest.mark.parametrize("tag", [0, 2, -1])
    def test_an_unknown_tag(self, tag):
        api.wb_robot_init()
        with pytest.raises(InputError, match="no device with the tag"):
            api.wb_servo_set_position(tag, 1.0)

    def test_without_a_robot(self):
        with pytest.raises(InputError, match="call wb_robot_init"):
            api.wb_robot_step(8)

    def test_two_contexts_have_two_robots(self):
        """Programs of two threads do not move each other's servos."""
        api.attach(bench_robot(ServoFields()))
        contextvars.Context().run(api.wb_robot_init)
        api.wb_robot_step(80)
        assert api.wb_robot_get_time() == pytest.approx(0.08)


class TestClasses:
    def test_a_robot_derived_as_programs_of_that_time_do(self):
        class Pendulum(Robot):
            def run(self):
                servo = self.getServo("pendulum")
                servo.enablePosition(TIME_STEP)
                servo.enableMotorForceFeedback(TIME_STEP)
                servo.setAcceleration(50.0)
                servo.setVelocity(5.0)
                servo.setControlP(12.0)
                servo.setPosition(0.8)
                while self.step(TIME_STEP) != -1:
                    pass
                return servo.getPosition(), servo.getMotorForceFeedback(), self.getTime()

        api.attach(bench_robot(ServoFields(), duration=3.0))
        position, force, time = Pendulum().run()

        assert position == pytest.approx(0.8, abs=1e-6)
        assert force == pytest.approx(0.5 * 9.80665 * 0.15 * math.sin(0.8), rel=1e-4)
        assert time == pytest.approx(3.0, abs=TIME_STEP / 1000.0)

    def test_every_method_is_its_function(self):
        """setMotorForce is wb_servo_set_motor_force, and so on: none of the seed's is missing."""
        servo = controller_module().Servo
        for name in SEED_FUNCTIONS:
            first, *others = name.removeprefix("wb_servo_").split("_")
            assert hasattr(servo, first + "".join(part.capitalize() for part in others)), name

    def test_the_module_holds_both(self):
        module = controller_module()
        assert {"Robot", "Servo", *SEED_FUNCTIONS} <= set(vars(module))
