"""Counts and physical values, each against a number of the e-manual; torques by the motor equation."""

import math

import pytest

from core.catalogue import servos
from drivers.dynamixel.modes import GOAL_REGISTERS, Motor, goal_counts
from drivers.dynamixel.profile import dynamixels, profile_of
from drivers.dynamixel.samples import Speedometer, TickCheck
from drivers.errors import ServoFault
from drivers.reading import Reading
from drivers.servo import PositionGoal, TorqueGoal

RPM = 2.0 * math.pi / 60.0
# Servo, what, counts, value. Units of the e-manual: current XL330 1 mA, XM/XH 2.69 mA, MX(2) 3.36 mA, MX protocol 1
# 4.5 mA around 2048; velocity 0.229, 0.114, 0.111 rpm; PWM 885 = 100 %; voltage 0.1 V; XL-320 1024 counts over 300°.
KNOWN = [
    ("xl330", "position", 2048, 0.0),
    ("xl330", "position", 0, -math.pi),
    ("xl330", "position", 3072, math.pi / 2),
    ("xl330", "current", -100, -0.1),
    ("xl330", "velocity", 100, 22.9 * RPM),
    ("xl330", "duty_cycle", -885, -1.0),
    ("xl330", "supply_voltage", 50, 5.0),
    ("xl330", "temperature", 31, 31.0),
    ("xm430_w350", "current", 1193, 3.20917),
    ("xh540_w270", "current", 2047, 5.50643),
    ("xh540_w150", "current", 1, 0.00269),
    ("mx64_2", "current", 1941, 6.52176),
    ("mx106_2", "current", -2047, -6.87792),
    ("mx106", "current", 2148, 0.45),
    ("mx106", "current", 2048, 0.0),
    ("mx106", "velocity", -300, -34.2 * RPM),
    ("mx64", "position", 4095, math.pi - 2 * math.pi / 4096),
    ("mx64", "duty_cycle", 1023, 1.0),
    ("xl320", "position", 512, 0.0),
    ("xl320", "position", 0, -math.radians(150.0)),
    ("xl320", "velocity", 300, 33.3 * RPM),
]


@pytest.mark.parametrize(("servo", "what", "counts", "value"), KNOWN)
def test_readings_in_si_units(servo, what, counts, value):
    profile = profile_of(servos()[servo])
    register = profile.table[profile.table.reading[what]]
    assert profile.from_counts(register, counts) == pytest.approx(value, rel=1e-9, abs=1e-12)
    assert profile.to_counts(register, value) == counts


@pytest.mark.parametrize(
    ("servo", "angle", "counts"), [("xm430_w350", 0.0, 2048), ("mx64", math.pi / 4, 2560), ("xl320", 0.1, 532)]
)
def test_position_goals(servo, angle, counts):
    spec = servos()[servo]
    assert goal_counts(profile_of(spec), Motor.of(spec), PositionGoal(angle), Reading(0.0)) == counts


def test_torque_by_current_is_torque_over_kt():
    motor = Motor(kt=2.0, resistance=4.0)
    seen = Reading(0.0, velocity=1.0, supply_voltage=12.0)
    # 0.5 N·m / 2 N·m/A = 0.25 A = 93 counts of 2.69 mA, 56 of 4.5 mA; the speed has no part in it.
    assert goal_counts(profile_of(servos()["xm430_w350"]), motor, TorqueGoal(0.5), seen) == 93
    assert goal_counts(profile_of(servos()["mx106"]), motor, TorqueGoal(-0.5), seen) == -56


def test_torque_by_duty_cycle_follows_the_speed():
    motor = Motor(kt=2.0, resistance=4.0)
    for velocity in (0.0, 1.0, -1.5):
        duty = motor.duty_cycle(0.5, velocity, 12.0)
        # Seed 004, eq. (13): τ = kt·(U − kt·ω)/R.
        assert 2.0 * (duty * 12.0 - 2.0 * velocity) / 4.0 == pytest.approx(0.5)
    assert motor.duty_cycle(100.0, 0.0, 12.0) == 1.0
    seen = Reading(0.0, velocity=1.0, supply_voltage=12.0)
    # (0.5·4/2 + 2·1)/12 = 0.25 of 885 and of 1023 counts
    assert goal_counts(profile_of(servos()["xl330"]), motor, TorqueGoal(0.5), seen) == 221
    assert goal_counts(profile_of(servos()["xl320"]), motor, TorqueGoal(0.5), seen) == 256


