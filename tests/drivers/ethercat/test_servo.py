"""From a cable to a moving pendulum and back, with pysoem and an emulated eRob."""

import itertools
import math
import os
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from core.motion.recording import RunHeader
from core.motion.trajectories import make_trajectory
from core.servo.catalogue import load_servo
from core.servo.settings import ServoSettings
from core.servo.shipped import nominal_model
from drivers.emulators.ethercat import EthercatEmulation
from drivers.emulators.process import EmulatorProcess
from drivers.errors import BusError, CommandError, DriverError, NoAnswer, ServoFault
from drivers.ethercat import nic
from drivers.recorder import Phase, Recorder
from drivers.registry import open_servo, resolve
from drivers.scan import scan
from drivers.servo import PositionGoal, ServoState, TorqueGoal
from tests.drivers.ethercat.conftest import ADDRESS, BENCH, WATCHDOG, Segment, drive, drive_until, near, real_limits
from tests.drivers.recording_program import FileSink
from tests.waiting import LIMIT, wait_until

pytestmark = pytest.mark.own_network

ROOT = Path(__file__).parents[3]
SPEC = load_servo("erob80_50")
KT = nominal_model(SPEC).values["kt"]
COUNT = 2.0 * math.pi / 524288
SETTINGS = ServoSettings(servo="erob80_50", kp=50.0, supply_voltage=48.0)


def test_a_connected_drive_says_who_it_is_and_is_in_op_and_released(servo, segment):
    identity = servo.identity
    assert (identity.model, identity.title, identity.id) == ("erob80_50", SPEC.title, "slave 1 on ecm0")
    assert (identity.firmware, identity.serial) == ("V1.0", "1")
    assert identity.position_step == pytest.approx(COUNT)
    assert (identity.cycle, identity.watchdog) == (0.002, pytest.approx(0.05))
    # On a busy machine it may come into step with the drive's clock later.
    assert [warning for warning in identity.warnings if "out of step" not in warning] == []
    facts = {"rated_current_mA": 6000.0, "encoder_increments": 524288.0, "bus_cycle_s": 0.002, "mode": "cst"}
    facts |= {"vendor_id": "0x5A65726F", "product_code": "0x00029252", "revision": "0x00000001"}
    assert identity.facts.items() >= facts.items()
    # 12 A, or what 0x6072 allows.
    assert servo.ratings.torque == pytest.approx(min(SPEC.stall_torque, 12.0 * KT))
    assert servo.limits == servo.ratings
    esc = segment.esc()
    assert (esc["al"], esc["error"], esc["synchronous"], esc["watchdog_ms"]) == ("OP", "0", "1", WATCHDOG)
    assert (esc["drive"], esc["cycle"]) == ("SWITCH_ON_DISABLED", "2000000")
    assert segment.truth()["driven"] == 0.0
    segment.say("supply 44")
    reading = wait_until(lambda: reading if (reading := servo.read()).supply_voltage != 48.0 else None)
    segment.say("supply off")
    assert reading.supply_voltage == pytest.approx(44.0)
    reading = wait_until(lambda: at_truth(servo, segment))
    assert math.isnan(reading.temperature)
    assert math.isnan(reading.duty_cycle)


def at_truth(servo, segment, offset=0.0):
    """A reading that is where the pendulum really is, which may still be creeping down; None otherwise."""
    reading = servo.read()
    return reading if reading.position == pytest.approx(segment.truth()["position"] - offset, abs=3e-3) else None


def test_every_reading_is_a_new_one(servo):
    """Measured after the one before it, half a cycle before it was asked for at the earliest, and before it came."""
    moments = []
    for _ in range(50):
        asked = servo.clock.now()
        moments.append(servo.read().moment)
        assert asked - 0.6 * servo.identity.cycle < moments[-1] < servo.clock.now()
    assert all(after > before for before, after in itertools.pairwise(moments))


def test_frames_come_into_step_with_the_drives_clock(segment):
    """At once on a quiet machine, after another attempt on a busy one."""

    def in_step():
        with open_servo(ADDRESS) as servo:
            return not any("out of step" in warning for warning in servo.connect().warnings)

    wait_until(in_step)


def test_gains_are_taken_and_given_back_and_those_of_another_law_refused(servo):
    assert servo.settings() == SETTINGS
    other = ServoSettings(servo="erob80_50", kp=20.0, supply_voltage=48.0, damping=0.5)
    servo.configure(other)
    for settings, message in (
        (ServoSettings(servo="erob80_50", kp=50.0, ki=1.0, supply_voltage=48.0), "has no ki"),
        (ServoSettings(servo="erob80_100", kp=50.0, supply_voltage=48.0), "add servo=erob80_100 to its address"),
    ):
        with pytest.raises(CommandError, match=message):
            servo.configure(settings)
        assert servo.settings() == other


