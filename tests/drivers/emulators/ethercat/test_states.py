"""The EtherCAT state machine of a slave: what it demands for each state, and what ends one (ETG.1000.6)."""

from __future__ import annotations

import struct

import pytest

from tests.drivers.emulators.ethercat.wire import Wire

CYCLE = 1_000_000
"""Of SYNC0 [ns]."""
TORQUE_OUTPUTS = (0x60400010, 0x60710010, 0x60600008, 0x00000008)
TORQUE_INPUTS = (0x60410010, 0x60640020, 0x606C0020, 0x60770010)


@pytest.fixture
def wire(wire):
    """In PREOP."""
    wire.open_mailboxes()
    return wire


def test_pulses_that_began_before_safeop_make_it_synchronous(wire):
    wire.start_pulses(CYCLE)
    wire.offer_process_data()
    assert wire.request(4) == (4, 0)
    assert wire.request(8) == (8, 0)
    assert (wire.number(0x1C32, 1), wire.number(0x1C32, 2)) == (2, CYCLE)


def test_a_strict_drive_demands_such_pulses_for_op():
    """Pulses that begin in SAFEOP are too late for it."""
    for strict, state in ((True, (0x14, 0x30)), (False, (8, 0))):
        wire = Wire(strict=strict)
        wire.open_mailboxes()
        wire.offer_process_data()
        assert wire.request(4) == (4, 0)
        wire.start_pulses(CYCLE)
        assert wire.request(8) == state
        assert wire.number(0x1C32, 1) == 1


@pytest.mark.parametrize(
    ("index", "entries", "lengths", "code"),
    [
        (0x1600, TORQUE_OUTPUTS[:3], (5, 10), 0x1D),
        (0x1A00, (*TORQUE_INPUTS, 0x60610008), (10, 13), 0x1E),
        (0x1600, TORQUE_OUTPUTS, (10, 10), 0x1D),
        (0x1A00, TORQUE_INPUTS, (10, 10), 0x1E),
    ],
    ids=["odd outputs", "odd inputs", "other outputs", "other inputs"],
)
def test_process_data_of_another_length_are_refused(wire, index, entries, lengths, code):
    wire.map(index, entries)
    wire.offer_process_data(*lengths)
    assert wire.request(4) == (0x12, code)


def test_a_cycle_faster_than_the_drive_is_refused(wire):
    wire.offer_process_data()
    wire.start_pulses(249_000)
    assert wire.request(4) == (0x12, 0x35)
    wire.write(0x0981, b"\x00")
    wire.start_pulses(250_000)
    assert wire.request(0x14) == (4, 0)


def test_an_error_stays_until_it_is_acknowledged(wire):
    assert wire.request(8) == (0x12, 0x11)
    assert wire.request(4) == (0x12, 0x11)
    assert wire.request(2 | 0x10) == (2, 0)
    assert wire.request(3) == (0x12, 0x13)
    assert wire.request(7 | 0x10) == (0x12, 0x12)


def test_state_by_state_and_back():
    wire = Wire()
    wire.operate()
    for state in (4, 2, 1):
        assert wire.request(state) == (state, 0)
        assert wire.slaves[0].drive.operational is False


def test_a_silent_master_and_lost_pulses_end_operation():
    """The drive, if it was enabled, reports a fault of its own, which outlives the return to OP."""
    for code in (0x1B, 0x2C):
        wire = Wire()
        wire.operate(10)
        for word in (0x06, 0x07, 0x0F):
            wire.control(word, 100_000)
        assert wire.slaves[0].mechanism.driven
        if code == 0x2C:
            wire.write(0x0981, b"\x00")
        wire.wait(1_000_001 if code == 0x1B else 0)
        assert wire.state == (0x14, code)
        assert not wire.slaves[0].mechanism.driven
        # A master that looks at nothing but the working counter does not notice.
        wire.control(0x0F)
        wire.start_pulses(start=wire.read(0x0910, 8) + 5_000)
        assert wire.request(4 | 0x10) == (4, 0)
        wire.request(2)
        assert [wire.request(state) for state in (4, 8)] == [(4, 0), (8, 0)]
        wire.control(0x0F, 100_000)
        assert wire.slaves[0].drive.statusword & 0x4F == 0x08


@pytest.mark.parametrize(("index", "direction"), [(0x1600, "rx"), (0x1A00, "tx")])
def test_mapped_objects_are_the_process_data(wire, index, direction):
    """Every object that can be mapped, ten at a time, each with a number of its own."""
    slave = wire.slaves[0]
    known = [entry for entry in slave.dictionary.entries if entry.mapping == direction]
    assert len(known) >= 8
    for chosen in filter(None, (known[:10], known[10:])):
        wire.map(index, [entry.index << 16 | entry.type.bits for entry in chosen])
        layout = "<" + "".join(entry.type.code for entry in chosen)
        numbers = tuple(-n if entry.type.signed else n for n, entry in enumerate(chosen, 101))
        memory = bytearray(100)
        if direction == "rx":
            struct.pack_into(layout, memory, 7, *numbers)
            slave._outputs.image().decode(memory, 7)
            assert tuple(entry.value for entry in chosen) == numbers
        else:
            for entry, number in zip(chosen, numbers, strict=True):
                entry.measure = lambda number=number: number
            slave._inputs.image().encode(memory, 7)
            assert struct.unpack_from(layout, memory, 7) == numbers
