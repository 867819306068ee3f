"""A servo with an error from before it is connected: named as in a run, and cleared or restarted by a command."""

import io
import json

import pytest

from drivers.emulators.process import EmulatorProcess
from drivers.emulators.registry import emulator_source
from drivers.emulators.serial_bus.device import FAULTS
from drivers.registry import open_servo
from drivers.servo import PositionGoal, ServoState
from tests.warm import keep_warm

X, MX, STS, SCS = "dynamixel:xl330", "dynamixel:mx106", "feetech:sts3215", "feetech:scs0009"
DRIVE = "ethercat:erob80_50"


def p1(emulator):
    """Return True if a servo's errors last only as long as their causes, and no command restarts it."""
    return emulator.addresses[0].split(":")[3:4] == ["1"] or emulator.addresses[0].startswith("feetech")


def cases(emulator):
    """Each error that the emulator can cause, and its name."""
    if emulator.addresses[0].startswith("ethercat"):
        return {"0x2310": "0x2310 (overcurrent)", "0x4310": "0x4310 (drive too hot)", "0x3220": "0x3220 (undervoltage)"}
    return {name: FAULTS[name] for name in ("overload", "overheating", "voltage")}


def end_the_cause(emulator):
    """A drive's cause is over with its fault."""
    if not emulator.addresses[0].startswith("ethercat"):
        emulator.say("fault clear")


@pytest.fixture
def warm(monkeypatch):
    keep_warm(monkeypatch)


ANOTHER = pytest.param(SCS, marks=pytest.mark.exhaustive("the other series of a family"))


@pytest.fixture(params=[X, MX, STS, ANOTHER, pytest.param(DRIVE, marks=pytest.mark.own_network)])
def emulator(request, warm):
    with EmulatorProcess(emulator_source(request.param)) as process:
        yield process


def test_an_error_from_before_is_named_and_cleared(emulator):
    [address] = emulator.addresses
    for fault, named in cases(emulator).items():
        emulator.say(f"fault {fault}")
        with open_servo(address) as servo:
            servo.connect()
            assert servo.state is ServoState.FAULT
            assert named in servo.fault_reason
            assert ("restart" in servo.fault_reason) == (emulator.addresses[0].split(":")[3:4] == ["2"])
            end_the_cause(emulator)
            servo.acknowledge()
            assert (servo.state, servo.fault_reason) == (ServoState.READY, "")
            servo.command(PositionGoal(servo.read().position))
            assert servo.release()


def test_commands_name_it_clear_it_and_restart_the_servo(emulator, bench, fails, tmp_path):
    [address] = emulator.addresses
    fault, named = next(iter(cases(emulator).items()))
    emulator.say(f"fault {fault}")
    for command in (("record", "--trajectory", "sin_sin"), ("place", "--torques", "0.01")):
        load = ("--mass", "0.05", "--length", "0.1", "-o", tmp_path / "lab")
        told = bench(*command, "--servo", address, *load, code=1).err
        if command[0] == "place" and "scs0009" in address:
            assert "cannot hold a torque" in told
            continue
        assert named in told
        assert "bench servo clear" in told
    facts = bench("servo", "info", address, "--json", code=1).data
    assert facts["state"] == "FAULT"
    assert named in facts["error"]
    if not p1(emulator):
        end_the_cause(emulator)
        assert "cleared; before" in bench("servo", "clear", address).out
        assert "restarted" in bench("servo", "reboot", address).out
    else:
        assert "still reports" in fails("servo", "clear", address)
        end_the_cause(emulator)
        assert "switch its power off and on" in fails("servo", "reboot", address)
    assert bench("servo", "info", address, "--json").data["error"] == ""
    assert "no error to clear" in bench("servo", "clear", address).out


def test_a_cause_that_lasts_is_not_cleared_away(emulator, fails):
    [address] = emulator.addresses
    emulator.say("supply 3")
    told = fails("servo", "clear", address)
    assert "still reports" in told or "stays in its fault" in told


def test_a_simulated_servo_has_nothing_to_restart(bench, fails):
    assert "no error to clear" in bench("servo", "clear", "simulated:xl330").out
    assert "cannot be restarted" in fails("servo", "reboot", "simulated:xl330")


@pytest.fixture
def sts(warm):
    with EmulatorProcess(emulator_source(STS)) as process:
        yield process


