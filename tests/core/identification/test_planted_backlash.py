"""Planted backlash is found where the runs show it, and called absent or unseen elsewhere."""

import math

import numpy as np
import pytest

from core.identification.choice.terms import term_costs
from core.identification.coverage.excitation import excitation_of, excitation_of_all
from core.identification.coverage.grid import grid_of_conditions
from core.identification.coverage.terms import term_verdicts
from core.identification.identify import identify
from core.identification.request import IdentificationRequest
from core.motion.simulation import simulate_trajectory
from core.motion.trajectories import make_trajectory
from core.servo.bench import Bench
from tests.core.conftest import PENDULUM, catalogue_model, commands, recorded

DEGREE = math.pi / 180.0
RUNS = [("sin_sin", 8.0), ("up_and_down", 16.0), ("sin_time_square", 16.0), ("lift_and_drop", 8.0)]
REQUEST = IdentificationRequest(
    servo="mx106", models=("m1",), command_path=("backlash",), validation="none", trials=600, threads=1
)


def planted(degrees, runs=RUNS, **changes):
    """Runs of a servo with this backlash and 12-bit noise."""
    truth = catalogue_model("mx106", "m1", command_path=("backlash",), values={"backlash": degrees * DEGREE, **changes})
    return [
        recorded(truth, name, kp=kp, bench=bench, duration=3.0, noise=4e-4, seed=place)
        for place, (name, kp) in enumerate(runs)
        for bench in (PENDULUM, Bench(mass=1.0, length=0.15))
    ]


def verdict(runs):
    model = catalogue_model("mx106", "m1", command_path=("backlash",))
    seen = excitation_of_all([excitation_of(run) for run in runs])
    found = {v.name: v for v in term_verdicts(model.parameters, seen, grid_of_conditions(runs))}
    return found["backlash"].verdict


@pytest.mark.parametrize(
    "degrees", [0.0, 1.0, *(pytest.param(each, marks=pytest.mark.exhaustive("other widths")) for each in (0.5, 2.0))]
)
def test_planted_backlash_lies_in_its_interval(degrees):
    runs = planted(degrees)
    assert verdict(runs) == "good"

    (known,) = [p for p in identify(REQUEST, runs).results[0].evidence.parameters if p.name == "backlash"]

    # Impacts of a wide gap jump with every number, so that its interval may stay open.
    width = known.half_width if degrees < 2.0 else 0.0
    assert width < 0.15 * DEGREE
    assert abs(known.value - degrees * DEGREE) < max(width, 0.02 * DEGREE)


def test_a_servo_without_backlash_does_not_need_it():
    runs = planted(0.0)
    train, held_out = runs[:4], runs[4:]
    fitted = identify(REQUEST, train).results[0].model

    costs = term_costs(fitted, REQUEST, train, held_out, trials=300)

    assert costs.text == "These runs do not need: backlash."


def test_a_servo_with_backlash_needs_it():
    runs = planted(1.0)
    fitted = identify(REQUEST, runs[:4]).results[0].model

    assert "lower the error: backlash" in term_costs(fitted, REQUEST, runs[:4], runs[4:], trials=300).text


def test_a_load_that_always_pushes_one_way_shows_no_backlash():
    """Mounted at a quarter turn, the pendulum weighs on one side of the teeth throughout."""
    sideways = Bench(mass=1.0, length=0.15, angle_offset=math.pi / 2)
    truth = catalogue_model("mx106", "m1", command_path=("backlash",), values={"backlash": DEGREE})
    path = make_trajectory("sin_sin", 3.0, slow_amplitude=0.3, fast_amplitude=0.0)
    motion = simulate_trajectory(truth, path, sideways, truth.default_settings(), 0.005)
    noise = 4e-4 * np.random.default_rng(0).normal(size=len(motion.time))
    run = commands(truth, motion.goal_position, step=0.005, bench=sideways, position=motion.position + noise)

    assert verdict([run]) == "none"
