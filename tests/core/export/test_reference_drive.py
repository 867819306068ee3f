"""Rhoban/bam's actuator in mjlab: its order of update as MuJoCo runs it, and values carried over to that order.

The actuator itself (better-actuator-models 1.0.2, mjlab 1.3, MuJoCo Warp 3.7 on the processor) was run on the grid of
`as_reference_drive`: the simulation here differs from it by 0.009 mrad for mx106:m6, 0.003 for mx106:m1.
"""

import json
from dataclasses import replace

import numpy as np
import pytest

from core.export.contract import ServoOptions
from core.export.drives.carrying import Carried
from core.export.drives.reference import FIRMWARE, STEP, as_reference_drive, reference_motion, refusal
from core.export.references import default_bench
from core.export.targets.mjlab import EXPORTER
from core.export.targets.mujoco.xml import pendulum_element, xml_text
from core.kernel.layout import Slot
from core.motion.trajectories import make_trajectory
from core.servo.bench import Bench
from core.servo.model import build_model
from core.servo.shipped import load_model
from tests.core.conftest import catalogue_model

mujoco = pytest.importorskip("mujoco", reason="MuJoCo is not installed")
BENCH = Bench(mass=0.5, length=0.15)


def with_path(model, **values):
    """The model with command path terms of these values."""
    built = build_model(model.servo, model.friction, command_path=tuple(values))
    return replace(built, parameters=built.parameters.with_values(model.values | values))


def in_mujoco(model, goals, driven, sag=0.0):
    """Positions of a pendulum in MuJoCo whose friction is written before each step as the reference writes it."""
    settings = model.default_settings()
    row = model.bound_row(BENCH, settings, STEP)
    root = pendulum_element("p", model, BENCH, settings, STEP)
    option, joint = root.find("option"), root.find("worldbody/body/joint")
    assert option is not None
    assert joint is not None
    option.set("integrator", "Euler")
    joint.attrib.pop("class")
    joint.attrib |= {
        "armature": repr(float(row[Slot.ARMATURE])), "frictionloss": "1", "solreffriction": "-5e4 -200",
        "solimpfriction": "0.99 0.9999 0.001 0.5 2",
    }  # fmt: skip
    engine = mujoco.MjModel.from_xml_string(xml_text(root))
    data = mujoco.MjData(engine)
    mujoco.mj_forward(engine, data)
    kt, resistance, supply = row[Slot.TORQUE_CONSTANT], row[Slot.RESISTANCE], settings.supply_voltage
    positions = []
    for goal, on in zip(goals, driven, strict=True):
        q, v = data.qpos[0], data.qvel[0]
        positions.append(q)
        motor, load = data.qfrc_applied[0], -data.qfrc_bias[0]
        budget = row[Slot.FRICTION_BASE] + abs(row[Slot.LOAD_MOTOR] * motor - row[Slot.LOAD_EXTERNAL] * load)
        quadratic = (
            row[Slot.LOAD_EXTERNAL_QUAD] * load**2 if abs(motor) > abs(load) else row[Slot.LOAD_MOTOR_QUAD] * motor**2
        )
        rest = abs(row[Slot.LOAD_MOTOR_STRIBECK] * motor - row[Slot.LOAD_EXTERNAL_STRIBECK] * load)
        share = np.exp(-((abs(v) / row[Slot.STRIBECK_VELOCITY]) ** row[Slot.STRIBECK_EXPONENT]))
        engine.dof_frictionloss[0] = budget + share * (row[Slot.FRICTION_STRIBECK] + rest + quadratic)
        engine.dof_damping[0] = row[Slot.FRICTION_VISCOUS]
        duty = np.clip(row[Slot.KP] * (goal - q), -row[Slot.OUTPUT_LIMIT], row[Slot.OUTPUT_LIMIT])
        data.qfrc_applied[0] = on * (kt * (supply - sag * abs(motor)) * duty - kt**2 * v) / resistance
        mujoco.mj_step(engine, data)
    return np.array(positions)


@pytest.mark.parametrize(("friction", "sag"), [("m1", 0.5), ("m6", 0.0)])
def test_the_order_of_update_is_mujocos(friction, sag):
    """Bar: 0.02 mrad over two seconds of moving, stopping and a release."""
    model = load_model("mx106", friction)
    path = make_trajectory("lift_and_drop")
    time = STEP * np.arange(round(path.duration / STEP))
    goals, driven = path.goal(time), path.torque_enable(time).astype(float)
    row = model.bound_row(BENCH, model.default_settings(), STEP)

    supply = np.array([model.supply_voltage])
    found = reference_motion(row[None], supply, goals[None], driven[None], STEP, sag=sag)

    expected = in_mujoco(model, goals, driven, sag)
    assert np.ptp(expected) > 0.5
    assert np.abs(found[0] - expected).mean() < 2e-5


