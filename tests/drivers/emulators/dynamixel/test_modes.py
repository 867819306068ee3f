"""What a servo does with its goals: the catalogue's model moves, in each mode the right way and no further."""

from __future__ import annotations

import math

import pytest

from core.catalogue import load_servo
from core.shipped import nominal_model
from core.simulation import Stepper
from drivers.emulators.dynamixel import EmulatedDynamixel
from drivers.simulated.servo import starting_bench

STEP = 2.0 * math.pi / 4096


def still(client) -> None:
    """Let the pendulum come to rest."""
    client.run(3.0)


@pytest.mark.parametrize(("servo", "counts"), [("xl330", 340), ("mx106", 340), ("mx64", -340), ("xm430_w350", 500)])
def test_position_step_is_the_catalogue_models(connect, servo, counts):
    """A step of the goal moves the servo as `core.simulation` moves the same model: within 2 steps of the encoder."""
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
    written = client.clock.now() - 0.03  # the answer was waited for
    reached = round((client.clock.now() - written) / 1e-3)
    for _ in range(reached):
        stepper.step(counts * STEP)
    for _ in range(15):
        assert client.read("present_position") - 2048 == pytest.approx(stepper.position / STEP, abs=2 + _lag(stepper))
        for _ in range(30):
            stepper.step(counts * STEP)


def _lag(stepper: Stepper) -> float:
    """How far it moves in the two milliseconds within which a read and a write fall [counts]."""
    return 2e-3 * abs(stepper.velocity) / STEP


def test_gains_reach_the_position_law(connect):
    """Half the gain, twice the sag under a load; the pendulum hangs at 60°."""
    sags = []
    for gain in (400, 800):
        client = connect(EmulatedDynamixel(servo="xm430_w350", id=1))
        client.write_all(position_p_gain=gain, torque_enable=1, goal_position=2048 + 683)
        client.run(2.0)
        sags.append(2048 + 683 - client.read("present_position"))
    assert sags[0] > sags[1] >= 0


@pytest.mark.parametrize(
    ("servo", "unit", "sign"), [("xm430_w350", 2.69e-3, 1), ("xh540_w150", 2.69e-3, -1), ("mx106_2", 3.36e-3, 1)]
)
def test_current_mode_is_a_constant_motor_torque(connect, servo, unit, sign):
    """Torque k_t·I; the pendulum comes to rest where gravity and friction hold it, the right way round."""
    client = connect(EmulatedDynamixel(servo=servo, registers={"operating_mode": 0, "goal_current": 0}))
    spec = load_servo(servo)
    kt = nominal_model(spec).values["kt"]
    goal = round(0.6 * starting_bench(spec).gravity_torque / kt / unit)
    client.write_all(torque_enable=1, goal_current=sign * goal)
    still(client)
    assert client.read("present_current") == pytest.approx(sign * goal, abs=2)
    there = sign * client.position
    assert there > 0.1
    client.write_all(goal_current=0)
    still(client)
    assert abs(client.position) < there


def test_current_is_limited_by_the_supply(connect):
    """A pendulum that turns freely runs as fast as the voltage lets it, not ever faster."""
    client = connect(EmulatedDynamixel(servo="xm430_w350", registers={"operating_mode": 0, "goal_current": 0}))
    client.say("load 0.01 0.05")
    client.write_all(torque_enable=1, goal_current=1193)
    client.run(2.0)
    values = nominal_model(load_servo("xm430_w350")).values
    supply = client.devices[0].mechanism.plant.settings.supply_voltage
    assert 0.5 * supply / values["kt"] < client.devices[0].mechanism.velocity < 1.02 * supply / values["kt"]
    assert client.read("present_current") < 1193


def test_goal_torque_of_protocol_1_is_a_constant_motor_torque(connect):
    client = connect("mx64")
    client.write_all(torque_enable=1, torque_control_mode=1)
    client.write_all(goal_torque=-60)
    still(client)
    assert client.position < -0.05
    assert client.read("current") == pytest.approx(2048 + -60, abs=2)
    client.write_all(torque_limit=20)
    client.run(0.5)
    assert client.read("current") == pytest.approx(2048 + -20, abs=2)


def test_pwm_mode_is_a_constant_voltage(connect):
    """Held by hand it stalls: I = duty·U/R."""
    client = connect(EmulatedDynamixel(servo="xl330", registers={"operating_mode": 16, "goal_pwm": 0}))
    client.say("load 0.3 0.2")
    client.write_all(torque_enable=1, goal_pwm=-200)
    still(client)
    current = 200 / 885 * 7.5 / nominal_model(load_servo("xl330")).values["R"]
    assert client.read("present_pwm") == -200
    assert client.read("present_current") == pytest.approx(-current / 1e-3, rel=0.02)
    assert client.position < -0.0


def test_wheel_mode_of_the_xl320_is_a_share_of_the_voltage(connect):
    client = connect(EmulatedDynamixel(servo="xl320", registers={"control_mode": 1}))
    client.write_all(torque_enable=1, moving_speed=-300)
    client.run(1.0)
    assert client.read("present_load") == pytest.approx(-300, abs=3)
    assert client.position < -0.05
    client.write_all(torque_limit=100)
    client.run(0.1)
    assert client.read("present_load") == pytest.approx(-100, abs=3)


