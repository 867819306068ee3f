"""The line itself: rates, times of bytes, order of answers, what is lost when the adapter is pulled out."""

from __future__ import annotations

import os
import select
import time

import pytest
import serial

from core.base.errors import ServoBenchError
from drivers.emulators.dynamixel import DynamixelEmulation, EmulatedDynamixel
from drivers.emulators.serial_bus.line import Line
from drivers.emulators.serial_bus.wire import same_rate
from drivers.simulated.hand import SharedHand
from tests.drivers.emulators.client import instruction1, instruction2
from tests.waiting import wait_until

PING = instruction2(1, 1)
PONG = 14
"""Bytes of the answer to a ping."""


class Times:
    """When pieces of answers left the emulator [s]."""

    def __init__(self, client) -> None:
        self.client = client
        self.pieces: list[tuple[float, bytes]] = []
        send = client.line.send

        def noted(data: bytes) -> None:
            self.pieces.append((client.clock.now(), data))
            send(data)

        client.line.send = noted

    def of(self, packet: bytes, patience: float = 0.4) -> list[float]:
        """Send; when the pieces left, from then on."""
        begin = self.client.clock.now()
        self.pieces.clear()
        self.client.ask(packet, patience)
        return [when - begin for when, _ in self.pieces]


@pytest.mark.parametrize(
    ("baud", "latency", "delay"),
    [(57600, 0.0, 0), (57600, 0.016, 250), (1_000_000, 0.001, 0), (1_000_000, 0.0, 250), (1_000_000, 0.016, 0)],
)
def test_an_answer_takes_bytes_delay_and_latency(connect, baud, latency, delay):
    """Ten bits a byte both ways, 2 µs per count of the return delay time, the adapter's latency."""
    servo = EmulatedDynamixel(registers={"return_delay_time": delay})
    client = connect(servo, baud=baud, usb_latency=latency)
    expected = (len(PING) + PONG) * 10 / baud + delay * 2e-6 + latency
    assert Times(client).of(PING) == [pytest.approx(expected, abs=1e-5)]
    client = connect(servo, baud=baud, usb_latency=latency, wire_time=False)
    assert Times(client).of(PING) == [pytest.approx(0.0, abs=1e-5)]


@pytest.mark.parametrize(
    ("before", "packet", "asked", "answers"),
    [
        # Sync read of two positions: the second status packet begins once the first has ended.
        (b"", instruction2(0xFE, 0x82, 132, 0, 4, 0, 2, 1), 16, 15),
        # Two pings at once: the second answer waits for the first.
        (b"", PING + instruction2(2, 1), 2 * len(PING), PONG),
        # A client that talks over an answer is heard first: its bytes keep the line busy.
        (PING, instruction2(2, 1), 2 * len(PING), PONG),
    ],
    ids=["group", "two", "talking over"],
)
def test_the_line_is_half_duplex(connect, before, packet, asked, answers):
    client = connect("xl330", "xm430_w350", baud=57600, usb_latency=0.0)
    times = Times(client)
    client.send(before)
    byte = 10 / 57600
    each = 5e-4 + answers * byte
    assert times.of(packet) == pytest.approx([asked * byte + each, asked * byte + 2 * each], abs=1e-5)
    assert client.received() == b""


def test_a_broadcast_ping_is_answered_in_slots(connect):
    client = connect("xl330", EmulatedDynamixel(servo="xl320", id=5), EmulatedDynamixel(servo="xm430_w350", id=30))
    times = Times(client).of(instruction2(0xFE, 1))
    assert len(times) == 3
    assert times == sorted(times)
    assert times[2] > 30 * PONG * 10 / 1e6


def test_servos_hear_only_their_own_rate(connect):
    client = connect("xl330", EmulatedDynamixel(servo="mx64", id=2, baud=57600))
    assert client.ask(PING) != b""
    assert client.ask(instruction1(2, 1)) == b""
    client.set_baud(57600)
    assert client.ask(PING) == b""
    assert client.ask(instruction1(2, 1)) != b""
    client.set_baud(115200)
    assert client.ask(PING) == client.ask(instruction1(2, 1)) == b""
    assert f"unheard_bytes={len(PING) + 6}" in client.say("bus")


