"""The driver: the same numbers in any order and after any loss, nothing twice, nothing kept back."""

import contextlib
import math
import random

import numpy as np
import pytest

from core.base.errors import IdentificationError, InputError
from core.fleet.driver import Done, FleetWatch, outcome, run_fleet
from core.fleet.local import PlainLoop
from core.fleet.result import Transfer
from core.fleet.store import FleetStore
from core.identification.identify import fit_repeat, identify
from tests.core.fleet.small import Load, numbers, quick_plan_of


class Counting(PlainLoop):
    """The plain loop, which counts."""

    def __init__(self, load):
        super().__init__(load)
        self.begun = []

    def submit(self, key, unit, work):
        self.begun.append(key)
        super().submit(key, unit, work)


class Shuffled(Counting):
    """Does many tasks at a time and gives them back in any order."""

    capacity = 5

    def finished(self, timeout):
        random.Random(len(self.begun)).shuffle(self._tasks)
        return [done for _ in range(2) for done in super(Shuffled, self).finished(timeout)]


def run(plan, folder, executor=None, **watch):
    executor = executor or Counting(Load(len(plan.units)))
    return run_fleet(plan, FleetStore(folder), lambda: contextlib.nullcontext(executor), FleetWatch(**watch))


@pytest.fixture(scope="module", autouse=True)
def each_fit_once():
    """Fits that nothing tells apart are made once for all tests: the driver is tested, which only orders them."""
    known = {}

    def fit(request, friction, recordings, split, repeat, simpler):
        before = [(result.model.to_json_text(), result.train_mae) for result in simpler]
        runs = [(run.id, run.position.tobytes()) for run in recordings]
        asked = repr((request, friction, runs, split, repeat, before))
        if asked not in known:
            known[asked] = fit_repeat(request, friction, recordings, split, repeat, simpler)
        return known[asked]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("core.fleet.work.fit_repeat", fit)
        yield


@pytest.fixture(scope="module")
def plan():
    return quick_plan_of(2, repeats=2)


@pytest.fixture(scope="module")
def plain(plan, tmp_path_factory):
    folder = tmp_path_factory.mktemp("fleet")
    return folder, run(plan, folder)


def test_a_fleet_is_each_units_identification(plan, plain):
    """One repeat: what `identify` finds, bit for bit."""
    single = quick_plan_of(1)
    load = Load(1)
    [unit] = single.units
    ours = run(single, plain[0].parent / "single").units[0]
    theirs = identify(single.request_of(unit), load(unit))
    for found in theirs.results:
        mine = ours.results[found.model.friction]
        assert mine.model.values == found.model.values
        assert mine.validation_mae == found.validation_mae
        assert mine.evidence.to_json() == found.evidence.to_json()


def test_of_several_repeats_the_best_counts_and_all_are_told(plan, plain):
    folder, result = plain
    for unit in result.units:
        chains = [chain for chain in plan.chains if chain.unit == unit.facts.name]
        fits = [FleetStore(folder).get(chain, chain.keys[1]) for chain in chains]
        assert unit.results["m2"].train_mae == min(fit.train_mae for fit in fits)
        assert unit.results["m2"].repeats == tuple(repeat for fit in fits for repeat in fit.repeats)


def test_any_order_gives_the_same_numbers(plan, plain, tmp_path):
    assert numbers(run(plan, tmp_path, Shuffled(Load(2)))) == numbers(plain[1])


def test_a_second_run_computes_nothing(plan, plain):
    folder, first = plain

    def none():
        raise AssertionError("nothing is to be done")

    told = []
    again = run_fleet(plan, FleetStore(folder), none, FleetWatch(progressed=told.append))
    assert numbers(again) == numbers(first)
    assert told[-1].computed == 0
    assert told[-1].done == told[-1].tasks == plan.tasks + 2
    assert told[0].text == f"{plan.tasks} of {plan.tasks} fits"


def test_the_folder_tells_the_same_as_the_run(plain):
    folder, first = plain
    read = FleetStore(folder).result()
    assert read.complete
    assert numbers(read) == numbers(first)
    assert read.recommended == first.recommended
    assert read.choice == first.choice


def test_what_was_done_before_it_stopped_is_not_done_again(plan, plain, tmp_path):
    done = []
    half = run(plan, tmp_path, progressed=done.append, should_stop=lambda: bool(done) and done[-1].computed >= 3)
    assert half.done == 3
    assert not half.complete
    assert half.transfer is None
    rest, told = Counting(Load(2)), []
    assert numbers(run(plan, tmp_path, rest, progressed=told.append)) == numbers(plain[1])
    assert len(rest.begun) == plan.tasks - 3 + 2
    assert told[0].text == f"3 of {plan.tasks} fits, starting the workers"
    assert told[1].text.startswith(f"3 of {plan.tasks} fits, fitting M")
    assert told[-1].text == f"{plan.tasks} of {plan.tasks} fits, judging all models on unit-002"
    shares = [step.share for step in told]
    assert shares == sorted(shares)
    assert shares[0] == pytest.approx(3 / plan.tasks, rel=0.01)
    assert shares[-3] > 0.99, "the two rows of the matrix take hardly any time"
    assert shares[-1] == 1.0


