"""The registers of one servo by name, over its bus."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from functools import cache

from drivers import timing
from drivers.errors import CommandError, DriverError, NoAnswer
from drivers.serial_bus.bus import Bus
from drivers.serial_bus.table import ControlTable, Register

KEPT_BY_THE_BENCH = ("baud_rate", "status_return_level")
"""Registers without which the servo no longer answers as the bench asks."""
WINDOWS = 8
"""Number of different lengths in which the same registers can be read."""


class NotKept(DriverError):
    """The servo does not hold what was written."""


class Registers:
    """Reads and writes of one servo. The last answer's error byte is kept in `error`."""

    def __init__(self, bus: Bus, id: int, table: ControlTable) -> None:
        self.bus = bus
        self.id = id
        self.table = table
        self.error = 0
        self._windows = cache(self._find_windows)

    def read(self, *names: str, time_allowed: float | None = None) -> dict[str, int]:
        """Return the contents of registers by name, read as one block.

        time_allowed [s]: by default what a released servo may take.

        Raises:
            NoAnswer: if the servo does not answer.
            BusError: if the bus fails.
            DriverError: if the servo refuses.
        """
        if time_allowed is None:
            time_allowed = timing.limits.serial_relaxed_answer
        registers = [self.table[name] for name in names]
        begin = min(register.address for register in registers)
        end = max(register.end for register in registers)
        data, self.error = self.bus.read(self.id, begin, end - begin, self._windows(begin, end), time_allowed)
        return {r.name: r.decode(data[r.address - begin : r.end - begin]) for r in registers}

    def read_one(self, name: str, time_allowed: float | None = None) -> int:
        """Return the content of one register."""
        return self.read(name, time_allowed=time_allowed)[name]

    def read_time(self, *names: str) -> float:
        """Return the time on the wire for reading registers as one block [s]."""
        registers = [self.table[name] for name in names]
        span = max(register.end for register in registers) - min(register.address for register in registers)
        return self.bus.read_wire_time(span)

    def write(self, name: str, value: int) -> None:
        """Write a register and read it back.

        Raises:
            CommandError: for a value that does not fit.
            NoAnswer: if the servo does not answer.
            BusError: if the bus fails.
            DriverError: if the servo refuses or does not keep the value.
        """
        register = self.table[name]
        self.error = self.bus.write(self.id, register.address, self._encoded(register, value))
        self.confirm({name: value})

    def change(self, name: str, value: int) -> bool:
        """Write a register if its content differs, which spares its EEPROM; return True if it did."""
        if self.read_one(name) == value:
            return False
        self.write(name, value)
        return True

    def differing(self, wanted: Mapping[str, int]) -> dict[str, tuple[int, int]]:
        """Return present and wanted content of the registers that hold something else.

        Raises:
            CommandError: for an unknown register, one that is no setting, or a value that does not fit.
            DriverError: as by `read`.
        """
        for name, value in wanted.items():
            if name not in self.table:
                raise CommandError(f"no register {name!r}; there are {', '.join(self.table.registers)}")
            register = self.table[name]
            if register.access != "rw" or not register.eeprom:
                raise CommandError(f"register {name} cannot be set here: it is no setting")
            if name in KEPT_BY_THE_BENCH:
                raise CommandError(f"register {name} cannot be set here: with it the servo would be lost to this port")
            self._encoded(register, value)
            highest = {"position": self.table.highest_position, "duty": self.table.units["duty_steps"]}
            if register.signed == "none" and value > highest.get(register.quantity, value):
                raise CommandError(f"{value} is no {name}; the highest is {highest[register.quantity]:.0f}")
            if name == self.table.mode_register and value not in self.table.modes.values():
                known = ", ".join(map(str, sorted({*self.table.modes.values()})))
                raise CommandError(f"{value} is no {name} that the bench drives; there are {known}")
        held = {name: self.read_one(name) for name in wanted}
        limits = [n for n in self.table.registers if n.endswith(("position_limit", "angle_limit"))]
        ends = {name: wanted[name] if name in wanted else self.read_one(name) for name in limits}
        low, high = (sum(v for n, v in ends.items() if n.startswith(side)) for side in (("min", "cw"), ("max", "ccw")))
        if set(wanted) & set(limits) and low >= high:
            raise CommandError(f"position limits of {low} to {high} leave nothing; set a lower and a higher one")
        return {name: (held[name], value) for name, value in wanted.items() if held[name] != value}

    def keep(self, wanted: Mapping[str, int]) -> None:
        """Write registers of a released servo that differ, those of its EEPROM for good, and read them back.

        Raises:
            CommandError: for a value that does not fit.
            DriverError: if the servo refuses or does not keep one; see also `read`.
        """
        locks = self.table.protocol == "scs"
        if locks:
            self.write("lock", 0)
        try:
            for name, value in wanted.items():
                if name == "id":
                    if value != self.id:
                        self._require_free(value)
                    # It may answer with either ID.
                    self.send({name: value})
                    self.id = value
                self.change(name, value)
        finally:
            if locks:
                self.write("lock", 1)

    def _require_free(self, id: int) -> None:
        """Raise CommandError if a servo answers to this ID already."""
        with suppress(NoAnswer):
            self.bus.ping(id)
            raise CommandError(f"another servo has the ID {id} already; choose another one")

    def send(self, values: Mapping[str, int]) -> None:
        """Write registers in the order of their addresses without waiting for an answer, adjacent ones in one packet.

        Raises:
            CommandError: for a value that does not fit.
            BusError: if the bus fails.
        """
        packets: list[tuple[int, bytes]] = []
        for register in sorted((self.table[name] for name in values), key=lambda register: register.address):
            data = self._encoded(register, values[register.name])
            before, bytes_before = packets[-1] if packets else (-1, b"")
            if before + len(bytes_before) == register.address:
                packets[-1] = (before, bytes_before + data)
            else:
                packets.append((register.address, data))
        for address, data in packets:
            self.bus.send(self.id, address, data)

    def confirm(self, values: Mapping[str, int], time_allowed: float | None = None) -> None:
        """Read registers back.

        Raises:
            NotKept: if one does not hold its value.
        """
        held = self.read(*values, time_allowed=time_allowed)
        for name, value in values.items():
            if held[name] != value:
                locked = "switch its power off and on, which unlocks its EEPROM, and "
                if self.table.protocol == "scs":
                    locked = f"this firmware drops changes behind a lock: bench servo set ADDRESS {name}={value}, and "
                locked *= self.table[name].eeprom
                raise NotKept(
                    f"ID {self.id} holds {held[name]} in {name} after {value} was written; "
                    f"{locked}look for a second program or controller on the bus"
                )

    @staticmethod
    def _encoded(register: Register, value: int) -> bytes:
        try:
            return register.encode(value)
        except ValueError as error:
            raise CommandError(str(error)) from None

    def _find_windows(self, begin: int, end: int) -> Sequence[tuple[int, int]]:
        """Return reads of different lengths that contain these bytes.

        They contain no bytes without a register, unless the requested bytes do or there are too few. In protocol 1 and
        its like none has a length of 2, which an echo of the request has.
        """
        known = {byte for register in self.table.registers.values() for byte in range(register.address, register.end)}
        found = self._windows_within(known, begin, end) if known.issuperset(range(begin, end)) else ()
        return found if len(found) == WINDOWS else self._windows_within(range(self.table.end), begin, end)

    def _windows_within(self, known: Collection[int], begin: int, end: int) -> Sequence[tuple[int, int]]:
        found = []
        while True:
            if not (self.table.protocol != 2 and end - begin == 2):
                found.append((begin, end - begin))
            if len(found) == WINDOWS:
                break
            if begin - 1 in known:
                begin -= 1
            elif end in known:
                end += 1
            else:
                break
        return tuple(found) or ((begin, end - begin),)
