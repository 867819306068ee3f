"""Port and packet handlers of dynamixel-sdk, with their defects fixed, for every protocol with these packets.

The port gets an exclusive lock, a clock that does not jump, reads that wait in the kernel instead of spinning (79 % of
a processor become 8 %), writes that end even if nothing reads them, and waiting times that suit the adapter. The
handlers get byte stuffing. The SDK omits it when it sends, so that the servo drops a payload with FF FF FD. The SDK
undoes it wrongly for FF FF FD FF FD FD when it receives.
"""

from __future__ import annotations

import os
import select
from abc import ABC, abstractmethod
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from typing import ClassVar

import serial
from dynamixel_sdk import COMM_SUCCESS, INST_PING
from dynamixel_sdk.port_handler import PortHandler
from dynamixel_sdk.protocol1_packet_handler import Protocol1PacketHandler
from dynamixel_sdk.protocol2_packet_handler import Protocol2PacketHandler

from drivers import timing
from drivers.errors import BusError
from drivers.serial_bus.table import Protocol
from drivers.serial_port import PortWatch

READ_SLICE = 0.002
"""Longest wait in the kernel between two checks of the answer's time [s]."""

PSEUDO_TERMINALS = ("/dev/pts/", "/dev/ttys")
"""Paths of an emulator's ports, on Linux and macOS."""
KEPT = 32
"""Packets sent lately, which an adapter may echo."""
KEPT_BYTES = 4096
"""Bytes received lately."""
WRITING = frozenset((0x03, 0x04, 0x05, 0x06, 0x08, 0x10, 0x83, 0x93))
"""Instructions of both protocols that change servos."""
ALERT = 0x80
"""Bit of protocol 2's error byte for a hardware error; the bits below give the reason why a request was refused."""
DAMAGED_2 = 3
REFUSALS_2 = {
    1: "the servo could not carry it out",
    2: "the servo does not know the instruction",
    DAMAGED_2: "it arrived with a wrong checksum",
    4: "the value is out of range, or the bus watchdog has stopped the servo",
    5: "the servo has no register of this length there",
    6: "the value is beyond a limit set in the servo",
    7: "the register cannot be written now (read-only, or locked while torque is on)",
}
PING_ANSWER = 14
"""Bytes of an answer to a ping in protocol 2."""
_HEADER = 7  # P2: header, reserved byte, ID and length
_CRC = 2
_PATTERN, _STUFFED = b"\xff\xff\xfd", b"\xff\xff\xfd\xfd"


def is_pseudo_terminal(path: str) -> bool:
    """Return True for the port of an emulator, or a link to one."""
    return os.path.realpath(path).startswith(PSEUDO_TERMINALS)


