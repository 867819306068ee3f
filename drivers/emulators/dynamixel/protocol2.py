"""Protocol 2.0 on the wire: FF FF FD 00 ID LENGTH(2) INSTRUCTION PARAMETERS CRC(2) (ROBOTIS e-manual "Protocol 2.0").

FF FF FD within a packet is stuffed: another FD follows it. A packet without stuffing is dropped, because a servo takes
the pattern for the next packet's header. A packet with a wrong CRC is dropped too, because its receiver is unknown.
Only the answers to fast reads are not stuffed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from enum import IntEnum

from drivers.emulators.dynamixel.x_series import XDevice
from drivers.emulators.serial_bus.device import Device, Reply
from drivers.emulators.serial_bus.packet import BROADCAST, Instruction, Packet, Reader
from drivers.emulators.serial_bus.registers import Refusal

HEADER = b"\xff\xff\xfd"
STUFFED = b"\xff\xff\xfd\xfd"
LONGEST = 1024
"""Longest packet that a servo accepts or sends [bytes]."""
ALERT = 0x80
"""Bit of the error byte for a hardware problem, see the servo's hardware error status."""
_POLYNOMIAL = 0x8005


class Error(IntEnum):
    """Numbers in a status packet's error byte."""

    NONE = 0
    RESULT_FAIL = 1
    INSTRUCTION = 2
    CRC = 3
    DATA_RANGE = 4
    DATA_LENGTH = 5
    DATA_LIMIT = 6
    ACCESS = 7


def _crc_of(byte: int) -> int:
    value = byte << 8
    for _ in range(8):
        value = (value << 1) ^ (_POLYNOMIAL if value & 0x8000 else 0)
    return value & 0xFFFF


_CRCS = tuple(_crc_of(byte) for byte in range(256))


def crc(data: bytes | bytearray, value: int = 0) -> int:
    """Return the CRC-16 with the polynomial 8005, most significant bit first, continued from a value."""
    for byte in data:
        value = (value << 8 & 0xFF00) ^ _CRCS[value >> 8 ^ byte]
    return value


def stuff(body: bytes) -> bytes:
    """Append an FD to each FF FF FD of a packet's instruction and parameters."""
    return body.replace(HEADER, STUFFED)


def unstuff(body: bytes) -> bytes | None:
    """Return the body before `stuff`; None for a body without stuffing."""
    if body.count(HEADER) != body.count(STUFFED):
        return None
    return body.replace(STUFFED, HEADER)


def status(id: int, error: int, parameters: bytes = b"") -> bytes:
    """Build a status packet."""
    return _packet(id, bytes((Instruction.STATUS, error)) + parameters)


def write(id: int, address: int, data: bytes) -> bytes:
    """Build the instruction packet that writes registers."""
    return _packet(id, bytes((Instruction.WRITE,)) + address.to_bytes(2, "little") + data)


def _packet(id: int, content: bytes) -> bytes:
    body = stuff(content)
    packet = HEADER + bytes((0, id)) + (len(body) + 2).to_bytes(2, "little") + body
    return packet + crc(packet).to_bytes(2, "little")


class FastStatus:
    """The one status packet that several servos build together: each adds error, ID, data and the CRC so far."""

    def __init__(self, lengths: list[int]) -> None:
        """Start the packet.

        Args:
            lengths: Bytes of data of every servo in it.
        """
        length = 1 + sum(length + 4 for length in lengths)
        self._sent = HEADER + bytes((0, 0xFE)) + length.to_bytes(2, "little") + bytes((Instruction.STATUS,))
        self._first = True

    def part(self, id: int, error: int, data: bytes) -> bytes:
        """Return the part that the next servo sends."""
        part = bytes((error, id)) + data
        whole = self._sent + part
        check = crc(whole).to_bytes(2, "little")
        self._sent = whole + check
        part = whole + check if self._first else part + check
        self._first = False
        return part


