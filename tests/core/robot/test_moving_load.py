"""A load that differs from step to step, as on a joint of a robot."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from core.base.errors import IdentificationError
from core.identification.coverage.problem import CorrectedRun, Correction
from core.identification.evidence.extrapolation import _elsewhere
from core.identification.search.objective import Batch
from core.motion.recording import LOAD_CHANNELS
from core.motion.simulation import simulate_recording
from core.servo.bench import Bench
from core.servo.model import build_model, with_contact
from core.servo.shipped import load_model
from core.servo.terms import COMMAND_PATH_TERMS, CONTACTS
from tests.core.conftest import recorded

BENCH = Bench(mass=0.5, length=0.15, angle_offset=0.3)
ELSEWHERE = Bench(mass=2.0, length=0.3)


def with_load(run, inertia, sine, cosine, torque):
    """Return a run whose load is in its channels, and whose bench is another one."""
    values = (inertia, sine, cosine, torque)
    load = {channel.name: np.broadcast_to(x, run.time.shape) for channel, x in zip(LOAD_CHANNELS, values, strict=True)}
    return replace(run, bench=ELSEWHERE, channels={**run.channels, **load})


def pendulum(run, torque=0.0):
    gravity, offset = BENCH.gravity_torque, BENCH.angle_offset
    return with_load(run, BENCH.inertia, gravity * np.cos(offset), gravity * np.sin(offset), torque)


COMPILED = [("rigid", False, False), ("elastoplastic_rational", True, True)]
KINDS = [
    pytest.param(*kind, marks=() if kind in COMPILED else pytest.mark.exhaustive("each is compiled anew"))
    for kind in itertools.product(CONTACTS, (False, True), (False, True))
]


@pytest.mark.parametrize(("contact", "backlash", "path"), KINDS)
def test_a_constant_load_is_that_of_the_bench(contact, backlash, path):
    terms = (*(COMMAND_PATH_TERMS if path else ()), *(("backlash",) if backlash else ()))
    model = with_contact(build_model("mx106", "m6", command_path=terms), contact)
    run = recorded(load_model("mx106", "m6"), "sin_sin", BENCH, 8.0, step=0.01, duration=2.0)
    bench, robot = simulate_recording(model, run), simulate_recording(model, pendulum(run))
    np.testing.assert_allclose(robot.position, bench.position, atol=1e-12)
    np.testing.assert_allclose(Batch(model, [pendulum(run)]).scores().mae, Batch(model, [run]).scores().mae, atol=1e-12)


def test_one_candidate_and_many_move_alike_below_a_load_that_changes():
    """In both kernels, and the load has an effect: each of its four numbers."""
    model = load_model("mx106", "m6")
    run = recorded(model, "sin_sin", BENCH, 8.0, step=0.01, duration=2.0)
    wave = np.sin(3.0 * run.time)
    loads = [
        (0.02 + 0.01 * wave, 0.5, 0.1, 0.0),
        (0.02, 0.5 * wave, 0.1, 0.0),
        (0.02, 0.5, 0.3 * wave, 0.0),
        (0.02, 0.5, 0.1, 0.4 * wave),
    ]
    plain = simulate_recording(model, with_load(run, 0.02, 0.5, 0.1, 0.0)).position
    for load in loads:
        moved = with_load(run, *load)
        one = simulate_recording(model, moved).position
        (many,) = Batch(model, [moved]).residuals(None, lambda _, residuals: residuals[:, 0].copy())
        np.testing.assert_allclose(many + moved.position, one, atol=1e-9)
        assert np.abs(one - plain).max() > 1e-3


def test_the_torque_of_the_load_is_that_of_its_channels():
    run = recorded(load_model("mx106", "m6"), "sin_sin", BENCH, 8.0, step=0.01, duration=2.0)
    np.testing.assert_allclose(pendulum(run, 0.2).external_torque, run.external_torque + 0.2, atol=1e-12)


def test_a_pendulum_and_a_joint_are_not_fitted_together():
    model = load_model("mx106", "m6")
    run = recorded(model, "sin_sin", BENCH, 8.0, step=0.01, duration=2.0)
    with pytest.raises(IdentificationError, match="a pendulum and of a joint"):
        Batch(model, [run, pendulum(run)])


FACTS = [
    Correction(mass=0.3),
    Correction(kp=0.2),
    Correction(supply_voltage=-0.1),
    Correction(angle_offset=0.1),
    Correction(slips=((0.7, 0.2),)),
]


@pytest.mark.parametrize("correction", FACTS)
def test_a_corrected_fact_moves_a_joint_like_the_bench(correction):
    model = load_model("mx106", "m6")
    run = recorded(model, "sin_sin", BENCH, 8.0, step=0.01, duration=2.0)
    moved = []
    for each in (run, replace(pendulum(run), bench=replace(BENCH, angle_offset=0.0))):
        one = CorrectedRun(model, each, None, "header")
        row = model.rows(None)[0]
        moved.append(one.alone(row, correction))
        assert np.abs(moved[-1] - one.alone(row)).max() > 1e-3
        if not correction.slips:
            again = simulate_recording(model, one.corrected(correction), supply="header").position - each.position
            np.testing.assert_allclose(again, moved[-1], atol=1e-9)
    np.testing.assert_allclose(*moved, atol=1e-9)


def test_fits_are_compared_at_the_same_other_loads_as_on_the_bench():
    model = load_model("mx106", "m6")
    run = recorded(model, "sin_sin", BENCH, 8.0, step=0.01, duration=2.0)
    joint = replace(pendulum(run), bench=replace(BENCH, angle_offset=0.0))
    plain = simulate_recording(model, run).position
    for (where, (one,)), (there, (other,)) in zip(_elsewhere(model, [run]), _elsewhere(model, [joint]), strict=True):
        assert where == there
        moved = simulate_recording(model, one).position
        np.testing.assert_allclose(simulate_recording(model, other).position, moved, atol=1e-9)
        assert np.abs(moved - plain).max() > 1e-3
