"""The fault table on an EtherCAT bus: what a person sees, what is kept, and that the motor is off in time.

Where no frame reaches the drive any more its own watchdog switches it off, as the emulator knows.
"""

import os
import re
import signal
import time

import pytest

from drivers.errors import DriverError
from drivers.recorder import Recorder
from drivers.servo import ServoState
from sessions import Session
from tests.drivers.faults.rig import DEADLINE, another_program, run_with
from tests.drivers.faults.sinks import Wrapped

DRIVE = "ethercat:erob80_50"
pytestmark = pytest.mark.own_network


@pytest.fixture
def made(rig, tmp_path):
    with rig(DRIVE, tmp_path) as made:
        yield made


@pytest.mark.parametrize("line", ["drop 1", "corrupt 1", "truncate 1", "duplicate 1", "delay 20 1", "warning on"])
def test_disturbed_frames_are_counted_and_the_run_goes_on(made, line):
    made.begin(1.0)
    made.emulator.say(line)
    result = made.ended()
    assert (result.exit_status, result.reason) == ("success", "")
    assert made.kept() == result.samples > 100
    if line.split()[0] in ("drop", "corrupt", "truncate"):
        assert result.bus_errors >= 1


@pytest.mark.parametrize(
    ("line", "seen"),
    [
        ("drop 100000", "did not come back"),
        ("unplug on", "did not come back"),
        ("mute on", "did not come back"),
        ("power-cycle", "did not come back|left OP"),
        ("fault 0x2310", "0x2310"),
        ("al-error 0x1b", "left OP|AL error 0x001B|switched itself off"),
        ("emergency 0x4310", "0x4310"),
        ("temperature 120", "switched itself off|error"),
        ("supply 10", "voltage|switched itself off|error"),
    ],
)
def test_what_ends_a_run_switches_the_motor_off(made, line, seen):
    outcome = run_with(made, lambda made: made.emulator.say(line))
    assert outcome.status == "fail"
    assert re.search(seen, outcome.seen), outcome.seen
    assert outcome.samples >= 40
    assert outcome.off_after < DEADLINE
    assert made.recorder.state is ServoState.FAULT


def test_a_cable_that_comes_off_while_a_torque_is_held(made):
    made.begin_hold(4.0)
    assert made.driven()
    made.emulator.say("unplug on")
    assert made.off_after() < DEADLINE


@pytest.mark.parametrize("number", ["SIGKILL", "SIGSTOP"])
def test_a_recorder_that_dies_or_hangs_loses_the_drive(made, number):
    made.begin()
    pid = made.recorder._child.pid
    os.kill(pid, getattr(signal, number))
    assert made.off_after() < DEADLINE
    made.until(lambda: made.recorder.state is ServoState.FAULT)
    if number == "SIGSTOP":
        os.kill(pid, signal.SIGKILL)
    made.recorder.close()
    assert made.kept() >= 30


@pytest.mark.parametrize("number", ["SIGKILL", "SIGSTOP"])
def test_a_window_that_dies_or_hangs_loses_the_drive(made, number):
    with another_program(made) as (window, _):
        assert made.driven()
        os.kill(window, getattr(signal, number))
        assert made.off_after(beat=False) < DEADLINE
        time.sleep(1.0)
        assert made.kept() >= 40


def test_window_and_recorder_killed_together_lose_the_drive(made):
    with another_program(made) as (window, recorder):
        os.kill(window, signal.SIGKILL)
        os.kill(recorder, signal.SIGKILL)
        assert made.off_after(beat=False) < DEADLINE


def test_a_full_disk_ends_the_run(made):
    made.begin(60.0, Wrapped(Session.open_or_create(made.folder / "session").sink(), full=True))
    assert made.off_after() < DEADLINE + 0.5
    assert "No space left on device" in made.ended().reason


@pytest.mark.parametrize("jump", [3600.0, -3600.0])
def test_a_jump_of_the_wall_clock_disturbs_nothing(made, jump):
    made.begin(1.0, Wrapped(Session.open_or_create(made.folder / "session").sink(), jump=jump))
    assert made.ended().exit_status == "success"


def test_a_second_master_is_refused(made):
    made.recorder.start()
    with pytest.raises(DriverError, match="is in use by process"):
        Recorder(made.address).start()
    assert made.recorder.state is ServoState.READY


def test_after_a_fault_it_is_usable_again(made):
    made.begin()
    made.emulator.say("unplug on")
    made.ended()
    made.emulator.say("unplug off")
    made.recorder.acknowledge()
    made.until(lambda: made.recorder.state is ServoState.READY)
    assert not made.driven()
