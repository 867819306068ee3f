"""CoE: the SDO information service, by which a master reads the structure of a dictionary (ETG.1000.6)."""

from __future__ import annotations

import struct
from collections.abc import Callable

from drivers.emulators.ethercat.coe.dictionary import Abort, AbortCode, ObjectDictionary

INFORMATION = 8
"""Number of the CoE service."""
_HEADER = struct.Struct("<HBBH")
"""CoE service, operation, reserved, number of fragments that follow."""
_INCOMPLETE = 0x80
_LIST, _OBJECT, _ENTRY, _ERROR = 1, 3, 5, 7
"""Requests; the number of an answer is one higher."""
_VARIABLE, _ARRAY, _RECORD = 7, 8, 9
_ACCESS = {"ro": 0x07, "rw": 0x3F, "rwp": 0x0F}
_MAPPING = {"rx": 0x40, "tx": 0x80}


class SdoInformation:
    """Answers a master's requests about a dictionary."""

    def __init__(self, dictionary: ObjectDictionary, room: Callable[[], int]) -> None:
        """Create the service.

        Args:
            dictionary: The dictionary.
            room: Returns the longest CoE message that fits the mailbox [bytes].
        """
        self._dictionary = dictionary
        self._room = room

    def answer(self, message: bytes) -> list[bytes]:
        """Answer one CoE message in as many messages as needed."""
        request = message[_HEADER.size :].ljust(4, b"\x00")
        asked = _HEADER.unpack_from(message.ljust(_HEADER.size, b"\x00"))[1] & ~_INCOMPLETE
        try:
            content = self._content(asked, request)
        except Abort as abort:
            return self._fragments(_ERROR, struct.pack("<I", abort.code))
        return self._fragments(asked + 1, content)

    def _fragments(self, kind: int, content: bytes) -> list[bytes]:
        room = self._room() - _HEADER.size
        parts = [content[start : start + room] for start in range(0, len(content), room)]
        return [
            _HEADER.pack(INFORMATION << 12, kind | (_INCOMPLETE if left else 0), 0, left) + part
            for left, part in zip(reversed(range(len(parts))), parts, strict=True)
        ]

    def _content(self, asked: int, request: bytes) -> bytes:
        if asked == _LIST:
            return self._list(struct.unpack_from("<H", request)[0])
        if asked == _OBJECT:
            return self._object(struct.unpack_from("<H", request)[0])
        if asked == _ENTRY:
            return self._entry(*struct.unpack_from("<HB", request))
        raise Abort(AbortCode.COMMAND)

    def _list(self, kind: int) -> bytes:
        """Return a list: kind 0 the lists' lengths, 1 all objects, 2 mappable as outputs, 3 mappable as inputs."""
        entries = self._dictionary.entries
        lists = [
            [entry.index for entry in entries if entry.sub == 0],
            [entry.index for entry in entries if entry.mapping == "rx"],
            [entry.index for entry in entries if entry.mapping == "tx"],
            [],
            [],
        ]
        if kind == 0:
            return struct.pack("<6H", kind, *(len(indices) for indices in lists))
        if kind > len(lists):
            raise Abort(AbortCode.RANGE)
        indices = sorted(lists[kind - 1])
        return struct.pack(f"<{1 + len(indices)}H", kind, *indices)

    def _object(self, index: int) -> bytes:
        first = self._dictionary.find(index, 0)
        subs = self._dictionary.subs(index)
        types = {entry.type for entry in subs[1:]}
        code = _VARIABLE if len(subs) == 1 else _ARRAY if len(types) == 1 else _RECORD
        data_type = subs[-1].type.value[0] if code != _RECORD else 0
        return struct.pack("<HHBB", index, data_type, subs[-1].sub, code) + first.name.encode("ascii")

    def _entry(self, index: int, sub: int) -> bytes:
        entry = self._dictionary.find(index, sub)
        bits = entry.type.bits or 8 * len(entry.content)
        access = _ACCESS[entry.access] | _MAPPING.get(entry.mapping, 0)
        return struct.pack("<HBBHHH", index, sub, 0, entry.type.value[0], bits, access) + entry.name.encode("ascii")