def test_a_held_torque_does_not_depend_on_where_a_hand_pulls(servo, segment):
    torque = 5.0
    for angle in (20.0, -20.0):
        segment.say(f"hand angle {angle}")
        drive_until(servo, TorqueGoal(torque), near(math.radians(angle), math.radians(15.0)))
        assert servo.read().current * KT == pytest.approx(torque, rel=0.01)
        assert segment.truth()["current"] * KT == pytest.approx(torque, rel=0.01)
    assert servo.release()


def test_enabling_moves_nothing_the_kind_of_goal_changes_and_released_means_released(servo, segment):
    before = wait_until(lambda: reading if abs((reading := servo.read()).velocity) < 0.05 else None).position
    readings = drive(servo, PositionGoal(before), 0.3)
    assert segment.truth()["driven"] == 1.0
    assert max(abs(reading.position - before) for reading in readings) < 5e-3
    drive_until(servo, TorqueGoal(1.0), lambda _: segment.truth()["current"] * KT == pytest.approx(1.0, rel=0.05))
    drive(servo, PositionGoal(0.1), 0.1)
    assert servo.state is ServoState.ENABLED
    drive(servo, TorqueGoal(1e6), 0.05)
    assert segment.truth()["current"] <= 12.0 + 0.01
    assert segment.truth()["driven"] == 1.0
    for _ in range(2):
        assert servo.release()
        assert segment.truth()["driven"] == 0.0
        assert segment.esc()["drive"] in ("SWITCH_ON_DISABLED", "READY_TO_SWITCH_ON", "SWITCHED_ON")


def test_closing_gives_everything_back(segment):
    servo = open_servo(ADDRESS)
    for _ in range(2):
        servo.connect()
        drive(servo, PositionGoal(0.1), 0.05)
        servo.close()
        assert segment.truth()["driven"] == 0.0
        assert segment.esc()["al"] == "INIT"
    nic.Lock("ecm0").release()


def test_a_servo_is_released_in_silence_but_not_while_somebody_waits_with_its_clock(servo, segment):
    """A machine too busy to wait for so long without a pause gets another attempt."""

    def stays_driven():
        drive(servo, PositionGoal(0.1), 0.02)
        with real_limits("ethercat_orphan"):
            servo.clock.wait_until(servo.clock.now() + 0.3, lambda: False)
        if segment.truth()["driven"]:
            return True
        servo.fault("released")
        servo.acknowledge()
        return False

    wait_until(stays_driven)
    with real_limits("ethercat_orphan"):
        segment.until_off()
        with pytest.raises(DriverError, match="the driven servo received no command for 100 ms"):
            servo.read()
    servo.fault("told")
    servo.acknowledge()
    drive(servo, PositionGoal(0.3), 0.1)


def test_the_drives_own_position_law(segment):
    with open_servo(ADDRESS + "&mode=csp") as servo:
        identity = servo.connect()
        assert any("the position law is the drive's own" in warning for warning in identity.warnings)
        assert identity.facts["mode"] == "csp"
        assert servo.settings() is None
        servo.configure(SETTINGS)
        drive_until(servo, PositionGoal(0.5), near(0.5, 0.01))
        # A torque is commanded as ever.
        drive_until(servo, TorqueGoal(2.0), lambda _: segment.truth()["current"] * KT == pytest.approx(2.0, rel=0.05))


def test_a_drive_that_insists_on_its_clock_says_what_to_try(segment):
    for order in ("safeop", "off"):
        servo = open_servo(f"{ADDRESS}&dc={order}")
        with pytest.raises(BusError, match=r"stays in SAFEOP with AL error 0x0030.*try another dc option"):
            servo.connect()
        assert servo.state is ServoState.DISCONNECTED
        nic.Lock("ecm0").release()


@pytest.mark.parametrize("cycle", [1, pytest.param(4, marks=pytest.mark.exhaustive("a cycle longer than usual"))])
def test_other_cycles(segment, cycle):
    with open_servo(f"{ADDRESS}&cycle={cycle}") as servo:
        servo.connect()
        assert segment.esc()["cycle"] == str(cycle * 1_000_000)
        drive_until(servo, PositionGoal(0.3), near(0.27, 0.03))


