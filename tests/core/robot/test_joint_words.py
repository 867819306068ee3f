"""Messages about runs of a joint: they speak of poses and the robot's file, never of the pendulum of the bench."""

import re
from dataclasses import fields, replace

import pytest

from core.identification.coverage.causes import causes
from core.identification.coverage.doubts import FACTS, Fact, Suspect, doubt_of, suspects
from core.identification.coverage.excitation import excitation_of, excitation_of_all
from core.identification.coverage.grid import grid_of_conditions
from core.identification.coverage.plausibility import implausible_constants
from core.identification.coverage.terms import term_verdicts
from core.identification.runs.advice import BENCH, JOINT, advice_for
from core.identification.runs.conditions import missing_conditions
from core.servo.model import build_model, with_contact
from core.servo.shipped import load_model
from core.servo.terms import COMMAND_PATH_TERMS, PUSHED_BY, TERMS

pytest.importorskip("mujoco", reason="MuJoCo is not installed")

from core.robot.chain import Chain
from core.robot.runs import robot_runs
from tests.core.robot.planted import ARM, planted

OF_THE_BENCH = re.compile(r"\b(mass|length|kg|rod|pendulum|sin_\w+|up_and_down|lift_and_drop|hang\w*)\b")


@pytest.fixture(scope="module")
def joints(tmp_path_factory):
    file = tmp_path_factory.mktemp("arm") / "arm.xml"
    file.write_text(ARM)
    return robot_runs(Chain(file), planted(Chain(file), count=2)).joints


def richest(command="position"):
    path = (*COMMAND_PATH_TERMS, "backlash") if command == "position" else ("backlash",)
    return with_contact(build_model("sts3215", "m6", command_path=path, command=command), "elastoplastic_rational")


def said_of_terms(runs, command):
    """The verdicts at the motion of these runs, and at none."""
    seen, model = excitation_of_all([excitation_of(run) for run in runs]), richest(command)
    still = {f.name: type(getattr(seen, f.name))() for f in fields(seen)}
    for excitation in (seen, replace(seen, **still), replace(seen, load_share=0.01), replace(seen, reversals=0)):
        found = term_verdicts(
            model.parameters, excitation, grid_of_conditions(runs), command=command, advice=advice_for(runs)
        )
        yield from (each.text for each in found)


def said_of_facts(runs):
    for suspect in suspects(runs):
        yield doubt_of(suspect, 0.3, 0.5, [], runs)
    for fact in FACTS:
        yield doubt_of(
            Suspect(Fact(fact, (0,)), "here", 0), 0.3, 0.5, [(Suspect(Fact("mass", (1,)), "there", 1), 0.1)], runs
        )


def test_messages_do_not_speak_of_the_bench(joints):
    runs = joints["lift"]
    assert advice_for(runs) is JOINT
    texts = [
        *(text for command in ("position", "current", "duty_cycle") for text in said_of_terms(runs, command)),
        *missing_conditions(richest(), runs),
        *missing_conditions(richest(), [runs[0].trimmed(0.0, 2.0)]),
        *(f"{cause.text}: {cause.remedy}" for same in causes(richest(), runs) for cause in same),
        *map(str, said_of_facts(runs)),
        *(getattr(JOINT, field.name) for field in fields(JOINT)),
    ]
    assert len(texts) > 100
    assert [text for text in texts if OF_THE_BENCH.search(text)] == []


def test_a_load_that_all_runs_contradict_is_one_of_the_file(joints):
    known = load_model("sts3215", "m6")
    scaled = {"R": 1.6 * known.values["R"], "armature": known.values["armature"] / 1.6}
    (doubt,) = implausible_constants(known.with_values(scaled), joints["lift"], well_fitted=True)
    assert doubt.remedy == "check the masses in the robot's file, and what the robot carried"


def test_what_pushes_a_value_to_its_bound_holds_for_both():
    for name in TERMS:
        assert not re.search(r"\b(mass|length|pendulum)\b", PUSHED_BY[name])


def test_loads_of_a_joint_differ_by_its_poses(joints):
    """A joint about the vertical has one load, the others several; the same verdicts as on the bench follow."""
    verdicts = {}
    for joint in ("pan", "lift"):
        runs = joints[joint]
        seen = excitation_of_all([excitation_of(run) for run in runs])
        found = term_verdicts(richest().parameters, seen, grid_of_conditions(runs), advice=JOINT)
        verdicts[joint] = {each.name: each for each in found}
        lacks = " ".join(missing_conditions(load_model("sts3215", "m6"), runs))
        assert ("every run has the same load: record poses" in lacks) == (joint == "pan")
    pan, lift = verdicts["pan"]["load_friction_external"], verdicts["lift"]["load_friction_external"]
    assert pan.verdict == "none"
    assert pan.text.startswith("loads over 1 % of the stall torque: load-dependent")
    assert lift.verdict in ("weak", "good")


def test_runs_of_the_bench_keep_their_words(joints):
    bench = [replace(run, provenance={}) for run in joints["lift"]]
    assert advice_for(bench) is BENCH
    assert advice_for([]) is BENCH
    assert any("with another mass or length" in text for text in missing_conditions(richest(), bench[:1]))
