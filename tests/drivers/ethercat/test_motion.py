"""The driver's drive and the emulated one behind it, in virtual time: what the pendulum does is what the model says."""

from types import SimpleNamespace

import numpy as np
import pytest

from core.motion.simulation import simulate_trajectory
from core.motion.trajectories import make_trajectory
from core.servo.bench import Bench
from core.servo.catalogue import load_servo
from core.servo.settings import ServoSettings
from core.servo.shipped import nominal_model
from drivers.emulators.ethercat.slave import Slave
from drivers.emulators.mechanism import Mechanism
from drivers.ethercat.cia402 import CYCLIC_POSITION, CYCLIC_TORQUE
from drivers.ethercat.drive import CyclicDrive, Scale
from drivers.ethercat.law import PositionLaw
from drivers.ethercat.pdo import INPUTS, OPTIONAL_INPUTS, PAD, POSITION_OUTPUTS, TORQUE_OUTPUTS, Inputs
from drivers.servo import PositionGoal
from drivers.simulated.hand import SharedHand
from tests.drivers.machine import live_in

BENCH = Bench(mass=8.0, length=0.25)
CYCLE = 0.002
SPEC = load_servo("erob80_50")
MODEL = nominal_model(SPEC)
SETTINGS = ServoSettings(servo="erob80_50", kp=50.0, supply_voltage=48.0)
SCALE = Scale(
    counts_per_turn=524288,
    zero=0,
    amps_per_permille=0.006,
    torque_constant=MODEL.values["kt"],
    largest_current=12.0,
    no_load_speed=SPEC.no_load_speed,
)


class Arm:
    """Both drives; a frame takes no time."""

    def __init__(self, clock, mode):
        self.clock = clock
        self.outputs = TORQUE_OUTPUTS if mode == CYCLIC_TORQUE else POSITION_OUTPUTS
        self.slave = Slave(Mechanism(SPEC, SharedHand(), bench=BENCH))
        self.slave.drive.operational = True
        self.drive = CyclicDrive(SCALE, PositionLaw.of(SPEC.control, SETTINGS), CYCLE, lambda: clock.now)
        self.cycle()
        self.drive.switch_on(mode, clock.now)
        while not self.drive.enabled:
            self.cycle()

    def cycle(self, goal=None):
        """One cycle with a goal [rad] that was given after the one before; returns what came back."""
        if goal is not None:
            self.drive.aim(PositionGoal(goal), self.clock.now)
        self.clock.now += CYCLE
        told = self.drive.outputs(self.clock.now)
        objects, drive = self.slave.dictionary, self.slave.drive
        drive.step()
        for entry in self.outputs:
            if entry is not PAD:
                objects[entry.index, 0].value = getattr(told, entry.name)
        drive.act()
        entries = (*INPUTS, *(entry for entry in sum(OPTIONAL_INPUTS, ()) if entry is not PAD))
        inputs = Inputs(**{entry.name: objects[entry.index, 0].number for entry in entries})
        self.drive.take(inputs, self.clock.now, told)
        assert self.drive.trouble is None
        return self.drive.newest


@pytest.fixture
def arm(monkeypatch):
    clock = SimpleNamespace(now=100.0)
    clock.perf_counter = lambda: clock.now
    live_in(monkeypatch, clock)
    return lambda mode: Arm(clock, mode)


def test_a_trajectory_is_the_models(arm):
    """Where the law is computed here; each reading says what the mechanism really does."""
    arm, trajectory = arm(CYCLIC_TORQUE), make_trajectory("sin_sin", 2.0)
    for _ in range(200):
        start = arm.cycle(trajectory.goal(0.0).item())
    times = CYCLE * np.arange(1, round(trajectory.duration / CYCLE))
    readings, truths = [], []
    for time in times:
        readings.append(arm.cycle(trajectory.goal(time - CYCLE).item()).reading)
        mechanism = arm.slave.mechanism
        truths.append((mechanism.position, mechanism.velocity, *mechanism.electrics))
    motion = simulate_trajectory(
        MODEL, trajectory, BENCH, SETTINGS, CYCLE, start.reading.position, start.reading.velocity
    )
    wanted = np.interp(times, motion.time, motion.position)
    seen = np.array([[read.position, read.velocity, read.current, read.supply_voltage] for read in readings])
    fastest = np.max(np.abs(seen[:, 1]))
    assert fastest > 0.5
    # What it moves in a quarter of a cycle.
    assert np.mean(np.abs(seen[:, 0] - wanted)) < 0.25 * CYCLE * fastest
    position, velocity, current, _, supply = np.transpose(truths)
    resolution = SCALE.step, SCALE.step, SCALE.amps_per_permille, 1e-3
    for column, truth, step in zip(seen.T, (position, velocity, current, supply), resolution, strict=True):
        assert np.max(np.abs(column - truth)) <= 0.51 * step
    assert np.ptp(current) > 1.0


def test_the_drives_own_law_follows_its_target_no_faster_than_it_can_move(arm):
    arm, period = arm(CYCLIC_POSITION), 20
    places = [arm.cycle(0.5).reading.position for _ in range(1000)]
    assert places[-1] == pytest.approx(0.5, abs=3e-3)
    assert max(np.diff(places[::period])) <= 1.1 * SPEC.no_load_speed * period * CYCLE
    assert arm.drive.newest.inputs.mode == CYCLIC_POSITION
    assert arm.slave.dictionary[0x6071, 0].number == 0
