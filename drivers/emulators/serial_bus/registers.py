"""A servo's memory: the registers of its control table, as bytes that packets read and write."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum, auto

from core.base.errors import ModelError
from core.servo.catalogue import ServoSpec
from drivers.serial_bus.table import ControlTable, Register, load_table, parse_registers


class Refusal(Enum):
    """Reasons of a servo to refuse a packet."""

    ACCESS = auto()
    """Not writable, missing, or locked."""
    LENGTH = auto()
    """A part of a register."""
    RANGE = auto()
    """A value that the register never accepts."""
    LIMIT = auto()
    """A value beyond a limit in another register."""
    ANGLE_LIMIT = auto()
    """As LIMIT, for a goal position."""


def table_of(spec: ServoSpec, bus: str) -> tuple[ControlTable, Mapping[str, object]]:
    """Return the control table of a catalogue servo and its file's section for a bus; raises ModelError."""
    entries = spec.buses.get(bus)
    if entries is None:
        raise ModelError(f"{spec.title} is not on this bus: its servo file has no section [bus.{bus}]")
    table = load_table(str(entries["table"]))
    return table.with_model(parse_registers(entries.get("registers", {})), entries.get("initial", {})), entries


class Registers:
    """Values by name and bytes by address. Undefined addresses between registers read 0, as on the real servo."""

    def __init__(self, table: ControlTable) -> None:
        self.table = table
        self._memory = bytearray(table.end)
        self._values = dict.fromkeys(table.registers, 0)
        self.changed: dict[str, int] = {}
        """Initial values that differ from the table's."""

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def __getitem__(self, name: str) -> int:
        """Return the value of a register."""
        return self._values[name]

    def __setitem__(self, name: str, value: int) -> None:
        """Set a register, clamped to the range of its bytes."""
        register = self.table[name]
        self._values[name] = value = min(max(value, register.lowest), register.highest)
        self._memory[register.address : register.end] = register.encode(value)

    def initial(self, name: str) -> int:
        """Return the value of a register in a new servo."""
        return self.changed.get(name, self.table[name].initial or 0)

    def reset(self, names: Iterable[str]) -> None:
        """Reset registers to their initial values."""
        for name in names:
            self[name] = self.initial(name)

    def eeprom(self) -> list[str]:
        """Return the names of the registers that are kept without power."""
        return [register.name for register in self.table.registers.values() if register.eeprom]

    def ram(self) -> list[str]:
        """Return the names of the registers that are lost without power."""
        return [register.name for register in self.table.registers.values() if not register.eeprom]

    def read(self, address: int, length: int) -> bytes | Refusal:
        """Return the bytes from an address on."""
        if length == 0 or address + length > len(self._memory):
            return Refusal.ACCESS
        return bytes(self._memory[address : address + length])

    def parse(self, address: int, data: bytes) -> list[tuple[Register, int]] | Refusal:
        """Return the registers and values that a write sets."""
        values = []
        end = address + len(data)
        if not data:
            return Refusal.LENGTH
        while address < end:
            register = self._at(address)
            if register is None:
                return Refusal.ACCESS
            if register.address != address or register.end > end:
                return Refusal.LENGTH
            raw = data[len(data) - (end - address) :][: register.size]
            if register.access != "rw":
                return Refusal.ACCESS
            if (
                register.signed == "sign_magnitude"
                and int.from_bytes(raw, register.byte_order) >= 2 << register.sign_bit
            ):
                return Refusal.RANGE
            values.append((register, register.decode(raw)))
            address = register.end
        return values

    def _at(self, address: int) -> Register | None:
        for register in self.table.registers.values():
            if register.address <= address < register.end:
                return register
        return None
