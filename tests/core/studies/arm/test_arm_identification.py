"""Identification of an arm's friction: planted truths recovered from simulated recordings, and measured ones.

Simulated arms are commanded smooth random torques; their encoders have steps of 0.38 mrad, as those of DFKI's arm.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from core.base.errors import IdentificationError, ModelError
from core.servo.parameters import ParameterSet
from core.studies.arm.dynamics import simulate_windows
from core.studies.arm.identification import ArmFit, ArmIdentification, ArmRequest, identify_arm, split_arm_recordings
from core.studies.arm.links import ArmLinks, ArmParameters, read_arm_parameters
from core.studies.arm.parameters import arm_parameters, candidate_rows, corrected_links
from core.studies.arm.recording import ArmRecording, read_arm_csv
from core.studies.arm.windows import cut_windows

LINKS = ArmLinks(masses=(0.6, 0.55), lengths=(0.3, 0.2), centres=(0.28, 0.18), inertias=(0.05, 0.021))
SOURCE = ArmParameters(links=LINKS)
ENCODER = 2 * np.pi / 2**14
DT = 0.002
DATA = Path(__file__).resolve().parents[5] / "shared" / "data" / "double_pendulum"


def simulated(name, parameters, seed, *, duration=3.0, scale=(0.8, 0.5)):
    """A recording of an arm with these parameters, from rest."""
    rng = np.random.default_rng(seed)
    steps = round(duration / DT)
    time = DT * np.arange(steps + 1, dtype=np.float64)
    frequencies, phases = rng.uniform(0.3, 2.0, (3, 2)), rng.uniform(0, 2 * np.pi, (3, 2))
    torque = np.array(scale) * np.sin(2 * np.pi * time[:, None, None] * frequencies + phases).mean(axis=1)
    where = np.zeros(1, dtype=np.int64)
    rows = candidate_rows(LINKS, parameters)
    motion = simulate_windows(rows, torque, where, where, np.zeros((1, 4)), steps, DT, substeps=2)[0, :, :, 0]
    return ArmRecording(id=name, time=time, position=ENCODER * np.round(motion / ENCODER), torque=torque)


def planted(friction, terms, **values):
    return arm_parameters(friction, terms, LINKS, 8.0).with_values(values)


def test_friction_and_motors_are_recovered():
    truth = planted(
        "m1", ("motor",), friction_base_1=0.12, friction_viscous_1=0.03, friction_base_2=0.07, friction_viscous_2=0.01,
        armature_1=0.004, armature_2=0.006, torque_ratio_1=0.93, torque_ratio_2=1.06, command_delay=0.005,
    )  # fmt: skip
    runs = [simulated(f"run {seed}", truth, seed) for seed in range(6)]
    request = ArmRequest(models=("m1",), terms=("motor",), windows=(0.25, 0.5), budget=600)
    found = identify_arm(runs, SOURCE, request)
    fit = found.fits[1]
    for name in ("friction_base_1", "friction_base_2", "friction_viscous_1", "torque_ratio_1", "torque_ratio_2"):
        assert fit.parameters[name].value == pytest.approx(truth[name].value, rel=0.05)
    assert fit.parameters["armature_2"].value == pytest.approx(0.006, abs=5e-4)
    assert fit.parameters["command_delay"].value == pytest.approx(0.005, abs=5e-4)
    assert fit.held_out is not None
    # What is left is the encoder's step and the velocity at a window's start.
    assert max(fit.held_out) < 5e-3
    assert found.fits[0].held_out is not None
    assert found.fits[0].held_out[-1] > 10 * fit.held_out[-1]


def test_corrections_of_links_are_recovered_as_links_that_move_alike():
    truth = planted(
        "m1", ("links",), friction_base_1=0.1, friction_base_2=0.06, inertia_ratio_1=1.1, inertia_ratio_2=1.05,
        moment_ratio_2=0.95, gravity_ratio_1=1.04, angle_offset_2=0.02,
    )  # fmt: skip
    runs = [simulated(f"run {seed}", truth, seed) for seed in range(4)]
    request = ArmRequest(models=("m1",), terms=("links",), windows=(0.5,), budget=500, held_out=0.0)
    fit = identify_arm(runs, SOURCE, request).fits[1]
    for name in ("inertia_ratio_1", "inertia_ratio_2", "moment_ratio_2", "gravity_ratio_1"):
        assert fit.parameters[name].value == pytest.approx(truth[name].value, abs=0.02)
    assert fit.parameters["angle_offset_2"].value == pytest.approx(0.02, abs=3e-3)
    # The links of the row are those: their own five numbers are the corrected ones.
    expected = corrected_links(LINKS, truth).base
    assert vars(fit.links.base) == pytest.approx(vars(expected), rel=0.02)
    own = candidate_rows(fit.links, ParameterSet(), np.zeros((1, 0)))[0, :5]
    assert own == pytest.approx(candidate_rows(LINKS, fit.parameters)[0, :5])


def test_load_dependent_friction_needs_a_model_that_has_it():
    truth = planted(
        "m4", (), friction_base_1=0.02, friction_viscous_1=0.02, friction_base_2=0.02, friction_viscous_2=0.01,
        friction_stribeck_1=0.0, friction_stribeck_2=0.0, load_friction_base_1=0.15, load_friction_base_2=0.2,
        load_friction_stribeck_1=0.0, load_friction_stribeck_2=0.0,
    )  # fmt: skip
    runs = [simulated(f"run {seed}", truth, seed, scale=(3.0, 1.5)) for seed in range(4)]
    request = ArmRequest(models=("m1", "m3"), terms=(), windows=(0.5,), budget=300)
    _, m1, m3 = identify_arm(runs, SOURCE, request).fits
    assert m3.parameters["load_friction_base_1"].value == pytest.approx(0.15, rel=0.05)
    assert m3.parameters["load_friction_base_2"].value == pytest.approx(0.2, rel=0.05)
    assert m1.held_out is not None
    assert m3.held_out is not None
    assert m3.held_out[0] < 0.5 * m1.held_out[0]


def test_the_same_request_gives_the_same_result_and_richer_models_are_no_worse():
    runs = [simulated(f"run {seed}", planted("m2", ()), seed, duration=1.5) for seed in range(3)]
    request = ArmRequest(models=("none", "m1", "m4"), terms=("motor",), windows=(0.25,), fitted=0.25, budget=150)
    first, second = (identify_arm(runs, SOURCE, request) for _ in range(2))
    assert first.to_json() == second.to_json()
    errors = [fit.training[0] for fit in first.fits]
    assert errors == sorted(errors, reverse=True)
    assert first.headings == ("model", "training 0.25 s", "held out 0.25 s")
    assert [row[0] for row in first.table] == ["file", "none", "m1", "m4"]
    assert first.table[1][1] == 1e3 * errors[1]


def test_friction_of_the_links_own_file_counts_in_its_row():
    truth = planted(
        "m1", (), friction_base_1=0.1, friction_viscous_1=0.02, friction_base_2=0.1, friction_viscous_2=0.02
    )
    runs = [simulated("run", truth, 0)]
    with_it = ArmParameters(links=LINKS, viscous=(0.02, 0.02), coulomb=(0.1, 0.1))
    request = ArmRequest(models=("none",), terms=("motor",), windows=(0.25,), budget=1, held_out=0.0)
    knowing, ignorant = (identify_arm(runs, source, request).fits[0].training[0] for source in (with_it, SOURCE))
    assert knowing < 1e-3 < ignorant


def test_repetitions_of_a_run_are_held_back_together():
    truth = planted("m1", ())
    runs = [simulated(f"run {seed} {day}", truth, seed, duration=1.0) for seed in range(4) for day in range(2)]
    train, held = split_arm_recordings(runs, 0.25, seed=1)
    assert len(train) == 6
    assert len({run.id.split()[1] for run in held}) == 1


def test_windows_start_at_the_measured_state():
    run = simulated("run", planted("m1", ()), 1)
    windows = cut_windows([run], 0.25, DT)
    speed = np.gradient(run.position, DT, axis=0)
    middle = windows.starts
    # The slope of a cubic over 41 encoder readings against plain differences.
    assert windows.states[:, 2:] == pytest.approx(speed[middle], abs=0.15)
    assert windows.states[:, :2] == pytest.approx(run.position[middle], abs=2 * ENCODER)
    assert windows.measured[:, 0] == pytest.approx(run.position[middle])
    assert windows.length == 0.25


def test_what_cannot_be_identified_is_told():
    run = simulated("run", planted("m1", ()), 1, duration=1.0)
    with pytest.raises(IdentificationError, match="cannot be divided"):
        identify_arm([run], SOURCE, ArmRequest())
    with pytest.raises(IdentificationError, match="no window of 2"):
        cut_windows([run], 2.0, DT)
    goals = ArmRecording(id="goals", time=run.time, position=run.position, goal=run.position)
    with pytest.raises(IdentificationError, match="no commanded torques"):
        cut_windows([goals], 0.5, DT)
    with pytest.raises(ModelError, match="no friction model"):
        ArmRequest(models=("m9",))
    with pytest.raises(IdentificationError, match="terms"):
        ArmRequest(terms=("gears",))
    with pytest.raises(IdentificationError, match="not possible"):
        ArmRequest(windows=(-1.0,))


@pytest.mark.parametrize(
    ("allowed", "refused"),
    [
        ({"dt": 0.01}, {"dt": 0.0101}),
        ({"dt": 1e-4}, {"dt": 0.0}),
        ({"substeps": 1}, {"substeps": 0}),
        ({"fitted": 60.0}, {"fitted": 60.1}),
        ({"fitted": 0.002}, {"fitted": 0.0019}),
        ({"windows": (0.002, 60.0)}, {"windows": (0.1, 60.1)}),
        ({"windows": (0.002,)}, {"windows": (0.0019, 0.1)}),
        ({"held_out": 0.0}, {"held_out": -0.01}),
        ({"held_out": 0.99}, {"held_out": 1.0}),
        ({"budget": 1}, {"budget": 0}),
    ],
    ids=lambda values: "".join(f"{name} {value}" for name, value in values.items()),
)
def test_requests_have_limits(allowed, refused):
    assert {name: getattr(ArmRequest(**allowed), name) for name in allowed} == allowed
    with pytest.raises(IdentificationError):
        ArmRequest(**refused)


def test_the_table_holds_errors_in_milliradians_below_their_headings():
    parameters = arm_parameters("m1", (), LINKS, 8.0)
    upper = parameters["friction_base_1"].upper
    fit = ArmFit(
        model="m1", parameters=parameters.with_values({"friction_base_1": upper}), links=LINKS,
        training=(0.001, 0.002), held_out=(0.003, 0.004),
    )  # fmt: skip
    request = ArmRequest(models=("m1",), windows=(0.25, 0.5))
    found = ArmIdentification(request=request, train=("a", "b"), held_out=("c",), fits=(fit,))
    assert found.headings == ("model", "training 0.25 s", "training 0.5 s", "held out 0.25 s", "held out 0.5 s")
    assert found.table == (("m1", 1.0, 2.0, 3.0, 4.0),)
    assert "friction_base_1" in fit.at_bounds
    assert "friction_base_2" not in fit.at_bounds
    data = found.to_json()
    assert (data["train"], data["held_out"], data["windows"], data["stopped"]) == (
        ["a", "b"],
        ["c"],
        [0.25, 0.5],
        False,
    )
    own = data["fits"][0]
    assert (own["training"], own["held_out"], own["evaluations"]) == ([0.001, 0.002], [0.003, 0.004], 0)
    alone = ArmIdentification(request=request, train=("a",), held_out=(), fits=(replace(fit, held_out=None),))
    assert (alone.headings, alone.table) == (("model", "training 0.25 s", "training 0.5 s"), (("m1", 1.0, 2.0),))
    assert alone.to_json()["fits"][0]["held_out"] is None


@pytest.mark.skipif(not DATA.is_dir(), reason="the recordings of DFKI's double pendulum are not part of the project")
def test_friction_of_a_measured_arm_predicts_better_than_its_own_file():
    source = read_arm_parameters(DATA / "identified_design_C.0_model_3.1.yml")
    names = [f"design_C.0__20220914__sys_id__trajectory_{number}.csv.gz" for number in ("00", "04", "05", "06")]
    runs = [read_arm_csv(DATA / name) for name in names]
    request = ArmRequest(models=("m1",), windows=(0.25, 0.5), fitted=0.25, budget=400)
    own, fitted = identify_arm(runs, source, request).fits
    assert own.held_out is not None
    assert fitted.held_out is not None
    for before, after in zip(own.held_out, fitted.held_out, strict=True):
        assert after < 0.35 * before
    # Friction of a quasi-direct drive of 12 N·m.
    assert 0.03 < fitted.parameters["friction_base_1"].value < 0.4
    assert 0.03 < fitted.parameters["friction_base_2"].value < 0.4
