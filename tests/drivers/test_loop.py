"""A run through the recorder's loop, in this process on the virtual clock: what is recorded, and every way it ends."""

import math
import os
from collections import deque
from concurrent.futures import Future
from dataclasses import replace
from multiprocessing import get_context

import numpy as np
import pytest

from core.motion.recording import SAMPLE_DTYPE, RunHeader
from core.motion.trajectories import make_trajectory, recorded_trajectory, trajectory_names
from core.servo.bench import Bench
from core.servo.settings import ServoSettings
from core.servo.shipped import load_model
from drivers import timing
from drivers.clock import RealClock, VirtualClock
from drivers.errors import CommandError, NotReady
from drivers.limits import Limits
from drivers.reading import Reading
from drivers.recorder import MemorySink, Recorder, record_inline
from drivers.recorder.control import _FIELDS, Control
from drivers.recorder.cycle import Cycle
from drivers.recorder.link import SharedLink, Unlinked
from drivers.recorder.loop import MOVE_SPEED, Loop, RunJob
from drivers.recorder.messages import Connected
from drivers.recorder.ring import RingWriter
from drivers.recorder.run import LIVE_DTYPE, Phase, RunPlan, check_rate
from drivers.recorder.storage import BLOCK_TIME, Immediately, Storage
from drivers.servo import PositionGoal, ServoIdentity, ServoState
from drivers.simulated import Imperfections, SimulatedServo
from tests.drivers.fake_servo import FakeServo, FakeSource

pytestmark = pytest.mark.usefixtures("real_limits")

BENCH = Bench(mass=0.5, length=0.15)
RATE = 100.0
HEADER = RunHeader(
    trajectory="test", bench=BENCH, settings=ServoSettings(servo="mx106", kp=16.0, supply_voltage=12.0), rate=RATE
)
STEPS = make_trajectory("steps", 1.0, hold_time=0.5)


def fake(**faults):
    servo = FakeServo(FakeSource(**faults))
    servo.clock = VirtualClock()
    servo.connect()
    return servo


class BrokenSink(MemorySink):
    """Fails where it is told to."""

    def __init__(self, broken="nowhere"):
        super().__init__()
        self.broken = broken

    def open(self, header):
        if self.broken == "open":
            raise PermissionError("read-only folder")
        return self

    def finish(self, exit_status, reason=""):
        super().finish(exit_status, reason)
        if self.broken == "finish":
            raise OSError("disk full")
        return "007"


@pytest.mark.parametrize("name", trajectory_names())
def test_every_trajectory_is_recorded_from_rest_and_ends_released(name):
    servo = SimulatedServo("mx106", clock=VirtualClock())
    servo.connect()
    sink = MemorySink()
    trajectory = make_trajectory(name)
    header = RunHeader(trajectory=name, bench=BENCH, settings=load_model("mx106", "m6").default_settings(), rate=200.0)
    result = record_inline(servo, trajectory, header, sink)
    rows = sink.rows
    assert (result.exit_status, result.reason, result.skipped_cycles) == ("success", "", 0)
    assert result.samples == len(rows) == trajectory.duration * 200
    assert sink.exit_status == "success"
    time = np.arange(len(rows)) / 200.0
    np.testing.assert_allclose(rows["time"], time, atol=1e-3)
    np.testing.assert_array_equal(rows["goal_position"], trajectory.goal(time))
    np.testing.assert_array_equal(rows["torque_enable"], trajectory.torque_enable(time))
    assert abs(rows["velocity"][0]) < 0.1
    assert servo.state is ServoState.READY
    assert abs(servo.read().position) < 0.05


def test_the_way_to_the_start_and_back_is_slow():
    time = np.arange(100) / RATE
    trajectory = recorded_trajectory("held", time, np.full(100, 1.5), np.ones(100))
    servo = fake()
    result = record_inline(servo, trajectory, HEADER)
    assert result.exit_status == "success"
    goals = np.array([0.0, *(c.position for c in servo.sent if isinstance(c, PositionGoal))])
    assert goals.max() == 1.5
    assert goals[-1] == 0.0
    assert np.abs(np.diff(goals)).max() <= 1.001 * MOVE_SPEED / RATE
    assert servo.sent[-1] == "release"


