"""Profile likelihood and bootstrap on simulated servos: they agree with linearised intervals where those are true."""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chi2, norm

from core.base.errors import IdentificationError
from core.fleet.randomisation import files as randomisation
from core.identification.evidence import model as identified
from core.identification.evidence.bootstrap import bootstrap
from core.identification.evidence.certainty import (
    LIMIT,
    Certainty,
    ParameterCertainty,
    Profile,
    ProfilePoint,
    Spread,
    certainty,
    parameters_named,
)
from core.identification.evidence.model import Evidence
from core.identification.evidence.profile import ROOT, Optimum, profile
from core.identification.evidence.sensitivity import correlation_length, deviance_factor, judge
from core.identification.result import ModelResult
from core.motion.recording import Recording
from core.motion.trajectories import PAPER_TRAJECTORIES
from core.servo.bench import Bench
from core.servo.model import ServoModel, build_model
from core.servo.shipped import load_model
from core.studies.webots import fitting
from tests.core.conftest import recorded

SERVO = "mx106"
TRAJECTORIES: list[str] = list(PAPER_TRAJECTORIES)
NOISE = 1e-3
"""Of the measured angle [rad]."""


def record(model: ServoModel, name: str, *, mass: float = 1.0, kp: float = 16.0, number: int = 0) -> Recording:
    """A recording of a model at 100 Hz with white noise on its angle, another one for each number."""
    seed = [round(kp), round(10 * mass), TRAJECTORIES.index(name), number]
    bench, run = Bench(mass=mass, length=0.15), f"{name}_{mass}_{kp:g}_{number}"
    return recorded(model, name, bench, kp, name=run, step=0.01, noise=NOISE, seed=seed)


@functools.cache
def truth(*terms: str) -> ServoModel:
    """M1 of the MX-106 at the catalogue's values, with command path terms at their start.

    Time steps are short and the control period is known, so that neither adds to the intervals.
    """
    template = build_model(SERVO, "m1", command_path=terms)
    template = replace(template, substeps=4, control=replace(template.control, control_period=0.0025))
    return template.with_values(load_model(SERVO, "m1").values)


@functools.cache
def grid() -> tuple[Recording, ...]:
    """Two loads, two gains, the four trajectories."""
    return tuple(
        record(truth(), name, mass=mass, kp=kp)
        for mass in (0.5, 1.5)
        for kp in (8.0, 32.0)
        for name in PAPER_TRAJECTORIES
    )


@functools.cache
def fitted() -> tuple[Optimum, Evidence]:
    """The truth moved to the minimum for these runs, and what is known of it by linearisation."""
    return fitted_to(truth(), grid())


def fitted_to(model: ServoModel, recordings: Sequence[Recording]) -> tuple[Optimum, Evidence]:
    optimum = Optimum.near(model, recordings, threads=1)
    found = optimum.batch.model
    return optimum, judge(found, found.parameters, recordings, threads=1)


def result_of(optimum: Optimum, evidence: Evidence) -> ModelResult:
    return ModelResult(
        model=optimum.batch.model, train_mae=NOISE, validation_mae=None, validation_rmse=None, evaluations=0,
        wall_seconds=0.0, repeats=(), evidence=evidence,
    )  # fmt: skip


def profiled(name: str) -> tuple[Profile, float]:
    optimum, evidence = fitted()
    found = profile(optimum, name, evidence.of(name).half_width)
    assert found is not None
    return found, evidence.of(name).half_width


def test_intervals_hold_95_percent() -> None:
    """In the middle of a normal distribution; for the deviance at the lower end of χ² with one degree of freedom."""
    for module in (identified, randomisation, fitting):
        assert pytest.approx(norm.ppf(0.975), abs=1e-5) == module.NORMAL_95, module.__name__
    assert pytest.approx(chi2.ppf(0.95, 1)) == LIMIT
    assert pytest.approx(chi2.ppf(0.95, 1)) == ROOT**2
    parameter = fitted()[1].of("kt")
    assert parameter.half_width == pytest.approx(norm.ppf(0.975) * parameter.standard_error)


