"""One emulated servo: registers, power, errors and the behaviour common to all series; each series has its module.

Where the e-manuals leave a servo's behaviour open, the emulator chooses the behaviour that is harder for the driver,
and a comment says so.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from core.base.errors import InputError
from core.servo.catalogue import ServoSpec
from core.servo.settings import ServoSettings
from drivers import timing
from drivers.emulators.mechanism import Mechanism
from drivers.emulators.serial_bus.registers import Refusal, Registers
from drivers.emulators.serial_bus.wire import same_rate
from drivers.serial_bus.table import ControlTable, Protocol

BOOT_TIME = 0.3
"""Time from power-on or reboot until a servo answers [s]."""
RETURN_DELAY_UNIT = 2e-6
"""[s]"""
TICK_PERIOD = 32768
"""The realtime tick restarts after this many milliseconds."""
FIRMWARE = 46
"""Version reported by every emulated servo."""
RPM = 2.0 * math.pi / 60.0
FAULTS = {
    "overload": "overload",
    "overheating": "overheating",
    "encoder": "motor encoder failure",
    "voltage": "input voltage out of range",
    "shock": "electrical shock",
}
"""Names at the console to those of the control tables."""


class Device(ABC):
    """A servo on the bus. Send it only packets that it `hears`."""

    bus: ClassVar[str] = "dynamixel"
    """Name of the family."""
    bauds: ClassVar[Mapping[int, int]]
    """Values of the baud rate register and their rates [bit/s]."""
    ranges: ClassVar[Mapping[str, tuple[int, int]]]
    """Registers with a narrower range than their bytes: lowest and highest value."""

    def __init__(
        self,
        spec: ServoSpec,
        table: ControlTable,
        entries: Mapping[str, object],
        mechanism: Mechanism,
        now: float,
        changed: Mapping[str, int],
    ) -> None:
        """Create a servo that boots now.

        Args:
            spec: Its catalogue entry.
            table: Its control table.
            entries: Section of this bus in the servo's file.
            mechanism: Its moving parts.
            now: The current time [s].
            changed: Registers that were written before it came to this bus.

        Raises:
            InputError: for a register or value that the servo does not have.
        """
        self.spec = spec
        self.mechanism = mechanism
        self.registers = Registers(table)
        self.current_unit = float(str(entries.get("current_unit", "nan")))
        units = table.units
        self.position_step = 2.0 * math.pi / units["position_counts"]
        """Angle per count [rad]."""
        self.centre = round(units["position_centre"])
        self.velocity_unit = units["velocity"] * RPM
        self.voltage_unit = units["voltage"]
        self.duty_steps = units["duty_steps"]
        self.powered = True
        self.alert = False
        """True if it signals an error without a cause."""
        self.watchdog_trips = 0
        self._forced: set[str] = set()
        self._booted = now
        """Time at which it was, or will be, ready [s]."""
        self._heard = now
        """Time of the last instruction for it [s]."""
        self._registered: tuple[int, bytes] | None = None
        registers = self.registers
        registers.changed.update(self._factory_values(entries))
        registers.reset(registers.eeprom())
        self._widen_voltage_limits()
        for name, value in changed.items():
            if name not in registers:
                raise InputError(f"{spec.title} has no register {name!r}; there are {', '.join(table.registers)}")
            if not table[name].lowest <= value <= table[name].highest:
                raise InputError(f"{spec.title}: register {name} cannot hold {value}")
            registers[name] = value
        self._boot(now)
        # Once more: booting has set the RAM, which may depend on the EEPROM, to its initial values.
        for name, value in changed.items():
            registers[name] = value

    # Identity on the bus.

    @property
    def id(self) -> int:
        """ID on the bus."""
        return self.registers["id"]

    @property
    def protocol(self) -> Protocol:
        """Protocol, see `ControlTable`."""
        return self.registers.table.protocol

    @property
    def rate(self) -> int:
        """Baud rate [bit/s]."""
        return self.bauds.get(self.registers["baud_rate"], 57600)

    @property
    def return_delay(self) -> float:
        """Delay of an answer [s]."""
        return self.registers["return_delay_time"] * RETURN_DELAY_UNIT

    def address(self, path: str) -> str:
        """Return its address on a port."""
        protocol = f":{self.protocol}" if isinstance(self.protocol, int) else ""
        return f"{self.bus}:{path}:{self.id}{protocol}:{self.rate}"

    def hears(self, rate: float, now: float) -> bool:
        """Return True if it has booted and understands a client with this rate [bit/s]."""
        return self.powered and now >= self._booted and same_rate(rate, self.rate)

    # Effects of packets.

    def read(self, address: int, length: int) -> bytes | Refusal:
        """Return the bytes from an address on."""
        self.mechanism.advance()
        self.refresh()
        return self.registers.read(address, length)

    def write(self, address: int, data: bytes) -> Refusal | None:
        """Write registers: all that the data covers, or none."""
        values = self.check(address, data)
        if isinstance(values, Refusal):
            return values
        self._put(values)
        return None

    def check(self, address: int, data: bytes) -> dict[str, int] | Refusal:
        """Return the values that a write would set, by register."""
        parsed = self.registers.parse(address, data)
        if isinstance(parsed, Refusal):
            return parsed
        for register, value in parsed:
            if register.eeprom and self._locked:
                return Refusal.ACCESS
            lowest, highest = self.ranges.get(register.name, (register.lowest, register.highest))
            if register.name == "baud_rate":
                if value not in self.bauds:
                    return Refusal.RANGE
            elif not lowest <= value <= highest:
                return Refusal.RANGE
            refusal = self._refusal(register.name, value)
            if refusal is not None:
                return refusal
        return {register.name: value for register, value in parsed}

    def register_write(self, address: int, data: bytes) -> Refusal | None:
        """Keep a write until `act`."""
        values = self.check(address, data)
        if isinstance(values, Refusal):
            return values
        self._registered = address, data
        self.registers["registered_instruction"] = 1
        return None

    def act(self) -> bool:
        """Perform the registered write; return False if there is none."""
        if self._registered is None:
            return False
        address, data = self._registered
        self._registered = None
        self.registers["registered_instruction"] = 0
        self.write(address, data)
        return True

    def reboot(self, now: float) -> None:
        """Restart: RAM as after power-on, torque off, silent until booted."""
        self._forced.clear()
        self._boot(now)
        self._booted = now + BOOT_TIME

    def factory_reset(self, now: float, keep: tuple[str, ...] = ()) -> None:
        """Reset every register except some to its factory value, and reboot."""
        kept = {name: self.registers[name] for name in keep}
        self.registers.reset(self.registers.eeprom())
        for name, value in kept.items():
            self.registers[name] = value
        self.reboot(now)

    def set_power(self, on: bool, now: float) -> None:
        """Switch its supply; the content of the RAM is lost."""
        if on and not self.powered:
            self.reboot(now)
        elif not on and self.powered:
            self.mechanism.release()
            self.registers["torque_enable"] = 0
        self.powered = on

    def noticed(self, now: float) -> None:
        """Note the arrival of an instruction packet for this servo, or for all."""
        self._heard = now

    def put(self, name: str, value: int) -> None:
        """Write a register without checks, as a fault of the memory would, and apply its effects."""
        self._put({name: value})

    # Behaviour without packets.

    def supervise(self, now: float) -> None:
        """Advance to the current time and check for errors."""
        self.mechanism.advance()
        if self.powered:
            self._protect()

    def force(self, fault: str) -> None:
        """Cause an error of FAULTS until the servo restarts; raises ValueError."""
        name = FAULTS.get(fault)
        if name is None:
            raise ValueError(f"unknown fault {fault!r}; there are {', '.join(FAULTS)}")
        if name not in self.registers.table.hardware_errors:
            raise ValueError(f"{self.spec.title} does not know this error")
        self._forced.add(name)
        self._protect()

    def relent(self) -> None:
        """End the causes set by `force`; a latched error stays."""
        self._forced.clear()
        self._protect()

    @property
    def error_bits(self) -> int:
        """Present errors, as the bits of the control table."""
        bits = self.registers.table.hardware_errors
        return sum(1 << bits[name] for name in self._conditions())

    @property
    def troubled(self) -> bool:
        """True if it signals a problem of its hardware."""
        return self.alert or self.error_bits != 0

    @abstractmethod
    def refresh(self) -> None:
        """Write the servo's measurements into its registers."""

    @property
    @abstractmethod
    def position_counts(self) -> int:
        """Present position as in its register."""

    @property
    def driven(self) -> bool:
        """True if torque is on."""
        return self.registers["torque_enable"] == 1

    @property
    def _locked(self) -> bool:
        """True if the EEPROM cannot be written."""
        return self.driven

    @abstractmethod
    def _refusal(self, name: str, value: int) -> Refusal | None:
        """Return the reason to refuse a value within its register's range now, or None."""

    @abstractmethod
    def _written(self, name: str, before: int) -> None:
        """Handle a write by a packet.

        Args:
            name: The register.
            before: Its former value, which may be the same.
        """

    @abstractmethod
    def _apply(self, before: Mapping[str, int]) -> None:
        """Drive the motor according to the registers after some were written; `before` holds their former values."""

    def _put(self, values: Mapping[str, int]) -> None:
        before = {}
        for name, value in values.items():
            before[name] = self.registers[name]
            self.registers[name] = value
            self._written(name, before[name])
        self._apply(before)

    @abstractmethod
    def _protect(self) -> None:
        """React to errors as the servo does."""

    @abstractmethod
    def _restart(self) -> None:
        """Set everything on a start that no initial value determines."""

    def _factory_values(self, entries: Mapping[str, object]) -> dict[str, int]:
        numbers = entries["model_numbers"]
        assert isinstance(numbers, list)
        return {"model_number": int(numbers[0]), "firmware_version": FIRMWARE}

    def _widen_voltage_limits(self) -> None:
        """Widen the voltage limits: a bench with another supply than the factory's has other limits in its servos."""
        supply = self.mechanism.plant.settings.supply_voltage / self.voltage_unit
        low, high = self.spec.supply_range
        if supply > 0.95 * self.registers["max_voltage_limit"]:
            self.registers["max_voltage_limit"] = round(high / self.voltage_unit)
        if supply < 1.05 * self.registers["min_voltage_limit"]:
            self.registers["min_voltage_limit"] = round(low / self.voltage_unit)

    def _boot(self, now: float) -> None:
        self._booted = now
        self._started = self._heard = now
        self._registered = None
        self.mechanism.release()
        self.registers.reset(self.registers.ram())
        self._restart()
        self._configure()

    def _conditions(self) -> set[str]:
        """Return the present errors."""
        registers, errors = self.registers, set(self._forced)
        if self.mechanism.temperature > registers["temperature_limit"]:
            errors.add("overheating")
        supply = round(self.mechanism.electrics[2] / self.voltage_unit)
        if not registers["min_voltage_limit"] <= supply <= registers["max_voltage_limit"]:
            errors.add("input voltage out of range")
        return errors & set(registers.table.hardware_errors)

    def _configure(self) -> None:
        """Set the plant's gains to those in the registers."""
        gains = self.registers.table.gains
        kp, ki, kd = (float(self.registers[gains[name]]) for name in ("kp", "ki", "kd"))
        plant = self.mechanism.plant
        self.mechanism.advance()
        settings: ServoSettings = replace(plant.settings, kp=kp, ki=ki, kd=kd)
        self.mechanism.configure(settings)

    def _tick(self) -> int:
        """Return the milliseconds since the start, as in the register."""
        return int((timing.now() - self._started) * 1e3) % TICK_PERIOD


@dataclass(frozen=True, slots=True)
class Reply:
    """Status packet of one servo; several follow each other on the wire."""

    device: Device
    packet: bytes
    slot: int = 0
    """Number of time slots that an answer to a broadcast ping waits."""
    delayed: bool = True
    """True if the servo waits for its return delay time; parts of a common packet follow each other at once."""
