"""A fleet as a population: spread between units apart from uncertainty, and who is unlike the others."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chi2

from core.base.errors import IdentificationError
from core.fleet.outliers import (
    FALSE_ALARMS,
    FIT,
    TRANSFER,
    VALUE,
    find_outliers,
    limit,
    load_factor,
    robust_deviation,
    robust_scores,
)
from core.fleet.parameter_spread import LINEAR, LOGARITHMIC, parameter_spread
from core.fleet.population import Population, drawn, population, shrunk_correlation
from core.fleet.result import Transfer
from tests.core.fleet.specimens import fleet, unit


def spread_of(values, errors, name="kt", bounds=(0.0, 1e3)):
    return parameter_spread(
        name, np.array(values, float), np.array(errors, float), symbol=name, unit="1", bounds=bounds
    )


def deviance(found, between):
    weights = 1.0 / (found.coordinate_errors[found.determined] ** 2 + between**2)
    seen = found.coordinates[found.determined]
    return float(weights @ (seen - weights @ seen / weights.sum()) ** 2)


def test_with_equal_errors_the_variance_between_is_the_observed_less_the_errors():
    """s² − se², the random-effects estimate of DerSimonian and Laird (1986, eq. 8) where all weights are equal."""
    values, error = np.array([0.1, -0.3, 0.5, 0.2, -0.1]), 0.1
    found = spread_of(values, np.full(5, error), "q_offset", (-1.0, 1.0))

    assert found.coordinate == LINEAR
    assert found.between**2 == pytest.approx(values.var(ddof=1) - error**2)
    assert found.centre == pytest.approx(values.mean())
    assert found.centre_error**2 == pytest.approx(values.var(ddof=1) / 5)


def test_the_deviance_meets_its_expectation_and_the_interval_its_quantiles():
    """Q(τ²) = k − 1 (Paule and Mandel 1982) and Q = χ²(2.5 %, 97.5 %) at the ends (Viechtbauer 2007)."""
    random = np.random.default_rng(1)
    values = np.exp(0.3 * random.normal(size=12))
    found = spread_of(values, values * random.uniform(0.01, 0.1, 12))

    assert found.coordinate == LOGARITHMIC
    assert deviance(found, found.between) == pytest.approx(11.0)
    low, high = found.between_interval
    assert deviance(found, low) == pytest.approx(chi2.ppf(0.975, 11))
    assert deviance(found, high) == pytest.approx(chi2.ppf(0.025, 11))
    assert found.differing == pytest.approx(chi2.sf(deviance(found, 0.0), 11))


def test_what_is_not_determined_counts_for_nothing():
    sure = spread_of([1.0, 1.2, 0.9], [0.01, 0.02, 0.01])
    more = spread_of([1.0, 1.2, 0.9, 7.0], [0.01, 0.02, 0.01, math.inf])
    for name in ("centre", "between", "median", "mean", "between_interval", "differing"):
        assert getattr(more, name) == getattr(sure, name)

    few = spread_of([1.0, 1.2, 0.9], [0.01, math.inf, math.nan])
    assert not few.known
    assert (few.between, few.centre) == (0.0, 1.0)
    assert "its spread is unknown" in few.text


@pytest.mark.parametrize(
    ("name", "values", "errors", "coordinate"),
    [
        ("kt", [1.0, 1.1, 1.2], [0.9, 0.9, 0.9], LOGARITHMIC),
        ("friction_base", [0.1, 0.11, 0.12], [0.01, 0.01, 0.01], LOGARITHMIC),
        ("friction_base", [0.1, 0.11, 0.0], [0.01, 0.01, 0.01], LINEAR),
        ("friction_base", [0.1, 0.11, 0.01], [0.01, 0.01, 0.01], LINEAR),
        ("q_offset", [0.1, 0.11, 0.12], [0.01, 0.01, 0.01], LINEAR),
        ("release_braking", [0.5, 0.6, 0.7], [0.01, 0.01, 0.01], LOGARITHMIC),
    ],
)
def test_logarithms_are_taken_where_all_values_are_clear_of_zero(name, values, errors, coordinate):
    assert spread_of(values, errors, name).coordinate == coordinate


def test_correlations_are_shrunk_more_the_fewer_units_there_are():
    """Schäfer and Strimmer (2005): towards 0 without end as their own errors outweigh them."""
    random = np.random.default_rng(4)
    true = np.array([[1.0, 0.8, 0.0], [0.8, 1.0, 0.0], [0.0, 0.0, 1.0]])
    shares = {}
    for count in (5, 400):
        values = np.exp(random.multivariate_normal(np.zeros(3), 0.01 * true, size=count))
        found, shares[count] = shrunk_correlation([spread_of(column, 0.001 * column) for column in values.T])
        assert np.linalg.eigvalsh(found).min() >= 0.0
        np.testing.assert_allclose(np.diag(found), 1.0)
    assert shares[400] < 0.05 < shares[5]
    np.testing.assert_allclose(found, true, atol=3.0 / math.sqrt(400))


def test_contradicting_correlations_still_make_a_distribution():
    """Different units determine different pairs: a and b agree, b and c agree, a and c oppose."""
    nan = math.inf
    a = spread_of([1.0, 2.0, 3.0, 4.0, 1.0, 2.0, 3.0, 4.0, 1, 1, 1, 1], [0.01] * 8 + [nan] * 4)
    b = spread_of([1.0, 2.0, 3.0, 4.0, 1, 1, 1, 1, 1.0, 2.0, 3.0, 4.0], [0.01] * 4 + [nan] * 4 + [0.01] * 4)
    c = spread_of([1, 1, 1, 1, 4.0, 3.0, 2.0, 1.0, 1.0, 2.0, 3.0, 4.0], [nan] * 4 + [0.01] * 8)
    found, _ = shrunk_correlation([a, b, c])
    assert np.linalg.eigvalsh(found).min() >= -1e-12


def test_draws_have_the_centre_the_covariance_and_the_bounds():
    """Moments within four of their standard errors at 20,000 draws; the first draws do not depend on how many."""
    units = fleet(30, {"kt": 0.05, "R": 0.08, "friction_viscous": 0.2}, seed=5)
    found = population(units, "m1")
    about = [p.centre for p in found.parameters]
    rows = drawn(found.parameters, found.correlation, about, 20_000, 7)
    seen = np.stack([p.to_coordinate(rows[:, i]) for i, p in enumerate(found.parameters)], axis=1)
    middle = np.array([float(p.to_coordinate(p.centre)) for p in found.parameters])
    free = [i for i, p in enumerate(found.parameters) if p.name in ("kt", "R", "friction_viscous")]

    deviations = np.array([p.between for p in found.parameters])[free]
    np.testing.assert_array_less(np.abs(seen.mean(axis=0)[free] - middle[free]), 4.0 * deviations / math.sqrt(20_000))
    expected = found.covariance[np.ix_(free, free)]
    errors = 4.0 * np.sqrt((expected**2 + np.outer(deviations**2, deviations**2)) / 20_000)
    np.testing.assert_array_less(np.abs(np.cov(seen[:, free].T) - expected), errors)
    np.testing.assert_array_equal(drawn(found.parameters, found.correlation, about, 3, 7), rows[:3])

    at_zero = replace(found.of("friction_viscous"), coordinate=LINEAR, between=1.0, centre=0.0)
    assert drawn([at_zero], np.eye(1), [0.0], 100, 0).min() == 0.0


def test_a_population_survives_its_file():
    found = population(fleet(5, {"kt": 0.05}, error=0.02), "m1")
    lost = replace(found, parameters=(replace(found.parameters[0], errors=np.full(5, math.inf)), *found.parameters[1:]))
    for one in (found, lost):
        data = json.loads(json.dumps(one.to_json(), allow_nan=False))
        assert Population.from_json(data).to_json() == one.to_json()
    for broken in ({}, None, {**found.to_json(), "correlation": [[1.0]]}, {**found.to_json(), "units": ["one"]}):
        with pytest.raises(IdentificationError, match="population"):
            Population.from_json(broken)


def test_the_strongest_correlation_is_told_first_whatever_its_sign():
    """Only pairs of parameters that both have a spread are told."""
    found = population(fleet(6, {"kt": 0.03, "R": 0.05, "armature": 0.05, "friction_base": 0.05}), "m1")
    places = [[p.name for p in found.parameters].index(name) for name in ("kt", "R", "armature")]
    correlation = np.eye(len(found.parameters))
    for i, j, value in ((0, 1, 0.3), (0, 2, -0.8), (1, 2, 0.5)):
        correlation[places[i], places[j]] = correlation[places[j], places[i]] = value
    still = tuple(replace(p, between=0.1 if place in places else 0.0) for place, p in enumerate(found.parameters))
    told = replace(found, correlation=correlation, parameters=still).strongest
    assert [round(value, 3) for *_, value in told] == [-0.8, 0.5, 0.3]
    assert {symbol for *pair, _ in told for symbol in pair} == {found.parameters[place].symbol for place in places}


@pytest.mark.parametrize("what", ["few correlations", "a nan", "few values", "few standard_errors"])
def test_a_population_that_does_not_fit_together_is_refused(what):
    data = json.loads(json.dumps(population(fleet(4, {"kt": 0.05}), "m1").to_json()))
    if what == "few correlations":
        data["correlation"] = data["correlation"][:-1]
    elif what == "a nan":
        data["correlation"][0][0] = math.nan
    else:
        del data["parameters"][1][what.removeprefix("few ")][-1]
    with pytest.raises(IdentificationError, match="a population"):
        Population.from_json(data)


def test_bounds_are_the_widest_of_all_units():
    units = fleet(3, {"kt": 0.03})
    for place, (low, high) in enumerate(((0.5, 5.0), (0.2, 3.0), (0.4, 9.0))):
        found = units[place].results["m1"]
        model = found.model.with_parameters(found.model.parameters.with_bounds({"kt": (low, high)}))
        units[place] = replace(units[place], results={"m1": replace(found, model=model)})
    kt = population(units, "m1").of("kt")
    assert (kt.lower, kt.upper) == (0.2, 9.0)


def test_two_units_are_too_few():
    with pytest.raises(IdentificationError, match="at least 3"):
        population(fleet(2, {"kt": 0.05}), "m1")


@pytest.mark.parametrize(
    ("name", "changed", "remedy"),
    [
        ("kt", 3.2, "check the supply voltage in its header, then its winding and cable"),
        ("R", 4.4, "check the supply voltage in its header, then its winding and cable"),
        ("armature", 0.04, "check mass, arm mass and length in its header, then whether its gearbox is the same"),
        ("q_offset", 0.1, "its load is mounted at another angle, or its zero differs: set the zero again"),
        ("friction_base", 0.3, "check the servo (wear, lubrication, temperature, preload), and record it again"),
    ],
)
def test_each_parameter_has_the_remedy_of_what_changes_it(name, changed, remedy):
    units = fleet(20, {"kt": 0.03, "R": 0.03, "armature": 0.03, "friction_base": 0.06}, seed=6)
    units[4] = unit("odd", {name: changed})
    found = find_outliers(population(units, "m1"), units)
    (outlier,) = found.found
    assert (outlier.unit, outlier.what, outlier.value) == ("odd", name, changed)
    others = [one.results["m1"].model.values[name] for one in units if one is not units[4]]
    assert outlier.range == pytest.approx((min(others), max(others)))
    assert remedy in outlier.text


@pytest.mark.parametrize("count", [3, 5, 8, 9, 12, 13, 400])
def test_the_robust_deviation_is_the_standard_deviation_of_a_normal_distribution(count):
    """On average, of few units as of many (Croux and Rousseeuw 1992)."""
    random, fleets = np.random.default_rng(count), 40 if count > 100 else 4000
    found = [robust_deviation(row) for row in random.normal(size=(fleets, count))]
    assert np.mean(found) == pytest.approx(1.0, abs=0.02 + 4.0 * np.std(found) / math.sqrt(fleets))


@pytest.mark.parametrize(("factor", "told"), [(1.4, False), (1.6, True)])
def test_an_error_half_as_large_again_is_worth_a_word(factor, told):
    """In a fleet whose errors are alike to a thousandth."""
    units = [
        replace(one, results={"m1": replace(one.results["m1"], train_mae=mae, validation_mae=None)})
        for one, mae in zip(fleet(9, {"kt": 0.03}), 3e-3 * (1.0 + 1e-3 * np.arange(9.0)), strict=True)
    ]
    odd = replace(units[4].results["m1"], train_mae=factor * 3e-3)
    units[4] = replace(units[4], results={"m1": odd})
    found = find_outliers(population(units, "m1"), units)
    assert bool([o for o in found.found if o.kind == FIT]) == told
    if told:
        (outlier,) = found.found
        assert (outlier.unit, outlier.range) == ("unit-005", (3e-3, 3e-3 * 1.008))
        assert "off by 4.8 mrad on the runs it was fitted to, for the others it is 3 … 3.02 mrad" in outlier.text


def test_a_unit_whose_simulation_diverges_has_an_infinite_error():
    """It is told as half a turn, the largest error of an angle."""
    units = [
        replace(one, results={"m1": replace(one.results["m1"], validation_mae=math.inf if place == 4 else 3e-3)})
        for place, one in enumerate(fleet(9, {"kt": 0.03}))
    ]
    (outlier,) = find_outliers(population(units, "m1"), units).found
    assert (outlier.unit, outlier.kind, outlier.value) == ("unit-005", FIT, math.inf)
    assert "its own model is off by 3.14e+03 mrad" in outlier.text


def test_a_transfer_matrix_by_hand():
    """Rows are the units fitted to, columns those judged on."""
    errors = np.array([[1.0, 2.0, 4.0], [3.0, 5.0, 9.0], [6.0, 8.0, 7.0]])
    found = Transfer(friction="m1", units=("a", "b", "c"), errors=errors)
    assert found.own.tolist() == [1.0, 5.0, 7.0]
    assert found.elsewhere.tolist() == [3.0, 6.0, 7.0]
    assert found.received.tolist() == [4.5, 5.0, 6.5]
    diverged = replace(found, errors=np.where(errors == 9.0, math.inf, errors))
    assert diverged.elsewhere.tolist() == [3.0, math.inf, 7.0]
    alone = Transfer(friction="m1", units=("a",), errors=np.ones((1, 1)))
    assert np.isnan([alone.elsewhere, alone.received]).all()
    again = Transfer.from_json(json.loads(json.dumps(diverged.to_json(), allow_nan=False)))
    np.testing.assert_array_equal(again.errors, diverged.errors)
    for wrong in (errors[:2].tolist(), errors[:, :2].tolist()):
        with pytest.raises(IdentificationError, match="a transfer matrix"):
            Transfer.from_json({**found.to_json(), "errors": wrong})


def test_every_judgement_is_counted():
    """Each determined value of a known parameter, each unit's error, and with a transfer matrix what it receives."""
    units = fleet(6, {"kt": 0.03})
    units[0] = unit("lost", errors={"kt": math.inf})
    found = population(units, "m1")
    values = 6 * len(found.parameters) - 1
    matrix = Transfer(friction="m1", units=found.units, errors=np.full((6, 6), 1e-2))
    assert find_outliers(found, units).judgements == values + 6
    assert find_outliers(found, units, matrix).judgements == values + 12


