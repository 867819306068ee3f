"""An arm with compliant joints against theory: its energy, one joint of the same kind, statics, and users' springs.

Springs, motors and links are each tested where they are written; here it is whether they are one system.
"""

from dataclasses import replace

import numpy as np
import pytest

from core.base.errors import InputError, ModelError
from core.studies.arm.links import ArmLinks
from core.studies.compliant.arm import (
    DATASHEET,
    IDENTIFIED,
    TWO_JOINTS,
    CompliantArm,
    equilibrium_for,
    gravity_torque,
    simulate_compliant_arm,
    substeps_of,
)
from core.studies.compliant.elastic import AwasII, QbMove, Sea
from core.studies.compliant.joint import CompliantJoint, CompliantLink, simulate_joint
from core.studies.compliant.learning import held_step, minimum_jerk, sinusoid
from core.studies.compliant.modes import Mode
from core.studies.compliant.motor import Motor, Pid
from tests.core.studies.compliant.test_modes import Interpreted

STEP = 5e-3
SLACK = Pid(kp=0.0, kd=0.0)
IMMOVABLE = Motor(inertia=1e9)
FREE = {"damping": (0.0, 0.0), "friction": (0.0, 0.0), "motors": (IMMOVABLE,) * 2, "pids": (SLACK,) * 2}
"""Nothing that takes energy or gives it: motors that stay where they are."""


def energy(arm, motion):
    """½·q̇ᵀM(q)q̇ − g₁·cos q₁ − g₂·cos(q₁ + q₂) + energy in the springs, (n,) J."""
    q, v, base = motion.position, motion.velocity, arm.links.base
    swing = base.coupling * np.cos(q[:, 1])
    m11, m12 = base.inertia_1 + base.inertia_2 + 2 * swing, base.inertia_2 + swing
    total = 0.5 * m11 * v[:, 0] ** 2 + m12 * v[:, 0] * v[:, 1] + 0.5 * base.inertia_2 * v[:, 1] ** 2
    total += -base.gravity_1 * np.cos(q[:, 0]) - base.gravity_2 * np.cos(q.sum(axis=1))
    for joint, actuator in enumerate(arm.actuators):
        total += actuator.stored_energy(motion.motor_1[:, joint], motion.motor_2[:, joint], q[:, joint])
    return total


def test_with_motors_held_energy_is_kept_to_second_order():
    arm = CompliantArm(**FREE)
    inputs = np.zeros((400, 2))

    def swing(parts):
        motion = simulate_compliant_arm(arm, inputs, STEP, start=(0.5, -0.3), substeps=parts)
        return np.ptp(energy(arm, motion))

    coarse, fine = swing(20), swing(40)

    assert fine < 2e-4
    assert coarse == pytest.approx(4.0 * fine, rel=0.3)


def test_one_joint_of_an_arm_moves_as_a_joint_alone():
    """With an upper arm that cannot be moved, joint 2 is a pendulum of I₂ and g₂."""
    links = replace(TWO_JOINTS, inertias=(1e9, TWO_JOINTS.inertias[1]))
    arm = CompliantArm(links=links, actuators=(IDENTIFIED[0], IDENTIFIED[1]))
    reference = sinusoid((0.0, 0.6), 3.0, 1.0, STEP)
    link = CompliantLink(inertia=links.base.inertia_2, gravity_torque=links.base.gravity_2)
    joint = CompliantJoint(actuator=IDENTIFIED[1], link=link)

    together = simulate_compliant_arm(arm, reference.angles, STEP, substeps=100)
    alone = simulate_joint(joint, Mode.PID_EQ_PRES, reference.angles[:, 1], 0.2, STEP, position=0.0, substeps=100)

    np.testing.assert_allclose(together.position[:, 1], alone.position, atol=1e-4)
    np.testing.assert_allclose(together.motor_1[:, 1], alone.motor_1, atol=1e-4)
    np.testing.assert_allclose(together.position[:, 0], 0.0, atol=1e-6)


@pytest.mark.parametrize(
    ("arm", "reference", "within"),
    [
        (CompliantArm(), minimum_jerk((0.8, 0.8), 2.0, STEP), 1e-5),
        (CompliantArm(actuators=(DATASHEET, DATASHEET), presets=(0.6, 0.6)), held_step((0.8, 0.8), 1.0, STEP), 1e-3),
    ],
    ids=["smooth", "step"],
)
def test_the_chosen_step_is_fine_enough(arm, reference, within):
    parts = substeps_of(arm, STEP)
    usual, fine = (
        simulate_compliant_arm(arm, reference.angles, STEP, substeps=n).position for n in (parts, 10 * parts)
    )

    np.testing.assert_allclose(usual, fine, atol=within)


