"""Servos that are commanded by a speed, duty cycle, voltage, current or torque: programs equal the kernel or refuse."""

import itertools
import json
import re
from dataclasses import replace

import numpy as np
import pytest

from bench_gui.cli import main
from core.base.errors import ExportError
from core.export import check_export, export_model, exporters
from core.export.programs import program
from core.export.servo_file import servo_text
from core.export.targets.c_header import compiler
from core.servo.actuator import COMMANDS
from core.servo.shipped import load_model
from tests.bench.commands import planted

OTHERS = [kind for kind in COMMANDS if kind != "position"]
MODELS = {kind: planted(kind, 1) for kind in OTHERS}
ABLE = [target for target, exporter in exporters().items() if exporter.any_law]


def continuous(model):
    return model


def sampled(model):
    return replace(model, control=replace(model.control, control_period=0.002))


def text_of(model):
    return servo_text(model, model.default_settings())


def cases():
    """Every program with every command and law; the fast ones of them are few."""
    bounds = (("c", None, 0.15), ("webots", None, 1.0), ("mujoco-hook", "mujoco", 1.0), ("isaaclab", "torch", 1.5))
    rare = pytest.mark.exhaustive("the other commands of these programs")
    for (target, package, largest), kind, law in itertools.product(bounds, OTHERS, (continuous, sampled)):
        often = target == "c" or (kind == "velocity" and (target == "webots" or law is continuous))
        name = f"{target}-{kind}-{law.__name__}"
        yield pytest.param(target, package, largest, kind, law, marks=() if often else rare, id=name)


@pytest.fixture
def no_notes(monkeypatch):
    monkeypatch.setattr("core.export.exporting.step_notes", lambda *_: [])


@pytest.mark.usefixtures("no_notes")
class TestTargets:
    @pytest.mark.parametrize("kind", OTHERS)
    @pytest.mark.parametrize("target", list(exporters()))
    def test_a_target_says_what_a_command_is_or_refuses_it(self, target, kind, tmp_path):
        command = COMMANDS[kind]
        if target in ABLE:
            export_model(MODELS[kind], target, tmp_path)
            readme = (tmp_path / "README.md").read_text("utf-8")
            assert f"give {command.words} [{command.unit}]" in readme
            assert not re.search(r"\bkp \d|DC motor, with|bam_cfg", readme)
        else:
            with pytest.raises(
                ExportError, match=rf"commanded by {command.words}; targets that take it: .*drake.*c, json$"
            ):
                export_model(MODELS[kind], target, tmp_path)
            assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize("options", [{"kp": 20.0}, {"ki": 1.0}, {"damping": 0.5}])
    def test_gains_of_a_position_loop_are_refused(self, options, tmp_path):
        (name,) = options
        with pytest.raises(ExportError, match=f"a servo commanded by a torque has no {name}; leave it out"):
            export_model(MODELS["torque"], "c", tmp_path, **options)
        assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("no_notes")
class TestAgainstTheKernel:
    @pytest.mark.parametrize(("target", "package", "largest", "kind", "law"), list(cases()))
    def test_the_motion_is_that_of_the_model(self, target, package, largest, kind, law, tmp_path):
        pytest.importorskip(package or "core")
        if target == "c":
            compiler()
        model = law(MODELS[kind])
        export_model(model, target, tmp_path)
        found = check_export(model, target, tmp_path)
        assert len(found.errors) == 4
        assert found.worst_mrad < largest


class TestOtherUses:
    """A use that needs goal angles says so in a line."""

    @pytest.mark.parametrize(
        ("call", "what"),
        [
            (["feedforward", "FILE", "--trajectory", "sin_sin"], "feed-forward"),
            (["rollout", "--model", "FILE", "--trajectory", "sin_sin", "-o", "motion.npz"], "a trajectory"),
            (["webots", "fit", "FILE"], "a Servo node"),
        ],
    )
    def test_a_command_that_needs_goal_angles_is_refused(self, call, what, tmp_path, capsys, monkeypatch):
        monkeypatch.chdir(tmp_path)
        file = tmp_path / "torque.json"
        file.write_text(MODELS["torque"].to_json_text(), "utf-8")
        with pytest.raises(SystemExit):
            raise SystemExit(main([str(file) if part == "FILE" else part for part in call]))
        said = capsys.readouterr().err.strip().splitlines()
        assert said[-1] == (
            f"bench: {what} needs a servo that is commanded by an angle; this one is commanded by a torque"
        )
        assert list(tmp_path.iterdir()) == [file]


class TestFiles:
    @pytest.mark.parametrize("kind", OTHERS)
    def test_a_file_of_version_4_states_the_command(self, kind):
        data = json.loads(text_of(MODELS[kind]))
        assert (data["version"], data["command"], data["command_unit"]) == (4, kind, COMMANDS[kind].unit)
        assert (data["angle_ignored"], data["speed_feedback"]) == (1.0, float(kind == "velocity"))

    @pytest.mark.parametrize("version", [1, 2, 3])
    def test_a_file_of_an_earlier_version_is_commanded_by_an_angle(self, version):
        model = load_model("mx106", "m4")
        data = json.loads(text_of(model))
        assert data["version"] == 1
        assert not {"command", "angle_ignored", "speed_feedback"} & set(data)
        if version > 1:
            data |= {"version": version, "contact": "rigid", "bristle_stiffness": 1.0, "bristle_damping": 1.0}
        servo = program("servobench_servo")
        numbers = dict(zip(servo.FIELDS, servo.load_servo(data), strict=True))
        assert numbers["angle_ignored"] == numbers["speed_feedback"] == 0.0
        pytest.importorskip("torch")
        numbers = program("servobench_torch").read_servo(data)
        assert numbers["angle_ignored"] == numbers["speed_feedback"] == 0.0

    def test_the_zero_of_a_joint_is_added_to_angles_only(self):
        servo = program("servobench_servo")
        for model, added in ((MODELS["torque"], 0.0), (load_model("mx106", "m4"), 0.3)):
            data = {**json.loads(text_of(model)), "joint_zero": 0.3}
            bank = servo.Bank([data], 1e-3)
            bank.command(np.array([0.1]), 1.0)
            assert bank.past[0, 0, bank.head] == pytest.approx(0.1 + added)
