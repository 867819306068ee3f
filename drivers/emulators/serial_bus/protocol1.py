"""Protocol 1.0 on the wire: FF FF ID LENGTH INSTRUCTION|ERROR PARAMETERS CHECKSUM (ROBOTIS e-manual "Protocol 1.0")."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from enum import IntFlag

from drivers.emulators.serial_bus.device import Device, Reply
from drivers.emulators.serial_bus.packet import BROADCAST, Instruction, Packet, Reader
from drivers.emulators.serial_bus.registers import Refusal

HEADER = b"\xff\xff"


class Error(IntFlag):
    """Bits of a status packet's error byte."""

    VOLTAGE = 0x01
    ANGLE_LIMIT = 0x02
    OVERHEATING = 0x04
    RANGE = 0x08
    CHECKSUM = 0x10
    OVERLOAD = 0x20
    INSTRUCTION = 0x40


def checksum(body: bytes | bytearray) -> int:
    """Return the checksum of everything between header and checksum: the complement of the sum, low byte."""
    return ~sum(body) & 0xFF


def status(id: int, error: int, parameters: bytes = b"") -> bytes:
    """Build a status packet, or an instruction packet with its number in place of the error."""
    body = bytes((id, len(parameters) + 2, error)) + parameters
    return HEADER + body + bytes((checksum(body),))


def write(id: int, address: int, data: bytes) -> bytes:
    """Build the instruction packet that writes registers."""
    return status(id, Instruction.WRITE, bytes((address,)) + data)


class Reader1(Reader):
    """Finds protocol 1 packets. One with a wrong checksum is passed on as not intact: its servo answers it."""

    @property
    def header(self) -> bytes:
        """Two bytes; the next one is not a third FF."""
        return HEADER

    def _parse(self, buffer: bytearray) -> Packet | bool | None:
        if len(buffer) < 4:
            return None
        id, length = buffer[2], buffer[3]
        if id == 0xFF or length < 2:
            # A header of FF FF FF begins one byte later; a length below 2 is invalid.
            del buffer[0]
            return True
        if len(buffer) < 4 + length:
            return None
        body = bytes(buffer[2 : 3 + length])
        if checksum(body) != buffer[3 + length]:
            self.broken += 1
            del buffer[: 4 + length]
            return Packet(id, body[2], b"", intact=False)
        del buffer[: 4 + length]
        return Packet(id, body[2], body[3:])


CHANGING = (Instruction.WRITE, Instruction.REG_WRITE, Instruction.ACTION, Instruction.FACTORY_RESET, Instruction.REBOOT)


def execute(packet: Packet, devices: Sequence[Device], muted: Collection[int], now: float) -> list[Reply]:
    """Execute a packet on the servos that hear it; `muted` holds the IDs of servos that do not answer."""
    meant = [device for device in devices if packet.id in (device.id, BROADCAST)]
    for device in meant:
        device.noticed(now)
    if packet.id == BROADCAST:
        if packet.instruction == Instruction.SYNC_WRITE:
            sync_write(packet.parameters, devices)
        elif packet.instruction == Instruction.BULK_READ:
            return _bulk_read(packet.parameters, devices, muted)
        elif packet.instruction in CHANGING:
            for device in meant:
                _single(packet, device, now)
        return []
    return [reply for device in meant if (reply := _single(packet, device, now)) is not None and device.id not in muted]


def _answer(device: Device, error: int, data: bytes = b"") -> Reply:
    return Reply(device, status(device.id, error | _hardware(device), data))


def _hardware(device: Device) -> int:
    return device.error_bits | (Error.VOLTAGE if device.alert else 0)


def _error(refusal: Refusal | None) -> int:
    if refusal is None:
        return 0
    return Error.ANGLE_LIMIT if refusal is Refusal.ANGLE_LIMIT else Error.RANGE


def _single(packet: Packet, device: Device, now: float) -> Reply | None:
    """Execute a packet on one servo."""
    level, id = device.registers["status_return_level"], device.id
    parameters = packet.parameters
    if not packet.intact:
        return _answer(device, Error.CHECKSUM) if level >= 2 else None
    if packet.instruction == Instruction.PING:
        return _answer(device, 0)
    if packet.instruction == Instruction.READ:
        data = device.read(*parameters) if len(parameters) == 2 else Refusal.RANGE
        if level < 1:
            return None
        return _answer(device, Error.RANGE) if isinstance(data, Refusal) else _answer(device, 0, data)
    # The answer has the old ID, even if the ID was written, and reports problems that a reboot ends.
    error, hardware = 0, _hardware(device)
    if packet.instruction in (Instruction.WRITE, Instruction.REG_WRITE):
        write = device.write if packet.instruction == Instruction.WRITE else device.register_write
        error = _error(write(parameters[0], parameters[1:])) if parameters else Error.RANGE
    elif packet.instruction == Instruction.ACTION:
        error = 0 if device.act() else Error.INSTRUCTION
    elif packet.instruction == Instruction.FACTORY_RESET:
        device.factory_reset(now)
    elif packet.instruction == Instruction.REBOOT:
        device.reboot(now)
    else:
        error = Error.INSTRUCTION
    return Reply(device, status(id, error | hardware | _hardware(device))) if level >= 2 else None


def sync_write(parameters: bytes, devices: Sequence[Device]) -> None:
    """Let each servo that a group write names write its part."""
    if len(parameters) < 2:
        return
    address, length = parameters[0], parameters[1]
    for begin in range(2, len(parameters) - length, length + 1):
        for device in devices:
            if device.id == parameters[begin]:
                device.write(address, parameters[begin + 1 : begin + 1 + length])


def _bulk_read(parameters: bytes, devices: Sequence[Device], muted: Collection[int]) -> list[Reply]:
    """Return the answers: each servo answers after the one before it, so none answers after a silent one."""
    replies = []
    for begin in range(1, len(parameters) - 2, 3):
        length, id, address = parameters[begin : begin + 3]
        device = next((device for device in devices if device.id == id), None)
        if device is None or id in muted or device.registers["status_return_level"] < 1:
            break
        data = device.read(address, length)
        replies.append(_answer(device, Error.RANGE) if isinstance(data, Refusal) else _answer(device, 0, data))
    return replies
