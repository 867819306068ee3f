"""How soon a servo is released: limits in seconds, by the product's own loop, clock and guardian in virtual time."""

import math
import os
from dataclasses import replace
from multiprocessing import get_context
from types import SimpleNamespace

import pytest

from drivers import timing
from drivers.clock import SLICE
from drivers.errors import BusError, NoAnswer
from drivers.limits import Limits
from drivers.recorder import guardian
from drivers.recorder.control import Control
from drivers.recorder.cycle import Cycle
from drivers.recorder.guardian import LOOK_PERIOD, GuardianSetup, guard
from drivers.recorder.link import SharedLink
from drivers.recorder.loop import HoldJob, Loop, RunJob
from drivers.recorder.ring import Ring, RingWriter
from drivers.recorder.run import LIVE_DTYPE, Phase, RunPlan
from drivers.recorder.storage import Immediately
from drivers.servo import ServoState
from tests.drivers.fake_servo import FakeServo, FakeSource, GuardedSource
from tests.drivers.machine import machine_time
from tests.drivers.recording_program import HEADER, LONG

CONTEXT = get_context("spawn")
HEARTBEAT, STOPPED, GUARD = timing.REAL.program_silence, timing.REAL.program_stopped, timing.REAL.guarded_silence
COMPUTING = 1e-3
"""All that asking for the time so often takes [s]."""


@pytest.fixture
def machine(monkeypatch):
    return machine_time(monkeypatch)


class Program:
    """Beats until `silent_from` [s] and does one thing after the other, each once its condition is true; beside it the
    recorder's loop with a servo that obeys at once.
    """

    def __init__(self, machine, speed=1.0):
        self.view = Control(CONTEXT).view()
        self.servo = FakeServo(FakeSource(speed=speed))
        self.log = self.servo.log
        self.servo.limits = Limits(speed=1000.0, torque=2.0)
        self.servo.connect()
        link = SharedLink(self.view, RingWriter(Ring(CONTEXT, LIVE_DTYPE, 16)), os.getppid(), HEARTBEAT)
        self.loop = Loop(Cycle(self.servo, link), Immediately())
        self.silent_from = math.inf
        self.acts = []
        self.acted_at = math.nan
        self.view.stamp("beat")
        machine.meanwhile = self._live

    def _live(self, now):
        if now < self.silent_from:
            self.view.stamp("beat")
        if self.acts and self.acts[0][0]():
            self.acts.pop(0)[1]()
            self.acted_at = now

    def phase(self, phase):
        return lambda: self.view.get("phase") == phase and self.log["driven"]

    def abort(self):
        self.view.set("abort_requests", self.view.get("abort_requests") + 1)

    def stop(self):
        self.view.stamp("stop_requested_at")
        self.view.set("stop_requests", 1)

    def record(self, rate=200.0):
        plan = RunPlan.sample(LONG, rate)
        job = RunJob(run=1, plan=plan, header=replace(HEADER, rate=rate), sink=None, limits=self.servo.limits)
        return self.loop.perform(job)

    def hold(self):
        holding = self.loop.hold(HoldJob(header=HEADER, limits=self.servo.limits))
        next(holding)
        try:
            while True:
                holding.send(0.05)
        except StopIteration as end:
            return end.value

    @property
    def released_at(self):
        """[s]"""
        assert not self.log["driven"]
        return 1e-9 * self.log["released_at"]


def test_the_limits_are_those_required():
    assert (HEARTBEAT, STOPPED, GUARD, timing.REAL.recorder_silence) == (1.5, 0.2, 0.15, 0.5)


@pytest.mark.parametrize("speed", [1.0, 8.0])
@pytest.mark.parametrize("drive", [Program.record, Program.hold])
@pytest.mark.parametrize(("stopped", "limit"), [(False, HEARTBEAT), (True, STOPPED)], ids=["silent", "stopped"])
def test_a_silent_program_loses_the_servo_after_its_time_on_an_accelerated_bench_too(
    machine, monkeypatch, stopped, limit, drive, speed
):
    monkeypatch.setattr("drivers.recorder.link.is_stopped", lambda pid: stopped)
    program = Program(machine, speed)
    program.silent_from = 102.0
    result = drive(program)
    assert result.exit_status == "fail"
    assert ("Ctrl-Z" if stopped else "no sign of life for 1.5 s") in result.reason
    assert drive is Program.hold or result.busy is not stopped
    assert program.servo.state is ServoState.FAULT
    last_beat = 1e-9 * program.view.get("beat")
    assert last_beat == pytest.approx(102.0, abs=SLICE + COMPUTING)
    assert limit <= program.released_at - last_beat < limit + SLICE + COMPUTING


@pytest.mark.parametrize(
    ("phase", "rate"), [(Phase.APPROACH, 200.0), (Phase.RUN, 200.0), (Phase.RUN, 2.0), (Phase.RETURN, 200.0)]
)
def test_an_emergency_stop_is_heeded_at_once_in_every_phase_and_within_a_slow_cycle(machine, phase, rate):
    program = Program(machine)
    if phase is Phase.RETURN:
        program.acts.append((lambda: program.view.get("run_done") > rate, program.abort))
    program.acts.append((program.phase(phase), program.stop))
    result = program.record(rate)
    assert (result.exit_status, result.busy) == ("abort", False)
    assert program.servo.state is ServoState.FAULT
    assert program.released_at - program.acted_at < SLICE + COMPUTING < 0.050
    asked, told = program.view.get("stop_requested_at"), program.view.get("stop_released_at")
    assert asked < program.log["released_at"] < told