def test_a_run_that_ended_released_is_let_hang_before_it_is_brought_back():
    servo = fake()
    trajectory = make_trajectory("lift_and_drop", 2.0, lift_time=1.0)
    sink = MemorySink()
    assert record_inline(servo, trajectory, HEADER, sink).exit_status == "success"
    np.testing.assert_array_equal(sink.rows["torque_enable"], np.repeat([1, 0], 100))
    # The fake servo stays where it was let go: released, at rest there, then driven back, then released again.
    acts = [act for act in servo.sent if act in ("enable", "release")]
    assert acts == ["enable", "release", "enable", "release"]


def test_late_cycles_are_skipped_and_counted_and_the_goal_keeps_to_the_time():
    """Reads of 12 ms in cycles of 5 ms: made as often as possible, the cycles between are missed, not made up for."""
    imperfections = Imperfections(read_duration=0.012, read_jitter=0.0)
    servo = SimulatedServo("mx106", clock=VirtualClock(), imperfections=imperfections)
    servo.connect()
    sink = MemorySink()
    trajectory = make_trajectory("sin_sin", 3.0)
    header = RunHeader(trajectory="sin_sin", bench=BENCH, settings=HEADER.settings, rate=200.0)
    result = record_inline(servo, trajectory, header, sink)
    rows = sink.rows
    cycle = np.cumsum(rows["skipped_cycles"] + 1) - 1
    assert result.skipped_cycles >= rows["skipped_cycles"].sum() > len(rows)
    assert result.samples + result.skipped_cycles == 600
    np.testing.assert_allclose(np.diff(rows["time"]), 0.012, atol=1e-9)
    np.testing.assert_array_equal(rows["goal_position"], trajectory.goal(cycle / 200.0))
    # A cycle begins when it is due or at most a period later; the middle of its read is 6 ms after that.
    begin = rows["time"] - 0.006
    assert np.all((begin >= cycle / 200.0 - 1e-9) & (begin < (cycle + 1) / 200.0 + 1e-9))


@pytest.mark.parametrize(("enable", "seconds"), [(1, 5), (0, 20)])
def test_a_servo_that_does_not_rest_is_not_recorded(enable, seconds):
    """A released pendulum may swing for longer than a driven one."""
    servo, sink = fake(shaking=True), MemorySink()
    still = recorded_trajectory("still", [0.0, 0.5, 1.0], [0.0, 0.0, 0.0], [enable] * 3)
    result = record_inline(servo, still, HEADER, sink)
    assert result.exit_status == sink.exit_status == "fail"
    assert f"did not come to rest within {seconds} s" in result.reason
    assert seconds <= servo.clock.now() < seconds + 0.5
    assert len(sink.rows) == 0
    assert servo.state is ServoState.READY
    assert servo.log["driven"] == 0


def test_a_tripped_limit_releases_marks_the_run_and_waits_for_a_person():
    servo, sink = fake(jump=60), MemorySink()
    result = record_inline(servo, STEPS, HEADER, sink)
    assert result.exit_status == sink.exit_status == "fail"
    assert "limit tripped: position 9 rad beyond the limit of 3.142 rad" in result.reason
    assert sink.reason == result.reason
    assert sink.rows["position"][-1] == 9.0
    assert servo.log["driven"] == 0
    assert servo.state is ServoState.FAULT
    again = record_inline(servo, STEPS, HEADER)
    assert again.exit_status == "fail"
    assert "acknowledge" in again.reason
    assert servo.log["enables"] == 1


def test_one_jump_of_the_position_ends_the_run():
    servo, sink = fake(glitch=60), MemorySink()
    servo.limits = replace(servo.limits, speed=14.0)
    result = record_inline(servo, recorded_trajectory("still", [0.0, 4.0], [0.2, 0.2], [1, 1]), HEADER, sink)
    assert result.exit_status == sink.exit_status == "fail"
    assert "limit tripped: a jump within 10 ms of 0.3068 rad" in result.reason
    assert servo.state is ServoState.FAULT
    assert servo.log["driven"] == 0


