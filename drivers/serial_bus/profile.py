"""Profile of one model: its control table and its units, from `[bus.FAMILY]` of its servo file.

To add a model, add a servo file; see `resources/servos/xm430_w350.toml` for an example.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from core.base.errors import ModelError
from core.servo.catalogue import ServoSpec, servos
from drivers.serial_bus.family import SerialFamily
from drivers.serial_bus.table import ControlTable, Protocol, Register, load_table, parse_registers

TORQUE_MODES = ("current", "pwm", "goal_torque", "wheel", "limited")
RPM = 2.0 * math.pi / 60.0
_ENTRIES = ("table", "protocol", "model_numbers", "torque_mode", "current_unit", "units", "registers", "initial")


@dataclass(frozen=True, kw_only=True)
class SerialProfile:
    """One model on the wire."""

    servo: str
    """Catalogue name."""
    family: SerialFamily
    table: ControlTable
    """Control table of the series with this model's own registers and values."""
    model_numbers: tuple[int, ...]
    torque_mode: str
    """Source of a constant motor torque: for "current" and "goal_torque" the servo's own current control, for the
    others a duty cycle that follows the speed by the motor's model, see `modes`; "" if it cannot hold a torque."""
    current_unit: float
    """Current per count [A]; NaN if it does not measure current."""

    @property
    def protocol(self) -> Protocol:
        """Protocol, see `ControlTable`."""
        return self.table.protocol

    def reported(self, number: int) -> int:
        """Return a model number as read in little endian, and one read so as it is."""
        return int.from_bytes(self.table["model_number"].encode(number), "little")

    @property
    def position_counts(self) -> float:
        """Counts per turn."""
        return self.table.units["position_counts"]

    @property
    def position_centre(self) -> float:
        """Count at 0 rad."""
        return self.table.units["position_centre"]

    @property
    def position_ends(self) -> tuple[int, int]:
        """Lowest and highest position of its encoder [counts]; a potentiometer leaves a part of the turn out."""
        return 0, round(self.table.highest_position)

    @property
    def position_unit(self) -> float:
        """Angle per count [rad]."""
        return 2.0 * math.pi / self.position_counts

    @property
    def velocity_unit(self) -> float:
        """Velocity per count [rad/s]."""
        return self.table.units["velocity"] * RPM

    @property
    def voltage_unit(self) -> float:
        """Voltage per count [V]."""
        return self.table.units["voltage"]

    @property
    def duty_unit(self) -> float:
        """Duty cycle per count."""
        return 1.0 / self.table.units["duty_steps"]

    @property
    def current_centre(self) -> float:
        """Count of the present current at 0 A; goals are centred at 0."""
        return self.table.units["current_centre"]

    @property
    def watchdog_unit(self) -> float:
        """Time per count [s]; 0 if it has no bus watchdog."""
        return self.table.units.get("watchdog", 0.0)

    @property
    def block_size(self) -> int:
        """Bytes of the block that holds a reading."""
        registers = [self.table[name] for name in self.table.reading.values()]
        return max(register.end for register in registers) - min(register.address for register in registers)

    def unit(self, register: Register) -> float:
        """Return the value of one count of a register, in SI units or °C; 1 for a plain number."""
        unit = {
            "position": self.position_unit,
            "velocity": self.velocity_unit,
            "current": self.current_unit,
            "duty": self.duty_unit,
            "voltage": self.voltage_unit,
            "watchdog": self.watchdog_unit,
        }.get(register.quantity, 1.0)
        return -unit if register.reversed else unit

    def centre(self, register: Register) -> float:
        """Return the count of a register that means 0."""
        if register.quantity == "position":
            return self.position_centre
        return self.current_centre if register.name == self.table.reading.get("current") else 0.0

    def from_counts(self, register: Register, counts: int) -> float:
        """Return the physical value of a register's content, in SI units or °C."""
        return (counts - self.centre(register)) * self.unit(register) + 0.0  # no -0.0

    def to_counts(self, register: Register, value: float) -> int:
        """Return the nearest content of a register for a physical value, clamped to the register's range."""
        counts = round(value / self.unit(register) + self.centre(register))
        return min(max(counts, register.lowest), register.highest)