@pytest.mark.parametrize("name", [p.name for p in truth().parameters.free])
def test_a_profile_is_the_linearised_interval_where_the_motion_is_linear(name: str) -> None:
    """Noise of 1 mrad moves the values so little that the motion's answer is straight."""
    found, half_width = profiled(name)
    value = fitted()[0].batch.model.values[name]
    assert found.lower is not None
    assert found.upper is not None
    assert value - found.lower == pytest.approx(half_width, rel=0.2)
    assert found.upper - value == pytest.approx(half_width, rel=0.2)
    assert found.better is None
    assert [p.value for p in found.points] == sorted(p.value for p in found.points)
    assert min(p.deviance for p in found.points) == pytest.approx(0.0, abs=0.05)


def test_the_deviance_of_squares_is_that_of_a_normal_distribution() -> None:
    """For r ≪ ε the loss is r²/2ε, and twice the log of the likelihoods' ratio Σr²/σ²."""
    scale = 1e-2
    residuals = 1e-4 * np.random.default_rng(0).normal(size=100_000)
    assert deviance_factor(residuals, scale) / (2.0 * scale) == pytest.approx(1.0 / np.mean(residuals**2), rel=0.01)


def test_what_moves_nothing_is_open() -> None:
    """Braking, in runs that never release the motor."""
    model = truth("release_braking")
    runs = [r for r in grid() if r.torque_enable.all()]
    found = profile(Optimum.near(model, runs, threads=1), "release_braking", math.inf)
    assert found is not None
    assert (found.lower, found.upper) == (None, None)


def test_a_model_away_from_the_minimum_is_polished_first() -> None:
    model = fitted()[0].batch.model
    moved = model.with_values({"friction_base": 1.01 * model.values["friction_base"]})
    optimum = Optimum.near(moved, grid(), threads=1)
    assert optimum.moved > 10.0
    assert optimum.loss == pytest.approx(fitted()[0].loss, rel=1e-4)
    assert fitted()[0].moved == pytest.approx(len(model.parameters.free), abs=8.0)


def test_a_profile_that_is_stopped_is_none() -> None:
    assert profile(fitted()[0], "kt", math.inf, should_stop=lambda: True) is None


def test_one_free_parameter_has_a_profile() -> None:
    model = fitted()[0].batch.model
    names = {p.name: p.value for p in model.parameters.free if p.name != "friction_base"}
    alone = model.with_parameters(model.parameters.frozen_at(names))
    optimum = Optimum.near(alone, grid(), threads=1)
    found = profile(optimum, "friction_base", math.inf)
    assert found is not None
    assert found.lower is not None
    assert found.lower < model.values["friction_base"]
    with pytest.raises(IdentificationError, match="every parameter of the model is frozen"):
        Optimum.near(model.with_parameters(model.parameters.frozen_at(model.values)), grid(), threads=1)


