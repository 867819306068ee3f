"""A held torque in this process on the virtual clock: its ramps, its limits, and every way it ends.

Seed 004, section II-C: with a motor torque held, a hand moves the pendulum to the edges of where it rests.
"""

import math
from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest

from core.motion.recording import RunHeader
from core.servo.bench import Bench
from core.servo.settings import ServoSettings
from core.servo.shipped import load_model
from drivers import timing
from drivers.clock import RealClock, VirtualClock
from drivers.errors import CommandError, DriverError, NotReady
from drivers.limits import HOLD_SPEED_SHARE, Limits
from drivers.reading import Reading
from drivers.recorder import InlineHold
from drivers.recorder.cycle import Cycle
from drivers.recorder.link import RunStopped, Unlinked
from drivers.recorder.loop import ATTENDED_MOTION, HOLD_RAMP, HoldJob, Loop
from drivers.recorder.run import LIVE_DTYPE, Phase
from drivers.recorder.storage import Immediately
from drivers.servo import ServoState, TorqueGoal
from drivers.simulated import SharedHand, SimulatedServo
from drivers.simulated.plant import IDEAL
from tests.drivers.fake_servo import FakeServo, FakeSource

RATE = 100.0
PEAK = 2.0
STEP = HOLD_RAMP * PEAK / RATE
SETTINGS = ServoSettings(servo="mx106", kp=16.0, supply_voltage=12.0)
HEADER = RunHeader(trajectory="hold", bench=Bench(mass=0.5, length=0.15), settings=SETTINGS, rate=RATE)


def fake(**faults):
    servo = FakeServo(FakeSource(**faults))
    servo.clock = VirtualClock()
    servo.limits = Limits(torque=PEAK)
    servo.connect()
    return servo


def torques(servo):
    return [command.torque for command in servo.sent if isinstance(command, TorqueGoal)]


def steps(hold, count, torque, samples=None):
    """So many cycles; what was read is kept in samples."""
    for _ in range(count):
        sample = hold.step(torque)
        if samples is not None:
            samples.append(sample)


class Recorded(Unlinked):
    """Keeps what a link is told, and asks for stops when told to."""

    def __init__(self):
        self.rows, self.phases, self.states, self.stop = [], [], [], None
        self.aborts_heeded = 0

    def pending(self):
        return self.stop

    def abort_heeded(self):
        self.aborts_heeded += 1
        self.stop = None

    def phase(self, phase):
        self.phases.append(phase)

    def state(self, state):
        self.states.append(state)

    def publish(self, row):
        self.rows.append(row)


def linked(servo, torque, cycles):
    """A link to a hold in which a torque was wanted for so many cycles."""
    link = Recorded()
    holding = Loop(Cycle(servo, link), Immediately()).hold(HoldJob(header=HEADER, limits=servo.limits))
    next(holding)
    for _ in range(cycles):
        holding.send(torque)
    return link, holding


def ended(holding, wanted):
    """Send a torque to a hold that ends with it, and return how."""
    with pytest.raises(StopIteration) as end:
        holding.send(wanted)
    return end.value.value


def test_a_torque_is_reached_kept_changed_and_left_along_a_ramp_and_the_servo_is_released_last():
    servo = fake()
    with InlineHold(servo, HEADER) as hold:
        reached = [hold.step(0.4).torque for _ in range(120)]
        hold.step(-0.3)
        lowered = [hold.step(-0.3).torque for _ in range(200)]
        assert servo.state is ServoState.ENABLED
    assert reached[-1] == pytest.approx(0.4)
    assert lowered[-1] == pytest.approx(-0.3)
    sent = np.array(torques(servo))
    assert sent[0] == 0.0
    assert np.abs(np.diff(sent)).max() <= STEP * (1 + 1e-9)
    # No slower than the ramp either: one step a cycle until it is there.
    assert reached[round(0.4 / STEP) - 1] == pytest.approx(0.4)
    assert servo.sent[-2:] == [TorqueGoal(0.0), "release"]
    assert servo.sent[:2] == [SETTINGS, "enable"]
    assert hold.result is not None
    assert (hold.result.exit_status, hold.result.reason) == ("success", "")
    assert servo.state is ServoState.READY


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf])
def test_a_torque_that_is_not_a_number_is_refused_and_the_one_held_stays(wrong):
    servo = fake()
    with InlineHold(servo, HEADER) as hold:
        for _ in range(20):
            hold.step(0.05)
        with pytest.raises(CommandError, match="finite"):
            hold.step(wrong)
        assert hold.step(0.05).torque == pytest.approx(0.05)


