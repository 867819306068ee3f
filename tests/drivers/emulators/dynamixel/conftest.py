"""A bus in virtual time with a client at its port: nothing waits, every run is the same."""

from __future__ import annotations

import os
import select
import termios
import tty
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from drivers.emulators.dynamixel import DynamixelEmulation, EmulatedDynamixel
from drivers.simulated.hand import SharedHand
from tests.drivers.machine import live_in

BAUD = 1_000_000
PATIENCE = 5.0
"""The kernel hands bytes through a pseudo terminal within this time of the machine [s]."""


def instruction1(id: int, instruction: int, *parameters: int) -> bytes:
    body = bytes((id, len(parameters) + 2, instruction, *parameters))
    return b"\xff\xff" + body + bytes((255 - sum(body) % 256,))


def crc16(data: bytes) -> int:
    """CRC-16 of the e-manual, bit by bit."""
    value = 0
    for byte in data:
        value ^= byte << 8
        for _ in range(8):
            value = (value << 1 ^ (0x8005 if value & 0x8000 else 0)) & 0xFFFF
    return value


def packet2(id: int, body: bytes) -> bytes:
    """Protocol 2 packet of a body that is taken as it is."""
    packet = b"\xff\xff\xfd\x00" + bytes((id,)) + (len(body) + 2).to_bytes(2, "little") + body
    return packet + crc16(packet).to_bytes(2, "little")


def instruction2(id: int, instruction: int, *parameters: int) -> bytes:
    body = bytes((instruction, *parameters))
    return packet2(id, body.replace(b"\xff\xff\xfd", b"\xff\xff\xfd\xfd"))


class Client:
    """Whoever opened the port, and the time both live in."""

    def __init__(self, emulation: DynamixelEmulation, clock: SimpleNamespace) -> None:
        self._clock = clock
        self.hand = SharedHand()
        self.emulator = emulation.open(self.hand)
        self._sent = 0
        send = self.emulator.line.send

        def counted(data: bytes) -> None:
            send(data)
            self._sent += len(data)

        self.emulator.line.send = counted  # type: ignore[method-assign]
        self.file = os.open(self.emulator.line.path, os.O_RDWR | os.O_NOCTTY)
        tty.setraw(self.file)
        self.set_baud(emulation.baud)

    def set_baud(self, baud: int) -> None:
        settings = termios.tcgetattr(self.file)
        settings[4] = settings[5] = getattr(termios, f"B{baud}")
        termios.tcsetattr(self.file, termios.TCSANOW, settings)

    @property
    def now(self) -> float:
        return self._clock.now

    def run(self, duration: float) -> None:
        """Let time pass [s]."""
        end = self._clock.now + duration
        while True:
            rest = self.emulator.serve(())
            if self._clock.now >= end:
                return
            self._clock.now = min(end, self._clock.now + max(rest, 1e-6))

    def send(self, data: bytes) -> None:
        os.write(self.file, data)
        files = self.emulator.files()
        taken = 0
        while taken < len(data):
            ready, _, _ = select.select(files, (), (), PATIENCE)
            assert ready
            taken += len(data)
            self.emulator.serve(ready)

    def received(self) -> bytes:
        """All that was sent to the client since it last looked."""
        data = b""
        while len(data) < self._sent:
            ready, _, _ = select.select((self.file,), (), (), PATIENCE)
            assert ready, f"only {data.hex()} of {self._sent} bytes came through"
            data += os.read(self.file, 4096)
        self._sent = 0
        return data

    def ask(self, data: bytes, patience: float = 0.03) -> bytes:
        """Send and return what comes back within a time [s]."""
        self.send(data)
        self.run(patience)
        return self.received()

    def say(self, line: str) -> str:
        return self.emulator.console.execute(line)

    # Registers by name, as a client would read and write them.

    def _register(self, name: str, id: int):
        device = next(device for device in self.emulator.devices if device.id == id)
        return device, device.registers.table[name]

    def write(self, name: str, value: int, id: int = 1) -> int:
        """Write a register and return the status packet's error byte."""
        device, register = self._register(name, id)
        data = register.encode(value)
        if device.protocol == 1:
            answer = self.ask(instruction1(id, 3, register.address, *data))
            assert answer[:3] == b"\xff\xff" + bytes((id,))
            return answer[4]
        answer = self.ask(instruction2(id, 3, *register.address.to_bytes(2, "little"), *data))
        assert answer[:5] == b"\xff\xff\xfd\x00" + bytes((id,))
        return answer[8]

    def read(self, name: str, id: int = 1) -> int:
        """Read a register."""
        device, register = self._register(name, id)
        if device.protocol == 1:
            answer = self.ask(instruction1(id, 2, register.address, register.size))
            return register.decode(answer[5:-1])
        parameters = register.address.to_bytes(2, "little") + register.size.to_bytes(2, "little")
        answer = self.ask(instruction2(id, 2, *parameters))
        return register.decode(answer[9:-2].replace(b"\xff\xff\xfd\xfd", b"\xff\xff\xfd"))

    def write_all(self, id: int = 1, /, **values: int) -> None:
        for name, value in values.items():
            assert self.write(name, value, id) == 0, name

    @property
    def position(self) -> float:
        """Where the first pendulum really is [rad]."""
        return self.emulator.devices[0].mechanism.plant.position

    def close(self) -> None:
        os.close(self.file)
        self.emulator.close()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    clock = SimpleNamespace(now=100.0)
    clock.perf_counter = lambda: clock.now
    live_in(monkeypatch, clock)
    return clock


@pytest.fixture
def connect(clock: SimpleNamespace) -> Iterator:
    """Make a bus of servos and return its client."""
    clients: list[Client] = []

    def make(*servos: str | EmulatedDynamixel, **options) -> Client:
        emulated = tuple(
            EmulatedDynamixel(servo=servo, id=number) if isinstance(servo, str) else servo
            for number, servo in enumerate(servos, 1)
        )
        options.setdefault("baud", BAUD)
        clients.append(Client(DynamixelEmulation(servos=emulated, **options), clock))
        return clients[-1]

    yield make
    for client in clients:
        client.close()
