"""Effects of a write in a servo of the STS series: lock, goals, limits, modes, profile, overload (`sts_series`)."""

from __future__ import annotations

import math

import pytest

from drivers.emulators.feetech import EmulatedFeetech
from tests.drivers.emulators.client import PATIENCE, instruction1

STEP = 2.0 * math.pi / 4096
"""Angle per count [rad]."""
SIGN = 1024
PROTECTIVE, TIME, OVERLOAD = 20, 200, 80
"""Factory values of the registers 34 [%], 35 [10 ms] and 36 [%]."""


def sts(**registers: int) -> EmulatedFeetech:
    return EmulatedFeetech(registers=registers)


def bus_of(connect, **registers: int):
    return connect(sts(**registers))


def cycle_power(client) -> None:
    client.say("power-cycle")
    client.run(0.5)


def way(client, duration: float = 0.2) -> float:
    """How far it turns within a time [rad]."""
    before = client.position
    client.run(duration)
    return client.position - before


def output(client) -> float:
    """True duty cycle, positive towards larger positions."""
    return client.devices[0].mechanism.electrics[1]


# Lock.


@pytest.mark.parametrize("lock", [0, 1])
def test_a_locked_eeprom_takes_a_write_until_its_power_goes(connect, lock):
    client = bus_of(connect)
    client.write_all(lock=lock, p_gain=16, homing_offset=100)
    assert (client.read("p_gain"), client.read("present_position")) == (16, 1948)
    cycle_power(client)
    assert client.read("lock") == 0
    held = (client.read("p_gain"), client.read("present_position"))
    assert held == ((32, 2048) if lock else (16, 1948))


def test_other_firmware_drops_a_write_to_a_locked_eeprom(connect):
    client = connect(sts(), drops_locked=True)
    client.write_all(lock=1, p_gain=16, goal_acceleration=5)
    assert (client.read("p_gain"), client.read("goal_acceleration")) == (32, 5)
    client.write_all(lock=0, p_gain=16)
    cycle_power(client)
    assert client.read("p_gain") == 16


# Torque and goals.


@pytest.mark.parametrize("starts_driven", [False, True])
def test_torque_after_power_up_is_an_option(connect, starts_driven):
    client = connect(sts(), starts_driven=starts_driven)
    client.write_all(torque_enable=0)
    cycle_power(client)
    assert client.read("torque_enable") == starts_driven


def test_only_a_goal_position_switches_torque_on(connect):
    client = bus_of(connect)
    client.write_all(lock=0, homing_offset=5, goal_acceleration=10, moving_speed=100, torque_limit=500, goal_time=0)
    client.write_all(p_gain=16, operating_mode=0)
    assert client.read("torque_enable") == 0
    client.write_all(goal_position=2100)
    assert client.read("torque_enable") == 1
    client.write_all(torque_enable=0)
    # One that comes late does too.
    client.write_all(goal_position=2100)
    assert client.read("torque_enable") == 1


def test_128_makes_the_present_position_the_centre_for_good_and_leaves_the_torque(connect):
    client = bus_of(connect, homing_offset=-700)
    assert client.read("present_position") == 2748
    client.write_all(torque_enable=128)
    assert [client.read(name) for name in ("present_position", "torque_enable", "homing_offset")] == [2048, 0, 0]
    cycle_power(client)
    assert client.read("present_position") == 2048


@pytest.mark.parametrize(("offset", "present"), [(904, 1144), (-904, 2952), (2047, 1), (-2047, 4095)])
def test_the_homing_offset_counts_in_position_mode_alone(connect, offset, present):
    client = bus_of(connect, homing_offset=offset)
    assert client.read("present_position") == present
    client.write_all(operating_mode=1)
    assert client.read("present_position") == 2048


def test_a_position_is_one_within_a_turn_unless_the_phase_asks_for_the_full_angle(connect):
    """Raw 628 with offset 904 reads 3820."""
    client = bus_of(connect, homing_offset=904)
    client.devices[0].centre = 628
    assert client.read("present_position") == 3820
    client.write_all(phase=12 | 16)
    assert client.read("present_position") == -276


