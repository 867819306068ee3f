"""Emulated serial servos and their driver in one process, in a time that stands still while anybody computes.

Who waits (the driver for an answer or for a while, a loop for its next cycle, a test) lets the emulators do what is due
and takes the time there. So waiting costs nothing, every run is the same, and a duration is what the code makes of it.
The line between both is memory; that the driver opens pseudo terminals and talks through them is for `test_ports`.
"""

from __future__ import annotations

import errno
import math
import os
from collections.abc import Callable
from contextlib import suppress
from types import SimpleNamespace
from typing import ClassVar

import pytest
import serial

from drivers.emulators.serial_bus import line
from drivers.emulators.serial_bus.source import SerialEmulation
from drivers.simulated.hand import SharedHand
from tests.drivers.machine import live_in

MOMENT = 1e-6
"""[s]"""


class Time:
    """The machine's time, and a servo's clock."""

    virtual, speed = False, 1.0

    def __init__(self) -> None:
        self._now = 1000.0
        self.buses: list[Bus] = []

    def now(self) -> float:
        return self._now

    perf_counter = now

    def sleep(self, seconds: float) -> None:
        self.wait_until(self._now + seconds)

    def wait_until(self, deadline: float, interrupted: Callable[[], bool] = lambda: False) -> None:
        """Go on, from one thing that is due on the buses to the next, until a moment [s] or until interrupted."""
        while True:
            rest = min((bus.serve() for bus in self.buses), default=math.inf)
            if self._now >= deadline or interrupted():
                return
            self._now = min(deadline, self._now + max(rest, MOMENT))


class Bus:
    """An emulator of this process; what `EmulatorProcess` is for one of its own."""

    def __init__(self, source: SerialEmulation, clock: Time) -> None:
        self.clock = clock
        self.emulator = source.open(SharedHand())
        self.addresses = self.emulator.addresses
        self.stopped = False
        """True: it does nothing, like a process that was stopped."""
        clock.buses.append(self)

    def serve(self) -> float:
        """Do what is due; returns how long there is nothing more to do [s]."""
        return math.inf if self.stopped else self.emulator.serve(self.emulator.files())

    def say(self, command: str) -> str:
        self.serve()
        return self.emulator.console.execute(command)

    def close(self) -> None:
        if self in self.clock.buses:
            self.clock.buses.remove(self)
        self.emulator.close()


class Wire:
    """The emulator's end of a line: bytes from the client come through a pipe, those for it lie in `heard`."""

    plugged_in: ClassVar[dict[str, Wire]] = {}
    """By path."""

    def __init__(self, link: str | None = None) -> None:
        self.path = link or f"/virtual/{id(self):x}"
        self.rate = 0.0
        self.file = self.client_file = -1
        self.heard = bytearray()
        self.plug()

    @property
    def plugged(self) -> bool:
        return self.file >= 0

    def plug(self) -> None:
        if not self.plugged:
            self.file, self.client_file = os.pipe()
            for file in (self.file, self.client_file):
                os.set_blocking(file, False)
            self.plugged_in[self.path] = self

    def unplug(self) -> None:
        if self.plugged:
            os.close(self.file)
            os.close(self.client_file)
            self.file = self.client_file = -1
            del self.plugged_in[self.path]

    def receive(self) -> bytes:
        with suppress(BlockingIOError):
            return os.read(self.file, 1 << 20)
        return b""

    def send(self, data: bytes) -> None:
        self.heard += data


class Port:
    """The client's end: as much of pyserial's Serial as the driver uses."""

    clock: Time

    def __init__(self, path: str, baud: int, *, timeout: float, **options: object) -> None:
        if path not in Wire.plugged_in:
            raise serial.SerialException(errno.ENOENT, "no such port")
        self._wire = Wire.plugged_in[path]
        self._wire.rate = baud
        self._file = os.dup(self._wire.client_file)
        self._timeout = timeout
        self.reset_input_buffer()

    def fileno(self) -> int:
        return self._file

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def read(self, size: int) -> bytes:
        wire = self._wire
        enough = lambda: len(wire.heard) >= size or not wire.plugged  # noqa: E731
        self.clock.wait_until(self.clock.now() + self._timeout, enough)
        if not wire.plugged:
            raise serial.SerialException("device reports readiness to read but returned no data")
        data = bytes(wire.heard[:size])
        del wire.heard[:size]
        return data

    @property
    def in_waiting(self) -> int:
        return len(self._wire.heard)

    def flush(self) -> None:
        self.clock.sleep(0.0)

    def reset_input_buffer(self) -> None:
        self._wire.heard.clear()

    def reset_output_buffer(self) -> None:
        self._wire.receive()


def virtual_time(monkeypatch: pytest.MonkeyPatch) -> Time:
    """Put the driver and the emulators of this process into a virtual time and return it."""
    clock = Time()
    live_in(monkeypatch, clock)
    # A port that takes nothing is waited for like everything else; to ask for it takes a moment.
    waiting = SimpleNamespace(select=lambda read, write, error, seconds: clock.sleep(seconds + MOMENT))
    monkeypatch.setattr("drivers.serial_bus.packets.select", waiting)
    monkeypatch.setattr(serial, "Serial", type("Port", (Port,), {"clock": clock}))
    monkeypatch.setattr(line, "Line", Wire)
    return clock
