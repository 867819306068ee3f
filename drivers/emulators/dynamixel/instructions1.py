"""Effect of instruction packets on servos with protocol 1, and the answers."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from drivers.emulators.dynamixel.device import Device
from drivers.emulators.dynamixel.packet import BROADCAST, Instruction, Packet
from drivers.emulators.dynamixel.protocol1 import Error, status
from drivers.emulators.dynamixel.registers import Refusal
from drivers.emulators.dynamixel.reply import Reply

CHANGING = (Instruction.WRITE, Instruction.REG_WRITE, Instruction.ACTION, Instruction.FACTORY_RESET, Instruction.REBOOT)


def execute(packet: Packet, devices: Sequence[Device], muted: Collection[int], now: float) -> list[Reply]:
    """Execute a packet on the servos that hear it; `muted` holds the IDs of servos that do not answer."""
    meant = [device for device in devices if packet.id in (device.id, BROADCAST)]
    for device in meant:
        device.noticed(now)
    if packet.id == BROADCAST:
        if packet.instruction == Instruction.SYNC_WRITE:
            _sync_write(packet.parameters, devices)
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


def _sync_write(parameters: bytes, devices: Sequence[Device]) -> None:
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
