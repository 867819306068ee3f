"""The recorder's process: whatever ends the program, the process or the person's patience, the servo is released.

That it happens is tested here, how soon in `test_limits_in_time` and by `tests.bench.release`. No verdict depends on
the moment: where a busy machine may trip a limit before a test does, the outcome is the same.
"""

import math
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from multiprocessing import get_context

import numpy as np
import pytest

from core.motion.trajectories import make_trajectory
from core.servo.settings import ServoSettings
from core.servo.shipped import load_model
from drivers import timing
from drivers.errors import CommandError, NotReady, RecorderDied
from drivers.limits import Limits
from drivers.recorder import Phase, Recorder
from drivers.recorder.messages import Acknowledged, Configured, ConfigureFailed, Faulted, HoldEnded, RunFinished
from drivers.recorder.recorder import STOP_LOCK
from drivers.servo import ServoState
from tests.drivers.fake_servo import FakeLog, FakeSource
from tests.drivers.machine import set_limits
from tests.drivers.recording_program import HEADER, LONG, FileSink, gone, program
from tests.waiting import LIMIT, wait_until

CONTEXT = get_context("spawn")
SHORT = make_trajectory("half_sine", 0.4, period=0.4)
pytestmark = pytest.mark.usefixtures("warm")

needs_signals = pytest.mark.skipif(sys.platform == "win32", reason="no SIGSTOP and SIGKILL on this system")


@pytest.fixture
def log():
    return FakeLog()


HOLD_LIMITS = Limits(speed=1000.0, torque=2.0)


@pytest.fixture
def holder(log):
    """A recorder of a servo with a torque limit, whose ramps take a tenth of their time."""
    source = FakeSource(log=log, speed=10.0)
    with Recorder(source, limits=HOLD_LIMITS, stop_lock=0.0) as recorder:
        recorder.start()
        yield recorder


def start_hold(recorder, log, torque=0.3):
    recorder.hold(torque, HEADER)
    wait_until(lambda: recorder.status.held_torque == torque, recorder.beat)
    assert log["driven"] == 1


def next_event(recorder, kind, beating=True):
    """The next event of a kind, beating while it is waited for."""
    found = []
    beat = recorder.beat if beating else lambda: None
    wait_until(lambda: found.extend(e for e in recorder.poll() if isinstance(e, kind)) or found, beat)
    return found[0]


@pytest.fixture
def recorder(log):
    # The lock after a stop is not what most of these tests are about.
    with Recorder(FakeSource(log=log), stop_lock=0.0) as recorder:
        recorder.start()
        yield recorder


def start_run(recorder, log, sink=None, until=Phase.RUN):
    recorder.record(LONG, HEADER, sink)
    wait_until(lambda: recorder.phase in (until, Phase.RUN) and log["driven"], recorder.beat)


def test_a_servo_that_cannot_hold_a_torque_is_not_asked_to(recorder, log, monkeypatch):
    monkeypatch.setattr(recorder, "_identity", replace(recorder.identity, no_torque="it cannot hold a torque"))
    with pytest.raises(CommandError, match="it cannot hold a torque"):
        recorder.hold(0.1, HEADER)
    assert not recorder.holding
    assert (log["enables"], log["commands"]) == (0, 0)


