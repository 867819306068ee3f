"""A fleet's mean model, what it is worth, and the models drawn about it."""

import json
from dataclasses import replace

import numpy as np
import pytest

from core.base.errors import IdentificationError
from core.fleet.agreement import agreement
from core.fleet.plan import FleetPlan, FleetRequest
from core.fleet.population import population
from core.fleet.result import FleetResult
from core.fleet.simulated import simulated_units
from core.fleet.spread import MEAN, CentreErrors, Spread, fleet_spread, mean_model
from core.identification.evaluate import evaluate
from core.identification.request import IdentificationRequest
from core.servo.shipped import load_model
from tests.core.fleet.specimens import fleet, unit

SPREADS = {"kt": 0.04, "R": 0.06, "armature": 0.05, "friction_base": 0.1, "friction_viscous": 0.1}


def result_of(units):
    request = IdentificationRequest(servo="mx106", models=("m1",))
    plan = FleetPlan(request=FleetRequest(fit=request), units=tuple(u.facts for u in units), chains=())
    return FleetResult(plan=plan, units=tuple(units))


@pytest.fixture(scope="module")
def spread():
    units = fleet(8, SPREADS)
    found = population(units, "m1")
    return Spread(population=found, centre=MEAN, model=mean_model(found, units))


def test_the_mean_model_is_the_geometric_mean_and_says_where_it_is_from():
    """Of equally certain positive values."""
    units = [unit(f"u{i}", {"kt": kt}, {"kt": 0.01 * kt}) for i, kt in enumerate((2.0, 2.2, 2.4))]
    mean = fleet_spread(result_of(units), "m1").model

    assert mean.values["kt"] == pytest.approx((2.0 * 2.2 * 2.4) ** (1 / 3))
    assert mean.values["R"] == pytest.approx(load_model("mx106", "m1").values["R"])
    assert mean.provenance["units"] == ["u0", "u1", "u2"]
    assert mean.provenance["spreads"]["kt"]["between"] > 0.0
    assert "mean of 3 units" in mean.title


def test_samples_are_models_within_the_bounds_and_repeatable(spread):
    models = spread.samples(40, seed=3)
    again = spread.samples(4, seed=3)
    assert [m.values for m in models[:4]] == [m.values for m in again]
    assert [m.values for m in spread.samples(4, seed=4)] != [m.values for m in again]
    for name in SPREADS:
        p = spread.population.of(name)
        drawn = np.array([model.values[name] for model in models])
        assert np.all((drawn >= p.lower) & (drawn <= p.upper))
        assert np.log(drawn).std(ddof=1) == pytest.approx(p.between, rel=0.45)


def test_units_are_the_models_they_were(spread):
    for own, values in zip(spread.units(), spread.population.of("kt").values, strict=True):
        assert own.values["kt"] == values


def test_a_spread_survives_its_file(spread, tmp_path):
    errors = CentreErrors(
        units=("a", "b"),
        own=np.array([1e-3, 2e-3]),
        mean=np.array([3e-3, np.inf]),
        others=np.array([4e-3, 5e-3]),
        medoid="a",
        medoid_errors=np.array([1e-3, 6e-3]),
    )
    for one in (spread, replace(spread, errors=errors)):
        file = tmp_path / "spread.json"
        file.write_text(one.to_json_text(), "utf-8")
        back = Spread.read(file)
        assert back.to_json_text() == one.to_json_text()
        assert [m.values for m in back.samples(3)] == [m.values for m in one.samples(3)]


@pytest.mark.parametrize(
    "change",
    [{"format": "other"}, {"version": 99}, {"population": None}, {"model": {}}, {"errors": {"units": 3}}],
    ids=lambda change: next(iter(change)),
)
def test_what_is_no_spread_is_refused(spread, change, tmp_path):
    file = tmp_path / "spread.json"
    file.write_text(json.dumps({**spread.to_json(), **change}), "utf-8")
    with pytest.raises(IdentificationError, match=r"spread\.json"):
        Spread.read(file)


