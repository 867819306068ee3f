"""The simulated servo: the theory's motion, seen through an imperfect servo, the same every time."""

import math
import subprocess
import sys
from dataclasses import fields, replace

import numpy as np
import pytest

from core.base.errors import InputError
from core.motion.recording import SAMPLE_DTYPE, Recording, RunHeader
from core.motion.simulation import Stepper, simulate_recording
from core.motion.trajectories import make_trajectory
from core.servo.bench import Bench
from core.servo.catalogue import load_servo
from core.servo.shipped import load_model
from drivers.clock import VirtualClock
from drivers.errors import CommandError
from drivers.recorder import MemorySink, record_inline
from drivers.servo import PositionGoal, Release, TorqueGoal
from drivers.simulated import Imperfections, SharedHand, SimulatedServo
from drivers.simulated.plant import (
    AMBIENT,
    CONTINUOUS_SHARE,
    IDEAL,
    SUBSTEPS,
    THERMAL_TIME,
    TICK,
    DutyGoal,
    Plant,
)
from tests.core.conftest import catalogue_model

BENCH = Bench(mass=0.5, length=0.15, arm_mass=0.1)
MODEL = load_model("mx106", "m6")
SETTINGS = MODEL.default_settings()
RATE = 200.0
STEP = load_servo("mx106").encoder_step


def connected(**options):
    options.setdefault("imperfections", IDEAL)
    servo = SimulatedServo("mx106", clock=VirtualClock(), bench=BENCH, **options)
    servo.connect()
    servo.configure(SETTINGS)
    return servo


def recorded(name, **options):
    sink = MemorySink()
    header = RunHeader(trajectory=name, bench=BENCH, settings=SETTINGS, rate=RATE)
    result = record_inline(connected(**options), make_trajectory(name), header, sink)
    assert result.exit_status == "success", result.reason
    return sink.rows


def stepped(name, shift=0.0):
    """Positions by `core` alone, a sample before each cycle; commands take effect `shift` [s] later."""
    trajectory = make_trajectory(name)
    time = np.arange(round(trajectory.duration * RATE)) / RATE
    stepper = Stepper(MODEL, BENCH, SETTINGS, TICK, substeps=SUBSTEPS)
    ticks = round(1 / RATE / TICK)
    late = round(shift / TICK)
    goals = np.repeat(trajectory.goal(time), ticks)
    goals = np.concatenate([np.full(late, goals[0]), goals])
    enables = np.repeat(trajectory.torque_enable(time), ticks)
    positions = []
    for k in range(len(time)):
        positions.append(stepper.position)
        for i in range(k * ticks, (k + 1) * ticks):
            stepper.step(float(goals[i]), bool(enables[i]))
    return np.array(positions)


@pytest.mark.parametrize("name", ["sin_time_square", "sin_sin", "up_and_down", "lift_and_drop", "steps"])
def test_an_ideal_servo_moves_as_core_simulates(name):
    np.testing.assert_allclose(recorded(name)["position"], stepped(name), atol=1e-12)


def test_the_encoder_reports_the_nearest_step():
    imperfections = Imperfections(read_duration=0.0, read_jitter=0.0, supply_resistance=0.0)
    rows = recorded("sin_sin", imperfections=imperfections)
    np.testing.assert_allclose(rows["position"], stepped("sin_sin"), atol=0.5 * STEP + 1e-12)
    counts = rows["position"] / STEP
    np.testing.assert_allclose(counts, np.round(counts), atol=1e-6)


INERTIA = BENCH.inertia + MODEL.values["armature"]
WITHOUT_LOSSES = MODEL.with_values({p.name: 0.0 for p in MODEL.parameters.values() if "friction" in p.name})


