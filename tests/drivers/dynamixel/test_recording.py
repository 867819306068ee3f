"""Through the recorder's loop: a run as a person makes it, a held torque, and how they end; once in real processes."""

import re
from contextlib import closing

import numpy as np
import pytest

from core.motion.recording import RunHeader
from core.motion.trajectories import make_trajectory
from core.servo.catalogue import load_servo
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
from tests.waiting import LIMIT

RATE = 200.0


OTHERS = pytest.mark.exhaustive("the series whose torque is a duty cycle")


@pytest.fixture(params=["xm430_w350", "mx106", *(pytest.param(name, marks=OTHERS) for name in ("xl320", "xl330"))])
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


COUNTED = ("drop 1", "corrupt 1", "truncate 1", "delay 15 1")
UNSEEN = ("split 1", "duplicate 1", "garbage 1", "fake-header 1", "mute on id=7", "echo on")
SPACING = 20


class Planting(Unlinked):
    """Says a line to the emulator every SPACING samples of a run."""

    def __init__(self, emulator, *lines):
        self._say = dict(zip(range(SPACING, 10**6, SPACING), lines, strict=False))
        self._emulator = emulator

    def progress(self, done, length, skipped_cycles, bus_errors):
        if done in self._say:
            self._emulator.say(self._say[done])


@pytest.mark.parametrize("disturbed", [COUNTED, UNSEEN], ids=["counted", "unseen"])
def test_disturbed_answers_are_counted_and_the_run_goes_on(bus, servo, disturbed):
    _, emulator = bus
    sink = MemorySink()
    loop = Loop(Cycle(servo, Planting(emulator, *disturbed)), Immediately())
    result = loop.perform(job(servo, make_trajectory("sin_sin", 1.5), sink))
    assert (result.exit_status, result.reason) == ("success", "")
    assert result.bus_errors == sink.rows["bus_errors"].sum()
    if disturbed is COUNTED:
        assert result.bus_errors >= len(COUNTED)


@pytest.mark.parametrize(
    ("name", "line", "seen", "off"),
    [
        ("xm430_w350", "mute on", "no answer", True),
        ("xm430_w350", "power off", "no answer", True),
        ("xm430_w350", "power-cycle", "no answer|restarted", True),
        ("xm430_w350", "corrupt 100000", "damaged", True),
        ("xm430_w350", "fault overload", "overload", True),
        ("xm430_w350", "fault overheating", "overheating", True),
        ("xm430_w350", "fault encoder", "encoder", True),
        ("xm430_w350", "fault shock", "shock", True),
        ("xm430_w350", "temperature 90", "overheating", True),
        ("xm430_w350", "supply 3", "voltage", True),
        ("xm430_w350", "deaf 1000000", "accepted none of", False),
        ("xm430_w350", "unplug", "the port failed .* plug the adapter in again", False),
        ("mx106", "mute on", "no answer", True),
        ("mx106", "power-cycle", "no answer|restarted", True),
        ("mx106", "fault overload", "overload", True),
        ("mx106", "supply 3", "voltage", True),
        ("xl320", "fault overload", "overload", True),
    ],
)
def test_what_ends_a_run_switches_the_motor_off_and_is_a_fault(emulate, name, line, seen, off):
    """Where nothing reaches the servo any more it is said first what to do."""
    emulator = emulate(emulation(name))
    sink = MemorySink()
    with connected(emulator) as servo:
        loop = Loop(Cycle(servo, Planting(emulator, line)), Immediately())
        result = loop.perform(job(servo, make_trajectory("sin_sin", 30.0), sink))
        assert (result.exit_status, servo.state) == ("fail", ServoState.FAULT)
        assert re.search(seen, result.reason), result.reason
        assert len(sink.rows) == result.samples >= SPACING
        assert driven(emulator) is not off
        assert servo.may_be_driven or off
        if not off:
            assert servo.fault_reason.startswith("CUT THE SUPPLY: ")


def test_a_run_through_processes(warm, tmp_path):
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
