"""A servo with an error from before it is connected: named as in a run, and cleared or restarted by a command."""

import pytest

from drivers.emulators.process import EmulatorProcess
from drivers.emulators.registry import emulator_source
from drivers.emulators.serial_bus.device import FAULTS
from drivers.registry import open_servo
from drivers.servo import PositionGoal, ServoState
from tests.warm import keep_warm

X, MX, DRIVE = "dynamixel:xl330", "dynamixel:mx106", "ethercat:erob80_50"


def p1(emulator):
    """Return True if a servo's errors last only as long as their causes, and no command restarts it."""
    return emulator.addresses[0].split(":")[3:4] == ["1"]


def cases(emulator):
    """Each error that the emulator can cause, and its name."""
    if emulator.addresses[0].startswith("ethercat"):
        return {"0x2310": "0x2310 (overcurrent)", "0x4310": "0x4310 (drive too hot)", "0x3220": "0x3220 (undervoltage)"}
    return {name: FAULTS[name] for name in ("overload", "overheating", "voltage")}


def end_the_cause(emulator):
    """A drive's cause is over with its fault."""
    if emulator.addresses[0].startswith("dynamixel"):
        emulator.say("fault clear")


@pytest.fixture
def warm(monkeypatch):
    keep_warm(monkeypatch)


@pytest.fixture(params=[X, MX, pytest.param(DRIVE, marks=pytest.mark.own_network)])
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
