"""URDF: a valid robot file with the numbers of the drive, run in MuJoCo."""

import importlib.util

import pytest
import yaml

from core.base.errors import ExportError
from core.export.approximation import Form
from core.export.contract import ServoOptions
from core.export.drives.plain import PlainDrive
from core.export.files import slug
from core.export.notes import missing_terms
from core.export.targets.urdf import (
    JOINT,
    check_urdf,
    controller_text,
    write_urdf,
)
from core.servo.shipped import load_model

needs_mujoco = pytest.mark.skipif(importlib.util.find_spec("mujoco") is None, reason="MuJoCo is not installed")

DRIVE = PlainDrive(
    stiffness=20.0, damping=0.5, torque_limit=3.0, no_load_speed=6.0, friction=0.2, viscous=0.05, armature=0.01
)


def in_ros(robot):
    """A robot's text as ROS' parser has it."""
    parser = pytest.importorskip("urdf_parser_py.urdf", reason="urdf_parser_py is not installed")
    return parser.URDF.from_xml_string(robot.partition("?>")[2] or robot)


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """A current-law servo with friction M1: a plain drive, but for its limit by the supply voltage."""
    folder = tmp_path_factory.mktemp("urdf")
    model = load_model("erob80_50", "m1")
    return model, folder, write_urdf(model, folder, ServoOptions())


class TestNumbers:
    def test_what_is_lost_is_named(self):
        plain = Form(plain_drive=True)

        assert missing_terms(load_model("mx106", "m1"), Form()) == []
        assert missing_terms(load_model("mx106", "m6"), plain) == ["friction M6", "a back-EMF beyond the torque limit"]
        assert "goal slew" in missing_terms(load_model("sts3215", "m1"), plain)


class TestFiles:
    def test_the_transmission_is_of_effort(self, exported):
        model, folder, _ = exported
        robot = in_ros((folder / f"{slug(model.title)}.pendulum.urdf").read_text("utf-8"))

        assert [link.name for link in robot.links] == ["world", "pendulum"]
        (transmission,) = robot.transmissions
        assert transmission.joints[0].name == JOINT
        assert transmission.joints[0].hardwareInterfaces == ["hardware_interface/EffortJointInterface"]
        assert transmission.actuators[0].mechanicalReduction == 1

    def test_the_controllers_parameters(self):
        servo = yaml.safe_load(controller_text(DRIVE, 0.002))["servo_controller"]["ros__parameters"]

        assert servo["dof_names"] == [JOINT]
        assert servo["command_interface"] == "effort"
        assert servo["reference_and_state_interfaces"] == ["position", "velocity"]
        for timestep, rate in ((0.002, 500), (0.007, 143), (2.5, 1)):
            assert f"update_rate: {rate}\n" in controller_text(DRIVE, timestep)


@needs_mujoco
class TestCheck:
    @pytest.mark.parametrize(
        ("ending", "old", "new", "complaint"),
        [
            ("drive.json", '"value"', '"worth"', "holds no URDF export .*'value'"),
            ("drive.json", '"armature"', '"armour"', "holds no URDF export .*'armature'"),
            ("drive.json", "{", "", "holds no URDF export"),
            ("drive.json", '"value": ', '"value": -', "a drive with .* is not possible"),
            ("pendulum.urdf", "</robot>", "", "MuJoCo rejects the robot"),
        ],
    )
    def test_damaged_files_are_refused(self, exported, tmp_path, ending, old, new, complaint):
        model, folder, _ = exported
        for file in folder.iterdir():
            (tmp_path / file.name).write_bytes(file.read_bytes())
        damaged = tmp_path / f"{slug(model.title)}.{ending}"
        damaged.write_text(damaged.read_text("utf-8").replace(old, new), "utf-8")

        with pytest.raises(ExportError, match=complaint):
            check_urdf(model, tmp_path, ServoOptions())

    def test_a_folder_without_an_export(self, tmp_path):
        with pytest.raises(ExportError, match="holds no URDF export"):
            check_urdf(load_model("mx106", "m1"), tmp_path, ServoOptions())

    def test_mujoco_moves_the_robot_as_the_model_moves(self, exported):
        """The engine's step of 0.5 ms remains, half of which it leads by."""
        model, folder, _ = exported

        found = check_urdf(model, folder, ServoOptions(timestep=5e-4))

        assert "MuJoCo" in found.how
        assert found.mean_mrad < 0.8
