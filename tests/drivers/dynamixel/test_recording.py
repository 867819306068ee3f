"""Through the recorder's loop: a run as a person makes it, a held torque, and how they end; once in real processes."""

import os
import signal
from contextlib import closing

import numpy as np
import pytest

from core.catalogue import load_servo
from core.recording import RunHeader
from core.trajectories import make_trajectory
from drivers.emulators.process import EmulatorProcess
from drivers.recorder import MemorySink, Phase, Recorder
from drivers.recorder.cycle import Cycle
from drivers.recorder.link import RunStopped, Unlinked
from drivers.recorder.loop import HoldJob, Loop, RunJob
from drivers.recorder.run import RunPlan
from drivers.recorder.storage import Immediately
from drivers.servo import ServoState
from drivers.simulated.servo import starting_bench
from tests.drivers.dynamixel.bench import connected, driven, emulation, settings
from tests.drivers.recording_program import FileSink
from tests.waiting import LIMIT, wait_until

RATE = 200.0


@pytest.fixture(params=["xm430_w350", "mx106", "xl320", "xl330"])
def bus(request, emulate):
    return request.param, emulate(emulation(request.param))


@pytest.fixture
def servo(bus):
    with connected(bus[1]) as servo:
        yield servo
    assert not driven(bus[1])


def header(name, trajectory="lift_and_drop") -> RunHeader:
    bench = starting_bench(load_servo(name))
    return RunHeader(trajectory=trajectory, bench=bench, settings=settings(name), rate=RATE)


def job(servo, trajectory, sink):
    plan = RunPlan.sample(trajectory, RATE)
    return RunJob(run=1, plan=plan, header=header(servo.spec.name, trajectory.name), sink=sink, limits=servo.limits)


class Stopping(Unlinked):
    """Asks for an emergency stop at a moment of the run."""

    def __init__(self, clock, seconds):
        self._clock, self._seconds, self.at = clock, seconds, np.inf

    def phase(self, phase):
        if phase is Phase.RUN:
            self.at = self._clock.now() + self._seconds

    def pending(self):
        return RunStopped("abort", "emergency stop", fault=True) if self._clock.now() >= self.at else None


def test_lift_and_drop(bus, servo):
    _, emulator = bus
    # The watchdog must let a slow cycle pass and stop the servo within 200 ms.
    assert servo.identity.watchdog in (0.0, pytest.approx(0.1))
    sink = MemorySink()
    plan = make_trajectory("lift_and_drop", 2.0, lift_time=1.0)
    result = Loop(Cycle(servo, Unlinked()), Immediately()).perform(job(servo, plan, sink))
    rows = sink.rows
    assert (result.exit_status, result.reason, result.bus_errors) == ("success", "", 0)
    assert len(rows) + result.skipped_cycles == 2.0 * RATE
    assert result.skipped_cycles <= 2
    for field in ("position", "velocity", "duty_cycle", "supply_voltage", "temperature"):
        assert np.isfinite(rows[field]).all(), field
    lifted, dropped = rows[rows["torque_enable"] == 1], rows[rows["torque_enable"] == 0]
    assert min(len(lifted), len(dropped)) > 190
    # It was lifted by the motor and fell without it.
    assert np.abs(lifted["position"]).max() > 0.5
    assert np.abs(dropped["position"][-1]) < np.abs(lifted["position"]).max()
    assert not driven(emulator)


def test_a_held_torque_and_its_end(bus, servo):
    name, emulator = bus
    emulator.say("hand angle 10")
    holding = Loop(Cycle(servo, Unlinked()), Immediately()).hold(HoldJob(header=header(name), limits=servo.limits))
    torque = 0.05 * servo.limits.torque
    next(holding)
    for _ in range(100):
        sample = holding.send(torque)
    assert sample.torque == torque
    assert driven(emulator)
    with pytest.raises(StopIteration) as end:
        holding.send(np.nan)
    assert end.value.value.exit_status == "success"
    assert not driven(emulator)


@pytest.mark.parametrize("seconds", [0.5, 0.5017])
def test_an_emergency_stop_in_a_run(clock, bus, servo, seconds):
    """At the start of a cycle, or in the middle of one."""
    _, emulator = bus
    link = Stopping(clock, seconds)
    cycle = Cycle(servo, link)
    released = []
    let_go = cycle.let_go
    cycle.let_go = lambda fault="": (let_go(fault), released.append(clock.now()))
    result = Loop(cycle, Immediately()).perform(job(servo, make_trajectory("sin_sin", 30.0), None))
    assert (result.exit_status, result.reason) == ("abort", "emergency stop")
    assert servo.state is ServoState.FAULT
    assert not driven(emulator)
    assert released[0] - link.at < 0.050


def test_a_run_through_processes_and_a_recorder_that_is_killed(tmp_path):
    """A real port, a real clock: the recorder and the emulator in processes of their own."""
    name = "mx106"
    emulator = EmulatorProcess(emulation(name))
    [address] = emulator.start(LIMIT)
    with closing(emulator), Recorder(address) as recorder:
        assert recorder.start().model == name
        assert "SCHED_FIFO" in recorder.status.priority, "asked for, if not granted"
        recorder.record(make_trajectory("lift_and_drop", 1.0, lift_time=0.5), header(name), FileSink(tmp_path))
        result = recorder.wait(LIMIT)
        assert (result.exit_status, result.reason) == ("success", "")
        rows = np.load(tmp_path / "rows.npy")
        assert len(rows) == result.samples == RATE - result.skipped_cycles
        assert not driven(emulator)
        recorder.record(make_trajectory("sin_sin", 3600.0), header(name, "sin_sin"))
        wait_until(lambda: recorder.phase is Phase.RUN and driven(emulator), recorder.beat)
        os.kill(recorder._child.pid, signal.SIGKILL)
        wait_until(lambda: not driven(emulator))
        wait_until(lambda: recorder.poll() and "guardian switched the motor off" in recorder.fault)
