"""Bus watchdog, shutdown and the errors that lead to it, and how each is cleared."""

from __future__ import annotations

import pytest

from drivers.emulators.dynamixel import EmulatedDynamixel
from tests.drivers.emulators.client import instruction1, instruction2

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


def test_the_watchdog_needs_torque_and_instructions_for_itself_or_all(connect):
    client = connect("xl330", "xm430_w350")
    client.write_all(bus_watchdog=5)
    client.run(1.0)
    assert client.read("bus_watchdog") == 5
    client.write_all(torque_enable=1)
    client.write_all(2, bus_watchdog=5, torque_enable=1)
    for _ in range(10):
        client.ask(instruction2(0xFE, 0x83, 65, 0, 1, 0, 1, 1, 2, 1))
    assert [client.read("bus_watchdog", id) for id in (1, 2)] == [5, 5]
    for _ in range(10):
        client.ask(instruction2(2, 1))
    assert [client.read("bus_watchdog", id) for id in (1, 2)] == [TRIPPED, 5]


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
    client.say("fault overload")
    assert (client.read("torque_enable"), client.read("hardware_error_status")) == (0, 1 << bit | 1 << 5)
    assert error2(client.ask(instruction2(1, 8))) == ALERT
    client.run(0.5)
    assert error2(client.ask(PING)) == client.read("hardware_error_status") == 0
    client.write_all(torque_enable=1)


def test_measured_heat_and_voltage_shut_down_if_their_bit_is_in_the_mask(connect):
    """An XL330 is hot beyond 70 °C; the voltage bit of an XM430 is not in its factory mask 52."""
    client = connect("xl330", "xm430_w350")
    for id in (1, 2):
        client.write_all(id, torque_enable=1)
    client.say("temperature 70")
    assert error2(client.ask(PING)) == 0
    client.say("temperature 71")
    client.say("supply 9.0 id=2")
    client.run(0.01)
    assert [client.read("hardware_error_status", id) for id in (1, 2)] == [4, 1]
    assert [client.device(id).mechanism.driven for id in (1, 2)] == [False, True]
    assert error2(client.ask(instruction2(2, 1))) == ALERT
    client.ask(instruction2(1, 8))
    client.run(0.5)
    assert error2(client.ask(PING)) == ALERT, "it is still hot"


def test_an_alert_without_a_cause_and_a_voltage_that_is_over(connect):
    client = connect("xl330", "mx64")
    client.say("alert on")
    assert client.write("operating_mode", 2) == ALERT | RANGE
    client.say("alert off")
    assert client.write("operating_mode", 2) == RANGE
    for on, off in (("alert on", "alert off"), ("supply 17", "supply off")):
        client.say(f"{on} id=2")
        assert client.ask(instruction1(2, 1))[4] == 0x01
        client.say(f"{off} id=2")
        assert client.ask(instruction1(2, 1))[4] == 0


@pytest.mark.parametrize(("servo", "error"), [("mx106", 0x20), ("xl320", ALERT)])
def test_shutdown_of_other_series_takes_the_torque_limit_away(connect, servo, error):
    """Writing it back revives the servo once the error is gone."""
    client = connect(servo)
    client.write_all(torque_enable=1)
    client.write_all(goal_position=600)
    client.say("fault overload")
    client.run(0.01)
    assert client.write("led", 0) == error
    assert "driven=0" in client.say("state")
    assert client.say("get torque_limit") == "0"
    assert client.write("torque_limit", 1023) == error
    client.run(0.01)
    assert "driven=0" in client.say("state"), "the error is still there"
    if servo == "xl320":
        assert client.read("hardware_error_status") == 1
    client.say("fault clear")
    client.write_all(torque_limit=1023)
    assert "driven=1" in client.say("state")


def test_without_power_it_is_silent_and_forgets_its_ram(connect):
    client = connect("xl330", "mx64")
    client.write_all(torque_enable=1, position_p_gain=77)
    client.write_all(2, goal_position=2300)
    client.say("power off id=2")
    assert "driven=0" in client.say("state id=2")
    assert (client.ask(PING) != b"", client.ask(instruction1(2, 1))) == (True, b"")
    client.say("power on id=2")
    client.say("power-cycle")
    assert (client.ask(PING), client.ask(instruction1(2, 1))) == (b"", b""), "they boot"
    client.run(0.4)
    assert client.read("position_p_gain") == 400
    assert [client.read("torque_enable", id) for id in (1, 2)] == [0, 0]
    client.say("power off")
    assert client.ask(PING) == b""
