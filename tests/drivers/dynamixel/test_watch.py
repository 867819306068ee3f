"""A second program or controller on the bus, goals that get lost, answers that are old: none of it passes for a run."""

import pytest

from drivers.errors import ServoFault
from drivers.serial_bus.modes import GOAL_REGISTERS
from drivers.serial_bus.watch import MOST_LOST, PERIOD
from drivers.servo import PositionGoal, ServoState, TorqueGoal
from tests.drivers.dynamixel.bench import cycles, settings

CYCLE = 0.005
SOON = round(5 * PERIOD / CYCLE)
"""Cycles within which every register was looked at."""
MODES = {
    "xm430_w350": ("operating_mode", 1),
    "mx106": ("torque_control_mode", 1),
    "xl320": ("control_mode", 1),
    "sts3215": ("operating_mode", 1),
    "scs0009": ("min_position_limit", 0),
}


@pytest.fixture
def driven(servo):
    """A servo that follows goals."""
    servo.configure(settings(servo.spec.name))
    cycles(servo, PositionGoal(0.1), 5)
    return servo


def other_goal(servo):
    """A torque if it can hold one."""
    return TorqueGoal(0.05) if servo.profile.torque_mode else PositionGoal(0.05)


def follow(servo, goals, meanwhile=lambda: None):
    """Give goals one after the other; meanwhile: what somebody else does after each sample."""
    for goal in goals:
        meanwhile()
        cycles(servo, goal, 1)


STILL = [PositionGoal(0.2)] * SOON
RISING = [PositionGoal(0.2 + 0.01 * k) for k in range(2 * MOST_LOST)]


def test_nobody_else_on_the_bus_is_no_fault(driven):
    follow(driven, [PositionGoal(0.1 + 0.002 * (k % 50)) for k in range(3 * SOON)])
    cycles(driven, other_goal(driven), 2 * SOON)
    assert driven.repeats == 0


def test_torque_switched_off_by_somebody_else(emulator, driven):
    # With protocol 1 every goal switches it on again.
    with pytest.raises(
        ServoFault, match=r"another program or controller set torque_enable to 0 .* end the other program"
    ):
        follow(driven, STILL, lambda: emulator.say("set torque_enable 0 unheard"))


def test_a_servo_that_protects_itself_just_before_it_is_looked_at_is_not_somebody_else(emulator, driven):
    # Three is no divisor of the cycles between two looks, so that each of them is hit once.
    for number in range(0, 3 * round(PERIOD / CYCLE), 3):
        follow(driven, STILL[:number])
        emulator.say("fault overheating")
        with pytest.raises(ServoFault, match="the servo reports overheating"):
            cycles(driven, PositionGoal(0.2), 5)
        emulator.say("fault clear")
        driven.fault("overheating")
        driven.acknowledge()
        cycles(driven, PositionGoal(0.1), 5)


def test_another_mode_chosen_by_somebody_else(emulator, driven):
    register, value = MODES[driven.spec.name]
    emulator.say(f"set {register} {value} unheard")
    with pytest.raises(ServoFault, match=f"another program or controller set {register} to {value}|goal_position"):
        cycles(driven, PositionGoal(0.1), SOON)


def test_a_goal_of_somebody_else_between_ours_and_the_sample(emulator, driven):
    driven.command(PositionGoal(0.2))
    driven.clock.sleep(0.003)
    emulator.say("set goal_position 999 unheard")
    with pytest.raises(ServoFault, match="another program or controller set goal_position to 999") as fault:
        driven.read()
    driven.fault(str(fault.value))
    assert not int(emulator.say("get torque_enable"))
    driven.acknowledge()
    assert driven.state is ServoState.READY
    cycles(driven, PositionGoal(0.1), SOON)


def test_goals_of_somebody_else_after_each_sample(emulator, driven):
    with pytest.raises(ServoFault, match="another program or controller set goal_position to 999"):
        follow(driven, STILL, lambda: emulator.say("set goal_position 999 unheard"))


def test_a_torque_goal_of_somebody_else(emulator, driven):
    if not driven.profile.torque_mode:
        pytest.skip("it cannot hold a torque")
    register = GOAL_REGISTERS[driven.profile.torque_mode]
    cycles(driven, TorqueGoal(0.05), 5)
    with pytest.raises(ServoFault, match=f"another program or controller set {register} to 9 "):
        follow(driven, [TorqueGoal(0.05)] * SOON, lambda: emulator.say(f"set {register} 9 unheard"))


def test_a_goal_that_is_lost_is_counted_and_the_next_one_counts(emulator, driven):
    """However many are lost, as long as others arrive between them."""
    before = driven.repeats
    for lost in range(1, MOST_LOST + 3):
        emulator.say("deaf 1")
        cycles(driven, PositionGoal(0.2), 1)
        assert driven.repeats == before + lost
        cycles(driven, PositionGoal(0.3), 1)
        assert driven.repeats == before + lost


def test_goals_that_do_not_arrive_any_more_are_a_fault(emulator, driven):
    emulator.say("deaf 1000000")
    with pytest.raises(ServoFault, match=f"accepted none of {MOST_LOST + 1} goals"):
        follow(driven, RISING)


def test_old_answers_are_a_fault_or_not_taken(emulator, driven):
    emulator.say("stale 1000000")
    with pytest.raises(ServoFault, match=r"its answers are old ones|another program or controller set|restarted"):
        follow(driven, RISING)


def test_an_adapter_that_echoes_is_no_other_controller(emulator, driven):
    emulator.say("echo on")
    follow(driven, RISING)
    cycles(driven, other_goal(driven), SOON)
