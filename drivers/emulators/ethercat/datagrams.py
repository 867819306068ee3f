"""The way of a frame through a row of slaves: its datagrams, their commands and working counters (ETG.1000.4)."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from enum import IntEnum

from drivers.emulators.ethercat.chip.clock import HOP
from drivers.emulators.ethercat.chip.esc import Esc

ETHERTYPE = 0x88A4
FIRST_DATAGRAM = 16
"""Offset of the first datagram, after the Ethernet header (14) and the EtherCAT header (2)."""
NUMBER = FIRST_DATAGRAM + 1
"""Offset of the number by which the sender of a frame recognises its answer."""

_HEADER = struct.Struct("<BBHHHH")
_COUNTER = struct.Struct("<H")
_COMMANDS = 1
"""Type of an EtherCAT frame that carries datagrams."""
_LOCALLY_ADMINISTERED = 0x02


class Command(IntEnum):
    """Command of a datagram: A by position, F by station address, B to all, L to logical memory; M one reads."""

    NOP = 0
    APRD = 1
    APWR = 2
    APRW = 3
    FPRD = 4
    FPWR = 5
    FPRW = 6
    BRD = 7
    BWR = 8
    BRW = 9
    LRD = 10
    LWR = 11
    LRW = 12
    ARMW = 13
    FRMW = 14


_BY_POSITION = frozenset({Command.APRD, Command.APWR, Command.APRW, Command.ARMW})
_TO_ALL = frozenset({Command.BRD, Command.BWR, Command.BRW})
_COUNTED = _BY_POSITION | _TO_ALL
"""Commands whose address every slave increments."""
_LOGICAL = frozenset({Command.LRD, Command.LWR, Command.LRW})
_MULTIPLE = frozenset({Command.ARMW, Command.FRMW})
_READ = frozenset({Command.APRD, Command.FPRD, Command.BRD})
_WRITE = frozenset({Command.APWR, Command.FPWR, Command.BWR})


def circulate(frame: bytearray, slaves: Sequence[Esc], now: int) -> bool:
    """Pass a frame through the slaves, in place; return True if it is one that they process.

    A datagram longer than its frame ends the frame's processing there, as a lost signal would.

    Args:
        frame: The frame.
        slaves: The slaves in the order of the cable.
        now: Time of arrival [ns].
    """
    if len(frame) < FIRST_DATAGRAM or frame[12:14] != b"\x88\xa4" or frame[15] >> 4 != _COMMANDS:
        return False
    for place, slave in enumerate(slaves):
        slave.arrival = now + place * HOP
    offset, more = FIRST_DATAGRAM, True
    while more and offset + _HEADER.size + _COUNTER.size <= len(frame):
        command, index, address, memory, flags, interrupt = _HEADER.unpack_from(frame, offset)
        start = offset + _HEADER.size
        end = start + (flags & 0x7FF)
        if end + _COUNTER.size > len(frame):
            break
        data = frame[start:end]
        counter: int = _COUNTER.unpack_from(frame, end)[0]
        for slave in slaves:
            counter += execute(slave, command, address, memory, data)
            # Auto-increment addressing: the slave that sees address 0 is the one that is meant.
            if command in _COUNTED:
                address = (address + 1) & 0xFFFF
        _HEADER.pack_into(frame, offset, command, index, address, memory, flags, interrupt)
        frame[start:end] = data
        _COUNTER.pack_into(frame, end, counter & 0xFFFF)
        offset, more = end + _COUNTER.size, bool(flags & 0x8000)
    frame[6] |= _LOCALLY_ADMINISTERED
    return True


def execute(slave: Esc, command: int, address: int, memory: int, data: bytearray) -> int:
    """Execute one datagram on one slave, on `data` in place; return its contribution to the working counter."""
    if command in _LOGICAL:
        return slave.logical(memory << 16 | address, data, command != Command.LWR, command != Command.LRD)
    if command in _BY_POSITION:
        addressed = address == 0
    elif command in _TO_ALL:
        addressed = True
    else:
        addressed = command != Command.NOP and slave.is_called(address)
    if command in _MULTIPLE:
        return _read(slave, memory, data, False) if addressed else int(slave.write(memory, bytes(data)))
    if not addressed:
        return 0
    if command in _READ:
        return _read(slave, memory, data, command == Command.BRD)
    if command in _WRITE:
        return int(slave.write(memory, bytes(data)))
    if command in (Command.APRW, Command.FPRW, Command.BRW):
        given = bytes(data)
        counted = _read(slave, memory, data, command == Command.BRW)
        return counted + 2 * slave.write(memory, given)
    return 0


def _read(slave: Esc, memory: int, data: bytearray, merge: bool) -> int:
    """Read into `data`; with `merge`, combine the bits with those of the slaves before."""
    found = slave.read(memory, len(data))
    if found is None:
        return 0
    data[:] = bytes(a | b for a, b in zip(data, found, strict=True)) if merge else found
    return 1
