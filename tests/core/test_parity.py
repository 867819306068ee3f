"""Parity with the published implementation: the 52 reference rollouts, sample by sample.

`bam_rollouts` was computed with Rhoban/bam from its published parameters (see the README beside the rollouts).
Integrator "bam" reproduces them to rounding; Algorithm 1 as printed does not, which shows that the two differ.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from core.motion.simulation import simulate_trajectory, with_integration
from core.motion.trajectories import make_trajectory
from core.servo.bench import Bench
from core.servo.model import ServoModel
from core.servo.settings import ServoSettings

REFERENCE = Path(__file__).parents[3] / "shared" / "reference"
TOLERANCE = 1e-9
"""rad and rad/s"""

ROLLOUTS = REFERENCE / "bam_rollouts.json"
pytestmark = pytest.mark.skipif(not ROLLOUTS.is_file(), reason=f"reference rollouts are not at {REFERENCE}")

CASES = json.loads(ROLLOUTS.read_text("utf-8")) if ROLLOUTS.is_file() else []


def case_id(case):
    return f"{case['case']}-{case['motor']}-{case['model']}-{case['trajectory']}"


@pytest.fixture(scope="module")
def rollouts():
    with np.load(REFERENCE / "bam_rollouts.npz") as arrays:
        return dict(arrays)


def simulate(case, integrator=None):
    model = ServoModel.read(REFERENCE / "bam_params" / case["motor"] / f"{case['model']}.json")
    bench = Bench(mass=case["mass"], length=case["length"], arm_mass=case["arm_mass"])
    settings = ServoSettings(servo=model.servo, kp=case["kp"], supply_voltage=case["vin"], damping=case["damping"])
    trajectory = make_trajectory(case["trajectory"])
    return simulate_trajectory(with_integration(model, integrator), trajectory, bench, settings, case["dt"]), trajectory


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(
            case, id=case_id(case), marks=[] if place % 7 == 0 else pytest.mark.exhaustive("the other rollouts")
        )
        for place, case in enumerate(CASES)
    ],
)
def test_rollout_is_reproduced(case, rollouts):
    motion, trajectory = simulate(case)

    assert np.abs(motion.position - rollouts[f"{case['case']}_position"]).max() <= TOLERANCE
    assert np.abs(motion.velocity - rollouts[f"{case['case']}_velocity"]).max() <= TOLERANCE
    np.testing.assert_allclose(motion.control, rollouts[f"{case['case']}_control"], rtol=0, atol=1e-9)
    prefix = f"{case['trajectory']}_dt{case['dt']}"
    np.testing.assert_allclose(motion.goal_position, rollouts[f"{prefix}_goal"], rtol=0, atol=1e-12)
    np.testing.assert_array_equal(trajectory.torque_enable(motion.time), rollouts[f"{prefix}_enable"].astype(bool))
