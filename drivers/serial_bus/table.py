"""Control tables: the registers of a servo, read from `resources/control_tables/*.toml`.

A table covers a whole series. Differences of one model are in its servo file and merged by `profile`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Any, Literal

import resources
from core.base.errors import ModelError

Protocol = Literal[1, 2, "scs"]
PROTOCOLS: tuple[Protocol, ...] = (1, 2, "scs")
"""Dynamixel protocol 1 and 2, and Feetech's: packets of protocol 1 with an error byte of its own."""
SIGNS = ("none", "twos_complement", "sign_magnitude")
BYTE_ORDERS = ("little", "big")
QUANTITIES = ("", "position", "velocity", "current", "duty", "voltage", "temperature", "watchdog")
READABLE = ("position", "velocity", "current", "duty_cycle", "supply_voltage", "temperature", "tick")


@dataclass(frozen=True, kw_only=True)
class Register:
    """One entry of a control table."""

    name: str
    address: int
    size: int
    """[bytes]"""
    access: str = "r"
    """"r" or "rw"."""
    eeprom: bool = False
    """Kept without power and, in protocol 2, writable only while torque is off."""
    signed: str = "none"
    """One of SIGNS."""
    sign_bit: int = 10
    """Bit with the sign of a sign-magnitude register."""
    byte_order: Literal["little", "big"] = "little"
    reversed: bool = False
    """Its sign is opposite to the position's."""
    initial: int | None = None
    """Content in a new servo; None if that varies."""
    quantity: str = ""
    """One of QUANTITIES; its unit is in the table's `units`."""

    def __post_init__(self) -> None:
        checks = (
            (self.address >= 0, f"address = {self.address} must be at least 0"),
            (self.size in (1, 2, 4), f"size = {self.size} must be 1, 2 or 4"),
            (self.access in ("r", "rw"), f'access = {self.access!r} must be "r" or "rw"'),
            (self.signed in SIGNS, f"signed = {self.signed!r} must be one of {', '.join(SIGNS)}"),
            (
                self.byte_order in BYTE_ORDERS,
                f"byte_order = {self.byte_order!r} must be one of {', '.join(BYTE_ORDERS)}",
            ),
            (0 < self.sign_bit < 8 * self.size or self.signed != "sign_magnitude", f"no bit {self.sign_bit}"),
            (self.quantity in QUANTITIES, f"quantity = {self.quantity!r} must be one of {', '.join(QUANTITIES[1:])}"),
        )
        for right, problem in checks:
            if not right:
                raise ModelError(f"register {self.name}: {problem}")
        if self.initial is not None:
            try:
                self.encode(self.initial)
            except ValueError as error:
                raise ModelError(f"register {self.name}: initial: {error}") from None

    @property
    def end(self) -> int:
        """Address after its last byte."""
        return self.address + self.size

    @property
    def lowest(self) -> int:
        """Smallest value that its bytes can hold."""
        if self.signed == "twos_complement":
            return -(1 << (8 * self.size - 1))
        return 1 - (1 << self.sign_bit) if self.signed == "sign_magnitude" else 0

    @property
    def highest(self) -> int:
        """Largest value that its bytes can hold."""
        if self.signed == "twos_complement":
            return (1 << (8 * self.size - 1)) - 1
        return (1 << (self.sign_bit if self.signed == "sign_magnitude" else 8 * self.size)) - 1

    def encode(self, value: int) -> bytes:
        """Return the bytes of a value.

        Raises:
            ValueError: if they cannot hold it.
        """
        if not self.lowest <= value <= self.highest:
            raise ValueError(f"{value} does not fit into {self.name}; it holds {self.lowest} to {self.highest}")
        if self.signed == "sign_magnitude" and value < 0:
            value = (1 << self.sign_bit) - value
        return value.to_bytes(self.size, self.byte_order, signed=self.signed == "twos_complement")

    def decode(self, data: bytes) -> int:
        """Return the value of its bytes.

        Raises:
            ValueError: for another number of bytes.
        """
        if len(data) != self.size:
            raise ValueError(f"{self.name} has {self.size} bytes, got {len(data)}")
        value = int.from_bytes(data, self.byte_order, signed=self.signed == "twos_complement")
        if self.signed == "sign_magnitude":
            magnitude = value & self.highest
            return -magnitude if value >> self.sign_bit & 1 else magnitude
        return value