@pytest.mark.parametrize(("goal", "limits", "end"), [(3000, (1900, 2200), 2200), (1000, (1900, 2200), 1900)])
def test_goals_are_clamped_to_the_limits(connect, goal, limits, end):
    client = bus_of(connect, min_position_limit=limits[0], max_position_limit=limits[1])
    client.say("load 0 0")
    client.write_all(goal_position=goal)
    client.run(2.0)
    assert client.read("present_position") == pytest.approx(end, abs=15)


def test_both_limits_0_are_no_limits(connect):
    client = bus_of(connect, min_position_limit=0, max_position_limit=0)
    client.say("load 0 0")
    client.write_all(goal_position=4500)
    client.run(3.0)
    assert client.position == pytest.approx((4500 - 2048) * STEP, abs=15 * STEP)


def test_the_torque_limit_after_power_up_is_the_maximum_torque(connect):
    client = bus_of(connect, max_torque=600)
    assert client.read("torque_limit") == 600
    client.write_all(torque_limit=300, max_torque=700)
    assert client.read("torque_limit") == 300
    cycle_power(client)
    assert client.read("torque_limit") == 700


@pytest.mark.parametrize(("goal", "limit"), [(3000, 300), (1000, 300), (3000, 50)])
def test_the_torque_limit_caps_the_output_in_each_direction(connect, goal, limit):
    client = bus_of(connect)
    client.say("hand angle 0")
    client.write_all(torque_limit=limit, goal_position=goal)
    client.run(0.2)
    sign = math.copysign(1.0, goal - 2048)
    assert output(client) == pytest.approx(sign * limit / 1000)
    # The sign bit of the load is set towards larger positions.
    assert client.read("present_load") == -sign * limit


# PWM mode.


@pytest.mark.parametrize(("raw", "duty"), [(300, -0.3), (SIGN | 300, 0.3), (0, 0.0), (SIGN | 1000, 1.0), (1000, -1.0)])
def test_goal_time_is_the_duty_cycle_in_pwm_mode_and_turns_positive_to_smaller_angles(connect, raw, duty):
    client = bus_of(connect, operating_mode=2)
    client.write_all(torque_enable=1, goal_time=raw)
    moved = way(client, 0.1)
    assert output(client) == pytest.approx(duty)
    assert moved * duty > 0.0 or duty == 0.0 == pytest.approx(moved, abs=STEP)


@pytest.mark.parametrize("time", [500, 2000, 5000])
def test_goal_time_is_a_time_in_position_mode_and_overrides_the_speed(connect, time):
    """5000 ms sets the bit that is a sign in PWM mode."""
    client = bus_of(connect)
    client.say("load 0 0")
    client.write_all(moving_speed=4000, goal_time=time, goal_position=3048)
    client.run(0.5 * time / 1000)
    assert client.read("present_position") == pytest.approx(2548, abs=60)
    client.run(0.6 * time / 1000)
    assert client.read("present_position") == pytest.approx(3048, abs=20)


# The profile.


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(("acceleration", "speed"), [(0, 400), (20, 0), (10, 600), (254, 1000)])
def test_speed_and_acceleration_shape_the_goal_into_a_trapezoid(connect, acceleration, speed, sign):
    """1000 counts at v counts/s and a·100 counts/s² take v/a + 1000/v, or 2√(1000/a) without reaching v."""
    client = bus_of(connect, p_gain=100)
    client.say("load 0 0")
    client.write_all(goal_acceleration=acceleration, moving_speed=speed, goal_position=2048 + sign * 1000)
    a, v = 100.0 * acceleration or math.inf, float(speed) or math.inf
    duration = v / a + 1000 / v if v * v / a <= 1000 else 2.0 * math.sqrt(1000 / a)
    profile = client.devices[0]._law.profile
    # The answer to the write was waited for.
    client.run(0.5 * duration - PATIENCE)
    assert sign * profile.position / STEP == pytest.approx(500, abs=10)
    client.run(0.4 * duration)
    assert sign * profile.position / STEP < 999
    client.run(0.15 * duration)
    assert sign * profile.position / STEP == pytest.approx(1000, abs=2)
    client.run(0.2)
    assert client.read("present_position") == pytest.approx(2048 + sign * 1000, abs=20)


