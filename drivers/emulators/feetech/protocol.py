"""Feetech's packets: those of Dynamixel protocol 1 with other error bits, SYNC READ, and a reset that keeps the ID."""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence
from dataclasses import replace

from drivers.emulators.feetech.scs_series import ScsDevice
from drivers.emulators.serial_bus.device import Device, Reply
from drivers.emulators.serial_bus.packet import BROADCAST, Instruction, Packet
from drivers.emulators.serial_bus.protocol1 import Reader1, status, sync_write, write
from drivers.emulators.serial_bus.registers import Refusal

__all__ = ["Reader1", "execute", "write"]

GARBLED = 0.4
"""Share of answers that two servos with one ID garble."""
_chance = random.Random(0)


def execute(packet: Packet, devices: Sequence[Device], muted: Collection[int], now: float) -> list[Reply]:
    """Execute a packet on the servos that hear it; `muted` holds the IDs of servos that do not answer."""
    if not packet.intact:
        return []
    meant = [device for device in devices if packet.id in (device.id, BROADCAST)]
    for device in meant:
        device.noticed(now)
    asked_in_groups = [device for device in devices if not isinstance(device, ScsDevice)]
    replies: list[Reply] = []
    if packet.instruction == Instruction.SYNC_WRITE:
        sync_write(packet.parameters, devices)
    elif packet.instruction == Instruction.SYNC_READ:
        replies = _sync_read(packet.parameters, asked_in_groups)
    else:
        replies = [reply for device in meant if (reply := _single(packet, device, now)) is not None]
        if packet.id == BROADCAST:
            # Servos answer in the order of their IDs; how long each waits is not known.
            in_turn = sorted(replies, key=lambda reply: reply.device.id)
            pinged = asked_in_groups if packet.instruction == Instruction.PING else []
            replies = [reply for reply in in_turn if reply.device in pinged]
    return _collided([reply for reply in replies if reply.device.id not in muted])


def _collided(replies: list[Reply]) -> list[Reply]:
    """Return one of the answers that servos with the same ID send at once, in part of the cases damaged."""
    heard: dict[int, Reply] = {}
    for reply in replies:
        first = heard.setdefault(reply.device.id, reply)
        if first is not reply and _chance.random() < GARBLED:
            mixed = bytes(one & other for one, other in zip(first.packet, reply.packet, strict=False))
            heard[reply.device.id] = replace(first, packet=mixed[:-1] + b"\x00")
    return list(heard.values())


def _answer(device: Device, data: bytes = b"") -> Reply:
    return Reply(device, status(device.id, device.error_bits, data))


def _read(device: Device, parameters: bytes) -> Reply | None:
    data = device.read(*parameters) if len(parameters) == 2 else Refusal.RANGE
    return None if isinstance(data, Refusal) else _answer(device, data)


def _single(packet: Packet, device: Device, now: float) -> Reply | None:
    """Execute a packet on one servo. What it cannot carry out it ignores, without a word."""
    id, parameters, answers = device.id, packet.parameters, device.registers["status_return_level"]
    if packet.instruction == Instruction.PING:
        return _answer(device)
    if packet.instruction == Instruction.READ:
        return _read(device, parameters)
    if packet.instruction in (Instruction.WRITE, Instruction.REG_WRITE):
        if parameters:
            obey = device.write if packet.instruction == Instruction.WRITE else device.register_write
            obey(parameters[0], parameters[1:])
    elif packet.instruction == Instruction.ACTION:
        device.act()
    elif packet.instruction == Instruction.FACTORY_RESET:
        device.factory_reset(now, keep=("id", "baud_rate"))
    else:
        return None
    return Reply(device, status(id, device.error_bits)) if answers else None


def _sync_read(parameters: bytes, devices: Sequence[Device]) -> list[Reply]:
    replies = []
    for id in parameters[2:]:
        for device in devices:
            if device.id == id and (reply := _read(device, parameters[:2])) is not None:
                replies.append(reply)
    return replies
