"""Bytes on an EtherCAT cable: frames, messages and EEPROMs for an emulated slave; a drive's answers for the driver.

The driver's own frames are taken apart by SOEM; what reaches this program of them are the bytes of objects.
"""

from __future__ import annotations

import struct
from functools import cache

from core.servo.catalogue import load_servo
from drivers.emulators.ethercat.chip import registers as r
from drivers.emulators.ethercat.chip.esc import Esc
from drivers.emulators.ethercat.chip.states import AlState
from drivers.emulators.ethercat.coe import objects
from drivers.emulators.ethercat.coe.mailbox import HEADER
from drivers.emulators.ethercat.datagrams import circulate
from drivers.emulators.ethercat.faults import garbled
from drivers.emulators.ethercat.slave import Slave
from drivers.emulators.mechanism import Mechanism
from drivers.ethercat.cia402 import PowerSwitch, drive_state, error_text
from drivers.ethercat.identity import choose, read_nameplate
from drivers.ethercat.pdo import INPUTS, OPTIONAL_INPUTS, Image
from drivers.simulated.hand import SharedHand
from drivers.simulated.plant import TICK
from tests.fuzz.parser import Parser

CYCLE = 1_000_000
"""Between two frames [ns]."""
FRAME_HEADER = bytes(12) + b"\x88\xa4"
MOST_STEPS = 40
"""Of the drive in one input; each is a tick of physics."""


class _Still(Mechanism):
    def now(self) -> float:
        return self.plant._ticks * TICK + TICK


@cache
def _slave() -> Slave:
    return Slave(_Still(load_servo("erob80_100"), SharedHand()))


def _fresh() -> Slave:
    slave = _slave()
    slave.eeprom[:] = _eeprom()
    slave.power_on(0)
    return slave


@cache
def _eeprom() -> bytes:
    return bytes(_slave().eeprom)


def _in_preop(slave: Slave) -> None:
    for number, plan in enumerate(objects.BUFFERS[:2]):
        registers = struct.pack("<HHBBBB", plan.start, plan.length, plan.control, 0, 1, 0)
        slave.esc.write(r.SYNC_MANAGER + 8 * number, registers)
    slave.esc.write(r.AL_CONTROL, b"\x02\x00")
    assert slave.states.state == AlState.PREOP


def _in_safeop(slave: Slave) -> None:
    for number, plan in enumerate(objects.BUFFERS[2:], start=2):
        slave.esc.write(
            r.SYNC_MANAGER + 8 * number, struct.pack("<HHBBBB", plan.start, plan.length, plan.control, 0, 1, 0)
        )
    slave.esc.write(r.AL_CONTROL, b"\x04\x00")


def _frames(data: bytes) -> None:
    """The first byte says in which state the slave begins; then records of LENGTH(2) FRAME.

    The highest bit of LENGTH leaves a frame as it is; otherwise its datagrams get the headers of frame and Ethernet.
    """
    slave = _fresh()
    slave.muted = False
    state = (data[:1] or b"\0")[0] % 3
    if state:
        _in_preop(slave)
    if state == 2:
        _in_safeop(slave)
    at, now, steps = 1, CYCLE, 0
    while at + 2 <= len(data):
        length = data[at] | (data[at + 1] & 0x07) << 8
        content = data[at + 2 : at + 2 + length]
        whole = (
            content
            if data[at + 1] & 0x80
            else FRAME_HEADER + struct.pack("<H", len(content) & 0x7FF | 0x1000) + content
        )
        frame = bytearray(whole)
        if circulate(frame, [slave.esc], now):
            assert len(frame) == len(whole)
            assert len(garbled(frame)) == len(frame)
        at, now, steps = at + 2 + length, now + CYCLE, steps + 1
        if steps <= MOST_STEPS:
            slave.step(now)
    assert len(slave.esc.memory) == r.END
    assert len(slave.eeprom) == len(_eeprom())


