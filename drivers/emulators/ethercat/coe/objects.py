"""The objects of an eRob drive (CiA 402, ETG.6010) and their process data after power-on.

Values that the vendor does not publish are assumptions: the rated current is half of the largest, and torques in per
mille (0x6071, 0x6072, 0x6077, 0x60B2, 0x60E0, 0x60E1) refer to it:

    motor current [A] = per mille / 1000 · (0x6075) / 1000        motor torque [N·m] = k_t · motor current

with 0x6076 = k_t · rated current in mN·m. Position counts are those of the output shaft.
"""

from __future__ import annotations

from typing import Any

from core.servo.catalogue import ServoSpec
from drivers.emulators.ethercat.chip.sii import BufferPlan, Identity, PdoPlan
from drivers.emulators.ethercat.coe.dictionary import Abort, AbortCode, ObjectEntry, Type

IDENTITY = Identity(vendor=0x5A65726F, product=0x00029252, revision=0x00000001, serial=1, name="ZeroErr Driver")
BUFFERS = (
    BufferPlan(0x1000, 128, 0x26, 1),
    BufferPlan(0x1080, 128, 0x22, 2),
    BufferPlan(0x1100, 10, 0x64, 3),
    BufferPlan(0x1400, 10, 0x20, 4),
)
OUTPUTS = PdoPlan(0x1600, (0x607A0020, 0x60FE0020, 0x60400010))
INPUTS = PdoPlan(0x1A00, (0x60640020, 0x60FD0020, 0x60410010))
COE_DETAILS = 0x0F
"""SDO and its information service; PDO assignment and mapping are writable; no complete access."""

RATED_SHARE = 0.5
"""Rated current as a share of the largest."""
LONGEST_NOTE = 1024
"""Longest text in 0x2F00 [bytes]."""

CYCLIC_POSITION, CYCLIC_TORQUE = 8, 10
"""Modes of operation of this drive."""
SUPPORTED_MODES = 1 << CYCLIC_POSITION - 1 | 1 << CYCLIC_TORQUE - 1
"""Object 0x6502."""

_LIMIT = 2**31


def communication_objects(serial: int) -> list[ObjectEntry]:
    """Return identity and organisation of mailboxes and process data; the slave measures 0x1C32:1."""
    ro = _reader
    return [
        ro(0x1000, 0, "Device type", Type.U32, 0x00020192),
        ro(0x1001, 0, "Error register", Type.U8),
        ro(0x1008, 0, "Device name", Type.TEXT, IDENTITY.name.encode()),
        ro(0x1009, 0, "Hardware version", Type.TEXT, b"emulated"),
        ro(0x100A, 0, "Software version", Type.TEXT, b"V1.0"),
        ro(0x1018, 0, "Identity", Type.U8, 4),
        ro(0x1018, 1, "Vendor ID", Type.U32, IDENTITY.vendor),
        ro(0x1018, 2, "Product code", Type.U32, IDENTITY.product),
        ro(0x1018, 3, "Revision", Type.U32, IDENTITY.revision),
        ro(0x1018, 4, "Serial number", Type.U32, serial),
        ro(0x1C00, 0, "Sync manager type", Type.U8, len(BUFFERS)),
        *(ro(0x1C00, n, "Sync manager type", Type.U8, plan.kind) for n, plan in enumerate(BUFFERS, 1)),
        *(entry for index, what in ((0x1C32, "Output"), (0x1C33, "Input")) for entry in _synchronisation(index, what)),
        ObjectEntry(0x2F00, 0, "Note of the owner", Type.BYTES, "rw", b"", high=LONGEST_NOTE),
    ]


def _synchronisation(index: int, what: str) -> list[ObjectEntry]:
    return [
        _reader(index, 0, f"{what} synchronisation", Type.U8, 12),
        _reader(index, 1, f"{what} synchronisation type", Type.U16, 1),
        _reader(index, 2, f"{what} cycle time (ns)", Type.U32),
        _reader(index, 4, f"{what} synchronisation types supported", Type.U16, 0x0004),
        _reader(index, 5, f"{what} shortest cycle time (ns)", Type.U32, 250_000),
        _reader(index, 12, f"{what} cycle time too small", Type.U16),
    ]


