"""The vendor's packet handlers, as they are, against emulators; only their port is the driver's."""

from __future__ import annotations

import dynamixel_sdk as sdk
import pytest

from drivers.dynamixel.packets import Port
from drivers.emulators.dynamixel import EmulatedDynamixel

XL330, XM430, MX64, MX106, XL320 = 1, 2, 3, 4, 5
GOAL, PRESENT, LED = 116, 132, 65
ONE, TWO = sdk.PacketHandler(1.0), sdk.PacketHandler(2.0)
SUCCESS = (sdk.COMM_SUCCESS, 0)


@pytest.fixture
def port(connect):
    names = ("xl330", "xm430_w350", "mx64", "mx106", "xl320")
    client = connect(*(EmulatedDynamixel(servo=name, id=id) for id, name in enumerate(names, 1)))
    port = Port(client.line.path, 1_000_000)
    yield port
    port.closePort()


def test_ping(port):
    for handler, id, model in ((TWO, XL330, 1200), (TWO, XL320, 350), (ONE, MX64, 310)):
        assert handler.ping(port, id) == (model, *SUCCESS)
    assert TWO.ping(port, 77)[1] == ONE.ping(port, 77)[1] == sdk.COMM_RX_TIMEOUT
    found, result = TWO.broadcastPing(port)
    assert result == sdk.COMM_SUCCESS
    assert {id: model for id, (model, _) in found.items()} == {XL330: 1200, XM430: 1020, XL320: 350}


def test_values_errors_and_alerts(port):
    assert TWO.write2ByteTxRx(port, XM430, 102, -100) == SUCCESS
    assert TWO.read2ByteTxRx(port, XM430, 102) == (65436, *SUCCESS), "unsigned in the SDK"
    assert TWO.write1ByteTxRx(port, XL330, 64, 1) == SUCCESS
    assert TWO.write1ByteTxRx(port, XL330, 11, 0) == (sdk.COMM_SUCCESS, 7)
    assert TWO.write1ByteTxRx(port, XL330, 64, 0) == SUCCESS
    assert TWO.write4ByteTxRx(port, XL330, GOAL, 5000) == (sdk.COMM_SUCCESS, 6)


def test_reg_write_action_and_clear(port):
    for handler, id, led in ((TWO, XM430, LED), (ONE, MX64, 25)):
        assert handler.regWriteTxRx(port, id, led, 1, [1]) == SUCCESS
        assert handler.read1ByteTxRx(port, id, led)[0] == 0
        assert handler.action(port, id) == sdk.COMM_SUCCESS
        port.ser.read(99)  # the answer, which the SDK does not wait for in protocol 2
        assert handler.read1ByteTxRx(port, id, led)[0] == 1
    assert TWO.clearMultiTurn(port, XL330) == SUCCESS


def test_group_sync_read_and_write(port):
    writer = sdk.GroupSyncWrite(port, TWO, 64, 2)
    for id, led in ((XL330, 1), (XM430, 0)):
        assert writer.addParam(id, [0, led])
    assert writer.txPacket() == sdk.COMM_SUCCESS
    reader = sdk.GroupSyncRead(port, TWO, 64, 2)
    for id in (XL330, XM430):
        assert reader.addParam(id)
    for ask in (reader.txRxPacket, reader.fastSyncRead):
        assert ask() == sdk.COMM_SUCCESS
        assert [reader.getData(id, LED, 1) for id in (XL330, XM430)] == [1, 0]


def test_group_bulk_read_and_write(port):
    writer = sdk.GroupBulkWrite(port, TWO)
    assert writer.addParam(XL330, LED, 1, [0])
    assert writer.addParam(XM430, 84, 2, [0x20, 0x03])
    assert writer.txPacket() == sdk.COMM_SUCCESS
    reader = sdk.GroupBulkRead(port, TWO)
    assert reader.addParam(XL330, PRESENT, 4)
    assert reader.addParam(XM430, 84, 2)
    assert reader.txRxPacket() == sdk.COMM_SUCCESS
    assert reader.getData(XL330, PRESENT, 4) == pytest.approx(2048, abs=2)
    assert reader.getData(XM430, 84, 2) == 800


def test_groups_of_protocol_1(port):
    writer = sdk.GroupSyncWrite(port, ONE, 25, 1)
    for id in (MX64, MX106):
        assert writer.addParam(id, [1])
    assert writer.txPacket() == sdk.COMM_SUCCESS
    # GroupBulkRead of SDK 4.1.0 fails with a TypeError in protocol 1; what it would call does not.
    assert ONE.bulkReadTx(port, [2, MX64, 36, 1, MX106, 25], 6) == sdk.COMM_SUCCESS
    port.is_using = False
    position, result, _ = ONE.readRx(port, MX64, 2)
    assert (position[0] | position[1] << 8, result) == (pytest.approx(2048, abs=2), sdk.COMM_SUCCESS)
    assert ONE.readRx(port, MX106, 1) == ([1], *SUCCESS)