def test_a_current_limit_is_the_firmwares_attempt():
    """Held against gravity by less than the current asks for: k_t·I − F at most."""
    model = load_model("mx106", "m1")
    row = model.bound_row(BENCH, model.default_settings(), STEP)
    goals, driven = np.full((1, 400), 1.5), np.ones((1, 400))
    supply = np.array([model.supply_voltage])

    free, limited = (
        reference_motion(row[None], supply, goals, driven, STEP, current_limit=limit)[0, -1] for limit in (np.inf, 0.1)
    )

    assert free > 1.3
    reached = row[Slot.TORQUE_CONSTANT] * 0.1 + row[Slot.FRICTION_BASE]
    assert BENCH.gravity_torque * np.sin(limited) < reached


def test_values_carried_over_are_nearer_at_loads_and_gains_they_were_not_fitted_to():
    model = load_model("mx106", "m6")

    found = as_reference_drive(model, default_bench(model), model.default_settings())

    assert found.carried is not None
    assert found.carried.mean_mrad < 0.85 * found.plain.mean_mrad
    assert found.carried.worst_mrad < 0.7 * found.plain.worst_mrad
    assert found.carried.held_back_error < found.plain.held_back_error
    assert found.plain.model.values == model.values


def test_a_delay_is_rounded_up_and_the_rest_of_the_path_is_named():
    """21 ms at 5 ms are 5 steps; a gain ratio is part of the gain."""
    model = with_path(load_model("mx106", "m1"), command_delay=0.021, error_gain_ratio=1.1, dead_band=0.01)

    found = as_reference_drive(model, BENCH, model.default_settings(16.0))

    assert found.delay_steps == 5
    assert found.gain == pytest.approx(17.6)
    assert found.lost == ("dead band",)


@pytest.mark.parametrize(
    ("servo", "changes", "gains", "lost"),
    [
        ("mx106", {}, {}, ()),
        ("mx106", {"drive": "fast decay"}, {"ki": 1.0}, ("fast decay of the drive", "integral gain")),
        ("mx106", {"output_limit": 0.9}, {}, ("a largest duty cycle other than 0.9625",)),
        ("xl330", {}, {}, ("a motor without its current limit of 1.75 A",)),
    ],
)
def test_what_the_actuator_lacks_or_adds_is_named(monkeypatch, servo, changes, gains, lost):
    asked = []
    monkeypatch.setattr(
        "core.export.drives.reference.in_engine_order",
        lambda *given: asked.append(given) or Carried(plain=None, carried=None),
    )
    model = catalogue_model(servo, "m1", drive=changes.get("drive", "slow decay"))
    model = replace(model, control=replace(model.control, **changes))
    found = as_reference_drive(model, BENCH, replace(model.default_settings(), **gains))
    assert found.lost == lost
    ((_, held, *_, step, limits),) = asked
    assert (held.control.drive, step) == ("slow decay", 0.005)
    error_gain, duty, current = FIRMWARE[servo]
    assert (limits.duty, limits.current, limits.sag) == (duty, current, 0.0)
    assert found.gain == pytest.approx(model.default_settings().kp * model.control.error_gain / error_gain)


@pytest.mark.parametrize(("name", "why"), [("erob80_100", "voltage law only"), ("sts3215", "servo sts3215")])
def test_what_it_cannot_be_is_said(tmp_path, name, why):
    model = load_model(name, "m1")

    result = EXPORTER.write(model, tmp_path, ServoOptions())

    assert why in refusal(model)
    assert any(why in note for note in result.notes)
    assert not list(tmp_path.glob("*mjlab-bam*"))


def test_mjlab_gets_files_of_the_reference_with_both_errors(tmp_path):
    model = with_path(load_model("mx106", "m1"), command_delay=0.012, error_gain_ratio=0.9)

    result = EXPORTER.write(model, tmp_path, ServoOptions())

    found = as_reference_drive(model, default_bench(model), model.default_settings())
    assert found.carried is not None
    plain, carried = (next(tmp_path.glob(f"*{end}")) for end in (".mjlab-bam.json", ".mjlab-bam-5ms.json"))
    for file, moved in ((plain, found.plain), (carried, found.carried)):
        values = {name: value for name, value in moved.model.values.items() if name != "error_gain_ratio"}
        assert json.loads(file.read_text()) == values | {"actuator": "mx106", "model": "m1"}
        assert any(f"{moved.mean_mrad:.2f}" in note and f"{moved.worst_mrad:.2f} mrad" in note for note in result.notes)
    assert "Its delay is 3 steps, 12 ms rounded up at 5 ms. It does not read the delay from its file." in result.notes
    readme = (tmp_path / "README.md").read_text()
    for said in (f'json_path="{carried.name}"', f"kp_fw={found.gain:.6g}", "delay_min_lag=3", "delay_max_lag=3"):
        assert said in readme