def drive_objects(spec: ServoSpec, kt: float) -> list[ObjectEntry]:
    """Return the objects of CiA 402; `kt` is the motor's torque constant at the output shaft [N·m/A]."""
    ro, rw = _reader, _writer
    rated = rated_current(spec)
    largest = round(1000 / RATED_SHARE)
    return [
        ro(0x603F, 0, "Error code", Type.U16, mapping="tx"),
        rw(0x6040, 0, "Controlword", Type.U16, mapping="rx"),
        ro(0x6041, 0, "Statusword", Type.U16, mapping="tx"),
        rw(0x6060, 0, "Modes of operation", Type.I8, CYCLIC_POSITION, mapping="rx", check=_known_mode),
        ro(0x6061, 0, "Modes of operation display", Type.I8, CYCLIC_POSITION, mapping="tx"),
        ro(0x6064, 0, "Position actual value", Type.I32, mapping="tx"),
        ro(0x606C, 0, "Velocity actual value", Type.I32, mapping="tx"),
        rw(0x6071, 0, "Target torque", Type.I16, mapping="rx"),
        rw(0x6072, 0, "Max torque", Type.U16, largest, high=largest, mapping="rx"),
        ro(0x6075, 0, "Motor rated current (mA)", Type.U32, round(1000 * rated)),
        ro(0x6076, 0, "Motor rated torque (mN m)", Type.U32, round(1000 * rated * kt)),
        ro(0x6077, 0, "Torque actual value", Type.I16, mapping="tx"),
        ro(0x6078, 0, "Current actual value", Type.I16, mapping="tx"),
        ro(0x6079, 0, "DC link circuit voltage (mV)", Type.U32, mapping="tx"),
        rw(0x607A, 0, "Target position", Type.I32, mapping="rx"),
        ro(0x607D, 0, "Software position limit", Type.U8, 2),
        rw(0x607D, 1, "Min position limit", Type.I32, -_LIMIT),
        rw(0x607D, 2, "Max position limit", Type.I32, _LIMIT - 1),
        rw(0x607F, 0, "Max profile velocity", Type.U32, _counts(spec.no_load_speed, spec)),
        rw(0x6085, 0, "Quick stop deceleration", Type.U32, _counts(20.0, spec), low=1),
        rw(0x6087, 0, "Torque slope", Type.U32, 1000),
        ro(0x608F, 0, "Position encoder resolution", Type.U8, 2),
        ro(0x608F, 1, "Encoder increments", Type.U32, spec.encoder_counts_per_turn),
        ro(0x608F, 2, "Motor revolutions", Type.U32, 1),
        rw(0x60B0, 0, "Position offset", Type.I32, mapping="rx"),
        rw(0x60B1, 0, "Velocity offset", Type.I32, mapping="rx"),
        rw(0x60B2, 0, "Torque offset", Type.I16, mapping="rx"),
        ro(0x60C2, 0, "Interpolation time period", Type.U8, 2),
        rw(0x60C2, 1, "Interpolation time period value", Type.U8, 1),
        rw(0x60C2, 2, "Interpolation time index", Type.I8, -3, low=-6, high=0),
        rw(0x60E0, 0, "Positive torque limit", Type.U16, largest, high=largest, mapping="rx"),
        rw(0x60E1, 0, "Negative torque limit", Type.U16, largest, high=largest, mapping="rx"),
        ro(0x60FD, 0, "Digital inputs", Type.U32, mapping="tx"),
        rw(0x60FE, 0, "Digital outputs", Type.U32, mapping="rx"),
        ro(0x6502, 0, "Supported drive modes", Type.U32, SUPPORTED_MODES),
    ]


def rated_current(spec: ServoSpec) -> float:
    """Return the current of 1000 per mille [A]."""
    return RATED_SHARE * spec.max_current


def _reader(index: int, sub: int, name: str, type: Type, value: int | bytes = 0, mapping: str = "") -> ObjectEntry:
    return ObjectEntry(index, sub, name, type, "ro", value, mapping=mapping)


def _writer(index: int, sub: int, name: str, type: Type, value: int = 0, **more: Any) -> ObjectEntry:
    return ObjectEntry(index, sub, name, type, "rw", value, **more)


def _counts(angle: float, spec: ServoSpec) -> int:
    return round(angle / spec.encoder_step)


def _known_mode(mode: int) -> None:
    if mode not in (0, CYCLIC_POSITION, CYCLIC_TORQUE):
        raise Abort(AbortCode.RANGE)
