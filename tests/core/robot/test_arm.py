"""A whole robot in MuJoCo with servos on its joints moves as each of its joints in the bench's own simulation."""

import shutil
import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pytest

from core.base.errors import ExportError, InputError
from core.export.programs import program
from core.motion.recording import LOAD_CHANNELS, Recording
from core.motion.simulation import simulate_recording
from core.servo.bench import Bench
from core.servo.model import build_model, with_contact
from core.servo.shipped import load_model

pytest.importorskip("mujoco", reason="MuJoCo is not installed")

from core.robot.arm import JointServo, robot_text, simulate_robot
from core.robot.chain import Chain, read_robot
from core.robot.exporting import export_robot
from core.robot.files import copy_robot
from tests.core.robot.test_chain import ARM, NAMES

MODEL = load_model("sts3215", "m6")
SETTINGS = MODEL.default_settings(16.0)
OLD_SERVOS = "</worldbody><actuator><position joint='b' kp='9'/><position joint='c' kp='9'/></actuator></mujoco>"


@pytest.fixture
def file(tmp_path):
    file = tmp_path / "arm.xml"
    file.write_text(ARM.replace("</worldbody></mujoco>", OLD_SERVOS))
    return file


def servo(contact="rigid", **values):
    return JointServo(model=with_contact(MODEL, contact).with_values(values), settings=SETTINGS)


@pytest.mark.parametrize("contact", ["rigid", "elastoplastic_rational"])
def test_the_whole_robot_moves_as_each_joint_below_the_load_of_the_others(file, contact):
    time = np.arange(0.0, 3.0, 0.01)
    goals = 0.6 * np.sin(np.outer(time, [2.0, 1.3, 2.7]) + np.arange(3.0))
    servos = {name: servo(contact, q_offset=0.01 * k) for k, name in enumerate(NAMES)}
    moved = simulate_robot(file, servos, NAMES, time, goals, np.broadcast_to(goals[0], goals.shape))
    offsets = np.array([0.0, 0.01, 0.02])
    loads = Chain(file).loads(NAMES, time, moved + offsets)
    for j, name in enumerate(NAMES):
        columns = dict(zip((channel.name for channel in LOAD_CHANNELS), loads[j].T, strict=True))
        measured = {
            "time": time,
            "goal_position": goals[:, j],
            "position": moved[:, j],
            "torque_enable": np.ones(len(time)),
        }
        run = Recording(
            id=name, trajectory="", bench=Bench(mass=0.0, length=0.0), settings=SETTINGS, channels=measured | columns
        )
        alone = simulate_recording(replace(servos[name].model, dt=0.0025), run)
        apart = np.abs(np.interp(time, alone.time, alone.position) - moved[:, j])
        assert apart.mean() < 2e-3  # accelerations are smoothed
        led = simulate_robot(file, {name: servos[name]}, NAMES, time, goals, moved)
        np.testing.assert_array_equal(
            np.delete(led, j, axis=1)[1:-1].round(9), np.delete(moved, j, axis=1)[1:-1].round(9)
        )
        assert np.abs(led[:, j] - moved[:, j]).mean() < 2e-3


def test_a_joint_keeps_nothing_of_its_file_and_the_others_all(file):
    import mujoco

    loose = JointServo(model=build_model("sts3215", "m1", command_path=("backlash",)), settings=SETTINGS)
    model = mujoco.MjModel.from_xml_string(robot_text(file, {"a": servo(), "b": loose}, 0.001))
    assert model.opt.timestep == 0.001
    assert sorted(model.actuator(k).name for k in range(model.nu)) == ["", "", "a"]
    assert model.actuator_biastype[model.actuator_trnid[:, 0] == model.joint("b").id].tolist() == [0]
    (dof,) = model.joint("a").dofadr
    assert model.dof_armature[dof] == pytest.approx(MODEL.values["armature"], rel=1e-5)
    assert model.dof_damping[dof] == model.dof_frictionloss[dof] == 0.0
    assert model.joint("b_backlash").bodyid == model.joint("b").bodyid
    assert model.joint("a").range == pytest.approx([-np.pi / 2, np.pi / 2], rel=1e-5)


def test_an_unknown_joint_is_named(file):
    with pytest.raises(ExportError, match="no joint 'elbow'"):
        robot_text(file, {"elbow": servo()})


def exported(file, target, folder, **options):
    servos = {name: JointServo(model=build_model("sts3215", "m1"), settings=SETTINGS) for name in NAMES}
    return servos, {path.name for path in export_robot(file, servos, target, folder, **options)}