def test_a_read_that_fails_releases_and_keeps_what_was_recorded():
    servo, sink = fake(fail_read=70), MemorySink()
    result = record_inline(servo, STEPS, HEADER, sink)
    assert result.exit_status == sink.exit_status == "fail"
    assert "no answer to a read" in result.reason
    assert 0 < len(sink.rows) == result.samples < 100
    assert servo.log["driven"] == 0
    assert servo.state is ServoState.FAULT


def test_single_lost_answers_spoil_no_run_and_stand_in_the_recording():
    servo, sink = fake(lost_reads=(70, 71, 90)), MemorySink()
    result = record_inline(servo, STEPS, HEADER, sink)
    rows = sink.rows
    assert (result.exit_status, result.skipped_cycles, result.bus_errors) == ("success", 3, 3)
    assert len(rows) == 97
    assert rows["bus_errors"].tolist() == rows["skipped_cycles"].tolist()
    assert sorted(rows["bus_errors"])[-2:] == [1, 2]
    # Each row still says in which cycle it was read, and none repeats an old reading.
    cycle = np.cumsum(rows["skipped_cycles"] + 1) - 1
    np.testing.assert_allclose(rows["time"], cycle / RATE, atol=1e-9)


@pytest.mark.parametrize(("lost", "status"), [(8, "success"), (14, "fail")])
def test_a_servo_is_driven_blindly_for_no_longer_than_a_tenth_of_a_second(lost, status):
    servo = fake(lost_reads=tuple(range(70, 70 + lost)))
    result = record_inline(servo, STEPS, HEADER)
    assert result.exit_status == status
    assert servo.log["driven"] == 0
    assert ("no answer to a read" in result.reason) == (status == "fail")


def test_a_fast_motion_is_no_jump_when_answers_were_lost_on_the_way():
    """At 2 rad/s, in 0.09 s: more than the limit of 3 rad/s allows within one cycle."""
    servo = fake(lost_reads=tuple(range(70, 78)))
    servo.limits = Limits(speed=3.0)
    times = np.arange(0.0, 1.0, 1.0 / RATE)
    result = record_inline(servo, recorded_trajectory("test", times, 2.0 * times, times >= 0.0), HEADER)
    assert (result.exit_status, result.skipped_cycles) == ("success", 8), result.reason


class Repeating(FakeServo):
    """Its bus made transactions again: seven before the run, two and one during it."""

    @property
    def repeats(self):
        return 7 + 2 * (self._driven_reads >= 70) + (self._driven_reads >= 90)


VALUES = {
    **{"position": 0.011, "velocity": 0.022, "current": 0.033},
    **{"duty_cycle": 0.044, "supply_voltage": 12.5, "temperature": 31.5},
}


class Watched(Unlinked):
    """Keeps what it was told."""

    def __init__(self):
        self.told = []
        self.rows = []

    def progress(self, *said):
        self.told.append(said)

    def publish(self, row):
        self.rows.append(row)


def test_each_value_of_a_reading_has_a_column_of_its_own():
    servo, sink, link = fake(), MemorySink(), Watched()
    servo._read = lambda: Reading(**VALUES, moment=servo.clock.now() + 0.25)
    plan = RunPlan.sample(recorded_trajectory("still", [0.0, 0.1, 0.2], [0.3] * 3, [1] * 3), RATE)
    job = RunJob(run=7, plan=plan, header=HEADER, sink=sink, limits=servo.limits)
    assert Loop(Cycle(servo, link), Immediately()).perform(job).exit_status == "success"
    time = np.arange(20) / RATE
    told = {**VALUES, "goal_position": 0.3, "torque_enable": 1, "read_duration": 0.0}
    told |= {"skipped_cycles": 0, "bus_errors": 0, "time": time + 0.25, "command_time": time}
    assert set(told) == set(sink.rows.dtype.names)
    for name, value in told.items():
        np.testing.assert_allclose(sink.rows[name], value, atol=1e-9, err_msg=name)
    rows = np.array(link.rows, LIVE_DTYPE)
    run = rows[rows["phase"] == Phase.RUN]
    np.testing.assert_allclose(run["clock"] - run["clock"][0], time, atol=1e-9)
    assert set(run["run"]) == {7}
    assert np.all(np.isnan(run["held_torque"]))
    for name in told:
        np.testing.assert_array_equal(run[name], sink.rows[name], err_msg=name)


