"""What fails half-way leaves nothing behind: no port, lock, process, file descriptor or shared memory.

Each step that opens something fails in turn, for want of file descriptors.
"""

import gc
import os
import resource
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from multiprocessing import active_children, get_context
from pathlib import Path

import pytest

from drivers.emulators.dynamixel import DynamixelEmulation, EmulatedDynamixel
from drivers.emulators.process import EmulatorProcess
from drivers.emulators.serial_bus.line import Line
from drivers.errors import BusError, DriverError
from drivers.recorder import Recorder
from drivers.serial_bus.bus import Bus
from drivers.simulated.hand import SharedHand
from tests.drivers.fake_servo import FakeLog, FakeSource, GuardedSource
from tests.drivers.machine import end_others
from tests.waiting import LIMIT

MOST_STEPS = 40


def held():
    """Counts what this process holds: targets of its file descriptors, shared mappings, processes it started."""
    gc.collect()
    holds = Counter(str(child) for child in active_children())
    holds["shared mappings"] = sum("rw-s" in line for line in Path("/proc/self/maps").read_text("utf-8").splitlines())
    for file in Path("/proc/self/fd").iterdir():
        try:
            holds[os.readlink(file)] += 1
        except OSError:  # that of the listing itself
            continue
    return holds


def left(before):
    """Return what this process holds that it did not hold before; threads of other tests may end meanwhile."""
    return held() - before


@contextmanager
def descriptors(count):
    """Let this process open so many files more."""
    used = {int(name) for name in os.listdir("/proc/self/fd")}
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    free = [number for number in range(limits[0]) if number not in used]
    resource.setrlimit(resource.RLIMIT_NOFILE, (free[count], limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def port(folder):
    bus = Bus(str(folder / "port"), 2, 57600)
    bus.open()
    return bus


EMULATION = DynamixelEmulation(servos=(EmulatedDynamixel(servo="xl330"),))
IN_THIS_PROCESS = {
    "a port": port,
    "an emulated port": lambda folder: replace(EMULATION, link=str(folder / "link")).open(SharedHand()),
    "a recorder's memory": lambda folder: Recorder(FakeSource(log=LOG)),
}
LOG = FakeLog()


@pytest.fixture
def folder(tmp_path):
    """Has a port that nobody uses."""
    ours, theirs = os.openpty()
    (tmp_path / "port").symlink_to(os.ttyname(theirs))
    yield tmp_path
    os.close(ours)
    os.close(theirs)


@pytest.mark.parametrize("what", IN_THIS_PROCESS)
def test_what_is_opened_without_enough_descriptors_leaves_none_behind(folder, what):
    begin = IN_THIS_PROCESS[what]
    begin(folder).close()  # whatever is loaded once
    before = held()
    for count in range(MOST_STEPS):
        with descriptors(count):
            try:
                made = begin(folder)
            except (BusError, OSError):
                made = None
        if made is not None:
            made.close()
            del made
            break
        assert not left(before), f"after {count} descriptors"
    assert 0 < count < MOST_STEPS
    assert not left(before)


def test_an_emulated_port_without_its_link_is_closed_again():
    before = held()
    with pytest.raises(BusError, match="choose another path for its link"):
        Line("/nowhere/port")
    assert not left(before)


class Unsendable:
    """Can be sent to so many processes."""

    def __init__(self, processes):
        self.left = processes

    def __reduce__(self):
        self.left -= 1
        if self.left < 0:
            raise OSError("cannot be sent")
        return Unsendable, (self.left,)


@dataclass(frozen=True, kw_only=True)
class Source(GuardedSource):
    processes: Unsendable = field(default_factory=lambda: Unsendable(2))


def recorder(**source):
    return Recorder(Source(log=LOG, **source))


STARTS = {
    "a recorder that cannot be sent its source": (
        lambda: recorder(processes=Unsendable(0)),
        LIMIT,
        "cannot be sent",
    ),
    "a guardian that cannot": (lambda: recorder(processes=Unsendable(1)), LIMIT, "cannot be sent"),
    "a recorder without an answer": (lambda: recorder(mute=True), LIMIT, "no answer to the ping"),
    "a recorder that takes too long": (recorder, -1.0, "not connected within -1 s"),
    "an emulator that cannot be sent its hand": (
        lambda: EmulatorProcess(EMULATION, Unsendable(0)),
        LIMIT,
        "cannot be sent",
    ),
    "an emulator without its link": (
        lambda: EmulatorProcess(replace(EMULATION, link="/nowhere/port")),
        LIMIT,
        "could not be started",
    ),
    "an emulator that takes too long": (lambda: EmulatorProcess(EMULATION), 0.0, "did not start within 0 s"),
}


@pytest.mark.parametrize("what", STARTS)
def test_what_fails_to_start_leaves_no_process_behind(warm, what):
    end_others()
    make, timeout, reason = STARTS[what]
    first = get_context("spawn").Process(target=int)  # from here on there is one that others are forked from
    first.start()
    first.join()
    first.close()
    before = held()
    made = make()
    with pytest.raises((DriverError, OSError), match=reason):
        made.start(timeout)
    assert active_children() == []
    made.close()
    del made
    assert not left(before)
