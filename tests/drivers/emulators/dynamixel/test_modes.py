"""What a servo does with its goals: the catalogue's model moves, in each mode the right way and no further."""

from __future__ import annotations

import math

import pytest

from core.motion.simulation import Stepper
from core.servo.catalogue import load_servo
from core.servo.shipped import nominal_model
from drivers.emulators.dynamixel import EmulatedDynamixel
from drivers.simulated.servo import starting_bench

STEP = 2.0 * math.pi / 4096
FREE = "load 0.01 0.05"
"""A pendulum that turns freely."""


@pytest.mark.parametrize(("servo", "counts"), [("xl330", 340), ("mx106", 340), ("mx64", -340), ("xm430_w350", 500)])
def test_position_step_is_the_catalogue_models(connect, servo, counts):
    """A step of the goal moves the servo as `simulation` moves the same model: within 2 steps of the encoder."""
    client = connect(servo, wire_time=False)
    spec = load_servo(servo)
    model = nominal_model(spec)
    settings = model.default_settings()
    client.write_all(**{client.devices[0].registers.table.gains["kp"]: int(settings.kp)})
    client.write_all(torque_enable=1)
    client.run(0.5)
    start = client.position
    client.write_all(goal_position=2048 + counts)
    stepper = Stepper(model, starting_bench(spec), settings, 1e-3, substeps=2, position=start)
    for _ in range(30):  # milliseconds in which the answer was waited for
        stepper.step(counts * STEP)
    for _ in range(15):
        # It moves on in the two milliseconds within which a read and a write fall.
        within = 2 + 2e-3 * abs(stepper.velocity) / STEP
        assert client.read("present_position") - 2048 == pytest.approx(stepper.position / STEP, abs=within)
        for _ in range(30):
            stepper.step(counts * STEP)


@pytest.mark.parametrize(
    ("servo", "registers", "enable", "goal", "present"),
    [
        # Currents that hold 0.6 of what gravity takes at most: torque k_t·I.
        ("xm430_w350", {"operating_mode": 0}, {}, {"goal_current": 103}, {"present_current": 103}),
        ("xh540_w150", {"operating_mode": 0}, {}, {"goal_current": -218}, {"present_current": -218}),
        ("mx106_2", {"operating_mode": 0}, {}, {"goal_current": 185}, {"present_current": 185}),
        ("mx64", {}, {"torque_control_mode": 1}, {"goal_torque": -60}, {"current": 2048 - 60}),
        # Voltages: at rest I = duty·U/R, 200/885 of 7.5 V on the XL330's winding are 586 mA.
        ("xl330", {"operating_mode": 16}, {}, {"goal_pwm": -200}, {"present_pwm": -200, "present_current": -586}),
        ("xl320", {"control_mode": 1}, {}, {"moving_speed": -300}, {"present_load": -300}),
    ],
)
def test_a_current_or_a_voltage_is_held_the_right_way_round(connect, servo, registers, enable, goal, present):
    zero = {name: 0 for name in goal if name in ("goal_current", "goal_pwm")}
    client = connect(EmulatedDynamixel(servo=servo, registers=registers | zero))
    if servo == "xl330":
        client.say("load 0.3 0.2")
    client.write_all(torque_enable=1, **enable)
    client.write_all(**goal)
    client.run(1.0 if servo == "xl320" else 3.0)
    (wanted,) = goal.values()
    for name, counts in present.items():
        assert client.read(name) == pytest.approx(counts, abs=3, rel=0.02 if name == "present_current" else 0)
    there = math.copysign(1.0, wanted) * client.position
    assert there > 0.05
    # No more of it is left than a limit allows.
    if servo in ("mx64", "xl320"):
        client.write_all(torque_limit=20)
        client.run(0.5)
        (name,) = present
        assert client.read(name) == pytest.approx((2048 if servo == "mx64" else 0) - 20, abs=2)
    else:
        client.write_all(**dict.fromkeys(goal, 0))
        client.run(3.0)
        assert abs(client.position) < there


def test_current_is_limited_by_the_supply(connect):
    """A pendulum that turns freely runs as fast as the voltage lets it, not ever faster."""
    client = connect(EmulatedDynamixel(servo="xm430_w350", registers={"operating_mode": 0, "goal_current": 0}))
    client.say(FREE)
    client.write_all(torque_enable=1, goal_current=1193)
    client.run(2.0)
    mechanism = client.devices[0].mechanism
    fastest = mechanism.plant.settings.supply_voltage / nominal_model(load_servo("xm430_w350")).values["kt"]
    assert 0.5 * fastest < mechanism.velocity < 1.02 * fastest
    assert client.read("present_current") < 1193


@pytest.mark.parametrize(
    ("servo", "registers", "goal", "present", "counts", "unit"),
    [
        ("xm430_w350", {"operating_mode": 1}, "goal_velocity", "present_velocity", -100, 0.229),
        ("mx106", {"cw_angle_limit": 0, "ccw_angle_limit": 0}, "moving_speed", "present_speed", 200, 0.114),
    ],
)
def test_velocity_is_controlled(connect, servo, registers, goal, present, counts, unit):
    client = connect(EmulatedDynamixel(servo=servo, registers=registers))
    client.say(FREE)
    client.write_all(torque_enable=1)
    client.write_all(**{goal: counts})
    client.run(3.0)
    assert client.read(present) == pytest.approx(counts, abs=6)
    assert client.devices[0].mechanism.velocity == pytest.approx(counts * unit * 2 * math.pi / 60, rel=0.06)


