"""The centre of a Feetech servo's turn, set where its shaft is."""

from __future__ import annotations

from collections.abc import Mapping

from drivers.errors import CommandError, DriverError
from drivers.serial_bus.registers import Registers

HERE = 128
"""Value of torque_enable that makes the present position the centre."""
SLACK = 2
"""Counts by which a shaft at rest may have moved meanwhile."""
OFFSETS = 4096
"""Number of homing offsets, half of them negative."""
Changes = Mapping[str, tuple[int, int]]
"""Present and new content by register."""


def centring(registers: Registers) -> dict[str, tuple[int, int]]:
    """Return registers that centring changes, with present and new content.

    Raises:
        CommandError: for a servo that has no such command.
        DriverError: as by `Registers.read`.
    """
    if registers.table.protocol != "scs":
        raise CommandError("only Feetech servos can be centred; set homing_offset instead, if this servo has one")
    if "homing_offset" not in registers.table:
        raise CommandError("this servo has no homing offset; mount the load so that it hangs near the centre")
    if registers.read_one(registers.table.mode_register):
        raise CommandError("the offset counts in position mode only; first: bench servo set ADDRESS operating_mode=0")
    centre = round(registers.table.units["position_centre"])
    offset, position = registers.read_one("homing_offset"), registers.read_one("present_position")
    new = (offset + position - centre + OFFSETS // 2) % OFFSETS - OFFSETS // 2
    return {"homing_offset": (offset, new), "present_position": (position, centre)}


def centre(registers: Registers, shown: Changes) -> None:
    """Make the present position of a released servo the centre of its turn, for good.

    Args:
        registers: The servo's registers.
        shown: Changes by `centring` to which a person has agreed.

    Raises:
        CommandError: if the servo would change otherwise than shown; nothing is written then.
        DriverError: if it is not the centre afterwards, or the torque is on.
    """
    present = centring(registers)
    position, offset = present["present_position"][0], present["homing_offset"][0]
    moved = (position - shown["present_position"][0] + OFFSETS // 2) % OFFSETS - OFFSETS // 2
    if abs(moved) > SLACK:
        raise CommandError(f"the load moved to position {position} meanwhile; let it hang still, and centre again")
    if offset != shown["homing_offset"][0]:
        raise CommandError(f"homing_offset became {offset} meanwhile; look for a second program, and centre again")
    middle = round(registers.table.units["position_centre"])
    register = registers.table["torque_enable"]
    registers.bus.write(registers.id, register.address, register.encode(HERE))
    held = registers.read("torque_enable", "present_position")
    if held["torque_enable"]:
        registers.send({"torque_enable": 0})
        registers.confirm({"torque_enable": 0})
    if abs(held["present_position"] - middle) > SLACK:
        raise DriverError(
            f"ID {registers.id} reports position {held['present_position']} after it was centred, not {middle}; "
            "let the shaft rest, and look for a second program on the bus"
        )