def test_stiffer_springs_and_lighter_links_ask_for_a_finer_step():
    arm = CompliantArm()
    light = replace(TWO_JOINTS, inertias=(TWO_JOINTS.inertias[0], 1e-4), centres=(TWO_JOINTS.centres[0], 0.0))

    assert substeps_of(replace(arm, actuators=(Sea(stiffness=400.0),) * 2), STEP) > substeps_of(arm, STEP)
    assert substeps_of(replace(arm, links=light), STEP) > substeps_of(arm, STEP)


def test_gravity_is_held_by_the_springs_of_the_right_input():
    """Seed 003, section 4.2.3: the springs' deflection is added to the angles, so that τ_e = G(q)."""
    arm, angles = CompliantArm(), np.array([[0.3, -0.2], [0.8, 0.8], [-1.2, 0.5]])
    inputs = equilibrium_for(arm, angles)
    for joint, actuator in enumerate(arm.actuators):
        held = actuator.elastic_torque(*actuator.references(inputs[:, joint], 0.2), angles[:, joint]).link
        np.testing.assert_allclose(held, gravity_torque(arm.links, angles)[:, joint], atol=1e-9)


def test_the_arm_rests_where_its_input_holds_it():
    """Left are what the controllers give way to, torque over gain and the play of the motors' friction."""
    arm = CompliantArm(friction=(0.0, 0.0))
    wanted = np.array([[0.6, 0.4]])
    inputs = np.repeat(equilibrium_for(arm, wanted), 3, axis=0)
    motion = simulate_compliant_arm(arm, inputs, STEP, start=wanted[0], rest=4.0)

    np.testing.assert_allclose(motion.position[-1], wanted[0], atol=0.02)
    np.testing.assert_allclose(motion.spring_torque[-1], gravity_torque(arm.links, motion.position[-1:])[0], atol=1e-4)


def test_what_no_spring_can_hold_is_refused():
    heavy = replace(TWO_JOINTS, masses=(30.0, 0.2))

    with pytest.raises(ModelError, match=r"joint 1: .* cannot hold .*stiffer or the load smaller"):
        equilibrium_for(CompliantArm(links=replace(heavy, inertias=(1.0, 0.01))), [[1.0, 0.0]])


def test_a_user_s_springs_move_the_arm_as_compiled_ones():
    """Begun away from where gravity and springs balance."""
    inputs = sinusoid((0.3, -0.2), 8.0, 0.05, STEP).angles
    arms = [CompliantArm(actuators=(each, each), presets=(0.3, 0.3)) for each in (Interpreted(), QbMove())]
    own, compiled = (simulate_compliant_arm(arm, inputs, STEP, start=(0.5, -0.3), substeps=20).position for arm in arms)

    np.testing.assert_allclose(own, compiled, atol=1e-12)
    assert np.ptp(own, axis=0).min() > 1e-3


def test_an_adjuster_is_where_it_is_asked_to_be():
    """The seed neglects the dynamics of what sets the stiffness (section 2.3)."""
    arm = CompliantArm(actuators=(AwasII(), AwasII()), presets=(0.01, 0.02))
    motion = simulate_compliant_arm(arm, minimum_jerk((0.2, 0.2), 0.2, STEP).angles, STEP)

    np.testing.assert_array_equal(motion.motor_2, np.tile([0.01, 0.02], (len(motion.time), 1)))
    assert motion.motor_1[-1, 0] > 0.1


@pytest.mark.parametrize(
    ("arm", "inputs", "step", "message"),
    [
        ({}, [[0.0, np.nan]], STEP, "finite angles"),
        ({}, [0.0, 0.1], STEP, "shape"),
        ({}, [[0.0, 0.0]], 0.0, "not possible"),
        ({"links": replace(TWO_JOINTS, angle_offsets=(0.1, 0.0))}, [[0.0, 0.0]], STEP, "without"),
    ],
)
def test_what_cannot_be_simulated_is_said(arm, inputs, step, message):
    with pytest.raises(InputError, match=message):
        simulate_compliant_arm(CompliantArm(**arm), inputs, step)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"presets": (0.2, 0.9)}, "stiffness preset 0.9 rad"),
        ({"presets": (np.nan, 0.2)}, "stiffness preset nan rad"),
        ({"damping": (-1.0, 0.0)}, "damping"),
        ({"friction": (0.0, np.inf)}, "friction"),
    ],
)
def test_arms_that_cannot_be_are_refused(values, message):
    with pytest.raises(ModelError, match=message):
        CompliantArm(**values)


def test_the_published_springs_are_those_of_the_seed():
    """Seed 003, section 4.3, with the physical reading of its units; the data sheet's rest where they are told."""
    assert [(a.k1, a.a1, a.k2, a.a2) for a in IDENTIFIED] == [
        (0.01038, 6.257, 0.08918, 3.9),
        (0.1015, 3.383, 0.05944, 7.011),
    ]
    assert isinstance(DATASHEET, QbMove)
    assert abs(float(DATASHEET.equilibrium(*DATASHEET.references(0.0, 0.2)))) < 0.01
    assert TWO_JOINTS.as_bodies() == TWO_JOINTS
    assert isinstance(TWO_JOINTS, ArmLinks)