def test_a_run_is_recorded_streamed_and_stored(recorder, log, tmp_path):
    reader = recorder.reader()
    assert recorder.identity.model == "fake"
    assert recorder.state is ServoState.READY
    assert recorder.status.priority == "normal priority: nothing real moves"
    assert recorder.record(SHORT, HEADER, FileSink(tmp_path)) == 1
    seen = []
    result = recorder.wait(LIMIT, progress=seen.append)
    assert (result.exit_status, result.reason, result.id) == ("success", "", "sin_sin")
    stored = np.load(tmp_path / "rows.npy")
    live = reader.read()
    run = live.rows[live.rows["phase"] == Phase.RUN]
    assert live.lost == 0
    assert len(stored) == result.samples == len(run) == 80 - result.skipped_cycles
    for name in stored.dtype.names:
        np.testing.assert_array_equal(stored[name], run[name])
    assert np.all(np.diff(stored["time"]) > 0)
    cycle = np.cumsum(stored["skipped_cycles"] + 1) - 1
    np.testing.assert_array_equal(stored["goal_position"], SHORT.goal(cycle / 200.0))
    assert recorder.state is ServoState.READY
    assert {status.length for status in seen} <= {0, 80}
    assert log["driven"] == 0
    # It is watched, and makes another run.
    newest = recorder.latest()["clock"]
    wait_until(lambda: recorder.latest()["clock"] > newest)
    assert recorder.latest()["phase"] == Phase.IDLE
    assert recorder.record(SHORT, HEADER) == 2
    assert recorder.wait(LIMIT).run == 2


@pytest.mark.parametrize(
    "phases",
    # A busy machine may miss the first of them.
    [(Phase.IDLE,), (Phase.APPROACH, Phase.RUN), (Phase.RUN,), (Phase.RETURN, Phase.IDLE)],
    ids=lambda phases: phases[0].name,
)
def test_an_emergency_stop_releases_in_every_phase_and_holds_until_acknowledged(recorder, log, phases):
    begun = phases != (Phase.IDLE,)
    if begun:
        start_run(recorder, log, until=phases[0] if phases[0] is Phase.APPROACH else Phase.RUN)
        if Phase.RETURN in phases:
            wait_until(lambda: recorder.status.done > 60, recorder.beat)
            recorder.abort()
        wait_until(lambda: recorder.phase in phases, recorder.beat)
    releases = log["releases"]
    asked = time.perf_counter_ns()  # only compared with other stamps
    recorder.emergency_stop()
    wait_until(lambda: recorder.state is ServoState.FAULT and recorder.stop_latency, recorder.beat)
    assert not log["driven"]
    assert log["releases"] > releases
    # Told is the time until the first confirmed release.
    assert 0.0 < recorder.stop_latency <= 1e-9 * (time.perf_counter_ns() - asked)
    if begun:
        assert recorder.wait(LIMIT).exit_status == "abort"
    wait_until(lambda: recorder.poll() is not None and "emergency stop" in recorder.fault)
    with pytest.raises(NotReady, match="acknowledge"):
        recorder.record(SHORT, HEADER)
    recorder.acknowledge()
    next_event(recorder, Acknowledged)
    assert (recorder.state, recorder.fault) == (ServoState.READY, "")
    recorder.record(SHORT, HEADER)
    assert recorder.wait(LIMIT).exit_status == "success"


def test_an_acknowledgement_covers_a_stop_that_is_heeded_late(recorder):
    recorder.emergency_stop()
    recorder.acknowledge()
    next_event(recorder, Acknowledged)
    assert recorder.state is ServoState.READY


@needs_signals
def test_an_acknowledgement_does_not_cover_a_stop_that_came_after_it(recorder):
    recorder.emergency_stop()
    wait_until(lambda: recorder.state is ServoState.FAULT)
    os.kill(recorder._child.pid, signal.SIGSTOP)
    recorder.acknowledge()
    recorder.emergency_stop()
    reader = recorder.reader()
    os.kill(recorder._child.pid, signal.SIGCONT)
    rows = []
    wait_until(lambda: rows.extend(reader.read().rows) or len(rows) >= 3)
    assert recorder.state is ServoState.FAULT


@pytest.mark.parametrize("aborts", [1, 2])
def test_an_abort_keeps_the_samples_and_returns_slowly_and_a_second_one_releases_where_it_is(
    recorder, log, tmp_path, aborts
):
    start_run(recorder, log, FileSink(tmp_path))
    wait_until(lambda: recorder.status.done > 60, recorder.beat)
    recorder.abort()
    if aborts == 2:
        # A busy machine may miss the way back.
        wait_until(lambda: recorder.phase in (Phase.RETURN, Phase.IDLE), recorder.beat)
        recorder.abort()
    result = recorder.wait(LIMIT)
    assert (result.exit_status, result.reason) == ("abort", "aborted")
    assert len(np.load(tmp_path / "rows.npy")) == result.samples > 0
    assert (tmp_path / "end.txt").read_text().startswith("abort")
    assert recorder.state is ServoState.READY
    assert log["driven"] == 0


