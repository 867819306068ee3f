"""The driver's drive and the emulated one behind it, in virtual time: what the pendulum does is what the model says."""

from types import SimpleNamespace

import numpy as np
import pytest

from core.bench import Bench
from core.catalogue import load_servo
from core.recording import ServoSettings
from core.shipped import nominal_model
from core.simulation import simulate_trajectory
from core.trajectories import make_trajectory, recorded_trajectory
from drivers.emulators.ethercat.slave import Slave
from drivers.emulators.mechanism import Mechanism
from drivers.ethercat.cia402 import CYCLIC_TORQUE
from drivers.ethercat.drive import CyclicDrive, Scale
from drivers.ethercat.law import PositionLaw
from drivers.ethercat.pdo import INPUTS, PAD, TORQUE_OUTPUTS, Inputs
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

    def __init__(self, clock):
        self.clock = clock
        self.slave = Slave(Mechanism(SPEC, SharedHand(), bench=BENCH))
        self.slave.drive.operational = True
        self.drive = CyclicDrive(SCALE, PositionLaw.of(SPEC.control, SETTINGS), CYCLE, lambda: clock.now)
        self.cycle()
        self.drive.switch_on(CYCLIC_TORQUE, clock.now)
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
        for entry in TORQUE_OUTPUTS:
            if entry is not PAD:
                objects[entry.index, 0].value = getattr(told, entry.name)
        drive.act()
        inputs = Inputs(**{entry.name: objects[entry.index, 0].number for entry in INPUTS})
        self.drive.take(inputs, self.clock.now, told)
        assert self.drive.trouble is None
        return self.drive.newest


@pytest.fixture
def arm(monkeypatch):
    clock = SimpleNamespace(now=100.0)
    clock.perf_counter = lambda: clock.now
    live_in(monkeypatch, clock)
    return Arm(clock)


def test_a_step_is_the_models(arm):
    for _ in range(500):
        start = arm.cycle(0.0)
    samples = [arm.cycle(0.4) for _ in range(500)]
    times = np.array([sample.moment for sample in samples]) - start.moment
    grid = np.arange(0.0, times[-1] + 0.1, CYCLE)
    held = recorded_trajectory("step", grid, np.full(len(grid), 0.4), np.ones(len(grid), bool))
    motion = simulate_trajectory(MODEL, held, BENCH, SETTINGS, CYCLE, start.reading.position, start.reading.velocity)
    _near_the_model(samples, times, motion)
    assert samples[-1].reading.position == pytest.approx(motion.position[-1], abs=1e-3)


def test_a_trajectory_is_the_models(arm):
    trajectory = make_trajectory("sin_sin")
    for _ in range(200):
        start = arm.cycle(trajectory.goal(0.0).item())
    times = CYCLE * np.arange(1, round(trajectory.duration / CYCLE))
    samples = [arm.cycle(trajectory.goal(time - CYCLE).item()) for time in times]
    motion = simulate_trajectory(
        MODEL, trajectory, BENCH, SETTINGS, CYCLE, start.reading.position, start.reading.velocity
    )
    _near_the_model(samples, times, motion)


def _near_the_model(samples, times, motion):
    readings = [sample.reading for sample in samples]
    wanted = np.interp(times, motion.time, motion.position)
    errors = np.abs(np.array([reading.position for reading in readings]) - wanted)
    fastest = max(abs(reading.velocity) for reading in readings)
    assert fastest > 0.5
    # What it moves in a quarter of a cycle.
    assert np.mean(errors) < 0.25 * CYCLE * fastest