def test_an_exception_in_the_block_releases_at_once():
    servo = fake()

    def block():
        with InlineHold(servo, HEADER) as hold:
            steps(hold, 100, 0.4)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        block()
    assert servo.sent[-1] == "release"
    assert torques(servo)[-1] == pytest.approx(0.4)
    assert servo.state is ServoState.READY


@pytest.mark.usefixtures("real_limits")
@pytest.mark.parametrize(
    ("faults", "reason", "commands"),
    [
        # Within the cycle: the sixtieth driven read is the one after the sixtieth command.
        ({"jump": 60}, "limit tripped: position 9 rad beyond the limit of 3.142 rad", 60),
        ({"fail_read": 60}, "no answer to a read", 60 + round(timing.REAL.blind * RATE) - 1),
    ],
    ids=["limit", "silent servo"],
)
def test_what_goes_wrong_releases_at_once_and_waits_for_a_person(faults, reason, commands):
    servo = fake(**faults)
    with InlineHold(servo, HEADER) as hold:
        with pytest.raises(DriverError, match=reason):
            steps(hold, 100, 0.2)
        assert servo.log["commands"] == pytest.approx(commands, abs=1 if "fail_read" in faults else 0)
        assert servo.log["driven"] == 0
        assert servo.state is ServoState.FAULT
        with pytest.raises(DriverError, match="no longer held"):
            hold.step(0.2)
    assert hold.result is not None
    assert hold.result.exit_status == "fail"
    assert servo.log["enables"] == 1
    assert torques(servo)[-1] == pytest.approx(0.2)
    again = InlineHold(servo, HEADER)
    with pytest.raises(DriverError, match="acknowledge"):
        again.step(0.1)


def test_a_pendulum_that_leaves_the_hand_is_released_before_it_is_fast():
    """A load far too light for the torque runs away; without a hand it is caught at half the no-load speed."""
    servo = SimulatedServo("mx106", clock=VirtualClock())
    servo.connect()
    header = replace(HEADER, bench=Bench(mass=0.05, length=0.1), rate=200.0)
    samples = []
    limit = HOLD_SPEED_SHARE * servo.spec.no_load_speed
    reason = f"speed while a torque is held .* limit of {limit:.4g} rad/s; keep the"
    with InlineHold(servo, header) as hold, pytest.raises(DriverError, match=reason):
        steps(hold, 400, 3.0, samples)
    assert len(samples) > 10
    assert max(abs(sample.reading.velocity) for sample in samples) <= limit
    assert max(sample.reading.position for sample in samples) < 0.5 * math.pi
    assert servo.state is ServoState.FAULT
    assert "keep the pendulum in your hand" in servo.fault_reason


@pytest.mark.parametrize("way", [1.0, -1.0])
def test_a_pendulum_that_falls_against_the_torque_is_released_without_a_fault(way):
    """Let go at 1.2 rad, gravity beats 0.5 N·m: the fall that ends a search; the servo is ready for the next hold."""
    hand, bench, link = SharedHand(), Bench(mass=1.0, length=0.2), Recorded()
    servo = SimulatedServo("mx106", clock=VirtualClock(), hand=hand)
    servo.connect()
    job = HoldJob(header=replace(HEADER, bench=bench, rate=200.0), limits=servo.limits)
    holding = Loop(Cycle(servo, link), Immediately()).hold(job)
    next(holding)
    for k in range(400):
        hand.pull_to(way * 1.2 * min(1.0, k / 300), 12.0 * bench.gravity_torque, 0.6)
        holding.send(way * 0.5)
    hand.let_go()
    result = None
    while result is None:
        try:
            holding.send(way * 0.5)
        except StopIteration as end:
            result = end.value
    assert result.exit_status == "fell"
    assert "the pendulum fell: speed while a torque is held" in result.reason
    assert servo.state is ServoState.READY
    assert not servo.fault_reason


