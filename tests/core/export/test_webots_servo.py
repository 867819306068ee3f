"""The Servo node of seed 002, section 3.42: its rule step by step, its fit to a model, its text."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.base.errors import ExportError
from core.export.contract import ServoOptions
from core.export.files import printable, slug
from core.export.references import default_bench
from core.export.targets.webots.vrml import read_vrml, vrml_text
from core.servo.shipped import load_model
from core.studies.webots.export.fitted_node import fit_servo_node, node_errors
from core.studies.webots.export.target import (
    HEADER,
    SCHEMA,
    check_webots_servo,
    servo_node,
    write_webots_servo,
)
from core.studies.webots.fields import Load, ServoFields
from core.studies.webots.nodes import read_servo_node
from tests.core.test_export import hostile_names

STRONG = ServoFields(max_velocity=2.0, max_force=1e6)
LOAD = Load(inertia=0.02, gravity_torque=0.5, offset=0.0)
STEP = 0.008


@pytest.fixture(scope="module")
def fits():
    """The same model fitted not at all, and for a few generations."""
    model = load_model("mx106", "m6")
    settings, bench = model.default_settings(), default_bench(model)
    return [fit_servo_node(model, bench, settings, STEP, generations) for generations in (0, 8)]


class TestFit:
    def test_a_fit_is_better_than_its_start(self, fits):
        start, fitted = fits

        assert fitted.mean_mrad < 0.8 * start.mean_mrad
        assert fitted.held_back_error < start.held_back_error
        assert len(fitted.errors) == len(fitted.runs) == 16

    def test_gains_scale_p(self, fits):
        assert {run.settings.kp for run in fits[1].runs} == {8.0, 16.0}


class TestNode:
    @settings(max_examples=40)
    @given(hostile_names, st.floats(1e-3, 1e6), st.floats(0.0, 1e6))
    def test_it_comes_back_whatever_its_name(self, tmp_path_factory, name, positive, other):
        path = tmp_path_factory.getbasetemp() / "node.wrl"
        node = ServoFields(control_p=positive, max_velocity=positive, max_force=other, damping_constant=other)
        text = vrml_text([servo_node(name, node)], SCHEMA, HEADER)
        path.write_bytes(text.encode("utf-8", errors="backslashreplace"))

        assert read_servo_node(path) == node
        assert read_vrml(path, SCHEMA, HEADER)[0]["name"] == printable(name)

    @pytest.mark.parametrize(
        ("old", "new", "complaint"),
        [
            ("controlP 10.0", "controlP -1.0", "controlP = -1 must be above 0"),
            ("controlP 10.0", "controlPID 10 0 0", "no field 'controlPID'"),
        ],
    )
    def test_another_node(self, tmp_path, old, new, complaint):
        text = vrml_text([servo_node("a", STRONG)], SCHEMA, HEADER)
        assert old in text
        (tmp_path / "a.wrl").write_text(text.replace(old, new))

        with pytest.raises(ExportError, match=complaint):
            read_servo_node(tmp_path / "a.wrl")

    def test_export_and_check(self, tmp_path, fits):
        """The check finds the motion of the node that was written."""
        model, options = load_model("mx106", "m6"), ServoOptions(timestep=STEP)

        result = write_webots_servo(model, tmp_path, options)
        found = check_webots_servo(model, tmp_path, options)

        node = read_servo_node(tmp_path / f"{slug(model.title)}.servo.wrl")
        grid = [run for run in fits[0].runs if run.settings.kp == 16.0 and run.bench == default_bench(model)]
        again = 1e3 * node_errors(model, node, grid, 16.0, STEP)
        assert list(found.errors.values()) == pytest.approx(again.tolist())
        assert node.max_force <= model.spec.stall_torque == 8.4
        assert node.max_velocity <= 15.0 * 0.9625 / model.values["kt"]
        assert any(
            note.startswith("maxForce = 8.4 N·m: not determined, the servo's own limit") for note in result.notes
        )