def test_the_encoders_whole_turns_and_the_zero_of_the_address(segment):
    zero = 3 * 524288 + 1000
    with open_servo(f"{ADDRESS}&zero={zero}") as servo:
        identity = servo.connect()
        assert any("has counted -3 whole turns" in warning for warning in identity.warnings)
        wait_until(lambda: at_truth(servo, segment, 1000 * COUNT))


def test_a_drive_that_may_be_another_or_came_with_a_fault_is_told(segment):
    segment.say("fault 0x2310")
    with open_servo("ethercat:ecm0:1") as servo:
        identity = servo.connect()
        assert identity.model == "erob80_100"
        assert "if it is not, add servo=erob80_50" in identity.warnings[0]
        assert servo.state is ServoState.FAULT
        assert "the drive reports error 0x2310 (overcurrent)" in servo.fault_reason
        servo.acknowledge()
        assert (servo.state, segment.esc()["drive"]) == (ServoState.READY, "SWITCH_ON_DISABLED")
        drive(servo, PositionGoal(0.1), 0.1)


def test_errors_of_connecting_name_what_to_mend(segment, monkeypatch):
    with pytest.raises(BusError, match=r"no network interface 'nowhere0'; there are .*ecm0"):
        open_servo("ethercat:nowhere0:1").connect()
    with pytest.raises(NoAnswer, match="no slave 2 on network interface ecm0, which has 1"):
        open_servo("ethercat:ecm0:2").connect()
    segment.say("unplug on")
    with pytest.raises(NoAnswer, match="no drive answered on network interface ecm0; check its power, the cable"):
        open_servo(ADDRESS).connect()
    with pytest.raises(BusError, match="no drive on network interface ecm0 confirmed the stop; cut its power"):
        resolve("ethercat:ecm0:1").release_blindly()
    nic.Lock("ecm0").release()
    # Switched off is told from a dead cable.
    subprocess.run(["ip", "link", "set", "ecm0", "down"], check=True)
    try:
        with pytest.raises(BusError, match="ecm0 is switched off; run: ip link set ecm0 up"):
            open_servo(ADDRESS).connect()
    finally:
        subprocess.run(["ip", "link", "set", "ecm0", "up"], check=True)
    # One that went away since it was looked for leaves no socket open.
    monkeypatch.setattr(nic, "require", lambda interface: None)
    before = os.listdir("/proc/self/fd")
    with pytest.raises(BusError, match="opening network interface nowhere0 failed: No such device; set it up first"):
        nic.listen("nowhere0")
    assert set(os.listdir("/proc/self/fd")) <= set(before)


def test_missing_rights_are_told_from_a_wrong_name(segment):
    # Whoever is alone in a name space of users has no rights in a network that belongs to another one.
    program = [sys.executable, "-c", "from drivers.ethercat import nic; nic.listen('ecm0')"]
    done = subprocess.run(["unshare", "-U", *program], capture_output=True, text=True, check=False, cwd=ROOT)
    assert "no right to send raw frames on network interface ecm0; run as root or give" in done.stderr


def test_one_owner_at_a_time_known_by_its_process(servo, segment):
    with pytest.raises(BusError, match="ecm0 is in use by this program; disconnect the servo there first"):
        open_servo(ADDRESS).connect()
    servo.close()
    program = "from drivers.ethercat import nic; lock = nic.Lock('ecm0'); print('mine', flush=True); input()"
    words = [sys.executable, "-c", program]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) as owner:
        assert owner.stdout.readline() == "mine\n"
        with pytest.raises(BusError, match=f"ecm0 is in use by process {owner.pid}"):
            open_servo(ADDRESS).connect()
        steps = []
        assert scan("ethercat", {"interface": "ecm0"}, steps.append, lambda: False) == []
        assert f"in use by process {owner.pid}" in steps[0].answer
        owner.kill()
    with open_servo(ADDRESS) as again:
        again.connect()


def test_a_foreign_master_on_the_wire_is_not_disturbed(segment):
    import pysoem

    heard = []

    def listen():
        """Until somebody is heard: a busy machine may be silent for a moment."""
        while not heard:
            try:
                nic.listen("ecm0")
            except BusError as error:
                heard.append(str(error))

    other = pysoem.Master()
    other.open("ecm0")
    listener = threading.Thread(target=listen, daemon=True)
    try:
        listener.start()
        wait_until(lambda: heard, lambda: other.config_init(False, release_gil=True))
    finally:
        other.close()
    listener.join(LIMIT)
    assert "another master is sending EtherCAT frames on network interface ecm0" in heard[0]