def test_a_sample_that_does_not_say_when_was_taken_in_the_middle_of_its_read():
    servo, sink = fake(), MemorySink()

    def read():
        servo.clock.wait_until(servo.clock.now() + 0.004, lambda: False)
        return Reading(**VALUES)

    servo._read = read
    assert record_inline(servo, STEPS, HEADER, sink).exit_status == "success"
    np.testing.assert_allclose(sink.rows["time"], np.arange(len(sink.rows)) / RATE + 0.002, atol=1e-9)
    np.testing.assert_allclose(sink.rows["read_duration"], 0.004, atol=1e-9)


@pytest.mark.parametrize("unknown", VALUES)
def test_a_value_that_is_unknown_is_recorded_so_and_an_unknown_position_is_a_trip(unknown):
    servo, sink = fake(), MemorySink()
    servo._read = lambda: Reading(**{**VALUES, unknown: math.nan})
    result = record_inline(servo, STEPS, HEADER, sink)
    assert servo.log["driven"] == 0
    if unknown == "position":
        assert (result.exit_status, servo.state) == ("fail", ServoState.FAULT)
        assert "position unknown while the servo is driven" in result.reason
    else:
        assert result.exit_status == "success"
        assert [name for name in sink.rows.dtype.names if np.isnan(sink.rows[name]).any()] == [unknown]


def test_repeats_on_the_bus_and_lost_answers_are_counted_once_each():
    """In the result, in the rows and in what is told; a lost answer is a cycle without a sample, a repeat is none."""
    servo, sink, link = Repeating(FakeSource(lost_reads=(80, 81))), MemorySink(), Watched()
    servo.clock = VirtualClock()
    servo.connect()
    plan = RunPlan.sample(STEPS, RATE)
    job = RunJob(run=1, plan=plan, header=HEADER, sink=sink, limits=servo.limits)
    result = Loop(Cycle(servo, link), Immediately()).perform(job)
    assert (result.exit_status, result.skipped_cycles, result.bus_errors) == ("success", 2, 5)
    rows = sink.rows
    assert rows["bus_errors"][rows["bus_errors"] > 0].tolist() == [2, 2, 1]
    assert rows["skipped_cycles"][rows["skipped_cycles"] > 0].tolist() == [2]
    assert link.told[-1] == (len(plan), len(plan), 2, 5)
    assert [done for done, *_ in link.told] == list(range(1, len(plan) + 1))
    names = LIVE_DTYPE.names
    assert sum(row[names.index("bus_errors")] for row in link.rows) == 5


def test_the_program_sees_what_the_loop_tells_and_what_the_servo_said():
    recorder = Recorder(FakeSource())
    link = SharedLink(recorder._view, RingWriter(recorder._child.ring), os.getppid(), 1.0)
    link.begin_run(4, 0)
    link.progress(3, 10, 2, 5)
    link.held(-0.75)
    link.phase(Phase.HOLD)
    status = recorder.status
    assert (status.run, status.done, status.length) == (4, 3, 10)
    assert (status.skipped_cycles, status.bus_errors) == (2, 5)
    assert (status.phase, status.held_torque) == (Phase.HOLD, -0.75)
    identity = ServoIdentity(model="fake", title="Fake servo")
    connected = Connected(identity, Limits(speed=2.0), "idle", HEADER.settings, Limits(speed=3.0))
    recorder._note(connected)
    assert (recorder.identity, recorder.status.priority, recorder.written) == (identity, "idle", HEADER.settings)
    assert (recorder.limits.speed, recorder.ratings.speed) == (2.0, 3.0)


def test_every_field_of_the_shared_block_has_a_word_of_its_own():
    view = Control(get_context("spawn")).view()
    for number, name in enumerate(_FIELDS, 1):
        view.set(name, number)
    assert [view.get(name) for name in _FIELDS] == list(range(1, len(_FIELDS) + 1))


@pytest.mark.parametrize(
    "begin", [lambda link: link.begin_run(2, 1), lambda link: link.begin_hold(1, 0)], ids=["run", "hold"]
)
def test_what_ended_the_last_run_does_not_end_the_next_one(begin):
    control = Control(get_context("spawn")).view()
    link = SharedLink(control, None, os.getppid(), math.inf)
    control.set("abort_requests", 1)
    control.stamp("guarded_at")
    assert "its guardian switched the motor off" in link.pending().reason
    begin(link)
    assert link.pending() is None
    control.set("abort_requests", 2)
    assert link.pending().reason == "aborted"


