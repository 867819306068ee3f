"""Bus watchdog, shutdown and the errors that lead to it, and how each is cleared."""

from __future__ import annotations

import pytest

from drivers.emulators.dynamixel import EmulatedDynamixel

from .conftest import instruction1, instruction2

TRIPPED = -1
RANGE = 4
ALERT = 0x80
PING = instruction2(1, 1)
MODES = {"current": 0, "velocity": 1, "position": 3, "current-based": 5, "pwm": 16}


def error2(answer: bytes) -> int:
    """Error byte of a status packet."""
    return answer[8]


@pytest.fixture(params=MODES.items(), ids=MODES)
def moved(connect, request):
    """A servo driven away from where it hangs, with a bus watchdog of 100 ms; and its mode."""
    name, mode = request.param
    goals = {"goal_current": 0, "goal_pwm": 0} if name in ("current", "pwm") else {}
    client = connect(EmulatedDynamixel(servo="xm430_w350", registers={"operating_mode": mode, **goals}))
    client.write_all(torque_enable=1, bus_watchdog=5)
    goal = {"current": "goal_current", "velocity": "goal_velocity", "pwm": "goal_pwm"}.get(name, "goal_position")
    client.write_all(**{goal: 2500 if goal == "goal_position" else 150})
    for _ in range(20):
        client.run(0.05)
        client.ask(PING)
    return client, name


def test_a_silent_bus_stops_the_servo_until_it_is_told_to_go_on(moved):
    """The register says −1, goals cannot be written, torque stays on; a position mode holds its place."""
    client, name = moved
    assert client.read("bus_watchdog") == 5, "instructions feed it"
    assert (where := client.position) > 0.1
    client.run(0.2)
    assert client.read("bus_watchdog") == TRIPPED
    assert client.read("torque_enable") == 1
    client.run(2.0)
    assert abs(client.devices[0].mechanism.plant.velocity) < 0.05 or name in ("current", "pwm")
    drive = {"current": ["present_current"], "pwm": ["present_pwm"]}.get(name, [])
    assert [client.read(register) for register in drive] == [0] * len(drive)
    if name in ("position", "current-based"):
        assert client.position == pytest.approx(where, abs=0.1)
    assert "watchdog_trips=1" in client.say("bus")
    for goal in ("goal_pwm", "goal_current", "goal_velocity", "goal_position"):
        assert client.write(goal, 10) == RANGE
    assert client.write("bus_watchdog", 5) == RANGE
    # Neither torque that is switched off and on nor the cleared watchdog wakes it.
    where = client.position
    client.write_all(torque_enable=0)
    client.write_all(torque_enable=1)
    client.write_all(bus_watchdog=0)
    client.run(0.5)
    assert [client.read(register) for register in drive] == [0] * len(drive)
    assert client.position <= where + 0.05
    assert client.read("bus_watchdog") == 0
    if name == "pwm":
        client.write_all(goal_pwm=-150)
        client.run(0.05)
        assert client.read("present_pwm") == -150


def test_the_watchdog_needs_torque_and_its_own_instructions(connect):
    client = connect("xl330", "xm430_w350")
    client.write_all(bus_watchdog=2)
    client.run(1.0)
    assert client.read("bus_watchdog") == 2
    client.write_all(torque_enable=1)
    for _ in range(10):
        client.ask(instruction2(2, 1))
    assert client.read("bus_watchdog") == TRIPPED


def test_a_broadcast_feeds_the_watchdogs_of_all(connect):
    client = connect("xl330", "xm430_w350")
    for id in (1, 2):
        client.write_all(id, bus_watchdog=5)
        client.write_all(id, torque_enable=1)
    for _ in range(10):
        client.ask(instruction2(0xFE, 0x83, 65, 0, 1, 0, 1, 1, 2, 1), patience=0.06)
    assert [client.read("bus_watchdog", id) for id in (1, 2)] == [5, 5]


@pytest.mark.parametrize(
    ("fault", "bit"), [("voltage", 0), ("overheating", 2), ("encoder", 3), ("shock", 4), ("overload", 5)]
)
def test_shutdown_of_the_x_series_lasts_until_reboot(connect, fault, bit):
    client = connect(EmulatedDynamixel(servo="xm430_w350", registers={"shutdown": 0xFF}))
    client.write_all(torque_enable=1, goal_position=2400)
    client.say(f"fault {fault}")
    assert error2(client.ask(PING)) == ALERT
    assert "driven=0" in client.say("state")
    client.say("fault clear")
    assert client.write("torque_enable", 1) == ALERT
    assert (client.read("torque_enable"), client.read("hardware_error_status")) == (0, 1 << bit)
    assert error2(client.ask(instruction2(1, 8))) == ALERT
    client.run(0.5)
    assert error2(client.ask(PING)) == 0
    client.write_all(torque_enable=1)