def speed_at(moment, *commands, delay=0.0):
    """Speed at a moment [s] of a shaft that only its motor turns; commands: (time [s], torque [N·m] or None)."""
    servo = SimulatedServo(
        "mx106",
        model=WITHOUT_LOSSES,
        clock=VirtualClock(),
        bench=replace(BENCH, gravity=0.0),
        imperfections=replace(IDEAL, command_delay=delay),
    )
    servo.connect()
    begin = servo.clock.now() - 2 * TICK  # of the plant's time
    for time, torque in commands:
        servo.clock.wait_until(begin + time, lambda: False)
        servo.command(Release() if torque is None else TorqueGoal(torque))
    servo.clock.wait_until(begin + moment, lambda: False)
    servo.read()
    return servo.plant.velocity


@pytest.mark.parametrize("begin", [0.0100, 0.0105, 0.0109])
def test_a_command_acts_from_its_instant_on(begin):
    """J·θ̇ = ∫τ dt."""
    assert speed_at(0.011, (begin, 3.0)) == pytest.approx(3.0 * (0.011 - begin) / INERTIA, rel=1e-9)
    released = speed_at(0.011, (0.01, 1.0), (begin, None))
    assert released == pytest.approx((begin - 0.01) / INERTIA, rel=1e-9, abs=1e-12)
    changed = speed_at(0.011, (0.01, 1.0), (begin, -2.0))
    assert changed == pytest.approx((begin - 0.01 - 2.0 * (0.011 - begin)) / INERTIA, rel=1e-9)
    delayed = speed_at(0.014, (begin, 3.0), delay=0.0023)
    assert delayed == pytest.approx(3.0 * (0.014 - begin - 0.0023) / INERTIA, rel=1e-9)


def test_a_release_forgets_delayed_commands_at_once():
    servo = connected(imperfections=replace(IDEAL, command_delay=0.05))
    servo.command(TorqueGoal(1.0))
    assert servo.plant.driven
    servo.release()
    assert not servo.plant.driven
    servo.clock.wait_until(servo.clock.now() + 0.2, lambda: False)
    assert servo.read().position == 0.0
    # It does not wait for them either: driven from 20 ms on, the motor is off at 25 ms, not at 30 ms.
    released = speed_at(0.04, (0.01, 1.0), (0.02, 2.0), (0.025, None), delay=0.01)
    assert released == pytest.approx(1.0 * 0.005 / INERTIA, rel=1e-9)


def test_a_recording_tells_when_its_goals_were_commanded():
    rows = recorded("lift_and_drop", imperfections=Imperfections())
    commanded = np.isfinite(rows["command_time"])
    cycles = np.arange(len(rows)) / RATE
    np.testing.assert_allclose(rows["command_time"][commanded], cycles[commanded], atol=1e-9)
    # A servo that is released already is not released again.
    released = rows["torque_enable"] == 0
    assert np.count_nonzero(released & commanded) == 1
    assert commanded[~released].all()


def distance_of_the_true_model(model, trajectory, seed, rate):
    """Mean distance of the model's motion from what a servo of that model records [rad].

    Without the encoder's rounding, which would leave a quarter of its step on average.
    """
    imperfections = Imperfections(encoder_step=0.0)
    servo = SimulatedServo(model.servo, model=model, clock=VirtualClock(), seed=seed, imperfections=imperfections)
    servo.connect()
    sink = MemorySink()
    settings = model.default_settings()
    header = RunHeader(trajectory=trajectory, bench=servo.plant.bench, settings=settings, rate=rate)
    assert record_inline(servo, make_trajectory(trajectory), header, sink).exit_status == "success"
    channels = {column: sink.rows[column].copy() for column in SAMPLE_DTYPE.names or ()}
    run = Recording(id="1", trajectory=trajectory, bench=header.bench, settings=settings, channels=channels)
    motion = simulate_recording(model, run)
    return np.abs(np.interp(run.time, motion.time, motion.position) - run.position).mean()


def others(*names):
    return [pytest.param(name, marks=pytest.mark.exhaustive("the other laws and motors")) for name in names]


