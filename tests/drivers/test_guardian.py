"""The guardian: a recorder that dies or hangs with a driven servo loses it all the same, whoever else dies with it."""

import os
import signal
import time
from multiprocessing import get_context

import pytest

from drivers.errors import RecorderDied
from drivers.recorder import Recorder
from drivers.servo import ServoState
from tests.drivers.fake_servo import FakeLog, GuardedSource
from tests.drivers.recording_program import HEADER, LONG, program

CONTEXT = get_context("spawn")
DEADLINE = 0.25
"""The motor is off this long after the event [s]."""

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="needs signals")


@pytest.fixture
def log():
    return FakeLog()


@pytest.fixture
def driving(log):
    """A recorder in a run."""
    with Recorder(GuardedSource(log=log), heartbeat_limit=5.0) as recorder:
        recorder.start()
        recorder.record(LONG, HEADER)
        assert until(lambda: recorder.beat() or log["commands"] > 100)
        yield recorder


def until(true, patience=20.0):
    deadline = time.monotonic() + patience
    while not true():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.002)
    return True


def seconds_to_release(log, since):
    assert log.wait_for("driven", 0)
    return 1e-9 * (log["released_at"] - since)


@pytest.mark.parametrize("number", ["SIGKILL", "SIGSTOP"])
def test_a_recorder_that_dies_or_hangs_loses_the_servo(driving, log, number):
    sent = time.perf_counter_ns()
    os.kill(log["pid"], getattr(signal, number))
    assert seconds_to_release(log, sent) < DEADLINE
    assert log["blind_releases"] == 1
    with pytest.raises(RecorderDied):
        driving.wait(20.0)
    assert driving.state is ServoState.FAULT
    if number == "SIGKILL":
        assert "its guardian switched the motor off" in driving.fault
    else:
        os.kill(log["pid"], signal.SIGCONT)


def test_a_recorder_that_goes_on_after_the_guardian_acted_is_in_fault(driving, log):
    os.kill(log["pid"], signal.SIGSTOP)
    assert log.wait_for("blind_releases", 1)
    os.kill(log["pid"], signal.SIGCONT)
    result = driving.wait(20.0)
    assert result.exit_status == "fail"
    assert "stood still" in result.reason
    assert driving.state is ServoState.FAULT
    assert log["driven"] == 0


def test_program_and_recorder_killed_together_still_lose_the_servo(log, tmp_path):
    owner = CONTEXT.Process(target=program, args=(GuardedSource(log=log), tmp_path, 60.0, False))
    owner.start()
    assert log.wait_for("driven", 1, 30.0)
    sent = time.perf_counter_ns()
    os.kill(owner.pid, signal.SIGKILL)
    os.kill(log["pid"], signal.SIGKILL)
    assert seconds_to_release(log, sent) < DEADLINE
    owner.join()


def test_a_bus_that_cannot_be_reached_is_tried_again(log):
    with Recorder(GuardedSource(log=log, deaf=5), heartbeat_limit=5.0) as recorder:
        recorder.start()
        recorder.record(LONG, HEADER)
        assert until(lambda: recorder.beat() or log["driven"])
        os.kill(log["pid"], signal.SIGKILL)
        assert log.wait_for("driven", 0)
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
        driving.wait(20.0)
    assert log.wait_for("driven", 0, 1.0)
    assert driving.state is ServoState.FAULT
