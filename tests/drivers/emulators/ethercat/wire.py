"""Frames by hand: what a master would send, without a network."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple

from core.servo.catalogue import load_servo
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

    def request(self, state: int) -> tuple[int, int]:
        """Ask the first slave for a state; returns AL status and AL status code."""
        self.write(0x0120, struct.pack("<H", state))
        return self.state

    @property
    def state(self) -> tuple[int, int]:
        return self.read(0x0130), self.read(0x0134)

    def open_mailboxes(self) -> None:
        """Bring the first slave to PREOP."""
        self.address_slaves()
        self.sync_manager(0, 0x1000, 128, 0x26)
        self.sync_manager(1, 0x1080, 128, 0x22)
        assert self.request(2) == (2, 0)

    def start_pulses(self, cycle: int = 1_000_000, start: int | None = None) -> None:
        """Let SYNC0 begin in a moment, or at a system time [ns]."""
        self.write(0x0990, struct.pack("<Q", self.read(0x0910, 8) + 1_000 if start is None else start))
        self.write(0x09A0, struct.pack("<I", cycle))
        self.write(0x0981, b"\x03")

    def offer_process_data(self, outputs: int = 10, inputs: int = 10) -> None:
        """Set the sync managers of process data of these lengths."""
        self.sync_manager(2, 0x1100, outputs, 0x64)
        self.sync_manager(3, 0x1400, inputs, 0x20)

    def operate(self, watchdog: int = 0) -> None:
        """Bring the first slave to OP with periods of 1 ms; watchdog: [100 µs]."""
        self.open_mailboxes()
        self.offer_process_data()
        self.start_pulses()
        self.write(0x0420, struct.pack("<H", watchdog))
        for state in (4, 8):
            assert self.request(state) == (state, 0)

    def wait(self, time: int) -> None:
        """Let time pass without frames [ns]."""
        self.now += time
        self.slaves[0].step(self.now)

    def control(self, word: int, after: int = 1_000_000) -> None:
        """Write process data with a controlword `after` more [ns]."""
        self.now += after
        assert self.write(0x1100, bytes(8) + struct.pack("<H", word)) == 1
        self.slaves[0].step(self.now)

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

    def aborted(self, request: bytes) -> int:
        """Code with which a request is refused."""
        answer = self.sdo(request)
        assert answer[0] == 0x80
        return struct.unpack_from("<I", answer, 4)[0]

    def number(self, index: int, sub: int = 0) -> int:
        """Read an object of up to four bytes."""
        answer = self.sdo(upload(index, sub))
        size = 4 - (answer[0] >> 2 & 3)
        assert answer[:4] == struct.pack("<BHB", 0x43 | 4 - size << 2, index, sub)
        return int.from_bytes(answer[4 : 4 + size], "little")

    def set(self, index: int, sub: int, content: bytes) -> None:
        """Write an object."""
        assert self.sdo(download(index, sub, content))[:4] == struct.pack("<BHB", 0x60, index, sub)

    def map(self, index: int, entries: Sequence[int]) -> None:
        """Write a PDO mapping."""
        self.set(index, 0, b"\x00")
        for number, entry in enumerate(entries, 1):
            self.set(index, number, struct.pack("<I", entry))
        self.set(index, 0, bytes([len(entries)]))


def upload(index: int, sub: int = 0) -> bytes:
    return struct.pack("<BHB4x", 0x40, index, sub)


def download(index: int, sub: int, content: bytes) -> bytes:
    """A request to write: expedited where it may be, otherwise with as much as the mailbox holds."""
    if 0 < len(content) <= 4:
        return struct.pack("<BHB", 0x23 | 4 - len(content) << 2, index, sub) + content.ljust(4, b"\x00")
    return struct.pack("<BHBI", 0x21, index, sub, len(content)) + content[:100]


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