def test_somebody_else_can_stop_a_drive(servo, segment):
    drive(servo, TorqueGoal(2.0), 0.1)
    source = resolve("ethercat:ecm0:1")

    def heard():
        with suppress(BusError):  # the answer may be late on a busy machine
            source.release_blindly()
            return True

    wait_until(heard)
    assert segment.truth()["driven"] == 0.0
    assert segment.esc()["al"] == "INIT"
    with pytest.raises((BusError, ServoFault)):
        drive(servo, TorqueGoal(2.0), 60.0)
    # In INIT a drive has no status word, and needs none to be off; it is not waited for in vain for long.
    with real_limits("answer"):
        servo.fault("stopped by somebody else")
        assert servo.fault_reason == "stopped by somebody else"
        servo.acknowledge()
    drive(servo, PositionGoal(0.1), 0.1)


def test_drives_are_found(segment):
    steps = []
    (found,) = scan("ethercat", {"interface": "ecm0"}, steps.append, lambda: False)
    assert found.address == steps[0].tried == "ethercat:ecm0:1"
    assert found.title == "ZeroErr eRob80 1:100 or ZeroErr eRob80 1:50"
    assert "vendor 0x5A65726F, product 0x00029252, revision 0x00000001" in found.detail
    assert found.detail.endswith("in PREOP")
    # Without an interface each one is looked at, and a dead one is no reason to stop.
    steps.clear()
    assert found in scan("ethercat", {"interface": ""}, steps.append, lambda: False)
    assert {step.tried for step in steps} >= {"ethercat:ecm0:1", "ecs0"}
    assert scan("ethercat", {}, steps.append, lambda: True) == []


def test_the_second_drive_on_a_cable_with_a_crystal_of_its_own_and_pulses_later_or_none():
    servos = ("erob80_50", "erob80_100")
    source = EthercatEmulation(
        interface="ecs1", master_interface="ecm1", servos=servos, drift=100e-6, strict=False, sync_limit=0
    )
    with EmulatorProcess(source) as emulator:
        segment = Segment(emulator)
        for order in ("preop", "safeop", "off"):
            with open_servo(f"ethercat:ecm1:2?servo=erob80_100&dc={order}") as servo:
                servo.connect()
                drive_until(servo, PositionGoal(0.2), near(0.2, 0.1))
                assert segment.truth("slave=2")["driven"] == 1.0
                assert segment.truth("slave=1")["driven"] == 0.0
                assert (segment.esc("slave=1")["al"], segment.esc("slave=2")["al"]) == ("SAFEOP", "OP")
                assert segment.esc("slave=2")["synchronous"] == str(int(order == "preop"))
                assert servo.read().position == pytest.approx(segment.truth("slave=2")["position"], abs=0.01)


def test_the_recorder_drives_it_records_what_came_back_and_stops_it_at_once(segment, tmp_path):
    """Its motion is compared with the model's in virtual time, see test_motion."""
    short, long = make_trajectory("half_sine", 1.0, period=1.0), make_trajectory("sin_sin", 60.0)
    header = RunHeader(trajectory=short.name, bench=BENCH, settings=SETTINGS, rate=500.0)
    with Recorder(ADDRESS, stop_lock=0.0) as recorder:
        recorder.start()
        recorder.record(short, header, FileSink(tmp_path))
        result = recorder.wait()
        assert (result.exit_status, result.reason) == ("success", "")
        rows = np.load(tmp_path / "rows.npy")
        assert len(rows) + result.skipped_cycles == pytest.approx(short.duration * 500.0, abs=1)
        assert np.all(np.diff(rows["time"]) > 0)
        assert np.all(np.isfinite(rows["current"]))
        assert np.ptp(rows["position"]) > 0.3
        recorder.poll()
        assert (recorder.fault, recorder.state) == ("", ServoState.READY)
        assert segment.truth()["driven"] == 0.0
        recorder.record(long, replace(header, trajectory=long.name))
        wait_until(lambda: recorder.phase is Phase.RUN, recorder.beat)
        assert segment.truth()["driven"] == 1.0
        recorder.emergency_stop()
        assert recorder.wait().reason == "emergency stop"
        assert math.isfinite(recorder.stop_latency)
        assert segment.truth()["driven"] == 0.0
        assert recorder.state is ServoState.FAULT
        recorder.acknowledge()
        wait_until(lambda: recorder.poll() or recorder.state is ServoState.READY, recorder.beat)
