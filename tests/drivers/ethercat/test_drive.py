"""One drive from cycle to cycle, without a bus: what it is told, and what lets it go."""

import math
from dataclasses import replace

import pytest

from core.servo.catalogue import load_servo
from core.servo.settings import ServoSettings
from core.servo.shipped import nominal_model
from drivers import timing
from drivers.errors import BusError, DriverError, ServoFault
from drivers.ethercat import drive as limits
from drivers.ethercat.cia402 import CYCLIC_POSITION, CYCLIC_TORQUE, DriveState
from drivers.ethercat.drive import CyclicDrive, Scale
from drivers.ethercat.law import PositionLaw
from drivers.ethercat.pdo import Inputs
from drivers.servo import PositionGoal, TorqueGoal
from tests.drivers.ethercat.conftest import real_limits
from tests.drivers.ethercat.motor import STATUS, Motor

CYCLE = 0.002
SPEC = load_servo("erob80_50")
KT = nominal_model(SPEC).values["kt"]
SCALE = Scale(
    counts_per_turn=524288,
    zero=1000,
    amps_per_permille=0.006,
    torque_constant=KT,
    largest_current=12.0,
    no_load_speed=SPEC.no_load_speed,
)
SETTINGS = ServoSettings(servo="erob80_50", kp=50.0, supply_voltage=48.0)
LAW = PositionLaw.of(SPEC.control, SETTINGS)


class Wire:
    """A drive on a wire without time; `inputs` is what comes back besides the state."""

    def __init__(self):
        self.now = 100.0
        self.heard = 0.0
        self.drive = CyclicDrive(SCALE, LAW, CYCLE, lambda: self.heard, harmless=(0x730F,))
        self.drive.in_service = True
        self.motor = Motor()
        self.inputs = Inputs(status_word=0, position=1000, velocity=0, torque=0)
        self.odd = {}
        """What the drive says instead of what it should."""
        self.told = None

    def cycle(self, count=1, answers=True):
        for _ in range(count):
            self.now += CYCLE
            told = self.told = self.drive.outputs(self.now)
            status = STATUS[self.motor.take(told.control_word)]
            inputs = replace(self.inputs, **{"status_word": status, "mode": told.mode, **self.odd})
            self.drive.take(inputs if answers else None, self.now, told)
        return self.told

    def say(self, **changes):
        for name, value in changes.items():
            if name in ("status_word", "mode", "error_code"):
                self.odd[name] = value
            else:
                self.inputs = replace(self.inputs, **{name: value})

    def run(self, goal, mode=CYCLIC_TORQUE):
        """Enable and give a goal."""
        self.heard = self.now
        self.drive.switch_on(mode, self.now)
        self.cycle(20)
        assert self.drive.enabled
        self.drive.aim(goal, self.now)
        return self.cycle()


def wait(wire, seconds):
    """Let cycles pass while somebody waits with the servo's clock."""
    for _ in range(int(seconds / CYCLE)):
        wire.heard = wire.now
        wire.cycle()


@pytest.fixture
def wire():
    made = Wire()
    made.cycle(3)
    with real_limits():
        yield made


def test_on_the_way_up_there_is_no_torque_and_the_target_is_where_the_drive_is(wire):
    wire.say(position=5000)
    wire.cycle()
    wire.drive.switch_on(CYCLIC_TORQUE, wire.now)
    wire.drive.aim(TorqueGoal(10.0), wire.now)
    while not wire.drive.enabled:
        told = wire.cycle()
        assert (told.target_torque, told.target_position) == (0, 5000)
    assert wire.cycle().target_torque != 0


def test_a_position_goal_is_followed_by_the_law_from_the_newest_sample(wire):
    wire.say(position=1000 + 8192, velocity=40_000)
    wire.run(PositionGoal(0.3))
    turn = 2.0 * 3.141592653589793 / 524288
    wanted = LAW.amps(0.3, 8192 * turn, 40_000 * turn)
    assert wire.cycle().target_torque == round(wanted / 0.006)


def test_a_torque_goal_is_a_share_of_the_rated_current(wire):
    assert wire.run(TorqueGoal(6.0 * KT)).target_torque == 1000
    wire.drive.aim(TorqueGoal(-1000.0), wire.now)
    assert wire.cycle().target_torque == -2000


def test_the_drives_own_position_law_is_led_no_faster_than_it_can_move(wire):
    wire.run(PositionGoal(1.0), CYCLIC_POSITION)
    before = wire.cycle().target_position
    after = wire.cycle().target_position
    assert (after - before) * SCALE.step == pytest.approx(SPEC.no_load_speed * CYCLE, rel=1e-3)
    wait(wire, 4.0)
    told = wire.told
    assert told.target_position == round(1.0 / SCALE.step) + SCALE.zero
    assert told.target_torque == 0


