"""EEPROM, clock and mailboxes of a slave, register by register."""

from __future__ import annotations

import struct

import pytest

from drivers.emulators.ethercat.chip.sii import checksum
from drivers.emulators.ethercat.coe.information import SdoInformation
from drivers.emulators.ethercat.datagrams import Command
from drivers.emulators.ethercat.drive import DriveState
from tests.drivers.emulators.ethercat.wire import STATION, Wire, upload


def sii_words(wire: Wire, address: int) -> bytes:
    """Read four words of the EEPROM."""
    assert wire.write(0x0502, struct.pack("<HI", 0x0100, address)) == 1
    assert wire.read(0x0502) & 0xE000 == 0
    return wire.read(0x0508, 8).to_bytes(8, "little")


def test_identity_in_the_eeprom(wire):
    assert struct.unpack("<II", sii_words(wire, 0x08)) == (0x5A65726F, 0x00029252)
    assert struct.unpack("<HHHH", sii_words(wire, 0x18)) == (0x1000, 128, 0x1080, 128)
    head = sii_words(wire, 0) + sii_words(wire, 4)
    assert head[14] == checksum(head[:14])
    # CRC-8 with polynomial 0x07 that begins with 0xFF, its value for "123456789".
    assert checksum(b"123456789") == 0xFB


def test_writing_the_eeprom_needs_permission(wire):
    wire.write(0x0508, b"\x34\x12")
    wire.write(0x0502, struct.pack("<HI", 0x0200, 0x0C))
    assert wire.read(0x0502) & 0x4000
    wire.write(0x0508, b"\x34\x12")
    wire.write(0x0502, struct.pack("<HI", 0x0201, 0x0C))
    assert sii_words(wire, 0x0C)[:2] == b"\x34\x12"
    wire.slaves[0].power_on(wire.now)
    wire.address_slaves()
    assert sii_words(wire, 0x0C)[:2] == b"\x34\x12"
    wire.write(0x0500, b"\x01")
    wire.write(0x0502, struct.pack("<HI", 0x0100, 8))
    assert wire.read(0x0502) & 0x2000, "the slave owns it"


def test_receive_times_tell_the_way():
    row = Wire(2)
    row.address_slaves()
    row.one(Command.BWR, 0, 0x0900, bytes(4))
    first, back = (row.read(place, 4) for place in (0x0900, 0x0904))
    assert back - first == 2 * 600
    assert row.read(0x0904, 4, STATION + 1) == 0


def test_system_time_is_local_time_and_offset(wire):
    wire.write(0x0920, struct.pack("<Q", 5_000_000))
    wire.now += 1_000
    assert wire.read(0x0910, 8) == 5_000_000 + 1_000


def test_a_drifting_clock_follows_the_reference():
    """20 ppm against the reference are 40 ns in 2 ms; the loop takes an eighth of the difference away each time."""
    row = Wire(2, drifts=(0.0, 20e-6))
    row.address_slaves()
    row.write(0x0928, struct.pack("<I", 600), STATION + 1)
    for _ in range(200):
        row.now += 2_000_000
        _, counter = row.one(Command.FRMW, STATION, 0x0910, bytes(8))
        assert counter == 2
    difference = row.read(0x092C, 4, STATION + 1) & 0x7FFFFFFF
    assert difference == pytest.approx(8 * 40, abs=10)


def test_sync0_begins_only_in_the_future(wire):
    wire.start_pulses(start=0)
    assert not wire.slaves[0].esc.clock.active
    wire.write(0x0981, b"\x00")
    wire.start_pulses()
    assert wire.slaves[0].esc.clock.active


def test_periods_of_sync0_are_counted(wire):
    clock = wire.slaves[0].esc.clock
    wire.start_pulses(start=100)
    for at in (0.5, 1.5, 1.9, 2.5, 6.5, 7.5):
        clock.count(1_000_000_000 + 100 + round(at * 1e6))
    assert (clock.windows.one, clock.windows.more) == (3, 1)
    assert (clock.windows.empty, clock.windows.longest_gap) == (3, 3)
    assert clock.missed(1_000_000_000 + 100 + 10_500_000) == 2


MILLISECOND = 1_000_000


