"""The keys of a fleet's fits: the same for the same work, others as soon as anything a result depends on differs."""

import json
from dataclasses import replace

import pytest

from core.base.errors import IdentificationError
from core.fleet.plan import FleetPlan, FleetRequest, UnitFacts, make_plan
from core.identification.request import IdentificationRequest
from tests.core.fleet.small import SERVO, Load, facts_of, plan_of, units
from tests.core.identification.other_requests import OTHER


def keys(plan):
    return [chain.keys for chain in plan.chains]


def test_a_chain_for_each_unit_and_repeat_holds_a_fit_for_each_model():
    plan = plan_of(2, models=("m1", "m4", "m6"), repeats=3)
    assert [(chain.unit, chain.repeat) for chain in plan.chains] == [
        (f"unit-{number:03d}", repeat) for number in (1, 2) for repeat in range(3)
    ]
    assert plan.tasks == 2 * 3 * 3
    assert len({key for chain in plan.chains for key in chain.keys}) == plan.tasks


def test_folds_come_after_the_fit_to_all_runs_that_gives_the_models():
    splits = [chain.split for chain in plan_of(1, by=("mass",)).chains]
    assert [split.rule for split in splits] == ["none", "mass=0.5", "mass=1.0"]
    assert len(splits[0].train) == 4
    assert not splits[0].validation
    assert set(splits[1].train) == set(splits[2].validation)


def test_the_same_work_has_the_same_keys_whatever_it_is_done_beside():
    first = plan_of(1)
    assert keys(plan_of(1)) == keys(first)
    assert keys(plan_of(2))[0] == keys(first)[0]
    assert keys(plan_of(1, threads=7)) == keys(first)
    more = plan_of(1, models=("m1", "m2", "m6"))
    assert more.chains[0].keys[:2] == first.chains[0].keys
    assert keys(plan_of(1, repeats=3))[1] == keys(plan_of(1, repeats=2))[1]


@pytest.mark.parametrize("field", [name for name in OTHER if name not in ("servo", "threads", "data_hash")])
def test_what_a_result_depends_on_is_in_its_key(field):
    """A servo and data come with the units; threads change nothing."""
    change = {field: "mass=0.5" if field == "validation" else OTHER[field]}
    assert keys(plan_of(1, **change))[0] != keys(plan_of(1))[0]


def test_other_data_and_other_simpler_models_give_other_keys():
    unit = facts_of(units(1)[0])
    request = FleetRequest(fit=IdentificationRequest(servo=SERVO, models=("m1", "m2"), trials=60))
    other = make_plan(request, [replace(unit, data_hash="0" * 64)], Load(1))
    assert keys(other) != keys(plan_of(1))
    assert plan_of(1, models=("m2",)).chains[0].keys[0] != plan_of(1).chains[0].keys[1]


def test_a_plan_survives_its_file():
    plan = plan_of(2, by=("mass",), repeats=2)
    again = FleetPlan.from_json(json.loads(json.dumps(plan.to_json())))
    assert again.chains == plan.chains
    assert again.units == plan.units
    assert again.request == plan.request


@pytest.mark.parametrize("data", [None, [], {}, {"request": {}, "units": [], "chains": []}, {"units": 3}])
def test_what_is_no_plan_is_refused(data):
    with pytest.raises(IdentificationError):
        FleetPlan.from_json(data)


def test_units_of_another_servo_one_name_or_one_condition_are_refused_by_name():
    unit = facts_of(units(1)[0])
    request = FleetRequest(fit=IdentificationRequest(servo=SERVO))
    with pytest.raises(IdentificationError, match="xl330 cannot be in a fleet of mx106"):
        make_plan(request, [unit, replace(unit, servo="xl330")], Load(1))
    with pytest.raises(IdentificationError, match="two units are named unit-001"):
        make_plan(request, [unit, unit], Load(1))
    with pytest.raises(IdentificationError, match=r"unit-001: .*every run has kp"):
        make_plan(replace(request, by=("kp",)), [unit], Load(1))
    with pytest.raises(IdentificationError, match="at least one unit"):
        make_plan(request, [], Load(1))


def test_a_unit_is_identified_in_one_thread_with_its_own_data():
    plan = plan_of(2, threads=7)
    for unit in plan.units:
        assert plan.request_of(unit) == replace(plan.request.fit, threads=1, data_hash=unit.data_hash)
        assert plan.unit(unit.name) is unit


@pytest.mark.parametrize(
    "changed",
    [{"name": 1}, {"servo": None}, {"source": 2}, {"data_hash": 3}, {"runs": ("0001", 4)}],
    ids=lambda changed: next(iter(changed)),
)
def test_facts_of_a_unit_are_texts(changed):
    with pytest.raises(IdentificationError, match="all of them texts"):
        replace(facts_of(units(1)[0]), **changed)


@pytest.mark.parametrize("name", ["", ".hidden", "a/b", "..", "a b", "x" * 122])
def test_a_unit_is_named_as_a_folder_can_be(name):
    facts = facts_of(units(1)[0])
    with pytest.raises(IdentificationError, match="not a valid name for a unit's folder"):
        replace(facts, name=name)
    assert replace(facts, name="x" * 121).name


@pytest.mark.parametrize("key", ["0" * 31, "0" * 33, "A" * 32, "../" + "0" * 29, 7])
def test_what_is_no_key_of_a_fit_is_refused(key):
    chain = plan_of(1).chains[0]
    with pytest.raises(IdentificationError, match="is not the key of a fit"):
        replace(chain, keys=(chain.keys[0], key))


def test_other_runs_of_the_same_data_are_other_work():
    unit = facts_of(units(1)[0])
    request = plan_of(1).request
    renamed = replace(unit, runs=tuple(f"other-{run}" for run in unit.runs))
    assert keys(make_plan(request, [unit], Load(1))) != keys(make_plan(request, [renamed], Load(1)))


def test_facts_are_plain_data():
    unit = facts_of(units(1)[0])
    assert UnitFacts.from_json(json.loads(json.dumps(unit.to_json()))) == unit
