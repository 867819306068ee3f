"""The drive in the recorder's own process: runs, stops, and the ends a process can come to."""

import os
import signal
import time

import numpy as np
import pytest

from core.catalogue import load_servo, nominal_model
from core.recording import RunHeader, ServoSettings
from core.simulation import simulate_trajectory
from core.trajectories import make_trajectory
from drivers.errors import RecorderDied
from drivers.recorder import Phase, Recorder
from drivers.recorder.messages import HoldEnded
from drivers.servo import ServoState
from tests.drivers.ethercat.conftest import ADDRESS, BENCH
from tests.drivers.recording_program import FileSink

pytestmark = pytest.mark.own_network

SPEC = load_servo("erob80_50")
KT = nominal_model(SPEC).values["kt"]
SETTINGS = ServoSettings(servo="erob80_50", kp=50.0, supply_voltage=48.0)
RATE = 500.0
REQUIRED_STOP, REQUIRED_OFF = 0.05, 0.25
NOISE = 5.0


def header(trajectory):
    return RunHeader(trajectory=trajectory.name, bench=BENCH, settings=SETTINGS, rate=RATE)


@pytest.fixture
def recorder(segment):
    with Recorder(ADDRESS, heartbeat_limit=2.0, stop_lock=0.0) as made:
        made.start()
        yield made


def until(recorder, true, patience=20.0):
    deadline = time.monotonic() + patience
    while not true():
        assert time.monotonic() < deadline
        recorder.beat()
        time.sleep(0.002)


def begin_long_run(recorder, segment):
    trajectory = make_trajectory("sin_sin", 60.0)
    recorder.record(trajectory, header(trajectory))
    until(recorder, lambda: recorder.phase is Phase.RUN)
    assert segment.truth()["driven"] == 1.0


@pytest.mark.parametrize("name", ["lift_and_drop", "sin_sin"])
def test_a_run_is_what_the_model_does(recorder, segment, tmp_path, name):
    """The bus's delay of a cycle and a torque held for one: no more than what the pendulum moves in that time."""
    trajectory = make_trajectory(name)
    recorder.record(trajectory, header(trajectory), FileSink(tmp_path))
    result = recorder.wait(60.0)
    assert (result.exit_status, result.reason) == ("success", "")
    rows = np.load(tmp_path / "rows.npy")
    assert len(rows) + result.skipped_cycles == pytest.approx(trajectory.duration * RATE, abs=1)
    assert np.all(np.diff(rows["time"]) > 0)
    assert np.all(np.isfinite(rows["current"]))
    motion = simulate_trajectory(nominal_model(SPEC), trajectory, BENCH, SETTINGS, 1.0 / RATE)
    error = np.abs(rows["position"] - np.interp(rows["time"], motion.time, motion.position))
    # The offset of the first run's start from where the model begins is part of it.
    assert np.mean(error) < 0.004 * np.max(np.abs(rows["velocity"])) + 2e-3
    recorder.poll()
    assert (recorder.fault, recorder.state) == ("", ServoState.READY)
    assert segment.truth()["driven"] == 0.0


def test_a_torque_is_held_for_a_hand_to_work_against(recorder, segment):
    trajectory = make_trajectory("sin_sin")
    recorder.hold(4.0, header(trajectory))
    until(recorder, lambda: recorder.poll() or recorder.status.held_torque == 4.0)
    segment.say("hand angle 25")
    until(recorder, lambda: recorder.poll() or segment.truth()["position"] > 0.3)
    assert segment.truth()["current"] * KT == pytest.approx(4.0, rel=0.02)
    segment.say("hand off")
    recorder.end_hold()
    events = []
    until(recorder, lambda: events.extend(recorder.poll()) or any(isinstance(e, HoldEnded) for e in events))
    assert next(e for e in events if isinstance(e, HoldEnded)).exit_status == "success"
    assert segment.truth()["driven"] == 0.0


def test_an_emergency_stop(recorder, segment):
    begin_long_run(recorder, segment)
    recorder.emergency_stop()
    recorder.wait(20.0)
    assert recorder.stop_latency < NOISE * REQUIRED_STOP
    assert segment.truth()["driven"] == 0.0
    assert recorder.state is ServoState.FAULT
    recorder.acknowledge()
    until(recorder, lambda: recorder.poll() or recorder.state is ServoState.READY)


def test_a_cable_that_comes_off_ends_the_run_with_its_reason(recorder, segment):
    begin_long_run(recorder, segment)
    segment.say("unplug on")
    result = recorder.wait(20.0)
    assert result.exit_status == "fail"
    assert "check the cable" in result.reason
    assert segment.seconds_driven() < NOISE * REQUIRED_OFF
    segment.say("heal")
    recorder.acknowledge()
    until(recorder, lambda: recorder.poll() or recorder.state is ServoState.READY)
    begin_long_run(recorder, segment)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_process_that_is_gone_or_hangs_loses_the_drive(recorder, segment, number):
    begin_long_run(recorder, segment)
    os.kill(recorder._child.pid, number)
    assert segment.seconds_driven() < NOISE * REQUIRED_OFF
    with pytest.raises(RecorderDied):
        recorder.wait(20.0)
    if number is signal.SIGSTOP:
        # What is stopped cannot end by itself.
        os.kill(recorder._child.pid, signal.SIGKILL)


def test_a_drive_that_lost_its_recorder_is_found_again(recorder, segment):
    begin_long_run(recorder, segment)
    os.kill(recorder._child.pid, signal.SIGKILL)
    segment.seconds_driven()
    with Recorder(ADDRESS, heartbeat_limit=2.0) as other:
        # The interface's lock went with its owner.
        assert other.start().model == "erob80_50"
        trajectory = make_trajectory("half_sine", 0.4, period=0.4)
        other.record(trajectory, header(trajectory))
        assert other.wait(20.0).exit_status == "success"