def test_the_mean_is_held_against_own_other_and_best_models_on_the_recordings():
    """Each error is what `evaluate` gives with the mounting angle of the unit that is judged on."""
    made = simulated_units("mx106", 3, friction="m1", trajectories=("sin_time_square",))
    units = [unit(u.name, {**u.truth.values, "q_offset": 0.01 * i}) for i, u in enumerate(made)]
    by = {u.name: u.recordings for u in made}
    found = fleet_spread(result_of(units), "m1", lambda facts: by[facts.name])
    errors = found.errors
    assert errors is not None

    table = np.empty((4, 3))
    mean = mean_model(found.population, units)
    for column, judged in enumerate(units):
        own = judged.results["m1"].model
        for row, model in enumerate((mean, *(u.results["m1"].model for u in units))):
            moved = model.with_values({"q_offset": own.values["q_offset"]})
            table[row, column] = evaluate(moved, by[judged.facts.name]).mean_mae
    np.testing.assert_allclose(errors.mean, table[0], rtol=1e-6)
    np.testing.assert_allclose(errors.own, np.diag(table[1:]), rtol=1e-6)
    others = np.where(np.eye(3, dtype=bool), np.nan, table[1:])
    np.testing.assert_allclose(errors.others, np.nanmean(others, axis=0), rtol=1e-6)
    assert errors.medoid == made[int(np.nanmean(others, axis=1).argmin())].name


def test_the_mean_is_held_against_the_medoid_where_neither_has_seen_the_unit():
    """On b and c the mean is off by 2 mrad and a's model by 3; a's own unit would turn that round."""
    errors = CentreErrors(
        units=("a", "b", "c"),
        own=np.array([1e-3, 1e-3, 4e-3]),
        mean=np.array([9e-3, 1e-3, 3e-3]),
        others=np.array([6e-3, 7e-3, 8e-3]),
        medoid="a",
        medoid_errors=np.array([1e-3, 2e-3, 4e-3]),
    )
    assert errors.mean_is_best
    assert errors.text == (
        "the mean model is off by 2 mrad on average over the units, a's by 3; "
        "units' own models are off by 2 on their recordings, those of other units by 7"
    )
    worse = replace(errors, mean=np.array([0.0, 3e-3, 4e-3]))
    assert not worse.mean_is_best
    assert worse.text == (
        "the mean model, off by 3.5 mrad on average over the units, is worse than that of a, 3: draws are spread "
        "around the latter; units' own models are off by 2 on their recordings, those of other units by 7"
    )


@pytest.mark.parametrize(
    "changed", [{"medoid": "c"}, *({k: [1e-3]} for k in ("own", "mean", "others", "medoid_errors"))]
)
def test_errors_that_do_not_fit_their_units_are_refused(changed):
    two = np.array([1e-3, 2e-3])
    errors = CentreErrors(units=("a", "b"), own=two, mean=two, others=two, medoid="a", medoid_errors=two)
    data = json.loads(json.dumps(errors.to_json()))
    assert CentreErrors.from_json(data).to_json() == errors.to_json()
    with pytest.raises(ValueError, match="errors are required for each of 2 units"):
        CentreErrors.from_json({**data, **changed})


def test_the_models_of_a_spread_say_which_they_are(spread):
    assert [model.name for model in spread.samples(2)] == ["mx106 M1 draw 1", "mx106 M1 draw 2"]
    assert [model.name for model in spread.units()] == [f"mx106 M1 {name}" for name in spread.population.units]
    assert all(model.provenance == {} for model in (*spread.samples(1), *spread.units()))


def test_agreement_by_hand():
    """Units 0, 1 and 5.15, draws 5, 7 and 9: variances 7.4575 and 4, and 5.1 … 8.9 in the middle of the draws.

    Mean distances: 44.85/9 across, 10.3/3 among the units, 8/3 among the draws.
    """
    found = agreement(np.array([[0.0], [1.0], [5.15]]), np.array([[5.0], [7.0], [9.0]]))
    assert found.spread == pytest.approx(7.4575**0.5)
    assert found.ratio == pytest.approx(2.0 / 7.4575**0.5)
    assert found.covered == pytest.approx(1.0 / 3.0)
    assert found.energy == pytest.approx((2.0 * 44.85 / 9.0 - 10.3 / 3.0 - 8.0 / 3.0) / (10.3 / 3.0))
    assert found.text == (
        "motions of the draws have 0.73 times the spread of the units' (2.73e+03 mrad), 33 % of the units' "
        "positions lie within the central 95 % of the draws', energy distance 1.13"
    )
