"""Model files: what is written is read back bit for bit, and what is not a model is refused in one line."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.errors import ModelError
from core.kernel.layout import Slot
from core.servo.catalogue import servos
from core.servo.model import FORMAT_VERSION, ServoModel, build_model, model_from_bam, model_to_bam
from core.servo.shipped import load_model, shipped_models
from core.servo.terms import COMMAND_PATH_TERMS, FRICTION_MODELS
from tests.core.conftest import LAW_MODELS, catalogue_model

finite = st.floats(allow_nan=False, allow_infinity=False)
jsonable = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | finite | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@st.composite
def models(draw):
    law = LAW_MODELS[draw(st.sampled_from(list(LAW_MODELS)))]
    path = tuple(t for t in COMMAND_PATH_TERMS if draw(st.booleans()))
    base = catalogue_model(
        friction=draw(st.sampled_from(FRICTION_MODELS)),
        command_path=path,
        quadratic_gate=draw(st.sampled_from(["larger_torque", "opposing"])),
        integrator=draw(st.sampled_from(["algorithm1", "bam"])),
        dt=draw(st.floats(1e-5, 0.1)),
        substeps=draw(st.integers(1, 50)),
        name=draw(st.text(max_size=20)),
        provenance=draw(st.dictionaries(st.text(max_size=8), jsonable, max_size=4)),
        **law,
    )
    low, high = base.parameters.bounds().T
    share = np.array(draw(st.lists(st.floats(0, 1), min_size=len(low), max_size=len(low))))
    return base.with_vector(low + share * (high - low))


@given(models())
def test_json_round_trip_is_bit_equal(model):
    text = model.to_json_text()
    back = ServoModel.from_json_text(text)

    assert back == model
    assert back.to_json_text() == text
    np.testing.assert_array_equal(back.rows(), model.rows())


@pytest.mark.parametrize(
    ("servo", "friction"),
    [
        pytest.param(servo, friction, marks=[] if servo == "mx106" else pytest.mark.exhaustive("the other servos"))
        for servo in servos()
        for friction in shipped_models(servo)
        if not load_model(servo, friction).command_path
    ],
)
def test_bam_round_trip(servo, friction):
    model = load_model(servo, friction)

    flat = model_to_bam(model)
    back = model_from_bam(flat)

    assert back.values == model.values
    assert (back.quadratic_gate, back.integrator) == ("opposing", "bam")
    assert model_to_bam(back) == flat
    assert json.loads(json.dumps(flat)) == flat


def test_bam_names_and_defaults():
    """The peer's max_velocity and error_gain_ratio; q_offset 0 and R 2 Ω where a file has none."""
    data = {"actuator": "sts3215", "model": "m1", "kt": 1.2, "armature": 0.02, "friction_base": 0.05,
            "friction_viscous": 0.04, "max_velocity": 6.0, "error_gain_ratio": 0.9,
            "command_delay": 0.021}  # fmt: skip

    model = ServoModel.from_json(data)

    assert model.values["R"] == 2.0
    assert model.values["q_offset"] == 0.0
    assert model.command_path == ("command_delay", "error_gain_ratio", "goal_slew")
    assert model.rows()[0, Slot.GOAL_SLEW] == 6.0
    assert {name: model_to_bam(model)[name] for name in ("command_delay", "max_velocity", "error_gain_ratio")} == {
        "command_delay": 0.021, "max_velocity": 6.0, "error_gain_ratio": 0.9,
    }  # fmt: skip


def test_a_value_outside_the_catalogues_bounds_widens_them():
    data = model_to_bam(load_model("mx106", "m1")) | {"kt": 99.0}

    assert model_from_bam(data).parameters["kt"].upper == 99.0


def test_bam_has_no_other_command_path():
    model = build_model("mx106", "m1", command_path=("command_delay", "dead_band", "supply_sag"))

    with pytest.raises(ModelError, match="dead_band, supply_sag"):
        model_to_bam(model)


