"""What is asked of an identification: checked when it is made, kept in files, and what may not change on resume."""

from __future__ import annotations

import functools
import itertools
import json
from dataclasses import replace

import numpy as np
import pytest

from core.bench import Bench
from core.errors import IdentificationError
from core.identification.identify import IdentificationRequest, identify
from core.identification.request import search_template, tunable_parameters
from core.identification.runs.conditions import suited
from core.recording import Recording
from core.shipped import load_model
from core.simulation import simulate_trajectory
from core.terms import COMMAND_PATH_TERMS
from core.trajectories import make_trajectory

SERVO = "mx106"
SMALL = IdentificationRequest(servo=SERVO, models=("m1",), trials=200, validation="none")


@functools.cache
def recordings() -> tuple[Recording, ...]:
    model = replace(load_model(SERVO, "m1"), integrator="algorithm1")
    made = []
    for name, kp in (("sin_sin", 8.0), ("lift_and_drop", 32.0), ("sin_time_square", 16.0)):
        path, settings = make_trajectory(name, 2.0), model.default_settings(kp)
        motion = simulate_trajectory(model, path, Bench(mass=1.0, length=0.15), settings, 0.005)
        channels = {
            "time": motion.time,
            "goal_position": motion.goal_position,
            "torque_enable": path.torque_enable(motion.time),
            "position": motion.position,
        }
        bench = Bench(mass=1.0, length=0.15)
        made.append(Recording(id=name, trajectory=name, bench=bench, settings=settings, channels=channels))
    return tuple(made)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"models": ()}, "no model"),
        ({"trials": 0}, "0 trials"),
        ({"repeats": 0}, "0 repeats"),
        ({"threads": 0}, "0 threads"),
        ({"substeps": 0}, "0 substeps"),
        ({"dt": 0.2}, "does not resolve"),
        ({"metric": "median"}, "no metric"),
        ({"supply": "guessed"}, "no supply"),
        ({"bounds": (("gamma", 0.0, 1.0),)}, "no parameter 'gamma'"),
        ({"bounds": (("kt", 2.0, 1.0),)}, "must be less than"),
        ({"bounds": (("kt", 1.0, 1.0),)}, "freeze it"),
        ({"bounds": (("kt", 0.0, 1.0),)}, "kt = 0 N·m/A is not possible; use more than 0"),
        ({"bounds": (("friction_base", -1.0, 1.0),)}, "use at least 0"),
        ({"bounds": (("release_braking", 0.0, 1.5),)}, "0 … 1"),
        ({"bounds": (("R", 1.0, float("inf")),)}, "not possible"),
        ({"bounds": (("R", 1.0, 2.0), ("R", 1.0, 3.0))}, "twice"),
        ({"frozen": (("gamma", 1.0),)}, "no parameter 'gamma'"),
        ({"frozen": (("armature", -1e-3),)}, "armature = -0.001"),
    ],
)
def test_what_cannot_be_is_refused_with_its_name(changes, message) -> None:
    with pytest.raises(IdentificationError, match=message):
        replace(SMALL, **changes)


def test_bounds_replace_the_catalogue_s_and_move_the_start_between_them() -> None:
    default = search_template(SMALL, "m1").parameters["R"]
    high = default.upper
    bounded = search_template(replace(SMALL, bounds=(("R", 0.5 * high, 2.0 * high),)), "m1").parameters
    assert (bounded["R"].lower, bounded["R"].upper) == (0.5 * high, 2.0 * high)
    assert 0.5 * high <= bounded["R"].value <= 2.0 * high
    assert bounded["kt"] == search_template(SMALL, "m1").parameters["kt"]
    frozen = search_template(replace(SMALL, bounds=(("R", 1.0, 2.0),), frozen=(("R", 9.0),)), "m1").parameters["R"]
    assert frozen.frozen
    assert frozen.value == 9.0


def test_the_search_keeps_to_the_bounds() -> None:
    truth = load_model(SERVO, "m1").values["kt"]
    found = identify(replace(SMALL, bounds=(("kt", 1.2 * truth, 1.5 * truth),)), recordings()).results[0]
    assert 1.2 * truth <= found.model.values["kt"] <= 1.5 * truth
    assert found.model.parameters["kt"].upper == 1.5 * truth


def test_bounds_of_one_model_do_not_concern_another() -> None:
    bounds = (("load_friction_motor_quad", 0.0, 0.01),)
    assert search_template(replace(SMALL, bounds=bounds), "m1") == search_template(SMALL, "m1")
    assert search_template(replace(SMALL, bounds=bounds), "m6").parameters["load_friction_motor_quad"].upper == 0.01


def test_nothing_left_to_search_is_refused() -> None:
    held = tuple((p.name, p.value) for p in search_template(SMALL, "m1").parameters.values())
    with pytest.raises(IdentificationError, match="every parameter of M1 is frozen"):
        search_template(replace(SMALL, frozen=held), "m1")


