"""URDF with the plugins of seed 003: tags of its toolbox, and pendulums of the right inertia."""

import math
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest
import yaml

from core.base.errors import ExportError
from core.servo.bench import STANDARD_GRAVITY, Bench
from core.studies.compliant.array import JointArray, NamedJoint
from core.studies.compliant.elastic import SEED_ACTUATORS, AwasII, Bavs, QbMove, Sea
from core.studies.compliant.gazebo import plugin_element, robot_urdf, write_gazebo
from core.studies.compliant.joint import CompliantJoint, CompliantLink
from core.studies.compliant.modes import Mode
from core.studies.compliant.motor import Motor, Pid
from tests.core.studies.compliant.test_elastic import Cubic

MOTOR_TAGS = ("J", "D", "tauMax", "maxVel", "minPos", "maxPos", "tauFric")
"""Of the toolbox's templates (viactors_plugins/urdf_templates)."""
SPRING_TAGS = {
    Sea: ["spring_k"],
    AwasII: ["spring_Ks", "spring_L", "spring_r_t"],
    Bavs: ["spring_a", "spring_b", "spring_k", "spring_k_e"],
    QbMove: ["spring_a1", "spring_k1", "spring_a2", "spring_k2"],
}
LIMITED = Motor(
    inertia=0.03, damping=0.1, max_torque=4.0, max_velocity=5.0, min_position=-1.5, max_position=2.0, friction=0.3
)
LINK = CompliantLink.of_bench(Bench(mass=0.4, length=0.2, arm_mass=0.05, angle_offset=0.1), damping=0.01, friction=0.02)


def robot(mode=Mode.PID_EQ_PRES):
    joints = []
    for kind in SEED_ACTUATORS.values():
        actuator = replace(kind(), **({"a2": 8.0, "k2": 0.002} if kind is QbMove else {}))
        motors = (LIMITED, replace(LIMITED, inertia=0.02) if kind.motors == 2 else Motor())
        joint = CompliantJoint(actuator=actuator, link=LINK, motors=motors)
        if mode is Mode.LINK_PID:
            joint = replace(joint, link_pid=Pid(kp=2.0, ki=0.1, kd=0.3))
        else:
            joint = replace(joint, pids=(Pid(kp=90.0, ki=1.0, kd=3.0), Pid(kp=80.0) if kind.motors == 2 else Pid()))
        joints.append(NamedJoint(name=f"{kind.name}_joint", joint=joint, mode=mode))
    return JointArray(name="four springs", joints=tuple(joints))


@pytest.mark.parametrize("mode", Mode, ids=lambda mode: mode.name.lower())
def test_every_number_is_written_to_the_last_digit(mode):
    for named in robot(mode).joints:
        joint, plugin = named.joint, plugin_element(named).find("plugin")
        assert plugin is not None
        assert plugin.get("filename") == f"lib{joint.actuator.name.replace('awas2', 'awas_ii')}_plugin.so"
        tags = {child.tag: child.text for child in plugin}
        assert (tags["joint"], tags["operation_mode"]) == (named.name, str(mode.value))
        springs = [*SPRING_TAGS[type(joint.actuator)], "max_def"]
        assert [float(tags[tag] or "") for tag in springs] == list(vars(joint.actuator).values())
        pids = (joint.link_pid, joint.pids[1]) if mode is Mode.LINK_PID else joint.pids
        marks = ("1_", "2_") if joint.actuator.motors == 2 else ("",)
        for mark, motor, pid in zip(marks, joint.motors, pids, strict=False):
            of_motor = [motor.inertia, motor.damping, motor.max_torque, motor.max_velocity]
            of_motor += [motor.min_position, motor.max_position, motor.friction]
            assert [float(tags[f"mot_{mark}{tag}"] or "") for tag in MOTOR_TAGS] == of_motor
            assert [float(tags[f"ctrl_{mark}{tag}"] or "") for tag in "PID"] == [pid.kp, pid.ki, pid.kd]


