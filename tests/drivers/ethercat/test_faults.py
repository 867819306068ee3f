"""What goes wrong on a bus, one thing after another, while the pendulum is driven: what a person is told, that the
motor is let go, and how it goes on afterwards.

Where frames reach the drive it is told to let go; where none do its own watchdog ends it.
"""

import os
import re
import signal
from contextlib import nullcontext
from multiprocessing import get_context

import pytest

from core.recording import ServoSettings
from drivers.errors import BusError, DriverError, NoAnswer, ServoFault
from drivers.registry import open_servo
from drivers.servo import PositionGoal, ServoState
from tests.drivers.ethercat.conftest import ADDRESS, WATCHDOG, drive, drive_until, near, real_limits
from tests.drivers.machine import set_limits
from tests.waiting import wait_until

pytestmark = pytest.mark.own_network

LOST = ("ethercat_lost_frames", "answer")
"""Limits that pass on a dead wire."""
DEAD = ("unplug on", "mute on")
"""No frame reaches the drive any more, so that nothing but its watchdog switches it off."""
FAILING_WIRE = (*DEAD, "drop 1000", "delay 30 1000", "corrupt 1000", "truncate 1000")


def broken(servo, segment, line, goal=0.3):
    """Drive, break something, drive on; returns what was raised, the servo in FAULT and the motor without torque."""
    drive(servo, PositionGoal(0.3), 0.2)
    segment.say(line)
    with real_limits(*LOST) if line in FAILING_WIRE else nullcontext():
        with pytest.raises(DriverError) as caught:
            drive(servo, PositionGoal(goal), 60.0)
        servo.fault(str(caught.value))
    assert servo.state is ServoState.FAULT
    if line not in DEAD:
        segment.until_off()
    return caught.value


def mended(servo, segment):
    """Everything in order again, the fault acknowledged, the pendulum driven."""
    segment.say("heal")
    for _ in range(5):
        try:
            servo.acknowledge()
            assert servo.state is ServoState.READY
            drive(servo, PositionGoal(0.2), 0.2)
            break
        except DriverError:  # the drive's own watchdog may be about to expire, its report still be on its way
            servo.fault("not yet")
    assert segment.truth()["driven"] == 1.0
    assert servo.release()


@pytest.mark.parametrize(
    "line",
    [
        "drop 1",
        "drop 2",
        "delay 1 3",
        "duplicate 10",
        "corrupt 1",
        "truncate 1",
        "alert on",
        "emergency 0x730F",
        "emergency 0x0000",
    ],
)
def test_what_a_run_goes_on_with(servo, segment, line):
    drive(servo, PositionGoal(0.3), 0.2)
    segment.say(line)
    drive(servo, PositionGoal(0.3), 0.1)
    drive_until(servo, PositionGoal(0.3), near(0.3, 0.06))
    assert servo.state is ServoState.ENABLED
    assert segment.truth()["driven"] == 1.0


@pytest.mark.parametrize("line", FAILING_WIRE)
def test_a_wire_that_fails_ends_the_run(servo, segment, line):
    trouble = broken(servo, segment, line)
    assert isinstance(trouble, (BusError, NoAnswer))
    assert "check the cable and the drive's power" in str(trouble)
    # What cannot be confirmed is not claimed.
    assert "CUT THE SUPPLY" in servo.fault_reason or "check the cable" in servo.fault_reason
    mended(servo, segment)


def test_without_frames_the_drives_own_watchdog_ends_it(servo, segment):
    broken(servo, segment, "unplug on")
    assert "CUT THE SUPPLY" in servo.fault_reason
    segment.until_off()
    esc = segment.esc()
    assert (esc["al"], esc["code"], esc["drive"]) == ("SAFEOP", "0x001B", "FAULT")
    with real_limits(*LOST), pytest.raises(DriverError, match="motor-off not confirmed"):
        servo.acknowledge()
    mended(servo, segment)
    esc = segment.esc()
    assert (esc["al"], esc["error"], esc["synchronous"], esc["watchdog_ms"]) == ("OP", "0", "1", WATCHDOG)