def test_an_emergency_stop_while_a_torque_is_held(machine):
    program = Program(machine)
    program.acts.append((lambda: program.view.number("held_torque") == 0.05, program.stop))
    assert program.hold().reason == "emergency stop"
    assert program.released_at - program.acted_at < SLICE + COMPUTING


def test_a_second_abort_releases_on_the_way_back(machine):
    program = Program(machine)
    program.acts.append((lambda: program.view.get("run_done") > 200, program.abort))
    program.acts.append((program.phase(Phase.RETURN), program.abort))
    result = program.record()
    assert (result.exit_status, result.reason) == ("abort", "aborted")
    assert program.released_at - program.acted_at < SLICE + COMPUTING
    assert abs(program.servo.position) > 0.1
    assert program.servo.state is ServoState.READY


class Guarded:
    """A recorder that drives a servo and, from a moment on [s], hangs or is dead, beside the guardian."""

    def __init__(self, machine, monkeypatch, fails_at, dies=False, driven=True, **faults):
        self.source = GuardedSource(**faults)
        self.log = self.source.log
        self.log["driven"] = driven
        self._control = Control(CONTEXT)
        self.view = self._control.view()
        self.view.set("servo_state", ServoState.ENABLED if driven else ServoState.READY)
        self.view.set("driven", driven)
        self.view.stamp("recorder_beat")
        self._machine, self._fails_at, self._dies = machine, fails_at, dies
        self._failed = False
        machine.meanwhile = self._live
        # The guardian of this process listens to its signals and keeps its priority.
        monkeypatch.setattr(guardian, "answer_signals", lambda handler: None)
        monkeypatch.setattr(guardian, "raise_priority", lambda priority: "")
        monkeypatch.setattr(guardian, "select", SimpleNamespace(select=self._select))

    def _live(self, now):
        self._failed = self._fails_at <= now
        if not self._failed or now > self._fails_at + 1.0:
            self.view.stamp("recorder_beat")
        if now > self._fails_at + 2.0:
            self.view.set("driven", 0)
            self.view.set("phase", Phase.CLOSED)

    def _select(self, read, write, error, seconds):
        self._machine.sleep(seconds)
        return (read if self._failed and self._dies else []), [], []

    def guard(self):
        """Be its guardian to the end; returns how long after its failure the servo was released [s]."""
        guard(GuardianSetup(self.source, self._control, os.getpid()))
        return 1e-9 * self.log["released_at"] - self._fails_at


needs_pidfd = pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="no pidfd on this system")


@needs_pidfd
def test_a_recorder_that_hangs_is_replaced_after_its_time_once(machine, monkeypatch):
    guarded = Guarded(machine, monkeypatch, 101.0)
    assert GUARD - LOOK_PERIOD <= guarded.guard() <= GUARD + LOOK_PERIOD + COMPUTING
    # Beside the recorder, which still has the bus.
    assert (guarded.log["blind_releases"], guarded.log["blind_releases_alone"]) == (1, 0)
    assert guarded.view.get("guard_confirmed_at") >= guarded.log["released_at"]


@needs_pidfd
def test_a_recorder_that_dies_is_replaced_at_once(machine, monkeypatch):
    guarded = Guarded(machine, monkeypatch, 101.0, dies=True)
    assert guarded.guard() <= LOOK_PERIOD + COMPUTING
    # Whoever has taken the bus meanwhile is responsible for the servo.
    assert (guarded.log["blind_releases"], guarded.log["blind_releases_alone"]) == (1, 1)


@needs_pidfd
def test_a_bus_that_cannot_be_reached_is_tried_again_soon(machine, monkeypatch):
    guarded = Guarded(machine, monkeypatch, 101.0, dies=True, deaf=5)
    assert guarded.guard() <= 6 * LOOK_PERIOD + COMPUTING
    assert guarded.log["blind_releases"] == 6


@needs_pidfd
@pytest.mark.parametrize(("failure", "driven"), [(BusError, 1), (NoAnswer, 0)])
def test_only_a_bus_that_cannot_be_reached_is_given_up_after_half_a_minute(machine, monkeypatch, failure, driven):
    """A hundred attempts a second for three seconds, then two: the 401st, after 53 s, switches the motor off."""
    monkeypatch.setattr(guardian, "_go_on_alone", lambda: None)
    guarded = Guarded(machine, monkeypatch, 101.0, dies=True, deaf=400, failure=failure)
    guarded.guard()
    assert guarded.log["driven"] == driven


@needs_pidfd
def test_a_released_servo_is_left_alone_however_long_its_recorder_is_silent(machine, monkeypatch):
    guarded = Guarded(machine, monkeypatch, 101.0, driven=False)
    guarded.guard()
    assert guarded.log["blind_releases"] == 0