def test_every_parameter_that_can_be_moved_is_named_once() -> None:
    names = list(tunable_parameters(SERVO, ("m4", "m6"), COMMAND_PATH_TERMS))
    assert len(names) == len(set(names))
    assert {"load_friction_base", "load_friction_motor_quad", "command_delay", "q_offset"} <= set(names)


def test_a_request_survives_a_file() -> None:
    request = replace(
        SMALL,
        command_path=COMMAND_PATH_TERMS,
        frozen=(("R", 2.5),),
        bounds=(("kt", 0.5, 2.0),),
        dt=0.004,
        data_hash="abc",
    )
    assert IdentificationRequest.from_json(json.loads(json.dumps(request.to_json()))) == request
    for wrong in ([], {"servo": SERVO}, {**request.to_json(), "colour": "red"}):
        with pytest.raises(IdentificationError, match="request"):
            IdentificationRequest.from_json(wrong)


def test_a_request_of_an_earlier_version_is_read() -> None:
    """It named its step, and could refine it."""
    earlier = {**SMALL.to_json(), "integrator": "algorithm1", "substeps": 1, "refine": True}
    assert IdentificationRequest.from_json(earlier) == replace(SMALL, integrator="algorithm1", substeps=1)


@pytest.mark.parametrize("changes", [{"bounds": (("R", 1.0, 3.0),)}, {"frozen": (("R", 2.0),)}, {"data_hash": "new"}])
def test_another_request_does_not_go_on_with_a_search(tmp_path, changes) -> None:
    identify(SMALL, recordings(), folder=tmp_path)
    with pytest.raises(IdentificationError, match="other settings"):
        identify(replace(SMALL, **changes), recordings(), folder=tmp_path, resume=True)


def test_simpler_models_on_record_belong_to_the_request(tmp_path) -> None:
    """M2 after M1 begins at M1's optimum too; M2 alone would be told values of other candidates."""
    identify(replace(SMALL, models=("m1", "m2")), recordings(), folder=tmp_path)
    with pytest.raises(IdentificationError, match=r"other settings \(starts\)"):
        identify(replace(SMALL, models=("m2",)), recordings(), folder=tmp_path, resume=True)


def test_a_resumed_search_recalls_what_is_on_record(tmp_path) -> None:
    request = replace(SMALL, models=("m1", "m2"), trials=400)
    count = itertools.count()
    stopped = identify(request, recordings(), folder=tmp_path, should_stop=lambda: next(count) >= 8)
    recalled, told = [], []
    resumed = identify(
        request, recordings(), folder=tmp_path, resume=True, on_recorded=recalled.append, on_progress=told.append
    )
    assert recalled[-1].generation.evaluations == stopped.results[-1].evaluations
    assert told[0].generation.evaluations > recalled[-1].generation.evaluations
    assert recalled[-1].done <= told[0].done
    # What was on record took no time: the estimate counts from there.
    whole = identify(request, recordings())
    assert [r.model.values for r in resumed.results] == [r.model.values for r in whole.results]


def test_stopping_at_once_after_resuming_loses_nothing(tmp_path) -> None:
    request = replace(SMALL, models=("m1", "m2"), trials=400)
    count = itertools.count()
    before = identify(request, recordings(), folder=tmp_path, should_stop=lambda: next(count) >= 12)
    again = identify(request, recordings(), folder=tmp_path, resume=True, should_stop=lambda: True)
    assert again.stopped
    assert [r.evaluations for r in again.results] == [r.evaluations for r in before.results]
    assert [r.model.values for r in again.results] == [r.model.values for r in before.results]


def test_yielding_a_processor_changes_nothing_but_time() -> None:
    request = replace(SMALL, models=("m2",), threads=3)
    steady = identify(request, recordings()).results[0]
    turn = itertools.cycle((True, True, False))
    yielding = identify(request, recordings(), should_yield=lambda: next(turn)).results[0]
    assert yielding.model.values == steady.model.values
    assert yielding.train_mae == steady.train_mae


@pytest.mark.parametrize(
    ("measured", "supply", "path", "without"),
    [
        (0, "logged", COMMAND_PATH_TERMS, set()),
        (1, "logged", COMMAND_PATH_TERMS, {"supply_sag"}),
        (3, "logged", COMMAND_PATH_TERMS, {"supply_sag"}),
        (3, "header", COMMAND_PATH_TERMS, set()),
        (3, "logged", ("command_delay", "supply_sag"), set()),
        (3, "logged", (), set()),
    ],
)
def test_the_usual_command_path_has_no_sag_where_a_supply_was_measured(measured, supply, path, without) -> None:
    """In one run or more, unless it is not used; terms that were chosen stay."""
    runs = [
        replace(
            run,
            channels={**run.channels, "supply_voltage": np.full(run.samples, 11.5)} if i < measured else run.channels,
        )
        for i, run in enumerate(recordings())
    ]
    found = suited(replace(SMALL, supply=supply, command_path=path), runs)
    assert found.command_path == tuple(term for term in path if term not in without)
