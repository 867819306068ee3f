"""An emulated servo, the real driver in the recorder's process, and a session on disk: what a fault is planted into."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from contextlib import contextmanager, suppress
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from core.motion.recording import RunHeader
from core.motion.trajectories import make_trajectory
from core.servo.bench import Bench
from core.servo.catalogue import load_servo
from core.servo.settings import ServoSettings
from drivers.emulators.process import EmulatorProcess
from drivers.emulators.registry import emulator_source
from drivers.errors import MotorOn
from drivers.recorder import Recorder, RunResult
from drivers.recorder.run import Phase
from drivers.registry import ServoAddress
from sessions import Session
from tests.drivers.recording_program import gone
from tests.waiting import wait_until

RATE = 100.0
FIRST_SAMPLES = 0.3 * RATE
"""Of a run before a fault is planted."""
CONTEXT = get_context("spawn")
LOADS = {
    "xl330": (0.05, 0.1),
    "mx106": (0.5, 0.15),
    "erob80_50": (4.0, 0.2),
    "sts3215": (0.5, 0.1),
    "scs0009": (0.04, 0.1),
}


class Rig:
    """One servo in a run."""

    def __init__(self, emulator: EmulatorProcess, servo: str, folder: Path) -> None:
        mass, length = LOADS[servo]
        self.emulator, self.servo, self.folder = emulator, servo, folder
        self.bench = Bench(mass=mass, length=length)
        emulator.say(f"load {mass} {length}")
        self.recorder = Recorder(self.address, stop_lock=0.1)
        self._last: RunResult | None = None

    @property
    def address(self) -> str:
        [address, *_] = self.emulator.addresses
        return address

    @property
    def header(self) -> RunHeader:
        spec = load_servo(self.servo)
        settings = ServoSettings(servo=self.servo, kp=spec.default_kp, supply_voltage=spec.supply_voltage)
        return RunHeader(trajectory="sin_sin", bench=self.bench, settings=settings, rate=RATE)

    def truth(self) -> dict[str, float]:
        """What the emulator knows of its servo."""
        return {name: float(value) for name, value in re.findall(r"(\w+)=(\S+)", self.emulator.say("state"))}

    def driven(self) -> bool:
        return bool(self.truth()["driven"])

    def begin(self, sink: Any = None) -> None:
        """Start a run of ten minutes and wait until a third of a second of it is recorded."""
        self.recorder.start()
        sink = sink or Session.open_or_create(self.folder / "session").sink()
        self.recorder.record(make_trajectory("sin_sin", 600.0), self.header, sink)
        self.until(lambda: self._last is not None or recorded(self.recorder) > FIRST_SAMPLES)
        assert self._last is None, f"the run is over already: {self._last}"

    def until(self, true: Callable[[], Any], beat: bool = True) -> None:
        """Go on as the window does until something is true."""

        def live() -> None:
            if beat:
                self.recorder.beat()
            for event in self.recorder.poll():
                self._last = getattr(event, "result", None) or self._last

        wait_until(true, live, lambda: f"{self.recorder.status}, {self.emulator.say('state')}")

    def until_off(self, beat: bool = True) -> None:
        """Wait until the motor is off, as the emulator knows it."""
        self.until(lambda: not self.driven(), beat)

    def ended(self) -> RunResult:
        """Wait for the run's result."""
        self.until(lambda: self._last is not None)
        assert self._last is not None
        return self._last

    def kept(self) -> int:
        """Samples in the session, a crashed run recovered as it is when somebody opens it."""
        runs = Session.open(self.folder / "session").load_all()
        return runs[-1].samples if runs else 0


@contextmanager
def rig_with(what: str, folder: Path):
    """An emulated servo and a recorder that is not started yet."""
    address = ServoAddress.parse(what)
    link = f"?link={folder / 'port'}" if address.family != "ethercat" else ""
    with EmulatorProcess(emulator_source(f"{what}{link}")) as emulator:
        made = Rig(emulator, address.parts[0], folder)
        try:
            yield made
        finally:
            # Tests of a motor that stays on see to that themselves.
            with suppress(MotorOn):
                made.recorder.close()


def recorded(recorder: Recorder) -> int:
    """Samples of the run so far."""
    return recorder.status.done - recorder.status.skipped_cycles


def program(address: str, header: RunHeader, folder: Path) -> None:
    """Record as the window does, for a test that kills or stops this process."""
    recorder = Recorder(address)
    recorder.start()
    session = Session.open_or_create(folder / "session")
    recorder.record(make_trajectory("sin_sin", 600.0), header, session.sink())
    told = folder / "pids"
    while True:
        recorder.beat()
        recorder.poll()
        if recorder.phase is Phase.RUN and recorded(recorder) > FIRST_SAMPLES and not told.exists():
            (folder / "fresh").write_text(f"{os.getpid()} {recorder._child.pid}", "utf-8")
            (folder / "fresh").rename(told)
        time.sleep(0.02)  # the window's timer


@contextmanager
def another_program(made: Rig):
    """The window's stand-in in a process of its own, in a run; yields its process id."""
    owner = CONTEXT.Process(target=program, args=(made.address, made.header, made.folder))
    owner.start()
    told = made.folder / "pids"
    recorder = 0
    try:
        made.until(told.exists, beat=False)
        window, recorder = (int(word) for word in told.read_text("utf-8").split())
        yield window
    finally:
        owner.kill()
        owner.join()
        # It gives the bus back once it has seen that its program is gone.
        wait_until(lambda: gone(recorder))
