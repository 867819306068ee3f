"""The fault table on an EtherCAT bus: what a person sees, what is kept, and that the motor is off.

Where no frame reaches the drive any more its own watchdog switches it off, as the emulator knows.
"""

import os
import re
import signal

import pytest

from drivers.errors import DriverError
from drivers.recorder import Recorder
from drivers.servo import ServoState
from sessions import Session
from tests.drivers.faults.rig import another_program, run_with
from tests.drivers.faults.sinks import Wrapped
from tests.drivers.machine import set_limits

DRIVE = "ethercat:erob80_50"
LOST = "did not come back|no frame came back"
pytestmark = pytest.mark.own_network


@pytest.fixture
def made(rig, tmp_path):
    with rig(DRIVE, tmp_path) as made:
        yield made


def test_disturbed_frames_are_counted_and_the_run_goes_on(made):
    made.begin()
    for line in ("drop 1", "corrupt 1", "truncate 1", "duplicate 1", "delay 20 1", "warning on"):
        status = made.recorder.status
        made.emulator.say(line)
        if line.split()[0] in ("drop", "corrupt", "truncate"):
            made.until(lambda before=status: made.recorder.status.bus_errors > before.bus_errors)
        made.until(lambda before=status: made.recorder.status.done > before.done + 20)
    made.recorder.abort()
    result = made.ended()
    assert (result.exit_status, result.reason) == ("abort", "aborted")
    assert made.kept() == result.samples > 0


@pytest.mark.parametrize(
    ("line", "seen"),
    [
        ("drop 100000", LOST),
        ("unplug on", LOST),
        ("mute on", LOST),
        ("power-cycle", f"{LOST}|left OP"),
        ("fault 0x2310", "0x2310"),
        ("al-error 0x1b", "left OP|AL error 0x001B|switched itself off"),
        ("emergency 0x4310", "0x4310"),
        ("temperature 120", "switched itself off|error"),
        ("supply 10", "voltage|switched itself off|error"),
    ],
)
def test_what_ends_a_run_switches_the_motor_off(rig, line, seen, tmp_path, request):
    if LOST in seen:
        request.getfixturevalue("impatient")  # frames are waited for in vain
    with rig(DRIVE, tmp_path) as made:
        outcome = run_with(made, lambda made: made.emulator.say(line))
        assert outcome.status == "fail"
        assert re.search(seen, outcome.seen), outcome.seen
        assert outcome.samples >= 40
        assert made.recorder.state is ServoState.FAULT


def test_a_cable_that_comes_off_while_a_torque_is_held(impatient, made):
    made.begin_hold(4.0)
    assert made.driven()
    made.emulator.say("unplug on")
    made.until_off()


@pytest.mark.parametrize("number", ["SIGKILL", "SIGSTOP"])
def test_a_recorder_that_dies_or_hangs_loses_the_drive(impatient, made, number, monkeypatch):
    made.begin()
    pid = made.recorder._child.pid
    os.kill(pid, getattr(signal, number))
    made.until_off()
    set_limits(monkeypatch, recorder_silence=0.5)
    made.until(lambda: made.recorder.state is ServoState.FAULT)
    if number == "SIGSTOP":
        os.kill(pid, signal.SIGKILL)
    made.recorder.close()
    assert made.kept() >= 30


@pytest.mark.parametrize("number", ["SIGKILL", "SIGSTOP"])
def test_a_window_that_dies_or_hangs_loses_the_drive(impatient, made, number):
    with another_program(made) as (window, _):
        assert made.driven()
        os.kill(window, getattr(signal, number))
        made.until_off(beat=False)
        made.until(lambda: made.kept() >= 40, beat=False)


def test_window_and_recorder_killed_together_lose_the_drive(impatient, made):
    with another_program(made) as (window, recorder):
        os.kill(window, signal.SIGKILL)
        os.kill(recorder, signal.SIGKILL)
        made.until_off(beat=False)


def test_a_full_disk_ends_the_run(made):
    made.begin(sink=Wrapped(Session.open_or_create(made.folder / "session").sink(), full=True))
    made.until_off()
    assert "No space left on device" in made.ended().reason


@pytest.mark.parametrize("jump", [3600.0, -3600.0])
def test_a_jump_of_the_wall_clock_disturbs_nothing(made, jump):
    made.record(1.0, Wrapped(Session.open_or_create(made.folder / "session").sink(), jump=jump))
    assert made.ended().exit_status == "success"


def test_a_second_master_is_refused(made):
    made.recorder.start()
    with pytest.raises(DriverError, match="is in use by process"):
        Recorder(made.address).start()
    assert made.recorder.state is ServoState.READY


def test_after_a_fault_it_is_usable_again(impatient, made):
    made.begin()
    made.emulator.say("unplug on")
    made.ended()
    made.emulator.say("unplug off")
    made.recorder.acknowledge()
    made.until(lambda: made.recorder.state is ServoState.READY)
    assert not made.driven()
