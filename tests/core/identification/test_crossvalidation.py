"""Cross-validation by conditions: what is held out is never trained on, and judged whole."""

from __future__ import annotations

import functools
import itertools
import json
from dataclasses import replace

import pytest

from core.base.errors import IdentificationError, InputError, StoppedEarly
from core.identification.choice.crossvalidation import all_variants, cross_validate
from core.identification.choice.model_choice import CrossValidation, Variant
from core.identification.identify import IdentificationRequest
from core.identification.runs.folds import balanced_subset, folds, unit_of
from core.motion.recording import Recording
from core.servo.bench import Bench
from core.servo.shipped import load_model
from sessions.results.crossvalidating import CrossValidationWatch, Question, run_crossvalidation
from tests.core.conftest import recorded

SERVO = "mx106"
M1, M6 = Variant(friction="m1"), Variant(friction="m6")
M1_PATH = Variant(friction="m1", command_path=("command_delay",))


@functools.cache
def grid() -> tuple[Recording, ...]:
    """Two trajectories × two masses × two gains of a servo with load-dependent friction, 3 s at 100 Hz."""
    truth = replace(load_model(SERVO, "m6"), integrator="algorithm1", quadratic_gate="larger_torque")
    return tuple(
        recorded(truth, trajectory, Bench(mass=mass, length=0.15), kp, step=0.01, duration=3.0)
        for trajectory in ("sin_sin", "lift_and_drop")
        for mass in (0.5, 1.5)
        for kp in (8.0, 32.0)
    )


def request(**changes: object) -> IdentificationRequest:
    return IdentificationRequest(**{"servo": SERVO, "trials": 20, "polish": False, "threads": 1, **changes})  # type: ignore[arg-type]


def test_every_value_is_held_out_once_and_the_rest_is_trained_on() -> None:
    divided = folds(grid(), ("mass", "kp"))
    assert [(f.condition, f.value) for f in divided.folds] == [("mass", 0.5), ("mass", 1.5), ("kp", 8.0), ("kp", 32.0)]
    everything = {recording.id for recording in grid()}
    for fold in divided.folds:
        assert set(fold.train) | set(fold.held_out) == everything
        assert not set(fold.train) & set(fold.held_out)
    of = {recording.id: recording for recording in grid()}
    assert {of[run].bench.mass for run in divided.folds[1].held_out} == {1.5}
    assert divided.folds[1].label == "1.5 kg"


def test_a_condition_with_one_value_is_skipped_with_the_remedy() -> None:
    divided = folds(grid(), ("length", "unit", "kp"))
    assert divided.conditions == ("kp",)
    reasons = dict(divided.skipped)
    assert "every run has length 0.15 m: record with another length" in reasons["length"]
    assert "do not say which unit" in reasons["unit"]


def test_units_are_told_by_the_provenance() -> None:
    runs = [replace(r, provenance={"servo_serial": "A" if i % 2 else "B"}) for i, r in enumerate(grid())]
    assert [(f.value, len(f.held_out)) for f in folds(runs, ("unit",)).folds] == [("A", 4), ("B", 4)]
    # Dynamixel servos have no serial number; a damaged entry tells nothing.
    for device in ({"title": "MX-106", "serial": ""}, {}, "MX-106", None):
        assert unit_of(replace(grid()[0], provenance={"device": device})) == ""
        assert unit_of(replace(grid()[0], provenance={"device": device, "unit": "left knee"})) == "left knee"


def test_the_surest_sign_of_a_unit_counts() -> None:
    """The device's own number before one that was typed in, and both before the session a run came with."""
    known = {"device": {"serial": "D"}, "servo_serial": "S", "unit": "U", "session": "2026"}
    told = []
    while known:
        told.append(unit_of(replace(grid()[0], provenance=dict(known))))
        del known[next(iter(known))]
    assert told == ["D", "S", "U", "2026"]


def test_runs_without_a_long_pause_share_a_time_of_recording() -> None:
    """19 minutes are none, 21 are; a run without a time is left out, and the order of the runs does not matter."""
    starts = ("2026-05-01T10:00:00", "2026-05-01T10:40:00", "", "2026-05-01T10:19:00", "no time")
    runs = [replace(r, provenance={"started": start}) for r, start in zip(grid(), starts, strict=False)]
    divided = folds(runs, ("time",)).folds
    assert [(f.value, f.held_out) for f in divided] == [
        ("2026-05-01 10:00:00", (runs[0].id, runs[3].id)),
        ("2026-05-01 10:40:00", (runs[1].id,)),
    ]
    for some, reason in ((runs[2:3], "do not state when"), ([runs[0], runs[3]], "without a pause of 20 minutes")):
        with pytest.raises(IdentificationError, match=reason):
            folds(some, ("time",))


