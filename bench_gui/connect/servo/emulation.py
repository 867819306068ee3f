"""An emulated servo the window runs: a device in a process of its own, found under a real bus's address."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from PySide6.QtCore import QObject, Signal

from bench_gui.state.setup import BenchSetup
from core.errors import ServoBenchError
from drivers.emulators.process import EmulatorProcess
from drivers.emulators.registry import emulator_source
from drivers.simulated import SharedHand


class Emulation(QObject):
    """At most one emulator. What hangs on it is what the bench is said to carry, as if a hand had hung it there."""

    started = Signal(str)
    """Address of its first servo."""
    ended = Signal(str)
    """Why, empty when it was asked to."""
    answered = Signal(str)
    """What the console says to a line of `say`."""

    def __init__(self, setup: BenchSetup, farewell: Callable[[EmulatorProcess], None]) -> None:
        """farewell: closes an emulator without keeping the window waiting."""
        super().__init__()
        self._farewell = farewell
        self._setup = setup
        self._process: EmulatorProcess | None = None
        self._reported = False
        self._load = ""
        self._heard: deque[bool] = deque()
        """For every line that was sent whether its answer is for a person."""

    @property
    def running(self) -> bool:
        """Whether one was started and has not ended."""
        return self._process is not None

    @property
    def addresses(self) -> tuple[str, ...]:
        """Of its servos; empty before it has entered its bus."""
        return self._process.addresses if self._process is not None else ()

    def hand_at(self, address: str) -> SharedHand | None:
        """The hand on the pendulum of the servo with this address; None if that is not the emulator's first."""
        return self._process.hand if self._process is not None and address in self.addresses[:1] else None

    def emulates(self, address: str) -> bool:
        """Return True for the address of a servo of the emulator."""
        return address in self.addresses

    def start(self, text: str) -> None:
        """Start the emulator a text describes, see drivers.emulators.registry. Raises AddressError."""
        self.stop()
        process = EmulatorProcess(emulator_source(text))
        process.launch()
        self._process, self._reported, self._load = process, False, ""
        self._heard.clear()

    def say(self, line: str) -> None:
        """Say a line to its console; `answered` follows."""
        self._send(line, True)

    def stop(self) -> None:
        """End it. Idempotent."""
        self._end("")

    def close(self) -> None:
        """End it and wait until it has."""
        process, self._process = self._process, None
        if process is not None:
            process.close()

    def tick(self) -> None:
        """Take what it said; called by the window's timer."""
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
