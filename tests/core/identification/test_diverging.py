"""A simulation that diverges is the worst wherever errors are ranked or averaged; one value is enough where one may be.

The servo below has no inertia but its load's: on a load without any, its motion ends in NaN.
"""

from __future__ import annotations

import functools
import math
from dataclasses import replace

import numpy as np
import pytest

from core.fleet import spread
from core.fleet.outliers import FIT, TRANSFER, find_outliers, robust_deviation
from core.fleet.plan import FleetPlan, FleetRequest
from core.fleet.population import population
from core.fleet.result import FleetResult, Transfer, _best, _contenders
from core.identification.choice.rule import Contender, recommended
from core.identification.choice.terms import TERMS, TermCost, TermCosts
from core.identification.choice.transfer import TransferTable
from core.identification.evaluate import evaluate, step_warning
from core.identification.fitting import _better_half
from core.identification.identify import IdentificationRequest, identify
from core.identification.overlay import worst_first
from core.identification.runs.folds import balanced_subset
from core.identification.search.objective import DIVERGED, Batch
from core.identification.search.search import End, SearchResult, confirmed, search
from core.identification.search.timestep import few
from core.identification.search.warmstart import search_on
from core.motion.recording import Recording
from core.servo.bench import Bench
from core.servo.model import ServoModel, build_model, with_contact
from core.servo.shipped import load_model
from tests.core.conftest import recorded
from tests.core.fleet.specimens import fleet, unit

NO_INERTIA = 1e-30


@functools.cache
def sound() -> ServoModel:
    model = replace(build_model("xl330", "m1"), integrator="bam")
    return model.with_parameters(model.parameters.with_bounds({"armature": (NO_INERTIA, 1e-2)}))


def lost() -> ServoModel:
    return sound().with_values({"armature": NO_INERTIA})


@functools.cache
def runs() -> tuple[Recording, ...]:
    """The first has a load without inertia; the others are 1 and 2 mrad off what the model does."""
    made = [recorded(sound(), "sin_sin", Bench(mass=0.5, length=0.1), duration=0.5, name=name) for name in "abc"]
    made[1].channels["position"][1:] += 1e-3
    made[2].channels["position"][1:] += 2e-3
    return (replace(made[0], bench=Bench(mass=0.5, length=0.1, measured_inertia=NO_INERTIA)), *made[1:])


@pytest.mark.parametrize("metric", ["mae", "rmse", "mae_velocity"])
def test_a_candidate_that_diverges_on_one_run_is_the_worst(metric) -> None:
    matrix = np.array([lost().parameters.vector(), sound().parameters.vector()])
    batch = Batch(sound(), runs(), threads=1)
    assert np.isinf(batch.scores(matrix).combined(metric)).tolist() == [True, False]
    residuals = batch.residuals(matrix, lambda _, found: np.abs(found).max(axis=0))
    assert residuals[0][0] == DIVERGED
    assert np.isfinite(residuals).all()


def test_a_run_that_diverges_makes_the_mean_infinite_and_is_the_worst_run() -> None:
    found = evaluate(lost(), runs(), threads=1)
    assert (found.mean_mae, found.mean_rmse) == (math.inf, math.inf)
    assert [math.isinf(run.mae) for run in found.runs] == [True, False, False]
    for order in (runs(), runs()[::-1]):
        assert worst_first(lost(), order)[0].id == "a"


def ends(*values: float) -> list[End]:
    return [End(value, np.array([float(place)])) for place, value in enumerate(values)]


@pytest.mark.parametrize("place", [0, 1])
def test_the_repeat_that_diverges_is_not_kept(monkeypatch, place) -> None:
    """Its search saw other runs, and found it best."""
    best = [sound().parameters.vector()] * 2
    best[place] = lost().parameters.vector()
    found = [SearchResult(vector, 1e-3, (vector,), (), 10, 1, False) for vector in best]
    monkeypatch.setattr("core.identification.fitting.search", lambda *_, **__: found.pop(0))
    request = IdentificationRequest(
        servo="xl330", models=("m1",), repeats=2, polish=False, validation="none", integrator="bam", substeps=1,
        bounds=(("armature", NO_INERTIA, 1e-2),),
    )  # fmt: skip
    result = identify(request, runs()[1:]).results[0]
    assert result.model.values["armature"] == sound().values["armature"]


