"""SDFormat 1.9 and gz-sim: a world of the format, the plugin's rule, and a servo that is exact while it is driven."""

import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings

from core.bench import Bench
from core.catalogue import load_model
from core.errors import ExportError
from core.export import export_model
from core.export.contract import ServoOptions
from core.export.files import README, slug
from core.export.grid import GridRun, default_bench
from core.export.sdformat import check_sdformat, gz_servo, world_element, write_sdformat
from core.export.sdformat_reading import SDF, GzServo, read_world, simulate_gz
from core.export.xml_reading import read_xml, value_of
from core.trajectories import make_trajectory
from tests.core.conftest import PENDULUM
from tests.core.test_export import hostile_names

GZ = GzServo(p_gain=20.0, d_gain=0.0, limit=3.0, damping=0.5, friction=0.1, armature=0.01)


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sdf")
    model = load_model("xl330", "m1")
    return model, folder, write_sdformat(model, folder, ServoOptions())


class TestNumbers:
    def test_the_voltage_law_is_exact(self):
        """p = kp·U·k_t/R, cmd_max = U·k_t/R, joint damping K_v + k_t²/R."""
        model = load_model("mx106", "m1")
        own, values = model.default_settings(), model.values
        kt, resistance, supply = values["kt"], values["R"], own.supply_voltage
        gz = gz_servo(model, own)

        assert gz.p_gain == pytest.approx(own.kp * model.control.error_gain * supply * kt / resistance)
        assert gz.limit == pytest.approx(supply * kt / resistance * model.control.output_limit)
        assert gz.damping == pytest.approx(values["friction_viscous"] + kt**2 / resistance)
        assert (gz.d_gain, gz.friction, gz.armature) == (0.0, values["friction_base"], values["armature"])

    def test_the_plugins_derivative_is_the_errors(self):
        """One step at a time: J·(q̈) = clip(p·e + d·ė, ±limit) − G·sin q − damping·q̇ for a joint without friction."""
        gz = replace(GZ, friction=0.0, d_gain=0.3)
        step, run = 0.001, GridRun(trajectory="sin_sin", bench=PENDULUM, settings=_unused())
        goal = make_trajectory("sin_sin").goal(step * np.arange(300))
        inertia, expected = PENDULUM.inertia + gz.armature, []
        q = v = last = 0.0
        for k in range(300):
            expected.append(q)
            error = goal[k] - q
            torque = np.clip(gz.p_gain * error + gz.d_gain * (error - last) / step, -gz.limit, gz.limit)
            last = error
            pull = torque - PENDULUM.gravity_torque * np.sin(q)
            a = (pull - np.clip(inertia / step * v + pull, -gz.damping * abs(v), gz.damping * abs(v))) / inertia
            q, v = q + v * step + 0.5 * a * step**2, v + a * step

        np.testing.assert_allclose(simulate_gz(gz, "mx106", run, 1.0, step)[:300], expected, atol=1e-9)

    def test_a_driven_m1_servo_is_right_and_a_released_one_is_not(self, exported):
        """Below 3 mrad at 1 ms while driven; the damping that stays on a released joint is stated."""
        model, folder, result = exported

        found = check_sdformat(model, folder, ServoOptions())

        driven = {name: error for name, error in found.errors.items() if name != "lift_and_drop"}
        assert max(driven.values()) < 3.0
        assert found.errors["lift_and_drop"] > 50.0
        assert result.error_mrad is not None
        assert result.error_mrad > 10.0
        text = (folder / README).read_text("utf-8")
        assert "where the servo is never released" in text
        assert all(note in text for note in result.notes)

    def test_two_servos_stand_in_one_world(self, tmp_path):
        """Models and topics are named after the exports; a world of an earlier version is read as before."""
        for kp in (200.0, 400.0):
            export_model(load_model("xl330", "m1"), "sdformat", tmp_path, kp=kp)
        files = sorted(tmp_path.glob("*.pendulum.sdf"))
        names = [model.attrib["name"] for file in files for model in ET.parse(file).getroot().iter("model")]
        assert len(set(names)) == 2
        readme = (tmp_path / README).read_text("utf-8")
        assert sorted(re.findall(r"/model/(\w+)/joint/servo/0/cmd_pos", readme)) == sorted(names)
        before = read_world(files[0])
        files[0].write_text(files[0].read_text("utf-8").replace(names[0], "servo_bench"), encoding="utf-8")
        assert read_world(files[0]) == before

    def test_a_name_that_is_markup(self, tmp_path):
        model = replace(load_model("xl330", "m1"), name='"><script>]]>../../a')

        result = write_sdformat(model, tmp_path / "inner", ServoOptions())

        assert [path.name for path in result.files] == ["script-a.pendulum.sdf", README]
        assert [path.name for path in tmp_path.iterdir()] == ["inner"]
        assert check_sdformat(model, tmp_path / "inner", ServoOptions()).mean_mrad > 0.0

    def test_a_gain_of_nothing_is_refused(self, tmp_path):
        with pytest.raises(ExportError, match="kp = 0"):
            write_sdformat(load_model("mx106", "m1"), tmp_path, ServoOptions(kp=0.0))

    def test_an_integral_gain_is_refused(self, tmp_path):
        model = load_model("mx106", "m1")
        integral = replace(model, control=replace(model.control, integral_ratio=1.0))

        with pytest.raises(ExportError, match="leave ki at 0"):
            write_sdformat(integral, tmp_path, ServoOptions(ki=1.0))