def _mailbox(data: bytes) -> None:
    """Records of LENGTH MESSAGE; the highest bit of LENGTH leaves a message as it is, the next fetches the answer."""
    slave = _fresh()
    _in_preop(slave)
    inbound, outbound = objects.BUFFERS[:2]
    at, counter = 0, 0
    while at < len(data):
        length = data[at] & 0x3F
        content = data[at + 1 : at + 1 + length]
        counter = counter % 7 + 1
        message = content if data[at] & 0x80 else HEADER.pack(len(content), 0, 0, 3 | counter << 4) + content
        slave.esc.write(inbound.start, message.ljust(inbound.length, b"\0")[: inbound.length])
        if not data[at] & 0x40:
            for _ in range(20):
                answer = slave.esc.read(outbound.start, outbound.length)
                if answer is None:
                    break
                size, _, _, kind = HEADER.unpack_from(answer)
                assert size <= outbound.length - HEADER.size
                assert kind & 0x0F in (0, 3)
        at += 1 + length
    if slave.states.state == AlState.PREOP:
        # Whatever was mapped can be packed.
        _in_safeop(slave)
        for image in (slave._outputs.image(), slave._inputs.image()):
            image.encode(bytearray(4096), 0)
            image.decode(bytearray(4096), 0)


def _sii(data: bytes) -> None:
    """An EEPROM, read and written by the slave's registers."""
    eeprom = bytearray(data)
    esc = Esc(eeprom)
    for address in (0, 4, 7, 8, 0x40, len(eeprom) // 2, 0xFFFFFFFF):
        esc.write(r.SII_CONTROL, struct.pack("<HI", 0x0100, address))
        assert len(esc.read(r.SII_CONTROL, 14) or b"") == 14
        esc.write(r.SII_DATA, b"\x12\x34")
        esc.write(r.SII_CONTROL, struct.pack("<HI", 0x0201, address))
    esc.write(r.SII_CONTROL, b"\x00\x04")
    assert len(eeprom) == len(data)


class _Answers:
    """A drive that answers with the next bytes there are."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def read(self) -> bytes | None:
        if self._at >= len(self._data):
            return None
        length = self._data[self._at] & 0x1F
        found = None if self._data[self._at] & 0x80 else self._data[self._at + 1 : self._at + 1 + length]
        self._at += 1 + length
        return found

    def read_number(self, index: int, subindex: int = 0, *, signed: bool = False) -> int | None:
        data = self.read()
        return None if data is None else int.from_bytes(data[:8], "little", signed=signed)

    def read_text(self, index: int) -> str:
        data = self.read()
        return "" if data is None else data.split(b"\0")[0].decode("ascii", "replace").strip()


def _drive(data: bytes) -> None:
    """Who a drive says it is, then what it says in cycles."""
    vendor, product, zero = struct.unpack("<IIi", data[:12].ljust(12, b"\0"))
    spec, profile, warnings = choose(
        vendor, product, ("", "erob80_100", "erob80_50")[data[12] % 3] if len(data) > 12 else ""
    )
    nameplate = read_nameplate(_Answers(data[13:61]), spec, profile, zero, warnings, {})
    scale = nameplate.scale
    image = Image([*INPUTS, *(entry for group in OPTIONAL_INPUTS for entry in group)])
    switch = PowerSwitch(1)
    switch.switch_on()
    for at in range(61, len(data) - image.size, image.size):
        inputs = image.unpack(data[at : at + image.size])
        assert 0 <= switch.control_word(drive_state(inputs.status_word)) <= 0xFFFF
        assert error_text(inputs.error_code or 0)
        for value in (scale.counts_per_turn, scale.largest_current, scale.amps_per_permille):
            assert value > 0


_REQUESTS = tuple(
    struct.pack("<HBHB4x", 0x2000, command, index, sub)
    for command, index, sub in (
        (0x40, 0x1018, 1),
        (0x2F, 0x1C12, 0),
        (0x23, 0x1600, 1),
        (0x21, 0x2F00, 0),
        (0x60, 0, 0),
    )
)
_DATAGRAMS = tuple(
    struct.pack("<BBHHHH", command, 0, 0, address, 8, 0) for command, address in ((1, 0x130), (2, 0x120), (12, 0))
)
PARSERS = (
    Parser(name="ethercat_frames", parse=_frames, longest=2048, words=_DATAGRAMS),
    Parser(name="ethercat_mailbox", parse=_mailbox, longest=1024, words=_REQUESTS),
    Parser(name="ethercat_sii", parse=_sii, longest=4096),
    Parser(name="ethercat_answers", parse=_drive, longest=512),
)