class Reader2(Reader):
    """Finds protocol 2 packets."""

    @property
    def header(self) -> bytes:
        """Three bytes; the next one is not an FD."""
        return HEADER

    def _parse(self, buffer: bytearray) -> Packet | bool | None:
        if len(buffer) < 7:
            return None
        id, length = buffer[4], buffer[5] | buffer[6] << 8
        if buffer[3] != 0 or id > 0xFE or id == 0xFD or not 3 <= length <= LONGEST - 7:
            del buffer[:3]
            return True
        end = 7 + length
        if len(buffer) < end:
            return None
        if crc(buffer[: end - 2]) != buffer[end - 2] | buffer[end - 1] << 8:
            self.broken += 1
            del buffer[:3]
            return True
        body = unstuff(bytes(buffer[7 : end - 2]))
        del buffer[:end]
        if body is None:
            self.broken += 1
            return True
        return Packet(id, body[0], body[1:])


RESET_ALL, RESET_BUT_ID, RESET_BUT_ID_AND_RATE = 0xFF, 0x01, 0x02
CLEAR_TURNS = b"\x01\x44\x58\x4c\x22"
_ERRORS = {
    None: Error.NONE,
    Refusal.ACCESS: Error.ACCESS,
    Refusal.LENGTH: Error.DATA_LENGTH,
    Refusal.RANGE: Error.DATA_RANGE,
    Refusal.LIMIT: Error.DATA_LIMIT,
    Refusal.ANGLE_LIMIT: Error.DATA_LIMIT,
}
_READS = (Instruction.SYNC_READ, Instruction.BULK_READ, Instruction.FAST_SYNC_READ, Instruction.FAST_BULK_READ)
_CHANGING = (
    Instruction.WRITE,
    Instruction.REG_WRITE,
    Instruction.ACTION,
    Instruction.FACTORY_RESET,
    Instruction.REBOOT,
    Instruction.CLEAR,
)


def execute(packet: Packet, devices: Sequence[Device], muted: Collection[int], now: float) -> list[Reply]:
    """Execute a packet on the servos that hear it; `muted` holds the IDs of servos that do not answer."""
    if packet.instruction == Instruction.STATUS:
        return []  # an answer, from any sender
    meant = [device for device in devices if packet.id in (device.id, BROADCAST)]
    for device in meant:
        device.noticed(now)
    if packet.id != BROADCAST:
        return [
            reply for device in meant if (reply := _single(packet, device, now)) is not None and device.id not in muted
        ]
    if packet.instruction == Instruction.PING:
        return [Reply(device, _pong(device), slot=device.id) for device in meant if device.id not in muted]
    if packet.instruction in _READS:
        return _group_read(packet, devices, muted)
    if packet.instruction in (Instruction.SYNC_WRITE, Instruction.BULK_WRITE):
        for id, address, data in _group_writes(packet):
            for device in devices:
                if device.id == id:
                    device.write(address, data)
    elif packet.instruction in _CHANGING:
        for device in meant:
            _single(packet, device, now)
    return []


def _error_byte(device: Device, error: int) -> int:
    return error | (ALERT if device.troubled else 0)


def _pong(device: Device) -> bytes:
    registers = device.registers
    identity = registers["model_number"].to_bytes(2, "little") + bytes((registers["firmware_version"],))
    return status(device.id, _error_byte(device, 0), identity)


def _word(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 2], "little")


def _single(packet: Packet, device: Device, now: float) -> Reply | None:
    """Execute a packet on one servo."""
    level, id, parameters = device.registers["status_return_level"], device.id, packet.parameters
    if packet.instruction == Instruction.PING:
        return Reply(device, _pong(device))
    if packet.instruction == Instruction.READ:
        data = device.read(_word(parameters, 0), _word(parameters, 2)) if len(parameters) == 4 else Refusal.LENGTH
        if level < 1:
            return None
        if isinstance(data, Refusal):
            return Reply(device, status(id, _error_byte(device, _ERRORS[data])))
        return Reply(device, status(id, _error_byte(device, 0), data))
    # The answer has the old ID, even if the ID was written, and reports problems that a reboot ends.
    troubled = device.troubled
    error = _change(packet, device, now)
    return Reply(device, status(id, _error_byte(device, error) | ALERT * troubled)) if level >= 2 else None


