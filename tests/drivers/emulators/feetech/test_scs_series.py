"""Servos of the SCS series: their bytes are big endian, and what they have otherwise than the STS series."""

from __future__ import annotations

import pytest

from drivers.emulators.feetech import EmulatedFeetech
from tests.drivers.emulators.client import instruction1 as instruction

DONE = instruction(1, 0)


@pytest.mark.parametrize(
    ("request_", "answer"),
    [
        pytest.param((1,), (), id="ping"),
        pytest.param((2, 3, 2), (0x05, 0x04), id="model number 1284"),
        pytest.param((2, 11, 2), (0x03, 0xEB), id="limit 1003"),
        pytest.param((2, 56, 2), (0x02, 0x00), id="position 512"),
        pytest.param((3, 42, 0x02, 0x20, 0, 0, 0x01, 0xF4), (), id="write position, time, speed"),
    ],
)
def test_words_are_big_endian(connect, request_, answer):
    client = connect("scs0009")
    assert client.ask(instruction(1, *request_)) == instruction(1, 0, *answer)
    if request_[0] == 3:
        assert [client.read(name) for name in ("goal_position", "moving_speed")] == [544, 500]


def test_it_answers_neither_sync_read_nor_broadcast_ping(connect):
    client = connect("scs0009", EmulatedFeetech(id=2))
    assert client.ask(instruction(0xFE, 1)) == instruction(2, 0)
    assert client.ask(instruction(0xFE, 0x82, 56, 1, 1, 2)) == instruction(2, 0, 0)


def test_its_lock_is_at_48(connect):
    client = connect("scs0009")
    for lock, held in ((1, 15), (0, 20)):
        assert client.ask(instruction(1, 3, 48, lock)) == client.ask(instruction(1, 3, 21, 20)) == DONE
        client.say("power-cycle")
        client.run(0.5)
        assert client.read("p_gain") == held


@pytest.mark.parametrize(("goal", "end"), [(700, 700), (10, 20), (1020, 1003)])
def test_a_goal_is_reached_within_the_limits(connect, goal, end):
    client = connect("scs0009")
    client.say("load 0 0")
    client.write_all(goal_position=goal)
    client.run(3.0)
    assert client.read("present_position") == pytest.approx(end, abs=10)


def test_limits_that_are_both_0_make_goal_time_the_duty_cycle(connect):
    """It turns past the ends of the potentiometer, where the position stays."""
    client = connect("scs0009")
    client.say("load 0 0")
    client.write_all(torque_enable=1, min_position_limit=0, max_position_limit=0, goal_time=1024 | 500)
    client.run(0.1)
    assert client.devices[0].mechanism.electrics[1] == pytest.approx(0.5)
    client.run(3.0)
    assert client.read("present_position") == 1023