@pytest.mark.parametrize("torque", [1.37, 0.9])
def test_the_pendulum_is_lowered_once_the_hold_ends(torque):
    """Left at 0.9 rad when the hold is ended, it sinks more slowly than a hand may guide it, and the servo is ready."""
    hand, bench, link = SharedHand(), Bench(mass=1.0, length=0.2), Recorded()
    servo = SimulatedServo("mx106", clock=VirtualClock(), hand=hand)
    servo.connect()
    job = HoldJob(header=replace(HEADER, bench=bench, rate=200.0), limits=servo.limits)
    holding = Loop(Cycle(servo, link), Immediately()).hold(job)
    next(holding)
    for k in range(400):
        hand.pull_to(0.9 * min(1.0, k / 300), 12.0 * bench.gravity_torque, 0.6)
        sample = holding.send(torque)
    hand.let_go()
    assert sample.reading.position > 0.85
    count = len(link.rows)
    result = ended(holding, math.nan)
    assert (result.exit_status, result.reason, servo.state) == ("success", "", ServoState.READY)
    speeds = np.abs(np.array(link.rows[count:], LIVE_DTYPE)["velocity"])
    assert len(speeds) > 400
    assert speeds.max() < 0.6 * HOLD_SPEED_SHARE * servo.spec.no_load_speed
    assert abs(servo.read().position) < 0.3


def test_the_rows_say_which_torque_is_held_and_only_while_it_is():
    servo = fake()
    link, holding = linked(servo, 0.1, 30)
    result = ended(holding, math.nan)
    assert result.exit_status == "success"
    assert link.phases == [Phase.HOLD, Phase.IDLE]
    assert link.states == [ServoState.READY, ServoState.ENABLED, ServoState.READY]
    held = [row[-1] for row in link.rows]
    assert held == torques(servo)
    assert all(row[-2] == Phase.HOLD and math.isnan(row[0]) for row in link.rows)
    Cycle(servo, link).watch()
    assert math.isnan(link.rows[-1][-1])


def test_an_abort_takes_the_torque_away_along_the_ramp_and_a_second_one_at_once():
    servo = fake()
    link, holding = linked(servo, 0.2, 60)
    link.stop = RunStopped("abort", "aborted", gentle=True)
    result = ended(holding, 0.2)
    assert (result.exit_status, result.reason) == ("abort", "aborted")
    assert link.aborts_heeded == 1
    assert servo.sent[-2:] == [TorqueGoal(0.0), "release"]
    assert np.abs(np.diff(torques(servo))).max() <= STEP * (1 + 1e-9)

    servo = fake()
    link, holding = linked(servo, 0.2, 60)
    link.stop = RunStopped("abort", "aborted", gentle=True)
    link.abort_heeded = lambda: None
    assert ended(holding, 0.2).exit_status == "abort"
    assert torques(servo)[-1] == pytest.approx(0.2)
    assert servo.sent[-1] == "release"
    assert servo.state is ServoState.READY


def test_a_stop_that_is_no_abort_releases_without_another_command():
    servo = fake()
    link, holding = linked(servo, 0.2, 60)
    commands = servo.log["commands"]
    link.stop = RunStopped("abort", "emergency stop", fault=True)
    result = ended(holding, 0.2)
    assert (result.exit_status, result.reason) == ("abort", "emergency stop")
    assert servo.log["commands"] == commands
    assert servo.state is ServoState.FAULT


