"""Bytes on a Dynamixel bus: what an emulated servo hears and what the driver hears.

An input of the emulator is a row of records, each raw bytes or a packet that is framed and summed here; one of the
driver is what comes in after each thing it asked.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from dynamixel_sdk.port_handler import PortHandler

from core.servo.catalogue import load_servo
from drivers.emulators.dynamixel import protocol2
from drivers.emulators.dynamixel.joint_series import Mx1Device, Xl320Device
from drivers.emulators.dynamixel.protocol2 import HEADER, Reader2, crc, stuff
from drivers.emulators.dynamixel.x_series import XDevice
from drivers.emulators.mechanism import Mechanism
from drivers.emulators.serial_bus import protocol1
from drivers.emulators.serial_bus.device import Device
from drivers.emulators.serial_bus.packet import Reader
from drivers.emulators.serial_bus.protocol1 import Reader1, checksum
from drivers.emulators.serial_bus.registers import table_of
from drivers.serial_bus.bus import BROADCAST, Bus
from drivers.serial_bus.packets import PING_ANSWER, Port, packet_handler
from drivers.serial_bus.registers import Registers
from drivers.serial_bus.table import load_table
from drivers.simulated.hand import SharedHand
from drivers.simulated.plant import TICK
from tests.fuzz.parser import Parser

LATER = 0.5
"""Between two packets, when every servo has started anew [s]."""
SERVOS = {1: (("mx64", Mx1Device),), 2: (("xl330", XDevice), ("xl320", Xl320Device))}
WORDS_1 = (b"\xff\xff", b"\xff\xff\x01\x02\x01\xfb", b"\xff\xff\xfe", b"\x83", b"\x92")
WORDS_2 = (
    HEADER + b"\0",
    b"\xff\xff\xfd\xfd",
    b"\xff\xff\xfd\0\xfe\x03\0\x01\x31\x42",
    b"\x01\x44\x58\x4c\x22",
    b"\x82",
    b"\x9a",
)


class _Still(Mechanism):
    """Moves one tick each time it is looked at, so that an input does the same every time."""

    def now(self) -> float:
        return self.plant._ticks * TICK + TICK


@cache
def _mechanism(name: str) -> _Still:
    return _Still(load_servo(name), SharedHand())


def _devices(protocol: int) -> list[Device]:
    found: list[Device] = []
    for id, (name, series) in enumerate(SERVOS[protocol], start=1):
        spec = load_servo(name)
        table, entries = table_of(spec, "dynamixel")
        found.append(series(spec, table, entries, _mechanism(name), 0.0, {"id": id}))
    return found


def _framed_1(record: bytes) -> bytes:
    body = bytes((record[0], len(record) & 0xFF)) + record[1:]
    return b"\xff\xff" + body + bytes((checksum(body),))


def _framed_2(record: bytes) -> bytes:
    body = stuff(record[1:] or b"\x01")
    packet = HEADER + bytes((0, record[0])) + (len(body) + 2).to_bytes(2, "little") + body
    return packet + crc(packet).to_bytes(2, "little")


def _stream(data: bytes, protocol: int) -> list[bytes]:
    """Records of the form LENGTH BYTES; the highest bit of LENGTH leaves the bytes as they are."""
    pieces, at = [], 0
    while at < len(data):
        length = data[at] & 0x7F
        record = data[at + 1 : at + 1 + length]
        if record:
            pieces.append(record if data[at] & 0x80 else (_framed_1, _framed_2)[protocol - 1](record))
        at += 1 + length
    return pieces


def _hear(protocol: int, data: bytes) -> None:
    devices = _devices(protocol)
    reader: Reader = (Reader1, Reader2)[protocol - 1]()
    execute = (protocol1, protocol2)[protocol - 1].execute
    now = 1.0
    for piece in _stream(data, protocol):
        now += 1e-3
        for packet in reader.feed(piece, now):
            now += LATER
            for device in devices:
                device.supervise(now)
            for reply in execute(packet, [device for device in devices if device.powered], (), now):
                assert reply.packet
        assert len(reader._bytes) <= 2048, "the reader hoards bytes"
    for device in devices:
        assert 0 <= device.id <= 255
        assert np.isfinite(device.mechanism.position)


class _Wire(Port):
    """A port whose answers are known beforehand and which is silent afterwards."""

    def __init__(self, heard: bytes) -> None:
        PortHandler.__init__(self, "wire")
        self.baudrate, self.tx_time_per_byte, self.patience, self.sent, self._free = 1_000_000, 0.01, 0.0, b"", 0.0
        self._heard = heard
        self.ser = self
        self.is_open = True

    def clearPort(self):
        """Nothing waits before it is asked for."""

    def closePort(self):
        self.is_open = False

    def writePort(self, packet):
        self.sent = bytes(packet)
        return len(self.sent)

    def readPort(self, length):
        piece, self._heard = self._heard[:length], self._heard[length:]
        return piece

    read = readPort

    def isPacketTimeout(self):
        return not self._heard


def _answered(protocol: int, data: bytes) -> None:
    asked, heard = data[:1] or b"\0", data[1:]
    bus = Bus("wire", protocol, 1_000_000)
    bus._port = _Wire(heard)
    what = asked[0] % 4
    if what == 0:
        found, error = bus.read(1, 132, 4, time_allowed=0.0)
        assert len(found) == 4
        assert 0 <= error <= 255
    elif what == 1:
        bus.write(1, 64, b"\x01", attempts=1)
    elif what == 2:
        assert 0 <= bus.ping(1) <= 0xFFFF
    else:
        Registers(bus, 1, load_table("mx1" if protocol == 1 else "x")).read("torque_enable", time_allowed=0.0)
    if protocol == 2:
        found_ids = packet_handler(2).pinged(heard[: 16 * PING_ANSWER])  # pyright: ignore[reportAttributeAccessIssue]
        assert all(0 <= id <= 255 and id != BROADCAST + 1 for id in found_ids) or found_ids


PARSERS = (
    Parser(name="dynamixel_device_1", parse=lambda data: _hear(1, data), longest=1024, words=WORDS_1),
    Parser(name="dynamixel_device_2", parse=lambda data: _hear(2, data), longest=2048, words=WORDS_2),
    Parser(name="dynamixel_answers_1", parse=lambda data: _answered(1, data), longest=512, words=WORDS_1),
    Parser(name="dynamixel_answers_2", parse=lambda data: _answered(2, data), longest=512, words=WORDS_2),
)
