"""Causes that all runs share: planted ones are named, and nothing is named where there is none."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest

from core.identification.cautions import cautions
from core.identification.choice.rule import SHIFTED
from core.identification.coverage.causes import (
    Comparison,
    causes,
    explanation,
    likeliest,
    standing_apart,
    structures,
    unexplained,
)
from core.identification.coverage.findings import BOUNDS, CAUSES, RECORD, Diagnosis, Finding
from core.identification.coverage.plausibility import implausible_constants
from core.identification.coverage.problem import Correction
from core.identification.diagnosis import diagnosed
from core.identification.evaluate import evaluate
from core.identification.evidence.model import STRIBECK, Evidence, ParameterEvidence
from core.identification.identify import identify
from core.identification.request import IdentificationRequest
from core.identification.result import Identification, ModelResult
from core.identification.runs.conditions import UnusableRuns, check_motion
from core.identification.runs.split import Split
from core.servo.model import build_model
from core.servo.shipped import load_model
from core.servo.terms import COMMAND_PATH_TERMS, PUSHED_BY, TERMS
from tests.bench.goal_shifts import planted
from tests.core.conftest import PENDULUM, catalogue_model, recorded

HEAVY = replace(PENDULUM, mass=1.0)
NOISE = 4e-4


def truths():
    """The same servo with each structure."""
    slow = catalogue_model("mx106", "m1")
    models = {"slow decay": slow}
    for kind, other in structures(slow):
        models["current law" if kind == "law" else other.control.drive] = other
    return models


def runs_of(model, *motions):
    """Recordings of 3 s with two loads and two gains."""
    motions = motions or ("lift_and_drop", "sin_time_square")
    return [
        recorded(model, name, bench, kp, noise=NOISE, duration=3.0, name=f"{name}_{kp}")
        for name in motions
        for kp, bench in ((8, PENDULUM), (32, HEAVY))
    ]


def goals_late(run, rows):
    goal = run.goal_position[np.clip(np.arange(run.samples) - rows, 0, None)]
    return replace(run, channels={**run.channels, "goal_position": goal})


def turned(run, angle):
    return replace(run, channels={name: values + angle * (name in ("position", "goal_position"))
                                  for name, values in run.channels.items()})  # fmt: skip


PLANTED = {
    "zero up": ("zero", lambda run: turned(run, math.pi), "the zero turned by +180°"),
    "zero to the side": ("zero", lambda run: turned(run, math.pi / 2), "the zero turned by -90°"),
    "zero turned a little": ("zero", lambda run: turned(run, -0.8), "the zero turned by +45°"),
    "goals late": ("time", lambda run: goals_late(run, 4), "the goals 20 ms earlier"),
    "goals inverted": ("sign", lambda run: replace(
        run, channels={**run.channels, "goal_position": -run.goal_position}), "the goals inverted"),
    "load in tenths": ("mass", Correction(mass=math.log(0.1)).recording, "10 times the load"),
    "half the gain": ("kp", Correction(kp=math.log(0.5)).recording, "2 times the gain kp"),
}  # fmt: skip


@pytest.mark.parametrize("name", PLANTED)
def test_a_right_model_finds_what_all_runs_share(name):
    """Without a fit; with noise alone left, the cause is the first of the three that are named."""
    kind, change, text = PLANTED[name]
    model = catalogue_model("mx106", "m1")
    wrong = [change(run) for run in runs_of(model)]
    (cause, left), *others = likeliest(model, wrong, Comparison(threads=1))
    assert (cause.kind, cause.text) == (kind, text)
    # While the output is not at its limit, gain and supply are one number.
    assert left < 0.3 * min(other for one, other in others if {kind, one.kind} != {"kp", "supply_voltage"})
    error = max(evaluate(model, wrong, threads=1).mean_mae, 0.101)
    found = unexplained(model, wrong, [error] * len(wrong), threads=1)
    assert f"The likeliest causes, with the error that each would leave: {text} (" in found.text
    assert 1 <= found.text.count(" mrad)") <= 3
    assert found.remedy.startswith(cause.remedy)


def test_a_small_error_or_a_model_that_fits_nowhere_has_no_such_cause():
    model = catalogue_model("mx106", "m1")
    runs = runs_of(model, "sin_time_square")
    assert unexplained(model, runs, [0.019] * len(runs), threads=1) is None
    up = [turned(run, math.pi) for run in runs]
    error = evaluate(model, up, threads=1).mean_mae
    assert 0.02 < error < 0.1
    assert unexplained(model, up, [error] * len(up), threads=1).text.startswith(
        "with the zero turned by +180° the model errs by 0.3"
    )
    poor = replace(model, provenance={"train_mae": 0.08})
    wide = [0.15] * len(runs)
    assert unexplained(poor, runs, wide, threads=1) is None
    assert unexplained(replace(model, provenance={"train_mae": 0.01}), runs, wide, threads=1) is not None


@pytest.mark.parametrize("name", ["zero up", "zero to the side", "goals inverted", "half the gain"])
def test_runs_that_stand_apart_are_named_with_their_own_cause(name):
    """Some runs are wrong: an answer about all runs would leave most of the error."""
    kind, change, text = PLANTED[name]
    model = catalogue_model("mx106", "m1")
    runs = runs_of(model, "lift_and_drop", "sin_time_square")
    wrong = [change(run) if place == 1 else run for place, run in enumerate(runs)]
    found = unexplained(model, wrong, errors_of(model, wrong), threads=1)
    assert (found.kind, found.runs) == (f"cause_{kind}", (runs[1].id,))
    assert f"in run {runs[1].id}" in found.text
    assert text in found.text
    absorbed = replace(model, parameters=model.parameters.with_values({"friction_base": 0.4, "R": 2.3}))
    after_a_fit = standing_apart(absorbed, wrong, threads=1)
    assert (after_a_fit.kind, after_a_fit.runs) == (found.kind, found.runs)
    assert standing_apart(absorbed, runs, threads=1) is None


def test_a_swapped_sign_is_one_warning_of_a_result():
    model = catalogue_model("mx106", "m1")
    wrong = [PLANTED["goals inverted"][1](run) for run in runs_of(model)]
    request = IdentificationRequest(servo="mx106", models=("m1",), trials=20, polish=False, validation="none")
    found = diagnosed(identify(request, wrong), wrong, threads=1)
    assert [one.kind for one in found.answer().warnings if one.severity == "error"] == ["sign"]


def errors_of(model, runs):
    return [run.mae for run in evaluate(model, runs, threads=1).runs]


def test_a_cause_that_some_runs_hardly_show_is_named_for_all():
    """A load of half the real one: slow motion between small angles shows little of it."""
    model = catalogue_model("mx106", "m1")
    wrong = [Correction(mass=math.log(0.5)).recording(run) for run in runs_of(model)]
    errors = [0.004, 0.004, *errors_of(model, wrong)[2:]]
    errors[2] = 0.15
    found = unexplained(model, wrong, errors, threads=1)
    assert (found.kind, found.runs) == ("cause_mass", ())


@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_a_wrong_load_of_all_runs_shows_in_resistance_and_armature(factor):
    """Stated 1/s times the real one, a load is absorbed by R·s, J_m/s and friction/s, at the same k_t."""
    known = load_model("mx106", "m1")
    runs = runs_of(known)
    scaled = {"R": factor * known.values["R"]} | {
        name: known.values[name] / factor for name in ("armature", "friction_base", "friction_viscous")
    }
    (doubt,) = implausible_constants(known.with_values(scaled), runs, well_fitted=True)
    assert (doubt.fact, doubt.factor) == ("mass", pytest.approx(factor))
    assert f"{factor:.2f} times the stated one" in doubt.text
    assert implausible_constants(known, runs, well_fitted=True) == []


def test_a_single_run_is_not_asked_to_be_held_out():
    found = identify(
        IdentificationRequest(servo="mx106", models=("m1",), trials=20, polish=False, validation="none"),
        runs_of(catalogue_model("mx106", "m1"))[:1],
    )
    step = found.answer().step
    assert (step.action, step.label) == (RECORD, "Record 3 more")
    assert step.text == (
        "Record more runs and hold some of them out, because the fit used only 1 run, so the error on unseen motion is "
        "unknown."
    )


def test_no_cause_is_named_that_leaves_a_larger_error():
    model = catalogue_model("mx106", "m1")
    runs = runs_of(model)
    error = 0.101
    found = unexplained(model, [turned(run, 2.0 * (-1) ** n) for n, run in enumerate(runs)], [error] * 4, threads=1)
    left = [float(number) for number in re.findall(r"\(([\d.]+) mrad\)", found.text)]
    assert all(number < 1e3 * error for number in left)


def test_a_time_in_milliseconds_is_named():
    model = catalogue_model("mx106", "m1")
    runs = [replace(run, channels={**run.channels, "time": 1e3 * run.time}) for run in runs_of(model)[:2]]
    with pytest.raises(UnusableRuns, match=r"one sample every 5 s.*milliseconds"):
        check_motion(runs)
    assert all(causes(model, runs))


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("slow decay", "fast decay"),
        pytest.param("fast decay", "slow decay", marks=pytest.mark.exhaustive("the other direction")),
        pytest.param("slow decay", "current law", marks=pytest.mark.exhaustive("further structures")),
        pytest.param("current law", "slow decay", marks=pytest.mark.exhaustive("further structures")),
        pytest.param("current law", "fast decay", marks=pytest.mark.exhaustive("further structures")),
        pytest.param("fast decay", "current law", marks=pytest.mark.exhaustive("further structures")),
    ],
)
def test_a_wrong_structure_is_named_by_the_fit_with_the_right_one(name, read):
    kind = "law" if "law" in name + read else "drive"
    found, _ = explanation(truths()[read], runs_of(truths()[name]), threads=1, kinds=(kind,))
    assert found is not None
    assert found.kind == f"cause_{kind}"
    right = {"slow decay": "slow decay", "fast decay": "fast decay", "current law": "a current law"}[name]
    if read == "current law":
        right = "a voltage law" + (" and fast decay" if name == "fast decay" else "")
    assert found.text.startswith(f"with {right} the same runs fit at 0.3")
    assert "drive (now" in found.remedy


@pytest.mark.parametrize(
    "name",
    ["slow decay", *(pytest.param(name, marks=pytest.mark.exhaustive("further structures"))
                     for name in ("fast decay", "current law"))],
)  # fmt: skip
def test_nothing_is_named_where_the_structure_is_right(name):
    found, tried = explanation(truths()[name], runs_of(truths()[name]), threads=1, kinds=("drive", "law"))
    assert found is None
    assert set(tried) == ({"law"} if name == "current law" else {"drive", "law"})


@pytest.mark.exhaustive("fits under every cause")
@pytest.mark.parametrize("name", PLANTED)
def test_a_fit_finds_what_all_runs_share(name):
    """From the catalogue's start values; only a gain is absorbed by k_t and R."""
    _, change, text = PLANTED[name]
    runs = [change(run) for run in runs_of(catalogue_model("mx106", "m1", values={"kt": 1.6, "R": 2.2}))]
    found, _ = explanation(build_model("mx106", "m1"), runs, threads=1)
    if name == "half the gain":
        assert found is None
    elif name == "load in tenths":  # k_t, R and friction follow the factor
        assert "times the load the same runs fit at 0.3" in found.text
    else:
        assert found.text.startswith(f"with {text} the same runs fit at 0.3")