def profile_of(spec: ServoSpec, family: SerialFamily) -> SerialProfile:
    """Return the profile of a catalogue servo in a family.

    Raises:
        ModelError: if it has none or an invalid one.
    """
    section = f"[bus.{family.name}]"
    if family.name not in spec.buses:
        raise ModelError(f"{spec.title} is not a {family.title}: its servo file has no section {section}")
    try:
        return _parse(spec, family, spec.buses[family.name])
    except KeyError as error:
        raise ModelError(f"{spec.name}: {section}: entry {error.args[0]!r} is missing") from None
    except (TypeError, ValueError, AttributeError, ModelError) as error:
        raise ModelError(f"{spec.name}: {section}: {error}") from None


def _parse(spec: ServoSpec, family: SerialFamily, entries: Mapping[str, Any]) -> SerialProfile:
    unknown = sorted(set(entries) - set(_ENTRIES))
    if unknown:
        raise ModelError(f"unknown entry {unknown[0]!r}; there are {', '.join(_ENTRIES)}")
    mode = entries.get("torque_mode", "")
    if mode not in ("", *TORQUE_MODES):
        raise ModelError(f"torque_mode = {mode!r} must be one of {', '.join(TORQUE_MODES)}")
    table = load_table(entries["table"])
    if mode and mode not in table.modes:
        raise ModelError(f"torque_mode = {mode!r}: the control table {table.name} has no such mode")
    if entries.get("protocol", table.protocol) != table.protocol:
        raise ModelError(f"protocol = {entries['protocol']}: the control table {table.name} is of {table.protocol}")
    if table.protocol not in family.protocols:
        raise ModelError(f"table = {table.name!r}: no {family.title} has this control table")
    units = {name: float(value) for name, value in entries.get("units", {}).items()}
    table = replace(table, units={**table.units, **units}).with_model(
        parse_registers(entries.get("registers", {})), entries.get("initial", {})
    )
    unit = float(entries.get("current_unit", math.nan))
    if mode in ("current", "goal_torque") and not unit > 0:
        raise ModelError(f"current_unit = {unit} must be above 0 for torque_mode = {mode!r}")
    numbers = tuple(int(number) for number in entries["model_numbers"])
    if not numbers:
        raise ModelError("model_numbers must name at least one")
    return SerialProfile(
        servo=spec.name, family=family, table=table, model_numbers=numbers, torque_mode=mode, current_unit=unit
    )


def members(family: SerialFamily) -> dict[str, SerialProfile]:
    """Return the profiles of a family's catalogue servos by name, except the user's own with an invalid section."""
    found: dict[str, SerialProfile] = {}
    for name, spec in servos().items():
        if family.name in spec.buses:
            try:
                found[name] = profile_of(spec, family)
            except ModelError:
                if not spec.file:
                    raise
    return found


def servos_by_model_number(family: SerialFamily, number: int, protocol: Protocol) -> list[ServoSpec]:
    """Return the catalogue servos of a family that report a model number.

    Raises:
        ModelError: if there is none, with the way to add one.
    """
    known = members(family)
    found = [profile for profile in known.values() if number in map(profile.reported, profile.model_numbers)]
    fitting = [servos()[profile.servo] for profile in found if profile.protocol == protocol]
    if fitting:
        return fitting
    if found:
        raise ModelError(
            f"{servos()[found[0].servo].title} (model number {number}) is driven with protocol {found[0].protocol}, "
            f"not {protocol}; choose that protocol, and set it in the servo with the vendor's program"
        )
    titles = ", ".join(servos()[profile.servo].title for profile in known.values() if profile.protocol == protocol)
    numbers = f"model_numbers = [{number}]"
    if protocol == "scs":
        reversed = int.from_bytes(number.to_bytes(2, "little"), "big")
        numbers += f', or [{reversed}] if its table is "scs",'
    of_protocol = f" (protocol {protocol})" if len(family.protocols) > 1 else ""
    raise ModelError(
        f"a {family.title} with model number {number}{of_protocol} is not in the catalogue, which has {titles}; "
        f"add a file like the one that bench models --new my.toml writes, with {numbers} under [bus.{family.name}], "
        "by bench models my.toml"
    )
