"""An emulator in a process of its own: start, console, end.

Example:
    with EmulatorProcess(source) as emulator:
        address = emulator.addresses[0]
        emulator.say("drop 3")
"""

from __future__ import annotations

import gc
import select
import signal
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Any, Protocol, Self

from core.base.errors import ServoBenchError
from drivers import timing
from drivers.emulators.console import Console
from drivers.errors import BusError, CommandError
from drivers.priority import raise_priority
from drivers.simulated.hand import SharedHand

START_LIMIT = 60.0
"""Longest time for the start [s]; the first one may compile the simulation."""
PRIORITY = 10
"""Priority of real-time scheduling, below that of a recorder."""
LONGEST_REST = 0.005
"""Longest pause between two updates of the pendulum [s]."""


class Emulator(ABC):
    """One emulated bus with its devices. Used by one thread."""

    def __init__(self) -> None:
        self.console = Console()

    @property
    @abstractmethod
    def addresses(self) -> tuple[str, ...]:
        """Servo addresses of its devices."""

    @abstractmethod
    def files(self) -> Collection[int]:
        """Return the file descriptors whose input it waits for now."""

    @abstractmethod
    def serve(self, ready: Collection[int]) -> float:
        """Answer the input of these descriptors, advance to the current time, and return how long it may rest [s]."""

    @abstractmethod
    def close(self) -> None:
        """Leave the bus. Idempotent."""


class EmulatorSource(Protocol):
    """A picklable description of an emulator."""

    def open(self, hand: SharedHand) -> Emulator:
        """Enter the bus and return the emulator.

        Args:
            hand: Moves the pendulum of the first device.
        """
        ...


def hurry() -> None:
    """Request immediate scheduling: hardware is not late because a window is busy."""
    # A garbage collection of the compiled simulation would take a twentieth of a second.
    gc.freeze()
    raise_priority(PRIORITY)


def interrupt_on_termination() -> None:
    """Let SIGTERM end this process like Ctrl+C, so that an emulator leaves its bus."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)


def run(emulator: Emulator, console: int, heed: Callable[[], bool]) -> None:
    """Serve until `heed` returns False or the process is interrupted.

    `heed` is called whenever the descriptor `console` has something to read.
    """
    rest = 0.0
    with suppress(KeyboardInterrupt):
        while True:
            ready, _, _ = select.select([*emulator.files(), console], (), (), min(max(rest, 0.0), LONGEST_REST))
            if console in ready and not heed():
                return
            rest = emulator.serve([file for file in ready if file != console])


class EmulatorProcess:
    """Owns an emulator's process, which ends with the program that started it."""

    def __init__(self, source: EmulatorSource, hand: SharedHand | None = None) -> None:
        """Prepare an emulator without starting it.

        Args:
            source: Description of the emulator.
            hand: Hand shared with the emulator, to move its pendulum from here.
        """
        self._source = source
        self.hand = SharedHand() if hand is None else hand
        self._process: SpawnProcess | None = None
        self._pipe: Connection | None = None
        self.addresses: tuple[str, ...] = ()
        """Servo addresses of its devices; empty before it was started."""

    def launch(self) -> None:
        """Start the process and return at once; `ready` reports when it has entered its bus."""
        context = get_context("spawn")
        here, there = context.Pipe()
        process = context.Process(target=_be, args=(self._source, self.hand, there), name="emulator", daemon=True)
        process.start()
        there.close()
        self._process, self._pipe = process, here

    def ready(self) -> bool:
        """Return True once it has entered its bus; raises BusError if it could not."""
        if not self.addresses and self._pipe is not None and self._pipe.poll():
            self.addresses = self._received()[1]
        return bool(self.addresses)

    def start(self, timeout: float = START_LIMIT) -> tuple[str, ...]:
        """Start the process, wait until it has entered its bus, and return the addresses; raises BusError."""
        self.launch()
        assert self._pipe is not None
        if not self._pipe.poll(timeout):
            self.close()
            raise BusError(f"the emulator did not start within {timeout:g} s; check the processor's load")
        self.ready()
        return self.addresses

    def say(self, line: str) -> str:
        """Send a line to the console and return the answer.

        Raises:
            CommandError: if the console refuses the line.
            BusError: if the emulator does not answer.
        """
        pipe = self.send(line)
        if not pipe.poll(timing.limits.emulator_answer):
            raise BusError(
                f"the emulator's console did not answer within {timing.limits.emulator_answer:g} s; start it again"
            )
        kind, answer = self._received()
        if kind == "refused":
            raise CommandError(answer)
        return answer

    def send(self, line: str) -> Connection:
        """Send a line to the console without waiting; `answer` returns the answers in order. Raises BusError."""
        if self._pipe is None:
            raise BusError("the emulator is not running; start it first")
        try:
            self._pipe.send(line)
        except ConnectionError:
            raise BusError("the emulator is gone; start it again") from None
        return self._pipe

    def answer(self) -> str | None:
        """Return the next answer to a line that was sent, a refusal as its reason; None if there is none yet."""
        return self._received()[1] if self._pipe is not None and self._pipe.poll() else None

    @property
    def alive(self) -> bool:
        """True while its process runs."""
        return self._process is not None and self._process.is_alive()

    @property
    def pid(self) -> int | None:
        """Process id; None while it is not launched."""
        return self._process.pid if self._process is not None else None

    def close(self) -> None:
        """End it. Idempotent."""
        process, pipe = self._process, self._pipe
        self._process = self._pipe = None
        self.addresses = ()
        if pipe is not None:
            pipe.close()
        if process is not None:
            process.join(1.0)
            if process.is_alive():
                process.kill()
                process.join()
            process.close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _received(self) -> tuple[str, Any]:
        assert self._pipe is not None
        try:
            kind, value = self._pipe.recv()
        except (EOFError, ConnectionError):
            self.close()
            raise BusError("the emulator ended; start it again") from None
        if kind == "failed":
            self.close()
            raise BusError(value)
        return kind, value


def _be(source: EmulatorSource, hand: SharedHand, pipe: Connection) -> None:
    """Run an emulator's process."""
    # Ctrl+C in a terminal reaches every process there; this one ends with the program that owns it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    interrupt_on_termination()
    try:
        emulator = source.open(hand)
    except Exception as error:
        text = str(error) if isinstance(error, ServoBenchError) else f"{type(error).__name__}: {error}"
        pipe.send(("failed", f"the emulator could not be started: {text}"))
        return
    hurry()
    pipe.send(("answer", emulator.addresses))

    def heed() -> bool:
        try:
            pipe.send(_answered(emulator.console, pipe.recv()))
        except (EOFError, ConnectionError):
            return False
        return True

    try:
        run(emulator, pipe.fileno(), heed)
    finally:
        emulator.close()


def _answered(console: Console, line: str) -> tuple[str, str]:
    try:
        return "answer", console.execute(line)
    except CommandError as error:
        return "refused", str(error)