def test_a_search_passes_candidates_over_that_diverge() -> None:
    def broken(x: np.ndarray) -> np.ndarray:
        return np.where(x[:, 0] > 0.0, np.inf, np.where(x[:, 0] < -2.0, np.nan, ((x + 1.0) ** 2).sum(axis=1) + 1.0))

    values: list[float] = []
    bounds, start = np.array([[-3.0, 3.0]] * 2), np.array([1.0, 1.0])
    found = search(broken, bounds, [start], 1000, seed=0, on_generation=lambda told: values.extend(told.values))
    assert found.value == pytest.approx(1.0, abs=1e-3)
    assert max(values) == np.finfo(np.float64).max, "the record holds numbers that compare"
    assert not confirmed(ends(math.inf, math.inf, 1.0), 1.0)


@pytest.mark.parametrize("first", [True, False])
def test_a_model_that_diverges_on_a_held_out_run_is_not_recommended(first) -> None:
    diverges = Contender(
        friction="m1", parameters=6, train_mae=1e-3, held_out=((1e-3, math.inf),), validation_mae=math.inf
    )
    other = Contender(friction="m6", parameters=15, train_mae=2e-3, held_out=((9e-3, 8e-3),), validation_mae=8.5e-3)
    assert recommended([diverges, other] if first else [other, diverges]) is other
    trained = [replace(diverges, train_mae=math.inf, held_out=(), validation_mae=None), replace(other, held_out=())]
    assert recommended(trained).friction == "m6"


def test_a_fit_that_diverges_elsewhere_or_on_its_own_runs_does_not_transfer_best() -> None:
    """Fitted to 0.5 kg it diverges there, fitted to 1 kg on 2 kg; only 2 kg's own is known everywhere."""
    inf = math.inf
    table = TransferTable(
        condition="mass",
        variant="M1",
        values=(0.5, 1.0, 2.0),
        runs=(1, 1, 1),
        errors=np.array([[inf, 7e-3, 8e-3], [5e-3, 2e-3, inf], [4e-3, 3e-3, 2e-3]]),
    )
    assert "Worst: fitted to 1 kg, on 2 kg inf mrad" in table.text
    assert table.text.endswith("The fit to 2 kg transfers best.")
    assert (table.own, table.elsewhere) == (inf, inf)


def test_a_unit_whose_model_diverges_on_its_own_runs_is_no_medoid(monkeypatch) -> None:
    """Errors by unit judged on (row), of the mean model and of a's, b's and c's; b's model is best for the others.

    They are judged with the grid and the supply of the fleet's request.
    """
    inf = math.inf
    errors = {"a": (inf, inf, 2e-3, 5e-3), "b": (9e-3, 6e-3, 1e-3, 4e-3), "c": (8e-3, 7e-3, 3e-3, 1e-3)}
    asked = []
    monkeypatch.setattr(spread, "Judge", lambda **how: asked.append(how) or (lambda name: errors[name]))
    units = [unit(name, {"kt": kt}) for name, kt in zip(errors, (1.9, 2.0, 2.3), strict=True)]
    request = FleetRequest(fit=IdentificationRequest(servo="mx106", models=("m1",), dt=0.0125, supply="header"))
    plan = FleetPlan(request=request, units=tuple(u.facts for u in units), chains=())
    found = spread.fleet_spread(FleetResult(plan=plan, units=tuple(units)), "m1", lambda facts: facts.name)
    assert [(how["dt"], how["supply"]) for how in asked] == [(0.0125, "header")] * 3
    assert found.centre == found.errors.medoid == "b"
    assert found.model.values["kt"] == 2.0
    assert "draws are spread around the latter" in found.errors.text
    assert found.errors.own.tolist() == [inf, 1e-3, 1e-3]
    assert found.errors.mean.tolist() == [inf, 9e-3, 8e-3]
    assert found.errors.others == pytest.approx([3.5e-3, 5e-3, 5e-3])
    assert found.errors.medoid_errors.tolist() == [2e-3, 1e-3, 3e-3]


