"""The BAM drives of Isaac Lab, Newton and mjlab: the servo's values under these engines' names."""

import re
from dataclasses import replace

import numpy as np
import pytest

from core.export import export_model
from core.export.approximation import Approximation
from core.export.drives import bam as bam_drive
from core.export.drives.bam import deployment_of, drive_notes, drive_values, in_bam_drive, in_drive, motor_of
from core.export.drives.carrying import Carried
from core.export.drives.reference import delay_steps
from core.export.references import default_bench
from core.servo.shipped import load_model
from tests.core.conftest import catalogue_model

PATH = {"command_delay": 0.021, "error_gain_ratio": 0.9, "supply_sag": 0.11}


@pytest.fixture
def quick(monkeypatch):
    """Without the simulations of errors that the notes state and the refit of the engine's DC motor."""
    error = np.array([1.25e-3])
    plain = Approximation(model=load_model("mx106", "m1"), refitted=(), errors=error, runs=(), held_back_error=1.0)
    monkeypatch.setattr("core.export.targets.isaaclab.in_drive", lambda *_: Carried(plain=plain, carried=None))
    monkeypatch.setattr(bam_drive, "engine_errors", lambda *_: lambda held: [np.zeros(1)])
    monkeypatch.setattr(
        "core.export.targets.isaaclab._plain", lambda model, *_: (load_model(model.servo, "m1"), "plain")
    )


@pytest.mark.parametrize("friction", ["m1", "m2", "m5", "m6"])
def test_a_motor_of_the_same_model_keeps_its_values(friction):
    model = load_model("xl330", friction)
    motor = motor_of(in_bam_drive(model)[0])

    assert motor["model"] == friction
    assert (motor["kt"], motor["resistance"]) == (model.values["kt"], model.values["R"])
    assert (motor["error_gain"], motor["max_pwm"]) == (model.control.error_gain, model.control.output_limit)
    assert {name: motor[name] for name in model.values if "friction" in name} == {
        name: value for name, value in model.values.items() if "friction" in name
    }


@pytest.mark.parametrize("friction", ["m3", "m4"])
def test_m3_and_m4_are_m5_with_equal_load_coefficients(friction):
    values = load_model("mx106", friction).values
    motor = motor_of(in_bam_drive(load_model("mx106", friction))[0])

    assert motor["model"] == "m5"
    assert motor["load_friction_motor"] == motor["load_friction_external"] == values["load_friction_base"]
    stribeck = values.get("load_friction_stribeck")
    assert motor.get("load_friction_motor_stribeck") == motor.get("load_friction_external_stribeck") == stribeck


@pytest.mark.parametrize(("step", "steps"), [(0.005, 5), (0.007, 3), (0.001, 21), (0.021, 1)])
def test_delays_are_steps_of_the_physics_rounded_up(step, steps):
    """21 ms at 5 ms are 5 steps; a whole number of steps stays."""
    held, lost = in_bam_drive(catalogue_model("mx106", "m1", command_path=tuple(PATH), values=PATH))

    assert lost == []
    assert delay_steps(held, step) == steps


def test_gain_sag_and_supply_are_mapped():
    """The drop of sag R·τ/k_t; the gain's ratio is part of `error_gain`."""
    model = catalogue_model("mx106", "m1", command_path=tuple(PATH), values=PATH)
    held = in_bam_drive(model)[0]
    deployment = deployment_of(held, model.default_settings(24.0), 0.005)
    drop = 0.11 / model.values["kt"]

    assert deployment["vin_drop_gain_range"] == (drop, drop)
    assert (deployment["kp_fw"], deployment["vin"], deployment["max_delay"]) == (24.0, model.supply_voltage, 5)
    assert motor_of(held)["error_gain"] == pytest.approx(0.9 * model.control.error_gain)
    assert drive_values(held, model.default_settings(), 0.005)["sag_gain"] == drop


def configuration(text, **changes):
    """Arguments that a written module gives Isaac Lab's classes, as dictionaries."""
    space = {}
    exec(text.replace("from isaaclab.actuators import", "BamActuatorCfg = BamMotorCfg = dict  #"), space)
    return space["bam_cfg"](["elbow"], **changes)


@pytest.mark.usefixtures("quick")
def test_isaac_labs_configuration_runs_beside_its_classes(tmp_path):
    model = catalogue_model("mx106", "m4", command_path=("command_delay", "dead_band"), values={"command_delay": 0.021})
    result = export_model(model, "isaaclab", tmp_path, timestep=0.005)
    written = next(file for file in result.files if file.name.endswith(".bam.py")).read_text()
    found = configuration(written, vin_range=(11.0, 12.6))

    assert found["motor"]["model"] == "m5"
    assert (found["min_delay"], found["max_delay"], found["armature"]) == (5, 5, model.values["armature"])
    assert (found["joint_names_expr"], found["vin_range"]) == (["elbow"], (11.0, 12.6))
    notes = " ".join(result.notes)
    assert "cannot represent dead band" in notes
    assert "21 ms is 5 steps of 5 ms" in notes
    assert "from the identified model at 5 ms over the runs of a check is 1.25 mrad" in notes