class Port(PortHandler):
    """The SDK's port, on a serial device opened by us."""

    def __init__(self, path: str, baud: int, *, exclusive: bool = True) -> None:
        """Open the port.

        Args:
            path: Path of the port.
            baud: Baud rate.
            exclusive: Take the lock that keeps a second program away.

        Raises:
            OSError: and further errors of pyserial, see `drivers.serial_port.GONE`.
            BusError: for limits in time that no real servo may have.
        """
        super().__init__(path)
        self.baudrate = baud
        self.tx_time_per_byte = 10_000.0 / baud
        self.patience = timing.limits.serial_first_answer
        self.sent: deque[bytes] = deque(maxlen=KEPT)
        """The last packets sent, to recognise echoes of them."""
        self.received = bytearray()
        """The last bytes received, requested or not."""
        self.used_by_another = False
        """True if another program wrote to the port."""
        self._free = 0.0
        """Time at which everything sent so far has left on the wire [s]."""
        self.ser = serial.Serial(
            path,
            baud,
            timeout=READ_SLICE,
            write_timeout=timing.limits.serial_write,
            exclusive=True if exclusive else None,
        )
        self.is_open = True
        self._watch = PortWatch(path)
        try:
            timing.require_real_limits(path, lambda: is_pseudo_terminal(path))
        except BusError:
            self.closePort()
            raise

    def wire_time(self, count: int) -> float:
        """Return the time that a number of bytes takes on the wire [s]."""
        return 1e-3 * self.tx_time_per_byte * count

    def closePort(self):
        """Close the port."""
        self._watch.close()
        super().closePort()

    def clearPort(self):
        """Receive what came without a request, before the next one."""
        self.readPort(self.ser.in_waiting)

    def readPort(self, length):
        """Return up to this many received bytes."""
        data = self.ser.read(length)
        self.received += data
        del self.received[:-KEPT_BYTES]
        return data

    def writePort(self, packet):
        """Send a packet; raises SerialTimeoutException if it cannot be sent whole within `serial_write`."""
        packet = bytes(packet)
        self.sent.append(packet)
        self._free = max(self._free, timing.now()) + self.wire_time(len(packet))
        self.used_by_another = self._watch.written() or self.used_by_another
        try:
            return self._write(packet)
        finally:
            self._watch.written()

    def _write(self, packet: bytes) -> int:
        if os.name != "posix":
            return self.ser.write(packet)
        # pyserial's own write takes a pause of this process for a port that accepts nothing.
        left, until = packet, timing.now() + timing.limits.serial_write
        while True:
            with suppress(BlockingIOError):
                left = left[os.write(self.ser.fileno(), left) :]
            rest = until - timing.now()
            if not left:
                return len(packet)
            if rest < 0.0:
                raise serial.SerialTimeoutException("write timeout")
            select.select((), (self.ser,), (), rest)

    def setPacketTimeout(self, packet_length):
        """Start waiting for an answer of this many bytes, which begins once everything sent before is out."""
        sending = max(0.0, self._free - timing.now())
        self.setPacketTimeoutMillis(1e3 * (sending + self.wire_time(packet_length) + self.patience))

    def getCurrentTime(self):
        """Return milliseconds that never run backwards, unlike the SDK's."""
        return 1e3 * timing.now()


@dataclass(frozen=True, slots=True)
class Status:
    """One answer."""

    id: int
    error: int
    data: bytes


class Listening(ABC):
    """Finds the packets of other controllers among the received bytes."""

    header: ClassVar[bytes]
    id_at: ClassVar[int]
    instruction_at: ClassVar[int]
    """Places of the ID and the instruction in a packet."""

    def writes(self, received: bytearray) -> list[bytes]:
        """Return the instructions that change servos, and leave of the received bytes what may be part of another."""
        found = []
        begin, unfinished = 0, None
        while (begin := received.find(self.header, begin)) >= 0:
            head = received[begin : begin + self.instruction_at + 1]
            whole = len(head) > self.instruction_at and len(received) >= begin + self._length(head)
            packet = bytes(received[begin : begin + self._length(head)]) if whole else b""
            if whole and head[-1] in WRITING and self._is_intact(packet):
                found.append(packet)
                del received[begin : begin + len(packet)]
                continue
            if not whole and unfinished is None:
                unfinished = begin
            begin += 1
        del received[: len(received) - len(self.header) + 1 if unfinished is None else unfinished]
        return found

    @abstractmethod
    def _length(self, head: bytearray) -> int:
        """Length of the packet with this beginning, up to its instruction [bytes]."""

    @abstractmethod
    def _is_intact(self, packet: bytes) -> bool:
        """True if its checksum is right."""


class Protocol1(Listening, Protocol1PacketHandler):
    """Protocol 1, one packet at a time."""

    version: Protocol = 1
    model_at = 0
    """Address of the model number, which is read in place of a ping, whose answer looks like an echo of the request."""
    damaged, refused = 0x10, 0x08 | 0x10 | 0x40
    """Bits of the error byte: the request itself arrived damaged; the instruction was not carried out."""
    header, id_at, instruction_at = b"\xff\xff", 2, 4
    overhead = 6
    """Bytes of an answer without data."""
    read_length = 8
    """Bytes of a request to read."""
    write_length = 9
    """Bytes of a group write to one servo, without its data."""

    def receive(self, port: Port) -> tuple[Status | None, int]:
        """Return the next answer or None, and the SDK's result."""
        packet, result = self.rxPacket(port)
        if result != COMM_SUCCESS:
            return None, result
        return Status(packet[2], packet[4], bytes(packet[5 : 3 + packet[3]])), result

    def is_echo(self, status: Status, sent: bytes) -> bool:
        """Return True if an answer is only an echo of the packet that was sent."""
        return (status.error, status.data) == (sent[4], sent[5:-1])

    def refusal(self, error: int) -> str:
        """Return the reason why an instruction was not carried out; empty if it was."""
        if not error & self.refused:
            return ""
        if self.arrived_damaged(error):
            return "it arrived with a wrong checksum"
        return "the value is out of range" if error & 0x08 else "the servo does not know the instruction"

    def arrived_damaged(self, error: int) -> bool:
        """Return True if the request itself arrived damaged."""
        return bool(error & self.damaged)

    def _length(self, head: bytearray) -> int:
        return 4 + head[3]

    def _is_intact(self, packet: bytes) -> bool:
        return sum(packet[2:]) & 0xFF == 0xFF


