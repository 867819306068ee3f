"""The contract: states, clamping, and release as the one thing that always works."""

import contextlib
import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.errors import ServoBenchError
from core.servo.settings import ServoSettings
from drivers.errors import CommandError, DriverError, NoAnswer, NotReady
from drivers.limits import Limits
from drivers.servo import PositionGoal, Release, ServoState, TorqueGoal
from tests.drivers.fake_servo import FakeServo, FakeSource

SETTINGS = ServoSettings(servo="mx106", kp=16.0, supply_voltage=12.0)


@pytest.fixture
def servo():
    servo = FakeServo()
    servo.connect()
    yield servo
    servo.close()


def test_a_servo_is_disconnected_then_ready_then_enabled_then_ready_again():
    servo = FakeServo()
    assert servo.state is ServoState.DISCONNECTED
    assert servo.connect().model == "fake"
    assert servo.state is ServoState.READY
    servo.configure(SETTINGS)
    assert servo.settings() is None, "it cannot say"
    servo.command(PositionGoal(0.3))
    assert servo.state is ServoState.ENABLED
    assert servo.read().position == 0.3
    servo.command(Release())
    assert servo.state is ServoState.READY
    servo.close()
    assert servo.state is ServoState.DISCONNECTED


@pytest.mark.parametrize(
    "act",
    [
        lambda servo: servo.command(PositionGoal(0.0)),
        lambda servo: servo.command(Release()),
        lambda servo: servo.read(),
        lambda servo: servo.identity,
        lambda servo: servo.configure(SETTINGS),
        lambda servo: servo.settings(),
    ],
    ids=["command", "release", "read", "identify", "configure", "settings"],
)
def test_nothing_can_be_asked_of_a_disconnected_servo(act):
    servo = FakeServo()
    with pytest.raises(NotReady, match="connect it first"):
        act(servo)
    assert servo.sent == []


def test_a_servo_that_does_not_answer_stays_disconnected_and_gives_its_bus_back():
    servo = FakeServo(FakeSource(mute=True))
    with pytest.raises(NoAnswer):
        servo.connect()
    assert servo.state is ServoState.DISCONNECTED
    assert servo.log["closes"] == 1


def test_connecting_twice_and_configuring_a_driven_servo_are_refused(servo):
    with pytest.raises(NotReady, match="already"):
        servo.connect()
    servo.command(PositionGoal(0.1))
    with pytest.raises(NotReady, match="release it first"):
        servo.configure(SETTINGS)


def test_the_first_goal_enables_once_and_a_goal_of_the_other_kind_releases_between(servo):
    servo.command(PositionGoal(0.1))
    servo.command(PositionGoal(0.2))
    servo.command(TorqueGoal(0.5))
    assert servo.sent == [
        "enable",
        PositionGoal(0.1),
        PositionGoal(0.2),
        "release",
        "enable",
        TorqueGoal(0.5),
    ]


@given(position=st.floats(allow_nan=False, allow_infinity=False), torque=st.floats(-1e6, 1e6))
def test_goals_are_clamped_to_the_limits(position, torque):
    servo = FakeServo()
    servo.connect()
    servo.configure(SETTINGS, Limits(lowest_position=-1.0, highest_position=2.0, torque=0.5))
    servo.command(PositionGoal(position))
    assert servo.sent[-1] == PositionGoal(min(max(position, -1.0), 2.0))
    servo.command(TorqueGoal(torque))
    assert servo.sent[-1] == TorqueGoal(min(max(torque, -0.5), 0.5))


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("kind", [PositionGoal, TorqueGoal])
def test_a_goal_that_is_not_a_number_never_reaches_the_servo(servo, kind, wrong):
    with pytest.raises(CommandError, match="finite"):
        servo.command(kind(wrong))
    with pytest.raises(CommandError, match="PositionGoal"):
        servo.command(wrong)
    assert servo.state is ServoState.READY
    assert servo.sent == []


