"""The objects of the drive through a pysoem master's mailbox."""

from __future__ import annotations

import struct

import pytest

from tests.drivers.emulators.ethercat.conftest import TORQUE_OUTPUTS
from tests.waiting import wait_until

pytestmark = pytest.mark.own_network


def test_expedited_normal_and_segmented_both_ways(bench):
    slave = bench.slave
    slave.sdo_write(0x607F, 0, struct.pack("<I", 12345))
    assert slave.sdo_read(0x607F, 0) == struct.pack("<I", 12345)
    assert slave.sdo_read(0x1008, 0) == b"ZeroErr Driver"
    for length in (1, 4, 5, 111, 112, 113, 300, 1000):
        note = bytes(n % 251 for n in range(length))
        slave.sdo_write(0x2F00, 0, note)
        assert slave.sdo_read(0x2F00, 0, 2048) == note


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
def test_writing_is_refused(bench, index, sub, content, code):
    with pytest.raises(bench.pysoem.SdoError) as caught:
        bench.slave.sdo_write(index, sub, content)
    assert caught.value.abort_code == code


@pytest.mark.parametrize(("index", "sub", "code"), [(0x5555, 0, 0x06020000), (0x6040, 1, 0x06090011)])
def test_reading_is_refused(bench, index, sub, code):
    with pytest.raises(bench.pysoem.SdoError) as caught:
        bench.slave.sdo_read(index, sub)
    assert caught.value.abort_code == code


def test_complete_access_is_refused(bench):
    with pytest.raises(bench.pysoem.SdoError) as caught:
        bench.slave.sdo_read(0x1018, 0, 64, True)
    assert caught.value.abort_code == 0x06010000


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
def test_only_what_can_be_mapped_is(bench, entry, code):
    bench.slave.sdo_write(0x1600, 0, b"\x00")
    with pytest.raises(bench.pysoem.SdoError) as caught:
        bench.slave.sdo_write(0x1600, 1, struct.pack("<I", entry))
    assert caught.value.abort_code == code


def test_a_mapping_with_a_gap_is_refused(bench):
    bench.slave.sdo_write(0x1600, 0, b"\x00")
    with pytest.raises(bench.pysoem.SdoError) as caught:
        bench.slave.sdo_write(0x1600, 0, b"\x05")
    assert caught.value.abort_code == 0x06040041


def test_mapping_is_for_preop(running):
    for index in (0x1600, 0x1A00, 0x1C12, 0x1C13):
        with pytest.raises(running.pysoem.SdoError) as caught:
            running.slave.sdo_write(index, 0, b"\x00")
        assert caught.value.abort_code == 0x08000022


def test_the_pdo_assignment(bench):
    bench.slave.sdo_write(0x1C12, 0, b"\x00")
    with pytest.raises(bench.pysoem.SdoError):
        bench.slave.sdo_write(0x1C12, 1, b"\x01\x16")
    bench.slave.sdo_write(0x1C12, 1, b"\x00\x16")
    bench.slave.sdo_write(0x1C12, 0, b"\x01")
    bench.map(0x1600, TORQUE_OUTPUTS)
    assert bench.slave.sdo_read(0x1600, 0) == b"\x04"
    assert bench.slave.sdo_read(0x1600, 4) == struct.pack("<I", 0x00000008)


def test_ratings_and_units(bench):
    def read(index: int, sub: int, form: str):
        return struct.unpack("<" + form, bench.slave.sdo_read(index, sub))[0]

    # 12 A, the largest current, lie within what an int16 of per mille can say.
    assert read(0x6075, 0, "I") == 6000
    assert read(0x6072, 0, "H") == 2000
    assert (read(0x608F, 1, "I"), read(0x608F, 2, "I")) == (524288, 1)
    assert read(0x6079, 0, "I") == pytest.approx(48_000, abs=100)
    assert read(0x6502, 0, "I") == 1 << 7 | 1 << 9
    bench.say("supply 40")
    assert read(0x6079, 0, "I") == 40_000
    bench.say("supply off")


def test_the_eeprom_is_read_and_written(bench):
    assert bench.slave.eeprom_read(0x08) == struct.pack("<I", 0x5A65726F)
    assert bench.slave.eeprom_read(0x0A) == struct.pack("<I", 0x00029252)
    serial = bench.slave.eeprom_read(0x0E)
    bench.slave.eeprom_write(0x0E, b"\x34\x12")
    assert bench.slave.eeprom_read(0x0E)[:2] == b"\x34\x12"
    bench.slave.eeprom_write(0x0E, serial[:2])


def test_an_emergency_comes_out_of_the_next_transfer(bench):
    bench.say("emergency 0x8130")
    with pytest.raises(bench.pysoem.Emergency) as caught:
        bench.slave.sdo_read(0x1000, 0)
    assert (caught.value.error_code, caught.value.error_reg) == (0x8130, 1)
    received = bench.collect_emergencies()
    bench.say("emergency 0x8140")
    wait_until(lambda: received, bench.slave.mbx_receive)
    assert [emergency.error_code for emergency in received] == [0x8140]


def test_the_dictionary_describes_itself(bench):
    objects = {item.index: item for item in bench.slave.od}
    assert objects.keys() >= {0x1000, 0x1018, 0x1600, 0x1A00, 0x1C12, 0x1C13, 0x1C32, 0x6040, 0x6071, 0x6502}
    device_name = objects[0x1008]
    assert (device_name.name, device_name.data_type, device_name.object_code) == (b"Device name", 9, 7)
    torque = objects[0x6071]
    assert (torque.data_type, torque.bit_length, torque.obj_access) == (3, 16, 0x3F | 0x40)
    mapping = objects[0x1600]
    assert (mapping.object_code, len(mapping.entries)) == (8, 11)
    assert (mapping.entries[1].bit_length, mapping.entries[1].obj_access) == (32, 0x0F)
