"""Bytes: golden packets of the e-manual, and the byte stuffing that the SDK leaves out."""

import pytest
from dynamixel_sdk import COMM_SUCCESS
from dynamixel_sdk.protocol2_packet_handler import Protocol2PacketHandler
from hypothesis import given
from hypothesis import strategies as st

from drivers.serial_bus.packets import Protocol1, Protocol2, packet_handler


class Tape:
    """A port that plays back what it is given and keeps what it is told."""

    def __init__(self, plays: bytes = b"") -> None:
        self.is_using = False
        self.told = b""
        self.plays = plays

    def clearPort(self):
        pass

    def writePort(self, packet):
        self.told = bytes(packet)
        return len(packet)

    def readPort(self, length):
        data, self.plays = self.plays[:length], self.plays[length:]
        return data

    def setPacketTimeout(self, packet_length):
        pass

    def isPacketTimeout(self):
        return not self.plays


def told(act) -> bytes:
    tape = Tape()
    act(tape)
    return tape.told


def test_golden_packets():
    # ROBOTIS e-manual, protocol 2: ping ID 1, read 4 bytes at 132 of ID 1, write 512 to 116 of ID 1.
    handler = Protocol2()
    assert told(lambda port: handler.pingTx(port, 1)).hex(" ") == "ff ff fd 00 01 03 00 01 19 4e"
    read = told(lambda port: handler.readTx(port, 1, 132, 4))
    assert read.hex(" ") == "ff ff fd 00 01 07 00 02 84 00 04 00 1d 15"
    assert len(read) == handler.read_length
    write = told(lambda port: handler.writeTxOnly(port, 1, 116, 4, [0, 2, 0, 0]))
    assert write.hex(" ") == "ff ff fd 00 01 09 00 03 74 00 00 02 00 00 ca 89"
    send = told(lambda port: handler.syncWriteTxOnly(port, 116, 4, [1, 0, 2, 0, 0], 5))
    assert len(send) == handler.write_length + 4
    # Protocol 1: read 1 byte at 43 of ID 1.
    old = Protocol1()
    assert told(lambda port: old.readTx(port, 1, 43, 1)).hex(" ") == "ff ff 01 04 02 2b 01 cc"
    assert len(told(lambda port: old.syncWriteTxOnly(port, 30, 2, [1, 0, 2], 3))) == old.write_length + 2
    assert packet_handler(1).version == 1
    assert packet_handler(2).version == 2


def test_a_payload_like_a_header_is_stuffed():
    # Goal −131073 is FF FF FD FF: a servo takes the unstuffed packet for the beginning of another one.
    data = list((-131073).to_bytes(4, "little", signed=True))
    stuffed = told(lambda port: Protocol2().writeTxOnly(port, 1, 116, 4, data))
    assert stuffed[5:7] == b"\x0a\x00"
    assert stuffed[10:15] == b"\xff\xff\xfd\xfd\xff"
    assert Protocol2().updateCRC(0, stuffed, len(stuffed) - 2) == int.from_bytes(stuffed[-2:], "little")
    # What it mends: the SDK sends it as it is.
    assert told(lambda port: Protocol2PacketHandler().writeTxOnly(port, 1, 116, 4, data))[5:7] == b"\x09\x00"


def status_packet(id: int, error: int, data: bytes) -> bytes:
    """A status packet by the specification: stuff, then count, then checksum."""
    body = bytearray([0x55, error])
    for byte in data:
        body.append(byte)
        if body[-3:] == b"\xff\xff\xfd":
            body.append(0xFD)
    head = b"\xff\xff\xfd\x00" + bytes([id]) + (len(body) + 2).to_bytes(2, "little") + body
    return head + Protocol2().updateCRC(0, head, len(head)).to_bytes(2, "little")


BYTES = st.lists(st.sampled_from((0xFF, 0xFF, 0xFD, 0x00, 0x55)), max_size=40).map(bytes)


@given(BYTES, st.integers(0, 252), st.sampled_from((0, 128, 4)))
def test_answers_come_back_whatever_bytes_they_have(data, id, error):
    status, result = Protocol2().receive(Tape(status_packet(id, error, data)))
    assert result == COMM_SUCCESS
    assert (status.id, status.error, status.data) == (id, error, data)


@given(BYTES)
def test_what_is_sent_is_stuffed_as_specified(data):
    sent = told(lambda port: Protocol2().writeTxOnly(port, 1, 116, len(data), list(data)))
    body = bytearray()
    for byte in (3, 116, 0, *data):
        body.append(byte)
        if body[-3:] == b"\xff\xff\xfd":
            body.append(0xFD)
    assert sent[7:-2] == body
    assert int.from_bytes(sent[5:7], "little") == len(body) + 2


def test_answers_of_protocol_1():
    # e-manual: temperature 32 °C of ID 1
    status, result = Protocol1().receive(Tape(bytes.fromhex("ff ff 01 03 00 20 db")))
    assert result == COMM_SUCCESS
    assert (status.id, status.error, status.data) == (1, 0, b"\x20")


@pytest.mark.parametrize("noise", [b"", b"\x00\xff", b"\xff\xff\xfd\x00\x07"])
def test_answers_to_a_ping_of_all_are_found_in_what_was_heard(noise):
    one = status_packet(1, 0, (1020).to_bytes(2, "little") + b"\x2a")
    seven = status_packet(7, 128, (1200).to_bytes(2, "little") + b"\x2e")
    damaged = bytearray(status_packet(9, 0, b"\xb0\x04\x2e"))
    damaged[-1] ^= 1
    assert Protocol2().pinged(noise + one + noise + bytes(damaged) + seven + noise) == {1: 1020, 7: 1200}
    assert Protocol2().pinged(noise) == {}