@pytest.mark.parametrize(("units", "milliseconds"), [(1000, 100), (500, 50), (1, 0.1)])
def test_the_watchdog_ends_operation_on_time(wire, units, milliseconds):
    wire.operate(units)
    for _ in range(3):
        wire.control(0, round(0.9 * milliseconds * MILLISECOND))
    wire.wait(round(milliseconds * MILLISECOND))
    assert wire.read(0x0130) == 8
    wire.wait(1)
    assert (wire.read(0x0130), wire.read(0x0134), wire.read(0x0442, 1)) == (0x14, 0x1B, 1)


@pytest.mark.parametrize(("limit", "periods"), [(None, 100), (10, 10)])
def test_an_enabled_drive_misses_its_master_after_so_many_periods(limit, periods):
    wire = Wire(sync_limit=limit)
    wire.operate(watchdog=0)
    for word in (0x06, 0x07, 0x0F):
        wire.control(word)
    drive = wire.slaves[0].drive
    wire.wait((periods + 1) * MILLISECOND)
    assert drive.state == DriveState.OPERATION_ENABLED
    wire.wait(MILLISECOND)
    assert drive.state == DriveState.FAULT
    assert wire.slaves[0].dictionary[0x603F, 0].number == 0xA000
    assert wire.read(0x0130) == 8


def test_a_repeated_message_is_taken_once(wire):
    wire.open_mailboxes()
    request = struct.pack("<H", 2 << 12) + upload(0x1000)
    assert wire.post(request, counter=3) == 1
    assert wire.post(request, counter=3) == 1
    wire.fetch()
    assert wire.one(Command.FPRD, STATION, 0x1080, bytes(128))[1] == 0
    wire.post(request, counter=4)
    wire.fetch()


def test_a_lost_answer_is_repeated(wire):
    wire.open_mailboxes()
    wire.post(struct.pack("<H", 2 << 12) + upload(0x1000))
    first = wire.fetch()
    wire.write(0x080E, b"\x03")
    assert wire.read(0x080F, 1) & 0x02
    assert wire.fetch() == first


def test_an_unknown_protocol_is_a_mailbox_error(wire):
    wire.open_mailboxes()
    wire.post(b"\x01\x00", kind=4)
    assert wire.fetch() == (0, struct.pack("<HH", 1, 2))
    wire.write(0x1000, struct.pack("<HHBB", 500, 0, 0, 3).ljust(128, b"\x00"))
    assert wire.fetch() == (0, struct.pack("<HH", 1, 5))
    wire.post(b"\x01")
    assert wire.fetch() == (0, struct.pack("<HH", 1, 6))


def test_wrong_mailboxes_keep_the_slave_in_init(wire):
    wire.sync_manager(0, 0x1000, 64, 0x26)
    wire.sync_manager(1, 0x1080, 128, 0x22)
    assert wire.request(2) == (0x11, 0x16)


@pytest.mark.parametrize(
    ("request_bytes", "code"),
    [
        (struct.pack("<BHB4x", 0x50, 0x1018, 0), 0x06010000),  # complete access
        (struct.pack("<BHB4x", 0xE0, 0x1018, 0), 0x05040001),
        (struct.pack("<BHB4x", 0x60, 0, 0), 0x05040001),  # a segment of nothing
    ],
)
def test_sdo_requests_that_make_no_sense(wire, request_bytes, code):
    wire.open_mailboxes()
    assert wire.aborted(request_bytes) == code


def test_the_toggle_bit_of_segments(wire):
    wire.open_mailboxes()
    note = bytes(range(200))
    begin = struct.pack("<BHBI", 0x21, 0x2F00, 0, len(note)) + note[:100]
    assert wire.sdo(begin)[0] == 0x60
    assert wire.aborted(b"\x11" + note[100:]) == 0x05030000
    wire.sdo(begin)
    assert wire.sdo(b"\x01" + note[100:])[0] == 0x20
    answer = wire.sdo(upload(0x2F00))
    assert struct.unpack_from("<BHBI", answer) == (0x41, 0x2F00, 0, 200)
    rest = wire.sdo(struct.pack("<BHB4x", 0x60, 0, 0))
    assert rest[0] == 0x01
    assert answer[8:] + rest[1:] == note
    wire.sdo(begin)
    assert wire.aborted(b"\x01" + note[100:150]) == 0x06070013
    wire.sdo(begin)
    assert wire.aborted(b"\x00" + note[100:] + b"\x00") == 0x06070012


