"""The fault table on a Dynamixel bus: what a person sees, what is kept, and that the motor is off."""

import math
import os
import re
import signal
from threading import Thread

import pytest

from bench_gui.cli import main
from drivers.errors import DriverError, MotorOn
from drivers.recorder import Recorder
from drivers.registry import open_servo
from drivers.servo import ServoState
from tests.drivers.faults.rig import another_program, run_with
from tests.drivers.faults.sinks import Wrapped
from tests.drivers.machine import set_limits
from tests.waiting import wait_until

X, MX = "dynamixel:xl330", "dynamixel:mx106"
pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="needs signals")


COUNTED = ("drop 1", "corrupt 1", "truncate 1", "delay 1500 1")
"""Later than an answer is waited for, sooner than it is given up."""
UNSEEN = ("split 1", "duplicate 1", "garbage 1", "fake-header 1", "mute on id=7", "echo on")


@pytest.mark.parametrize(("servo", "lines"), [(X, (*COUNTED, *UNSEEN)), (MX, ("drop 1", "echo on"))])
def test_disturbed_answers_are_counted_and_the_run_goes_on(rig, servo, lines, tmp_path):
    with rig(servo, tmp_path) as made:
        made.begin()
        for line in lines:
            status = made.recorder.status
            made.emulator.say(line)
            if line in COUNTED:
                made.until(lambda before=status: made.recorder.status.bus_errors > before.bus_errors)
            made.until(lambda before=status: made.recorder.status.done > before.done + 20)
        made.recorder.abort()
        result = made.ended()
        assert (result.exit_status, result.reason) == ("abort", "aborted")
        assert made.kept() == result.samples > 0


@pytest.mark.parametrize(
    ("servo", "line", "seen"),
    [
        (X, "mute on", "no answer|not confirmed"),
        (X, "power off", "no answer"),
        (X, "power-cycle", "no answer|restarted"),
        (X, "corrupt 100000", "damaged|no answer"),
        (X, "fault overload", "overload"),
        (X, "fault overheating", "heat"),
        (X, "fault encoder", "encoder"),
        (X, "fault shock", "shock"),
        (X, "temperature 90", "temperature|heat"),
        (X, "supply 3", "voltage"),
        (MX, "mute on", "no answer|not confirmed"),
        (MX, "power-cycle", "no answer|restarted"),
        (MX, "fault overload", "overload"),
    ],
)
def test_what_ends_a_run_switches_the_motor_off(rig, servo, line, seen, tmp_path, request):
    if line in ("mute on", "power off", "corrupt 100000"):
        request.getfixturevalue("impatient")  # an answer is waited for in vain
    with rig(servo, tmp_path) as made:
        outcome = run_with(made, lambda made: made.emulator.say(line))
        assert outcome.status == "fail"
        assert re.search(seen, outcome.seen), outcome.seen
        assert outcome.samples >= 40
        assert made.recorder.state is ServoState.FAULT


def test_an_unplugged_adapter_leaves_the_servo_to_its_watchdog(rig, impatient, tmp_path):
    """In a position run an X servo stops where it is and stays there; its torque is not off, and a person is told."""
    with rig(X, tmp_path) as made:
        made.begin()
        made.emulator.say("unplug")
        made.until(lambda: int(made.emulator.say("get bus_watchdog")) in (-1, 255))
        made.until(lambda: abs(made.truth()["velocity"]) < 1e-3)
        stopped = made.truth()["position"]
        result = made.ended()
        assert result.exit_status == "fail"
        assert re.search("port .*(failed|is not open)", result.reason)
        assert "CUT THE SUPPLY" in made.recorder.fault
        assert made.kept() >= 60
        assert made.driven()
        assert made.truth()["position"] == pytest.approx(stopped, abs=0.05)


def test_an_unplugged_adapter_ends_a_held_torque_by_the_watchdog(rig, impatient, tmp_path):
    with rig(X, tmp_path) as made:
        made.begin_hold(0.03)
        made.until(lambda: abs(made.truth()["current"]) > 0.01)
        made.emulator.say("unplug")
        made.until(lambda: abs(made.truth()["duty_cycle"]) < 1e-6)


@pytest.mark.parametrize("servo", [X, MX])
@pytest.mark.parametrize("also_killed", [False, True], ids=["closed", "killed"])
def test_a_torque_off_that_is_lost_is_told_first_and_tried_until_it_is_confirmed(rig, servo, also_killed, tmp_path):
    with rig(servo, tmp_path) as made:
        made.begin()
        made.emulator.say("deaf 1000000")
        assert made.ended().exit_status == "fail"
        if also_killed:
            os.kill(made.recorder._child.pid, signal.SIGKILL)
        with pytest.raises(MotorOn, match=r"^CUT THE SUPPLY: "):
            made.recorder.close()
        assert int(made.emulator.say("get torque_enable"))
        made.emulator.say("deaf 0")
        made.until_off(beat=False)


