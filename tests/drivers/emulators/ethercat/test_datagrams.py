"""Commands, working counters and memory of slaves, frame by frame (ETG.1000.4)."""

from __future__ import annotations

import struct

import pytest

from drivers.emulators.ethercat.chip.registers import END
from drivers.emulators.ethercat.datagrams import Command, circulate
from tests.drivers.emulators.ethercat.wire import STATION, Datagram, Wire, packed

RAM = 0x1800
"""Memory no sync manager guards."""


@pytest.fixture
def row():
    wire = Wire(3)
    wire.address_slaves()
    return wire


def test_broadcast_counts_slaves_and_merges_their_bits(row):
    assert row.send(Datagram(Command.BRD, 0, 0x0000, b"\x00\x00")) == [
        Datagram(Command.BRD, 3, 0x0000, b"\x11\x00", 3)  # every slave adds one to the address
    ]
    for n, bits in enumerate((0x01, 0x02, 0x04)):
        row.write(RAM, bytes([bits]), STATION + n)
    assert row.one(Command.BRD, 0, RAM, b"\x08") == (b"\x0f", 3)


@pytest.mark.parametrize(
    ("command", "address", "data", "counter"),
    [
        (Command.NOP, 0, b"\x22", 0),
        (Command.APRD, 0, b"\x11", 1),
        (Command.APWR, 0, b"\x22", 1),
        (Command.APRW, 0, b"\x11", 3),
        (Command.FPRD, STATION, b"\x11", 1),
        (Command.FPWR, STATION, b"\x22", 1),
        (Command.FPRW, STATION, b"\x11", 3),
        (Command.BRD, 0, b"\x33", 1),
        (Command.BWR, 0, b"\x22", 1),
        (Command.BRW, 0, b"\x33", 3),
        (Command.ARMW, 0, b"\x11", 1),
        (Command.ARMW, 1, b"\x22", 1),
        (Command.FRMW, STATION, b"\x11", 1),
        (Command.FRMW, 0x7777, b"\x22", 1),
        (Command.FPRD, 0x7777, b"\x22", 0),
        (Command.FPWR, 0x7777, b"\x22", 0),
        (Command.APRD, 1, b"\x22", 0),
        (77, 0, b"\x22", 0),
    ],
)
def test_commands(wire, command, address, data, counter):
    """Memory holds 0x11, the datagram 0x22."""
    wire.write(RAM, b"\x11")
    assert wire.one(command, address, RAM, b"\x22") == (data, counter)
    writes = (command in (2, 3, 5, 6, 8, 9) and counter) or (command in (13, 14) and data == b"\x22")
    assert wire.read(RAM, 1) == (0x22 if writes else 0x11)


@pytest.mark.parametrize(("command", "counter"), [(Command.LRD, 1), (Command.LWR, 1), (Command.LRW, 3)])
def test_logical_memory(wire, command, counter):
    wire.fmmu(0, 0x10000, RAM, 2, 2)
    wire.fmmu(1, 0x10002, RAM + 0x100, 2, 1)
    wire.write(RAM, b"\x11\x12")
    wire.write(RAM + 0x100, b"\x13\x14")
    data, counted = wire.one(command, 0x0000, 0x0001, b"\x21\x22\x23\x24")
    assert counted == counter
    assert data == (b"\x21\x22\x23\x24" if command == Command.LWR else b"\x21\x22\x13\x14")
    assert wire.read(RAM) == (0x1211 if command == Command.LRD else 0x2221)
    assert wire.read(RAM + 0x100) == 0x1413


def test_logical_memory_of_several_slaves(row):
    for n in range(3):
        station = STATION + n
        for unit, place, physical, kind in ((0, n, RAM, 2), (1, 3 + n, RAM + 1, 1)):
            content = struct.pack("<IHBBHBBBxxx", place, 1, 0, 7, physical, 0, kind, 1)
            row.write(0x0600 + 16 * unit, content, station)
        row.write(RAM + 1, bytes([0xA0 + n]), station)
    assert row.one(Command.LRW, 0, 0, b"\x01\x02\x03\x00\x00\x00") == (b"\x01\x02\x03\xa0\xa1\xa2", 9)
    assert [row.read(RAM, 1, STATION + n) for n in range(3)] == [1, 2, 3]
    # Part of the image: only the slaves it touches count.
    assert row.one(Command.LRW, 2, 0, b"\x07\x00") == (b"\x07\xa0", 3)