def test_a_hold_that_could_be_dangerous_is_refused_before_anything_moves():
    servo = fake()
    with pytest.raises(CommandError, match="rate"):
        InlineHold(servo, replace(HEADER, rate=0.0))
    servo.limits = Limits()
    with pytest.raises(CommandError, match="torque limit"):
        InlineHold(servo, HEADER)
    servo.limits = Limits(torque=PEAK)
    with pytest.raises(NotReady, match="virtual clock"):
        InlineHold(servo, HEADER, virtual=False)
    servo.clock = RealClock()
    with pytest.raises(NotReady, match="real clock"):
        InlineHold(servo, HEADER)
    servo.hazardous = True
    with pytest.raises(NotReady, match="Recorder"):
        InlineHold(servo, HEADER, virtual=False)
    assert servo.log["enables"] == 0


def test_settings_that_cannot_be_written_end_the_hold_before_it_begins(monkeypatch):
    servo = fake()

    def refused(settings):
        raise CommandError("no such gain")

    monkeypatch.setattr(servo, "_configure", refused)
    hold = InlineHold(servo, HEADER)
    with pytest.raises(DriverError, match="no such gain"):
        hold.step(0.1)
    assert servo.log["enables"] == 0
    assert servo.state is ServoState.READY


def test_inside_the_dead_zone_a_held_torque_rests_where_the_hand_leaves_it_and_outside_it_does_not():
    """Seed 004, figure 2: with M1 every angle with |τ_m + τ_e(θ)| ≤ K_c is at rest."""
    model = load_model("mx106", "m1")
    friction = model.values["friction_base"]
    bench = Bench(mass=1.0, length=0.15)
    torque = 0.8
    for share, rests in ((-0.9, True), (0.9, True), (-1.3, False), (1.3, False)):
        angle = math.asin((torque + share * friction) / bench.gravity_torque)
        hand = SharedHand()
        servo = SimulatedServo("mx106", model=model, clock=VirtualClock(), hand=hand, imperfections=IDEAL)
        servo.connect()
        settings = model.default_settings()
        with InlineHold(servo, replace(HEADER, bench=bench, settings=settings, rate=200.0)) as hold:
            hand.pull_to(angle, 60.0, 1.4 * math.sqrt(60.0 * 0.05))
            for _ in range(600):
                placed = hold.step(torque)
            hand.pull_to(2.0 * angle - placed.reading.position, 60.0, 3.0)
            for _ in range(600):
                placed = hold.step(torque)
            hand.let_go()
            for _ in range(400):
                left = hold.step(torque)
        moved = left.reading.position - placed.reading.position
        assert (abs(moved) < 1e-3) is rests, (share, moved)
        if not rests:
            # Too high falls, too low rises.
            assert math.copysign(1.0, moved) == -math.copysign(1.0, share)


@pytest.mark.usefixtures("real_limits")
@pytest.mark.parametrize(("way", "share"), [(1.0, 1.1), (-1.0, 1.1), (1.0, 0.9), (-1.0, 0.9)])
def test_a_torque_is_held_on_only_while_the_pendulum_is_moved_either_way(way, share):
    """A program that lives on while its person has left: the torque goes back along its ramp, the servo is released."""
    servo, moved = fake(), 0.0
    servo._read = lambda: Reading(position=moved)
    attended = share > 1.0
    unmoved = pytest.raises(DriverError, match="the pendulum was not moved for 120 s")
    with InlineHold(servo, HEADER) as hold, nullcontext() if attended else unmoved:
        for _ in range(3):
            steps(hold, round(0.6 * timing.REAL.unattended * RATE), 0.4)
            moved += way * share * ATTENDED_MOTION
    assert hold.result.exit_status == ("success" if attended else "fail")
    assert attended or 0.0 < servo.clock.now() - timing.REAL.unattended < 10.0
    assert servo.state is ServoState.READY
    assert max(np.abs(np.diff(torques(servo)))) <= STEP * (1 + 1e-9), "it sinks, it does not fall"


def test_a_torque_is_held_on_while_somebody_asks_for_others():
    servo = fake()
    with InlineHold(servo, HEADER) as hold:
        for torque in (0.4, 0.5, 0.4):
            steps(hold, round(0.7 * timing.REAL.unattended * RATE), torque)
    assert hold.result.exit_status == "success"
