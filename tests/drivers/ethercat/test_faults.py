"""What goes wrong on a bus, one thing after another, while the pendulum is driven: what a person is told, that the
motor is let go, and how it goes on afterwards.

Where frames reach the drive it is told to let go; where none do its own watchdog ends it.
"""

import gc
import re
import threading
from contextlib import nullcontext
from pathlib import Path

import pytest

from core.servo.settings import ServoSettings
from drivers.errors import BusError, DriverError, NoAnswer, ServoFault
from drivers.ethercat import nic
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


def limits(line):
    """The limits that pass after a line as they really are."""
    return real_limits(*LOST) if line in (*FAILING_WIRE, "power-cycle") else nullcontext()


def broken(servo, segment, line, goal=0.3):
    """Drive, break something, drive on; returns what was raised, the servo in FAULT and the motor without torque."""
    drive(servo, PositionGoal(0.3), 0.2)
    segment.say(line)
    with limits(line):
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


def test_what_a_run_goes_on_with(servo, segment):
    drive(servo, PositionGoal(0.3), 0.2)
    for line in (
        *("drop 1", "drop 2", "corrupt 1", "truncate 1", "delay 1 3", "duplicate 10"),
        *("alert on", "emergency 0x730F", "emergency 0x0000"),
    ):
        before = servo.repeats
        segment.say(line)
        drive(servo, PositionGoal(0.3), 0.1)
        if line.startswith(("drop", "corrupt", "truncate")):
            assert servo.repeats >= before + int(line[-1]), line
        assert servo.state is ServoState.ENABLED
    drive_until(servo, PositionGoal(0.3), near(0.3, 0.06))
    assert segment.truth()["driven"] == 1.0


@pytest.mark.parametrize(
    "line",
    [
        *FAILING_WIRE[1:3],
        *(
            pytest.param(line, marks=pytest.mark.exhaustive("the other ways to lose frames"))
            for line in FAILING_WIRE[3:]
        ),
    ],
)
def test_a_wire_that_fails_ends_the_run(servo, segment, line):
    trouble = broken(servo, segment, line)
    assert isinstance(trouble, (BusError, NoAnswer))
    assert "check the cable and the drive's power" in str(trouble)
    # What cannot be confirmed is not claimed.
    assert "CUT THE SUPPLY" in servo.fault_reason or "check the cable" in servo.fault_reason
    mended(servo, segment)


def test_without_frames_the_drives_own_watchdog_ends_it(servo, segment):
    trouble = broken(servo, segment, "unplug on")
    assert "check the cable and the drive's power" in str(trouble)
    assert "CUT THE SUPPLY" in servo.fault_reason
    segment.until_off()
    esc = segment.esc()
    assert (esc["al"], esc["code"], esc["drive"]) == ("SAFEOP", "0x001B", "FAULT")
    assert esc["watchdog_expiries"] == "1"
    with real_limits(*LOST), pytest.raises(DriverError, match="motor-off not confirmed"):
        servo.acknowledge()
    mended(servo, segment)
    esc = segment.esc()
    assert (esc["al"], esc["error"], esc["synchronous"], esc["watchdog_ms"]) == ("OP", "0", "1", WATCHDOG)


def test_a_drive_whose_power_came_back_is_set_up_again(servo, segment, monkeypatch):
    gains = ServoSettings(servo="erob80_50", kp=40.0, supply_voltage=48.0, damping=0.5)
    servo.configure(gains)
    trouble = broken(servo, segment, "power-cycle")
    assert isinstance(trouble, (BusError, ServoFault))
    assert segment.esc()["al"] == "INIT"

    def fail(*arguments):
        raise NoAnswer("this step")

    # An acknowledgement that failed can be tried again.
    for step in ("master.Master.open", "bus.Bus.look"):
        with monkeypatch.context() as patch:
            patch.setattr(f"drivers.ethercat.{step}", fail)
            with pytest.raises(NoAnswer, match="restarting the drive failed: this step"):
                servo.acknowledge()
        assert servo.state is ServoState.FAULT
        with pytest.raises(BusError, match="the bus is closed"):
            servo.read()
    mended(servo, segment)
    assert segment.esc()["synchronous"] == "1"
    assert servo.settings() == gains


