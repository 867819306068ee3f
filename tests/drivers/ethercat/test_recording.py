"""The drive in the recorder's own process: runs, stops, and the ends a process can come to."""

import math

import numpy as np
import pytest

from core.catalogue import load_servo
from core.recording import RunHeader, ServoSettings
from core.shipped import nominal_model
from core.trajectories import make_trajectory
from drivers.recorder import Phase, Recorder
from drivers.recorder.messages import HoldEnded
from drivers.servo import ServoState
from tests.drivers.ethercat.conftest import ADDRESS, BENCH
from tests.drivers.recording_program import FileSink
from tests.waiting import wait_until

pytestmark = [pytest.mark.own_network, pytest.mark.usefixtures("warm")]

SPEC = load_servo("erob80_50")
KT = nominal_model(SPEC).values["kt"]
SETTINGS = ServoSettings(servo="erob80_50", kp=50.0, supply_voltage=48.0)
RATE = 500.0


def header(trajectory):
    return RunHeader(trajectory=trajectory.name, bench=BENCH, settings=SETTINGS, rate=RATE)


@pytest.fixture
def recorder(segment):
    with Recorder(ADDRESS, stop_lock=0.0) as made:
        made.start()
        yield made


def until(recorder, true):
    wait_until(true, recorder.beat, lambda: recorder.status)


def test_a_run_is_recorded_whole(recorder, segment, tmp_path):
    """Its motion is compared with the model's in virtual time, see test_motion."""
    trajectory = make_trajectory("half_sine", 1.0, period=1.0)
    recorder.record(trajectory, header(trajectory), FileSink(tmp_path))
    result = recorder.wait()
    assert (result.exit_status, result.reason) == ("success", "")
    rows = np.load(tmp_path / "rows.npy")
    assert len(rows) + result.skipped_cycles == pytest.approx(trajectory.duration * RATE, abs=1)
    assert np.all(np.diff(rows["time"]) > 0)
    assert np.all(np.isfinite(rows["current"]))
    assert np.ptp(rows["position"]) > 0.3
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
    trajectory = make_trajectory("sin_sin", 60.0)
    recorder.record(trajectory, header(trajectory))
    until(recorder, lambda: recorder.phase is Phase.RUN)
    assert segment.truth()["driven"] == 1.0
    recorder.emergency_stop()
    assert recorder.wait().reason == "emergency stop"
    assert math.isfinite(recorder.stop_latency)
    assert segment.truth()["driven"] == 0.0
    assert recorder.state is ServoState.FAULT
    recorder.acknowledge()
    until(recorder, lambda: recorder.poll() or recorder.state is ServoState.READY)
