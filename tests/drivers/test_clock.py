"""Clocks: the machine's, a multiple of it, and a virtual one."""

import math

import pytest

from core.motion.recording import RunHeader
from core.motion.trajectories import make_trajectory
from core.servo.bench import Bench
from core.servo.settings import ServoSettings
from drivers import timing
from drivers.clock import LONGEST_LOOK, SLICE, SPIN, RealClock, StandingClock, VirtualClock
from drivers.reading import Reading
from drivers.recorder import record_inline
from drivers.simulated import SimulatedServo, SimulatedSource
from drivers.simulated.plant import LONGEST_CATCH_UP
from tests.drivers.fake_servo import FakeServo
from tests.drivers.machine import MOMENT, machine_time


@pytest.fixture
def machine(monkeypatch):
    return machine_time(monkeypatch)


@pytest.mark.parametrize("speed", [0.5, 1.0, 8.0])
def test_a_real_clock_is_a_multiple_of_the_machines_and_waits_to_the_point(machine, speed):
    clock = RealClock(speed)
    assert not clock.virtual
    before = machine.perf_counter()
    assert clock.now() == pytest.approx(speed * (before + MOMENT), abs=1e-9)
    slept = []
    machine.meanwhile = slept.append
    deadline = clock.now() + 0.1 * speed
    clock.wait_until(deadline, lambda: False)
    assert deadline <= clock.now() < deadline + 10 * MOMENT * speed
    # It sleeps in slices, and the last stretch is spent awake.
    assert len(slept) == pytest.approx(0.1 / SLICE, abs=2)
    assert deadline / speed - slept[-1] == pytest.approx(SPIN, abs=10 * MOMENT)


@pytest.mark.parametrize("speed", [1.0, 8.0])
def test_a_wait_ends_soon_after_it_is_interrupted(machine, speed):
    clock = RealClock(speed)
    stop = machine.perf_counter() + 0.1234
    clock.wait_until(clock.now() + 3600.0 * speed, lambda: machine.perf_counter() > stop)
    assert machine.perf_counter() - stop < SLICE + 10 * MOMENT


def test_no_machine_is_so_busy_that_a_simulated_servo_of_a_test_misses_its_motion(monkeypatch):
    assert isinstance(SimulatedSource(name="mx106", speed=8.0).open().clock, StandingClock)
    machine = machine_time(monkeypatch)
    assert not isinstance(SimulatedSource(name="mx106", speed=8.0).open().clock, StandingClock)
    clock = StandingClock(8.0)
    before = clock.now()
    machine.sleep(0.5 * LONGEST_LOOK)
    assert clock.now() - before == pytest.approx(8.0 * 0.5 * LONGEST_LOOK, abs=0.001)
    machine.sleep(5.0)
    clock.wait_until(before + 16.0 * LONGEST_LOOK, lambda: False)
    assert clock.now() - before == pytest.approx(16.0 * LONGEST_LOOK, abs=0.001)


class StandingStill(FakeServo):
    """One read of it takes a second of its clock, which runs `speed` times as fast as the machine's."""

    def __init__(self, speed, lasting):
        super().__init__()
        self.clock = VirtualClock()
        self.clock.speed = speed
        self.lasting = lasting

    def _read(self) -> Reading:
        reading = super()._read()
        if self._driven_reads == 30:
            self.clock._now += self.lasting
            self._driven_reads += 1
        return reading


@pytest.mark.parametrize(
    ("speed", "share", "status"), [(1.0, 0.9, "success"), (1.0, 1.1, "fail"), (8.0, 0.9, "success"), (8.0, 1.1, "fail")]
)
def test_a_driven_servo_is_released_after_the_same_time_of_the_machine_at_every_speed(
    real_limits, speed, share, status
):
    servo = StandingStill(speed, share * timing.limits.stall * speed)
    servo.connect()
    header = RunHeader(
        trajectory="test",
        bench=Bench(mass=0.5, length=0.15),
        settings=ServoSettings(servo="mx106", kp=16.0, supply_voltage=12.0),
        rate=100.0,
    )
    result = record_inline(servo, make_trajectory("sin_sin", 4.0), header)
    assert result.exit_status == status
    if status == "fail":
        assert "stood still for 2" in result.reason
        assert result.busy


@pytest.mark.parametrize("speed", [1.0, 8.0])
def test_a_plant_loses_no_time_before_its_recorder_counts_as_standing_still(speed):
    clock = VirtualClock()
    clock.speed = speed
    servo = SimulatedServo("mx106", clock=clock)
    servo.connect()
    plant = servo.plant
    ticks = []
    tick = plant._tick
    plant._tick = lambda: (ticks.append(1), tick())
    clock._now += 0.99 * LONGEST_CATCH_UP * speed
    servo.read()
    assert len(ticks) == pytest.approx(0.99 * LONGEST_CATCH_UP * speed / 1e-3, abs=2)
    assert LONGEST_CATCH_UP > timing.REAL.stall == 0.2
    ticks.clear()
    clock._now += 3600.0
    servo.read()
    assert len(ticks) == round(LONGEST_CATCH_UP * speed / 1e-3)
    assert math.isfinite(servo.read().position)
