"""Through the recorder's own process: a run as a person makes it, a held torque, and every way it can end."""

import os
import signal
import time

import numpy as np
import pytest

from core.catalogue import load_servo
from core.recording import RunHeader
from core.trajectories import make_trajectory
from drivers.emulators.process import EmulatorProcess
from drivers.recorder import Phase, Recorder
from drivers.servo import ServoState
from drivers.simulated.servo import starting_bench
from tests.drivers.dynamixel.bench import NOISE, driven, emulation, settings, truth
from tests.drivers.recording_program import FileSink
from tests.drivers.test_recorder import wait_until

RATE = 200.0
TRIES = 4
"""The emulator shares its machine with others, and a servo that is silent for long ends a run."""


@pytest.fixture(scope="module", params=["xm430_w350", "mx106", "xl320", "xl330"])
def bus(request):
    with EmulatorProcess(emulation(request.param)) as emulator:
        emulator.say("state")
        yield request.param, emulator


@pytest.fixture
def recorder(bus):
    emulator = bus[1]
    with Recorder(emulator.addresses[0], heartbeat_limit=5.0, stop_lock=0.0) as recorder:
        recorder.start()
        yield recorder
    assert wait_until(lambda: not driven(emulator))


def header(name, trajectory="lift_and_drop") -> RunHeader:
    bench = starting_bench(load_servo(name))
    return RunHeader(trajectory=trajectory, bench=bench, settings=settings(name), rate=RATE)


def start_run(recorder, name, emulator):
    """Be in the middle of a run."""

    def begun_or_over():
        recorder.poll()
        return not recorder.busy or (recorder.phase is Phase.RUN and driven(emulator))

    for _ in range(TRIES):
        recorder.record(make_trajectory("sin_sin", 30.0), header(name, "sin_sin"))
        assert wait_until(begun_or_over, recorder)
        if recorder.busy:
            return
        recorder.acknowledge()
        assert wait_until(lambda: recorder.state is ServoState.READY, recorder)
    raise AssertionError(f"no run could be begun: {recorder.fault}")


def test_lift_and_drop(bus, recorder, tmp_path):
    name, emulator = bus
    assert recorder.identity.model == name
    # The watchdog must let a slow cycle pass and stop the servo within 200 ms.
    assert recorder.identity.watchdog in (0.0, pytest.approx(0.1))
    plan = make_trajectory("lift_and_drop", 2.0, lift_time=1.0)
    for _ in range(TRIES):
        recorder.record(plan, header(name), FileSink(tmp_path))
        result = recorder.wait(60.0)
        if result.exit_status == "success":
            break
        recorder.acknowledge()
        assert wait_until(lambda: recorder.state is ServoState.READY, recorder)
    assert (result.exit_status, result.reason) == ("success", "")
    rows = np.load(tmp_path / "rows.npy")
    assert len(rows) + result.skipped_cycles == pytest.approx(2.0 * RATE, abs=2)
    for field in ("position", "velocity", "duty_cycle", "supply_voltage", "temperature"):
        assert np.isfinite(rows[field]).all(), field
    lifted, dropped = rows[rows["torque_enable"] == 1], rows[rows["torque_enable"] == 0]
    assert len(lifted) > 50
    assert len(dropped) > 50
    # It was lifted by the motor and fell without it.
    assert np.abs(lifted["position"]).max() > 0.5
    assert np.abs(dropped["position"][-1]) < np.abs(lifted["position"]).max()
    assert not driven(emulator)


def test_a_held_torque_and_its_end(bus, recorder):
    name, emulator = bus
    torque = 0.05 * recorder.limits.torque
    emulator.say("hand angle 10")
    recorder.hold(torque, header(name))
    assert wait_until(lambda: recorder.status.held_torque == torque, recorder)
    assert driven(emulator)
    recorder.end_hold()
    assert wait_until(lambda: recorder.phase is Phase.IDLE, recorder)
    assert not driven(emulator)
    emulator.say("hand off")


def test_an_emergency_stop_in_a_run(bus, recorder):
    name, emulator = bus
    start_run(recorder, name, emulator)
    recorder.emergency_stop()
    begin = time.perf_counter()
    assert wait_until(lambda: not driven(emulator), recorder)
    assert time.perf_counter() - begin < NOISE * 0.1
    assert recorder.wait(20.0).exit_status != "success"
    recorder.acknowledge()
    assert wait_until(lambda: recorder.state is ServoState.READY, recorder)


@pytest.mark.parametrize("number", ["SIGKILL", "SIGSTOP"])
def test_a_recorder_that_dies_or_hangs_loses_the_servo(bus, number):
    name, emulator = bus
    with Recorder(emulator.addresses[0], heartbeat_limit=5.0) as recorder:
        recorder.start()
        start_run(recorder, name, emulator)
        pid = recorder._child.pid
        begin = time.perf_counter()
        os.kill(pid, getattr(signal, number))
        try:
            assert wait_until(lambda: not driven(emulator))
            assert time.perf_counter() - begin < NOISE * 0.25
        finally:
            if number == "SIGSTOP":
                os.kill(pid, signal.SIGCONT)
    assert abs(truth(emulator)["velocity"]) < 100.0