def test_a_unit_whose_model_diverges_is_named_and_its_other_repeats_count() -> None:
    units = fleet(8, {"kt": 0.03}, seed=7)
    result = units[2].results["m1"]
    units[2] = replace(units[2], results={"m1": replace(result, train_mae=math.inf)})
    errors = np.full((8, 8), 4e-3)
    errors[:, 5] = math.inf
    transfer = Transfer(friction="m1", units=tuple(u.facts.name for u in units), errors=errors)
    found = find_outliers(population(units, "m1"), units, transfer)
    assert {(outlier.unit, outlier.kind) for outlier in found.found} == {("unit-003", FIT), ("unit-006", TRANSFER)}
    assert _contenders(units)[0].train_mae == math.inf
    for repeats in ([result, units[2].results["m1"]], [units[2].results["m1"], result]):
        assert _best(repeats).train_mae == result.train_mae
    assert np.isinf(transfer.received).tolist() == [unit == "unit-006" for unit in transfer.units]


@pytest.mark.parametrize(
    ("values", "nearest"), [((), []), ((3.0,), [0]), ((3.0, 1.0), [1]), ((math.inf, 2.0, 1.0), [2, 1])]
)
def test_the_better_half_of_few_ends_has_at_least_one(values, nearest) -> None:
    assert [int(point[0]) for point in _better_half(ends(*values))] == nearest


def test_one_of_a_kind_is_enough() -> None:
    """One run, one trial, one unit; of two units the distance is what there is, 0.399 makes it unbiased."""
    one = runs()[1:2]
    assert few(one) == list(one)
    assert balanced_subset(one, 1) == list(one)
    assert balanced_subset(runs(), 1)[0] in runs()
    assert evaluate(sound(), one, threads=1).mean_mae == pytest.approx(1e-3, rel=0.02)
    batch = Batch(sound(), one, threads=1)
    assert batch.scores(search_on(sound(), batch, 1, 0).parameters.vector()[None]).mae[0, 0] <= 1.001e-3
    assert robust_deviation(np.array([1.0, 4.0])) == pytest.approx(2.21914 * 0.399 * 3.0)
    alone = Transfer(friction="m1", units=("a",), errors=np.array([[2e-3]]))
    assert alone.own.tolist() == [2e-3]
    assert np.isnan([*alone.elsewhere, *alone.received]).all()
    assert unit("a").results["m1"].spread is None


def test_a_term_without_which_the_model_diverges_is_needed_most() -> None:
    costs = [
        TermCost(term=term, parameters=(), training=gain, held_out=None)
        for term, gain in zip(TERMS, (math.inf, 1e-3), strict=False)
    ]
    judged = TermCosts(model=sound(), train_mae=5e-3, held_out_mae=None, terms=tuple(costs))
    assert judged.text.startswith(f"On training runs, these terms lower the error: {costs[0].term.title}")


@pytest.mark.parametrize(
    ("contact", "mass", "integrator", "said"),
    [
        ("rigid", 0.5, "leapfrog", ""),
        ("rigid", 0.001, "leapfrog", "inertia of 2.35e-05 kg·m²"),
        ("elastoplastic", 1e-4, "leapfrog", "use --substeps 4"),
        ("rigid", 0.05, "bam", "use --substeps 4"),
        ("rigid", 1e-4, "bam", "check armature, mass and length"),
    ],
)
def test_a_step_that_is_too_long_for_the_inertia_is_said(contact, mass, integrator, said):
    """An MX-106 without armature: its error grows from 0.02 mrad to more than a radian as its load becomes lighter."""
    model = with_contact(load_model("mx106", "m6"), contact).with_values({"armature": 1e-6})
    run = recorded(replace(model, dt=1e-3, substeps=4), "sin_sin", Bench(mass=mass, length=0.15), duration=2.0)
    warning = step_warning(replace(model, integrator=integrator, dt=0.005, substeps=1), [run])
    assert bool(warning) == bool(said)
    assert said in warning