def test_exports_to_mujoco_move_alike(file, tmp_path):
    """The engine's own actuators hold M1; the program at run time holds everything."""
    import mujoco

    servos, files = exported(file, "mujoco-hook", tmp_path / "hook")
    assert {"robot.xml", "a.servo.json", "servobench_mujoco.py"} <= files
    exported(file, "mujoco", tmp_path / "native")
    time = np.arange(0.0, 2.0, 0.02)
    goals = 0.5 * np.sin(np.outer(time, [2.0, 1.3, 2.7]))
    hook = mujoco.MjModel.from_xml_path(str(tmp_path / "hook" / "robot.xml"))
    data = mujoco.MjData(hook)
    program("servobench_mujoco").attach(hook, data, {name: tmp_path / f"hook/{name}.servo.json" for name in NAMES})
    expected = simulate_robot(file, servos, NAMES, time, goals, 0.0 * goals)
    native = mujoco.MjModel.from_xml_path(str(tmp_path / "native" / "robot.xml"))
    native.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT | mujoco.mjtDisableBit.mjDSBL_LIMIT
    data, moved = mujoco.MjData(native), []
    for goal in goals:
        moved.append(data.qpos.copy())
        data.ctrl[[native.actuator(name).id for name in NAMES]] = goal
        mujoco.mj_step(native, data, round(0.02 / native.opt.timestep))
    assert np.abs(np.array(moved) - expected).mean() < 3e-3
    assert np.abs(expected).mean() > 0.05


URDF = """<?xml version="1.0"?>
<robot name="r"><!-- mine --><link name="base"/><link name="arm"><inertial><mass value="0.5"/>
<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="a" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/>
<limit lower="-1" upper="1" effort="99" velocity="99"/></joint></robot>"""


def test_a_urdf_keeps_all_but_friction_and_limits(file, tmp_path):
    robot = tmp_path / "robot.urdf"
    robot.write_text(URDF)
    servo = JointServo(model=build_model("sts3215", "m1"), settings=SETTINGS)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "robot.urdf").write_text("mine")
    with pytest.raises(ExportError, match="exists and differs"):
        export_robot(robot, {"a": servo}, "urdf", tmp_path / "out")
    export_robot(robot, {"a": servo}, "urdf", tmp_path / "out", force=True)
    written = (tmp_path / "out" / "robot.urdf").read_text()
    (joint,) = ET.fromstring(written).iter("joint")
    assert "<!-- mine -->" in written
    assert joint.find("limit").attrib.items() >= {"lower": "-1", "upper": "1"}.items()
    assert float(joint.find("limit").get("effort")) < 99.0
    assert float(joint.find("dynamics").get("friction")) > 0.0
    with pytest.raises(ExportError, match="not a URDF"):
        exported(file, "urdf", tmp_path / "other")


def solid(file, size):
    """Write a mesh: a tetrahedron with edges of this size [m]."""
    corners = "".join(f"v {' '.join(str(size * (k == axis)) for axis in range(3))}\n" for k in range(-1, 3))
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"{corners}f 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n")


@pytest.fixture
def meshed(tmp_path):
    """A robot of two meshes of one file name, in folders of their own, one of them named by an included file."""
    folder = tmp_path / "meshed"
    solid(folder / "parts/one/part.obj", 0.1)
    solid(folder / "parts/two/part.obj", 0.2)
    mesh = "<asset><mesh name='{0}' file='{0}/part.obj'/></asset>"
    (folder / "more.xml").write_text(f"<mujoco>{mesh.format('two')}</mujoco>")
    (folder / "meshed.xml").write_text(
        f"<mujoco><compiler meshdir='parts'/>{mesh.format('one')}<include file='more.xml'/><worldbody><body>"
        "<joint name='a' axis='0 1 0'/><geom type='mesh' mesh='one'/><geom type='mesh' mesh='two'/>"
        "</body></worldbody></mujoco>"
    )
    return folder / "meshed.xml"


@pytest.mark.parametrize("target", ["mujoco", "mujoco-hook"])
def test_an_exported_robot_brings_its_meshes(meshed, target, tmp_path):
    import mujoco

    expected = read_robot(meshed).compile()
    servos = {"a": JointServo(model=build_model("sts3215", "m1"), settings=SETTINGS)}
    files = export_robot(meshed, servos, target, tmp_path / "first")
    assert {path.name for path in files} >= {"robot.xml", "part.obj", "_part.obj"}
    assert str(tmp_path) not in (tmp_path / "first" / "robot.xml").read_text()
    (tmp_path / "first").rename(tmp_path / "moved")
    shutil.rmtree(meshed.parent)
    found = mujoco.MjModel.from_xml_path(str(tmp_path / "moved" / "robot.xml"))
    np.testing.assert_allclose(found.body_mass, expected.body_mass, rtol=1e-5)


