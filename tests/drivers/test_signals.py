"""Signals, as a terminal or another program sends them: none leaves a motor driven with nobody in charge."""

import os
import signal
import time
from multiprocessing import get_context

import pytest

from drivers.limits import Limits
from drivers.recorder import Recorder
from drivers.recorder.messages import Connected
from tests.drivers.fake_servo import FakeLog, GuardedSource
from tests.drivers.recording_program import HEADER, LONG, gone
from tests.waiting import wait_until

CONTEXT = get_context("spawn")
LIMITS = Limits(speed=1000.0, torque=2.0)
STOPPED = (signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU)
ENDED = (signal.SIGQUIT, signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1)
CRASHES = {signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGABRT, signal.SIGTRAP, signal.SIGSYS}
HARMLESS = {signal.SIGCHLD, signal.SIGCONT, signal.SIGURG, signal.SIGWINCH, signal.SIGPIPE, signal.SIGXFSZ}


def in_a_group(work, source):
    """Be a program that a shell started."""
    os.setpgid(0, 0)
    for number in (*STOPPED, *ENDED):
        # Whoever runs these tests may ignore some, as `nohup` and a shell's background do.
        signal.signal(number, signal.SIG_DFL)
    recorder = Recorder(source, limits=LIMITS)
    recorder.start()
    work(recorder)
    while True:
        recorder.beat()
        recorder.poll()
        time.sleep(0.02)  # the window's timer


def run(recorder):
    recorder.record(LONG, HEADER)


def hold(recorder):
    recorder.hold(0.0, HEADER)


def answered(pid):
    """Numbers of the signals that a process handles or ignores."""
    masks = {}
    with open(f"/proc/{pid}/status", encoding="utf-8") as status:
        for line in status:
            name, _, value = line.partition(":")
            masks[name] = value
    mask = int(masks["SigCgt"], 16) | int(masks["SigIgn"], 16)
    return {number for number in range(1, 65) if mask >> number - 1 & 1}


ALL = pytest.mark.exhaustive("the other signals, each in a run, on the way to one and while a torque is held")


@pytest.mark.parametrize(
    ("number", "act", "shaking"),
    [
        (signal.SIGTSTP, run, False),
        (signal.SIGQUIT, hold, False),
        *(pytest.param(number, run, True, marks=ALL) for number in (signal.SIGTTIN, signal.SIGHUP, signal.SIGINT)),
        *(pytest.param(number, hold, False, marks=ALL) for number in (signal.SIGTSTP, signal.SIGTERM)),
    ],
)
def test_a_signal_to_all_processes_of_a_terminal_releases_the_servo(number, act, shaking, request):
    """Ctrl-Z, Ctrl-\\, Ctrl-C, a closed terminal: in a run, on the way to its beginning, and while a torque is held."""
    if number in STOPPED:
        request.getfixturevalue("impatient")
    log = FakeLog()
    owner = CONTEXT.Process(target=in_a_group, args=(act, GuardedSource(log=log, shaking=shaking)))
    owner.start()
    try:
        wait_until(lambda: log["enables"])
        os.killpg(owner.pid, number)
        wait_until(lambda: not log["driven"])
    finally:
        owner.kill()
        owner.join()
    wait_until(lambda: gone(log["pid"]))
    assert not log["driven"]


def test_recorder_and_guardian_answer_every_signal_that_would_end_or_stop_them():
    with Recorder(GuardedSource(log=FakeLog())) as recorder:
        recorder.start()
        for pid in (recorder._child.pid, recorder._child._guardian.pid):
            assert os.getsid(pid) == pid
            left = signal.valid_signals() - answered(pid)
            assert left <= {signal.SIGKILL, signal.SIGSTOP, signal.SIGSTKFLT, *CRASHES, *HARMLESS}


def test_a_servo_is_ready_once_its_guardian_watches():
    log = FakeLog()
    with Recorder(GuardedSource(log=log)) as recorder:
        recorder.launch()
        os.kill(recorder._child._guardian.pid, signal.SIGSTOP)
        wait_until(lambda: log["pid"])
        for _ in range(20):
            assert not recorder.poll()
            time.sleep(0.02)  # an early Connected would have come; a late one turns nothing red
        os.kill(recorder._child._guardian.pid, signal.SIGCONT)
        [told] = wait_until(recorder.poll)
        assert isinstance(told, Connected)