@pytest.mark.parametrize("name", ["mx106", "sts3215", *others("mx64", "xl330", "xl320", "erob80_50")])
def test_the_true_model_reproduces_its_recordings(name):
    model = replace(load_model(name, "m6"), integrator="leapfrog", dt=TICK / SUBSTEPS, substeps=1)
    for seed, trajectory in enumerate(("sin_sin", "lift_and_drop", "up_and_down")):
        # The voltage without load of a run is known to its resolution only.
        assert distance_of_the_true_model(model, trajectory, seed, RATE) < (1e-4 if model.sags else 1e-5)


def test_a_limited_goal_sets_out_at_the_commands_instant():
    """At 187 Hz commands fall anywhere within the plant's ticks; the goal of an sts3215 follows them on a ramp."""
    model = replace(load_model("sts3215", "m6"), integrator="leapfrog", dt=TICK, substeps=1)
    assert distance_of_the_true_model(model, "sin_time_square", 0, 187.0) < 2e-4


def test_the_same_seed_gives_the_same_recording_and_another_one_other_moments():
    once, again = (recorded("sin_sin", seed=3, imperfections=Imperfections()) for _ in range(2))
    other = recorded("sin_sin", seed=4, imperfections=Imperfections())
    assert once.tobytes() == again.tobytes()
    assert np.all(np.diff(once["time"]) > 0)
    assert not np.array_equal(once["time"], other["time"])
    assert np.std(np.diff(once["time"])) == pytest.approx(0.5 * math.sqrt(2.0) * 5e-5, rel=0.1)


def test_position_and_time_of_a_sample_belong_together():
    """A read that takes long reports where the servo was in its middle."""
    imperfections = Imperfections(
        encoder_step=0.0, read_duration=3e-3, read_jitter=5e-4, supply_resistance=0.0, velocity_window=0.0
    )
    rows = recorded("up_and_down", imperfections=imperfections)
    truth = recorded("up_and_down")
    at_moment = np.interp(rows["time"], truth["time"], truth["position"])
    # Within what a straight line between two samples leaves of the motion's curvature.
    assert np.abs(rows["position"] - at_moment).max() < 2e-4
    assert np.mean(rows["read_duration"]) == pytest.approx(3e-3, rel=0.02)


def test_the_supply_sags_by_the_bridges_share_of_the_current():
    rows = recorded("steps", imperfections=Imperfections(supply_resistance=0.2))
    sag = SETTINGS.supply_voltage - rows["supply_voltage"]
    assert sag.max() > 0.2
    # The sag follows the current one tick later, hence not where the current jumps.
    steady = np.abs(np.gradient(rows["current"])) < 0.02
    expected = 0.2 * np.abs(rows["current"] * rows["duty_cycle"])
    np.testing.assert_allclose(sag[steady], expected[steady], atol=0.02)


@pytest.mark.parametrize("sags", [{"supply_sag": 0.0}, {"supply_sag": 1.8}, {"pulse_sag": 2.0}])
@pytest.mark.parametrize("duty", [1.0, 0.3, -0.8])
def test_a_driven_duty_cycle_is_the_reported_one_and_the_supply_sags_by_it(sags, duty):
    model = catalogue_model("mx106", "m1", command_path=tuple(sags), values=sags)
    plant = Plant(model.spec, model, BENCH, IDEAL, lambda *_: 0.0)
    plant.command(DutyGoal(duty), 0.0)
    for moment in np.arange(1, 20) * 0.01:
        plant.advance_to(moment)
        current, reported, supply = plant.electrics
        assert reported == pytest.approx(duty, rel=1e-6)
        share = {"supply_sag": abs(duty), "pulse_sag": 1.0}
        lost = sum(value * share[name] * abs(current) for name, value in sags.items())
        assert supply == pytest.approx(SETTINGS.supply_voltage - (lost if current * duty > 0.0 else 0.0), rel=1e-6)


