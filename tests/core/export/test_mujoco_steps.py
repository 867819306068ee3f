"""A servo of MuJoCo's own parts: other time steps than the exported one, where commands stay late, and backlash."""

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from core.base.errors import ExportError
from core.export import check_export, export_model, protocol
from core.export.protocol import held_commands
from core.export.references import GridRun, converged_positions, default_bench
from core.export.targets.mujoco.actuators import BACKLASH_NOTE
from core.export.targets.mujoco.check import scene_of, simulate_in_mujoco
from core.export.targets.mujoco.xml import add_backlash, xml_text
from core.servo.shipped import load_model
from tests.core.conftest import catalogue_model, errors_in_mujoco
from tests.core.export.test_mujoco_hook import with_backlash

mujoco = pytest.importorskip("mujoco", reason="MuJoCo is not installed")
DELAY = 0.0153


def test_a_joint_for_backlash_would_cost_more_than_it_gains(tmp_path):
    """1° in sin_sin at 1 ms: 0.4 mrad without the joint, 8.4 with it, 0.2 if goals are corrected by its angle.

    The limits of the joint are stiff enough. The law is the reason: it sees the motor, half of the backlash aside.
    """
    model = with_backlash(load_model("mx106", "m1"), 1.0)
    notes = export_model(model, "mujoco", tmp_path).notes
    assert BACKLASH_NOTE in notes
    scene = scene_of(tmp_path, model)
    run = GridRun(trajectory="sin_sin", bench=default_bench(model), settings=model.default_settings())
    expected = converged_positions(model, run, 1e-3)
    assert np.abs(simulate_in_mujoco(scene, run, 1e-3) - expected).mean() < 1e-3

    root = ET.parse(scene).getroot()
    add_backlash(root, model)
    scene.write_text(xml_text(root), "utf-8")
    engine = mujoco.MjModel.from_xml_path(str(scene))
    errors = []
    for seen in (0.0, 1.0):
        data, found = mujoco.MjData(engine), np.empty(len(expected))
        for k, goal in enumerate(held_commands(run, 1e-3)[0]):
            found[k] = data.qpos.sum()
            data.ctrl[0] = goal - seen * data.qpos[1]
            mujoco.mj_step(engine, data)
        errors.append(np.abs(found - expected).mean())
    assert errors[0] > 7e-3
    assert errors[1] < 1e-3


@pytest.fixture
def one_trajectory(monkeypatch):
    """As exported, and at half the load."""
    monkeypatch.setattr(protocol, "PAPER_TRAJECTORIES", ("sin_sin",))
    monkeypatch.setattr(protocol, "CONDITIONS", {"": (1.0, 1.0), "half load": (0.5, 1.0)})


def late(tmp_path):
    model = catalogue_model("mx106", "m1", command_path=("command_delay",), values={"command_delay": DELAY})
    return model, export_model(model, "mujoco", tmp_path)


@pytest.mark.parametrize("step", [1e-3, 2e-4])
def test_a_delay_is_held_at_shorter_steps_than_the_exported_one(tmp_path, step):
    """It was lost without a word where its buffer was sized for 1 ms: 28 mrad at 0.2 ms."""
    model, _ = late(tmp_path)
    assert errors_in_mujoco(tmp_path, model, step, ["sin_sin"])["sin_sin"] < 1.0


def test_a_buffer_that_is_too_short_is_said_and_refused(tmp_path):
    model, result = late(tmp_path)
    (note,) = [note for note in result.notes if "nsample" in note]
    assert "0.1 ms and above" in note
    run = GridRun(trajectory="sin_sin", bench=default_bench(model), settings=model.default_settings())
    with pytest.raises(ExportError, match="a delay is lost: raise nsample"):
        simulate_in_mujoco(scene_of(tmp_path, model), run, 5e-5)
    finest = export_model(model, "mujoco", tmp_path / "finest", timestep=5e-5)
    assert any("0.05 ms and above" in note for note in finest.notes)


@pytest.mark.usefixtures("one_trajectory")
def test_the_check_runs_at_the_step_that_was_written(tmp_path):
    """It ran at 0.1 ms, whatever the file's: 31.5 mrad were stated of a servo that errs by 5.5."""
    model, _ = late(tmp_path)
    found = check_export(model, "mujoco", tmp_path)
    assert "with a time step of 1 ms" in found.how
    assert len(found.errors) == 2
    assert found.worst_mrad < 3.0


@pytest.mark.usefixtures("one_trajectory")
def test_the_check_reads_the_file_that_lies_there(tmp_path):
    model, result = late(tmp_path)
    servo = next(file for file in result.files if file.name.endswith(".servo.xml"))
    sound = check_export(model, "mujoco", tmp_path)
    servo.write_text(re.sub('damping="[^"]+"', 'damping="2"', servo.read_text(), count=1))
    broken = check_export(model, "mujoco", tmp_path)
    assert broken.errors["sin_sin"] > 10.0 * sound.errors["sin_sin"]
    assert broken.errors["sin_sin, half load"] == sound.errors["sin_sin, half load"]
