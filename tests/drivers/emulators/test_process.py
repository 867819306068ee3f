"""An emulator's process: what it says when it cannot start, and that no end of it leaves anything open."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass
from multiprocessing import active_children
from pathlib import Path

import pytest

from core.base.errors import InputError
from drivers.emulators.process import Emulator, EmulatorProcess
from drivers.errors import BusError, CommandError
from tests.drivers.machine import end_others, set_limits
from tests.waiting import wait_until

pytestmark = pytest.mark.usefixtures("warm")


class Bare(Emulator):
    """No bus at all; its console takes its time if it is told to."""

    addresses = ("nothing:1", "nothing:2")

    def __init__(self, left: Path) -> None:
        super().__init__()
        self._left = left
        self.console.add("echo", "echo WORD", "say it", lambda words: words[0])
        self.console.add("pause", "pause", "say nothing for ever", lambda words: time.sleep(3600))

    def files(self):
        return ()

    def serve(self, ready):
        return 1.0

    def close(self):
        self._left.touch()


@dataclass
class Source:
    left: Path
    trouble: str = ""

    def open(self, hand):
        if self.trouble == "ends":
            os._exit(1)
        if self.trouble == "hangs":
            time.sleep(3600)
        if self.trouble:
            raise {"refuses": InputError, "breaks": RuntimeError}[self.trouble](self.trouble)
        return Bare(self.left)


@pytest.fixture
def left(tmp_path):
    return tmp_path / "left"


@pytest.fixture(autouse=True)
def nothing_stays_open(left, warm):
    end_others()
    with EmulatorProcess(Source(left)):
        pass
    left.unlink()
    before = len(os.listdir("/proc/self/fd"))
    yield
    assert not active_children()
    assert len(os.listdir("/proc/self/fd")) <= before


@pytest.mark.parametrize(
    ("trouble", "message"),
    [
        ("refuses", "the emulator could not be started: refuses"),
        ("breaks", "the emulator could not be started: RuntimeError: breaks"),
        ("ends", "the emulator ended; start it again"),
        ("hangs", "the emulator did not start within 0 s; check the processor's load"),
    ],
)
def test_an_emulator_that_cannot_start_says_why(left, trouble, message):
    process = EmulatorProcess(Source(left, trouble))
    with pytest.raises(BusError, match=message):
        process.start(0.0 if trouble == "hangs" else 60.0)
    assert (process.alive, process.pid, process.addresses) == (False, None, ())
    with pytest.raises(BusError, match="the emulator is not running; start it first"):
        process.say("help")


def test_it_enters_its_bus_answers_in_order_and_leaves(left):
    process = EmulatorProcess(Source(left))
    process.launch()
    wait_until(process.ready)
    assert (process.addresses, process.alive) == (("nothing:1", "nothing:2"), True)
    assert process.answer() is None
    process.send("echo one")
    process.send("echo two")
    assert [wait_until(process.answer) for _ in range(2)] == ["one", "two"]
    with pytest.raises(CommandError, match="unknown command 'nonsense'"):
        process.say("nonsense")
    process.close()
    process.close()
    wait_until(left.exists)
    assert (process.alive, process.addresses) == (False, ())


def test_one_that_was_ended_is_told_from_one_that_is_silent(left, monkeypatch):
    for number in (signal.SIGKILL, signal.SIGTERM):
        with EmulatorProcess(Source(left)) as process:
            os.kill(process.pid, number)
            wait_until(lambda process=process: not process.alive)
            with pytest.raises(BusError, match="the emulator is gone; start it again"):
                process.say("help")
            assert left.exists() == (number == signal.SIGTERM)
    with EmulatorProcess(Source(left)) as process:
        set_limits(monkeypatch, emulator_answer=0.1)
        with pytest.raises(BusError, match=r"console did not answer within 0\.1 s; start it again"):
            process.say("pause")
        assert process.alive
