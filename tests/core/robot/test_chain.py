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


LINK = """<link name="{0}"><inertial><origin xyz="0.05 0 0"/><mass value="0.2"/>
<inertia ixx="1e-3" iyy="1e-3" izz="1e-3" ixy="0" ixz="0" iyz="0"/></inertial></link>"""
DUMMY = '<inertial><mass value="1e-9"/><inertia ixx="0" iyy="0" izz="0" ixy="0" ixz="0" iyz="0"/></inertial>'
HINGE = """<joint name="{0}" type="continuous"><origin xyz="0.1 0 0"/><parent link="{1}"/><child link="{2}"/>
<axis xyz="0 1 0"/></joint>"""
TWO = f"""<robot name="r"><link name="base"/>{LINK.format("one")}{LINK.format("two")}
{HINGE.format("a", "base", "one")}{HINGE.format("b", "one", "two")}</robot>"""


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "iso-8859-1"])
def test_a_robot_is_read_in_the_encoding_that_it_states(tmp_path, encoding):
    name = encoding.removesuffix("-sig")
    file = tmp_path / "robot.urdf"
    file.write_bytes(f'<?xml version="1.0" encoding="{name}"?><!-- é -->{TWO}'.encode(encoding))
    assert [joint.name for joint in Chain(file).joints] == ["a", "b"]


@pytest.mark.parametrize("left", ["", DUMMY], ids=["none", "dummy"])
@pytest.mark.parametrize("link", ["one", "two"])
def test_a_moving_link_without_mass_is_named(tmp_path, link, left):
    """The other link's load stays as it is."""
    files = tmp_path / "whole.urdf", tmp_path / "lacking.urdf"
    files[0].write_text(TWO)
    files[1].write_text(TWO.replace(LINK.format(link), f'<link name="{link}">{left}</link>'))
    whole, lacking = map(Chain, files)
    assert (whole.left_out, lacking.left_out) == ([], [f"no mass for {link}"])
    time, rest = np.linspace(0.0, 1.0, 11), np.zeros((11, 2))
    expected, found = (chain.loads(["a", "b"], time, rest)[:, 0] for chain in (whole, lacking))
    own = 0.001 + 0.2 * 0.05**2
    np.testing.assert_allclose(expected[:, 0], [2.0 * own + 0.2 * (0.15**2 - 0.05**2), own])
    remaining = {"one": [expected[0, 0] - own, own], "two": [own, 0.0]}[link]
    np.testing.assert_allclose(found[:, 0], remaining, atol=1e-9)


def test_an_inertia_that_no_body_has_is_refused_with_its_link_and_can_be_evened_out(tmp_path):
    file = tmp_path / "robot.urdf"
    file.write_text(TWO.replace('izz="1e-3"', 'izz="3e-3"', 1))
    with pytest.raises(InputError, match=r"let MuJoCo even it out: <robot><mujoco><compiler .*; Element name 'one'"):
        Chain(file)
    evened = '<robot name="r"><mujoco><compiler balanceinertia="true"/></mujoco>'
    file.write_text(file.read_text().replace('<robot name="r">', evened))
    assert len(Chain(file).joints) == 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "it is empty"),
        ("no XML", "cannot be read"),
        ("<robot name='r'/>", "no hinge"),
        ("<sdf/>", "neither a URDF, .* but <sdf>"),
        ("<robot><xacro:include filename='x'/></robot>", r"xacro file: run xacro \S*robot.urdf -o robot.urdf"),
        ("<robot xmlns:xacro='http://ros.org/wiki/xacro'><xacro:arm/></robot>", "xacro file"),
        ("<robot><link name='${prefix}base'/></robot>", "xacro file"),
        (TWO.replace('joint name="b"', 'joint name="a"'), "more than one joint 'a'"),
        (TWO.replace('"two"', '"one"'), "more than one link 'one'"),
        ("<robot name='r'><link name='base'/><link name='l'/>" + HINGE.format("a", "base", "l") + "</robot>", "a mass"),
        (TWO.replace('value="0.2"', 'value="0,2"'), "no robot that MuJoCo can read"),
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
    assert "\n" not in str(refused.value)


def test_a_folder_is_no_robot(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        Chain(tmp_path)
