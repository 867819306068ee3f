"""The vendor's SDK, as it is, against emulators in a process of their own."""

from __future__ import annotations

import errno
import termios
from collections.abc import Iterator
from typing import Any

import dynamixel_sdk as sdk
import pytest

from drivers.emulators.dynamixel import DynamixelEmulation, EmulatedDynamixel
from drivers.emulators.dynamixel.wire import same_rate
from drivers.emulators.process import EmulatorProcess

RATES = (
    9600, 19200, 38400, 57600, 115200, 230400, 460800, 500000, 576000, 921600, 1000000, 1152000, 2000000, 2500000,
    3000000, 3500000, 4000000,
)  # fmt: skip
"""All the SDK knows [bit/s]."""
RATES2 = {9600: 0, 57600: 1, 115200: 2, 1000000: 3, 2000000: 4, 3000000: 5, 4000000: 6}
RATES1 = {rate: 2000000 // rate - 1 for rate in (19200, 57600, 115200, 500000, 1000000, 2000000)} | {2500000: 251}
XL330, XM430, MX64, MX106, XL320 = 1, 2, 3, 4, 5
GOAL, PRESENT, LED, VOLTAGE = 116, 132, 65, 144
FOREVER = 30_000
"""The SDK waits for twice this [ms]."""


@pytest.fixture(scope="module")
def emulator() -> Iterator[EmulatorProcess]:
    servos = (
        EmulatedDynamixel(servo="xl330", id=XL330),
        EmulatedDynamixel(servo="xm430_w350", id=XM430),
        EmulatedDynamixel(servo="mx64", id=MX64),
        EmulatedDynamixel(servo="mx106", id=MX106),
        EmulatedDynamixel(servo="xl320", id=XL320),
    )
    with EmulatorProcess(DynamixelEmulation(servos=servos, wire_time=False)) as emulator:
        yield emulator


@pytest.fixture(autouse=True)
def patience(emulator: EmulatorProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    """The SDK gives an answer up when its time is over, but not before all that the emulator sends is read."""
    is_over = sdk.PortHandler.isPacketTimeout

    def is_over_and_read(port) -> bool:
        if not is_over(port):
            return False
        for _ in range(20):  # rounds of its loop, longer together than a return delay
            emulator.say("help")
        return port.getBytesAvailable() == 0

    monkeypatch.setattr(sdk.PortHandler, "isPacketTimeout", is_over_and_read)


@pytest.fixture
def port(emulator: EmulatorProcess) -> Iterator[Any]:
    port = sdk.PortHandler(emulator.addresses[0].split(":")[1])
    assert port.openPort()
    assert port.setBaudRate(1_000_000)
    yield port
    emulator.say("echo off")
    emulator.say("mute off")
    if port.ser is not None:
        port.closePort()


@pytest.fixture
def one() -> Any:
    return sdk.PacketHandler(1.0)


@pytest.fixture
def two() -> Any:
    return sdk.PacketHandler(2.0)


def drain(port) -> None:
    """Let late answers arrive and forget them."""
    port.ser.timeout = 0.2
    port.ser.read(4096)
    port.ser.timeout = 0
    port.clearPort()


def read(port, count: int) -> bytes:
    """Wait for as many bytes of an answer that is late for sure, and forget them."""
    port.ser.timeout = 2e-3 * FOREVER
    answer = port.ser.read(count)
    port.ser.timeout = 0
    assert len(answer) == count
    return answer


def test_ping(port, one, two):
    assert two.ping(port, XL330) == (1200, sdk.COMM_SUCCESS, 0)
    assert two.ping(port, XL320) == (350, sdk.COMM_SUCCESS, 0)
    assert one.ping(port, MX64) == (310, sdk.COMM_SUCCESS, 0)
    assert two.ping(port, 77)[1] == one.ping(port, 77)[1] == sdk.COMM_RX_TIMEOUT


def test_broadcast_ping_finds_the_servos_with_protocol_2(port, two):
    found, result = two.broadcastPing(port)
    assert result == sdk.COMM_SUCCESS
    assert {id: model for id, (model, _) in found.items()} == {XL330: 1200, XM430: 1020, XL320: 350}


def test_values_are_unsigned_in_the_sdk(port, two):
    assert two.write2ByteTxRx(port, XM430, 102, -100) == (sdk.COMM_SUCCESS, 0)
    assert two.read2ByteTxRx(port, XM430, 102) == (65436, sdk.COMM_SUCCESS, 0)


def test_reg_write_action_reboot_and_reset(port, one, two):
    assert two.regWriteTxRx(port, XM430, LED, 1, [1]) == (sdk.COMM_SUCCESS, 0)
    assert two.read1ByteTxRx(port, XM430, LED)[0] == 0
    two.action(port, XM430)
    drain(port)
    assert two.read1ByteTxRx(port, XM430, LED)[0] == 1
    assert one.regWriteTxRx(port, MX64, 25, 1, [1]) == (sdk.COMM_SUCCESS, 0)
    assert one.action(port, MX64) == sdk.COMM_SUCCESS
    assert one.read1ByteTxRx(port, MX64, 25)[0] == 1
    assert two.clearMultiTurn(port, XL330) == (sdk.COMM_SUCCESS, 0)


def test_group_sync_read_and_write(port, two):
    writer = sdk.GroupSyncWrite(port, two, 64, 2)
    for id, led in ((XL330, 1), (XM430, 0)):
        assert writer.addParam(id, [0, led])
    assert writer.txPacket() == sdk.COMM_SUCCESS
    reader = sdk.GroupSyncRead(port, two, 64, 2)
    for id in (XL330, XM430):
        assert reader.addParam(id)
    for ask in (reader.txRxPacket, reader.fastSyncRead):
        assert ask() == sdk.COMM_SUCCESS
        assert [reader.getData(id, LED, 1) for id in (XL330, XM430)] == [1, 0]


def test_group_bulk_read_and_write(port, two):
    writer = sdk.GroupBulkWrite(port, two)
    assert writer.addParam(XL330, LED, 1, [0])
    assert writer.addParam(XM430, 84, 2, [0x20, 0x03])
    assert writer.txPacket() == sdk.COMM_SUCCESS
    reader = sdk.GroupBulkRead(port, two)
    assert reader.addParam(XL330, PRESENT, 4)
    assert reader.addParam(XM430, 84, 2)
    assert reader.txRxPacket() == sdk.COMM_SUCCESS
    assert reader.getData(XL330, PRESENT, 4) == pytest.approx(2048, abs=2)
    assert reader.getData(XM430, 84, 2) == 800


def test_groups_of_protocol_1(port, one):
    writer = sdk.GroupSyncWrite(port, one, 25, 1)
    for id in (MX64, MX106):
        assert writer.addParam(id, [1])
    assert writer.txPacket() == sdk.COMM_SUCCESS
    # GroupBulkRead of SDK 4.1.0 fails with a TypeError in protocol 1; what it would call does not.
    assert one.bulkReadTx(port, [2, MX64, 36, 1, MX106, 25], 6) == sdk.COMM_SUCCESS
    port.is_using = False
    position, result, _ = one.readRx(port, MX64, 2)
    assert (position[0] | position[1] << 8, result) == (pytest.approx(2048, abs=2), sdk.COMM_SUCCESS)
    assert one.readRx(port, MX106, 1) == ([1], sdk.COMM_SUCCESS, 0)


def test_eeprom_lock_and_ranges(port, two):
    assert two.write1ByteTxRx(port, XL330, 64, 1) == (sdk.COMM_SUCCESS, 0)
    assert two.write1ByteTxRx(port, XL330, 11, 0) == (sdk.COMM_SUCCESS, 7)
    assert two.write1ByteTxRx(port, XL330, 64, 0) == (sdk.COMM_SUCCESS, 0)
    assert two.write4ByteTxRx(port, XL330, GOAL, 5000) == (sdk.COMM_SUCCESS, 6)


@pytest.mark.parametrize("rate", RATES)
def test_every_rate_of_the_sdk(emulator, port, one, two, rate):
    """A servo answers at its own rate, and is silent at every other."""
    emulator.say(f"set baud_rate {RATES2.get(rate, 3)} id={XL330}")
    emulator.say(f"set baud_rate {RATES1.get(rate, 1)} id={MX64}")
    try:
        assert port.setBaudRate(rate)
        answered = two.ping(port, XL330)[1], one.ping(port, MX64)[1]
    finally:
        emulator.say(f"set baud_rate 3 id={XL330}")
        emulator.say(f"set baud_rate 1 id={MX64}")
    expected = tuple(
        sdk.COMM_SUCCESS if rate in rates or same_rate(rate, 1_000_000) else sdk.COMM_RX_TIMEOUT
        for rates in (RATES2, RATES1)
    )
    assert answered == expected


# What the SDK makes of each fault.


@pytest.mark.parametrize(
    ("fault", "result"),
    [
        ("drop", sdk.COMM_RX_TIMEOUT),
        ("corrupt", sdk.COMM_RX_CORRUPT),
        ("truncate", sdk.COMM_RX_CORRUPT),
        ("fake-header", sdk.COMM_RX_CORRUPT),
        ("split", sdk.COMM_SUCCESS),
        ("garbage", sdk.COMM_SUCCESS),
        ("duplicate", sdk.COMM_SUCCESS),
    ],
)
def test_faults_of_answers(emulator, port, one, two, fault, result, monkeypatch):
    if result == sdk.COMM_SUCCESS:
        monkeypatch.setattr(sdk.port_handler, "LATENCY_TIMER", FOREVER)
    emulator.say(fault)
    assert two.read2ByteTxRx(port, XL330, 0)[1] == result
    drain(port)
    assert two.read2ByteTxRx(port, XL330, 0) == (1200, sdk.COMM_SUCCESS, 0)
    emulator.say(fault)
    assert one.read2ByteTxRx(port, MX64, 0)[1] == result
    drain(port)


def test_a_late_answer_is_taken_for_that_of_the_next_question(emulator, port, two, monkeypatch):
    """The SDK gives up long before the answer comes, and waits for the next one until it is there."""
    emulator.say("delay 1000 2")
    monkeypatch.setattr(sdk.port_handler, "LATENCY_TIMER", 1)
    assert two.read2ByteTxRx(port, XL330, VOLTAGE)[1] == sdk.COMM_RX_TIMEOUT
    monkeypatch.setattr(sdk.port_handler, "LATENCY_TIMER", FOREVER)
    assert two.read2ByteTxRx(port, XL330, 0) == (75, sdk.COMM_SUCCESS, 0), "7.5 V, not model 1200"
    assert read(port, 13), "the second answer, late too"


def test_the_status_of_a_write_nobody_waited_for_is_taken_for_the_answer(emulator, port, two, monkeypatch):
    """Two bytes of CRC where five bytes of data were asked for."""
    monkeypatch.setattr(sdk.port_handler, "LATENCY_TIMER", FOREVER)
    emulator.say("delay 500 2")
    two.write1ByteTxOnly(port, XL330, LED, 1)
    data, result, _ = two.readTxRx(port, XL330, 0, 5)
    assert (len(data), result) == (2, sdk.COMM_SUCCESS)
    assert read(port, 16), "the answer itself"


def test_echo_deceives_protocol_1_alone(emulator, port, one, two):
    emulator.say("echo on")
    assert two.read2ByteTxRx(port, XL330, 0) == (1200, sdk.COMM_SUCCESS, 0)
    value, result, error = one.read2ByteTxRx(port, MX64, 30)
    assert (value, result, error) == (2 << 8 | 30, sdk.COMM_SUCCESS, 2)
    drain(port)


def test_a_silent_servo_in_a_group(emulator, port, two):
    emulator.say(f"mute on id={XM430}")
    reader = sdk.GroupSyncRead(port, two, PRESENT, 4)
    for id in (XL330, XM430):
        assert reader.addParam(id)
    assert reader.txRxPacket() == sdk.COMM_RX_TIMEOUT
    assert reader.getData(XL330, PRESENT, 4) == 0


def test_hardware_alerts(emulator, port, one, two):
    emulator.say("alert on")
    emulator.say(f"alert on id={MX64}")
    assert two.read2ByteTxRx(port, XL330, 0) == (1200, sdk.COMM_SUCCESS, 128)
    assert one.read2ByteTxRx(port, MX64, 0) == (310, sdk.COMM_SUCCESS, 1)
    emulator.say("alert off")
    emulator.say(f"alert off id={MX64}")


def test_the_sdks_unstuffed_packets_are_dropped(port, two):
    """Goal −131073 in extended position mode; an SDK that stuffs is heard."""
    assert two.write1ByteTxRx(port, XM430, 11, 4) == (sdk.COMM_SUCCESS, 0)
    assert two.write4ByteTxRx(port, XM430, GOAL, -131073)[0] == sdk.COMM_RX_TIMEOUT
    stuffed = two.addStuffing

    def add_stuffing(packet):
        packet[:] = stuffed(packet)
        return packet

    two.addStuffing = add_stuffing
    try:
        assert two.write4ByteTxRx(port, XM430, GOAL, -131073) == (sdk.COMM_SUCCESS, 0)
    finally:
        del two.addStuffing
    assert two.read4ByteTxRx(port, XM430, GOAL) == (2**32 - 131073, sdk.COMM_SUCCESS, 0)
    two.write1ByteTxRx(port, XM430, 11, 3)


def test_unplugging(tmp_path, two, monkeypatch):
    monkeypatch.setattr(sdk.port_handler, "LATENCY_TIMER", FOREVER)
    link = str(tmp_path / "adapter")
    with EmulatorProcess(DynamixelEmulation(link=link)) as emulator:
        port = sdk.PortHandler(link)
        port.setBaudRate(1_000_000)
        assert two.ping(port, 1)[1] == sdk.COMM_SUCCESS
        emulator.say("unplug")
        with pytest.raises(termios.error) as caught:
            two.ping(port, 1)
        assert caught.value.args[0] == errno.EIO
        assert two.ping(port, 1)[1] == sdk.COMM_PORT_BUSY
        port.closePort()
        emulator.say("plug")
        again = sdk.PortHandler(link)
        again.setBaudRate(1_000_000)
        assert two.ping(again, 1)[1] == sdk.COMM_SUCCESS
        again.closePort()
