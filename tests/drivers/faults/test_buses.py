"""What fails while a servo is driven: its motor is off, the person reads why, and what was recorded is kept.

Recorder, guardian, window and emulator are processes of their own here. What a driver makes of each fault of its bus is
tested beside the driver.
"""

import os
import re
import signal
from threading import Thread

import pytest

from bench_gui.cli import main
from drivers.errors import MotorOn
from drivers.servo import ServoState
from tests.drivers.faults.rig import another_program
from tests.drivers.faults.sinks import FullDisk
from tests.drivers.machine import set_limits
from tests.waiting import wait_until

X, MX, STS, SCS = "dynamixel:xl330", "dynamixel:mx106", "feetech:sts3215", "feetech:scs0009"
DRIVE = "ethercat:erob80_50"
LOST = "did not come back|no frame came back"
pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="needs signals")


def more(*values, reason="the other protocols, and hanging in place of dying"):
    return pytest.param(*values, marks=[pytest.mark.exhaustive(reason), *on_own_network(values)])


def drive(*values):
    return pytest.param(DRIVE, *values, marks=pytest.mark.own_network)


def on_own_network(values):
    return [pytest.mark.own_network] if DRIVE in values else []


@pytest.mark.parametrize(
    ("servo", "pull", "plug", "reason"),
    [(X, "unplug", "plug", "port .*(failed|is not open)"), drive("unplug on", "unplug off", LOST)],
)
def test_an_unplugged_servo_stops_by_its_watchdog_and_is_released_once_it_is_plugged_in(
    rig, impatient, servo, pull, plug, reason, tmp_path
):
    """An X servo in a position run stops where it is with its torque on; a drive switches itself off."""
    with rig(servo, tmp_path) as made:
        made.begin()
        made.emulator.say(pull)
        result = made.ended()
        assert result.exit_status == "fail"
        assert re.search(reason, result.reason)
        assert "CUT THE SUPPLY" in made.recorder.fault
        assert made.kept() > 0
        if servo == X:
            made.until(lambda: int(made.emulator.say("get bus_watchdog")) in (-1, 255))
            made.until(lambda: abs(made.truth()["velocity"]) < 1e-3)
            assert made.driven()
        else:
            made.until_off()
        # What was not confirmed is tried again until it is, without anybody's doing.
        made.emulator.say(plug)
        made.until_off()
        assert made.recorder.state is ServoState.FAULT
        made.recorder.acknowledge()
        made.until(lambda: made.recorder.state is ServoState.READY)
        assert not made.driven()


@pytest.mark.parametrize(
    ("servo", "line", "seen"),
    [
        (X, "mute on", "no answer|not confirmed"),
        *(more(servo, "mute on", "no answer|not confirmed") for servo in (MX, STS, SCS)),
        *(more(servo, "fault overload", "overload") for servo in (STS, SCS)),
        *(more(servo, "power-cycle", "restarted|no answer") for servo in (STS, SCS)),
        *(more(servo, "set goal_position 999", "set goal_position to 999|wrote to the bus") for servo in (STS, SCS)),
        drive("mute on", LOST),
        drive("fault 0x2310", "0x2310"),
    ],
)
def test_what_ends_a_run_switches_the_motor_off(rig, impatient, servo, line, seen, tmp_path):
    with rig(servo, tmp_path) as made:
        made.begin()
        made.emulator.say(line)
        made.until_off()
        result = made.ended()
        assert result.exit_status == "fail"
        assert re.search(seen, f"{result.reason} | {made.recorder.fault}")
        assert made.kept() > 0
        assert made.recorder.state is ServoState.FAULT


@pytest.mark.parametrize(
    ("servo", "number"),
    [
        (X, "SIGKILL"),
        drive("SIGKILL"),
        *(more(servo, "SIGKILL") for servo in (MX, STS, SCS)),
        *(more(servo, "SIGSTOP") for servo in (X, STS, SCS, DRIVE)),
    ],
)
def test_a_recorder_that_dies_or_hangs_loses_the_servo(rig, impatient, servo, number, tmp_path, monkeypatch):
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
        assert made.kept() > 0


@pytest.mark.parametrize(
    ("servo", "number"),
    [
        (X, "SIGKILL"),
        drive("SIGKILL"),
        *(more(servo, "SIGKILL") for servo in (STS, SCS)),
        *(more(servo, "SIGSTOP") for servo in (X, MX, STS, SCS, DRIVE)),
    ],
)
def test_a_window_that_dies_or_hangs_loses_the_servo(rig, impatient, servo, number, tmp_path):
    with rig(servo, tmp_path) as made, another_program(made) as window:
        assert made.driven()
        os.kill(window, getattr(signal, number))
        made.until_off(beat=False)
        made.until(lambda: made.kept() > 0, beat=False)


@pytest.mark.parametrize(("servo", "also_killed"), [(MX, True), more(X, False), more(STS, True), more(SCS, True)])
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


@pytest.mark.parametrize("servo", [X, drive()])
def test_a_full_disk_ends_the_run(rig, servo, tmp_path):
    with rig(servo, tmp_path) as made:
        made.begin(sink=FullDisk())
        made.until_off()
        result = made.ended()
        assert result.exit_status == "fail"
        assert "No space left on device" in result.reason