def test_a_command_ends_with_a_motor_that_may_be_on(rig, tmp_path, capsys):
    with rig(MX, tmp_path) as made:

        def spoil():
            wait_until(made.driven)
            made.emulator.say("deaf 1000000")

        spoiling = Thread(target=spoil)
        spoiling.start()
        words = ["--trajectory", "sin_sin", "--mass", "0.5", "--length", "0.15", "-o", str(tmp_path / "lab")]
        assert main(["record", "--servo", made.address, *words]) != 0
        spoiling.join()
        told = capsys.readouterr().err.strip().splitlines()
        assert "CUT THE SUPPLY: " in told[-1]
        made.emulator.say("deaf 0")
        made.until_off(beat=False)


def test_a_servo_without_watchdog_says_so(rig, tmp_path):
    with rig(MX, tmp_path) as made:
        identity = made.recorder.start()
        assert identity.watchdog == 0.0
        assert any("no bus watchdog" in warning and "power supply" in warning for warning in identity.warnings)


def test_plugged_in_again_it_is_usable_after_acknowledging(rig, tmp_path):
    with rig(X, tmp_path) as made:
        made.begin()
        made.emulator.say("unplug")
        made.ended()
        made.emulator.say("plug")
        made.recorder.acknowledge()
        made.until(lambda: made.recorder.state is ServoState.READY)
        assert not made.driven()


@pytest.mark.parametrize("servo", [X, MX])
def test_a_cable_that_comes_back_brings_no_driven_servo(rig, servo, tmp_path):
    """Nobody acknowledges anything: what was not confirmed is tried again until it is."""
    with rig(servo, tmp_path) as made:
        made.begin()
        made.emulator.say("unplug")
        assert made.ended().exit_status == "fail"
        assert made.driven()
        made.emulator.say("plug")
        made.until(lambda: not made.driven())
        assert made.recorder.state is ServoState.FAULT


@pytest.mark.parametrize(("servo", "number"), [(X, "SIGKILL"), (MX, "SIGKILL"), (X, "SIGSTOP")])
def test_a_recorder_that_dies_or_hangs_is_replaced_by_its_guardian(
    rig, servo, number, impatient, tmp_path, monkeypatch
):
    with rig(servo, tmp_path) as made:
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


@pytest.mark.parametrize(("servo", "number"), [(X, "SIGKILL"), (X, "SIGSTOP"), (MX, "SIGSTOP")])
def test_a_window_that_dies_or_hangs_loses_the_servo(rig, servo, number, impatient, tmp_path):
    with rig(servo, tmp_path) as made, another_program(made) as (window, _):
        assert made.driven()
        os.kill(window, getattr(signal, number))
        made.until_off(beat=False)
        made.until(lambda: made.kept() >= 60, beat=False)


def test_window_and_recorder_killed_together_lose_the_servo(rig, tmp_path):
    with rig(MX, tmp_path) as made, another_program(made) as (window, recorder):
        os.kill(window, signal.SIGKILL)
        os.kill(recorder, signal.SIGKILL)
        made.until_off(beat=False)
        assert made.kept() >= 30


def test_a_full_disk_ends_the_run(rig, tmp_path):
    with rig(X, tmp_path) as made:
        made.begin(sink=Wrapped(_sink(made), full=True))
        made.until_off()
        result = made.ended()
        assert result.exit_status == "fail"
        assert "No space left on device" in result.reason


@pytest.mark.parametrize(("servo", "jump"), [(X, 3600.0), (MX, -3600.0)])
def test_a_jump_of_the_wall_clock_disturbs_nothing(rig, servo, jump, tmp_path):
    with rig(servo, tmp_path) as made:
        made.record(1.0, Wrapped(_sink(made), jump=jump))
        result = made.ended()
        assert result.exit_status == "success"
        # The SDK's own clock would end every read at once, or never.
        assert result.bus_errors < 5
        [run] = [made.session.load(found.id) for found in made.session.runs()]
        assert 0.0 < run.duration < 60.0


@pytest.mark.parametrize(
    ("change", "seen"),
    [
        (lambda address: address.replace(":1:2:", ":9:2:"), "no answer to pinging ID 9"),
        (lambda address: address.replace(":1000000", ":57600"), "no answer .* at 57600 baud"),
        (lambda address: re.sub("/[^:]*", "/dev/nothing", address), "there is no such port"),
    ],
    ids=["wrong ID", "wrong baud rate", "wrong port"],
)
def test_a_wrong_address_is_said(rig, change, seen, tmp_path):
    with rig(X, tmp_path) as made, pytest.raises(DriverError, match=seen):
        open_servo(change(made.address)).connect()


def test_a_port_in_use_is_said(rig, tmp_path):
    with rig(X, tmp_path) as made:
        made.recorder.start()
        with pytest.raises(DriverError, match="another program uses the port"):
            Recorder(made.address).start()
        assert math.isfinite(made.recorder.latest()["position"])


def _sink(made):
    from sessions import Session

    return Session.open_or_create(made.folder / "session").sink()
