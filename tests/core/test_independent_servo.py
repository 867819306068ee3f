"""The kernel against a simulator of the same equations that shares neither code nor integrator with it.

Both are converged: what is left between them is the kernel's step, and its error is far below an encoder's step.
"""

from dataclasses import replace

import numpy as np
import pytest

from core.identification.next.design import commands
from core.motion.simulation import simulate_recording
from core.motion.trajectories import PAPER_TRAJECTORIES, make_trajectory
from core.servo.bench import Bench
from core.servo.model import build_model
from tests.independent_servo import PLANTED, STEP

SAMPLE = 0.005
FINE = 250
"""Steps per sample: 0.02 ms, at which even an integrator of first order is within 0.05 mrad."""


def planned(servo, gain=3.0):
    """The paper's motions with a sample every 5 ms."""
    bench = Bench(mass=0.5, length=0.13)
    return [commands(make_trajectory(name), bench, servo.settings(gain), SAMPLE) for name in PAPER_TRAJECTORIES]


RICHEST = [
    pytest.param(name, marks=[] if name == "m6" else pytest.mark.exhaustive("the other friction models"))
    for name in PLANTED
]


@pytest.mark.parametrize("friction", RICHEST)
def test_the_kernel_converges_to_the_independent_motion(friction):
    servo = PLANTED[friction]
    start = build_model(servo.servo, friction, substeps=FINE)
    model = start.with_values(dict(servo.values))
    differences = [
        np.abs(simulate_recording(model, run).position - servo.recorded(run).position).mean() for run in planned(servo)
    ]
    print(f"{friction}: {1e3 * np.array(differences)} mrad")

    assert np.mean(differences) < 0.05e-3


def test_the_kernel_converges_to_the_independent_motion_with_a_current_limit():
    """The limit moves the shaft by more than 5 mrad in every motion."""
    free = PLANTED["m6"]
    servo = replace(free, current_limit=0.4)
    start = build_model(servo.servo, "m6", substeps=FINE).with_values(dict(servo.values))
    model = replace(start, control=replace(start.control, current_limit=0.4))
    for run in planned(servo, 8.0):
        moved = servo.recorded(run).position

        assert np.abs(simulate_recording(model, run).position - moved).mean() < 0.05e-3
        assert np.abs(free.recorded(run).position - moved).mean() > 5e-3


@pytest.mark.parametrize("friction", RICHEST)
def test_the_independent_motion_does_not_depend_on_its_step(friction):
    """Halving its step moves the shaft by less than 0.001 mrad on average."""
    servo = PLANTED[friction]
    for run in planned(servo):
        difference = servo.recorded(run, STEP / 2).position - servo.recorded(run).position

        assert np.abs(difference).mean() < 1e-6