def test_single_bits_of_logical_memory(wire):
    """A bit of a register, as masters map the state of a mailbox."""
    wire.fmmu(0, 0x100, 0x080D, 1, 1, bits=(2, 2, 3))
    wire.slaves[0].esc.memory[0x080D] = 0x08
    assert wire.one(Command.LRD, 0x100, 0, b"\x00") == (b"\x04", 1)
    wire.fmmu(1, 0x200, RAM, 1, 2, bits=(0, 1, 4))
    wire.write(RAM, b"\x81")
    assert wire.one(Command.LWR, 0x200, 0, b"\x03") == (b"\x03", 1)
    assert wire.read(RAM, 1) == 0xB1


def test_registers_only_the_slave_writes(wire):
    for address in (0x0000, 0x0110, 0x0130, 0x0805, 0x0807):
        before = wire.read(address, 1)
        assert wire.write(address, b"\xff") == 0
        assert wire.read(address, 1) == before


def test_alias_where_allowed(wire):
    wire.slaves[0].esc.memory[0x0012:0x0014] = b"\x07\x00"
    assert wire.one(Command.FPRD, 7, 0x0000, b"\x00")[1] == 0
    wire.write(0x0100, struct.pack("<I", 1 << 24))
    assert wire.one(Command.FPRD, 7, 0x0000, b"\x00")[1] == 1


@pytest.mark.parametrize(
    ("control", "write", "read"),
    [(0x24, 1, 0), (0x20, 0, 1), (0x26, 1, 0), (0x22, 0, 0)],
    ids=["outputs", "inputs", "mailbox in", "empty mailbox out"],
)
def test_sync_managers_guard_their_memory(wire, control, write, read):
    wire.sync_manager(5, RAM, 4, control)
    assert wire.write(RAM, bytes(4)) == write
    assert wire.one(Command.FPRD, STATION, RAM, bytes(4))[1] == read
    # Across the border nothing passes.
    assert wire.write(RAM + 2, bytes(4)) == 0
    wire.sync_manager(5, RAM, 4, control, active=0)
    assert wire.write(RAM, bytes(4)) == 1


def test_mailbox_handshake(wire):
    wire.sync_manager(4, RAM, 8, 0x26)
    # Only from its beginning, and until its last byte it is not full.
    assert wire.write(RAM + 4, bytes(4)) == 0
    assert wire.write(RAM, bytes(4)) == 1
    assert wire.read(0x0800 + 4 * 8 + 5, 1) & 0x08 == 0
    assert wire.write(RAM + 4, bytes(4)) == 1
    assert wire.read(0x0800 + 4 * 8 + 5, 1) & 0x08
    assert wire.write(RAM, bytes(8)) == 0


def test_process_data_is_shut_below_safeop(wire):
    wire.open_mailboxes()
    wire.offer_process_data()
    assert wire.write(0x1100, bytes(10)) == 0
    assert wire.one(Command.FPRD, STATION, 0x1400, bytes(10))[1] == 0
    assert wire.request(4) == (4, 0)
    assert wire.write(0x1100, bytes(10)) == 1
    assert wire.one(Command.FPRD, STATION, 0x1400, bytes(10))[1] == 1


@pytest.mark.parametrize(
    "frame",
    [b"", b"\x00" * 60, packed([])[:12] + b"\x08\x00" + bytes(46), packed([]), packed([])[:-1] + b"\x40" + bytes(30)],
)
def test_other_frames_are_let_alone(wire, frame):
    buffer = bytearray(frame)
    circulate(buffer, [slave.esc for slave in wire.slaves], 0)
    assert buffer[:6] + buffer[7:] == frame[:6] + frame[7:]


def test_memory_ends(wire):
    assert wire.one(Command.FPRD, STATION, END, b"\x00") == (b"\x00", 0)
    assert wire.one(Command.FPRD, STATION, END - 1, b"\x00\x00") == (b"\x00\x00", 0)
    assert wire.write(END, b"\x01") == 0
    # A master may map anything: bits beyond the last byte are neither read nor written.
    wire.fmmu(0, 0x100, END - 1, 2, 3, bits=(1, 2, 3))
    assert len(wire.one(Command.LRW, 0x100, 0, b"\xff\xff")[0]) == 2