@pytest.mark.parametrize("held", [False, True], ids=["run", "held torque"])
def test_a_program_that_stops_beating_loses_the_servo(log, tmp_path, held):
    with Recorder(FakeSource(log=log, speed=10.0), limits=HOLD_LIMITS, heartbeat_limit=0.5) as recorder:
        recorder.start()
        if held:
            recorder.hold(0.05, HEADER)
        else:
            recorder.record(LONG, HEADER, FileSink(tmp_path))
        end = next_event(recorder, HoldEnded if held else RunFinished, beating=False)
        result = end if held else end.result
        assert result.exit_status == "fail"
        assert "no sign of life" in result.reason
        assert log["driven"] == 0
        assert recorder.state is ServoState.FAULT
    if not held:
        assert (
            (tmp_path / "end.txt")
            .read_text()
            .startswith("fail\nthe computer was busy or the program hung: the program gave no sign of life")
        )


@pytest.mark.parametrize(("lost", "state"), [((3, 4, 6, 7), ServoState.READY), ((3, 4, 5), ServoState.FAULT)])
def test_a_released_servo_is_in_fault_after_three_lost_answers_in_a_row(log, lost, state):
    with Recorder(FakeSource(log=log, lost_idle_reads=lost)) as recorder:
        recorder.start()
        wait_until(lambda: log["reads"] > 10, recorder.beat)
        assert recorder.state is state


def test_a_broken_bus_ends_the_run_and_the_motor_is_switched_off_when_the_servo_answers_again(log, tmp_path):
    """Nobody has to ask: three attempts after the fault fail, later ones are made until one is confirmed."""
    with Recorder(FakeSource(log=log, break_read=150, failing_releases=7)) as recorder:
        recorder.start()
        recorder.record(LONG, HEADER, FileSink(tmp_path))
        result = recorder.wait(LIMIT)
        assert result.exit_status == "fail"
        assert "the bus is broken" in result.reason
        assert (tmp_path / "end.txt").read_text().startswith("fail")
        wait_until(lambda: recorder.poll() is not None and "not confirmed" in recorder.fault)
        wait_until(lambda: not log["driven"])
        assert recorder.state is ServoState.FAULT


def test_limits_given_to_the_recorder_trip_there(log):
    limits = Limits(lowest_position=-0.5, highest_position=3.0, speed=1000.0)
    with Recorder(FakeSource(log=log, jump=100), limits=limits) as recorder:
        recorder.start()
        with pytest.raises(CommandError, match=r"outside the limits -0\.500"):
            recorder.record(LONG, HEADER)
        recorder.record(SHORT, HEADER)
        result = recorder.wait(LIMIT)
        assert "limit of 3 rad" in result.reason
    assert log["driven"] == 0


def test_a_program_leaves_nothing_behind_and_says_nothing():
    """Warnings of leaked processes, files or shared memory would be errors on stderr."""
    text = (
        "from drivers.recorder import Recorder; from tests.drivers.fake_servo import FakeSource; "
        "from tests.drivers.recording_program import HEADER, make_trajectory\n"
        "with Recorder(FakeSource()) as recorder:\n"
        "    recorder.start()\n"
        "    recorder.record(make_trajectory('nothing', 0.1), HEADER)\n"
        "    print(recorder.wait().exit_status)\n"
    )
    ended = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", "-c", text], capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "success\n", "")


def test_only_one_run_at_a_time_and_none_before_the_start(recorder, log):
    fresh = Recorder(FakeSource())
    with pytest.raises(NotReady, match="start"):
        fresh.record(SHORT, HEADER)
    with pytest.raises(NotReady, match="record one first"):
        fresh.wait()
    with pytest.raises(NotReady, match="already"):
        recorder.launch()
    start_run(recorder, log)
    with pytest.raises(NotReady, match="a run is on"):
        recorder.record(SHORT, HEADER)
    with pytest.raises(TimeoutError):
        recorder.wait(0.05)


