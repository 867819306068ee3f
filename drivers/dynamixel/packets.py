"""Port and packet handlers of dynamixel-sdk, with their defects fixed. Only this module uses the SDK.

The port gets an exclusive lock, a clock that does not jump, reads that wait in the kernel instead of spinning (79 % of
a processor become 8 %), writes that end even if nothing reads them, and waiting times that suit the adapter. The
handlers get byte stuffing. The SDK omits it when it sends, so that the servo drops a payload with FF FF FD. The SDK
undoes it wrongly for FF FF FD FF FD FD when it receives.
"""

from __future__ import annotations

import os
import select
from contextlib import suppress
from dataclasses import dataclass

import serial
from dynamixel_sdk import COMM_SUCCESS, INST_PING
from dynamixel_sdk.port_handler import PortHandler
from dynamixel_sdk.protocol1_packet_handler import Protocol1PacketHandler
from dynamixel_sdk.protocol2_packet_handler import Protocol2PacketHandler

from drivers import timing
from drivers.errors import BusError

READ_SLICE = 0.002
"""Longest wait in the kernel between two checks of the answer's time [s]."""

PSEUDO_TERMINALS = ("/dev/pts/", "/dev/ttys")
"""Paths of an emulator's ports, on Linux and macOS."""
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
        self.patience = timing.limits.dynamixel_first_answer
        self.sent = b""
        """The last packet sent, to recognise an echo of it."""
        self._free = 0.0
        """Time at which everything sent so far has left on the wire [s]."""
        self.ser = serial.Serial(
            path,
            baud,
            timeout=READ_SLICE,
            write_timeout=timing.limits.dynamixel_write,
            exclusive=True if exclusive else None,
        )
        self.is_open = True
        try:
            timing.require_real_limits(path, lambda: is_pseudo_terminal(path))
        except BusError:
            self.closePort()
            raise

    def wire_time(self, count: int) -> float:
        """Return the time that a number of bytes takes on the wire [s]."""
        return 1e-3 * self.tx_time_per_byte * count

    def writePort(self, packet):
        """Send a packet; raises SerialTimeoutException if it cannot be sent whole within `dynamixel_write`."""
        self.sent = bytes(packet)
        self._free = max(self._free, timing.now()) + self.wire_time(len(packet))
        if os.name != "posix":
            return self.ser.write(self.sent)
        # pyserial's own write takes a pause of this process for a port that accepts nothing.
        left, until = self.sent, timing.now() + timing.limits.dynamixel_write
        while True:
            with suppress(BlockingIOError):
                left = left[os.write(self.ser.fileno(), left) :]
            rest = until - timing.now()
            if not left:
                return len(self.sent)
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


class Protocol1(Protocol1PacketHandler):
    """Protocol 1, one packet at a time."""

    version = 1
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


class Protocol2(Protocol2PacketHandler):
    """Protocol 2, one packet at a time, with byte stuffing as specified."""

    version = 2
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


def packet_handler(protocol: int) -> Protocol1 | Protocol2:
    """Return the handler of a protocol."""
    return Protocol1() if protocol == 1 else Protocol2()