def test_the_templates_faults_are_not_copied():
    """No shell comments, no formulas, no infinities for numbers; defaults are the toolbox's code's."""
    text = robot_urdf(JointArray(name="r", joints=(NamedJoint(name="j", joint=CompliantJoint(actuator=Bavs())),)))
    assert not any(fault in text for fault in ("#", "pow", "inf<", "nan"))
    plugin = ET.fromstring(text).find("gazebo/plugin")
    assert plugin is not None
    numbers = {child.tag: child.text for child in plugin}
    assert [float(numbers[tag] or "") for tag in ("spring_a", "spring_b", "spring_k")] == [1.21e-6, 2.38e-6, 1.6e5]
    assert [float(numbers[f"mot_1_{tag}"] or "") for tag in ("D", "tauFric", "maxVel")] == [0.2698, 0.02, 6.0]
    assert "mot_1_minPos" not in numbers


def test_a_urdf_reader_finds_pendulums_of_the_bench():
    """I = m·l² + I_c and G = m·g·l; the joint turns about +y and hangs down at 0."""
    urdf = pytest.importorskip("urdf_parser_py.urdf")
    text = robot_urdf(robot()).split("?>", 1)[1]
    parsed = urdf.URDF.from_xml_string(text)
    for joint in parsed.joints:
        link = next(link for link in parsed.links if link.name == joint.child)
        _, _, height = link.inertial.origin.xyz
        inertia = link.inertial.mass * height**2 + link.inertial.inertia.iyy
        assert inertia == pytest.approx(LINK.inertia, rel=1e-12)
        assert link.inertial.mass * STANDARD_GRAVITY * -height == pytest.approx(LINK.gravity_torque, rel=1e-12)
        assert joint.axis == [0.0, 1.0, 0.0]
        assert joint.origin.rpy[1] == LINK.angle_offset
        assert (joint.dynamics.damping, joint.dynamics.friction) == (0.01, 0.02)


def test_without_gravity_a_link_keeps_its_inertia():
    link = CompliantLink(inertia=0.02)
    text = robot_urdf(JointArray(name="r", joints=(NamedJoint(name="j", joint=CompliantJoint(link=link)),)))
    inertial = ET.fromstring(text).find("link[@name='j_link']/inertial")
    assert inertial is not None
    assert float(inertial.find("inertia").get("iyy")) == 0.02
    assert inertial.find("origin").get("xyz").split()[2] in ("0.0", "-0.0")


def test_the_manager_is_told_joints_and_topics(tmp_path):
    """Keys of the node's configuration file (seed 003, Fig. 6A)."""
    _, manager = write_gazebo(tmp_path, robot())
    told = yaml.safe_load(manager.read_text())
    assert (told["namespace"], told["T_sample"], told["joints_number"]) == ("four springs", 0.01, 4)
    assert told["joints_name"] == ["sea_joint", "awas2_joint", "bavs_joint", "qbmove_joint"]
    assert told["ref1_topic_name"] == ["/equilibrium_position"] * 4
    assert told["ref2_topic_name"] == ["/disabled"] + ["/stiffness_preset"] * 3
    assert set(told) == {"namespace", "T_sample", "joints_number", "joints_name", "ref1_topic_name", "ref2_topic_name"}


def test_what_the_toolbox_cannot_hold_is_refused():
    with pytest.raises(ExportError, match="none for Cubic spring; derive one"):
        plugin_element(NamedJoint(name="j", joint=CompliantJoint(actuator=Cubic())))
    soft = Motor(friction_stiffness=200.0)
    with pytest.raises(ExportError, match="stiffness of 1000 N·m/rad, this motor's 200"):
        plugin_element(NamedJoint(name="j", joint=CompliantJoint(motors=(soft, soft))))
    endless = Motor(max_velocity=math.inf)
    with pytest.raises(ExportError, match="max_velocity = inf cannot be written"):
        plugin_element(NamedJoint(name="j", joint=CompliantJoint(motors=(endless, endless))))
