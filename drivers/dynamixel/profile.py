"""Profile of one model: its control table and its units, from `[bus.dynamixel]` of its servo file.

To add a model, add a servo file; see `resources/servos/xm430_w350.toml` for an example.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from core.base.errors import ModelError
from core.servo.catalogue import ServoSpec, servos
from drivers.dynamixel.table import ControlTable, Register, load_table, parse_registers

TORQUE_MODES = ("current", "pwm", "goal_torque", "wheel")
RPM = 2.0 * math.pi / 60.0
_ENTRIES = ("table", "protocol", "model_numbers", "torque_mode", "current_unit", "units", "registers", "initial")


@dataclass(frozen=True, kw_only=True)
class DynamixelProfile:
    """One model on the wire."""

    servo: str
    """Catalogue name."""
    table: ControlTable
    """Control table of the series with this model's own registers and values."""
    model_numbers: tuple[int, ...]
    torque_mode: str
    """Source of a constant motor torque: for "current" and "goal_torque" the servo's own current control, for "pwm" and
    "wheel" a duty cycle that follows the speed by the motor's model."""
    current_unit: float
    """Current per count [A]; NaN if it does not measure current."""

    @property
    def protocol(self) -> int:
        """Protocol, 1 or 2."""
        return self.table.protocol

    @property
    def position_counts(self) -> float:
        """Counts per turn."""
        return self.table.units["position_counts"]

    @property
    def position_centre(self) -> float:
        """Count at 0 rad."""
        return self.table.units["position_centre"]

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
        return {
            "position": self.position_unit,
            "velocity": self.velocity_unit,
            "current": self.current_unit,
            "duty": self.duty_unit,
            "voltage": self.voltage_unit,
            "watchdog": self.watchdog_unit,
        }.get(register.quantity, 1.0)

    def centre(self, register: Register) -> float:
        """Return the count of a register that means 0."""
        if register.quantity == "position":
            return self.position_centre
        return self.current_centre if register.name == self.table.reading.get("current") else 0.0

    def from_counts(self, register: Register, counts: int) -> float:
        """Return the physical value of a register's content, in SI units or °C."""
        return (counts - self.centre(register)) * self.unit(register)

    def to_counts(self, register: Register, value: float) -> int:
        """Return the nearest content of a register for a physical value, clamped to the register's range."""
        counts = round(value / self.unit(register) + self.centre(register))
        return min(max(counts, register.lowest), register.highest)


def profile_of(spec: ServoSpec) -> DynamixelProfile:
    """Return the profile of a catalogue servo.

    Raises:
        ModelError: if it has none or an invalid one.
    """
    if "dynamixel" not in spec.buses:
        raise ModelError(f"{spec.title} is not a Dynamixel: its servo file has no section [bus.dynamixel]")
    try:
        return _parse(spec, spec.buses["dynamixel"])
    except KeyError as error:
        raise ModelError(f"{spec.name}: [bus.dynamixel]: entry {error.args[0]!r} is missing") from None
    except (TypeError, ValueError, AttributeError, ModelError) as error:
        raise ModelError(f"{spec.name}: [bus.dynamixel]: {error}") from None


def _parse(spec: ServoSpec, entries: Mapping[str, Any]) -> DynamixelProfile:
    unknown = sorted(set(entries) - set(_ENTRIES))
    if unknown:
        raise ModelError(f"unknown entry {unknown[0]!r}; there are {', '.join(_ENTRIES)}")
    mode = entries["torque_mode"]
    if mode not in TORQUE_MODES:
        raise ModelError(f"torque_mode = {mode!r} must be one of {', '.join(TORQUE_MODES)}")
    table = load_table(entries["table"])
    if mode not in table.modes:
        raise ModelError(f"torque_mode = {mode!r}: the control table {table.name} has no such mode")
    if entries["protocol"] != table.protocol:
        raise ModelError(f"protocol = {entries['protocol']}: the control table {table.name} is of {table.protocol}")
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
    return DynamixelProfile(servo=spec.name, table=table, model_numbers=numbers, torque_mode=mode, current_unit=unit)


def dynamixels() -> dict[str, ServoSpec]:
    """Return every catalogue servo that is a Dynamixel, by name, except the user's own with an invalid section."""
    return {
        name: spec for name, spec in servos().items() if "dynamixel" in spec.buses and not (spec.file and _broken(spec))
    }


def _broken(spec: ServoSpec) -> bool:
    try:
        profile_of(spec)
    except ModelError:
        return True
    return False


def servo_by_model_number(number: int, protocol: int) -> ServoSpec:
    """Return the catalogue servo that reports a model number.

    Raises:
        ModelError: if there is none, with the way to add one.
    """
    for spec in dynamixels().values():
        profile = profile_of(spec)
        if profile.protocol == protocol and number in profile.model_numbers:
            return spec
        if number in profile.model_numbers:
            raise ModelError(
                f"{spec.title} (model number {number}) is driven with protocol {profile.protocol}, not {protocol}; "
                "choose that protocol, and set it in the servo with the vendor's program"
            )
    known = ", ".join(spec.title for spec in dynamixels().values() if profile_of(spec).protocol == protocol)
    raise ModelError(
        f"a Dynamixel with model number {number} (protocol {protocol}) is not in the catalogue, which has {known}; "
        f"add a file like the one that bench models --new my.toml writes, with model_numbers = [{number}] under "
        "[bus.dynamixel], by bench models my.toml"
    )
