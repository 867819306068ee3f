"""Several joints through arrays, as the Plugin Manager node of seed 003 (section 3.2) gives and takes them."""

import numpy as np
import pytest

from core.base.errors import ModelError
from core.studies.compliant.array import JointArray, NamedJoint, simulate_array
from core.studies.compliant.elastic import AwasII, QbMove, Sea
from core.studies.compliant.joint import CompliantJoint, simulate_joint
from core.studies.compliant.modes import Mode

ROBOT = JointArray(
    name="arm",
    joints=(
        NamedJoint(name="shoulder", joint=CompliantJoint(actuator=QbMove())),
        NamedJoint(name="elbow", joint=CompliantJoint(actuator=Sea()), mode=Mode.SPRING_REFS),
        NamedJoint(name="wrist", joint=CompliantJoint(actuator=AwasII()), mode=Mode.LINK_TORQUE),
    ),
)
FIRST = np.column_stack([np.full(300, 0.5), np.linspace(0.0, 0.3, 300), np.full(300, 0.02)])
SECOND = (0.2, 0.0, 0.0)


def test_each_column_is_its_joint_s_own_motion():
    """r_1,j and r_2,j mean what the joint's mode says (section 3.2's list)."""
    motion = simulate_array(ROBOT, FIRST, SECOND, 2e-3)
    for i, named in enumerate(ROBOT.joints):
        alone = simulate_joint(named.joint, named.mode, FIRST[:, i], SECOND[i], 2e-3)
        for state, names in (
            (motion.robot_state, ("position", "velocity", "link_torque")),
            (motion.motor_1_state, ("motor_1", "motor_1_velocity", "motor_torque_1")),
            (motion.motor_2_state, ("motor_2", "motor_2_velocity", "motor_torque_2")),
        ):
            for found, name in zip((state.position, state.velocity, state.effort), names, strict=True):
                assert np.array_equal(found[:, i], getattr(alone, name), equal_nan=True), name
        assert np.array_equal(motion.stiffness[:, i], alone.stiffness, equal_nan=True)
    assert np.array_equal(motion.time, alone.time)


def test_states_carry_the_joints_names_and_modes_without_motors_have_none():
    motion = simulate_array(ROBOT, FIRST, SECOND, 2e-3)
    for state in (motion.robot_state, motion.motor_1_state, motion.motor_2_state):
        assert state.names == ("shoulder", "elbow", "wrist")
        assert state.position.shape == state.velocity.shape == state.effort.shape == (300, 3)
    assert np.isfinite(motion.motor_1_state.velocity[:, 0]).all()
    assert np.isnan(motion.motor_1_state.velocity[:, 1:]).all()
    assert np.isnan(motion.stiffness[:, 2]).all()


def test_an_external_torque_pushes_the_joint_it_is_meant_for():
    free = simulate_array(ROBOT, FIRST, SECOND, 2e-3)
    pushed = simulate_array(ROBOT, FIRST, SECOND, 2e-3, external_torque=(0.0, 0.1, 0.0))
    moved = np.abs(pushed.robot_state.position - free.robot_state.position).max(axis=0)
    assert moved[1] > 5e-3
    assert moved[0] == moved[2] == 0.0


def test_topics_are_the_toolbox_s():
    assert [named.reference_topics for named in ROBOT.joints] == [
        ("shoulder/equilibrium_position", "shoulder/stiffness_preset"),
        ("elbow/reference_1", "elbow/disabled"),
        ("wrist/torque_command", "wrist/disabled"),
    ]


def test_arrays_that_do_not_fit_are_refused():
    with pytest.raises(ModelError, match="3 columns"):
        simulate_array(ROBOT, FIRST[:, :2], 0.0, 2e-3)
    with pytest.raises(ModelError, match="do not fit"):
        simulate_array(ROBOT, FIRST, (0.2, 0.0), 2e-3)
    with pytest.raises(ModelError, match="2 positions for 3 joints"):
        simulate_array(ROBOT, FIRST, SECOND, 2e-3, positions=(0.0, 0.0))
    with pytest.raises(ModelError, match="two joints with the same name"):
        JointArray(name="twins", joints=(ROBOT.joints[0], ROBOT.joints[0]))
    with pytest.raises(ModelError, match="joint name 'my joint'"):
        NamedJoint(name="my joint", joint=CompliantJoint())
    with pytest.raises(ModelError, match="has no joints"):
        JointArray(name="empty", joints=())