@pytest.mark.parametrize(
    ("servo", "profile", "way", "within"),
    [
        # In half a second at 20·0.229 rpm, at 50·0.114 rpm, and by 214.577 rev/min² from rest.
        ("xm430_w350", {"profile_velocity": 20}, 0.53 * 20 * 0.229 * 2 * math.pi / 60, 12),
        ("mx64", {"moving_speed": 50}, 0.53 * 50 * 0.114 * 2 * math.pi / 60, 25),
        ("xm430_w350", {"profile_acceleration": 1}, 0.5 * 214.577 / 3600 * 2 * math.pi * 0.53**2, 12),
    ],
)
def test_a_profile_limits_the_way_to_a_goal(connect, servo, profile, way, within):
    client = connect(servo, wire_time=False)
    client.write_all(torque_enable=1, **profile)
    client.write_all(goal_position=2048 + 600)
    client.run(0.5)
    name = "present_position" if servo == "mx64" else "position_trajectory"
    assert client.read(name) - 2048 == pytest.approx(way / STEP, abs=within)
    if "profile_velocity" in profile:
        assert (client.read("velocity_trajectory"), client.read("moving")) == (20, 1)
        client.run(3.0)
        assert client.read("present_position") == pytest.approx(2648, abs=40)
        assert (client.read("velocity_trajectory"), client.read("moving")) == (0, 0)


def test_goal_current_limits_a_position_mode(connect):
    """Current-based position: 0.3 of the current that lifts the load does not lift it, all of it does."""
    client = connect(EmulatedDynamixel(servo="xm430_w350", registers={"operating_mode": 5}))
    spec = load_servo("xm430_w350")
    lifting = starting_bench(spec).gravity_torque / nominal_model(spec).values["kt"] / 2.69e-3
    client.write_all(goal_current=round(0.3 * lifting), torque_enable=1, goal_position=2048 + 1024)
    client.run(3.0)
    assert client.read("present_position") < 2048 + 700
    assert client.read("present_current") == pytest.approx(0.3 * lifting, abs=3)
    client.write_all(goal_current=1193)
    client.run(3.0)
    assert client.read("present_position") == pytest.approx(2048 + 1024, abs=40)


def test_goal_pwm_and_torque_limit_limit_the_position_law(connect):
    client = connect("xm430_w350", "mx64")
    client.write_all(torque_enable=1, goal_pwm=20)
    client.write_all(2, torque_enable=1, torque_limit=20)
    for id in (1, 2):
        client.write_all(id, goal_position=2048 + 1000)
    client.run(0.3)
    assert client.read("present_pwm") == pytest.approx(20, abs=1)
    assert client.read("present_load", 2) == pytest.approx(20, abs=1)


def test_limits_that_limit_nothing_change_nothing(connect):
    """The emulator's own position law, limited to more than it needs, moves as the plant's own does."""
    positions = []
    for profile in (0, 32767):
        client = connect("xm430_w350", wire_time=False)
        client.write_all(torque_enable=1, profile_velocity=profile, position_d_gain=4000, position_i_gain=300)
        client.write_all(goal_position=2048 + 300)
        positions.append([client.run(0.02) or client.position / STEP for _ in range(20)])
    assert positions[1] == pytest.approx(positions[0], abs=12)


def test_torque_off_lets_go_and_torque_on_holds_or_jumps_to_the_old_goal(connect):
    """Protocol 1 holds where it is, protocol 2 jumps to its old goal; the manuals leave it open."""
    client = connect("xl330", "mx64")
    for id in (1, 2):
        if id == 1:
            client.write_all(torque_enable=1)  # in protocol 1 a goal switches it on
        client.write_all(id, goal_position=2048 + 300)
        assert (client.read("torque_enable", id), client.device(id).mechanism.driven) == (1, True)
        client.run(0.5)
        assert client.read("present_position", id) > 2200
        client.write_all(id, torque_enable=0)
        assert "driven=0" in client.say(f"state id={id}")
        client.run(2.0)
        assert client.read("present_position", id) < 2300
        client.write_all(id, torque_enable=1)
    assert client.read("goal_position", 1) == 2048 + 300
    assert client.read("goal_position", 2) == pytest.approx(client.read("present_position", 2), abs=2)


def test_protocol_1_holds_in_the_turn_it_is_in(connect):
    """Its counts begin again with every turn: 40° and 400° are the same goal."""
    client = connect("mx64")
    client.say("hand angle 400")
    client.run(6.0)
    client.write_all(torque_enable=1)
    client.say("hand off")
    client.run(0.5)
    assert client.read("goal_position") == pytest.approx(2048 + 4096 * 40 / 360, abs=120)
    assert client.position == pytest.approx(math.radians(400), abs=0.3)
