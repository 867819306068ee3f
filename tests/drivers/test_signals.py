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
from tests.drivers.recording_program import HEADER, LONG
from tests.drivers.test_recorder import gone
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


@pytest.mark.parametrize("number", [*STOPPED, *ENDED], ids=lambda number: number.name)
def test_a_signal_to_all_processes_of_a_terminal_releases_the_servo(number, request):
    """Ctrl-Z, Ctrl-\\, Ctrl-C, a closed terminal: in a run, on the way to its beginning, and while a torque is held."""
    if number in STOPPED:
        request.getfixturevalue("impatient")
    cases = {
        "run": (run, GuardedSource(log=FakeLog())),
        "approach": (run, GuardedSource(log=FakeLog(), shaking=True)),
        "hold": (hold, GuardedSource(log=FakeLog())),
    }
    owners = [CONTEXT.Process(target=in_a_group, args=case) for case in cases.values()]
    logs = [source.log for _, source in cases.values()]
    for owner in owners:
        owner.start()
    try:
        wait_until(lambda: all(log["enables"] for log in logs))
        for owner in owners:
            os.killpg(owner.pid, number)
        wait_until(lambda: not any(log["driven"] for log in logs), told=lambda: [log["driven"] for log in logs])
    finally:
        for owner in owners:
            owner.kill()
            owner.join()
    wait_until(lambda: all(gone(log["pid"]) for log in logs))
    assert not any(log["driven"] for log in logs)


def test_recorder_and_guardian_answer_every_signal_that_would_end_or_stop_them():
    with Recorder(GuardedSource(log=FakeLog())) as recorder:
        recorder.start()
        for pid in (recorder._child.pid, recorder._child._guardian.pid):
            assert os.getsid(pid) == pid
            left = signal.valid_signals() - answered(pid)
            assert left <= {signal.SIGKILL, signal.SIGSTOP, signal.SIGSTKFLT, *CRASHES, *HARMLESS}


@pytest.mark.parametrize("number", [signal.SIGQUIT, signal.SIGTSTP, signal.SIGSEGV], ids=lambda number: number.name)
def test_a_signal_to_the_recorder_alone_releases_the_servo(number):
    log = FakeLog()
    with Recorder(GuardedSource(log=log), limits=LIMITS) as recorder:
        recorder.start()
        recorder.hold(0.0, HEADER)
        wait_until(lambda: log["driven"], recorder.beat)
        os.kill(log["pid"], number)
        wait_until(lambda: not log["driven"], recorder.beat)
        wait_until(lambda: recorder.poll() is not None and recorder.fault, recorder.beat)


@pytest.mark.parametrize("number", [signal.SIGQUIT, signal.SIGTSTP, signal.SIGTERM], ids=lambda number: number.name)
def test_a_guardian_outlives_what_is_sent_to_it(number):
    log = FakeLog()
    with Recorder(GuardedSource(log=log), limits=LIMITS) as recorder:
        recorder.start()
        recorder.hold(0.0, HEADER)
        wait_until(lambda: log["driven"], recorder.beat)
        guardian = recorder._child._guardian.pid
        os.kill(guardian, number)
        os.kill(log["pid"], signal.SIGKILL)
        wait_until(lambda: log["blind_releases"] and not log["driven"])


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
