"""No sample is lost: what a run's file holds is told from its goal, cycle by cycle; and a day's work in short."""

import os
from dataclasses import replace
from multiprocessing import resource_tracker

import numpy as np
import pytest

from core.motion.recording import RunHeader
from core.motion.trajectories import make_trajectory
from core.servo.bench import Bench
from core.servo.shipped import load_model
from drivers.clock import VirtualClock
from drivers.recorder import MemorySink, record_inline
from drivers.simulated import SimulatedServo
from sessions import Session
from tests.endurance.day import Day
from tests.endurance.evidence import AskedRun, check_run, check_runs
from tests.endurance.vitals import descendants
from tests.waiting import wait_until

NAME, DURATION, RATE = "sin_sin", 1.0, 100.0


class LateClock(VirtualClock):
    """Wakes up late by some cycles, once, so many cycles before a run of DURATION ends."""

    def __init__(self, before_end, late):
        super().__init__()
        self.at, self.late = None, late / RATE
        self.before_end = before_end / RATE

    def wait_until(self, deadline, interrupted):
        super().wait_until(deadline, interrupted)
        if self.at is not None and deadline >= self.at:
            self._now += self.late
            self.at = None

    def run_begins(self):
        self.at = self._now + DURATION - self.before_end


class Sink(MemorySink):
    """Tells the clock when the first samples of a run have come."""

    def __init__(self, clock):
        super().__init__()
        self.clock = clock

    def append(self, rows):
        if not len(self.rows):
            # The first block is full after 0.2 s.
            self.clock.at = self.clock._now - float(rows["time"][-1]) + DURATION - self.clock.before_end
        super().append(rows)


def recorded(clock):
    servo = SimulatedServo("mx106", clock=clock)
    sink = Sink(clock)
    settings = load_model("mx106", "m6").default_settings()
    header = RunHeader(trajectory=NAME, bench=Bench(mass=0.5, length=0.1), settings=settings, rate=RATE)
    with servo:
        servo.connect()
        result = record_inline(servo, make_trajectory(NAME, DURATION), header, sink)
    return result, sink.rows


@pytest.mark.parametrize(("before_end", "late", "within"), [(50, 7, 7), (10, 3, 3), (3, 9, 2), (1, 5, 0)])
def test_samples_and_skipped_cycles_are_the_cycles_of_the_run(before_end, late, within):
    result, rows = recorded(LateClock(before_end, late + 0.5))
    assert result.exit_status == "success"
    assert result.samples + result.skipped_cycles == round(DURATION * RATE)
    assert abs(result.skipped_cycles - within) <= 1
    assert len(rows) == result.samples


@pytest.fixture
def run(tmp_path):
    """A stored run and what the recorder said of it."""
    session = Session.create(tmp_path / "lab")
    settings = load_model("mx106", "m6").default_settings()
    header = RunHeader(trajectory=NAME, bench=Bench(mass=0.5, length=0.1), settings=settings, rate=RATE)
    with SimulatedServo("mx106", clock=VirtualClock()) as servo:
        servo.connect()
        result = record_inline(servo, make_trajectory(NAME, DURATION), header, session.sink())
    asked = AskedRun(result.id, NAME, DURATION, RATE, result.exit_status, result.samples, result.skipped_cycles)
    return session, asked, session.load(result.id)


def test_a_whole_run_passes(run):
    session, asked, recording = run
    assert check_run(asked, recording) == ""
    found = check_runs(session, [asked])
    assert (found.runs, found.samples, found.lost, found.wrong) == (1, 100, 0, ())


def test_a_lost_a_doubled_and_a_swapped_sample_are_seen(run):
    _, asked, recording = run

    def with_rows(places):
        channels = {name: values[places] for name, values in recording.channels.items()}
        return replace(recording, channels={**channels, "time": recording.time[: len(places)]})

    whole = np.arange(100)
    assert "99 are there" in check_run(asked, with_rows(np.delete(whole, 40)))
    assert "goal of another cycle" in check_run(asked, with_rows(np.sort(np.append(np.delete(whole, 40), 70))))
    swapped = whole.copy()
    swapped[[20, 30]] = swapped[[30, 20]]
    assert "goal of another cycle" in check_run(asked, with_rows(swapped))


def test_a_run_that_nobody_asked_for_or_that_is_gone_is_named(run):
    session, asked, _ = run
    assert "nobody asked for it" in check_runs(session, []).wrong[0]
    gone = check_runs(session, [asked, replace(asked, id="0009_gone")])
    assert (gone.lost, len(gone.wrong)) == (100, 1)


@pytest.fixture
def day(qapp, tmp_path, monkeypatch):
    """A bench at ten times the speed; whatever becomes of the test, no window is left to the next one."""
    from tests.gui.conftest import dispose

    monkeypatch.setenv("SERVOBENCH_HOME", str(tmp_path / "home"))
    day = Day(tmp_path, 10.0)
    yield day
    day.end()
    dispose(day.window, day.controller)


def living():
    """Processes of this one that have not ended."""
    return {pid for pid, state in descendants(os.getpid()).items() if state != "Z"}


@pytest.fixture
def before():
    """The processes that are there before the test."""
    resource_tracker.ensure_running()  # Python's own, which stays
    return living()


@pytest.mark.exhaustive("all of a person's work in one window; the tests of the window do it part by part")
def test_a_minute_of_a_day_loses_nothing_and_leaves_no_process(before, day):
    day.arrive()
    day.record(("sin_sin",))
    day.look_at_runs()
    day.note()
    day.stop_in_a_run()
    day.record(("up_and_down",))
    day.end()
    found = check_runs(Session.open(day.session), day.ledger.runs())
    assert not day.incidents
    assert found.wrong == ()
    assert found.lost == 0
    assert found.runs >= 3
    # What has ended may still be on its way out.
    wait_until(lambda: not living() - before, told="processes are left")
