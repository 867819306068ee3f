"""Signals, as a terminal or another program sends them: none leaves a motor driven with nobody in charge."""

import math
import os
import signal
from multiprocessing import get_context

import pytest

from drivers.recorder import Recorder
from tests.drivers.fake_servo import FakeLog, GuardedSource
from tests.drivers.recording_program import HEADER, hold, program
from tests.drivers.test_recorder import gone
from tests.waiting import wait_until

CONTEXT = get_context("spawn")
STOPPED = (signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU)
ENDED = (signal.SIGQUIT, signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1)
CRASHES = {signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGABRT, signal.SIGTRAP, signal.SIGSYS}
HARMLESS = {signal.SIGCHLD, signal.SIGCONT, signal.SIGURG, signal.SIGWINCH, signal.SIGPIPE, signal.SIGXFSZ}


def in_a_group(work, *arguments):
    """Be a program that a shell started."""
    os.setpgid(0, 0)
    work(*arguments)


def answered(pid):
    """Numbers of the signals that a process handles or ignores."""
    masks = {}
    with open(f"/proc/{pid}/status", encoding="utf-8") as status:
        for line in status:
            name, _, value = line.partition(":")
            masks[name] = value
    mask = int(masks["SigCgt"], 16) | int(masks["SigIgn"], 16)
    return {number for number in range(1, 65) if mask >> number - 1 & 1}


@pytest.mark.parametrize("number", [*STOPPED, *ENDED], ids=lambda number: number.name)
def test_a_signal_to_all_processes_of_a_terminal_releases_the_servo(number, tmp_path, request):
    """Ctrl-Z, Ctrl-\\\\, Ctrl-C, a closed terminal: in a run, on the way to its beginning, and while a torque is held."""
    if number in STOPPED:
        request.getfixturevalue("impatient")
    works = {
        "run": (program, GuardedSource(log=FakeLog()), tmp_path, math.inf, False),
        "approach": (program, GuardedSource(log=FakeLog(), shaking=True), tmp_path, math.inf, False),
        "hold": (hold, GuardedSource(log=FakeLog())),
    }
    owners = {name: CONTEXT.Process(target=in_a_group, args=work) for name, work in works.items()}
    logs = {name: work[1].log for name, work in works.items()}
    for owner in owners.values():
        owner.start()
    try:
        wait_until(lambda: logs["run"]["commands"] > 150 and logs["approach"]["driven"] and logs["hold"]["driven"])
        for owner in owners.values():
            os.killpg(owner.pid, number)
        wait_until(lambda: not any(log["driven"] for log in logs.values()), told=lambda: {n: log["driven"] for n, log in logs.items()})
    finally:
        for owner in owners.values():
            owner.kill()
            owner.join()
    wait_until(lambda: all(gone(log["pid"]) for log in logs.values()))
    assert not any(log["driven"] for log in logs.values())


def test_recorder_and_guardian_answer_every_signal_that_would_end_or_stop_them():
    with Recorder(GuardedSource(log=FakeLog())) as recorder:
        recorder.start()
        for pid in (recorder._child.pid, recorder._child._guardian.pid):
            left = signal.valid_signals() - answered(pid)
            assert left <= {signal.SIGKILL, signal.SIGSTOP, signal.SIGSTKFLT, *CRASHES, *HARMLESS}
            assert os.getsid(pid) == pid


@pytest.mark.parametrize("number", [signal.SIGQUIT, signal.SIGTSTP, signal.SIGSEGV], ids=lambda number: number.name)
def test_a_signal_to_the_recorder_alone_releases_the_servo(number):
    log = FakeLog()
    with Recorder(GuardedSource(log=log)) as recorder:
        recorder.start()
        recorder.hold(0.0, HEADER)
        wait_until(lambda: log["driven"], recorder.beat)
        os.kill(log["pid"], number)
        wait_until(lambda: not log["driven"], recorder.beat)
        wait_until(lambda: recorder.poll() is not None and recorder.fault, recorder.beat)


@pytest.mark.parametrize("number", [signal.SIGQUIT, signal.SIGTSTP, signal.SIGTERM], ids=lambda number: number.name)
def test_a_guardian_outlives_what_is_sent_to_it(number):
    log = FakeLog()
    with Recorder(GuardedSource(log=log)) as recorder:
        recorder.start()
        recorder.hold(0.0, HEADER)
        wait_until(lambda: log["driven"], recorder.beat)
        os.kill(recorder._child._guardian.pid, number)
        os.kill(log["pid"], signal.SIGKILL)
        wait_until(lambda: log["blind_releases"] and not log["driven"])