def test_a_bad_recording_shows_in_the_errors_and_not_in_the_values():
    units = fleet(12, {"kt": 0.03}, seed=7)
    maes = 3e-3 * np.exp(0.1 * np.random.default_rng(0).normal(size=12))
    maes[3] = 12e-3
    held = [
        replace(u, results={"m1": replace(u.results["m1"], train_mae=m, validation_mae=m)})
        for u, m in zip(units, maes, strict=True)
    ]
    errors = np.tile(10e-3 * maes / maes.mean(), (12, 1))
    errors[:, 3] *= 4.0
    transfer = Transfer(friction="m1", units=tuple(u.facts.name for u in held), errors=errors)
    found = find_outliers(population(held, "m1"), held, transfer)

    assert found.units == ("unit-004",)
    assert {outlier.kind for outlier in found.found} == {FIT, TRANSFER}
    assert any("12 mrad on held-out runs" in o.text and "a bad recording" in o.text for o in found.found)


@pytest.mark.parametrize("count", [5, 15])
def test_units_of_a_kind_accuse_hardly_anybody(count):
    """Expected are FALSE_ALARMS units a fleet over all its judgements, whatever its size."""
    random, parameters = np.random.default_rng(count), 12
    bar = limit(count, parameters * count)
    accused = [
        np.any(
            [np.abs(robust_scores(row, np.zeros(count))) > bar for row in random.normal(size=(parameters, count))], 0
        )
        for _ in range(250)
    ]
    assert np.mean(np.sum(accused, axis=1)) <= FALSE_ALARMS + 3.0 * math.sqrt(FALSE_ALARMS / 250)


