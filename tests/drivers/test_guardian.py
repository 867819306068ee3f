"""The guardian: a recorder that dies or hangs with a driven servo loses it all the same, whoever else dies with it.

That it happens is tested here, how soon in `test_limits_in_time` and by `tests.bench.release`.
"""

import math
import multiprocessing
import os
import select
import signal
from multiprocessing import get_context

import pytest

from drivers.errors import RecorderDied
from drivers.recorder import Recorder, guardian
from drivers.servo import ServoState
from tests.drivers.fake_servo import FakeLog, GuardedSource
from tests.drivers.machine import set_limits
from tests.drivers.recording_program import HEADER, LONG, program
from tests.waiting import LIMIT, wait_until

CONTEXT = get_context("spawn")

pytestmark = [
    pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="needs signals"),
    pytest.mark.usefixtures("warm"),
]


@pytest.fixture
def log():
    return FakeLog()


def begin(recorder, log):
    """Be in a run, unless a guardian was quicker on a busy machine."""
    recorder.start()
    recorder.record(LONG, HEADER)
    wait_until(lambda: log["commands"] > 100 or log["blind_releases"], recorder.beat)


@pytest.fixture
def driving(log):
    """A recorder in a run."""
    with Recorder(GuardedSource(log=log)) as recorder:
        begin(recorder, log)
        yield recorder


def test_a_recorder_that_dies_loses_the_servo(driving, log):
    os.kill(log["pid"], signal.SIGKILL)
    wait_until(lambda: not log["driven"])
    assert log["blind_releases"] == 1
    with pytest.raises(RecorderDied):
        driving.wait(LIMIT)
    assert driving.state is ServoState.FAULT
    assert "its guardian switched the motor off" in driving.fault


def test_a_guardian_that_ends_after_its_recorder_while_both_are_looked_at_is_not_missed(driving, log, monkeypatch):
    look = multiprocessing.process.BaseProcess.is_alive

    def slow_look(process):
        alive = look(process)
        if alive and process.name == "recorder":
            os.kill(process.pid, signal.SIGKILL)
            wait_until(lambda: all(child.name != "guardian" for child in multiprocessing.active_children()))
        return alive

    monkeypatch.setattr(multiprocessing.process.BaseProcess, "is_alive", slow_look)
    with pytest.raises(RecorderDied, match="its guardian switched the motor off"):
        driving.wait(LIMIT)


def test_a_recorder_that_hangs_loses_the_servo_and_is_in_fault_when_it_goes_on(impatient, log, monkeypatch):
    with Recorder(GuardedSource(log=log)) as recorder:
        begin(recorder, log)
        os.kill(log["pid"], signal.SIGSTOP)
        wait_until(lambda: log["blind_releases"])
        assert log["driven"] == 0
        os.kill(log["pid"], signal.SIGCONT)
        result = recorder.wait(LIMIT)
        assert (result.exit_status, result.busy) == ("fail", True)
        assert "stood still" in result.reason
        assert recorder.state is ServoState.FAULT
        assert (log["driven"], log["blind_releases"]) == (0, 1)
        # One that does not go on counts as dead.
        set_limits(monkeypatch, recorder_silence=0.5)
        os.kill(log["pid"], signal.SIGSTOP)
        wait_until(lambda: recorder.poll() is not None and "CUT THE SUPPLY" in recorder.fault)
        os.kill(log["pid"], signal.SIGCONT)


def test_program_and_recorder_killed_together_still_lose_the_servo(log, tmp_path):
    owner = CONTEXT.Process(target=program, args=(GuardedSource(log=log), tmp_path, math.inf, False))
    owner.start()
    wait_until(lambda: log["driven"])
    os.kill(owner.pid, signal.SIGKILL)
    os.kill(log["pid"], signal.SIGKILL)
    wait_until(lambda: not log["driven"])
    owner.join()


def test_a_bus_that_cannot_be_reached_is_tried_again(log):
    with Recorder(GuardedSource(log=log, deaf=5)) as recorder:
        begin(recorder, log)
        os.kill(log["pid"], signal.SIGKILL)
        wait_until(lambda: not log["driven"])
        assert log["blind_releases"] == 6


def test_the_guardian_says_nothing_while_all_is_well(log):
    with Recorder(GuardedSource(log=log)) as recorder:
        recorder.start()
        guardian = recorder._child._guardian.pid
    assert log["blind_releases"] == 0
    assert not os.path.exists(f"/proc/{guardian}")


def test_a_servo_without_its_guardian_is_not_driven_again(driving, log):
    os.kill(driving._child._guardian.pid, signal.SIGKILL)
    with pytest.raises(RecorderDied, match="guards the servo"):
        driving.wait(LIMIT)
    wait_until(lambda: not log["driven"])
    assert driving.state is ServoState.FAULT


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a guardian goes on alone where processes can fork")
def test_a_guardian_that_goes_on_alone_keeps_nothing_of_the_program_open(tmp_path):
    """As `bench record | tee` needs it: whoever reads what the program wrote gets to its end."""
    end = tmp_path / "end"
    os.mkfifo(end)
    reader, writer = os.pipe()
    pid = os.fork()
    if not pid:
        os.dup2(writer, 1)
        guardian._go_on_alone()
        end.read_bytes()  # it lives until somebody writes there
        os._exit(0)
    os.close(writer)
    os.waitpid(pid, 0)
    assert select.select([reader], [], [], LIMIT)[0]
    assert os.read(reader, 1) == b""
    os.close(reader)
    end.write_bytes(b"")  # which would wait for ever had it ended
