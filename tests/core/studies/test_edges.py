"""What studies do with nothing, with a single sample and with numbers that are not finite: an answer, or a refusal."""

import math

import numpy as np
import pytest

from core.base.errors import ServoBenchError
from core.contact.bristle import Bristle
from core.studies.arm.identification import ArmRequest, identify_arm, split_arm_recordings
from core.studies.arm.kinematics import joint_angles, tip_positions
from core.studies.arm.links import ArmParameters
from core.studies.arm.paths import arm_path, path_points
from core.studies.arm.recording import ArmRecording
from core.studies.arm.scene import ARMS
from core.studies.arm.windows import cut_windows
from core.studies.compliant import joint as compliant
from core.studies.compliant.arm import CompliantArm, equilibrium_for, simulate_compliant_arm
from core.studies.compliant.elastic import QbMove, Sea
from core.studies.compliant.files import CompliantUnit
from core.studies.compliant.identification import CompliantRequest, identify_compliant
from core.studies.compliant.learning import LearningLaw, Reference, chirp, minimum_jerk, sinusoid
from core.studies.compliant.modes import Mode
from core.studies.stiction.experiments import elastoplastic, hold_for
from core.studies.stiction.friction import ElastoplasticFriction
from core.studies.stiction.published import DAMPING, LAWS, STEP, STIFFNESS
from core.studies.webots.fields import Load, ServoFields
from core.studies.webots.fitting import fit_node
from core.studies.webots.kernel import simulate_node
from core.studies.webots.loss import loss_on_recordings

NAN, INF = math.nan, math.inf
ARM = ARMS["dynamixel"].links
JOINT = compliant.CompliantJoint(actuator=QbMove())
RUN = ArmRecording(id="r", time=np.array([0.0, 0.1]), position=np.zeros((2, 2)), torque=np.zeros((2, 2)))
FRICTION = ElastoplasticFriction(LAWS["stribeck"], Bristle(stiffness=STIFFNESS, damping=DAMPING, step=STEP))


def moved(goal, step=1e-3, **more):
    return compliant.simulate_joint(JOINT, Mode.PID_EQ_PRES, goal, 0.1, step, **more)


