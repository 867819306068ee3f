"""One emulated servo: registers, power, errors and what every series does alike; each series has its module.

Where the e-manuals leave open what a servo does, the emulator takes the side that is harder on the driver, and says so
where it does.
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

from core.catalogue import ServoSpec
from core.errors import InputError
from core.recording import ServoSettings
from drivers.dynamixel.table import ControlTable
from drivers.emulators.dynamixel.registers import Refusal, Registers
from drivers.emulators.dynamixel.wire import same_rate
from drivers.emulators.mechanism import Mechanism

BOOT_TIME = 0.3
"""From power-on or reboot until a servo answers [s]."""
RETURN_DELAY_UNIT = 2e-6
"""[s]"""
TICK_PERIOD = 32768
"""The realtime tick starts anew after this many milliseconds."""
FIRMWARE = 46
"""Version every emulated servo reports."""
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
    """A servo on the bus. Ask it only what it `hears`."""

    bauds: ClassVar[Mapping[int, int]]
    """Values of the baud rate register and their rates [bit/s]."""
    ranges: ClassVar[Mapping[str, tuple[int, int]]]
    """Registers with less than their bytes can hold: lowest and highest value."""

    def __init__(
        self,
        spec: ServoSpec,
        table: ControlTable,
        entries: Mapping[str, object],
        mechanism: Mechanism,
        now: float,
        changed: Mapping[str, int],
    ) -> None:
        """entries: what the servo file says of this bus; changed: registers that were written before it came here.

        Raises InputError for a register or value the servo does not have.
        """
        self.spec = spec
        self.mechanism = mechanism
        self.registers = Registers(table)
        self.current_unit = float(str(entries.get("current_unit", "nan")))
        units = table.units
        self.position_step = 2.0 * math.pi / units["position_counts"]
        """[rad] per count."""
        self.centre = round(units["position_centre"])
        self.velocity_unit = units["velocity"] * RPM
        self.voltage_unit = units["voltage"]
        self.duty_steps = units["duty_steps"]
        self.powered = True
        self.alert = False
        """Whether it signals an error nobody can find."""
        self.watchdog_trips = 0
        self._forced: set[str] = set()
        self._booted = now
        """When it was, or will be, ready [s]."""
        self._heard = now
        """When the last instruction for it came in [s]."""
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
        # Once more: booting has put what is in the RAM, and follows from the EEPROM, at its initial values.
        for name, value in changed.items():
            registers[name] = value

    # What it is on the bus.

    @property
    def id(self) -> int:
        """On the bus."""
        return self.registers["id"]

    @property
    def protocol(self) -> int:
        """1 or 2."""
        return self.registers.table.protocol

    @property
    def rate(self) -> int:
        """It listens and answers at [bit/s]."""
        return self.bauds.get(self.registers["baud_rate"], 57600)

    @property
    def return_delay(self) -> float:
        """[s]"""
        return self.registers["return_delay_time"] * RETURN_DELAY_UNIT

    def hears(self, rate: float, now: float) -> bool:
        """Whether it is alive and understands a client with this rate [bit/s]."""
        return self.powered and now >= self._booted and same_rate(rate, self.rate)

    # What packets do.

    def read(self, address: int, length: int) -> bytes | Refusal:
        """Bytes from an address on."""
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
        """Which registers a write would set to which values."""
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
        """Do the registered write; False when there is none."""
        if self._registered is None:
            return False
        address, data = self._registered
        self._registered = None
        self.registers["registered_instruction"] = 0
        self.write(address, data)
        return True

    def reboot(self, now: float) -> None:
        """Start anew: RAM as it is after power-on, torque off, silent until booted."""
        self._forced.clear()
        self._boot(now)
        self._booted = now + BOOT_TIME

    def factory_reset(self, now: float, keep: tuple[str, ...] = ()) -> None:
        """Give every register but some its factory value and reboot."""
        kept = {name: self.registers[name] for name in keep}
        self.registers.reset(self.registers.eeprom())
        for name, value in kept.items():
            self.registers[name] = value
        self.reboot(now)

    def set_power(self, on: bool, now: float) -> None:
        """Switch its supply; what is in the RAM is lost."""
        if on and not self.powered:
            self.reboot(now)
        elif not on and self.powered:
            self.mechanism.release()
            self.registers["torque_enable"] = 0
        self.powered = on

    def noticed(self, now: float) -> None:
        """An instruction packet for this servo, or for all, came in."""
        self._heard = now

    def put(self, name: str, value: int) -> None:
        """Write a register past all checks, as a fault of the memory would; what follows from it does."""
        self._put({name: value})

    # What goes on by itself.

    def supervise(self, now: float) -> None:
        """Move on to now and look for errors."""
        self.mechanism.advance()
        if self.powered:
            self._protect()

    def force(self, fault: str) -> None:
        """Let an error of FAULTS appear until the servo starts anew. Raises ValueError."""
        name = FAULTS.get(fault)
        if name is None:
            raise ValueError(f"no fault {fault!r}; there are {', '.join(FAULTS)}")
        if name not in self.registers.table.hardware_errors:
            raise ValueError(f"{self.spec.title} does not know this error")
        self._forced.add(name)
        self._protect()

    def relent(self) -> None:
        """End what `force` began; a latched error stays."""
        self._forced.clear()
        self._protect()

    @property
    def error_bits(self) -> int:
        """Errors there are now, as the bits of the control table."""
        bits = self.registers.table.hardware_errors
        return sum(1 << bits[name] for name in self._conditions())

    @property
    def troubled(self) -> bool:
        """Whether it signals trouble with its hardware."""
        return self.alert or self.error_bits != 0

    @abstractmethod
    def refresh(self) -> None:
        """Write what the servo measures into its registers."""

    @property
    @abstractmethod
    def position_counts(self) -> int:
        """Present position as its register says it."""

    @property
    def driven(self) -> bool:
        """Whether torque is on."""
        return self.registers["torque_enable"] == 1

    @property
    def _locked(self) -> bool:
        """Whether the EEPROM cannot be written."""
        return self.driven

    @abstractmethod
    def _refusal(self, name: str, value: int) -> Refusal | None:
        """Why a register does not take a value within its range now."""

    @abstractmethod
    def _written(self, name: str, before: int) -> None:
        """A packet wrote a register that held something else, or the same, before."""

    @abstractmethod
    def _apply(self, before: Mapping[str, int]) -> None:
        """Drive the motor as the registers say once some were written; before: what those held."""

    def _put(self, values: Mapping[str, int]) -> None:
        before = {}
        for name, value in values.items():
            before[name] = self.registers[name]
            self.registers[name] = value
            self._written(name, before[name])
        self._apply(before)

    @abstractmethod
    def _protect(self) -> None:
        """Do what the servo does about its errors."""

    @abstractmethod
    def _restart(self) -> None:
        """Set what no initial value tells when the servo starts."""

    def _factory_values(self, entries: Mapping[str, object]) -> dict[str, int]:
        numbers = entries["model_numbers"]
        assert isinstance(numbers, list)
        return {"model_number": int(numbers[0]), "firmware_version": FIRMWARE}

    def _widen_voltage_limits(self) -> None:
        """A bench with another supply than the factory had in mind has other limits in its servos."""
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
        """Errors there are now."""
        registers, errors = self.registers, set(self._forced)
        if self.mechanism.temperature > registers["temperature_limit"]:
            errors.add("overheating")
        supply = round(self.mechanism.electrics[2] / self.voltage_unit)
        if not registers["min_voltage_limit"] <= supply <= registers["max_voltage_limit"]:
            errors.add("input voltage out of range")
        return errors & set(registers.table.hardware_errors)

    def _configure(self) -> None:
        """Give the plant the gains the registers hold."""
        gains = self.registers.table.gains
        kp, ki, kd = (float(self.registers[gains[name]]) for name in ("kp", "ki", "kd"))
        plant = self.mechanism.plant
        self.mechanism.advance()
        settings: ServoSettings = replace(plant.settings, kp=kp, ki=ki, kd=kd)
        self.mechanism.configure(settings)

    def _tick(self) -> int:
        """Milliseconds since it started, as its register says it."""
        return int((time.perf_counter() - self._started) * 1e3) % TICK_PERIOD