def test_registers_are_shown_changed_when_one_agrees_and_read_back(sts, bench, fails, monkeypatch, tmp_path):
    [address] = sts.addresses
    assert bench("servo", "registers", address, "--json").data["model_number"] == 777
    change = ("servo", "set", address, "p_gain=16", "d_gain=32")
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    refused = bench(*change, code=1).out
    assert refused.splitlines()[1].split() == ["p_gain", "32", "16"]
    assert "d_gain" not in refused
    assert sts.say("get p_gain") == "32"
    monkeypatch.setattr("sys.stdin", io.StringIO("yes\n"))
    assert "written, and read back" in bench(*change).out
    sts.say("power-cycle")
    assert sts.say("get p_gain") == "16"
    assert "holds all of these already" in bench(*change).out

    robot = tmp_path / "arm.json"
    joint = {"id": 1, "drive_mode": 0, "homing_offset": -120, "range_min": 800, "range_max": 3300}
    robot.write_text(json.dumps({"elbow_flex": joint}))
    bench("servo", "set", address, "--calibration", f"{robot}:elbow_flex", "--yes")
    held = ("homing_offset", "min_position_limit", "max_position_limit")
    assert [int(sts.say(f"get {name}")) for name in held] == [-120, 800, 3300]
    robot.with_name("other.json").write_text(json.dumps({"wrist_flex": joint | {"id": 4}}))
    other = f"{robot.with_name('other.json')}:wrist_flex"
    assert "its ID is not 1" in fails("servo", "set", address, "--calibration", other, "--yes")
    assert "there are elbow_flex" in fails("servo", "set", address, "--calibration", f"{robot}:wrist", "--yes")
    assert "not a calibration of LeRobot" in fails("servo", "set", address, "--calibration", f"{tmp_path}:x", "--yes")

    told = bench("servo", "centre", address, "--yes").out
    assert "homing_offset" in told
    assert abs(int(sts.say("get present_position")) - 2048) <= 2


def test_a_servo_without_offset_and_torque(bench, fails, warm, tmp_path):
    """An SCS0009: what it lacks is refused in words, and it is never driven meanwhile."""
    with EmulatorProcess(emulator_source(SCS)) as process:
        [address] = process.addresses
        assert bench("servo", "registers", address, "--json").data["model_number"] == 1284
        bench("servo", "set", address, "p_gain=16", "--yes")
        process.say("power-cycle")
        assert process.say("get p_gain") == "16"
        assert "no homing offset" in fails("servo", "centre", address, "--yes")
        assert "cannot hold a torque" in bench("servo", "info", address).out
        process.say("hand angle 170")
        while process.say("get present_position") != "1023":
            pass
        stuck = bench("servo", "info", address, "--json", code=1).data
        assert stuck["position"] is None
        assert "at the end of the potentiometer" in stuck["error"]
        assert "at the end of the potentiometer" in fails("servo", "clear", address)
        lab = tmp_path / "lab"
        place = ("place", "--servo", address, "--mass", 0.04, "--length", 0.1, "-o", lab, "--quiet")
        assert "Feetech SCS0009 cannot hold a torque, since its output cannot be limited" in fails(*place)
        assert not lab.exists()
        assert process.say("get torque_enable") == "0"


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("set",), "state what to set"),
        (("set", "p_gain"), "is not NAME=VALUE"),
        (("set", "p_gain=1.5"), "is not NAME=VALUE"),
        (("set", "p_gain=999"), "does not fit"),
        (("set", "id=254"), "the highest is 253"),
        (("set", "torque_enable=1"), "it is no setting"),
        (("set", "colour=1"), "no register 'colour'"),
        (("centre", "p_gain=1"), "takes no registers"),
        (("info", "p_gain=1"), "takes no registers"),
    ],
)
def test_what_cannot_be_set_is_one_line(sts, fails, words, reason):
    action, *changes = words
    assert reason in fails("servo", action, *sts.addresses, *changes)
    assert "driven=0" in sts.say("state")


def test_other_servos_have_no_registers_to_set_or_no_centre(fails, warm):
    assert "only servos on a serial bus" in fails("servo", "registers", "simulated:xl330")
    with EmulatorProcess(emulator_source(X)) as process:
        assert "only Feetech servos can be centred" in fails("servo", "centre", *process.addresses)