@pytest.mark.parametrize(
    ("ask", "reason"),
    [
        (lambda: joint_angles(ARM, [(0.3, 0.0), (NAN, 0.1)]), "point 2"),
        (lambda: arm_path("circle", ARM, NAN, 0.01, 1), "nan s"),
        (lambda: arm_path("circle", ARM, 4.0, NAN, 1), "every nan s"),
        (lambda: arm_path("circle", ARM, 4.0, 0.01, NAN), "nan rounds"),
        (lambda: arm_path("circle", ARM, INF, 0.01, 1), "inf s"),
        (lambda: ArmRecording(id="r", time=np.zeros(1), position=np.zeros((1, 2))), "1 sample: too few"),
        (lambda: ArmRecording(id="r", time=RUN.time, position=np.full((2, 2), NAN)), "not finite"),
        (lambda: RUN.resampled(NAN), "nan s is not possible"),
        (lambda: RUN.resampled(0.0), "0.0 s is not possible"),
        (lambda: identify_arm([], ArmParameters(links=ARM), ArmRequest()), "0 recordings"),
        (lambda: split_arm_recordings([RUN], 0.25, seed=1), "1 recording of 1"),
        (lambda: cut_windows([], 0.5, 2e-3), "no window"),
        (lambda: ArmRequest(windows=(NAN,)), "nan"),
        (lambda: ArmRequest(windows=(0.5, INF)), "inf"),
        (lambda: ArmRequest(windows=()), "not possible|must be"),
        (lambda: ArmRequest(models=()), "nothing to identify"),
        (lambda: ArmRequest(held_out=NAN), "held_out nan"),
        (lambda: ArmRequest(held_out=1.0), "held_out 1.0"),
        (lambda: ArmRequest(budget=0), "budget 0"),
        (lambda: moved([]), r"shape \(0,\)"),
        (lambda: moved([NAN]), "not a finite number"),
        (lambda: moved([0.0], step=NAN), "nan s"),
        (lambda: moved([0.0, 0.0], external_torque=NAN), "external torque is not a finite"),
        (lambda: moved([0.0, 0.0], position=NAN), "unstable"),
        (lambda: Sea(stiffness=NAN), "value nan"),
        (lambda: simulate_compliant_arm(CompliantArm(), np.zeros((0, 2)), 5e-3), r"shape \(0, 2\)"),
        (lambda: simulate_compliant_arm(CompliantArm(), np.zeros((1, 2)), NAN), "nan s"),
        (lambda: equilibrium_for(CompliantArm(), [[NAN, 0.0]]), "joint 1"),
        (lambda: equilibrium_for(CompliantArm(), [[0.1, 0.0], [0.1, NAN]]), "joint 1|joint 2"),
        (lambda: identify_compliant([], CompliantRequest(start=CompliantUnit(actuator=Sea()))), "0 recordings"),
        (lambda: Reference(step=0.1, angles=np.zeros((1, 2))), "two or more rows"),
        (lambda: Reference(step=0.1, angles=np.full((2, 2), NAN)), "finite angles"),
        (lambda: Reference(step=NAN, angles=np.zeros((2, 2))), "nan s"),
        (lambda: LearningLaw(gain=NAN), "gain of nan"),
        (lambda: LearningLaw(tolerance=NAN), "tolerance of nan"),
        (lambda: LearningLaw(decay=NAN), "decay of nan"),
        (lambda: minimum_jerk((NAN, 0.8), 1.0), "finite angles"),
        (lambda: minimum_jerk((0.8, 0.8), NAN), "nan s"),
        (lambda: chirp((0.1,), NAN, 6.0, 40.0), "from nan"),
        (lambda: sinusoid((0.8,), NAN, 1.0), "finite angles"),
        (lambda: FRICTION.run([0.0, NAN]), "not finite"),
        (lambda: FRICTION.transformed([NAN]), "not finite"),
        (lambda: hold_for(elastoplastic(LAWS["stribeck"]), NAN, 1.0), "nan N·m is not held"),
        (lambda: hold_for(elastoplastic(LAWS["stribeck"]), LAWS["stribeck"].static, 1.0), "is not held"),
        (lambda: fit_node([], ServoFields()), "no runs"),
        (lambda: loss_on_recordings([]), "of none"),
        (lambda: Load(inertia=NAN), "finite"),
        (lambda: Load(inertia=1.0, gravity_torque=NAN), "finite"),
        (lambda: Load(inertia=1.0, offset=INF), "finite"),
    ],
)
def test_what_is_nothing_or_no_number_is_refused(ask, reason):
    with pytest.raises(ServoBenchError, match=reason):
        ask()


def test_nothing_gives_nothing_and_one_sample_its_start():
    assert tip_positions(ARM, np.zeros((0, 2))).shape == joint_angles(ARM, np.zeros((0, 2))).shape == (0, 2)
    assert path_points("circle", ARM, []).shape == equilibrium_for(CompliantArm(), np.zeros((0, 2))).shape == (0, 2)
    assert FRICTION.run([]).shape == FRICTION.transformed([]).shape == (0,)
    assert moved([0.3], position=0.2).position.tolist() == [0.2]
    assert simulate_compliant_arm(CompliantArm(), [[0.1, 0.2]], 5e-3, start=(0.3, -0.1)).position.tolist() == [
        [0.3, -0.1]
    ]
    for samples in (0, 1):
        motion = simulate_node(ServoFields(position=0.4), Load(inertia=0.1), np.ones(samples), np.ones(samples), 8e-3)
        assert motion.position.tolist() == [0.4] * samples
