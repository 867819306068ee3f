"""A serial servo as a picklable description, and its release by another process."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, ClassVar

from core.servo.catalogue import ServoSpec
from drivers import timing
from drivers.errors import DriverError, NoAnswer
from drivers.serial_bus.bus import SILENCE, Bus
from drivers.serial_bus.family import SerialFamily
from drivers.serial_bus.preparation import find, make_answer, release_all, release_all_at_every_rate
from drivers.serial_bus.profile import members, profile_of, servos_by_model_number
from drivers.serial_bus.registers import Registers
from drivers.serial_bus.servo import SerialServo
from drivers.serial_bus.table import ControlTable, Protocol


@dataclass(frozen=True, kw_only=True)
class SerialSource(ABC):
    """Address of a servo: port, ID, protocol and baud rate."""

    family: ClassVar[SerialFamily]
    port: str
    id: int = 1
    protocol: Protocol = 2
    baud: int = 57600

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the state, ready to release at once: the catalogue is read now, not then."""
        vars(self).update(state)
        members(self.family)

    @abstractmethod
    def open(self) -> SerialServo:
        """Return the servo, not yet connected."""

    @abstractmethod
    def tables(self, bus: Bus) -> list[ControlTable]:
        """Return this servo's control table; all possible ones, to be tried in this order, if that is unknown."""

    def recognise(self, candidates: Sequence[ServoSpec]) -> ServoSpec:
        """Return one of these, of which one has answered; raise ModelError if the address states another servo."""
        return candidates[0]

    @contextmanager
    def registers(self) -> Generator[Registers]:
        """Open the bus and yield the registers of the servo, whose torque is off and stays off.

        Raises:
            BusError: if the bus cannot be opened, or fails.
            NoAnswer: if the servo does not answer.
            DriverError: if its torque stays on.
            ModelError: if it is unknown, or another servo than the address states.
        """
        with Bus(self.port, self.protocol, self.baud) as bus:
            bus.open()
            candidates = servos_by_model_number(self.family, find(bus, self.id), self.protocol)
            registers = Registers(bus, self.id, profile_of(candidates[0], self.family).table)
            registers.send({"torque_enable": 0})
            registers.table = profile_of(self.recognise(candidates), self.family).table
            make_answer(registers, self.family.answers_all)
            registers.confirm({"torque_enable": 0})
            try:
                yield registers
            finally:
                # A write that went wrong must not leave it driven.
                with suppress(DriverError):
                    registers.send({"torque_enable": 0})

    def release_blindly(self, alone: bool = False) -> None:
        """Switch the motor off although another process owns the port.

        Args:
            alone: Act only while no process owns the port. The port is not locked.

        Raises:
            BusError: if the port cannot be opened.
            DriverError: if the servo did not confirm the release; NoAnswer if it did not answer.
        """
        if alone:
            with Bus(self.port, self.protocol, self.baud) as free:
                free.open()
        with Bus(self.port, self.protocol, self.baud) as bus:
            bus.open(exclusive=False)
            bus.patience = timing.limits.serial_blind_answer
            tables = self.tables(bus)
            for table in tables:
                torque = table["torque_enable"]
                for _ in range(2):
                    bus.send(self.id, torque.address, torque.encode(0))
            silent, on = len(tables) > 1, 0
            try:
                on = 0 if silent else Registers(bus, self.id, tables[0]).read_one("torque_enable", 0.0)
            except NoAnswer:
                silent = True
            # Another program may have changed its ID.
            for table in tables if silent else ():
                release_all(bus, table)
            for table in tables if silent and alone else ():
                release_all_at_every_rate(bus, table, self.family)
            if silent or on:
                raise NoAnswer(f"{self.port}: ID {self.id} did not confirm that its motor is off; {SILENCE}")