def at_bound(name, diagnosis):
    """The warning about a term at a bound that is not the end of its meaning."""
    model = build_model("mx106", "m6", command_path=COMMAND_PATH_TERMS)
    if name not in model.parameters:
        return None
    evidence = Evidence(
        parameters=tuple(
            ParameterEvidence(
                name=p.name, symbol=p.symbol, unit=p.unit, value=p.value, initial=p.value, lower=p.lower,
                upper=0.97 * p.upper, frozen=p.frozen, at_bound="upper" if p.name == name else "", standard_error=1e-3,
            )
            for p in model.parameters.values()
        ),
        conditions=(), noise=1e-3, samples=9, independent=5.0,
    )  # fmt: skip
    result = ModelResult(model, 2e-3, 2e-3, None, 900, 1.0, (), evidence)
    request = IdentificationRequest(servo="mx106")
    split = Split("25%", ("a",), tuple("bcdefg"))
    found = Identification(request, split, (result,), False, diagnosis=diagnosis)
    (warning,) = [warning for warning in cautions(found) if " bound" in warning.text]
    return warning


def test_a_wrong_structure_does_not_recommend_a_simpler_model():
    """With a cause for the error, a Stribeck speed at its bound says nothing about the Stribeck effect."""
    runs = Diagnosis(friction="m6", findings=(), hold_out="", rounding=4e-4, noise=math.nan, repeatability=math.nan)
    assert "prefer a model without it" in at_bound("dtheta_stribeck", runs).remedy
    cause = Finding(kind="cause_drive", severity="warning", text="with fast decay", remedy="check drive")
    found = at_bound("dtheta_stribeck", replace(runs, findings=(cause,)))
    assert found.remedy == "first remove the likely cause, the other drive"


