"""CoE: a server of SDO transfers, expedited, normal and segmented, and emergency messages (ETG.1000.6)."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, field

from drivers.emulators.ethercat.coe.dictionary import Abort, AbortCode, ObjectDictionary

EMERGENCY, REQUEST, RESPONSE = 1, 2, 3
"""Services of CoE."""
_HEADER = struct.Struct("<H")
_SDO = struct.Struct("<BHB")
_ABORT = 0x80
_DOWNLOAD_SEGMENT, _DOWNLOAD, _UPLOAD, _UPLOAD_SEGMENT, _ABORTED = range(5)
_COMPLETE = 0x10
_EXPEDITED = 0x02
_SIZED = 0x01
_TOGGLE = 0x10
_LAST = 0x01
_SHORTEST_SEGMENT = 7


def emergency(code: int, register: int, details: bytes = b"") -> bytes:
    """Return an emergency message.

    Args:
        code: Error code.
        register: Object 0x1001.
        details: Up to five bytes of the vendor's.
    """
    return _HEADER.pack(EMERGENCY << 12) + struct.pack("<HB", code, register) + details.ljust(5, b"\x00")[:5]


@dataclass
class _Transfer:
    """A value being transferred in segments."""

    index: int
    sub: int
    upload: bool
    size: int
    """Total size [bytes]."""
    content: bytearray = field(default_factory=bytearray)
    """Bytes that have arrived, or have yet to leave."""
    toggle: int = 0


class SdoServer:
    """Answers the requests of one master."""

    def __init__(self, dictionary: ObjectDictionary, room: Callable[[], int]) -> None:
        """Create the server.

        Args:
            dictionary: The dictionary.
            room: Returns the longest CoE message that fits the mailbox [bytes].
        """
        self._dictionary = dictionary
        self._room = room
        self._transfer: _Transfer | None = None

    def reset(self) -> None:
        """Drop an unfinished transfer."""
        self._transfer = None

    def answer(self, message: bytes) -> list[bytes]:
        """Answer one CoE message, if it requires an answer."""
        request = message[_HEADER.size :].ljust(8, b"\x00")
        command, index, sub = _SDO.unpack_from(request)
        try:
            content = self._perform(command, index, sub, request)
        except Abort as abort:
            if self._transfer is not None:
                index, sub = self._transfer.index, self._transfer.sub
            self._transfer = None
            return [_HEADER.pack(REQUEST << 12) + _SDO.pack(_ABORT, index, sub) + struct.pack("<I", abort.code)]
        return [] if content is None else [_HEADER.pack(RESPONSE << 12) + content]

    def _perform(self, command: int, index: int, sub: int, request: bytes) -> bytes | None:
        action = command >> 5
        if action == _ABORTED:
            self._transfer = None
            return None
        if action == _DOWNLOAD_SEGMENT:
            return self._download_segment(command, request)
        if action == _UPLOAD_SEGMENT:
            return self._upload_segment(command)
        self._transfer = None
        if action not in (_DOWNLOAD, _UPLOAD):
            raise Abort(AbortCode.COMMAND)
        if command & _COMPLETE:
            raise Abort(AbortCode.ACCESS)
        return self._upload(index, sub) if action == _UPLOAD else self._download(command, index, sub, request)

    def _upload(self, index: int, sub: int) -> bytes:
        content = self._dictionary.read(index, sub)
        size = len(content)
        if 0 < size <= 4:
            command = _UPLOAD << 5 | (4 - size) << 2 | _EXPEDITED | _SIZED
            return _SDO.pack(command, index, sub) + content.ljust(4, b"\x00")
        room = self._room() - _HEADER.size - 8
        if size > room:
            self._transfer = _Transfer(index, sub, True, size, bytearray(content[room:]))
        return _SDO.pack(_UPLOAD << 5 | _SIZED, index, sub) + struct.pack("<I", size) + content[:room]

    def _upload_segment(self, command: int) -> bytes:
        transfer = self._running(command, upload=True)
        room = self._room() - _HEADER.size - 1
        part = bytes(transfer.content[:room])
        del transfer.content[:room]
        answer = transfer.toggle | max(0, _SHORTEST_SEGMENT - len(part)) << 1
        transfer.toggle ^= _TOGGLE
        if not transfer.content:
            answer |= _LAST
            self._transfer = None
        return bytes([answer]) + part.ljust(_SHORTEST_SEGMENT, b"\x00")

    def _download(self, command: int, index: int, sub: int, request: bytes) -> bytes:
        if command & _EXPEDITED:
            fixed = self._dictionary.find(index, sub).type.bits // 8
            size = 4 - (command >> 2 & 3) if command & _SIZED else min(fixed or 4, 4)
            self._dictionary.write(index, sub, request[4 : 4 + size])
        else:
            size = struct.unpack_from("<I", request, 4)[0]
            part = request[8 : 8 + size]
            self._dictionary.admit(index, sub, size)
            if len(part) == size:
                self._dictionary.write(index, sub, part)
            else:
                self._transfer = _Transfer(index, sub, False, size, bytearray(part))
        return _SDO.pack(3 << 5, index, sub) + bytes(4)

    def _download_segment(self, command: int, request: bytes) -> bytes:
        transfer = self._running(command, upload=False)
        part = request[1:]
        if len(part) <= _SHORTEST_SEGMENT:
            part = part[: _SHORTEST_SEGMENT - (command >> 1 & 7)]
        transfer.content += part
        if len(transfer.content) > transfer.size:
            raise Abort(AbortCode.TOO_LONG)
        answer = 1 << 5 | transfer.toggle
        transfer.toggle ^= _TOGGLE
        if command & _LAST:
            if len(transfer.content) < transfer.size:
                raise Abort(AbortCode.TOO_SHORT)
            self._dictionary.write(transfer.index, transfer.sub, bytes(transfer.content))
            self._transfer = None
        return bytes([answer]) + bytes(7)

    def _running(self, command: int, upload: bool) -> _Transfer:
        transfer = self._transfer
        if transfer is None or transfer.upload != upload:
            raise Abort(AbortCode.COMMAND)
        if command & _TOGGLE != transfer.toggle:
            raise Abort(AbortCode.TOGGLE)
        return transfer
