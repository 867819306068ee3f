"""A bus in virtual time with a client at its port: nothing waits, every run is the same.

Check sums are the emulator's own; each family's `test_packets` compares them with those of the manual.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from drivers.emulators.dynamixel import protocol2
from drivers.emulators.serial_bus import protocol1
from drivers.emulators.serial_bus.source import EmulatedServo, SerialEmulation
from tests.drivers.dynamixel.virtual import Bus, Time, virtual_time

PATIENCE = 0.03
"""Time in which an answer comes [s]."""


def instruction1(id: int, instruction: int, *parameters: int) -> bytes:
    return protocol1.status(id, instruction, bytes(parameters))


def packet2(id: int, body: bytes) -> bytes:
    """Protocol 2 packet of a body that is taken as it is."""
    packet = b"\xff\xff\xfd\x00" + bytes((id,)) + (len(body) + 2).to_bytes(2, "little") + body
    return packet + protocol2.crc(packet).to_bytes(2, "little")


def instruction2(id: int, instruction: int, *parameters: int) -> bytes:
    return packet2(id, bytes((instruction, *parameters)).replace(b"\xff\xff\xfd", b"\xff\xff\xfd\xfd"))


class Client(Bus):
    """A bus and the program at its port."""

    def __init__(self, emulation: SerialEmulation, clock: Time) -> None:
        super().__init__(emulation, clock)
        self.devices = self.emulator.devices
        self.line = self.emulator.line
        self.set_baud(emulation.baud)

    def set_baud(self, baud: int) -> None:
        self.line.rate = baud

    def run(self, duration: float) -> None:
        """Let time pass [s]."""
        self.clock.sleep(duration)

    def send(self, data: bytes) -> None:
        os.write(self.line.client_file, data)
        self.serve()

    def received(self) -> bytes:
        """All that was sent to the client since it last looked."""
        data = bytes(self.line.heard)
        self.line.heard.clear()
        return data

    def ask(self, data: bytes, patience: float = PATIENCE) -> bytes:
        """Send and return what comes back within a time [s]."""
        self.send(data)
        self.run(patience)
        return self.received()

    # Registers by name, as a client would read and write them.

    def device(self, id: int = 1):
        return next(device for device in self.devices if device.id == id)

    def write(self, name: str, value: int, id: int = 1) -> int:
        """Write a register and return the status packet's error byte."""
        return self._answer(3, name, id, self.device(id).registers.table[name].encode(value))[0]

    def read(self, name: str, id: int = 1) -> int:
        """Read a register."""
        register = self.device(id).registers.table[name]
        size = register.size.to_bytes(self._word(id), "little")
        return register.decode(self._answer(2, name, id, size)[1:])

    def _word(self, id: int) -> int:
        """Bytes of an address or a length."""
        return 2 if self.device(id).protocol == 2 else 1

    def _answer(self, instruction: int, name: str, id: int, parameters: bytes) -> bytes:
        """Error byte and data of the status packet."""
        address = self.device(id).registers.table[name].address.to_bytes(self._word(id), "little")
        if self.device(id).protocol != 2:
            answer = self.ask(instruction1(id, instruction, *address, *parameters))
            assert answer[:3] == b"\xff\xff" + bytes((id,))
            return answer[4:-1]
        answer = self.ask(instruction2(id, instruction, *address, *parameters))
        assert answer[:5] == b"\xff\xff\xfd\x00" + bytes((id,))
        return answer[8:-2].replace(b"\xff\xff\xfd\xfd", b"\xff\xff\xfd")

    def write_all(self, id: int = 1, /, **values: int) -> None:
        for name, value in values.items():
            assert self.write(name, value, id) == 0, name

    @property
    def position(self) -> float:
        """Where the first pendulum really is [rad]."""
        return self.devices[0].mechanism.plant.position


def clients(monkeypatch: pytest.MonkeyPatch, bus: type[SerialEmulation], emulated: type[EmulatedServo]) -> Iterator:
    """Yield a function that makes a bus of servos and returns its client."""
    made: list[Client] = []
    clock = virtual_time(monkeypatch)

    def make(*servos: str | EmulatedServo, **options) -> Client:
        named = (
            emulated(servo=servo, id=number) if isinstance(servo, str) else servo
            for number, servo in enumerate(servos, 1)
        )
        made.append(Client(bus(servos=tuple(named), **options), clock))
        return made[-1]

    yield make
    for client in made:
        client.close()
