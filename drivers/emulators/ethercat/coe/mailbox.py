"""A slave's mailboxes: headers, repetition, and answers to protocols that the slave does not speak (ETG.1000.4)."""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Callable, Sequence
from enum import IntEnum

from drivers.emulators.ethercat.chip.sync_manager import SyncManager

HEADER = struct.Struct("<HHBB")
LONGEST_QUEUE = 16
"""Messages kept for the master; older ones are then lost."""

_COUNTER = 7


class Protocol(IntEnum):
    """Type of a message."""

    ERROR = 0
    COE = 3


class MailboxError(IntEnum):
    """Reasons why a message is not understood."""

    PROTOCOL_UNKNOWN = 0x02
    HEADER_INVALID = 0x05
    TOO_SHORT = 0x06


class Mailbox:
    """Both directions of one slave, CoE only."""

    def __init__(self, inbound: SyncManager, outbound: SyncManager, answer: Callable[[bytes], Sequence[bytes]]) -> None:
        """Create the mailbox.

        Args:
            inbound: Sync manager of messages from the master.
            outbound: Sync manager of messages to the master.
            answer: Takes a CoE message, returns the messages to send back.
        """
        self._in = inbound
        self._out = outbound
        self._answer = answer
        self._queue: deque[bytes] = deque(maxlen=LONGEST_QUEUE)
        self._shown = b""
        """Message in the mailbox."""
        self._fetched = b""
        """Message fetched last by the master, in case it got lost on the way."""
        self._counter = 0
        self._last_received = 0
        inbound.on_written = self._receive
        outbound.on_read = self._fetch
        outbound.on_repeat = self._repeat

    @property
    def room(self) -> int:
        """Longest CoE message that can be sent to the master [bytes]."""
        return self._out.length - HEADER.size

    def open(self) -> None:
        """Start empty."""
        self._queue.clear()
        self._shown = self._fetched = b""
        self._last_received = 0
        self._in.block(False)
        self._out.block(False)

    def close(self) -> None:
        """Refuse every access."""
        self._in.block(True)
        self._out.block(True)

    def send(self, protocol: Protocol, content: bytes) -> None:
        """Queue a message to the master."""
        self._counter = self._counter % _COUNTER + 1
        self._queue.append(HEADER.pack(len(content), 0, 0, protocol | self._counter << 4) + content)
        if not self._out.full:
            self._load()

    def _receive(self) -> None:
        message = self._in.take()
        if len(message) < HEADER.size:
            return
        length, _, _, kind = HEADER.unpack_from(message)
        counter = kind >> 4 & _COUNTER
        if counter and counter == self._last_received:
            return  # the master missed the confirmation and sent it again
        self._last_received = counter
        content = message[HEADER.size : HEADER.size + length]
        if length > len(message) - HEADER.size:
            self._complain(MailboxError.HEADER_INVALID)
        elif kind & 0x0F != Protocol.COE:
            self._complain(MailboxError.PROTOCOL_UNKNOWN)
        elif length < 2:
            self._complain(MailboxError.TOO_SHORT)
        else:
            for answer in self._answer(content):
                self.send(Protocol.COE, answer)

    def _complain(self, reason: MailboxError) -> None:
        self.send(Protocol.ERROR, struct.pack("<HH", 1, reason))

    def _fetch(self) -> None:
        self._fetched = self._shown
        self._load()

    def _load(self) -> None:
        if self._queue and self._out.active and not self._out.blocked:
            self._shown = self._queue.popleft()
            self._out.put(self._shown)

    def _repeat(self) -> None:
        """Show the message fetched last again, before the ones that follow."""
        if not self._fetched:
            return
        if self._out.full:
            self._queue.appendleft(self._shown)
        self._shown = self._fetched
        self._out.put(self._shown)
