"""What is asked of an identification: checked when it is made, kept in files, and what may not change on resume."""

from __future__ import annotations

import functools
import itertools
import json
from dataclasses import fields, replace

import numpy as np
import pytest

from core.base.errors import IdentificationError
from core.identification.coverage.plausibility import gain_findings
from core.identification.identify import IdentificationRequest, identify
from core.identification.options import COARSEST_GRID, options_of
from core.identification.request import search_template, tunable_parameters
from core.identification.runs.conditions import held_terms, suited
from core.identification.search.study import StudyRecord, search_settings
from core.motion.recording import Recording
from core.motion.supply import supply_alternation, supply_of
from core.servo.bench import Bench
from core.servo.catalogue import load_servo, new_servo_text
from core.servo.model import MOST_SUBSTEPS, ServoModel, build_model, with_contact
from core.servo.shipped import load_model
from core.servo.terms import COMMAND_PATH_TERMS
from tests.core.conftest import recorded
from tests.core.identification.other_requests import OTHER

SERVO = "mx106"
SMALL = IdentificationRequest(servo=SERVO, models=("m1",), trials=200, validation="none")


@functools.cache
def recordings() -> tuple[Recording, ...]:
    model = replace(load_model(SERVO, "m1"), integrator="algorithm1")
    return tuple(
        recorded(model, name, Bench(mass=1.0, length=0.15), kp, name=name, duration=2.0)
        for name, kp in (("sin_sin", 8.0), ("lift_and_drop", 32.0), ("sin_time_square", 16.0))
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"models": ()}, "no model"),
        ({"trials": 0}, "0 trials"),
        ({"repeats": 0}, "0 repeats"),
        ({"threads": 0}, "0 threads"),
        ({"substeps": 0}, "0 substeps"),
        ({"dt": 0.2}, "does not resolve"),
        ({"dt": 0.0}, "a time step of 0 s does not resolve"),
        ({"dt": float("nan")}, "does not resolve"),
        ({"substeps": MOST_SUBSTEPS + 1}, f"{MOST_SUBSTEPS + 1} substeps are not possible"),
        ({"prior": -1.0}, "is not possible; use 0"),
        ({"prior": float("inf")}, "a prior of inf rad is not possible"),
        ({"prior": float("nan")}, "a prior of nan rad is not possible"),
        ({"integrator": "euler"}, "no integrator 'euler'"),
        ({"command_path": ("delay_line",)}, "no command path term 'delay_line'"),
        ({"start": (("gamma", 1.0),)}, "no parameter 'gamma' that can be started from"),
        ({"start": (("R", 1.0), ("R", 2.0))}, "R is started from twice"),
        ({"start": (("R", float("nan")),)}, "R = nan Ω is not possible"),
        ({"frozen": (("R", 1.0), ("R", 2.0))}, "R is frozen twice"),
        ({"run_offsets": True, "polish": False}, "run offsets are fitted in the polish"),
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


@pytest.mark.parametrize(
    ("name", "default", "lower", "upper", "unit", "scale", "flag_scale"),
    [
        ("trials", None, 0, 10_000_000, "", 1.0, 1.0),
        ("repeats", 1, 1, 50, "", 1.0, 1.0),
        ("seed", 0, 0, 2_000_000_000, "", 1.0, 1.0),
        ("dt", None, 0, 0.05, "ms", 1e-3, 1.0),
        ("substeps", None, 0, 100, "", 1.0, 1.0),
        ("prior", 0.0, 0, 1.0, "mrad", 1e-3, 1e-3),
        ("threads", None, 0, 256, "", 1.0, 1.0),
    ],
)
def test_numbers_are_asked_for_in_their_unit_and_range(name, default, lower, upper, unit, scale, flag_scale) -> None:
    """The command line takes the time step in seconds, the prior in mrad like the window."""
    field, option = options_of(IdentificationRequest)[name]
    assert field.default == default
    assert (option.lower, option.upper, option.unit) == (lower, upper, unit)
    assert (option.scale, option.flag_scale, option.reproduces) == (scale, flag_scale, name != "threads")


