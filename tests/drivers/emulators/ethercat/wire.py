"""Frames by hand: what a master would send, without a network."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple

from core.catalogue import load_servo
from drivers.emulators.ethercat.datagrams import Command, circulate
from drivers.emulators.ethercat.slave import Slave
from drivers.emulators.mechanism import Mechanism
from drivers.simulated.hand import SharedHand

ETHERNET = b"\xff" * 6 + b"\x01" * 6 + b"\x88\xa4"
STATION = 0x1001
"""Of the first slave."""


class Datagram(NamedTuple):
    command: int
    address: int
    memory: int
    data: bytes
    counter: int = 0


class Wire:
    """A row of slaves and the time they see."""

    def __init__(self, count: int = 1, drifts: Sequence[float] = (0.0, 0.0, 0.0), **options) -> None:
        self.now = 1_000_000_000
        spec = load_servo("erob80_50")
        self.slaves = [
            Slave(Mechanism(spec, SharedHand()), number=n, drift=drift, now=self.now, **options)
            for n, drift in zip(range(1, count + 1), drifts, strict=False)
        ]
        for n, slave in enumerate(self.slaves, 1):
            slave.connect(count - n)

    def send(self, *datagrams: Datagram, after: int = 0) -> list[Datagram]:
        """Send one frame `after` more [ns] and return what came back of it."""
        self.now += after
        frame = bytearray(packed(datagrams))
        assert circulate(frame, [slave.esc for slave in self.slaves], self.now)
        assert frame[6] == 0x03
        return unpacked(bytes(frame))

    def one(self, command: Command, address: int, memory: int, data: bytes) -> tuple[bytes, int]:
        """Send one datagram; returns its data and working counter."""
        (answer,) = self.send(Datagram(command, address, memory, data))
        return answer.data, answer.counter

    def address_slaves(self) -> None:
        """Give the slaves the stations 0x1001, 0x1002, …"""
        for n in range(len(self.slaves)):
            self.one(Command.APWR, -n & 0xFFFF, 0x0010, struct.pack("<H", STATION + n))

    def read(self, memory: int, length: int = 2, station: int = STATION) -> int:
        """Read a register that has to answer."""
        data, counter = self.one(Command.FPRD, station, memory, bytes(length))
        assert counter == 1
        return int.from_bytes(data, "little")

    def write(self, memory: int, data: bytes, station: int = STATION) -> int:
        """Write; returns the working counter."""
        return self.one(Command.FPWR, station, memory, data)[1]

    def sync_manager(self, number: int, start: int, length: int, control: int, active: int = 1) -> None:
        self.write(0x0800 + 8 * number, struct.pack("<HHBBBB", start, length, control, 0, active, 0))

    def fmmu(self, number: int, logical: int, physical: int, length: int, kind: int, bits=(0, 7, 0)) -> None:
        first, last, home = bits
        content = struct.pack("<IHBBHBBBxxx", logical, length, first, last, physical, home, kind, 1)
        assert self.write(0x0600 + 16 * number, content) == 1

    def open_mailboxes(self) -> None:
        """Bring the first slave to PREOP."""
        self.address_slaves()
        self.sync_manager(0, 0x1000, 128, 0x26)
        self.sync_manager(1, 0x1080, 128, 0x22)
        self.write(0x0120, b"\x02\x00")
        assert self.read(0x0130) == 2

    def post(self, content: bytes, kind: int = 3, counter: int = 0) -> int:
        """Put a message into the mailbox; returns the working counter."""
        message = struct.pack("<HHBB", len(content), 0, 0, kind | counter << 4) + content
        return self.write(0x1000, message.ljust(128, b"\x00"))

    def fetch(self) -> tuple[int, bytes]:
        """Take a message out of the mailbox; returns its type and content."""
        data, counter = self.one(Command.FPRD, STATION, 0x1080, bytes(128))
        assert counter == 1
        length, _, _, kind = struct.unpack_from("<HHBB", data)
        return kind & 0x0F, data[6 : 6 + length]

    def sdo(self, request: bytes) -> bytes:
        """Exchange SDO messages; returns the answer without its CoE header."""
        assert self.post(struct.pack("<H", 2 << 12) + request) == 1
        kind, content = self.fetch()
        assert kind == 3
        return content[2:]


def packed(datagrams: Sequence[Datagram]) -> bytes:
    content = b""
    for n, datagram in enumerate(datagrams):
        more = 0x8000 if n < len(datagrams) - 1 else 0
        header = struct.pack(
            "<BBHHHH", datagram.command, n, datagram.address, datagram.memory, len(datagram.data) | more, 0
        )
        content += header + datagram.data + struct.pack("<H", datagram.counter)
    return ETHERNET + struct.pack("<H", len(content) | 0x1000) + content


def unpacked(frame: bytes) -> list[Datagram]:
    result, offset, more = [], 16, True
    while more:
        command, _, address, memory, flags, _ = struct.unpack_from("<BBHHHH", frame, offset)
        end = offset + 10 + (flags & 0x7FF)
        (counter,) = struct.unpack_from("<H", frame, end)
        result.append(Datagram(command, address, memory, frame[offset + 10 : end], counter))
        offset, more = end + 2, bool(flags & 0x8000)
    return result