def test_a_servo_counts_as_enabled_when_enabling_it_fails_half_way(servo, monkeypatch):
    def broken(goal):
        raise NoAnswer("no answer to torque on")

    monkeypatch.setattr(servo, "_enable", broken)
    with pytest.raises(NoAnswer):
        servo.command(PositionGoal(0.0))
    assert servo.state is ServoState.ENABLED
    assert servo.release()
    assert servo.state is ServoState.READY
    assert servo.sent == ["release"]


def test_release_works_in_every_state_any_number_of_times():
    servo = FakeServo()
    assert servo.release()
    servo.connect()
    assert servo.release()
    servo.command(PositionGoal(0.0))
    assert servo.release()
    assert servo.release()
    servo.fault("test")
    assert servo.release()
    assert servo.state is ServoState.FAULT
    servo.close()
    assert servo.release()


@pytest.mark.parametrize(("failing", "confirmed"), [(2, True), (3, False), (6, False)])
def test_a_release_is_tried_three_times_and_then_a_fault_that_names_the_remedy(failing, confirmed):
    servo = FakeServo(FakeSource(failing_releases=failing))
    servo.connect()
    servo.command(PositionGoal(0.0))
    assert servo.release() is confirmed
    assert servo.may_be_driven is not confirmed
    assert servo.state is (ServoState.READY if confirmed else ServoState.FAULT)
    if not confirmed:
        assert servo.fault_reason == "CUT THE SUPPLY: motor-off not confirmed (fake servo 1: no answer to torque off)"
    if failing == 6:
        with pytest.raises(DriverError, match="acknowledging"):
            servo.acknowledge()
        assert servo.state is ServoState.FAULT


def test_in_fault_commands_are_refused_until_a_person_acknowledged(servo):
    servo.command(PositionGoal(0.1))
    servo.fault("too hot")
    assert servo.log["driven"] == 0
    assert servo.state is ServoState.FAULT
    with pytest.raises(NotReady, match="too hot"):
        servo.command(PositionGoal(0.1))
    assert servo.read().position == 0.1
    servo.acknowledge()
    assert servo.state is ServoState.READY
    assert servo.fault_reason == ""
    servo.command(PositionGoal(0.1))


def test_close_releases_first():
    with FakeServo() as servo:
        servo.connect()
        servo.command(PositionGoal(0.1))
    assert servo.sent[-1] == "release"
    assert servo.log["closes"] == 1
    servo.close()
    assert servo.log["closes"] == 1


@given(seed=st.integers(0, 2**32 - 1))
def test_no_order_of_calls_leaves_a_servo_driven_unawares(seed):
    """Whatever is called in whatever order: the motor is driven only in state ENABLED."""
    choose = random.Random(seed)
    servo = FakeServo()
    acts = [
        servo.connect,
        servo.release,
        servo.close,
        servo.acknowledge,
        servo.read,
        lambda: servo.fault("test"),
        lambda: servo.configure(SETTINGS),
        lambda: servo.command(PositionGoal(0.1)),
        lambda: servo.command(TorqueGoal(0.1)),
        lambda: servo.command(Release()),
    ]
    for _ in range(30):
        with contextlib.suppress(ServoBenchError):
            choose.choice(acts)()
        assert servo.log["driven"] == (servo.state is ServoState.ENABLED)


def test_limits_wider_than_the_ratings_are_refused_and_nothing_is_written():
    servo = FakeServo()
    servo.connect()
    before = servo.limits
    with pytest.raises(CommandError, match=r"speed of 2000 rad/s is wider than the servo's rating of 1000 rad/s"):
        servo.configure(SETTINGS, Limits(speed=2000.0))
    assert (servo.limits, servo.sent) == (before, [])
    # Narrow ones do not become the new ratings.
    servo.configure(SETTINGS, Limits(speed=1.0))
    servo.configure(SETTINGS, before)
    assert servo.limits == before
