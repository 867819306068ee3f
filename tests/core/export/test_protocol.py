"""One protocol for all checks: held goals, the example's step, half and double load and gain."""

import json
from dataclasses import replace

import numpy as np
import pytest

from bench_gui.cli import main
from core.export import check_export, export_model
from core.export.contract import ServoOptions
from core.export.drives.plain import PlainDrive
from core.export.files import README
from core.export.protocol import at_gain, conditions, measured
from core.export.references import converged_positions, default_bench
from core.servo.shipped import load_model

MODEL = load_model("mx106", "m1")
EVERY = {
    "": (1.0, 1.0),
    "half load and gain": (0.5, 0.5),
    "half load at double gain": (0.5, 2.0),
    "double load at half gain": (2.0, 0.5),
    "double load and gain": (2.0, 2.0),
}
SOME = {"": (1.0, 1.0), "double load": (2.0, 1.0), "half gain": (1.0, 0.5)}


@pytest.fixture
def every_condition(own_condition_alone, monkeypatch):
    monkeypatch.setattr("core.export.protocol.CONDITIONS", EVERY)


@pytest.fixture
def some_conditions(own_condition_alone, monkeypatch):
    monkeypatch.setattr("core.export.protocol.CONDITIONS", SOME)
    monkeypatch.setattr("core.export.protocol.PAPER_TRAJECTORIES", ("sin_sin",))


def test_the_protocol_is_the_stated_one():
    """Of the module as it is imported, whatever the other tests make of it."""
    import importlib.util

    spec = importlib.util.find_spec("core.export.protocol")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert dict(module.CONDITIONS) == EVERY


def test_the_reference_holds_its_goals_at_the_step_of_the_example(every_condition):
    options, asked = ServoOptions(timestep=0.004, kp=9.0), []

    def rollout(runs, step):
        asked.append((runs, step))
        return [converged_positions(MODEL, run, step, held=True) for run in runs]

    found = measured(MODEL, options, "a target", "run here", rollout)
    ((runs, step),) = asked
    bench = default_bench(MODEL)
    assert step == 0.004
    assert len(found.errors) == len(runs) == 20
    assert set(found.errors.values()) == {0.0}
    loads = {run.bench.gravity_torque / bench.gravity_torque for run in runs}
    assert loads == {0.5, 1.0, 2.0}
    assert {run.settings.kp for run in runs} == {4.5, 9.0, 18.0}
    assert (
        "with a time step of 4 ms, goals held over each step, as exported and at half load and gain, half load at"
        in found.statement
    )


def test_a_lead_of_half_a_step_is_an_error(some_conditions):
    """What moves with goals that go on within a step is not what moves with held ones."""

    def leading(runs, step):
        return [converged_positions(MODEL, run, step) for run in runs]

    found = measured(MODEL, ServoOptions(timestep=0.005), "a target", "run here", leading)
    assert found.errors["sin_sin"] > 2.0


@pytest.mark.parametrize(("servo", "damping"), [("mx106", 4.0), ("erob80_50", 2.0)])
def test_a_quarter_of_the_gain_halves_the_damping_of_a_current_law(servo, damping):
    """kd = k_t·damping·√kp; that of a voltage law does not depend on kp."""
    drive = PlainDrive(
        stiffness=40.0, damping=4.0, torque_limit=30.0, no_load_speed=6.0, friction=0.2, viscous=0.05, armature=0.1
    )
    assert at_gain(drive, load_model(servo, "m1"), 0.25) == replace(drive, stiffness=10.0, damping=damping)


@pytest.mark.parametrize(
    ("target", "package", "largest"),
    [
        ("mujoco-hook", "mujoco", 1.0),
        ("choreonoid", None, 15.0),
        ("sdformat", None, 15.0),
        *(
            pytest.param(*row, marks=pytest.mark.exhaustive("targets that are moved as those before them are"))
            for row in (
                ("urdf", "mujoco", 15.0), ("c", None, 0.1), ("webots", None, 1.0), ("isaaclab", "torch", 1.0),
                ("mujoco", "mujoco", 5.0),
            )
        ),
    ],
)  # fmt: skip
def test_each_target_is_moved_at_other_loads_and_gains(tmp_path, some_conditions, target, package, largest):
    """A servo of friction M1, which every target holds nearly: its error is as small at loads and gains it was not
    exported at, which it could not be if the load or the gain had stayed."""
    if package:
        pytest.importorskip(package)
    export_model(MODEL, target, tmp_path, timestep=0.002)
    found = check_export(MODEL, target, tmp_path, timestep=0.002)
    assert set(found.errors) == {"sin_sin", "sin_sin, double load", "sin_sin, half gain"}
    assert found.worst_mrad < largest
    assert "2 ms" in found.statement
    assert found.table in (tmp_path / README).read_text("utf-8")
    runs = conditions(MODEL, ServoOptions(timestep=0.002), target)
    held, other = (converged_positions(MODEL, runs[name], 0.002) for name in ("sin_sin", "sin_sin, half gain"))
    assert 1e3 * np.abs(held - other).mean() > 20.0


def test_bench_export_names_the_conditions(tmp_path, capsys, some_conditions):
    assert main(["export", "mx106:m1", "--to", "c", "-o", str(tmp_path), "--check", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found["checked"]["mrad"]) == {"sin_sin", "sin_sin, double load", "sin_sin, half gain"}
    assert found["checked"]["worst_mrad"] == max(found["checked"]["mrad"].values())
    assert "goals held over each step" in found["checked"]["how"]