def test_limits_are_themselves_possible() -> None:
    assert replace(SMALL, dt=COARSEST_GRID).dt == COARSEST_GRID
    for substeps in (1, MOST_SUBSTEPS):
        assert replace(SMALL, substeps=substeps).substeps == substeps
    assert replace(SMALL, prior=0.0).prior == 0.0
    assert replace(SMALL, trials=1, repeats=1, threads=1).trials == 1
    assert replace(SMALL, bounds=(("release_braking", 0.0, 1.0),)).bounds


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


def test_the_search_keeps_to_the_bounds_and_says_where_it_began_and_ended() -> None:
    truth = load_model(SERVO, "m1").values["kt"]
    found = identify(replace(SMALL, bounds=(("kt", 1.2 * truth, 1.5 * truth),)), recordings()).results[0]
    assert found.model.values["kt"] == 1.2 * truth
    assert found.model.parameters["kt"].upper == 1.5 * truth
    evidence = found.evidence.of("kt")
    assert evidence.at_bound == "lower"
    assert 1.2 * truth <= evidence.initial <= 1.5 * truth
    assert found.model.provenance["initial"]["kt"] == evidence.initial
    assert any("k_t lies at its lower bound" in text for text in found.evidence.warnings)


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


@pytest.mark.parametrize("field", OTHER)
def test_each_field_survives_a_file(field) -> None:
    request = replace(SMALL, **{field: OTHER[field]})
    assert request != SMALL
    assert IdentificationRequest.from_json(json.loads(json.dumps(request.to_json()))) == request


def test_a_file_that_is_no_request_is_refused_and_one_without_newer_fields_is_read() -> None:
    assert set(OTHER) == {field.name for field in fields(IdentificationRequest)}, "each field is in the tests here"
    for wrong in ([], {"servo": SERVO}, {**SMALL.to_json(), "colour": "red"}):
        with pytest.raises(IdentificationError, match="request"):
            IdentificationRequest.from_json(wrong)
    older = {
        name: value
        for name, value in SMALL.to_json().items()
        if name not in ("points", "start", "command", "drive_from")
    }
    assert IdentificationRequest.from_json(older) == SMALL


class SearchBegins(Exception):
    """Carries name and settings of the study, by which a search on record is the same one."""