def test_values_carried_over_to_the_drive_lie_beside_with_both_errors(tmp_path, monkeypatch):
    """At 5 ms they are nearer, at an unseen load and gain too; delays of their file are steps of 5 ms."""
    monkeypatch.setattr(
        "core.export.targets.isaaclab._plain", lambda model, *_: (load_model(model.servo, "m1"), "plain")
    )
    model = catalogue_model("mx106", "m1", command_path=("command_delay",), values={"command_delay": 0.012})

    result = export_model(model, "isaaclab", tmp_path)

    found = in_drive(model, default_bench(model), model.default_settings())
    assert found.carried is not None
    assert found.carried.held_back_error < 0.9 * found.plain.held_back_error
    plain, carried = (next(tmp_path.glob(f"*{end}")).read_text() for end in (".bam.py", ".bam-5ms.py"))
    for text, moved, steps in ((plain, found.plain, 12), (carried, found.carried, 3)):
        written = configuration(text)
        assert written["motor"] == motor_of(moved.model)
        assert (written["armature"], written["max_delay"]) == (moved.model.values["armature"], steps)
        assert any(f"{moved.mean_mrad:.2f} mrad" in note for note in result.notes)
    stage = next(tmp_path.glob("*.bam-5ms.usda")).read_text()
    assert f"float newton:kt = {found.carried.model.values['kt']:.9g}" in stage


@pytest.mark.usefixtures("quick")
def test_a_current_law_has_no_bam_drive(tmp_path):
    result = export_model(load_model("erob80_100", "m1"), "isaaclab", tmp_path)

    assert not [file for file in result.files if ".bam." in file.name]
    assert any("BAM drive does not have the current law" in note for note in result.notes)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    ("friction", "flags"), [("m1", (0, 0, 0)), ("m2", (1, 0, 0)), ("m4", (1, 1, 0)), ("m6", (1, 1, 1))]
)
def test_usd_carries_the_drive(tmp_path, friction, flags):
    model = load_model("mx106", friction)
    result = export_model(model, "isaaclab", tmp_path)
    text = next(file for file in result.files if file.name.endswith(".bam.usda")).read_text()
    found = dict(re.findall(r"(?:int|float) newton:(\w+) = (\S+)", text))

    assert text.count('"NewtonBamDriveAPI"') == 1
    assert "rel newton:targets = </Pendulum/Joint>" in text
    assert tuple(int(found[name]) for name in ("stribeck", "loadDependent", "quadratic")) == flags
    assert float(found["kt"]) == pytest.approx(model.values["kt"])
    assert float(found["kpFw"]) == model.default_settings().kp
    assert text.count("{") == text.count("}")


@pytest.mark.usefixtures("quick")
def test_newton_reads_the_drive(tmp_path):
    """A drive registered under the schema's name gets every number, in snake case."""
    actuators = pytest.importorskip("newton.actuators", reason="newton is not installed")
    usd = pytest.importorskip("pxr.Usd", reason="usd-core is not installed")
    model = load_model("mx106", "m6")
    result = export_model(model, "isaaclab", tmp_path)
    stage = usd.Stage.Open(str(next(file for file in result.files if file.name.endswith(".bam.usda"))))
    drive = type("Drive", (actuators.DriveBase,), {})
    actuators.register_actuator_component(bam_drive.API, drive, actuators.ComponentKind.DRIVE)

    parsed = actuators.parse_actuator_prim(stage.GetPrimAtPath("/Pendulum/Servo"))

    expected = drive_values(in_bam_drive(model)[0], model.default_settings(), 0.001)
    assert parsed.drive_kwargs == pytest.approx(expected, rel=1e-6)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    ("model", "step", "said"),
    [
        (replace(load_model("mx106", "m1"), quadratic_gate="opposing"), 0.005, []),
        (load_model("mx106", "m3"), 0.005, ["M3 is written as the drive's M5 with equal load coefficients on both"]),
        (replace(load_model("mx106", "m6"), quadratic_gate="opposing"), 0.005, ["always counts the quadratic term"]),
        (replace(load_model("mx106", "m6"), quadratic_gate="larger_torque"), 0.005, []),
        (
            load_model("mx106", "m1"),
            0.002,
            ["At 2 ms the BAM drive is 1.50 mrad away on average and 2.00 mrad in the worst run, with the "],
        ),
        (
            catalogue_model("mx106", "m1", command_path=tuple(PATH), values=PATH),
            0.005,
            ["The delay of 21 ms is 5 steps of 5 ms, rounded up. ", ": it sags too much."],
        ),
        (
            catalogue_model("mx106", "m1", command_path=("backlash",), values={"backlash": 0.02}),
            0.005,
            ["`passive_<joint>_backlash` on the same axis with a range of ±0.01 rad"],
        ),
    ],
    ids=["nothing", "M3", "gate", "no gate", "time step", "command path", "backlash"],
)
def test_what_the_drive_does_differently_is_noted(monkeypatch, model, step, said):
    monkeypatch.setattr(bam_drive, "engine_errors", lambda *_: lambda held: [np.array([-0.002]), np.array([0.001])])
    plain = Approximation(model=model, refitted=(), errors=np.ones(1), runs=(), held_back_error=1.0)
    found = Carried(plain=plain, carried=None)
    law, *notes = drive_notes(model, default_bench(model), model.default_settings(), step, found, "a file")
    order = [note for note in notes if "update order" not in note]
    assert law.endswith(f"The values were identified with {model.integration}.")
    assert len(order) == len(said) == len(notes) - 1
    for note, words in zip(order, said, strict=True):
        assert words in note