STEPS = (
    *("nic.require", "nic.Lock", "nic.listen", "servo.choose", "servo.read_nameplate", "servo.PositionLaw.of"),
    *(
        f"master.Master.{name}"
        for name in (
            "open",
            "take",
            "read_number",
            "map_images",
            "find_clocks",
            "start_pulses",
            "watchdog",
            "to_safeop",
        )
    ),
    *(f"bus.Bus.{name}" for name in ("start", "request", "look")),
    *(f"servo.EthercatServo.{name}" for name in ("_release", "_identify", "_latched")),
)
"""What a servo passes through until it is connected."""


def test_a_servo_that_fails_half_way_leaves_nothing_open(segment, monkeypatch):
    def fail(*arguments, **named):
        raise BusError("this step")

    def left():
        gc.collect()
        files = {(file, file.readlink()) for file in list(Path("/proc/self/fd").iterdir()) if file.exists()}
        return files, set(threading.enumerate())

    with open_servo(ADDRESS) as servo:
        servo.connect()  # what is kept for good is there from here on
    before = left()
    for step in STEPS:
        servo = open_servo(ADDRESS)
        with monkeypatch.context() as patch:
            patch.setattr(f"drivers.ethercat.{step}", fail)
            with pytest.raises(BusError, match="this step"):
                servo.connect()
        assert servo.state is ServoState.DISCONNECTED
        opened, started = (now - then for now, then in zip(left(), before, strict=True))
        assert not opened, step
        assert not started, step
        nic.Lock("ecm0").release()
        assert segment.truth()["driven"] == 0.0


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("fault 0x2310", r"fault \(status word 0x1208\), error 0x2310 \(overcurrent\)"),
        ("al-error 0x1B", "switched itself off|left OP"),
        ("emergency 0x2310", r"reports error 0x2310 \(overcurrent\)"),
        ("stuck on", r"the encoder gives the same count for 150 ms under 12\.0 A"),
        ("supply 10", r"0x3220 \(undervoltage\)"),
    ],
)
def test_a_drive_that_fails_says_why(servo, segment, line, message, monkeypatch):
    trouble = broken(servo, segment, line, goal=1.5 if line == "stuck on" else 0.3)
    assert isinstance(trouble, ServoFault)
    assert re.search(message, str(trouble))
    assert servo.fault_reason == str(trouble)
    if line == "supply 10":
        # A fault that stays is not acknowledged away, however long it is waited for.
        with monkeypatch.context() as patch:
            set_limits(patch, ethercat_reset=0.1)
            with pytest.raises(ServoFault, match=r"stays in its fault 0x3220 \(undervoltage\); remove the cause"):
                servo.acknowledge()
        assert servo.state is ServoState.FAULT
    if line.startswith(("supply", "stuck")):
        segment.say(f"{line.split()[0]} off")
    mended(servo, segment)


@pytest.mark.parametrize("line", ["unplug on", "al-error 0x16", "fault 0x2310"])
def test_a_released_servo_tells_that_it_is_lost_and_a_fault_once_it_shall_be_driven(servo, segment, line):
    servo.read()
    segment.say(line)
    if line.startswith("fault"):
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


def connected():
    """The servo; None if a mailbox answered too late, as it may on a busy machine."""
    servo = open_servo(ADDRESS)
    try:
        servo.connect()
    except BusError:
        servo.close()
        return None
    return servo


@pytest.mark.parametrize(
    "line",
    [
        "unplug on",
        pytest.param("power-cycle", marks=pytest.mark.exhaustive("a wire on which frames still reach the drive")),
        pytest.param("drop 1000000", marks=pytest.mark.exhaustive("a wire on which frames still reach the drive")),
    ],
)
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