def test_a_drive_whose_power_came_back_is_set_up_anew(servo, segment):
    gains = ServoSettings(servo="erob80_50", kp=40.0, supply_voltage=48.0, damping=0.5)
    servo.configure(gains)
    trouble = broken(servo, segment, "power-cycle")
    assert isinstance(trouble, (BusError, ServoFault))
    assert segment.esc()["al"] == "INIT"
    mended(servo, segment)
    assert segment.esc()["synchronous"] == "1"
    assert servo.settings() == gains


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("fault 0x2310", r"fault \(status word 0x1208\), error 0x2310 \(overcurrent\)"),
        ("al-error 0x1B", "switched itself off|left OP"),
        ("emergency 0x2310", r"reports error 0x2310 \(overcurrent\)"),
        ("supply 10", r"0x3220 \(undervoltage\)"),
    ],
)
def test_a_drive_that_fails_says_why(servo, segment, line, message):
    trouble = broken(servo, segment, line)
    assert isinstance(trouble, ServoFault)
    assert re.search(message, str(trouble))
    assert servo.fault_reason == str(trouble)
    segment.say("supply off")
    mended(servo, segment)


def test_an_encoder_that_hangs_ends_the_run_before_the_arm_gets_far(servo, segment):
    trouble = broken(servo, segment, "stuck on", goal=1.5)
    assert "the encoder gives the same count for 150 ms under 12.0 A" in str(trouble)
    segment.say("stuck off")
    mended(servo, segment)


def test_a_fault_that_stays_is_not_acknowledged_away(servo, segment, monkeypatch):
    broken(servo, segment, "supply 10")
    # However long it is waited for.
    set_limits(monkeypatch, ethercat_reset=0.1)
    with pytest.raises(ServoFault, match=r"stays in its fault 0x3220 \(undervoltage\); remove the cause"):
        servo.acknowledge()
    assert servo.state is ServoState.FAULT
    monkeypatch.undo()
    segment.say("supply off")
    mended(servo, segment)


def test_an_acknowledgement_that_failed_can_be_tried_again(servo, segment, monkeypatch):
    broken(servo, segment, "power-cycle")

    def fail():
        raise NoAnswer("no drive answered")

    monkeypatch.setattr(servo, "_begin", fail)
    for _ in range(2):
        with pytest.raises(NoAnswer, match="restarting the drive failed: no drive answered"):
            servo.acknowledge()
        assert servo.state is ServoState.FAULT
    with pytest.raises(BusError, match="the bus is closed"):
        servo.read()
    monkeypatch.undo()
    mended(servo, segment)


@pytest.mark.parametrize("line", ["unplug on", "power-cycle", "fault 0x2310", "al-error 0x16"])
def test_a_released_servo_tells_it_too(servo, segment, line):
    servo.read()
    segment.say(line)
    if line.startswith("fault"):
        # Nothing is driven: the drive's own fault matters when somebody wants to drive it.
        with pytest.raises(ServoFault, match="could not be switched on: fault"):
            drive(servo, PositionGoal(0.1), 1.0)
        servo.fault("told")
    else:
        with real_limits(*LOST):
            with pytest.raises(DriverError):
                watch(servo)
            servo.fault("told")
    mended(servo, segment)


def watch(servo):
    for _ in range(10_000):
        servo.read()


def _drive_for_ever(pipe):
    servo = open_servo(ADDRESS)
    servo.connect()
    drive(servo, PositionGoal(0.3), 0.2)
    pipe.send("driving")
    drive(servo, PositionGoal(0.3), 600.0)


def test_a_program_that_hangs_leaves_it_to_the_drives_watchdog(segment):
    context = get_context("spawn")
    here, there = context.Pipe()
    program = context.Process(target=_drive_for_ever, args=(there,), daemon=True)
    program.start()
    try:
        assert here.recv() == "driving"
        assert segment.truth()["driven"] == 1.0
        os.kill(program.pid, signal.SIGSTOP)
        segment.until_off()
        esc = segment.esc()
        assert (esc["al"], esc["code"], esc["watchdog_expiries"]) == ("SAFEOP", "0x001B", "1")
    finally:
        program.kill()
        program.join()


def connected():
    """The servo; None if a mailbox answered too late, as it may on a busy machine."""
    servo = open_servo(ADDRESS)
    try:
        servo.connect()
    except BusError:
        servo.close()
        return None
    return servo


@pytest.mark.parametrize("line", ["unplug on", "mute on", "power-cycle", "drop 1000000"])
def test_closing_never_fails(segment, line):
    servo = open_servo(ADDRESS)
    servo.connect()
    drive(servo, PositionGoal(0.3), 0.1)
    segment.say(line)
    with real_limits(*LOST):
        servo.close()
    assert servo.state is ServoState.DISCONNECTED
    if line not in DEAD:
        segment.until_off()
    segment.say("heal")
    with wait_until(connected) as again:
        drive(again, PositionGoal(0.2), 0.1)