def test_closing_during_a_run_releases_and_ends_the_process(log, tmp_path, monkeypatch):
    set_limits(monkeypatch, recorder_end=LIMIT)
    recorder = Recorder(FakeSource(log=log))
    recorder.start()
    start_run(recorder, log, FileSink(tmp_path))
    wait_until(lambda: recorder.status.done > 60, recorder.beat)
    recorder.close()
    assert log["driven"] == 0
    assert log["closes"] == 1
    assert gone(log["pid"])
    assert recorder.state is ServoState.DISCONNECTED
    assert (tmp_path / "end.txt").read_text() == "abort\nthe program closed the recorder\n"
    recorder.close()


@needs_signals
def test_a_signal_releases_seals_the_run_and_ends_the_process(recorder, log, tmp_path):
    start_run(recorder, log, FileSink(tmp_path))
    os.kill(log["pid"], signal.SIGTERM)
    result = recorder.wait(LIMIT)
    assert (result.exit_status, result.reason) == ("abort", "SIGTERM")
    assert log["driven"] == 0
    wait_until(lambda: recorder.poll() is not None and "exit code 0" in recorder.fault)
    assert recorder.state is ServoState.FAULT
    with pytest.raises(RecorderDied):
        recorder.record(SHORT, HEADER)


@needs_signals
def test_a_recorder_that_stood_still_is_seen_and_releases_as_soon_as_it_goes_on(log, impatient, monkeypatch):
    # What ends the run is that it stood still, not that nobody beat.
    with Recorder(FakeSource(log=log), heartbeat_limit=1e6) as recorder:
        recorder.start()
        set_limits(monkeypatch, recorder_silence=1.5 * timing.limits.stall)
        recorder.record(LONG, HEADER)
        wait_until(lambda: log["driven"] or recorder.phase is Phase.RUN)
        os.kill(log["pid"], signal.SIGSTOP)
        wait_until(lambda: recorder.state is ServoState.FAULT)
        with pytest.raises(RecorderDied, match="CUT THE SUPPLY"):
            recorder.wait(LIMIT)
        os.kill(log["pid"], signal.SIGCONT)
        assert "stood still" in next_event(recorder, RunFinished).result.reason
        assert not log["driven"]


@needs_signals
def test_a_killed_program_loses_the_servo(log, tmp_path):
    owner = CONTEXT.Process(target=program, args=(FakeSource(log=log), tmp_path, math.inf, False))
    owner.start()
    end = tmp_path / "end.txt"
    try:
        wait_until(lambda: log["commands"] > 150 or end.exists())
        owner.kill()
        wait_until(lambda: end.exists() and "the program that ran the bench is gone" in end.read_text())
        assert not log["driven"]
        assert len(np.load(tmp_path / "rows.npy")) > 0
    finally:
        owner.kill()
        owner.join()
    wait_until(lambda: gone(log["pid"]))


def test_a_program_that_ends_without_closing_releases_the_servo(log, tmp_path):
    owner = CONTEXT.Process(target=program, args=(FakeSource(log=log), tmp_path, 150, True))
    owner.start()
    owner.join(LIMIT)
    assert owner.exitcode == 0
    wait_until(lambda: gone(log["pid"]))
    assert log["driven"] == 0
    assert (tmp_path / "end.txt").read_text().startswith("abort")


