"""The objects of the drive through its mailbox: what is read, written, refused, mapped and reported."""

from __future__ import annotations

import struct

import pytest

from core.servo.shipped import load_model
from tests.drivers.emulators.ethercat.wire import download, upload

KT = load_model("erob80_50", "m6").values["kt"]
"""Of the shipped M6 of the erob80_50 [N·m/A]."""


@pytest.fixture
def wire(wire):
    """In PREOP."""
    wire.open_mailboxes()
    return wire


@pytest.mark.parametrize(
    ("index", "sub", "content", "code"),
    [
        (0x1008, 0, b"\x00", 0x06010002),
        (0x5555, 0, b"\x00", 0x06020000),
        (0x1018, 9, b"\x00", 0x06090011),
        (0x6040, 0, b"\x00" * 4, 0x06070012),
        (0x607F, 0, b"\x00", 0x06070013),
        (0x6060, 0, b"\x03", 0x06090030),
        (0x6072, 0, struct.pack("<H", 2001), 0x06090031),
        (0x6085, 0, bytes(4), 0x06090032),
        (0x2F00, 0, bytes(1025), 0x06070012),
        (0x1600, 1, struct.pack("<I", 0x60400010), 0x06010003),
        (0x1600, 0, b"\x0b", 0x06090031),
        (0x1C12, 1, b"\x00\x16", 0x06010003),
    ],
)
def test_writing_is_refused(wire, index, sub, content, code):
    before = wire.slaves[0].dictionary.entries
    values = [entry.value for entry in before]
    assert wire.aborted(download(index, sub, content)) == code
    assert [entry.value for entry in before] == values


def test_reading_is_refused(wire):
    assert wire.aborted(upload(0x5555)) == 0x06020000
    assert wire.aborted(upload(0x6040, 1)) == 0x06090011


@pytest.mark.parametrize(
    ("entry", "code"),
    [
        (0x60640020, 0x06040041),  # inputs are not outputs
        (0x60400020, 0x06040041),  # another length
        (0x60750020, 0x06040041),  # a rating
        (0x00000003, 0x06040041),  # a pad of some bits
        (0x55550010, 0x06020000),
    ],
)
def test_only_what_can_be_mapped_is(wire, entry, code):
    wire.set(0x1600, 0, b"\x00")
    assert wire.aborted(download(0x1600, 1, struct.pack("<I", entry))) == code


def test_mapping_and_assignment(wire):
    for count, code in ((5, 0x06040041), (10, 0x06040041)):
        wire.set(0x1600, 0, b"\x00")
        assert wire.aborted(download(0x1600, 0, bytes([count]))) == code, "a mapping with a gap"
    wire.set(0x1C12, 0, b"\x00")
    assert wire.aborted(download(0x1C12, 1, b"\x01\x16")) == 0x06040041
    wire.set(0x1C12, 1, b"\x00\x16")
    wire.set(0x1C12, 0, b"\x01")
    wire.map(0x1600, (0x60400010, 0x60710010, 0x60600008, 0x00000008))
    assert (wire.number(0x1600, 0), wire.number(0x1600, 4)) == (4, 0x00000008)


def test_mapping_is_for_preop(wire):
    wire.offer_process_data()
    assert wire.request(4) == (4, 0)
    for index in (0x1600, 0x1A00, 0x1C12, 0x1C13):
        assert wire.aborted(download(index, 0, b"\x00")) == 0x08000022


def test_ratings_and_units(wire):
    # 12 A, the largest current, lie within what an int16 of per mille can say.
    assert (wire.number(0x6075), wire.number(0x6072)) == (6000, 2000)
    assert wire.number(0x6076) == pytest.approx(1000 * 6.0 * KT, abs=2)
    assert (wire.number(0x608F, 1), wire.number(0x608F, 2)) == (524288, 1)
    assert (wire.number(0x1018, 1), wire.number(0x1018, 2), wire.number(0x1018, 4)) == (0x5A65726F, 0x29252, 1)
    assert wire.number(0x6079) == pytest.approx(48_000, abs=100)
    assert wire.number(0x6502) == 1 << 7 | 1 << 9
    wire.slaves[0].mechanism._set_supply(["40"])
    assert wire.number(0x6079) == 40_000


def test_a_fault_and_a_reset_are_seen_in_the_objects_and_the_mailbox(wire):
    wire.slaves[0].drive.fail(0x7305, 0x21)
    assert wire.fetch() == (3, struct.pack("<HHB5x", 1 << 12, 0x7305, 0x21))
    assert (wire.number(0x603F), wire.number(0x1001)) == (0x7305, 0x21)
    wire.slaves[0].drive.fail(0x2310)
    assert wire.number(0x603F) == 0x7305, "the first one is kept"
    wire.set(0x6040, 0, b"\x80\x00")
    wire.wait(0)
    assert (wire.number(0x603F), wire.number(0x1001)) == (0, 0)