def test_a_unit_that_is_merely_uncertain_is_not_accused():
    random = np.random.default_rng(8)
    seen, errors = 0.03 * random.normal(size=10), np.full(10, 0.01)
    seen[0], errors[0] = 0.6, 0.3
    scores = robust_scores(seen, errors)
    assert abs(scores[0]) < 2.1
    errors[0] = 0.01
    assert robust_scores(seen, errors)[0] > 10.0


def test_a_wrong_mass_in_a_header_is_told_from_a_worn_servo():
    """All torques are 1.6 times too large as the load is: armature and friction times the factor, R over it."""
    units = fleet(12, dict.fromkeys(("armature", "R", "friction_viscous", "friction_base"), 0.05), seed=6)
    values = units[2].results["m1"].model.values
    torques = {name: 1.6 * values[name] for name in ("armature", "friction_viscous", "friction_base")}
    units[2] = unit("heavier", {**values, **torques, "R": values["R"] / 1.6})
    values = units[5].results["m1"].model.values
    units[5] = unit("worn", {**values, "friction_viscous": 2.0 * values["friction_viscous"]})
    people = population(units, "m1")
    found = find_outliers(people, units)
    assert set(found.units) == {"heavier", "worn"}
    assert load_factor(people, 2) == pytest.approx(1.6, rel=0.1)
    assert load_factor(people, 5) is None
    mass = [outlier for outlier in found.found if outlier.unit == "heavier"]
    assert all("the load in its header is probably too large by this factor" in outlier.text for outlier in mass)
    (worn,) = (outlier for outlier in found.found if outlier.unit == "worn")
    assert (worn.kind, worn.what) == (VALUE, "friction_viscous")
    assert worn.score > worn.limit
    assert "times their median: check the servo" in worn.text
    others = [one.results["m1"].model.values["friction_viscous"] for one in units if one.facts.name != "worn"]
    assert f", {worn.value / np.median(others):.2g} times their median" in worn.text
    extremes = [outlier.score / outlier.limit for outlier in found.found]
    assert extremes[0] == max(extremes)
    assert mass == sorted(mass, key=lambda outlier: -outlier.score / outlier.limit)
    assert found.units == tuple(dict.fromkeys(o.unit for o in sorted(found.found, key=lambda o: -o.score / o.limit)))