def test_a_copied_robot_moves_alike_where_it_lies(meshed, file, tmp_path):
    for each in (meshed, file):
        copy = copy_robot(each, tmp_path / "copy")
        assert copy == tmp_path / "copy" / each.name
        assert copy_robot(copy, tmp_path / "copy") == copy
        names = [joint.name for joint in Chain(each).joints]
        (tmp_path / "copy").rename(tmp_path / "moved")
        time = np.arange(0.0, 1.0, 0.02)
        moved = np.sin(np.outer(time, np.arange(1.0, 1.0 + len(names))))
        found = Chain(tmp_path / "moved" / each.name).loads(names, time, moved)
        np.testing.assert_allclose(found, Chain(each).loads(names, time, moved), rtol=1e-5, atol=1e-9)
        (tmp_path / "moved").rename(tmp_path / "copy")
    assert (tmp_path / "copy" / file.name).read_bytes() == file.read_bytes()
    with pytest.raises(InputError, match=r"none\.xml: cannot be copied to"):
        copy_robot(tmp_path / "none.xml", tmp_path / "copy")


def test_a_copied_urdf_keeps_names_of_packages_and_brings_its_meshes(tmp_path):
    solid(tmp_path / "arm/meshes/part.obj", 0.1)
    mesh = "<visual><geometry><mesh filename='{}'/></geometry></visual>"
    meshes = mesh.format("meshes/part.obj") + mesh.format("package://arm/part.obj")
    (tmp_path / "arm/arm.urdf").write_text(URDF.replace('<link name="arm">', f'<link name="arm">{meshes}'))
    copy = copy_robot(tmp_path / "arm/arm.urdf", tmp_path / "copy").read_text()
    assert [each.get("filename") for each in ET.fromstring(copy).iter("mesh")] == [
        "assets/part.obj",
        "package://arm/part.obj",
    ]
    assert "<!-- mine -->" in copy
    assert (tmp_path / "copy/assets/part.obj").exists()


@pytest.mark.parametrize(
    ("place", "name", "compiler"),
    [
        ("arm", "meshes/part.obj", ""),
        ("arm/urdf", "part.obj", "<mujoco><compiler meshdir='../meshes'/></mujoco>"),
        ("arm/urdf", "package://arm/meshes/part.obj", "<mujoco><compiler meshdir='../meshes'/></mujoco>"),
        ("arm/urdf", "package://arm/meshes/part.obj", ""),
        ("arm/urdf", "package://renamed/meshes/part.obj", ""),
        ("bringup", "package://arm/meshes/part.obj", ""),
        ("bringup", "model://arm/meshes/part.obj", ""),
        ("bringup", "file://{}/arm/meshes/part.obj", ""),
    ],
)
def test_meshes_are_found_as_urdf_names_them(tmp_path, place, name, compiler):
    """Relative to the file or `meshdir`, in a ROS package beside or above it, and at a path of its own."""
    import mujoco

    solid(tmp_path / "arm/meshes/part.obj", 0.1)
    (tmp_path / place).mkdir(parents=True, exist_ok=True)
    mesh = f'<collision><geometry><mesh filename="{name.format(tmp_path.as_posix())}"/></geometry></collision>'
    text = URDF.replace('<link name="arm">', f'{compiler}<link name="arm">{mesh}')
    (tmp_path / place / "arm.urdf").write_text(text)
    copy = copy_robot(tmp_path / place / "arm.urdf", tmp_path / "copy")
    assert 'filename="assets/part.obj"' in copy.read_text()
    if compiler:
        mujoco.MjModel.from_xml_path(str(copy))


def test_what_is_not_recorded_rests_and_springs_sensors_and_couplings_do_not_matter(file):
    """A robot with a spring, a coupling, a slide and a sensor of a servo moves as one without."""
    time = np.arange(0.0, 1.5, 0.02)
    goals = 0.4 * np.sin(np.outer(time, [2.0, 1.3]))
    servos = {name: servo(q_offset=0.0) for name in NAMES[:2]}
    plain = simulate_robot(file, servos, NAMES[:2], time, goals, 0.0 * goals)
    more = file.with_name("more.xml")
    text = file.read_text().replace('name="b"', 'name="b" stiffness="20" springref="30"')
    text = text.replace(
        "</actuator>", "<position name='p' joint='a'/></actuator><sensor><actuatorfrc actuator='p'/></sensor>"
    )
    text = text.replace("</actuator>", "</actuator><equality><joint joint1='c' joint2='b'/></equality>", 1)
    more.write_text(
        text.replace("</worldbody>", '<body><joint name="s" type="slide"/><geom size="0.1"/></body></worldbody>')
    )
    moved = simulate_robot(more, servos, NAMES[:2], time, goals, 0.0 * goals)
    np.testing.assert_allclose(moved, plain, atol=1e-5)
    assert Chain(more).left_out == ["springs of joints", "sliding joints"]
    assert Chain(file).left_out == []


def test_backlash_is_limited_in_the_whole_robot(file):
    time = np.arange(0.0, 1.5, 0.02)
    loose = build_model("sts3215", "m1", command_path=("backlash",)).with_values({"backlash": 0.02})
    moved = simulate_robot(
        file, {"b": JointServo(model=loose, settings=SETTINGS)}, NAMES, time, np.zeros((75, 3)), np.zeros((75, 3))
    )
    assert np.abs(moved).max() < 0.3