@pytest.mark.parametrize("name", sorted(TERMS.keys() - STRIBECK))
def test_no_bound_is_widened_before_its_causes_were_tried(name):
    """Each term names what pushes it; the bound comes last, and not at all if a cause was found."""
    runs = Diagnosis(friction="m6", findings=(), hold_out="", rounding=4e-4, noise=math.nan, repeatability=math.nan)
    warning = at_bound(name, runs)
    if warning is None:  # a term of another contact or drive
        assert PUSHED_BY[name]
        return
    for untried in (warning, at_bound(name, None)):
        assert untried.remedy == f"check {PUSHED_BY[name]}"
        assert untried.action == ""
    tried = at_bound(name, replace(runs, tried=tuple(CAUSES)))
    assert tried.remedy.startswith(f"check {PUSHED_BY[name]}; fits with another zero, shifted goals, ")
    assert tried.remedy.endswith("widen the bound")
    assert (tried.action, tried.subject) == (BOUNDS, name)
    cause = Finding(kind="cause_zero", severity="warning", text="with the zero turned by +180°", remedy="set the zero")
    found = at_bound(name, replace(runs, tried=tuple(CAUSES), findings=(cause,)))
    assert (found.remedy, found.action) == ("first remove the likely cause, another zero", "")


@pytest.mark.parametrize(("rows_late", "text"), [(2, "the goals 40 ms earlier"), (0, "")])
def test_the_delay_of_the_command_takes_what_is_left_of_a_shift_and_is_none(rows_late, text):
    """With a delay of 17 ms and no command path: neither one row less nor a shift of aligned goals is named."""
    runs = [goals_late(run, rows_late) for run in planted(1)[1]]
    found, _ = explanation(build_model("mx106", "m4"), runs, threads=1, kinds=("time",))
    assert (found is None) == (not text)
    if found:
        assert f"with {text} the same runs fit at" in found.text
        assert found.remedy.endswith(f"--goal-shift {-rows_late}")


def test_the_command_path_is_kept_and_the_verdict_warns_while_a_shift_explains_more():
    """A negative delay lowers no error, so that a choice by errors would drop the path."""
    runs = [goals_late(run, 2) for run in planted(0)[1]]
    request = IdentificationRequest(
        servo="mx106", models=("m1",), command_path=("command_delay",), command_path_if_better=True, trials=40,
        validation="25%",
    )  # fmt: skip
    found = diagnosed(identify(request, runs), runs, threads=1)
    assert found.recommended.model.command_path == ("command_delay",)
    assert found.recommended.model.provenance["command_path_choice"] == SHIFTED
    assert "cause_time" in [warning.kind for warning in found.answer().warnings]