def test_a_torque_is_held_changed_and_taken_away_in_the_process(holder, log):
    reader = holder.reader()
    assert math.isnan(holder.status.held_torque)
    start_hold(holder, log)
    assert (holder.phase, holder.state, holder.holding, holder.busy) == (Phase.HOLD, ServoState.ENABLED, True, True)
    holder.set_torque(-99.0)  # clamped
    wait_until(lambda: holder.status.held_torque == -2.0, holder.beat)
    holder.end_hold()
    end = next_event(holder, HoldEnded)
    assert (end.exit_status, end.reason) == ("success", "")
    assert (holder.state, holder.holding, holder.busy, log["driven"]) == (ServoState.READY, False, False, 0)
    assert math.isnan(holder.status.held_torque)
    rows = reader.read().rows
    held = rows["held_torque"][rows["phase"] == Phase.HOLD]
    assert (held[0], held.max(), held.min(), held[-1]) == (0.0, 0.3, -2.0, 0.0)
    assert np.abs(np.diff(held)).max() <= 0.25 * 2.0 / HEADER.rate * (1 + 1e-9)
    assert np.all(np.isnan(rows["held_torque"][rows["phase"] == Phase.IDLE]))
    # The end of this hold is not the end of the next one.
    holder.hold(99.0, HEADER)
    wait_until(lambda: holder.status.held_torque == 2.0, holder.beat)
    holder.end_hold()
    assert next_event(holder, HoldEnded).exit_status == "success"


def test_what_does_not_go_with_holding_is_refused(holder, recorder, log):
    for wrong in (math.nan, math.inf):
        with pytest.raises(CommandError, match="finite"):
            holder.hold(wrong, HEADER)
    with pytest.raises(CommandError, match="torque limit"):
        recorder.hold(0.1, HEADER)
    with pytest.raises(NotReady, match="begin to hold one"):
        holder.set_torque(0.1)
    holder.record(LONG, HEADER)
    with pytest.raises(NotReady, match="cannot hold a torque: a run is on"):
        holder.hold(0.1, HEADER)
    with pytest.raises(NotReady, match="cannot change settings: a run is on"):
        holder.configure(HEADER.settings, HOLD_LIMITS)
    holder.abort()
    holder.wait(LIMIT)
    start_hold(holder, log)
    for refused in (
        lambda: holder.record(SHORT, HEADER),
        lambda: holder.hold(0.2, HEADER),
        lambda: holder.configure(HEADER.settings, HOLD_LIMITS),
    ):
        with pytest.raises(NotReady, match="a torque is being held; end that first"):
            refused()
    with pytest.raises(CommandError, match="finite"):
        holder.set_torque(math.nan)
    holder.set_torque(0.4)
    wait_until(lambda: holder.status.held_torque == 0.4, holder.beat)


def test_cycles_are_so_frequent_that_the_servos_watchdog_does_not_stop_it(log):
    with Recorder(FakeSource(log=log, watchdog=0.1), limits=HOLD_LIMITS) as recorder:
        recorder.start()
        slow = replace(HEADER, rate=19.0)
        for refused in (lambda: recorder.record(SHORT, slow), lambda: recorder.hold(0.3, slow)):
            with pytest.raises(CommandError, match="its watchdog waits 100 ms; choose at least 20 Hz"):
                refused()
        assert not recorder.busy
        recorder.record(SHORT, replace(HEADER, rate=20.0))
        assert recorder.wait(LIMIT).exit_status == "success"


def test_an_emergency_stop_while_a_torque_is_held_releases_at_once(holder, log):
    start_hold(holder, log)
    holder.emergency_stop()
    end = next_event(holder, HoldEnded)
    assert (end.exit_status, end.reason) == ("abort", "emergency stop")
    assert (holder.state, log["driven"]) == (ServoState.FAULT, 0)
    with pytest.raises(NotReady, match="acknowledge"):
        holder.hold(0.1, HEADER)
    holder.acknowledge()
    next_event(holder, Acknowledged)
    start_hold(holder, log)


def test_an_abort_ends_a_hold_and_a_limit_trips_it(holder, log):
    start_hold(holder, log)
    holder.abort()
    end = next_event(holder, HoldEnded)
    assert (end.exit_status, end.reason, holder.state) == ("abort", "aborted", ServoState.READY)
    with Recorder(FakeSource(log=log, jump=40, speed=10.0), limits=HOLD_LIMITS) as recorder:
        recorder.start()
        recorder.hold(0.3, HEADER)
        end = next_event(recorder, HoldEnded)
        assert end.exit_status == "fail"
        assert "limit tripped: position" in end.reason
        assert recorder.state is ServoState.FAULT
        assert log["driven"] == 0