@pytest.mark.parametrize(
    "change",
    [
        {"actuator": "teapot"},
        {"model": "m9"},
        {"kt": "strong"},
        {"kt": True},
        {"kt": math.inf},
        {"alpha": 1.0},
        {"__import__": 1.0},
    ],
)
def test_wrong_bam_files_are_refused(change):
    with pytest.raises(ModelError):
        ServoModel.from_json(model_to_bam(load_model("mx106", "m1")) | change, "theirs.json")


def test_a_newer_version_is_refused():
    data = build_model("mx106", "m1").to_json() | {"version": FORMAT_VERSION + 1}

    with pytest.raises(ModelError, match=r"mine\.json: .*newer"):
        ServoModel.from_json(data, "mine.json")


@pytest.mark.parametrize(
    "wrong",
    [
        {"friction": "m7"},
        {"quadratic_gate": "none"},
        {"integrator": "rk4"},
        {"dt": 0.0},
        {"dt": math.nan},
        {"substeps": 0},
        {"supply_voltage": -1.0},
    ],
)
def test_impossible_models_are_refused(wrong):
    with pytest.raises(ModelError):
        replace(build_model("mx106", "m1"), **wrong)


def test_impossible_values_are_refused():
    model = build_model("mx106", "m1")
    for values in ({"kt": 0.0}, {"R": -1.0}, {"armature": 0.0}, {"friction_base": -0.1}):
        with pytest.raises(ModelError):
            model.with_values(values)
    with pytest.raises(ModelError, match="missing"):
        replace(model, friction="m6")


def test_hostile_files_are_refused(tmp_path):
    deep = tmp_path / "deep.json"
    deep.write_text("[" * 200_000)
    binary = tmp_path / "binary.json"
    binary.write_bytes(bytes(range(256)))
    large = tmp_path / "large.json"
    large.write_bytes(b" " * 5_000_000)
    for path in (deep, binary, large, tmp_path, tmp_path / "missing.json"):
        with pytest.raises(ModelError, match=path.name):
            ServoModel.read(path)


def test_candidates_fill_the_free_parameters(random):
    model = build_model("mx106", "m4")
    frozen = model.with_parameters(model.parameters.frozen_at({"R": 3.3}))
    low, high = frozen.parameters.bounds().T
    matrix = random.uniform(low, high, (5, len(low)))

    rows = frozen.rows(matrix)

    for row, vector in zip(rows, matrix, strict=True):
        alone = frozen.with_vector(vector).rows()[0]
        np.testing.assert_array_equal(row, alone)
    assert (rows[:, Slot.RESISTANCE] == 3.3).all()


def test_titles_and_settings():
    model = build_model("mx106", "m4")

    assert model.title == "mx106 M4"
    assert replace(model, name="left elbow").title == "left elbow"
    assert model.default_settings().kp == 16
    assert model.default_settings(32.0).kp == 32.0
    assert not model.needs_full_step(model.default_settings())
    assert model.needs_full_step(replace(model.default_settings(), ki=1.0))
    assert build_model("mx106", "m1", command_path=("pwm_lag",)).needs_full_step(model.default_settings())
    assert not build_model("mx106", "m1", command_path=("release_braking",)).needs_full_step(model.default_settings())


@pytest.mark.parametrize(
    ("entry", "value", "message"),
    [
        ("substeps", 10**400, "is not possible"),
        ("substeps", 10**12, "is not possible"),
        ("dt", 1e9, "is not possible"),
        ("dt", float("nan"), "NaN is not a number in JSON"),
        ("provenance", {"score": float("nan")}, "NaN is not a number in JSON"),
        ("name", "half \ud800", "lone surrogate"),
    ],
)
def test_a_file_that_could_not_be_simulated_or_written_again_is_refused(entry, value, message):
    data = load_model("mx106", "m1").to_json() | {entry: value}

    with pytest.raises(ModelError, match=message):
        ServoModel.from_json_text(json.dumps(data))