def test_reported_speed_has_steps_of_50_and_the_sign_of_the_motion(connect):
    for sign in (1, -1):
        client = bus_of(connect)
        client.say("load 0 0")
        client.write_all(moving_speed=510, goal_position=2048 + sign * 1500)
        client.run(1.0)
        answer = client.ask(instruction1(1, 2, 58, 2))
        raw = int.from_bytes(answer[5:7], "little")
        assert raw in ((500, 550) if sign > 0 else (1 << 15 | 500, 1 << 15 | 550))
        assert client.read("moving") == 1


def test_the_wheel_mode_turns_at_the_speed(connect):
    client = bus_of(connect, operating_mode=1)
    client.say("load 0 0")
    client.write_all(torque_enable=1, moving_speed=-1000)
    client.run(1.0)
    assert way(client, 1.0) / STEP == pytest.approx(-1000, rel=0.1)


# Overload.


@pytest.fixture(params=[1, -1], ids=["larger", "smaller"])
def blocked(connect, request):
    """A servo at full output against a hand, and the direction."""
    client = bus_of(connect, p_gain=100, max_torque=1000)
    client.say("hand angle 0")
    client.write_all(goal_position=2048 + request.param * 900)
    client.run(0.1)
    assert output(client) * request.param > 0.01 * OVERLOAD
    return client, request.param


def test_an_overload_cuts_the_output_after_its_time(blocked):
    client, sign = blocked
    client.run(0.01 * TIME - 0.2)
    assert output(client) * sign > 0.01 * OVERLOAD
    assert client.read("status") == 0
    client.run(0.2)
    assert output(client) == pytest.approx(sign * 0.01 * PROTECTIVE)
    assert client.read("status") == 1 << 5
    assert client.read("torque_enable") == 1
    assert client.ask(instruction1(1, 1)) == instruction1(1, 1 << 5)


def test_an_overload_lasts_until_a_command_in_the_other_direction(blocked):
    client, sign = blocked
    client.run(0.01 * TIME)
    for goal in (950, 800, 900):
        client.write("goal_position", 2048 + sign * goal)
        client.run(0.5)
        assert output(client) == pytest.approx(sign * 0.01 * PROTECTIVE)
    client.write("goal_position", 2048 - sign * 900)
    client.run(0.1)
    assert -sign * output(client) > 0.01 * OVERLOAD
    assert client.read("status") == 0


def test_the_registers_of_the_overload_count(connect):
    client = bus_of(connect, p_gain=100, protective_torque=40, protection_time=50, overload_torque=60)
    client.say("hand angle 0")
    client.write_all(torque_limit=550, goal_position=2900)
    client.run(2.0)
    assert output(client) == pytest.approx(0.55)
    client.write_all(torque_limit=650)
    client.run(0.4)
    assert output(client) == pytest.approx(0.65)
    client.run(0.2)
    assert output(client) == pytest.approx(0.4)


@pytest.mark.parametrize(
    ("mode", "register", "values"), [(1, "moving_speed", (4000, -4000)), (2, "goal_time", (SIGN | 900, 900))]
)
def test_an_overload_ends_alike_in_the_other_modes(connect, mode, register, values):
    client = bus_of(connect, operating_mode=mode)
    client.say("hand angle 0")
    client.write_all(torque_enable=1, **{register: values[0]})
    client.run(0.01 * TIME + 1.0)
    assert output(client) == pytest.approx(0.01 * PROTECTIVE)
    client.write(register, values[1])
    client.run(0.5)
    assert output(client) < -0.01 * OVERLOAD