def test_the_velocity_is_the_difference_of_encoder_positions_over_its_window():
    rows = recorded("sin_sin", imperfections=Imperfections(read_jitter=0.0))
    truth = recorded("sin_sin")
    window, resolution = 0.016, STEP / 0.016
    delayed = np.interp(truth["time"] - 0.5 * window, truth["time"], truth["velocity"])
    assert np.abs(rows["velocity"] - delayed)[10:].mean() < resolution
    counts = rows["velocity"] / resolution
    np.testing.assert_allclose(counts, np.round(counts), atol=1e-6)


def test_a_constant_torque_goal_is_the_motors_torque():
    servo = connected()
    stepper = Stepper(MODEL, BENCH, SETTINGS, TICK, substeps=SUBSTEPS)
    for _ in range(200):
        servo.command(TorqueGoal(0.4))
        servo.clock.wait_until(servo.clock.now() + 0.005, lambda: False)
        for _ in range(5):
            stepper.step(0.0, True, motor_torque=0.4)
        assert servo.read().position == pytest.approx(stepper.position, abs=1e-12)
    assert servo.read().position > 0.2


def pulled(hand, model, seconds, target, bench=BENCH):
    """A released servo pulled towards target(t); (n,) times, positions and velocities each millisecond."""
    servo = SimulatedServo("mx106", model=model, clock=VirtualClock(), bench=bench, imperfections=IDEAL, hand=hand)
    servo.connect()
    rows = []
    for tick in range(round(seconds / TICK)):
        hand.pull_to(*target(tick * TICK))
        servo.clock.wait_until((tick + 1) * TICK, lambda: False)
        reading = servo.read()
        rows.append((tick * TICK, reading.position, reading.velocity))
    return np.array(rows).T


@pytest.mark.parametrize("direction", [1.0, -1.0])
def test_a_hand_that_pulls_slowly_feels_gravity_and_friction(direction):
    """k·(α − θ) = m·g·l·sin θ ± (K_c + K_v·θ̇), M1 and no acceleration; α is where the hand is."""
    model = load_model("mx106", "m1")
    stiffness, speed, damping = 40.0, 0.2, 1.0
    hand = SharedHand()
    time, position, velocity = pulled(hand, model, 6.0, lambda t: (direction * speed * (t - TICK), stiffness, damping))
    steady = (time > 1.0) & (time < 5.9)
    friction = model.values["friction_base"] + model.values["friction_viscous"] * np.abs(velocity)
    pull = stiffness * (direction * speed * time - position) - damping * velocity
    needed = BENCH.gravity_torque * np.sin(position) + direction * friction
    np.testing.assert_allclose(pull[steady], needed[steady], atol=0.012)
    assert abs(needed[steady]).max() > 0.5


def test_a_hand_is_as_strong_as_a_hand_and_lets_go():
    hand = SharedHand(strength=3.0)
    hand.pull_to(100.0, 50.0, 0.0)
    assert hand(0.0, 0.2, 0.0) == 0.0, "it takes hold where the pendulum is"
    assert hand(1e-3, 0.2, 0.0) == pytest.approx(50.0 * hand.speed * 1e-3)
    assert hand(10.0, 0.2, 0.0) == 3.0
    hand.pull_to(-100.0, 50.0, 0.0)
    assert hand(30.0, 0.2, 0.0) == -3.0
    hand.pull_to(0.2, 0.0, 2.0)
    assert hand(100.0, 0.2, 0.5) == -1.0
    hand.torque = 0.7
    hand.let_go()
    assert hand(100.1, 0.9, 9.0) == 0.7
    hand.pull_to(0.9, 50.0, 0.0)
    assert hand(100.1, -0.4, 0.0) == 0.7
    # Another plant begins its time anew.
    assert hand(0.0, 0.1, 0.0) == 0.7


@pytest.mark.parametrize("wrong", [(math.nan, 1.0, 1.0), (0.0, -1.0, 1.0), (0.0, 1.0, math.inf)])
def test_a_pull_that_makes_no_sense_is_refused(wrong):
    hand = SharedHand()
    hand.pull_to(0.5, 10.0, 0.0)
    with pytest.raises(CommandError, match="finite"):
        hand.pull_to(*wrong)
    hand(0.0, 0.5, 0.0)
    assert hand(1.0, 0.4, 0.0) == pytest.approx(1.0)
    for strength, speed in ((0.0, 1.0), (math.inf, 1.0), (1.0, math.nan)):
        with pytest.raises(CommandError, match="above 0"):
            SharedHand(strength, speed)