@needs_signals
def test_a_recorder_killed_while_it_holds_a_torque_ends_the_hold(holder, log):
    start_hold(holder, log)
    os.kill(log["pid"], signal.SIGKILL)
    events = []
    wait_until(lambda: events.extend(holder.poll()) or len(events) == 2, holder.beat)
    assert [type(event) for event in events] == [HoldEnded, Faulted]
    assert events[0].exit_status == "fail"
    assert "exit code -9" in events[0].reason
    for refused in (lambda: holder.set_torque(0.1), lambda: holder.record(SHORT, HEADER)):
        with pytest.raises(RecorderDied):
            refused()


def test_after_an_emergency_stop_nothing_that_may_drive_is_taken_for_a_while_even_when_acknowledged(log):
    assert STOP_LOCK == 5.0
    with Recorder(FakeSource(log=log), limits=HOLD_LIMITS, stop_lock=3600.0) as recorder:
        recorder.start()
        assert recorder.locked_for == 0.0
        recorder.emergency_stop()
        assert 0.0 < recorder.locked_for <= 3600.0
        next_event(recorder, Faulted)
        recorder.acknowledge()
        next_event(recorder, Acknowledged)
        assert recorder.state is ServoState.READY
        for refused in (
            lambda: recorder.record(SHORT, HEADER),
            lambda: recorder.hold(0.1, HEADER),
            lambda: recorder.configure(HEADER.settings, HOLD_LIMITS),
        ):
            with pytest.raises(NotReady, match=r"emergency stop was pressed; wait another \d+\.\d s"):
                refused()
        assert not recorder.busy
        assert log["enables"] == 0
        # It opens by itself.
        recorder._stop_lock = 0.3
        wait_until(lambda: recorder.locked_for == 0.0, recorder.beat)
        recorder.record(SHORT, HEADER)
        assert recorder.wait(LIMIT).exit_status == "success"


def test_settings_and_limits_are_written_and_what_is_told_was_read_back():
    model = load_model("mx106", "m6")
    with Recorder("simulated:mx106?clock=virtual") as recorder:
        recorder.start()
        assert recorder.written == model.default_settings()
        ratings = recorder.ratings
        assert recorder.limits == ratings
        settings = ServoSettings(servo="mx106", kp=8.0, ki=0.0, kd=1.0, supply_voltage=14.0)
        narrow = Limits(
            lowest_position=-0.5,
            highest_position=0.5,
            speed=10.0,
            torque=1.0,
            current=4.0,
            temperature=60.0,
            lowest_voltage=11.0,
            highest_voltage=16.0,
        )
        recorder.configure(settings, narrow)
        assert recorder.busy
        event = next_event(recorder, Configured)
        assert (event.settings, event.limits) == (settings, narrow)
        assert (recorder.written, recorder.limits, recorder.busy) == (settings, narrow, False)
        # The new limits hold for the next run, and wide ones do not become the servo's.
        with pytest.raises(CommandError, match="outside the limits"):
            recorder.record(LONG, HEADER)
        with pytest.raises(CommandError, match=r"torque of 9 N·m is wider than the servo's rating of 8\.4 N·m"):
            recorder.configure(settings, replace(narrow, torque=9.0))
        # What the servo does not take is told and forgotten.
        recorder.configure(replace(settings, damping=1.0), narrow)
        assert "damping" in next_event(recorder, ConfigureFailed).reason
        assert (recorder.written, recorder.state) == (None, ServoState.READY)
        # A run writes its own gains.
        recorder.limits = ratings
        recorder.record(make_trajectory("half_sine", 0.4, period=0.4), HEADER)
        assert recorder.wait(LIMIT).exit_status == "success"
        assert recorder.written == HEADER.settings
