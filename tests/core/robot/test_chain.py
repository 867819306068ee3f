"""Loads on the joints of a chain: exact for a robot that MuJoCo moves, and what files are refused."""

import numpy as np
import pytest

from core.base.errors import InputError

pytest.importorskip("mujoco", reason="MuJoCo is not installed")

from core.robot.chain import Chain, derivatives

ARM = """
<mujoco><option gravity="1 2 -9.8"/><worldbody><body>
  <joint name="a" axis="0 0 1" range="-90 90" armature="1" damping="2" frictionloss="3"/>
  <inertial pos="0.1 0 0.02" mass="0.5" diaginertia="1e-3 2e-3 1.5e-3"/>
  <body pos="0.2 0 0" euler="30 0 20">
    <joint name="b" axis="0 1 0"/>
    <inertial pos="0.05 0.02 0" mass="0.3" diaginertia="1e-4 2e-4 1.5e-4"/>
    <body pos="0.15 0 0.03" euler="0 40 10">
      <joint name="c" axis="0 1 0.3"/>
      <inertial pos="0.04 0 0.01" mass="0.2" diaginertia="1e-4 2e-4 1e-4"/>
    </body>
  </body>
</body></worldbody></mujoco>
"""
NAMES = ("a", "b", "c")


@pytest.fixture
def chain(tmp_path):
    file = tmp_path / "arm.xml"
    file.write_text(ARM)
    return Chain(file)


def motion(time):
    return np.column_stack([np.sin(2.0 * time), 0.7 * np.sin(3.1 * time + 1.0), 0.9 * np.cos(2.3 * time)])


def test_three_numbers_and_a_torque_are_the_whole_inverse_dynamics(chain):
    """At any other angle of one joint while the rest is as measured, gravity follows; with its motion, all of it."""
    import mujoco

    time = np.arange(0.0, 3.0, 0.002)
    q = motion(time)
    loads = chain.loads(NAMES, time, q)
    v, a = derivatives(time, q)
    model = mujoco.MjModel.from_xml_string(ARM)
    model.dof_armature[:] = model.dof_damping[:] = model.dof_frictionloss[:] = 0.0
    model.opt.disableflags = mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    data = mujoco.MjData(model)
    for k in range(100, 1400, 97):
        data.qpos[:], data.qvel[:], data.qacc[:] = q[k], v[k], a[k]
        mujoco.mj_inverse(model, data)
        inertia, sine, cosine, torque = loads[:, k].T
        found = inertia * a[k] + sine * np.sin(q[k]) + cosine * np.cos(q[k]) - torque
        np.testing.assert_allclose(found, data.qfrc_inverse, atol=1e-12)
        for joint in range(3):
            data.qpos[:], data.qvel[:], data.qacc[:] = q[k], 0.0, 0.0
            data.qpos[joint] = other = q[k, joint] + 0.7
            mujoco.mj_inverse(model, data)
            weight = sine[joint] * np.sin(other) + cosine[joint] * np.cos(other)
            assert weight == pytest.approx(data.qfrc_inverse[joint], abs=1e-12)


def test_the_motion_of_a_joint_below_its_load_is_that_of_the_robot(chain):
    """A joint that is pushed while the others are led moves as in a simulation of the whole."""
    import mujoco

    h = 1e-4
    time = np.arange(0.0, 1.0, h)
    q = motion(time)
    v, a = np.gradient(q, h, axis=0), np.gradient(np.gradient(q, h, axis=0), h, axis=0)
    model = mujoco.MjModel.from_xml_string(ARM)
    model.dof_armature[:] = model.dof_damping[:] = model.dof_frictionloss[:] = 0.0
    model.opt.disableflags = mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    data, free = mujoco.MjData(model), 1
    moved, speed, push = np.empty(len(time)), v[0, free], 0.2 * np.sin(7.0 * time)
    angle = q[0, free]
    for k in range(len(time)):
        moved[k] = angle
        data.qpos[:], data.qvel[:], data.qacc[:] = q[k], v[k], a[k]
        data.qpos[free], data.qvel[free], data.qacc[free] = angle, speed, 0.0
        mujoco.mj_inverse(model, data)
        column = np.empty(3)
        mujoco.mj_mulM(model, data, column, np.eye(3)[free])
        speed += h * (push[k] - data.qfrc_inverse[free]) / column[free]
        angle += h * speed
    measured = q.copy()
    measured[:, free] = moved
    inertia, sine, cosine, torque = chain.loads(NAMES, time[::10], measured[::10])[free].T
    angle, speed, found = q[0, free], v[0, free], []
    for k in range(len(time)):
        found.append(angle)
        i, s, c, t = (np.interp(time[k], time[::10], x) for x in (inertia, sine, cosine, torque))
        speed += h * (push[k] + t - s * np.sin(angle) - c * np.cos(angle)) / i
        angle += h * speed
    assert np.abs(np.array(found) - moved)[: len(time) // 2].max() < 0.01 * np.ptp(moved)


def test_a_urdf_needs_no_meshes_and_knows_its_limits(tmp_path):
    urdf = """<robot name="r"><link name="base"/><link name="l"><visual><geometry><mesh filename="none.stl"/></geometry>
    </visual><collision><geometry><mesh filename="none.stl"/></geometry></collision><inertial><mass value="2"/>
    <origin xyz="0.5 0 0"/><inertia ixx="0" iyy="0" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
    <joint name="j" type="revolute"><parent link="base"/><child link="l"/><axis xyz="0 0 1"/>
    <limit lower="-1" upper="2" effort="1" velocity="1"/></joint></robot>"""
    file = tmp_path / "robot.urdf"
    file.write_text(urdf.replace('ixx="0" iyy="0"', 'ixx="0.1" iyy="0.1"'))
    chain = Chain(file)
    assert [(joint.name, joint.lower, joint.upper) for joint in chain.joints] == [("j", -1.0, 2.0)]
    time = np.linspace(0.0, 1.0, 11)
    load = chain.loads(["j"], time, np.zeros((11, 1)))
    np.testing.assert_allclose(load[0], np.tile([0.6, 0.0, 0.0, 0.0], (11, 1)), atol=1e-12)
    with pytest.raises(InputError, match=r"no joint 'k'; its hinges are j"):
        chain.loads(["k"], time, np.zeros((11, 1)))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "cannot be read"),
        ("no XML", "cannot be read"),
        ("<robot name='r'/>", "no hinge"),
        ("<other/>", "no robot that MuJoCo can read"),
        ("<mujoco/>", "no hinge"),
        ("<mujoco><worldbody><body><freejoint name='f'/><geom size='1'/></body></worldbody></mujoco>", "base is free"),
        ("<mujoco><worldbody><body><joint type='slide'/><geom size='1'/></body></worldbody></mujoco>", "no hinge"),
    ],
)
def test_other_files_are_refused_in_one_line(tmp_path, text, words):
    file = tmp_path / "robot.urdf"
    file.write_text(text)
    with pytest.raises(InputError, match=words) as refused:
        Chain(file)
    assert "\n" not in str(refused.value).strip()