def test_letting_go_is_one_cycle_without_torque_then_power_off(wire):
    wire.run(TorqueGoal(5.0))
    wire.drive.switch_off()
    assert not wire.drive.released
    told = wire.cycle()
    assert (told.control_word, told.target_torque) == (0x0F, 0)
    assert [wire.cycle().control_word for _ in range(4)] == [0x07, 0x06, 0x00, 0x00]
    assert wire.drive.released


def test_released_is_what_the_drive_said_after_it_was_asked(wire):
    assert wire.drive.released
    wire.drive.switch_off()
    for released in (False, False, True):  # the frame on its way when it was asked proves nothing
        assert wire.drive.released == released
        told = wire.cycle()
        assert (told.control_word, told.target_torque, wire.drive.enabled) == (0, 0, False)


def failed(wire, kind, words):
    """Whether the drive was let go for a reason of this kind with these words in it, and stays so."""
    trouble = wire.drive.trouble
    assert type(trouble) is kind
    assert words in str(trouble)
    assert "\n" not in str(trouble)
    wire.drive.aim(TorqueGoal(5.0), wire.now)
    assert wire.cycle().target_torque == 0
    return True


def test_a_driven_servo_is_let_go_in_silence_and_a_wait_on_its_clock_is_none(wire):
    wire.run(TorqueGoal(5.0))
    wait(wire, 5 * timing.REAL.ethercat_orphan)
    wire.drive.heard(wire.now)
    wire.cycle(int(timing.REAL.ethercat_orphan / CYCLE) - 1)
    assert wire.drive.trouble is None
    wire.cycle(3)
    assert failed(wire, DriverError, "the driven servo received no command for 100 ms")


def test_a_few_lost_frames_are_bridged_in_service_and_do_not_matter_before(wire):
    wire.drive.in_service = False
    wire.cycle(100, answers=False)
    assert (wire.drive.trouble, wire.drive.lost, wire.drive.answering) == (None, 100, False)
    wire.cycle()
    assert wire.drive.answering
    wire.drive.in_service = True
    wire.run(TorqueGoal(5.0))
    wire.cycle(timing.REAL.ethercat_lost_frames - 1, answers=False)
    assert wire.drive.trouble is None
    wire.cycle()
    wire.cycle(timing.REAL.ethercat_lost_frames, answers=False)
    assert wire.drive.lost == 100 + 2 * timing.REAL.ethercat_lost_frames - 1
    assert failed(wire, BusError, f"{timing.REAL.ethercat_lost_frames} frames in a row did not come back")


def test_a_position_no_motor_could_have_reached_is_not_used_while_it_is_driven(wire):
    for position in (-300_000, 1000):
        wire.say(position=position)
        wire.cycle()
        assert (wire.drive.newest.inputs.position, wire.drive.trouble) == (position, None)
    wire.run(PositionGoal(0.3))
    before = wire.drive.newest
    wire.say(position=1000 + 200_000)
    wire.cycle()
    assert wire.drive.newest is before
    wire.cycle(timing.REAL.ethercat_lost_frames - 1)
    assert failed(wire, BusError, "had an impossible position in it")


@pytest.mark.parametrize("state", [state for state in DriveState if state is not DriveState.OPERATION_ENABLED])
def test_a_drive_that_leaves_operation_is_let_go_and_its_state_told(wire, state):
    wire.run(TorqueGoal(5.0))
    wire.say(status_word=STATUS[state], error_code=0x2310)
    wire.cycle()
    words = f"{state.value} (status word 0x{STATUS[state]:04X}), error 0x2310 (overcurrent); see its manual"
    assert failed(wire, ServoFault, f"the drive switched itself off: {words}")
    wire.cycle(2)
    assert wire.drive.released == state.released


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"status_word": 0x1208}, "fault (status word 0x1208); see its manual"),
        ({"status_word": 0x1222}, "unknown state (status word 0x1222)"),
        ({"mode": CYCLIC_POSITION}, "left the mode cyclic synchronous torque for cyclic synchronous position"),
        ({"mode": 3}, "for mode 3"),
    ],
)
def test_a_drive_that_does_something_else_is_let_go(wire, said, words):
    wire.run(TorqueGoal(5.0))
    wire.say(**said)
    wire.cycle()
    assert failed(wire, ServoFault, words)


