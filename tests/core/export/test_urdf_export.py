"""URDF: a valid robot file with the numbers of the drive, run in MuJoCo."""

import importlib.util
import json
import math
from dataclasses import replace

import pytest
import yaml
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from core.errors import ExportError
from core.export.approximation import Form
from core.export.contract import ServoOptions
from core.export.drives.fit import fit_drive, torque_law
from core.export.drives.plain import PlainDrive
from core.export.files import README, slug
from core.export.notes import missing_terms
from core.export.references import default_bench
from core.export.targets.mujoco.xml import xml_text
from core.export.targets.urdf import (
    DRIVE_UNITS,
    JOINT,
    check_urdf,
    controller_text,
    drive_text,
    robot_element,
    write_urdf,
)
from core.shipped import load_model
from tests.core.conftest import PENDULUM
from tests.core.test_export import hostile_names

needs_mujoco = pytest.mark.skipif(importlib.util.find_spec("mujoco") is None, reason="MuJoCo is not installed")

DRIVE = PlainDrive(
    stiffness=20.0, damping=0.5, torque_limit=3.0, no_load_speed=6.0, friction=0.2, viscous=0.05, armature=0.01
)
drives = st.fixed_dictionaries({name: st.floats(1e-6, 1e6) for name in DRIVE_UNITS}).map(lambda n: PlainDrive(**n))


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
    def test_the_law_in_torque(self):
        """Eqs (12, 13): stall torque U·k_t/R at full duty, back-EMF k_t²/R, standstill at U/k_t."""
        model = load_model("mx106", "m1")
        kt, resistance, supply = model.values["kt"], model.values["R"], model.supply_voltage
        law = torque_law(model, model.default_settings())

        assert law.limit == pytest.approx(supply * kt / resistance * model.control.output_limit)
        assert law.back_emf == pytest.approx(kt**2 / resistance)
        assert law.no_load_speed == pytest.approx(supply * model.control.output_limit / kt)
        assert law.velocity_gain == 0.0

    def test_a_current_law_in_torque(self):
        """Eqs (14, 15): k_t·I_heat at rest, no back-EMF in the law, standstill at U/k_t whatever the limit."""
        model = load_model("erob80_50", "m1")
        kt, control, own = model.values["kt"], model.control, model.default_settings(90.0)
        law = torque_law(model, own)

        assert law.limit == pytest.approx(kt * control.output_limit)
        assert law.stiffness == pytest.approx(kt * 90.0 * control.error_gain)
        assert law.velocity_gain == pytest.approx(kt * control.damping * 90.0**0.5)
        assert law.back_emf == 0.0
        assert law.no_load_speed == pytest.approx(own.supply_voltage / kt)

    def test_a_current_laws_numbers_are_its_own(self, exported):
        """kp' = k_t·kp, kd' = k_t·damping·√kp, limit k_t·I_max; friction, armature and viscous friction untouched."""
        model, folder, result = exported
        values, kp = model.values, model.default_settings().kp
        data = json.loads((folder / f"{slug(model.title)}.drive.json").read_text("utf-8"))
        drive = PlainDrive(**{name: data[name]["value"] for name in DRIVE_UNITS})

        assert drive.stiffness == pytest.approx(values["kt"] * kp * values.get("error_gain_ratio", 1.0))
        assert drive.damping == pytest.approx(values["kt"] * model.control.damping * kp**0.5)
        assert drive.torque_limit == pytest.approx(values["kt"] * model.control.output_limit)
        assert (drive.friction, drive.viscous, drive.armature) == (
            values["friction_base"],
            values["friction_viscous"],
            values["armature"],
        )
        assert result.error_mrad == pytest.approx(0.0, abs=0.01)

    def test_what_is_lost_is_named(self):
        plain = Form(plain_drive=True)

        assert missing_terms(load_model("mx106", "m1"), Form()) == []
        assert missing_terms(load_model("mx106", "m6"), plain) == ["friction M6", "a back-EMF beyond the torque limit"]
        assert "goal slew" in missing_terms(load_model("sts3215", "m1"), plain)

    def test_an_integral_gain_is_refused(self):
        model = load_model("mx106", "m1")
        with_integral = replace(model.default_settings(), ki=1.0)

        with pytest.raises(ExportError, match="leave ki at 0"):
            fit_drive(model, default_bench(model), with_integral, Form(plain_drive=True), "URDF")


class TestFiles:
    @settings(max_examples=25, phases=[Phase.generate])  # Shrinking takes minutes.
    @given(drives, st.floats(-3.0, 3.0))
    def test_every_number_of_a_drive_is_read_by_others(self, drive, offset):
        robot = xml_text(robot_element("drawn", drive, PENDULUM, offset))
        (joint,), (_, link) = in_ros(robot).joints, in_ros(robot).links
        data = json.loads(drive_text(drive, load_model("mx106", "m1")))
        gains = yaml.safe_load(controller_text(drive, 0.001))["servo_controller"]["ros__parameters"]["gains"][JOINT]

        assert (joint.limit.effort, joint.limit.velocity) == (drive.torque_limit, drive.no_load_speed)
        assert (joint.dynamics.damping, joint.dynamics.friction) == (drive.viscous, drive.friction)
        x, _, z = link.inertial.origin.xyz
        assert math.atan2(x, -z) == pytest.approx(offset)
        assert {name: data[name]["value"] for name in DRIVE_UNITS} == {n: getattr(drive, n) for n in DRIVE_UNITS}
        assert {name: data[name]["unit"] for name in DRIVE_UNITS} == DRIVE_UNITS
        assert gains == {"p": drive.stiffness, "i": 0.0, "d": drive.damping}

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
        assert "update_rate: 500\n" in controller_text(DRIVE, 0.002)

    def test_the_readme_says_what_urdf_lacks(self, exported):
        _, folder, result = exported
        text = (folder / README).read_text("utf-8")

        for note in result.notes:
            assert note in text
        assert "URDF has no armature: add" in text
        assert "supply voltage" in text

    @settings(max_examples=40)
    @given(hostile_names)
    def test_no_name_breaks_the_robot(self, name):
        robot = in_ros(xml_text(robot_element(slug(name), DRIVE, PENDULUM, 0.1)))

        assert robot.name == slug(name)
        assert list(robot.joint_map) == [JOINT]


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
        """The engine's step of 0.1 ms remains, half of which it leads by."""
        model, folder, _ = exported

        found = check_urdf(model, folder, ServoOptions(timestep=1e-4))

        assert "MuJoCo" in found.how
        assert found.mean_mrad < 0.2
