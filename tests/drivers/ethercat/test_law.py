"""The position law is the one models are fitted with: what `core`'s current law asks for, in every case."""

import math
from dataclasses import replace

import pytest

from core.motion.simulation import simulate_trajectory
from core.motion.trajectories import recorded_trajectory
from core.servo.bench import Bench
from core.servo.catalogue import load_servo
from core.servo.settings import ServoSettings
from core.servo.shipped import nominal_model
from drivers.errors import CommandError
from drivers.ethercat.law import PositionLaw


def settings(servo="erob80_50", **gains):
    return ServoSettings(servo=servo, supply_voltage=48.0, **{"kp": 50.0, **gains})


@pytest.mark.parametrize(
    ("servo", "gains"),
    [
        ("erob80_50", {}),
        ("erob80_50", {"kp": 10.0}),
        ("erob80_50", {"damping": 0.0}),
        ("erob80_100", {"kp": 200.0, "damping": 3.5}),
    ],
)
@pytest.mark.parametrize(
    ("goal", "position", "velocity"),
    [(-0.1, 0.05, 0.4), (0.3, 0.29, -1.0), (3.0, -3.0, 0.0), (0.0, 0.0, 5.0)],
)
def test_the_law_is_that_of_the_model(servo, gains, goal, position, velocity):
    spec = load_servo(servo)
    chosen = settings(servo, **gains)
    law = PositionLaw.of(spec.control, chosen)
    held = recorded_trajectory("held", [0.0, 1e-3], [goal, goal], [True, True])
    bench = Bench(mass=2.0, length=0.2)
    # Algorithm 1 takes its forces at the beginning of a step, where the goal, position and velocity are those given.
    model = replace(nominal_model(spec), integrator="algorithm1")
    motion = simulate_trajectory(model, held, bench, chosen, 1e-4, position, velocity)
    assert law.amps(goal, position, velocity) == pytest.approx(motion.control[0], abs=1e-9)
    # Seed 004: amps = kp·e − damping·√kp·θ̇, ±12 A.
    damping = spec.control.damping if chosen.damping is None else chosen.damping
    amps = chosen.kp * (goal - position) - damping * math.sqrt(chosen.kp) * velocity
    assert law.amps(goal, position, velocity) == pytest.approx(min(max(amps, -12.0), 12.0))


@pytest.mark.parametrize(
    ("gains", "message"),
    [
        ({"ki": 0.1}, "has no ki, 0.1 was requested; set 0"),
        ({"kd": 2.0}, "has no kd, 2 was requested"),
        ({"kp": -1.0}, "kp = -1.0 is not possible"),
        ({"kp": math.nan}, "kp = nan"),
        ({"damping": math.inf}, "damping = inf"),
    ],
)
def test_gains_the_law_does_not_have_are_refused(gains, message):
    with pytest.raises(CommandError, match=message):
        PositionLaw.of(load_servo("erob80_50").control, settings(**gains))
