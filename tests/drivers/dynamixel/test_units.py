"""Counts and physical values, each against a number of the e-manual; torques by the motor equation."""

import math

import pytest

from core.servo.catalogue import servos
from drivers.dynamixel import profile_of
from drivers.dynamixel.form import DYNAMIXEL
from drivers.errors import ServoFault
from drivers.reading import Reading
from drivers.serial_bus.modes import GOAL_REGISTERS, Motor, goal_counts
from drivers.serial_bus.profile import members
from drivers.servo import TorqueGoal

# Servo, what, counts, value. Units of the e-manual: current XL330 1 mA, XM/XH 2.69 mA, MX(2) 3.36 mA, MX protocol 1
# 4.5 mA around 2048; XL-320 1024 counts over 300°. Others are in `test_bytes`.
KNOWN = [
    ("xl330", "position", 0, -math.pi),
    ("xl330", "current", -100, -0.1),
    ("xm430_w350", "current", 1193, 3.20917),
    ("xh540_w270", "current", 2047, 5.50643),
    ("xh540_w150", "current", 1, 0.00269),
    ("mx64_2", "current", 1941, 6.52176),
    ("mx106_2", "current", -2047, -6.87792),
    ("mx106", "current", 2048, 0.0),
    ("mx64", "position", 4095, math.pi - 2 * math.pi / 4096),
    ("mx64", "duty_cycle", 1023, 1.0),
    ("xl320", "position", 0, -math.radians(150.0)),
]


@pytest.mark.parametrize(("servo", "what", "counts", "value"), KNOWN)
def test_readings_in_si_units(servo, what, counts, value):
    profile = profile_of(servos()[servo])
    register = profile.table[profile.table.reading[what]]
    assert profile.from_counts(register, counts) == pytest.approx(value, rel=1e-9, abs=1e-12)
    assert profile.to_counts(register, value) == counts


def test_a_torque_by_duty_cycle_needs_a_voltage():
    profile, motor = profile_of(servos()["xl330"]), Motor(kt=2.0, resistance=4.0)
    for voltage in (0.0, math.nan):
        with pytest.raises(ServoFault, match="check its power supply"):
            goal_counts(profile, motor, TorqueGoal(0.5), Reading(0.0, supply_voltage=voltage))


@pytest.mark.parametrize("name", members(DYNAMIXEL))
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
    """By current τ/kt, or by duty (τ·R/kt + kt·ω)/U, seed 004 eq. (13), which turns its sign with the speed."""
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