class TestWorld:
    def test_the_pendulum_is_the_benchs_and_carries_the_armature(self, tmp_path):
        model = load_model("mx106", "m6")
        bench = Bench(mass=0.4, length=0.2, arm_mass=0.1, gravity=3.7, angle_offset=0.3)
        path = tmp_path / "a.sdf"
        path.write_bytes(ET.tostring(world_element(model, GZ, bench, 0.002)))

        gz, pendulum, step = read_world(path)

        assert step == 0.002
        assert pendulum.inertia + gz.armature == pytest.approx(bench.inertia + GZ.armature, rel=1e-9)
        assert pendulum.gravity_torque == pytest.approx(bench.gravity_torque, rel=1e-9)
        assert pendulum.angle_offset == pytest.approx(0.3 + model.values["q_offset"], rel=1e-9)
        assert replace(gz, armature=GZ.armature) == GZ

    def test_a_body_that_can_be(self, exported):
        """No principal inertia exceeds the sum of the others."""
        model, folder, _ = exported
        root = read_xml(folder / f"{slug(model.title)}.pendulum.sdf", "sdf", SDF)
        inertia = root.find(".//link[@name='pendulum']/inertial/inertia")
        assert inertia is not None
        values = sorted(float(value_of(inertia, name)) for name in ("ixx", "iyy", "izz"))

        assert 0.0 < values[2] <= values[0] + values[1]
        assert values[1] > model.values["armature"]

    @settings(max_examples=30)
    @given(hostile_names)
    def test_a_name_reaches_the_world_in_letters_and_figures(self, tmp_path_factory, name):
        path = tmp_path_factory.getbasetemp() / "names.sdf"
        plain, named = (
            world_element(replace(load_model("mx106", "m1"), name=n), GZ, PENDULUM, 0.001) for n in ("plain", name)
        )
        path.write_bytes(ET.tostring(named))
        (model,) = named.iter("model")

        assert re.fullmatch("servo_[a-z0-9_]+", model.attrib["name"])
        model.set("name", "servo_plain")
        assert ET.tostring(named) == ET.tostring(plain)
        assert read_world(path)[0].p_gain == GZ.p_gain

    @pytest.mark.parametrize(
        ("old", "new", "complaint"),
        [
            ('version="1.9"', 'version="1.4"', "1.4"),
            ("<spring_stiffness>0.0</spring_stiffness>", "", "0 <spring_stiffness>"),
            ("<friction>", "<friction>-", "not of the format's type"),
            ("<upper>", "<upperr>6</upperr><upper>", "upperr"),
            ("JointPositionController", "JointController", "format's type"),
            ("<i_gain>0.0", "<i_gain>0.1", "integral gain"),
            ("<joint_name>servo", "<joint_name>other", "not the exported ones"),
            ("<xyz>0 -1 0", "<xyz>0 1 0", "another axis"),
            ("<p_gain>", "<p_gain>1 ", "format's type"),
            ("<gravity>0.0 0.0 -", "<gravity>0.0 0.0 ", "not possible"),
            ("<world name", "<world colour='red' name", "colour"),
            ('<link name="base" />', '<link name="base">words</link>', "words"),
        ],
    )
    def test_another_world(self, exported, tmp_path, old, new, complaint):
        model, folder, _ = exported
        text = (folder / f"{slug(model.title)}.pendulum.sdf").read_text("utf-8")
        assert old in text
        (tmp_path / "a.sdf").write_text(text.replace(old, new, 1), "utf-8")

        with pytest.raises(ExportError, match=complaint):
            read_world(tmp_path / "a.sdf")

    def test_a_large_file_is_not_read(self, tmp_path):
        (tmp_path / "a.sdf").write_text(" " * 5_000_000)

        with pytest.raises(ExportError, match="too large"):
            read_world(tmp_path / "a.sdf")


def _unused():
    """Settings of a run that a gz servo replaces by its own."""
    return load_model("mx106", "m1").default_settings()


def test_the_default_bench_is_used(exported):
    model, folder, _ = exported
    _, pendulum, _ = read_world(folder / f"{slug(model.title)}.pendulum.sdf")

    assert pendulum.gravity_torque == pytest.approx(default_bench(model).gravity_torque, rel=1e-9)