def test_a_bootstrap_is_the_middle_95_percent_of_its_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """41 draws that find 0 … 40: 1 and 39 are the ends, √(41·42/12) is the standard deviation of a sample.

    Each draws as many runs as there are, with replacement, and polishes twice, the second time from where it was.
    """
    drawn: list[tuple[str, ...]] = []
    begun: list[float] = []

    def found(batch: object, start: np.ndarray, **_: object) -> tuple[np.ndarray, None]:
        if len(begun) % 2 == 0:
            drawn.append(batch.ids)  # type: ignore[attr-defined]
        begun.append(float(start[0]))
        return np.full_like(start, float((len(begun) - 1) // 2)), None

    monkeypatch.setattr("core.identification.evidence.bootstrap.polish", found)
    runs, heard = list(grid())[:6], []
    result = bootstrap(truth(), runs, 41, seed=1, threads=1, on_draw=heard.append)
    assert result is not None
    assert (result.draws, result.seed, heard) == (41, 1, list(range(1, 42)))
    assert [spread.name for spread in result.spreads] == [p.name for p in truth().parameters.free]
    for spread in result.spreads:
        assert (spread.lower, spread.upper) == (pytest.approx(1.0), pytest.approx(39.0))
        assert spread.standard_error == pytest.approx(math.sqrt(41.0 * 42.0 / 12.0))
    assert {len(ids) for ids in drawn} == {6}
    assert {run for ids in drawn for run in ids} == {run.id for run in runs}
    assert sum(len(set(ids)) < 6 for ids in drawn) > 30
    assert begun[::2] == [truth().parameters.vector()[0]] * 41
    assert begun[1::2] == [float(number) for number in range(41)]


def test_the_deviance_counts_runs_alike_and_neighbours_once() -> None:
    """Two runs, one a third of the other: n of a mean of means is 2²/(1/n₁ + 1/n₂); correlated samples count less."""
    runs = [record(truth(), name) for name in ("sin_sin", "lift_and_drop")]
    runs[0] = replace(runs[0], channels={**runs[0].channels, "position": runs[0].position + 1e-3})
    third = runs[1].samples // 3
    runs[1] = replace(runs[1], channels={name: values[:third] for name, values in runs[1].channels.items()})
    held = {p.name: p.value for p in truth().parameters.free if p.name != "friction_base"}
    optimum = Optimum.near(truth().with_parameters(truth().parameters.frozen_at(held)), runs, threads=1)
    residuals = optimum.batch.residuals(
        optimum.batch.model.parameters.vector()[None], lambda _, found: found[:, 0].copy()
    )

    alike = correlation_length(residuals)
    samples = 4.0 / sum(1.0 / len(residual) for residual in residuals)
    assert alike > 1.5
    scale = truth().spec.encoder_step
    expected = deviance_factor(np.concatenate(residuals), scale) * samples / alike
    assert optimum.factor == pytest.approx(expected, rel=1e-6)


def test_the_first_draws_are_the_same_and_a_stop_keeps_them() -> None:
    model = fitted()[0].batch.model
    whole = bootstrap(model, grid(), 3, seed=4, threads=1)
    done: list[int] = []
    cut = bootstrap(model, grid(), 9, seed=4, threads=1, on_draw=done.append, should_stop=lambda: len(done) == 3)
    assert cut == whole
    assert bootstrap(model, grid(), 9, threads=1, should_stop=lambda: True) is None
    other = bootstrap(model, grid(), 3, seed=5, threads=1)
    assert other is not None
    assert whole is not None
    assert other.spreads != whole.spreads


def test_a_bootstrap_needs_runs_and_draws() -> None:
    with pytest.raises(IdentificationError, match=r"only one run.*record more"):
        bootstrap(truth(), grid()[:1], 5, threads=1)
    with pytest.raises(IdentificationError, match="use at least 2"):
        bootstrap(truth(), grid(), 1, threads=1)


def test_certainty_survives_a_file_and_knows_its_model() -> None:
    """Open ends, infinite half widths and what was not asked for come back as they were."""
    optimum, evidence = fitted()
    evidence = replace(
        evidence,
        parameters=tuple(replace(p, standard_error=math.inf) if p.name == "kt" else p for p in evidence.parameters),
    )
    points = (ProfilePoint(value=2.0, deviance=-3.0), ProfilePoint(value=2.2, deviance=0.0))
    profiles = {"kt": Profile(name="kt", lower=None, upper=2.5, points=points)}
    drawn = bootstrap(optimum.batch.model, grid(), 2, seed=3, threads=1)
    made = certainty(result_of(optimum, evidence), ["a", "b"], profiles, drawn, moved=5.0, stopped=True, notes=["n"])
    again = Certainty.from_json(json.loads(json.dumps(made.to_json(), allow_nan=False)))
    assert again == made
    assert (again.draws, again.seed, again.stopped) == (2, 3, True)
    assert "n" in again.notes
    assert any("not at the minimum" in note and "identify again" in note for note in again.notes)
    assert made.made_of(optimum.batch.model)
    assert not made.made_of(truth())
    for broken in ([], {}, {**made.to_json(), "parameters": [1]}):
        with pytest.raises(IdentificationError, match="cannot be read"):
            Certainty.from_json(broken)


def about(name: str = "kt", half_width: float = 0.1, **found: object) -> tuple[str, ...]:
    known = {"symbol": "x", "unit": "1", "value": 1.0, "lowest": 0.0, "highest": 4.0}
    return ParameterCertainty(name=name, half_width=half_width, **{**known, **found}).remarks  # type: ignore[arg-type]


def between(lower: float | None, upper: float | None) -> Profile:
    return Profile(name="x", lower=lower, upper=upper, points=(ProfilePoint(value=1.0, deviance=0.0),))


def spread(lower: float, upper: float) -> Spread:
    return Spread(name="x", standard_error=1.0, lower=lower, upper=upper)


def test_intervals_are_told_in_words() -> None:
    assert about(profile=between(0.9, 1.1), spread=spread(0.9, 1.2)) == ()
    assert "any value between its bounds is possible: freeze a known one" in about(profile=between(None, None))[0]
    assert "these runs show no such effect" in about("friction_base", profile=between(None, 1.1))[0]
    assert "no more than 1.1, open below: record runs" in about("kt", profile=between(None, 1.1))[0]
    assert "no less than 0.9, open above: record runs" in about(profile=between(0.9, None))[0]
    assert "wider than the linearised interval" in about(profile=between(0.8, 1.2))[0]
    assert "determined within the bounds of the others" in about(half_width=math.inf, profile=between(0.8, 1.2))[0]
    assert "runs disagree about x" in about(spread=spread(0.7, 1.2))[0]
    assert "starts at the fit" in about(half_width=math.inf, spread=spread(0.9, 1.1))[0]
    narrow = about(half_width=math.inf, profile=between(0.9, 1.1), spread=spread(0.5, 1.5))
    assert "runs disagree about x" in narrow[1]
    apart = "the {} interval is {} times as wide as the {} one: use the wider"
    assert about(profile=between(0.98, 1.02))[-1] == apart.format("linearised", "5.0", "profile")
    assert about(profile=between(0.6, 1.4))[-1] == apart.format("profile", "4.0", "linearised")
    assert apart.format("linearised", "4.0", "bootstrap") in about(spread=spread(0.97, 1.02))
    assert apart.format("linearised", "∞", "bootstrap") in about(spread=spread(1.0, 1.0))
    assert about(profile=between(0.95, 1.05), spread=spread(0.95, 1.05)) == ()
    aside = between(1.1, 1.3)
    assert about(profile=aside)[-1] == f"outside its own profile interval {aside.text}"


def test_from_where_on_intervals_are_told() -> None:
    """A profile 1.5 times as wide as linearised, a bootstrap twice as wide, a deviance that is 1 lower."""
    assert about(profile=between(0.851, 1.149)) == ()
    assert "wider than the linearised interval" in about(profile=between(0.849, 1.151))[0]
    assert about(spread=spread(0.801, 1.199)) == ()
    assert "runs disagree" in about(spread=spread(0.799, 1.201))[0]
    for lower, upper, told in ((0.801, 1.199, False), (0.799, 1.201, True)):
        remarks = about(half_width=math.inf, profile=between(0.9, 1.1), spread=spread(lower, upper))
        assert any("runs disagree" in remark for remark in remarks) == told
    for deviance, told in ((-0.99, False), (-1.01, True)):
        points = (ProfilePoint(value=1.0, deviance=0.0), ProfilePoint(value=2.0, deviance=deviance))
        assert (Profile(name="x", lower=0.9, upper=1.1, points=points).better is not None) == told
        made = certainty(result_of(*fitted()), [], {}, None, moved=-deviance)
        assert any("not at the minimum" in note for note in made.notes) == told


def test_parameters_are_named_or_flagged() -> None:
    _, evidence = fitted()
    free = tuple(p.name for p in evidence.parameters)
    changed = {"kt": {"standard_error": math.inf}, "R": {"at_bound": "upper"}, "q_offset": {"frozen": True}}
    seen = replace(evidence, parameters=tuple(replace(p, **changed.get(p.name, {})) for p in evidence.parameters))
    assert parameters_named(evidence, ["all"]) == free
    assert parameters_named(evidence, ["flagged"]) == ()
    assert parameters_named(seen, ["flagged"]) == ("kt", "R")
    assert parameters_named(seen, ["R", "kt"]) == ("kt", "R")
    with pytest.raises(IdentificationError, match="q_offset is frozen in this model; there are kt, R"):
        parameters_named(seen, ["q_offset"])
    with pytest.raises(IdentificationError, match="no parameter 'colour'; there are kt"):
        parameters_named(seen, ["colour"])


def test_the_ends_of_a_narrow_interval_differ_in_their_digits() -> None:
    assert Spread(name="kt", standard_error=1e-4, lower=2.21963, upper=2.21984).text == "2.21963 … 2.21984"
    assert Spread(name="kt", standard_error=1e-2, lower=2.1987654, upper=2.2387654).text == "2.199 … 2.239"
