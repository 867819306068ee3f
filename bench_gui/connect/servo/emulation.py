"""An emulated servo started by the window: a device in its own process, reached at a real bus's address."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from PySide6.QtCore import QObject, Signal

from bench_gui.state.setup import BenchSetup
from core.base.errors import ServoBenchError
from drivers.emulators.process import EmulatorProcess
from drivers.emulators.registry import emulator_source
from drivers.simulated import SharedHand


class Emulation(QObject):
    """At most one emulator at a time. It carries the load that the bench describes."""

    started = Signal(str)
    """Address of its first servo."""
    ended = Signal(str)
    """Reason why it ended; empty if the user ended it."""
    answered = Signal(str)
    """Answer of the console to a line of `say`."""

    def __init__(self, setup: BenchSetup, farewell: Callable[[EmulatorProcess], None]) -> None:
        """Prepare the emulator.

        Args:
            setup: Bench whose load the emulated servo carries.
            farewell: Closes an emulator without blocking the window.
        """
        super().__init__()
        self._farewell = farewell
        self._setup = setup
        self._process: EmulatorProcess | None = None
        self._reported = False
        self._load = ""
        self._heard: deque[bool] = deque()
        """For every line sent: True if its answer is shown to the user."""

    @property
    def running(self) -> bool:
        """True if an emulator was started and has not ended."""
        return self._process is not None

    @property
    def addresses(self) -> tuple[str, ...]:
        """Addresses of its servos; empty until it has joined its bus."""
        return self._process.addresses if self._process is not None else ()

    def hand_at(self, address: str) -> SharedHand | None:
        """Hand on the pendulum of the servo with this address; None unless it is the emulator's first."""
        return self._process.hand if self._process is not None and address in self.addresses[:1] else None

    def emulates(self, address: str) -> bool:
        """True if this is the address of one of the emulator's servos."""
        return address in self.addresses

    def start(self, text: str) -> None:
        """Start the emulator that a text describes; see drivers.emulators.registry.

        Raises:
            AddressError: The text describes no emulator.
        """
        self.stop()
        process = EmulatorProcess(emulator_source(text))
        process.launch()
        self._process, self._reported, self._load = process, False, ""
        self._heard.clear()

    def say(self, line: str) -> None:
        """Send a line to its console; `answered` follows."""
        self._send(line, True)

    def stop(self) -> None:
        """End the emulator. Idempotent."""
        self._end("")

    def close(self) -> None:
        """End the emulator and wait until it has ended."""
        process, self._process = self._process, None
        if process is not None:
            process.close()

    def tick(self) -> None:
        """Process its output; called by the window's timer."""
        process = self._process
        if process is None:
            return
        try:
            if not process.ready():
                return
            if not self._reported:
                self._reported = True
                self._hang()
                self.started.emit(process.addresses[0])
            self._hang()
            while self._process is process and (answer := process.answer()) is not None:
                if self._heard.popleft():
                    self.answered.emit(answer)
        except ServoBenchError as error:
            self._end(str(error))

    def _hang(self) -> None:
        bench = self._setup.bench
        load = f"load {bench.mass!r} {bench.length!r} {bench.arm_mass!r}"
        if load != self._load:
            self._load = load
            self._send(load, False)

    def _send(self, line: str, heard: bool) -> None:
        if self._process is None:
            return
        try:
            self._process.send(line)
        except ServoBenchError as error:
            self._end(str(error))
        else:
            self._heard.append(heard)

    def _end(self, reason: str) -> None:
        process, self._process = self._process, None
        if process is not None:
            self._farewell(process)
            self.ended.emit(reason)