def test_contacts_and_terms_are_compared_beside_the_richest_model() -> None:
    """Each alone, and none fits worse than what it extends."""
    asked = request(trials=16)
    variants = all_variants(asked, grid(), ("m1", "m4"), ("elastoplastic_rational", "output_offset"))
    usual = variants[3]
    assert variants[4:] == (
        replace(usual, contact="elastoplastic_rational"),
        replace(usual, command_path=(*usual.command_path, "output_offset")),
    )
    assert [variant.name for variant in variants[3:]] == [
        "M4 + command path",
        "M4 + command path, elastoplastic, rational",
        "M4 + command path + offset of the output",
    ]
    found = cross_validate(asked, grid(), ("kp",), variants=variants[3:])
    for fit in found.fits:
        assert fit.model.contact == fit.variant.contact
        assert set(fit.model.command_path) <= set(fit.variant.command_path)
    offset, plain = ([found.fit(v, fold).train_mae for fold in found.folds] for v in (variants[5], usual))
    assert all(more <= 1.001 * less for more, less in zip(offset, plain, strict=True))
    assert CrossValidation.from_json(json.loads(json.dumps(found.to_json()))) == found
    assert all_variants(asked, grid(), ("m1", "m4"), ("rigid", "dead_band")) == variants[:4], "nothing is added"
    with pytest.raises(InputError, match="added beside the command path"):
        Question(request=asked, by=("kp",), command_path="off", additions=("output_offset",))
    with pytest.raises(InputError, match="'friction_base' is neither a contact"):
        all_variants(asked, grid(), ("m1",), ("friction_base",))


def test_what_cannot_be_held_out_is_refused() -> None:
    with pytest.raises(IdentificationError, match="nothing can be held out"):
        folds(grid(), ("length", "supply"))
    with pytest.raises(InputError, match="colour"):
        folds(grid(), ("colour",))


def test_a_selection_keeps_every_condition() -> None:
    """Half of a full factorial: each trajectory, mass and gain as often as the other."""
    for seed in range(5):
        chosen = balanced_subset(grid(), 4, seed)
        assert len({r.id for r in chosen}) == 4
        for value in (lambda r: r.trajectory, lambda r: r.bench.mass, lambda r: r.settings.kp):
            counts = [sum(value(r) == v for r in chosen) for v in {value(r) for r in grid()}]
            assert counts == [2, 2]
        assert [r.id for r in balanced_subset(grid(), 4, seed)] == [r.id for r in chosen]
    assert len({tuple(r.id for r in balanced_subset(grid(), 4, seed)) for seed in range(5)}) > 1
    assert balanced_subset(grid(), None) == list(grid())


def test_held_out_runs_are_judged_whole_and_never_fitted_to(tmp_path) -> None:
    variants = (M1, M1_PATH, Variant(friction="m2"))
    heard = []
    found = cross_validate(
        request(), grid(), ("kp", "length"), variants=variants, most_training_runs=3, folder=tmp_path,
        on_progress=heard.append,
    )  # fmt: skip
    assert found.variants == variants
    assert dict(found.skipped).keys() == {"length"}
    for fit in found.fits:
        assert len(fit.trained_on) == 3
        assert not set(fit.trained_on) & set(fit.errors)
        assert set(fit.errors) == set(fit.fold.held_out)
    assert set(found.errors(M1)) == {recording.id for recording in grid()}
    assert heard[-1].number == heard[-1].folds == 2
    assert [step.done for step in heard] == sorted(step.done for step in heard)
    # Studies on record are not searched again, and end the same.
    again = cross_validate(
        request(), grid(), ("kp",), variants=variants, most_training_runs=3, folder=tmp_path,
        on_progress=lambda step: pytest.fail("searched again"),
    )  # fmt: skip
    assert again.error(M1_PATH) == found.error(M1_PATH)
    text = json.dumps(found.to_json(), allow_nan=False)
    assert CrossValidation.from_json(json.loads(text)) == found