def test_a_run_keeps_what_the_device_said_about_itself(monkeypatch):
    said = ServoIdentity(
        **{"model": "fake", "title": "Fake servo", "firmware": "45", "serial": "S-9", "id": "12"},
        **{"position_step": 0.001, "actuator": "sea", "preset": 0.3, "facts": {"baud rate": 57600.0}},
    )
    monkeypatch.setattr(FakeServo, "_identify", lambda self: said)
    servo, sink = fake(), MemorySink()
    record_inline(servo, STEPS, HEADER, sink)
    names = ("title", "firmware", "serial", "id", "position_step", "origin")
    assert sink.header.provenance["device"] == {**{name: getattr(said, name) for name in names}, **said.facts}
    assert (sink.header.settings.actuator, sink.header.settings.preset) == ("sea", 0.3)
    kept = replace(sink.header.settings, actuator=None, preset=None)
    assert kept == HEADER.settings


def test_a_limit_tripped_on_the_way_back_is_a_fault_but_the_run_is_kept():
    servo, sink = fake(jump=150), MemorySink()
    result = record_inline(servo, STEPS, HEADER, sink)
    assert result.exit_status == "success"
    assert servo.state is ServoState.FAULT
    assert "after the run: limit tripped" in servo.fault_reason
    assert servo.log["driven"] == 0


def test_an_interrupted_run_is_released_and_sealed_before_the_interrupt_goes_on(monkeypatch):
    servo, sink = fake(), MemorySink()
    read = servo._read

    def interrupted():
        if servo.log["reads"] == 120:
            raise KeyboardInterrupt
        return read()

    monkeypatch.setattr(servo, "_read", interrupted)
    with pytest.raises(KeyboardInterrupt):
        record_inline(servo, STEPS, HEADER, sink)
    assert servo.log["driven"] == 0
    assert sink.exit_status == "abort"
    assert len(sink.rows) > 0


def test_a_run_that_cannot_be_stored_does_not_move_the_servo():
    servo = fake()
    result = record_inline(servo, STEPS, HEADER, BrokenSink("open"))
    assert result.exit_status == "fail"
    assert "read-only folder" in result.reason
    assert servo.log["enables"] == 0
    assert servo.state is ServoState.READY


class LosingSink(BrokenSink):
    """Cannot store one of its blocks."""

    def __init__(self, block):
        super().__init__()
        self.left = block

    def append(self, rows):
        self.left -= 1
        if self.left == -1:
            raise OSError("disk full")
        super().append(rows)


@pytest.mark.parametrize("block", range(6))
def test_a_run_that_lost_a_block_is_sealed_as_failed_whichever_it_was(block):
    """Five whole blocks and half of one, which is handed over once the run has ended."""
    servo, sink = fake(), LosingSink(block)
    result = record_inline(servo, make_trajectory("steps", 1.1, hold_time=0.5), HEADER, sink)
    assert (result.exit_status, sink.exit_status) == ("fail", "fail")
    assert "disk full" in result.reason
    assert "disk full" in sink.reason
    assert result.id == "007", "what was stored is kept"
    assert servo.log["driven"] == 0
    assert record_inline(fake(), make_trajectory("steps", 1.1), HEADER, LosingSink(6)).exit_status == "success"


class Never:
    """A disk that takes nothing after the sink was opened."""

    def __init__(self):
        self.waiting = []

    def submit(self, function, /, *arguments):
        if not self.waiting:
            self.waiting.append(function)
            return Immediately().submit(function, *arguments)
        self.waiting.append(function)
        return Future()


def test_a_store_that_takes_nothing_stops_the_run_after_the_longest_backlog():
    storage = Storage(MemorySink(), HEADER, Never())
    assert storage.opened()
    row = np.zeros((), SAMPLE_DTYPE).item()
    with pytest.raises(OSError, match="took no samples for 5 s"):
        deque(map(storage.put, [row] * 10_000), maxlen=0)
    assert (
        timing.REAL.storage_backlog * RATE <= storage.samples <= (timing.REAL.storage_backlog + 2 * BLOCK_TIME) * RATE
    )