@pytest.mark.parametrize("state", [None, *DriveState])
def test_on_the_way_up_a_fault_is_told_at_once_and_every_other_state_waited_for(wire, state):
    wire.drive.switch_on(CYCLIC_TORQUE, wire.now)
    wire.drive.aim(TorqueGoal(5.0), wire.now)
    status = STATUS.get(state, 0x1222)
    wire.say(status_word=status, error_code=0x3220)
    wire.cycle(5)
    assert wire.drive.enabled == (state is DriveState.OPERATION_ENABLED)
    assert (wire.told.target_torque != 0) == wire.drive.enabled
    if state in (DriveState.FAULT, DriveState.FAULT_REACTION):
        words = f"could not be switched on: {state.value} (status word 0x{status:04X}), error 0x3220 (undervoltage)"
        assert failed(wire, ServoFault, words)
    else:
        assert wire.drive.trouble is None


def test_bits_that_warn_and_objects_that_are_not_mapped_are_no_fault(wire):
    wire.run(TorqueGoal(5.0))
    for said in ({"status_word": 0x12B7}, {"status_word": 0x1A37}, {"mode": None}, {"error_code": 0x2310}):
        wire.say(**said)
        wire.cycle()
        assert wire.drive.trouble is None, said


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_count_that_never_changes_under_a_strong_current_ends_the_run(wire, sign):
    wire.run(TorqueGoal(sign * 0.9 * 12.0 * KT))
    wait(wire, limits.STUCK_LIMIT - 0.02)
    assert wire.drive.trouble is None
    wait(wire, 0.04)
    assert failed(wire, ServoFault, f"the encoder gives the same count for 150 ms under {sign * 10.8:.1f} A")


def test_a_pendulum_held_at_rest_is_not_stuck(wire):
    wire.run(TorqueGoal(0.7 * 12.0 * KT))
    wait(wire, 10 * limits.STUCK_LIMIT)
    assert wire.drive.trouble is None


def test_an_emergency_ends_what_is_driven_unless_it_is_harmless(wire):
    wire.drive.emergency(0x2310, 0x01)
    assert wire.drive.trouble is None
    wire.run(TorqueGoal(5.0))
    wire.drive.emergency(0x730F, 0x80)
    wire.drive.emergency(0x0000, 0x00)
    assert wire.drive.trouble is None
    wire.drive.emergency(0x4310, 0x08)
    assert failed(wire, ServoFault, "reports error 0x4310 (drive too hot), register 0x08")


def test_the_first_thing_that_went_wrong_is_kept_and_nothing_switches_the_drive_on_again(wire):
    wire.run(TorqueGoal(5.0))
    wire.drive.emergency(0x4310, 0x08)
    wire.cycle(5, answers=False)
    assert "0x4310" in str(wire.drive.trouble)
    wire.drive.switch_on(CYCLIC_TORQUE, wire.now)
    wire.drive.aim(TorqueGoal(5.0), wire.now)
    wire.cycle(20)
    assert (wire.told.control_word, wire.told.target_torque) == (0, 0)
    assert wire.drive.released


def test_a_reading_is_in_si_units():
    inputs = Inputs(status_word=0, position=1000 + 131072, velocity=-524288, torque=-500, supply=47_900)
    reading = SCALE.reading(inputs)
    assert (reading.position, reading.velocity) == (pytest.approx(0.5 * math.pi), pytest.approx(-2.0 * math.pi))
    assert (reading.current, reading.supply_voltage) == (pytest.approx(-3.0), pytest.approx(47.9))
    assert math.isnan(reading.temperature)
    assert math.isnan(SCALE.reading(replace(inputs, supply=None)).supply_voltage)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_current_is_the_nearest_per_mille_either_way_and_no_more_than_the_largest(sign):
    """Of 6 mA: 9.5 mA are 1.58, 8.9 mA are 1.48; the largest current is 2000."""
    assert [SCALE.permille(sign * amps) for amps in (0.0095, 0.0089, 3.0, 12.0, 99.0)] == [
        sign * permille for permille in (2, 1, 500, 2000, 2000)
    ]
    coarse = replace(SCALE, amps_per_permille=1e-5)
    assert coarse.permille(sign * 12.0) == (32767 if sign > 0 else -32768), "what sixteen bits hold"
    back = SCALE.reading(Inputs(status_word=0, position=1000 - sign, velocity=sign, torque=sign * 500))
    assert (back.position, back.velocity) == (-sign * SCALE.step, sign * SCALE.step)
    assert SCALE.permille(back.current) == sign * 500