def test_a_torque_by_duty_cycle_needs_a_voltage():
    profile, motor = profile_of(servos()["xl330"]), Motor(kt=2.0, resistance=4.0)
    for voltage in (0.0, math.nan):
        with pytest.raises(ServoFault, match="check its power supply"):
            goal_counts(profile, motor, TorqueGoal(0.5), Reading(0.0, supply_voltage=voltage))


def test_an_old_sample_is_one_whose_clock_stayed_behind():
    check = TickCheck()
    assert check.plausible(32760, 10.0, 10.002)
    assert check.plausible(2, 10.010, 10.012)
    # 30 ms later an answer that was made 20 ms ago
    assert not check.plausible(12, 10.040, 10.042)
    assert check.plausible(32, 10.044, 10.046)
    # twice the same millisecond is no older sample when it was asked for twice within one
    assert check.plausible(32, 10.0465, 10.047)
    # a restarted servo counts from 0
    assert not check.plausible(5, 11.0, 11.002)
    check.forget()
    assert check.plausible(5, 11.0, 11.002)
    # after a long pause the counter has gone round
    assert check.plausible(4, 61.0, 61.002)


def test_velocity_from_positions():
    speed = Speedometer()
    assert math.isnan(speed.velocity(0.0, 0.0))
    for step in range(1, 30):
        found = speed.velocity(0.01 * step, 0.02 * step)
    assert found == pytest.approx(2.0)
    speed.forget()
    assert math.isnan(speed.velocity(1.0, 0.0))


@pytest.mark.parametrize("name", dynamixels())
def test_every_reading_and_goal_is_the_nearest_count_on_either_side_of_zero(name):
    """A value within half a count of a count is that count, below zero as above it; none leaves the register."""
    profile = profile_of(servos()[name])
    registers = [profile.table[register] for register in profile.table.reading.values()]
    registers += [r for r in map(profile.table.registers.get, GOAL_REGISTERS.values()) if r is not None]
    for register in registers:
        centre, unit = round(profile.centre(register)), profile.unit(register)
        counts = {centre + step for step in (-300, -2, -1, 0, 1, 2, 300)}
        for count in (count for count in counts if register.lowest <= count <= register.highest):
            value = profile.from_counts(register, count)
            assert math.copysign(1.0, value) == math.copysign(1.0, count - centre) or count == centre
            assert [profile.to_counts(register, value + part * unit) for part in (-0.4, 0.0, 0.4)] == [count] * 3
        for far, end in ((-1e12, register.lowest), (1e12, register.highest)):
            assert profile.to_counts(register, far * unit) == end, register.name


@pytest.mark.parametrize("servo", ["xm430_w350", "mx106", "xl330", "xl320"])
def test_torques_are_the_nearest_count_and_turn_their_sign(servo):
    """By current and by duty cycle; a servo that turns the other way under the opposite torque gets the opposite."""
    profile, motor = profile_of(servos()[servo]), Motor(kt=2.0, resistance=4.0)
    unit = profile.current_unit if profile.torque_mode in ("current", "goal_torque") else profile.duty_unit
    by_current = profile.torque_mode in ("current", "goal_torque")
    for velocity in (0.0, 0.7, -0.7):
        for torque in (0.5, 0.111, 0.0007):
            seen, other = (Reading(0.0, velocity=v, supply_voltage=12.0) for v in (velocity, -velocity))
            counts = goal_counts(profile, motor, TorqueGoal(torque), seen)
            exact = torque / 2.0 if by_current else (torque * 4.0 / 2.0 + 2.0 * velocity) / 12.0
            assert abs(counts - exact / unit) <= 0.5 + 1e-9
            assert goal_counts(profile, motor, TorqueGoal(-torque), other) == -counts
    if not by_current:
        full = round(1.0 / unit)
        seen = Reading(0.0, velocity=math.nan, supply_voltage=12.0)
        assert [goal_counts(profile, motor, TorqueGoal(t), seen) for t in (99.0, -99.0)] == [full, -full]