def ask(kind: int, content: bytes) -> bytes:
    return struct.pack("<HBBH", 8 << 12, kind, 0, 0) + content


def test_a_long_list_of_objects_comes_in_fragments(wire):
    """Each says how many follow."""
    information = SdoInformation(wire.slaves[0].dictionary, lambda: 32)
    answers = information.answer(ask(1, b"\x01\x00"))
    heads = [struct.unpack_from("<HBBH", answer) for answer in answers]
    count = len(answers)
    assert heads == [(8 << 12, 2 if n == count - 1 else 0x82, 0, count - 1 - n) for n in range(count)]
    assert all(len(answer) <= 32 for answer in answers)
    content = b"".join(answer[6:] for answer in answers)
    kind, *indices = struct.unpack(f"<{len(content) // 2}H", content)
    assert kind == 1
    assert indices == sorted({entry.index for entry in wire.slaves[0].dictionary.entries})


@pytest.mark.parametrize(
    ("kind", "place", "answer"),
    [
        # Index, data type, highest subindex, object code (7 a variable, 8 an array, 9 a record) and name.
        (3, "<H", (0x1008, 0x0009, 0, 7, b"Device name")),
        (3, "<H", (0x1600, 0x0007, 10, 8, b"RxPDO mapping")),
        (3, "<H", (0x60C2, 0, 2, 9, b"Interpolation time period")),
        # Index, subindex, 0, data type, bits, access (readable and writable in PREOP, SAFEOP, OP, mappable) and name.
        (5, "<HB", (0x6071, 0, 0, 0x0003, 16, 0x3F | 0x40, b"Target torque")),
        (5, "<HB", (0x6041, 0, 0, 0x0006, 16, 0x07 | 0x80, b"Statusword")),
        (5, "<HB", (0x1600, 1, 0, 0x0007, 32, 0x0F, b"RxPDO mapping")),
        (5, "<HB", (0x1008, 0, 0, 0x0009, 8 * 14, 0x07, b"Device name")),
    ],
)
def test_objects_and_entries_are_described(wire, kind, place, answer):
    wire.open_mailboxes()
    *numbers, name = answer
    wire.post(ask(kind, struct.pack(place, *numbers[: len(place) - 1])))
    layout = "<HHBB" if kind == 3 else "<HBBHHH"
    assert wire.fetch() == (3, ask(kind + 1, struct.pack(layout, *numbers) + name))


@pytest.mark.parametrize(
    ("kind", "content", "code"),
    [
        (1, b"\x09\x00", 0x06090030),
        (3, b"\x55\x55", 0x06020000),
        (5, b"\x18\x10\x09\x00", 0x06090011),
        (9, b"\x00\x00", 0x05040001),
    ],
)
def test_what_the_dictionary_does_not_hold(wire, kind, content, code):
    wire.open_mailboxes()
    wire.post(ask(kind, content))
    assert wire.fetch() == (3, ask(7, struct.pack("<I", code)))


@pytest.mark.parametrize(
    ("number", "start", "code"),
    [(2, 0x8010, 0x001D), (3, 0x8010, 0x001E), (2, 0x2FF8, 0x001D), (3, 0x1300, 0x001E)],
    ids=["outputs beyond memory", "inputs beyond memory", "outputs across its end", "inputs among the outputs"],
)
def test_process_data_stay_where_they_were_checked(wire, number, start, code):
    """A master that moves them under way sends the slave back."""
    wire.open_mailboxes()
    wire.offer_process_data()
    assert wire.request(4) == (4, 0)
    kind, control = ((2, 0x64), (3, 0x20))[number - 2]
    wire.sync_manager(kind, start, 10, control)
    assert wire.state == (0x12, code)
    wire.wait(0)
    assert wire.request(0x14)[0] == 0x12, "not before they lie within the memory again"
    wire.offer_process_data()
    assert wire.request(0x14) == (4, 0)