def test_a_run_whose_file_cannot_be_closed_is_not_called_a_success():
    result = record_inline(fake(), STEPS, HEADER, BrokenSink("finish"))
    assert result.exit_status == "fail"
    assert "closing the run's file failed" in result.reason
    assert record_inline(fake(), STEPS, HEADER, BrokenSink()).id == "007"


def test_a_run_without_samples_is_none_and_no_failure_of_the_store():
    servo = fake()
    servo._read = lambda: Reading(position=math.nan)
    result = record_inline(servo, STEPS, HEADER, BrokenSink("finish"))
    assert (result.id, result.samples, result.exit_status) == ("", 0, "fail")
    assert "no run to keep" in result.reason
    assert "failed" not in result.reason


@pytest.mark.parametrize("far", [-4.0, 4.0])
def test_a_goal_beyond_either_limit_is_refused_with_the_whole_way_and_both_limits(far):
    plan = RunPlan.sample(recorded_trajectory("far", [0.0, 0.5, 1.0], [0.5, far, 0.5], [1, 1, 1]), RATE)
    plan.check(Limits(lowest_position=min(0.5, far), highest_position=max(0.5, far)))
    low, high = sorted((0.5, far))
    with pytest.raises(CommandError) as refused:
        plan.check(Limits(lowest_position=-3.0, highest_position=3.5))
    assert f"far goes from {low:.3f} to {high:.3f} rad, outside the limits -3.000 to 3.500 rad" in str(refused.value)


def test_a_rate_is_above_0_and_at_most_the_highest_and_suits_the_watchdog():
    for rate, watchdog in ((5000.0, 0.0), (0.1, 0.0), (20.0, 0.1), (5000.0, 0.1)):
        check_rate(rate, watchdog)
    for rate in (-1.0, 0.0, math.nan, 5000.1, math.inf):
        with pytest.raises(CommandError, match="is not possible; choose one up to 5000 Hz"):
            check_rate(rate)
    with pytest.raises(CommandError, match="since its watchdog waits 50 ms; choose at least 40 Hz"):
        check_rate(39.9, 0.05)


def test_kept_rows_stay_as_they_were_appended():
    sink, rows = MemorySink().open(HEADER), np.zeros(2, SAMPLE_DTYPE)
    for position in (0.25, 0.5):
        rows["position"] = position
        sink.append(rows)
    assert sink.rows["position"].tolist() == [0.25, 0.25, 0.5, 0.5]
    sink.finish("abort", "stopped")
    assert (sink.exit_status, sink.reason) == ("abort", "stopped")
    assert (len(sink.open(HEADER).rows), sink.exit_status, sink.reason) == (0, "", "")


def test_what_could_be_dangerous_or_endless_is_refused_before_anything_moves():
    servo = fake()
    wide = recorded_trajectory("wide", [0.0, 0.5, 1.0], [0.0, 4.0, 0.0], [1, 1, 1])
    with pytest.raises(CommandError, match="outside the limits"):
        record_inline(servo, wide, HEADER)
    # A released servo follows no goal.
    dropped = recorded_trajectory("dropped", [0.0, 0.1, 0.2, 1.0], [0.0, 0.0, 4.0, 4.0], [1, 0, 0, 0])
    RunPlan.sample(dropped, RATE).check(servo.limits)
    with pytest.raises(CommandError, match="rate"):
        record_inline(servo, STEPS, HEADER, rate=0.0)
    with pytest.raises(CommandError, match="at least 2"):
        record_inline(servo, STEPS, HEADER, rate=1.0)
    servo.clock = RealClock()
    with pytest.raises(NotReady, match="real clock"):
        record_inline(servo, STEPS, HEADER)
    servo.hazardous = True
    with pytest.raises(NotReady, match="Recorder"):
        record_inline(servo, STEPS, HEADER, virtual=False)
    with pytest.raises(NotReady, match="connect"):
        record_inline(SimulatedServo("mx106", clock=VirtualClock()), STEPS, HEADER)
    assert servo.log["enables"] == 0