class Scs(Protocol1):
    """Feetech's protocol: packets of protocol 1, the model number elsewhere, and no refusals."""

    version: Protocol = "scs"
    model_at = 3
    damaged = refused = 0


class Protocol2(Listening, Protocol2PacketHandler):
    """Protocol 2, one packet at a time, with byte stuffing as specified."""

    version: Protocol = 2
    header, id_at, instruction_at = _PATTERN + b"\0", 4, 7
    overhead = 11
    read_length = 14
    write_length = 15

    def addStuffing(self, packet):
        """Stuff a packet in place, as the SDK's sender expects."""
        length = packet[5] | packet[6] << 8
        body = bytes(packet[_HEADER : _HEADER + length - _CRC]).replace(_PATTERN, _STUFFED)
        packet[_HEADER:] = [*body, 0, 0]
        packet[5], packet[6] = (len(body) + _CRC) & 0xFF, (len(body) + _CRC) >> 8
        return packet

    def removeStuffing(self, packet):
        """Return a received packet without stuffing."""
        length = packet[5] | packet[6] << 8
        body = bytes(packet[_HEADER : _HEADER + length - _CRC]).replace(_STUFFED, _PATTERN)
        size = len(body) + _CRC
        return [*packet[:5], size & 0xFF, size >> 8, *body, *packet[_HEADER + length - _CRC : _HEADER + length]]

    def receive(self, port: Port) -> tuple[Status | None, int]:
        """Return the next answer or None, and the SDK's result."""
        packet, result = self.rxPacket(port, False)
        if result != COMM_SUCCESS:
            return None, result
        return Status(packet[4], packet[8], bytes(packet[9:-_CRC])), result

    def is_echo(self, status: Status, sent: bytes) -> bool:
        """Return False: in this protocol no answer can be mistaken for a request."""
        return False

    def refusal(self, error: int) -> str:
        """Return the reason why an instruction was not carried out; empty if it was."""
        number = error & ~ALERT
        return REFUSALS_2.get(number, f"error number {number}") if number else ""

    def arrived_damaged(self, error: int) -> bool:
        """Return True if the request itself arrived damaged."""
        return error & ~ALERT == DAMAGED_2

    def _length(self, head: bytearray) -> int:
        return _HEADER + int.from_bytes(head[5:7], "little")

    def _is_intact(self, packet: bytes) -> bool:
        return self.updateCRC(0, packet, len(packet) - _CRC) == int.from_bytes(packet[-_CRC:], "little")

    def pingTx(self, port: Port, id: int) -> int:
        """Send a ping, whose answer has three bytes of data; return the SDK's result."""
        result = self.txPacket(port, [0, 0, 0, 0, id, 3, 0, INST_PING, 0, 0])
        if result == COMM_SUCCESS:
            port.setPacketTimeout(PING_ANSWER)
        return result

    def pinged(self, heard: bytes) -> dict[int, int]:
        """Return the model number by ID for every answer to a ping in the received bytes."""
        found = {}
        start = heard.find(_PATTERN)
        while start >= 0:
            packet = heard[start : start + PING_ANSWER]
            if len(packet) == PING_ANSWER and packet[5:8] == b"\x07\x00\x55":
                crc = self.updateCRC(0, packet, PING_ANSWER - _CRC)
                if crc == int.from_bytes(packet[-_CRC:], "little"):
                    found[packet[4]] = int.from_bytes(packet[9:11], "little")
            start = heard.find(_PATTERN, start + 1)
        return found


def packet_handler(protocol: Protocol) -> Protocol1 | Protocol2:
    """Return the handler of a protocol."""
    return {1: Protocol1, 2: Protocol2, "scs": Scs}[protocol]()
