"""One serial bus: transactions that return the requested data, or raise a typed error within a known time.

Neither protocol numbers its packets: a late answer looks like the answer to the next request, with the data of another
register. The length therefore serves as the number. An unanswered read is repeated with another length, and its own
length is not requested again while the answer may still come. Packets of another length than the last request (a late
answer, an acknowledgement, an echo of the request) are ignored. Reads are repeated while the time allowed lasts. A goal
or a release, which must not wait, is sent without an answer.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Self

import serial
from dynamixel_sdk import COMM_PORT_BUSY, COMM_RX_CORRUPT, COMM_RX_TIMEOUT, COMM_SUCCESS, COMM_TX_ERROR, COMM_TX_FAIL

from core.base.words import counted
from drivers import timing
from drivers.errors import BusError, DriverError, NoAnswer
from drivers.serial_bus.packets import PING_ANSWER, Port, Protocol1, packet_handler
from drivers.serial_bus.table import Protocol
from drivers.serial_port import GONE, not_open

BROADCAST = 254
DRAINED = 32
"""Length of what an adapter may still have to send when the system has handed it over [bytes]."""
NONSENSE = (IndexError, ValueError, TypeError)
"""Exceptions of the SDK for bytes that it did not expect."""

_RESULTS = {
    COMM_PORT_BUSY: "the port was in use",
    COMM_TX_FAIL: "the port did not take the request",
    COMM_TX_ERROR: "the request is too long",
    COMM_RX_CORRUPT: "the answer arrived damaged",
}
SILENCE = "check the servo's power supply, the cable, its ID, protocol and baud rate, or scan for servos"
DAMAGE = "check the cable, its plugs and the baud rate, and that no two servos share the ID"


class Bus:
    """One port with one owner. Not thread-safe."""

    def __init__(self, path: str, protocol: Protocol, baud: int) -> None:
        self.path = path
        self.protocol: Protocol = protocol
        self.baud = baud
        self.echoes = 0
        """Number of times that an adapter echoed a request."""
        self.repeats = 0
        """Number of requests repeated because the answer was missing or damaged."""
        self.damaged = 0
        """Number of answers to reads that arrived damaged."""
        self._handler = packet_handler(protocol)
        self._port: Port | None = None
        self._missing: dict[tuple[int, int], float] = {}
        """ID and length of answers that may still come, to the time of the request [s]."""

    # The port.

    def open(self, *, exclusive: bool = True) -> None:
        """Open the port.

        Args:
            exclusive: Take a lock that keeps other programs out.

        Raises:
            BusError: if the port cannot be opened.
        """
        self.close()
        self._missing = {}
        try:
            self._port = Port(self.path, self.baud, exclusive=exclusive)
        except (*GONE, ValueError) as error:
            raise not_open(self.path, self.baud, error) from None

    def close(self) -> None:
        """Give the port back. Idempotent; never raises."""
        port, self._port = self._port, None
        if port is not None:
            try:
                port.closePort()
            except GONE:
                return

    @property
    def is_open(self) -> bool:
        """True while the port is open."""
        return self._port is not None

    @property
    def patience(self) -> float:
        """Time allowed for an answer in addition to its time on the wire [s]."""
        return self._open_port.patience

    @patience.setter
    def patience(self, seconds: float) -> None:
        self._open_port.patience = seconds

    @property
    def serial(self) -> serial.Serial:
        """The serial device."""
        return self._open_port.ser

    def wire_time(self, count: int) -> float:
        """Return the time that a number of bytes takes on the wire [s]."""
        return 10.0 * count / self.baud

    @property
    def write_length(self) -> int:
        """Bytes of a goal without its data."""
        return self._handler.write_length

    def read_wire_time(self, count: int) -> float:
        """Return the time on the wire for reading a number of bytes [s]."""
        return self.wire_time(self._handler.read_length + self._handler.overhead + count)

    # Transactions.

    def read(
        self,
        id: int,
        address: int,
        size: int,
        windows: Sequence[tuple[int, int]] = (),
        time_allowed: float | None = None,
    ) -> tuple[bytes, int]:
        """Read registers.

        Args:
            id: ID of the servo.
            address: Address of the first byte.
            size: Number of bytes.
            windows: (address, length) of reads that contain these bytes, all of different lengths.
            time_allowed: Time within which the read is repeated [s].

        Returns:
            The `size` bytes from `address`, and the error byte.

        Raises:
            NoAnswer: if the servo does not answer.
            BusError: if the bus fails.
            DriverError: if the servo refuses.
        """
        until = timing.now() + (timing.limits.serial_read if time_allowed is None else time_allowed)
        what = f"reading {counted(size, 'byte')} at address {address} of ID {id}"
        while True:
            start, length = self._window(id, windows or ((address, size),), what, until)
            asked = timing.now()
            send = partial(self._send_read, id, start, length)
            try:
                data, error = self._ask(what, id, length, send)
            except (NoAnswer, BusError) as error:
                self.damaged += isinstance(error, BusError)
                if self.is_open and timing.now() - asked > self.patience:
                    self._missing[id, length] = asked
                if not self.is_open or timing.now() + self.read_wire_time(length) + self.patience > until:
                    raise
                self.repeats += 1
                continue
            return data[address - start : address - start + size], error

    def _send_read(self, id: int, address: int, length: int) -> int:
        return self._handler.readTx(self._open_port, id, address, length)

    def _window(self, id: int, windows: Sequence[tuple[int, int]], what: str, until: float) -> tuple[int, int]:
        """Return the first of these reads that no late answer can be mistaken for; wait for that if necessary."""
        now = timing.now()
        self._missing = {
            answer: asked for answer, asked in self._missing.items() if now - asked < timing.limits.serial_late
        }
        for window in windows:
            if (id, window[1]) not in self._missing:
                return window
        window = min(windows, key=lambda window: self._missing[id, window[1]])
        free = self._missing[id, window[1]] + timing.limits.serial_late
        if free > until:
            raise NoAnswer(f"{self.path}: no answer to {what} at {self.baud} baud; {SILENCE}")
        timing.sleep(max(0.0, free - now))
        return window

    def write(self, id: int, address: int, data: bytes, attempts: int = 3) -> int:
        """Write and wait for the acknowledgement.

        A late acknowledgement of an earlier write looks the same: read important values back.

        Returns:
            The error byte.

        Raises:
            NoAnswer: if the servo does not answer.
            BusError: if the bus fails.
            DriverError: if the servo refuses.
        """
        what = f"writing {data.hex(' ')} at address {address} of ID {id}"

        def send() -> int:
            result = self._handler.writeTxOnly(self._open_port, id, address, len(data), list(data))
            self._open_port.setPacketTimeout(self._handler.overhead)
            return result

        while True:
            attempts -= 1
            try:
                return self._ask(what, id, 0, send)[1]
            except (NoAnswer, BusError):
                if not attempts or not self.is_open:
                    raise
                self.repeats += 1

    def send(self, id: int, address: int, data: bytes) -> None:
        """Write without an answer, by a group write with one member.

        Raises:
            BusError: if the port does not take the packet.
        """
        with self._guarded(f"sending {data.hex(' ')} to address {address} of ID {id}"):
            port = self._open_port
            port.is_using = False
            result = self._handler.syncWriteTxOnly(port, address, len(data), [id, *data], 1 + len(data))
            if result != COMM_SUCCESS:
                raise BusError(f"{self.path}: {_RESULTS.get(result, f'result {result}')} while sending to ID {id}")

    def send_to_all(self, address: int, data: bytes) -> None:
        """Write to every servo on the bus, without an answer, and wait until that has left the adapter.

        Raises:
            BusError: if the port does not take the packet.
        """
        with self._guarded(f"sending {data.hex(' ')} to address {address} of every servo"):
            self._open_port.is_using = False
            self._handler.writeTxOnly(self._open_port, BROADCAST, address, len(data), list(data))
            self._open_port.ser.flush()
        timing.sleep(self.wire_time(DRAINED))

    def ping(self, id: int) -> int:
        """Return the model number of a servo.

        Its bytes count as little endian.

        Raises:
            NoAnswer: if the servo does not answer.
            BusError: if the bus fails.
        """
        if isinstance(self._handler, Protocol1):
            place = self._handler.model_at
            data, _ = self.read(id, place, 3, [(place, length) for length in range(3, 7)], time_allowed=0.0)
        else:
            ping = self._handler.pingTx  # pyright: ignore[reportAttributeAccessIssue]
            data, _ = self._ask(f"pinging ID {id}", id, 3, lambda: ping(self._open_port, id))
        return int.from_bytes(data[:2], "little")

    def ping_all(self, heed: Callable[[], bool], seconds: float) -> dict[int, int]:
        """Ping all IDs with protocol 2.

        Args:
            heed: Polled every few milliseconds; True ends the listening.
            seconds: Time to listen [s].

        Returns:
            Model numbers by ID.

        Raises:
            BusError: if the bus fails.
        """
        with self._guarded("pinging all IDs"):
            port = self._open_port
            port.is_using = False
            self._handler.pingTx(port, BROADCAST)  # pyright: ignore[reportAttributeAccessIssue]
            heard = b""
            until = timing.now() + seconds
            while timing.now() < until and not heed():
                heard += port.ser.read(PING_ANSWER)
        return self._handler.pinged(heard)  # pyright: ignore[reportAttributeAccessIssue]

    def reboot(self, id: int) -> None:
        """Restart a servo with protocol 2. The caller checks that the servo came back.

        Raises:
            BusError: if the bus fails.
        """
        with self._guarded(f"rebooting ID {id}"):
            self._open_port.is_using = False
            self._handler.reboot(self._open_port, id)

    def others_wrote(self, id: int) -> bool:
        """Return True if another program or controller has changed this servo, or used the port, since the last call.

        A controller with an adapter of its own is heard on the line. Another program on this computer is not, but the
        system reports that it wrote to the port (on Linux).
        """
        port, handler = self._open_port, self._handler
        heard = [packet for packet in handler.writes(port.received) if packet[handler.id_at] in (id, BROADCAST)]
        used, port.used_by_another = port.used_by_another, False
        return used or any(packet not in port.sent for packet in heard)

    # Internals.

    @property
    def _open_port(self) -> Port:
        if self._port is None:
            raise BusError(f"the port {self.path} is not open; plug the adapter in and acknowledge, or connect again")
        return self._port

    def _ask(self, what: str, id: int, length: int, send: Callable[[], int]) -> tuple[bytes, int]:
        """Send, and wait for an answer of this ID with this many bytes of data."""
        with self._guarded(what):
            port = self._open_port
            port.is_using = False
            result = send()
            while result == COMM_SUCCESS:
                port.is_using = True
                status, result = self._handler.receive(port)
                if status is None or status.id != id:
                    continue
                refusal = self._handler.refusal(status.error) if not status.data else ""
                if refusal and self._handler.arrived_damaged(status.error):
                    raise BusError(f"{self.path}: {what}: {refusal}; {DAMAGE}")
                if refusal:
                    raise DriverError(f"{self.path}: {what} was refused: {refusal}")
                if len(status.data) == length:
                    return status.data, status.error
                # Another length: a late answer, which is then no longer missing, or an echo.
                self._missing.pop((id, len(status.data)), None)
                self.echoes += self._handler.is_echo(status, port.sent[-1])
        if result == COMM_RX_TIMEOUT:
            raise NoAnswer(f"{self.path}: no answer to {what} at {self.baud} baud; {SILENCE}")
        raise BusError(f"{self.path}: {_RESULTS.get(result, f'result {result}')} while {what}; {DAMAGE}")

    @contextmanager
    def _guarded(self, what: str) -> Generator[None]:
        """Turn any exception of the SDK on a broken port into a BusError, and close the port."""
        try:
            yield
        except serial.SerialTimeoutException:
            # An old goal must not arrive later.
            try:
                self._open_port.ser.reset_output_buffer()
            except GONE:
                self.close()
            raise BusError(
                f"{self.path}: the adapter did not take the data while {what}; check the adapter and its cable"
            ) from None
        except GONE as error:
            self.close()
            raise BusError(
                f"{self.path}: the port failed while {what} ({error}); plug the adapter in again, then acknowledge"
            ) from None
        except NONSENSE as error:
            raise BusError(f"{self.path}: the answer to {what} makes no sense ({error}); {DAMAGE}") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