def study_of(folder, request) -> tuple[str, str]:
    def begin(storage, name, parameters, settings, resume):
        raise SearchBegins(name, json.dumps(settings, sort_keys=True))

    measured = {"duty_cycle": np.zeros(recordings()[0].samples)}
    runs = [
        replace(run, settings=replace(run.settings, servo=request.servo), channels={**run.channels, **measured})
        for run in recordings()
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("core.identification.fitting.StudyRecord", begin)
        with pytest.raises(SearchBegins) as begins:
            identify(request, runs, folder=folder)
    return begins.value.args


SEARCHED = IdentificationRequest(servo=SERVO, models=("m1",), validation="none", substeps=1, data_hash="one")
NOT_SEARCHED_WITH = ("threads", "run_offsets", "command")
"""Without effect on the values, fitted after the search, and taken from the runs."""


@pytest.mark.parametrize("field", OTHER)
def test_another_value_of_a_field_is_another_search(tmp_path, field) -> None:
    other = study_of(tmp_path, replace(SEARCHED, **{field: OTHER[field]}))
    assert (other == study_of(tmp_path, SEARCHED)) == (field in NOT_SEARCHED_WITH)


def test_what_a_search_depends_on_beyond_single_fields_is_in_its_settings(tmp_path) -> None:
    """The same budget may be exceeded by default only; a term of the command path that is held has no bounds.

    A time between samples that is asked for is that of irregular runs too.
    """
    default = study_of(tmp_path, SEARCHED)
    assert study_of(tmp_path, replace(SEARCHED, dt=0.005)) != default
    assert study_of(tmp_path, replace(SEARCHED, trials=json.loads(default[1])["trials"])) != default
    held = replace(SEARCHED, frozen=(("command_delay", 0.02),))
    assert study_of(tmp_path, held) != default
    assert study_of(tmp_path, replace(held, frozen=(("command_delay", 0.03),))) != study_of(tmp_path, held)


def settings_of(template: ServoModel) -> str:
    start = template.parameters.vector()
    return json.dumps(search_settings(SEARCHED, template, ["a", "b"], 100, 300, [start]), sort_keys=True)


@pytest.mark.parametrize("field", [field.name for field in fields(ServoModel)])
def test_another_value_of_a_field_of_the_template_is_another_search(field) -> None:
    template = build_model("mx106", "m2")
    other = {
        "servo": "mx64",
        "servo_file": new_servo_text("mx106"),
        "friction": "m1",
        "control": replace(template.control, error_gain=0.2),
        "supply_voltage": 11.5,
        "parameters": template.parameters.with_bounds({"kt": (0.7, 2.2)}),
        "contact": "elastoplastic",
        "quadratic_gate": "opposing",
        "integrator": "bam",
        "dt": 0.003,
        "substeps": 4,
        "name": "left",
        "provenance": {"source": "elsewhere"},
    }
    changed = with_contact(template, other[field]) if field == "contact" else replace(template, **{field: other[field]})
    assert settings_of(changed) != settings_of(template)


def test_another_search_on_record_is_not_gone_on_with(tmp_path) -> None:
    url, settings = f"journal:///{tmp_path}/x", {"model": {"dt": 1.0}, "most": 3, "polish": True, "seed": 0}
    parameters = tuple(search_template(SMALL, "m1").parameters.free)
    StudyRecord(url, "new", parameters, settings, False)
    StudyRecord(url, "new", parameters, settings, True)
    with pytest.raises(IdentificationError, match=r"other settings \(seed\)"):
        StudyRecord(url, "new", parameters, {**settings, "seed": 1}, True)
    with pytest.raises(IdentificationError, match=r"other settings \(most\)"):
        StudyRecord(url, "new", parameters, {**settings, "most": 4}, True)


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
    assert stopped.stopped
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


def with_channels(runs, **made):
    """Channels of the runs, each made from a run."""
    return [replace(run, channels={**run.channels, **{n: make(run) for n, make in made.items()}}) for run in runs]


def test_a_duty_cycle_in_another_unit_is_named_and_holds_nothing() -> None:
    """In per cent the gain ratio would be 100."""
    runs = with_channels(recordings(), duty_cycle=lambda run: 100.0 * duty(run))
    assert held_terms(replace(SMALL, command_path=COMMAND_PATH_TERMS), runs) == {}
    (found,) = gain_findings(load_model("mx106", "m6"), runs)
    assert "and 1 is all" in found.text
    assert "per cent" in found.remedy


def volts(run, drop=1.5, offset=0.0):
    """A supply that falls by up to `drop` in every second reading, by more at a large duty cycle, as an XL330's."""
    return 11.5 - (offset + drop * np.abs(duty(run))) * (np.arange(run.samples) % 2)


def test_a_supply_that_alternates_with_the_bridge_is_no_measurement() -> None:
    """The fit takes the median, and nothing buffers the supply."""
    runs = with_channels(recordings(), duty_cycle=duty, supply_voltage=volts)
    usual = tuple(term for term in COMMAND_PATH_TERMS if term != "supply_sag")
    for supply in ("logged", "header"):
        request = replace(SMALL, command_path=COMMAND_PATH_TERMS, supply=supply)
        assert suited(request, runs).command_path == (*usual, "pulse_sag")
        assert suited(suited(request, runs), runs) == suited(request, runs)
        held = replace(request, bounds=(("supply_sag", 0.0, 1.0),))
        assert suited(held, runs).command_path == (*COMMAND_PATH_TERMS, "pulse_sag")
    alternating = next(run for run in runs if supply_alternation(run))
    assert set(supply_of(alternating)) == {np.median(alternating.channels["supply_voltage"])}
    gentle = replace(runs[0], channels={**runs[0].channels, "supply_voltage": volts(runs[0], drop=0.05)})
    assert len(set(supply_of(gentle))) > 1
    (unloaded,) = set(supply_of(gentle, sags=True))
    assert unloaded == np.quantile(gentle.channels["supply_voltage"], 0.9)
    off = {**runs[0].channels, "torque_enable": np.zeros(runs[0].samples, dtype=bool)}
    assert not supply_alternation(replace(runs[0], channels=off))


@pytest.mark.parametrize(
    "supply",
    [
        lambda run: 11.5 + 0.5 * (np.arange(run.samples) % 2),  # noise of the reading, whatever the duty cycle
        lambda run: np.where(np.arange(run.samples) % 10 == 0, 0.0, 11.5),
        lambda run: 11.5 - 2.0 * np.abs(duty(run, noise=0.0)),
        lambda run: 12.0 - 0.5 * (run.time > 1.0),
    ],
    ids=["noise", "failed readings", "sag", "a charger"],
)
def test_other_changes_of_a_supply_do_not_unbuffer_it(supply) -> None:
    runs = with_channels(recordings(), duty_cycle=duty, supply_voltage=supply)
    assert "pulse_sag" not in suited(replace(SMALL, command_path=COMMAND_PATH_TERMS), runs).command_path


def duty(run, ratio=1.0, offset=0.0, noise=0.0003):
    """The duty cycle that a proportional law asks for, as the servo logs it."""
    error, law = run.goal - run.position, load_servo(run.settings.servo).control
    asked = ratio * run.settings.kp * law.error_gain * error + offset * np.sign(error)
    asked = asked + np.random.default_rng(0).normal(0.0, noise, run.samples)
    return run.torque_enable * np.clip(asked, -law.output_limit, law.output_limit)


@pytest.mark.parametrize("ratio", [0.4, 0.9, 1.0, 1.3, 2.5])
@pytest.mark.parametrize("offset", [0.0, 0.03])
def test_the_gain_ratio_that_the_duty_cycle_shows_is_held(ratio: float, offset: float) -> None:
    runs = with_channels(recordings(), duty_cycle=lambda run: duty(run, ratio, offset))
    found = held_terms(replace(SMALL, command_path=COMMAND_PATH_TERMS), runs)["error_gain_ratio"]
    assert found == pytest.approx(ratio, rel=0.005)
    assert held_terms(SMALL, runs) == {}  # without a command path, as with the paper's protocol


@pytest.mark.parametrize("ratio", [0.3, 0.5, 0.8])
def test_a_small_gain_makes_no_limit_of_the_output(ratio: float) -> None:
    """Duty cycles in steps of 1 %, of which many are at the largest, while nothing reaches a limit."""
    runs = with_channels(recordings(), duty_cycle=lambda run: np.round(0.5 * duty(run, ratio, noise=0.0), 2))
    assert "output_limit_ratio" not in held_terms(replace(SMALL, command_path=COMMAND_PATH_TERMS), runs)


@pytest.mark.parametrize("limit", [0.5, 0.9, 1.0])
def test_the_limit_of_the_output_that_the_duty_cycle_shows_is_held(limit: float) -> None:
    """The servo file says 0.9625; where nothing reaches a limit, the file is believed."""
    law = load_servo(SERVO).control
    made = recorded(load_model(SERVO, "m1"), "sin_time_square", Bench(mass=2.0, length=0.15), 64.0, name="stiff")

    def limited(run: Recording) -> np.ndarray:
        return np.clip(run.settings.kp * law.error_gain * (run.goal - run.position), -limit, limit)

    runs = with_channels((*recordings(), made), duty_cycle=limited)
    found = held_terms(replace(SMALL, command_path=COMMAND_PATH_TERMS), runs)
    assert found["output_limit_ratio"] == pytest.approx(limit / law.output_limit, rel=1e-3)
    calm = with_channels(recordings(), duty_cycle=lambda run: 0.2 * duty(run, noise=0.0))
    assert "output_limit_ratio" not in held_terms(replace(SMALL, command_path=COMMAND_PATH_TERMS), calm)
    given = replace(SMALL, command_path=COMMAND_PATH_TERMS, bounds=(("output_limit_ratio", 0.8, 1.0),))
    assert "output_limit_ratio" not in held_terms(given, runs)


def test_a_limit_of_the_output_is_found_in_the_motion() -> None:
    """1.0 where the servo file says 0.9625; a duty cycle above 1 is not searched."""
    control = replace(load_servo(SERVO).control, output_limit=1.0)
    truth = replace(load_model(SERVO, "m1"), control=control)
    loaded = Bench(mass=2.0, length=0.15)
    runs = [recorded(truth, "sin_time_square", loaded, kp, name=f"{kp:g}", duration=4.0) for kp in (16.0, 64.0)]
    request = replace(SMALL, trials=None, command_path=("output_limit_ratio",))
    found = identify(request, runs).results[0].model
    assert found.parameters["output_limit_ratio"].upper == pytest.approx(1.0 / 0.9625)
    assert found.output_limit == pytest.approx(1.0, abs=0.005)


@pytest.mark.parametrize(
    ("change", "asked"),
    [
        ({}, {"frozen": (("error_gain_ratio", 1.2),)}),
        ({}, {"bounds": (("error_gain_ratio", 0.5, 2.0),)}),
        ({"duty_cycle": lambda run: duty(run, noise=0.3)}, {}),
        ({"duty_cycle": lambda run: duty(run, 1.2 if run.trajectory == "sin_sin" else 0.8)}, {}),
        ({"duty_cycle": lambda run: duty(run, 1.01 if run.trajectory == "sin_sin" else 0.7)}, {}),
        ({"duty_cycle": lambda run: -duty(run)}, {}),
        ({"duty_cycle": lambda run: np.zeros(run.samples)}, {}),
    ],
    ids=[
        "frozen by the user",
        "searched by the user",
        "noise",
        "runs disagree",
        "runs disagree about 1",
        "wrong sign",
        "none",
    ],
)
def test_a_gain_ratio_that_is_given_or_not_shown_is_not_held(change, asked) -> None:
    request = replace(SMALL, command_path=COMMAND_PATH_TERMS, **asked)
    runs = with_channels(recordings(), **{"duty_cycle": duty, **change})
    assert held_terms(request, runs) == {}


def test_a_term_with_a_given_value_or_bounds_stays_in_whichever_path_is_tried() -> None:
    held = replace(SMALL, frozen=(("error_gain_ratio", 1.3), ("R", 2.0)), bounds=(("output_offset", 0.0, 0.05),))
    assert held.command_path == ("error_gain_ratio", "output_offset")
    assert held.settled(("command_delay",)).command_path == ("command_delay", "error_gain_ratio", "output_offset")
    assert IdentificationRequest.from_json(held.to_json()) == held
    found = identify(replace(held, validation="25%", command_path_if_better=True), recordings()).results[0].model
    assert found.values["error_gain_ratio"] == 1.3
    assert 0.0 <= found.values["output_offset"] <= 0.05


def test_a_value_of_the_bristle_asks_for_a_contact_that_yields() -> None:
    frozen = IdentificationRequest(servo="mx106", frozen=(("bristle_stiffness", 50.0),))
    bounded = IdentificationRequest(servo="mx106", bounds=(("bristle_damping", 0.1, 5.0),))
    assert {frozen.contact, bounded.contact} == {"elastoplastic_rational"}
    assert IdentificationRequest(servo="mx106", start=(("bristle_stiffness", 50.0),)).contact == "automatic"
