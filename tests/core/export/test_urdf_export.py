"""URDF: a valid robot file with the numbers of the drive, run in MuJoCo; a reader that lets nothing unknown pass."""

import importlib.util
import json
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest
from hypothesis import given, settings

from core.catalogue import load_model
from core.errors import ExportError
from core.export.approximation import Form
from core.export.contract import ServoOptions
from core.export.drive import Drive
from core.export.drive_fit import fit_drive, torque_law
from core.export.files import README, slug
from core.export.grid import default_bench
from core.export.notes import missing_terms
from core.export.urdf import JOINT, ROBOT, check_urdf, controller_text, read_drive, robot_element, write_urdf
from core.export.xml_reading import LARGEST_FILE, number_of, read_xml
from tests.core.conftest import PENDULUM
from tests.core.test_export import hostile_names

needs_mujoco = pytest.mark.skipif(importlib.util.find_spec("mujoco") is None, reason="MuJoCo is not installed")

DRIVE = Drive(
    stiffness=20.0, damping=0.5, torque_limit=3.0, no_load_speed=6.0, friction=0.2, viscous=0.05, armature=0.01
)


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
        drive = read_drive(folder, slug(model.title))

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
    def test_the_joint_has_the_formats_fields(self, exported):
        model, folder, _ = exported
        drive = read_drive(folder, slug(model.title))
        joint = read_xml(folder / f"{slug(model.title)}.pendulum.urdf", "robot", ROBOT).find("joint")

        assert joint is not None
        assert number_of(joint, "limit@effort") == drive.torque_limit
        assert number_of(joint, "limit@velocity") == drive.no_load_speed
        assert number_of(joint, "dynamics@damping") == drive.viscous
        assert number_of(joint, "dynamics@friction") == drive.friction

    def test_a_ros_parser_takes_it(self, exported):
        parser = pytest.importorskip("urdf_parser_py.urdf", reason="urdf_parser_py is not installed")
        model, folder, _ = exported

        robot = parser.URDF.from_xml_file(str(folder / f"{slug(model.title)}.pendulum.urdf"))

        assert [link.name for link in robot.links] == ["world", "pendulum"]
        assert robot.joint_map[JOINT].dynamics.friction == model.values["friction_base"]
        assert robot.transmissions[0].actuators[0].mechanicalReduction == 1

    def test_the_controllers_parameters(self):
        yaml = pytest.importorskip("yaml")
        servo = yaml.safe_load(controller_text(DRIVE, 0.002))["servo_controller"]["ros__parameters"]

        assert servo["dof_names"] == [JOINT]
        assert servo["command_interface"] == "effort"
        assert servo["reference_and_state_interfaces"] == ["position", "velocity"]
        assert servo["gains"][JOINT] == {"p": 20.0, "i": 0.0, "d": 0.5}
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
    def test_no_name_breaks_the_robot(self, tmp_path_factory, name):
        path = tmp_path_factory.mktemp("names") / "robot.urdf"
        path.write_bytes(ET.tostring(robot_element(slug(name), DRIVE, PENDULUM, 0.1)))

        robot = read_xml(path, "robot", ROBOT)

        assert robot.get("name") == slug(name)
        assert {joint.get("name") for joint in robot.iter("joint")} == {JOINT}


class TestReading:
    @pytest.mark.parametrize(
        ("old", "new", "complaint"),
        [
            ("<limit ", "<limits ", "<limits>"),
            ('effort="', 'efort="', "efort"),
            ('damping="', 'damping="x', "not of the format's type"),
            ('type="revolute"', 'type="hinge"', "hinge"),
            ("<mechanicalReduction>1", "<mechanicalReduction>many", "many"),
            ('name="servo" type', 'name="servo" colour="red" type', "colour"),
            ("</robot>", "", "cannot be read as XML"),
            ("<robot ", '<!DOCTYPE robot [<!ENTITY a "b">]><robot ', "document type"),
            ("<robot ", "<robots ", "mismatched tag"),
        ],
    )
    def test_what_the_format_does_not_have(self, exported, tmp_path, old, new, complaint):
        model, folder, _ = exported
        text = (folder / f"{slug(model.title)}.pendulum.urdf").read_text("utf-8")
        assert old in text
        (tmp_path / "a.urdf").write_text(text.replace(old, new, 1), "utf-8")

        with pytest.raises(ExportError, match=complaint):
            read_xml(tmp_path / "a.urdf", "robot", ROBOT)

    def test_files_that_differ_or_are_no_drive(self, exported, tmp_path):
        model, folder, _ = exported
        name = slug(model.title)
        for ending in ("pendulum.urdf", "drive.json"):
            (tmp_path / f"{name}.{ending}").write_bytes((folder / f"{name}.{ending}").read_bytes())
        path = tmp_path / f"{name}.drive.json"
        data = json.loads(path.read_text("utf-8"))

        for changed, complaint in (
            ({"viscous": {"value": 7.0, "unit": "N·m·s/rad"}}, "differ in viscous"),
            ({"viscous": {"value": 7.0, "unit": "N·m·s/deg"}}, "not a number in"),
            ({"armature": {"value": -1.0, "unit": "kg·m²"}}, "armature"),
            ({"colour": "red"}, "colour"),
            ({"version": 2}, "version 1"),
        ):
            path.write_text(json.dumps({**data, **changed}), "utf-8")
            with pytest.raises(ExportError, match=complaint):
                read_drive(tmp_path, name)
        path.write_text(" " * (LARGEST_FILE + 1))
        with pytest.raises(ExportError, match="too large"):
            read_drive(tmp_path, name)

    def test_a_folder_without_an_export(self, tmp_path):
        with pytest.raises(ExportError, match="cannot be read"):
            check_urdf(load_model("mx106", "m1"), tmp_path, ServoOptions())


@needs_mujoco
def test_mujoco_moves_the_robot_as_the_model_moves(exported):
    """What remains is the engine's step of 0.1 ms, half of which it leads by."""
    model, folder, _ = exported

    found = check_urdf(model, folder, ServoOptions(timestep=1e-4))

    assert "MuJoCo" in found.how
    assert found.mean_mrad < 0.2