@dataclass(frozen=True, kw_only=True)
class ControlTable:
    """The registers of a series and their use by the driver."""

    name: str
    protocol: Protocol
    units: Mapping[str, float]
    """position_counts (per turn), position_centre (count at 0 rad), velocity [rpm], voltage [V], duty_steps (at full
    duty), current_centre (count at 0 A), watchdog [s; only if there is one], highest_position [counts; only if it is
    not the last one of a turn]."""
    registers: Mapping[str, Register]
    """Registers in the order of their addresses."""
    reading: Mapping[str, str]
    """Field of a Reading, or "tick", to register."""
    gains: Mapping[str, str]
    """kp, ki, kd to register."""
    modes: Mapping[str, int]
    """Mode to the value of `mode_register`."""
    mode_register: str
    """"" if none holds the mode."""
    hardware_errors: Mapping[str, int]
    """Error to its bit of hardware_error_status, or in protocol 1 of the error byte."""
    phase: Mapping[str, int] = field(default_factory=dict)
    """Bits of the register phase: those that are "set" and "clear" where the units hold, and those that mean "reversed"
    directions."""

    def __post_init__(self) -> None:
        if self.protocol not in PROTOCOLS:
            known = ", ".join(map(str, PROTOCOLS))
            raise ModelError(f"control table {self.name}: protocol = {self.protocol} must be one of {known}")
        ordered = sorted(self.registers.values(), key=lambda register: register.address)
        for before, after in pairwise(ordered):
            if after.address < before.end:
                raise ModelError(f"control table {self.name}: {after.name} overlaps {before.name}")
        object.__setattr__(self, "registers", {register.name: register for register in ordered})
        for entry in ("position_counts", "position_centre", "velocity", "voltage", "duty_steps", "current_centre"):
            if entry not in self.units:
                raise ModelError(f"control table {self.name}: units: {entry!r} is missing")
        named = [*self.reading.values(), *self.gains.values(), *filter(None, [self.mode_register]), *ALWAYS]
        for name in named:
            if name not in self.registers:
                raise ModelError(f"control table {self.name}: register {name!r} is missing")
        for what in self.reading:
            if what not in READABLE:
                raise ModelError(f"control table {self.name}: reading: no {what!r}; there are {', '.join(READABLE)}")
        for what in ("kp", "ki", "kd"):
            if what not in self.gains:
                raise ModelError(f"control table {self.name}: gains: {what!r} is missing")

    def __getitem__(self, name: str) -> Register:
        """Return a register by name."""
        return self.registers[name]

    def __contains__(self, name: str) -> bool:
        return name in self.registers

    @property
    def highest_position(self) -> float:
        """Highest position of the encoder [counts]."""
        return self.units.get("highest_position", self.units["position_counts"] - 1)

    @property
    def end(self) -> int:
        """Address after the last byte."""
        return max(register.end for register in self.registers.values())

    def with_model(self, registers: Mapping[str, Register], initial: Mapping[str, int]) -> ControlTable:
        """Return the table of one model, with further registers and other initial values.

        Raises:
            ModelError: for an initial value of an unknown register.
        """
        merged = {**self.registers, **registers}
        for name, value in initial.items():
            if name not in merged:
                raise ModelError(f"control table {self.name}: initial: unknown register {name!r}")
            merged[name] = replace(merged[name], initial=value)
        return replace(self, registers=merged)


ALWAYS = (
    "model_number",
    "firmware_version",
    "id",
    "return_delay_time",
    "torque_enable",
    "status_return_level",
    "goal_position",
)
"""Registers that the driver always needs."""


def parse_table(text: str, source: str = "control table") -> ControlTable:
    """Read a table from TOML text.

    Raises:
        ModelError: naming the missing or invalid entry.
    """
    try:
        data = tomllib.loads(text)
        modes = dict(data["modes"])
        return ControlTable(
            name=data["name"],
            protocol=data["protocol"],
            units={name: float(value) for name, value in data["units"].items()},
            registers=parse_registers(data["registers"], data.get("byte_order", "little")),
            reading=dict(data["reading"]),
            gains=dict(data["gains"]),
            mode_register=modes.pop("register"),
            modes=modes,
            hardware_errors=dict(data["hardware_errors"]),
            phase=dict(data.get("phase", {})),
        )
    except KeyError as error:
        raise ModelError(f"{source}: entry {error.args[0]!r} is missing") from None
    except (TypeError, ValueError, AttributeError, ArithmeticError, RecursionError, ModelError) as error:
        raise ModelError(f"{source}: {error}") from None


def parse_registers(data: Mapping[str, Mapping[str, Any]], byte_order: str = "little") -> dict[str, Register]:
    """Read a TOML table of registers, those of several bytes in this order unless they say otherwise.

    Raises:
        ModelError: naming an invalid register.
    """
    registers = {}
    for name, entries in data.items():
        try:
            registers[name] = Register(**{"name": name, "byte_order": byte_order, **entries})
        except TypeError as error:
            raise ModelError(f"register {name}: {error}") from None
    return registers


@cache
def load_table(name: str) -> ControlTable:
    """Return a shipped table, e.g. "x".

    Raises:
        ModelError: for an unknown name, with the list of tables.
    """
    folder = files(resources) / "control_tables"
    known = sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml"))
    if name not in known:
        raise ModelError(f"unknown control table {name!r}; there are {', '.join(known)}")
    return parse_table((folder / f"{name}.toml").read_text("utf-8"), f"{name}.toml")