@pytest.mark.parametrize(("servo", "unit", "sign"), [("xm430_w350", 0.229, -1), ("mx106", 0.114, 1)])
def test_velocity_is_controlled(connect, servo, unit, sign):
    if servo == "mx106":
        registers = {"cw_angle_limit": 0, "ccw_angle_limit": 0}
        goal, present, counts = "moving_speed", "present_speed", 200
    else:
        registers = {"operating_mode": 1}
        goal, present, counts = "goal_velocity", "present_velocity", 100
    client = connect(EmulatedDynamixel(servo=servo, registers=registers))
    client.say("load 0.01 0.05")
    client.write_all(torque_enable=1)
    client.write_all(**{goal: sign * counts})
    still(client)
    assert client.read(present) == pytest.approx(sign * counts, abs=6)
    velocity = client.devices[0].mechanism.velocity
    assert velocity == pytest.approx(sign * counts * unit * 2 * math.pi / 60, rel=0.06)


def test_profile_velocity_limits_the_way_there(connect):
    """Profile velocity 20 is 20·0.229 rpm: half a second moves the goal by 0.24 rad, 156 counts."""
    client = connect(EmulatedDynamixel(servo="xm430_w350"), wire_time=False)
    client.write_all(torque_enable=1, profile_velocity=20)
    client.write_all(goal_position=2048 + 600)
    client.run(0.5)
    counts = 0.53 * 20 * 0.229 * 2 * math.pi / 60 / STEP
    assert client.read("position_trajectory") - 2048 == pytest.approx(counts, abs=12)
    assert client.read("velocity_trajectory") == 20
    assert client.read("moving") == 1
    assert client.read("present_position") - 2048 < counts + 12
    still(client)
    assert client.read("present_position") == pytest.approx(2648, abs=40)
    assert client.read("velocity_trajectory") == 0


def test_profile_acceleration_starts_gently(connect):
    """1 is 214.577 rev/min²: 0.374 rad/s²; after a quarter second 0.0117 rad."""
    client = connect(EmulatedDynamixel(servo="xm430_w350"), wire_time=False)
    client.write_all(torque_enable=1, profile_acceleration=1)
    client.write_all(goal_position=2048 + 600)
    client.run(0.22)
    assert client.read("position_trajectory") - 2048 == pytest.approx(0.5 * 0.374 * 0.25**2 / STEP, abs=3)


def test_moving_speed_limits_the_way_there(connect):
    """50 is 50·0.114 rpm, 0.597 rad/s."""
    client = connect("mx64", wire_time=False)
    client.write_all(moving_speed=50)
    client.write_all(goal_position=2048 + 600)
    client.run(0.5)
    assert client.read("present_position") - 2048 == pytest.approx(0.53 * 0.597 / STEP, abs=25)


def test_goal_current_limits_a_position_mode(connect):
    """Current-based position: 0.3 of the current that lifts the load does not lift it, all of it does."""
    client = connect(EmulatedDynamixel(servo="xm430_w350", registers={"operating_mode": 5}))
    spec = load_servo("xm430_w350")
    lifting = starting_bench(spec).gravity_torque / nominal_model(spec).values["kt"] / 2.69e-3
    client.write_all(goal_current=round(0.3 * lifting), torque_enable=1, goal_position=2048 + 1024)
    still(client)
    assert client.read("present_position") < 2048 + 700
    assert client.read("present_current") == pytest.approx(0.3 * lifting, abs=3)
    client.write_all(goal_current=1193)
    still(client)
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
        seen = []
        for _ in range(20):
            client.run(0.02)
            seen.append(client.position / STEP)
        positions.append(seen)
    assert positions[1] == pytest.approx(positions[0], abs=12)


def test_torque_off_lets_go_and_torque_on_holds_or_jumps_to_the_old_goal(connect):
    """Protocol 1 holds where it is, protocol 2 jumps to its old goal; the manuals leave it open."""
    client = connect("xl330", "mx64")
    for id in (1, 2):
        client.write_all(id, torque_enable=1)
        client.write_all(id, goal_position=2048 + 300)
        client.run(0.5)
        assert client.read("present_position", id) > 2200
        client.write_all(id, torque_enable=0)
        assert "driven=0" in client.say(f"state id={id}")
        client.run(2.0)
        assert client.read("present_position", id) < 2300
        client.write_all(id, torque_enable=1)
    assert client.read("goal_position", 1) == 2048 + 300
    assert client.read("goal_position", 2) == pytest.approx(client.read("present_position", 2), abs=2)


def test_a_goal_position_switches_torque_on_in_protocol_1(connect):
    client = connect("mx106")
    client.write_all(goal_position=2200)
    assert client.read("torque_enable") == 1
    assert "driven=1" in client.say("state")


def test_realtime_tick_counts_milliseconds(connect):
    client = connect("xl330", wire_time=False)
    before = client.read("realtime_tick")
    client.run(1.0)
    assert (client.read("realtime_tick") - before) % 32768 == pytest.approx(1030, abs=3)