def test_a_stopped_one_goes_on_with_what_is_missing(tmp_path) -> None:
    """Fits that were done are not made again, and the end is the same as without a stop."""
    question = Question(request=request(models=("m1", "m2"), trials=16), by=("kp",))
    runs, planned, first, second = grid()[:4], [], [], []
    whole = run_crossvalidation(question, runs, None).found
    with pytest.raises(StoppedEarly):
        run_crossvalidation(
            question,
            runs,
            tmp_path,
            CrossValidationWatch(
                planned=lambda variants, folds: planned.append((len(variants), len(folds))),
                judged=first.append,
                should_stop=lambda: len(first) >= 3,
            ),
        )
    assert planned == [(4, 2)]
    assert len(first) == 3
    assert not any(cell.recorded for cell in first)
    found = run_crossvalidation(question, runs, tmp_path, CrossValidationWatch(judged=second.append)).found
    assert [(c.variant, c.fold, c.error) for c in second[:3]] == [(c.variant, c.fold, c.error) for c in first]
    # The first two are those of one identification; the third is searched on from the record with its others.
    assert [cell.recorded for cell in second] == [True] * 3 + [False] * 5
    assert [cell.done for cell in second] == sorted(cell.done for cell in second)
    assert [fit.errors for fit in found.fits] == [fit.errors for fit in whole.fits]
    assert {file.name for file in tmp_path.glob("*.json")} == {"crossvalidation.json", "crossvalidation_request.json"}


def test_a_command_path_never_fits_worse_than_none() -> None:
    """Its terms are off at their neutral values, which are tried; budgets too small to find that out otherwise."""
    asked = request(trials=16)
    found = cross_validate(asked, grid(), ("kp",), variants=all_variants(asked, grid(), ("m1",)))
    for fold in found.folds:
        plain, path = (found.fit(variant, fold).train_mae for variant in found.variants)
        assert path <= plain * 1.001


def test_yielding_a_processor_changes_nothing_but_time() -> None:
    asked = request(trials=16, threads=3)
    runs = grid()[:4]
    steady = cross_validate(asked, runs, ("kp",), variants=(M1, M1_PATH))
    polled = itertools.count()
    yielding = cross_validate(asked, runs, ("kp",), variants=(M1, M1_PATH), should_yield=lambda: next(polled) % 3 < 2)
    assert next(polled) > 0
    assert [fit.model.values for fit in yielding.fits] == [fit.model.values for fit in steady.fits]
    assert [fit.errors for fit in yielding.fits] == [fit.errors for fit in steady.fits]


def test_stopping_keeps_complete_folds() -> None:
    steps = []
    found = cross_validate(
        request(), grid(), ("kp", "mass"), variants=(M1,), on_progress=steps.append,
        should_stop=lambda: bool(steps) and steps[-1].number == 3,
    )  # fmt: skip
    assert found.stopped
    assert [fold.condition for fold in found.folds] == ["kp", "kp"]
    with pytest.raises(IdentificationError, match="stopped before"):
        cross_validate(request(), grid(), ("kp",), variants=(M1,), should_stop=lambda: True)


def test_stopping_keeps_known_folds_behind_the_stop(tmp_path) -> None:
    """Also those of another condition, which come later."""
    question = Question(request=request(models=("m1",), trials=16), by=("kp",), command_path="off")
    known = run_crossvalidation(question, grid(), tmp_path).found.folds
    judged = []
    watch = CrossValidationWatch(judged=judged.append, should_stop=lambda: bool(judged))
    again = run_crossvalidation(replace(question, by=("mass", "kp")), grid(), tmp_path, watch).found
    assert again.stopped
    assert [fold.condition for fold in again.folds] == ["mass", "kp", "kp"]
    assert again.folds[1:] == known


def test_an_unfinished_one_is_not_thrown_away_by_other_settings(tmp_path) -> None:
    question = Question(request=request(models=("m1",), trials=16), by=("kp",), command_path="off")
    judged = []
    stop = CrossValidationWatch(judged=judged.append, should_stop=lambda: bool(judged))
    run_crossvalidation(question, grid(), tmp_path, stop)
    files = {path.name: path.read_bytes() for path in tmp_path.glob("*.json")}
    for changes in ({"models": ("m1", "m2")}, {"trials": 17}):
        with pytest.raises(IdentificationError, match="unfinished cross-validation with other settings"):
            run_crossvalidation(replace(question, request=replace(question.request, **changes)), grid(), tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.glob("*.json")} == files
    judged.clear()
    assert not run_crossvalidation(question, grid(), tmp_path, CrossValidationWatch(judged=judged.append)).found.stopped
    assert [cell.recorded for cell in judged] == [True, False]


def test_a_held_term_is_part_of_every_path() -> None:
    asked = request(frozen=(("error_gain_ratio", 1.2),))
    variants = all_variants(asked, grid(), ("m1",))
    assert variants[0].command_path == ("error_gain_ratio",)
    assert set(variants[1].command_path) > {"error_gain_ratio", "command_delay"}
    found = cross_validate(asked, grid(), ("kp",), variants=[replace(variants[0], command_path=())])
    assert {fit.model.values["error_gain_ratio"] for fit in found.fits} == {1.2}
    assert {fit.variant for fit in found.fits} == {variants[0]}