def test_the_reported_current_does_not_depend_on_where_in_a_cycle_it_is_read():
    """A goal held for 5 ms makes the current a saw-tooth of that period: means over two of them are the same at every
    phase, single ticks are not."""

    def spread(window):
        imperfections = Imperfections(read_duration=0.0, read_jitter=0.0, current_window=window)
        servo = connected(imperfections=imperfections)
        at_phase = [[] for _ in range(5)]
        for cycle in range(100):
            # From the middle of a slow swing on, where nothing else changes fast.
            servo.command(PositionGoal(0.8 * math.sin(2.0 * cycle / RATE)))
            for phase in range(5):
                servo.clock.wait_until(cycle / RATE + (phase + 1) * TICK, lambda: False)
                at_phase[phase].append(servo.read().current)
        means = np.mean(np.array(at_phase)[:, 40:60], axis=1)
        return float(np.ptp(means) / np.mean(means))

    assert spread(0.0) > 0.1
    assert spread(0.01) < 0.25 * spread(0.0)


def test_a_held_load_heats_the_servo_with_its_losses():
    """T(t) = T_a + I²·R·R_th·(1 − exp(−t/τ)), the ratings fixing R_th."""
    servo = connected()
    servo.command(PositionGoal(1.0))
    for _ in range(60):
        servo.clock.wait_until(servo.clock.now() + 0.999, lambda: False)
        reading = servo.read()
    spec = servo.spec
    share = reading.current / (CONTINUOUS_SHARE * spec.max_current)
    rise = (spec.max_temperature - AMBIENT) * share**2 * (1.0 - math.exp(-60.0 / THERMAL_TIME))
    assert reading.temperature - AMBIENT == pytest.approx(rise, rel=0.05)
    hot = reading.temperature
    servo.release()
    for _ in range(30):
        servo.clock.wait_until(servo.clock.now() + 0.999, lambda: False)
        reading = servo.read()
    assert reading.temperature - AMBIENT == pytest.approx((hot - AMBIENT) * math.exp(-30.0 / THERMAL_TIME), rel=0.01)


def test_another_load_is_felt():
    servo = connected()
    servo.command(PositionGoal(0.8))
    servo.clock.wait_until(0.9, lambda: False)
    before = servo.read()
    servo.mount(Bench(mass=3.0, length=0.15))
    servo.clock.wait_until(1.8, lambda: False)
    assert servo.read().position < before.position - 0.005


@pytest.mark.parametrize(
    "change",
    [lambda servo: servo.mount(Bench(mass=3.0, length=0.15)), lambda servo: servo.configure(replace(SETTINGS, kp=8.0))],
    ids=["load", "gains"],
)
def test_a_motion_goes_on_whatever_is_changed(change):
    hand = SharedHand()
    servo = connected(hand=hand)
    hand.torque = 2.0
    servo.clock.wait_until(servo.clock.now() + 0.2, lambda: False)
    before = servo.read()
    change(servo)
    after = servo.read()
    assert (after.position, after.velocity) == (before.position, before.velocity)
    assert before.velocity > 0.5


@pytest.mark.parametrize("name", [field.name for field in fields(Imperfections)])
def test_an_imperfection_is_none_below_0_and_always_a_number(name):
    assert getattr(Imperfections(**{name: 0.0}), name) == 0.0
    for wrong in (-1e-9, math.nan, math.inf):
        with pytest.raises(InputError, match=f"{name} = {wrong} must be a finite number of at least 0"):
            Imperfections(**{name: wrong})


def test_importing_the_drivers_compiles_and_loads_no_kernel():
    program = "import sys, drivers.recorder, drivers.simulated; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
