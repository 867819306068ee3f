"""The Servo node of seed 002, section 3.42: its rule step by step, its fit to a model, its text."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.bench import Bench
from core.errors import ExportError, ModelError
from core.export.contract import ServoOptions
from core.export.files import README, printable, slug
from core.export.references import default_bench
from core.export.targets.webots.vrml import read_vrml, vrml_text
from core.shipped import load_model
from core.studies.webots.export.fitted_node import fit_servo_node, load_of_model, node_errors
from core.studies.webots.export.target import (
    HEADER,
    SCHEMA,
    check_webots_servo,
    servo_node,
    write_webots_servo,
)
from core.studies.webots.fields import Load, ServoFields
from core.studies.webots.kernel import simulate_node
from core.studies.webots.nodes import read_servo_node
from tests.core.test_export import hostile_names

STRONG = ServoFields(max_velocity=2.0, max_force=1e6)
LOAD = Load(inertia=0.02, gravity_torque=0.5, offset=0.0)
STEP = 0.008


def moved(node, goal, pendulum=LOAD, enable=1.0, steps=400, step=STEP):
    return simulate_node(node, pendulum, np.full(steps, float(goal)), np.full(steps, float(enable)), step).position


class TestRule:
    def test_a_servo_with_force_enough_does_what_3_42_5_says(self):
        """Vc = P·(Pt − Pc) clipped to ±Vd, then to Vp ± A·ts, whatever the load."""
        node, goal = replace(STRONG, acceleration=30.0), 1.0
        position = previous = 0.0
        expected = []
        for _ in range(400):
            expected.append(position)
            wanted = min(max(node.control_p * (goal - position), -node.max_velocity), node.max_velocity)
            change = (wanted - previous) / STEP
            if abs(change) > node.acceleration:
                change = np.sign(change) * node.acceleration
            previous += change * STEP
            position += previous * STEP

        np.testing.assert_allclose(moved(node, goal), expected, atol=1e-9)

    def test_the_velocity_limit_without_one_of_acceleration(self):
        """From 0 to 1 rad at 2 rad/s until P·error falls below it, then e ← (1 − P·ts)·e."""
        path = moved(STRONG, 1.0)
        speeds = np.diff(path) / STEP
        near = 10.0 * (1.0 - path[:-1]) < 2.0

        np.testing.assert_allclose(speeds[~near], 2.0, rtol=1e-6)
        np.testing.assert_allclose((1.0 - path[1:])[near], 0.92 * (1.0 - path[:-1])[near], atol=1e-9)

    def test_a_weak_servo_is_pushed_with_all_its_force(self):
        """J·a = F while Vc is out of reach."""
        node = replace(STRONG, max_force=0.01)
        weightless = replace(LOAD, gravity_torque=0.0)
        path = moved(node, 1.0, weightless, steps=20)

        np.testing.assert_allclose(np.diff(path, 2) / STEP**2, 0.01 / 0.02, rtol=1e-9)

    def test_it_holds_what_it_can_and_not_more(self):
        """A gravity torque at the goal below maxForce is held; above, the arm sinks to where it is maxForce."""
        goal = 0.5
        pull = LOAD.gravity_torque * np.sin(goal)

        assert moved(replace(STRONG, max_force=1.01 * pull), goal)[-1] == pytest.approx(goal, abs=1e-6)
        weak = replace(STRONG, max_force=0.5 * pull, damping_constant=0.05)
        assert moved(weak, goal, steps=4000)[-1] == pytest.approx(np.arcsin(0.5 * pull / LOAD.gravity_torque), abs=1e-3)

    def test_a_released_servo_is_a_damped_pendulum(self):
        """Force 0: J·a = −B·v − G·sin θ, whatever the goal."""
        node = replace(STRONG, damping_constant=0.01)
        tilted = replace(LOAD, offset=0.1)
        step, steps = 1e-4, 20000
        path = moved(node, 3.0, tilted, enable=0.0, steps=steps, step=step)
        w, decay = np.sqrt(0.5 / 0.02), 0.01 / (2 * 0.02)
        ringing = np.sqrt(w**2 - decay**2)
        time = step * np.arange(steps)
        expected = -0.1 + 0.1 * np.exp(-decay * time) * (
            np.cos(ringing * time) + decay / ringing * np.sin(ringing * time)
        )

        np.testing.assert_allclose(path, expected, atol=1e-3)

    @settings(max_examples=30)
    @given(st.floats(0.1, 50.0), st.floats(0.1, 20.0), st.floats(0.0, 5.0), st.floats(1.0, 1e3), st.floats(0.0, 1.0))
    def test_the_motor_never_exceeds_its_limits(self, p, speed, force, acceleration, damping):
        """Torque = J·a + B·v + G·sin θ stays within ±maxForce."""
        node = ServoFields(
            control_p=p, max_velocity=speed, max_force=force, acceleration=acceleration, damping_constant=damping
        )
        path = moved(node, 1.0, steps=100)
        velocity = np.diff(path, prepend=0.0) / STEP
        torque = (
            LOAD.inertia * np.diff(velocity) / STEP + damping * velocity[1:] + LOAD.gravity_torque * np.sin(path[:-1])
        )

        assert np.abs(torque).max() <= force * (1.0 + 1e-6) + 1e-6

    @pytest.mark.parametrize(
        "wrong",
        [
            {"control_p": 0.0},
            {"max_velocity": -1.0},
            {"acceleration": 0.0},
            {"max_force": -1.0},
            {"damping_constant": np.nan},
        ],
    )
    def test_what_the_manual_does_not_allow(self, wrong):
        with pytest.raises(ModelError, match="Servo node"):
            replace(STRONG, **wrong)

    def test_the_model_on_its_bench(self):
        model, bench = load_model("mx106", "m6"), Bench(mass=0.5, length=0.15, angle_offset=0.1)
        pendulum = load_of_model(model, bench)

        assert pendulum.inertia == bench.inertia + model.values["armature"]
        assert pendulum.offset == 0.1 + model.values["q_offset"]


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
        """The README states the fit's error; the check finds the motion of the node that was written."""
        model, options = load_model("mx106", "m6"), ServoOptions(timestep=STEP)

        result = write_webots_servo(model, tmp_path, options)
        found = check_webots_servo(model, tmp_path, options)

        node = read_servo_node(tmp_path / f"{slug(model.title)}.servo.wrl")
        grid = [run for run in fits[0].runs if run.settings.kp == 16.0 and run.bench == default_bench(model)]
        again = 1e3 * node_errors(model, node, grid, 16.0, STEP)
        assert list(found.errors.values()) == pytest.approx(again.tolist())
        assert result.error_mrad <= fits[1].mean_mrad
        assert f"{result.error_mrad:.2f} mrad on average" in (tmp_path / README).read_text("utf-8")
        assert node.max_force <= model.spec.stall_torque == 8.4
        assert node.max_velocity <= 15.0 * 0.9625 / model.values["kt"]
        assert any(
            note.startswith("maxForce = 8.4 N·m: not determined, the servo's own limit") for note in result.notes
        )

    def test_an_integral_gain_is_refused(self, tmp_path):
        model = load_model("mx106", "m1")
        integral = replace(model, control=replace(model.control, integral_ratio=1.0))

        with pytest.raises(ExportError, match="leave ki at 0"):
            write_webots_servo(integral, tmp_path, ServoOptions(ki=1.0))