def test_a_damaged_fit_and_a_longer_list_of_models_cost_only_themselves(plan, plain, tmp_path):
    store = FleetStore(tmp_path)
    first = plan.chains[0]
    for chain in plan.chains:
        for key in chain.keys:
            store.put(chain, key, FleetStore(plain[0]).get(chain, key))
    (store.unit_folder(first.unit) / "fits" / f"{first.keys[1]}.json").write_text("{")
    executor = Counting(Load(2))
    assert numbers(run(plan, tmp_path, executor)) == numbers(plain[1])
    assert executor.begun == [first.keys[1], "transfer-unit-001", "transfer-unit-002"]
    more = quick_plan_of(2, repeats=2, models=("m1", "m2", "m4"))
    executor = Counting(Load(2))
    run(more, tmp_path, executor)
    assert [key for key in executor.begun if "transfer" not in key] == [chain.keys[2] for chain in more.chains]


def test_a_unit_that_cannot_be_fitted_costs_the_fleet_no_more(plan, plain, tmp_path):
    class Partly(Counting):
        def finished(self, timeout):
            return [
                Done(key=done.key, problem="its runs diverge") if unit == "unit-001" else done
                for unit in [self._tasks[0][1].name]
                for done in super(Partly, self).finished(timeout)
            ]

    told = []
    result = run(plan, tmp_path, Partly(Load(2)), progressed=told.append)
    assert result.problems == {"unit-001": "its runs diverge"}
    assert [unit.complete for unit in result.units] == [False, True]
    assert numbers(result)[0] == [row for row in numbers(plain[1])[0] if row[0] == "unit-002"]
    assert told[-1].done == plan.tasks
    assert any(step.note == "unit-001: its runs diverge" for step in told)
    assert FleetStore(tmp_path).result().problems == result.problems


def test_an_error_of_the_program_is_told_with_its_kind():
    def fail():
        raise ZeroDivisionError("by nothing")

    def refuse():
        raise IdentificationError("too few runs")

    assert outcome("k", fail).problem == "internal error: ZeroDivisionError: by nothing"
    assert outcome("k", refuse) == Done(key="k", problem="too few runs")
    assert outcome("k", lambda: 3) == Done(key="k", value=3)


def test_a_transfer_matrix_counts_for_the_fits_it_was_made_of(tmp_path):
    store = FleetStore(tmp_path)
    transfer = Transfer(friction="m1", units=("a", "b"), errors=np.array([[1e-3, 2e-3], [3e-3, math.inf]]))
    store.put_transfer(transfer, "these fits")
    assert store.get_transfer("other fits") is None
    for basis in ("these fits", None):
        assert store.get_transfer(basis).errors.tolist() == transfer.errors.tolist()


def test_a_folder_that_cannot_be_written_ends_it_in_one_line(plan, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="choose another folder"):
        run(plan, tmp_path / "file" / "fleet")


def test_the_transfer_matrix_judges_models_on_every_units_runs_with_the_units_own_angle(plan, plain):
    """Its diagonal is a unit's own error over all its runs; elsewhere others' models are worse."""
    from core.identification.evaluate import evaluate

    result = plain[1]
    transfer = result.transfer
    assert transfer.friction == result.recommended
    load = Load(2)
    for place, unit in enumerate(result.units):
        model = unit.results[transfer.friction].model
        own = evaluate(model, load(unit.facts)).mean_mae
        assert transfer.errors[place, place] == pytest.approx(own, rel=1e-9)
        other = result.units[1 - place].results[transfer.friction].model
        mixed = other.with_values({"q_offset": model.values["q_offset"]})
        assert transfer.errors[1 - place, place] == pytest.approx(evaluate(mixed, load(unit.facts)).mean_mae, rel=1e-9)
    assert (transfer.received > transfer.own).all()


def test_folds_judge_and_the_fit_to_all_runs_gives_the_values(tmp_path):
    plan = quick_plan_of(1, by=("mass",), models=("m1",))
    result = run(plan, tmp_path)
    whole, light, heavy = (FleetStore(tmp_path).get(chain, chain.keys[0]) for chain in plan.chains)
    found = result.units[0].results["m1"]
    assert found.model.values == whole.model.values
    assert found.validation_mae == pytest.approx((light.validation_mae + heavy.validation_mae) / 2)
    assert result.transfer is None