def test_errors_add_up_until_the_reboot_that_ends_them(connect):
    client = connect("xm430_w350")
    client.say("fault overload")
    client.say("fault clear")
    client.say("fault shock")
    assert client.read("hardware_error_status") == 0x30
    client.ask(instruction2(1, 8))
    client.run(0.5)
    assert client.read("hardware_error_status") == 0


def test_an_error_outside_the_shutdown_mask_is_only_told(connect):
    """The voltage bit of an XM430 is not in its factory mask 52."""
    client = connect("xm430_w350")
    client.write_all(torque_enable=1)
    client.say("supply 9.0")
    assert error2(client.ask(PING)) == ALERT
    assert client.read("hardware_error_status") == 1
    assert "driven=1" in client.say("state")


def test_an_error_number_comes_with_the_alert(connect):
    client = connect("xl330")
    client.say("alert on")
    assert client.write("operating_mode", 2) == ALERT | RANGE
    client.say("alert off")
    assert client.write("operating_mode", 2) == RANGE
    one = connect("mx64")
    one.say("alert on")
    assert one.ask(instruction1(1, 1))[4] == 0x01


def test_heat_beyond_the_limit_shuts_down(connect):
    client = connect("xl330")
    client.write_all(torque_enable=1)
    client.say("temperature 70")
    assert error2(client.ask(PING)) == 0
    client.say("temperature 71")
    client.run(0.01)
    assert "driven=0" in client.say("state")
    assert client.read("hardware_error_status") == 4
    client.ask(instruction2(1, 8))
    client.run(0.5)
    assert error2(client.ask(PING)) == ALERT, "it is still hot"


def test_shutdown_of_protocol_1_takes_the_torque_limit_away(connect):
    """Writing it back revives the servo once the error is gone."""
    client = connect("mx106")
    client.write_all(goal_position=2300)
    client.run(0.5)
    client.say("fault overload")
    client.run(0.01)
    assert client.ask(instruction1(1, 1))[4] == 0x20
    assert "driven=0" in client.say("state")
    assert client.say("get torque_limit") == "0"
    assert client.write("torque_limit", 1023) == 0x20
    client.run(0.01)
    assert "driven=0" in client.say("state"), "the error is still there"
    client.say("fault clear")
    client.write_all(torque_limit=1023)
    assert "driven=1" in client.say("state")


def test_voltage_error_of_protocol_1_goes_as_it_comes(connect):
    client = connect("mx64")
    client.say("supply 17")
    assert client.ask(instruction1(1, 1))[4] == 0x01
    client.say("supply off")
    assert client.ask(instruction1(1, 1))[4] == 0


def test_shutdown_of_the_xl320(connect):
    client = connect("xl320")
    client.write_all(torque_enable=1)
    client.write_all(goal_position=600)
    client.say("fault overload")
    client.run(0.01)
    assert client.read("hardware_error_status") == 1
    assert error2(client.ask(PING)) == ALERT
    assert client.read("torque_limit") == 0
    assert "driven=0" in client.say("state")
    client.say("fault clear")
    client.write_all(torque_limit=1023)
    assert "driven=1" in client.say("state")


def test_power_cycle_forgets_the_ram_and_takes_a_moment(connect):
    client = connect("xl330", "mx64")
    client.write_all(torque_enable=1, position_p_gain=77)
    client.write_all(2, goal_position=2300)
    client.say("power-cycle")
    assert client.ask(PING) == b""
    assert client.ask(instruction1(2, 1)) == b""
    client.run(0.4)
    assert client.read("position_p_gain") == 400
    assert [client.read("torque_enable", id) for id in (1, 2)] == [0, 0]


def test_power_off_silences_one_servo_or_all(connect):
    client = connect("xl330", "xm430_w350")
    client.write_all(2, torque_enable=1)
    client.say("power off id=2")
    assert client.ask(PING) != b""
    assert client.ask(instruction2(2, 1)) == b""
    assert "driven=0" in client.say("state id=2")
    client.say("power on id=2")
    client.run(0.4)
    assert client.ask(instruction2(2, 1)) != b""
    client.say("power off")
    assert client.ask(PING) == b""