def test_silence_of_one_ends_a_group(connect):
    client = connect("xl330", "xm430_w350", "mx64_2")
    for instruction, size in ((0x82, 15), (0x8A, 16)):
        answer = client.ask(instruction2(0xFE, instruction, 132, 0, 4, 0, 1, 9, 3))
        assert len(answer) == size, "only the first, the one after ID 9 waits for it"
    client.say("mute on id=2")
    assert len(client.ask(instruction2(0xFE, 0x92, 1, 132, 0, 4, 0, 2, 132, 0, 4, 0, 3, 132, 0, 4, 0))) == 15
    client.say("mute off id=2")
    assert len(client.ask(instruction2(0xFE, 0x82, 132, 0, 4, 0, 1, 2, 3))) == 45


def real(link):
    """An emulator of a servo that answers at once behind a pseudo terminal, and how to ask it something."""
    emulator = DynamixelEmulation(link=str(link), wire_time=False).open(SharedHand())

    def ask(file: int, packet: bytes) -> bytes:
        os.write(file, packet)
        wait_until(lambda: select.select([emulator.line.file], (), (), 0.0)[0])
        emulator.serve([emulator.line.file])
        emulator.serve(())
        return os.read(file, 4096)

    return emulator, ask


def test_unplugging_is_an_error_of_the_clients_port(tmp_path):
    link = tmp_path / "port"
    emulator, ask = real(link)
    assert emulator.addresses == (f"dynamixel:{link}:1:2:1000000",)
    with serial.Serial(str(link), 1_000_000) as client:
        wait_until(lambda: emulator.serve(()) and emulator.devices[0].hears(1_000_000, time.perf_counter()))
        assert len(ask(client.fileno(), PING)) == PONG
        emulator.console.execute("unplug")
        assert not link.exists()
        with pytest.raises(OSError, match="Input/output"):
            os.write(client.fileno(), PING)
        assert not emulator.files()
        emulator.serve(())
    assert emulator.console.execute("plug") == str(link)
    with serial.Serial(str(link), 1_000_000) as client:
        assert len(ask(client.fileno(), PING)) == PONG
        assert os.readlink(link).startswith("/dev/pts/")
        # A stopped client: the line fills up, and what is too much is lost.
        for _ in range(60):
            emulator.line.send(bytes(4096))
        client.reset_input_buffer()
        assert len(ask(client.fileno(), PING)) == PONG
    emulator.close()
    emulator.close()
    assert not link.is_symlink()


def test_a_link_belongs_to_the_last_who_made_it(tmp_path):
    first, second = (Line(str(tmp_path / "port")) for _ in range(2))
    first.unplug()
    assert os.path.exists(second.path)
    second.unplug()
    assert not os.path.lexists(second.path)


def test_a_link_that_cannot_be_made(tmp_path):
    with pytest.raises(ServoBenchError, match="choose another path"):
        Line(str(tmp_path / "missing" / "port"))
    taken = tmp_path / "taken"
    taken.write_text("mine")
    with pytest.raises(ServoBenchError):
        Line(str(taken))
    assert taken.read_text() == "mine"


def test_any_rate_can_be_told():
    line = Line()
    for rate in (9600, 1_000_000, 4_000_000, 4_500_000, 123_456):
        with serial.Serial(line.path, rate):
            assert line.rate == rate
    line.unplug()


@pytest.mark.parametrize(
    ("servo", "rates"),
    [
        ("xl330", {0: 9600, 1: 57600, 2: 115200, 3: 10**6, 4: 2 * 10**6, 5: 3 * 10**6, 6: 4 * 10**6, 7: 4_500_000}),
        ("xl320", {0: 9600, 1: 57600, 2: 115200, 3: 10**6}),
        ("mx64", {1: 10**6, 34: 57142, 103: 19230, 207: 9615, 249: 8000, 250: 2250000, 251: 2500000, 252: 3000000}),
    ],
)
def test_baud_rates_are_the_manuals(connect, servo, rates):
    client = connect(servo)
    for code, rate in rates.items():
        client.say(f"set baud_rate {code} unheard")
        assert client.emulator.addresses[0].endswith(f":{rate}")
        client.set_baud(rate)
        assert client.read("baud_rate") == code


@pytest.mark.parametrize(("one", "other", "same"), [(57600, 57142, True), (1e6, 1e6, True), (57600, 60000, False)])
def test_rates_within_three_percent_are_the_same(one, other, same):
    assert same_rate(one, other) is same