def _change(packet: Packet, device: Device, now: float) -> Error:
    """Execute an instruction that changes one servo; return the number of the error."""
    parameters = packet.parameters
    if packet.instruction in (Instruction.WRITE, Instruction.REG_WRITE):
        if len(parameters) < 3:
            return Error.DATA_LENGTH
        write = device.write if packet.instruction == Instruction.WRITE else device.register_write
        return _ERRORS[write(_word(parameters, 0), parameters[2:])]
    if packet.instruction == Instruction.ACTION:
        return Error.NONE if device.act() else Error.INSTRUCTION
    if packet.instruction == Instruction.REBOOT:
        device.reboot(now)
        return Error.NONE
    if packet.instruction == Instruction.FACTORY_RESET:
        return _factory_reset(packet, device, now)
    if packet.instruction == Instruction.CLEAR and isinstance(device, XDevice):
        return Error.NONE if parameters == CLEAR_TURNS and device.clear_turns() else Error.RESULT_FAIL
    return Error.INSTRUCTION


def _factory_reset(packet: Packet, device: Device, now: float) -> Error:
    option = packet.parameters[0] if len(packet.parameters) == 1 else None
    if option == RESET_ALL and packet.id == BROADCAST:
        return Error.RESULT_FAIL
    keep = {RESET_ALL: (), RESET_BUT_ID: ("id",), RESET_BUT_ID_AND_RATE: ("id", "baud_rate")}.get(option or 0)
    if keep is None:
        return Error.DATA_RANGE
    device.factory_reset(now, keep)
    return Error.NONE


def _group_writes(packet: Packet) -> Iterator[tuple[int, int, bytes]]:
    """Split a sync or bulk write into ID, address and data, without an incomplete end."""
    parameters = packet.parameters
    if packet.instruction == Instruction.SYNC_WRITE:
        address, length = _word(parameters, 0), _word(parameters, 2)
        for begin in range(4, len(parameters) - length, length + 1):
            yield parameters[begin], address, parameters[begin + 1 : begin + 1 + length]
        return
    begin = 0
    while begin + 5 <= len(parameters):
        address, length = _word(parameters, begin + 1), _word(parameters, begin + 3)
        data = parameters[begin + 5 : begin + 5 + length]
        if len(data) == length:
            yield parameters[begin], address, data
        begin += 5 + length


def _asked(packet: Packet) -> list[tuple[int, int, int]]:
    """Return ID, address and length of every servo's part of a group read."""
    parameters = packet.parameters
    if packet.instruction in (Instruction.SYNC_READ, Instruction.FAST_SYNC_READ):
        return [(id, _word(parameters, 0), _word(parameters, 2)) for id in parameters[4:]]
    return [
        (parameters[begin], _word(parameters, begin + 1), _word(parameters, begin + 3))
        for begin in range(0, len(parameters) - 4, 5)
    ]


def _group_read(packet: Packet, devices: Sequence[Device], muted: Collection[int]) -> list[Reply]:
    """Return the answers: each servo answers after the one before it, so none answers after a silent one."""
    asked = _asked(packet)
    fast = packet.instruction in (Instruction.FAST_SYNC_READ, Instruction.FAST_BULK_READ)
    lengths = [length for _, _, length in asked]
    if fast and sum(lengths) + 4 * len(lengths) > LONGEST:
        return []
    whole = FastStatus(lengths) if fast else None
    replies: list[Reply] = []
    for id, address, length in asked:
        device = next((device for device in devices if device.id == id), None)
        if device is None or id in muted or device.registers["status_return_level"] < 1:
            break
        if fast and not (isinstance(device, XDevice) and device.reads_fast):
            break
        data = device.read(address, length)
        if whole is not None:
            error = _error_byte(device, _ERRORS[data] if isinstance(data, Refusal) else 0)
            part = whole.part(id, error, bytes(length) if isinstance(data, Refusal) else data)
            replies.append(Reply(device, part, delayed=not replies))
        elif isinstance(data, Refusal):
            replies.append(Reply(device, status(id, _error_byte(device, _ERRORS[data]))))
        else:
            replies.append(Reply(device, status(id, _error_byte(device, 0), data)))
    return replies
