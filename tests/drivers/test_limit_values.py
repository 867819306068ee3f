"""Limits and holds, value by value: what follows from a servo's ratings, and what counts as a hand at the pendulum."""

from dataclasses import asdict, replace

import pytest

from core.bench import Bench
from core.catalogue import load_servo, servos
from core.recording import RunHeader, ServoSettings
from drivers import timing
from drivers.clock import VirtualClock
from drivers.errors import DriverError
from drivers.limits import Limits
from drivers.reading import Reading
from drivers.recorder import InlineHold
from drivers.recorder.loop import ATTENDED_MOTION
from tests.drivers.fake_servo import FakeServo, FakeSource

pytestmark = pytest.mark.usefixtures("real_limits")

RATE = 10.0
HEADER = RunHeader(
    trajectory="hold",
    bench=Bench(mass=0.5, length=0.15),
    settings=ServoSettings(servo="mx106", kp=16.0, supply_voltage=12.0),
    rate=RATE,
)


@pytest.mark.parametrize("name", sorted(servos()))
def test_every_limit_of_a_servo_follows_from_its_ratings(name):
    spec = load_servo(name)
    assert asdict(Limits.for_spec(spec)) == pytest.approx(
        {
            "lowest_position": spec.position_range[0],
            "highest_position": spec.position_range[1],
            "speed": 3.0 * spec.no_load_speed,
            "hold_speed": 0.5 * spec.no_load_speed,
            "torque": spec.stall_torque,
            "current": 2.0 * spec.max_current,
            "temperature": spec.max_temperature - 5.0,
            "lowest_voltage": 0.95 * spec.supply_range[0],
            "highest_voltage": 1.05 * spec.supply_range[1],
        }
    )


@pytest.mark.parametrize("way", [1.0, -1.0])
@pytest.mark.parametrize(("share", "held"), [(0.9, False), (1.1, True)])
def test_a_pendulum_that_is_moved_either_way_is_attended(way, share, held):
    servo = FakeServo(FakeSource())
    servo.clock = VirtualClock()
    servo.limits = replace(servo.limits, torque=2.0)
    servo.connect()
    moved = 0.0
    servo._read = lambda: Reading(position=moved)

    def hold_on() -> None:
        nonlocal moved
        with InlineHold(servo, HEADER) as hold:
            for _ in range(3):
                for _ in range(round(0.6 * timing.REAL.unattended * RATE)):
                    hold.step(0.1)
                moved += way * share * ATTENDED_MOTION

    if held:
        hold_on()
    else:
        with pytest.raises(DriverError, match="the pendulum was not moved"):
            hold_on()
