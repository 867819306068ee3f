"""Evidence for identified models: planted trade-offs are found, intervals agree with theory, the words fit."""

from __future__ import annotations

import functools
import json
import math
from dataclasses import replace

import numpy as np
import pytest

from core.base.arrays import Array
from core.base.errors import IdentificationError
from core.identification.cautions import LABELS, by_cost, cautions, step_of
from core.identification.choice.recommendation import CROSS_VALIDATION, TRAINING, VALIDATION
from core.identification.coverage.findings import BOUNDS, FREEZE, HOLD_OUT, RECORD, SEARCH, Diagnosis, Finding
from core.identification.diagnosis import condition_to_hold_out, diagnosed, noise_of
from core.identification.evidence import sensitivity as sensitivities
from core.identification.evidence.correlation import correlations
from core.identification.evidence.model import (
    NORMAL_95,
    Evidence,
    ParameterEvidence,
)
from core.identification.evidence.sensitivity import (
    Sensitivity,
    correlation_length,
    errors_of_rounding,
    judge,
    sensitivity,
    shift_of_optimum,
    standard_errors,
    variants,
)
from core.identification.identify import IdentificationRequest, identify
from core.identification.overlay import overlay, worst_first
from core.identification.result import Identification, Repeat
from core.identification.runs.conditions import FEWEST_SAMPLES, UnusableRuns, check_runs, missing_conditions
from core.identification.runs.split import Split
from core.identification.verdict import Verdict
from core.motion.recording import Recording
from core.motion.simulation import simulate_recording
from core.motion.trajectories import PAPER_TRAJECTORIES
from core.servo.bench import Bench
from core.servo.catalogue import load_servo
from core.servo.model import ServoModel, build_model
from core.servo.shipped import load_model
from sessions.results.identification import load_identification, save_identification
from tests.core.conftest import recorded
from tests.core.fleet.specimens import unit

SERVO = "mx106"
NOISE = 1e-3
"""Of the measured angle [rad]."""


def record(model: ServoModel, name: str, *, mass: float = 1.0, kp: float = 16.0, seed: int = 0) -> Recording:
    """A recording of a model at 200 Hz with white noise on its angle."""
    made = recorded(
        model, name, Bench(mass=mass, length=0.15), kp, noise=NOISE, seed=[seed, round(kp), round(10 * mass)]
    )
    made.channels["position"][0] = 0.0
    return made


@functools.cache
def truth(*terms: str) -> ServoModel:
    """M1 of the MX-106 at the published values, with command path terms at their start."""
    published = replace(load_model(SERVO, "m1"), integrator="algorithm1", quadratic_gate="larger_torque")
    template = build_model(SERVO, "m1", command_path=terms)
    return template.with_values(published.values)


@functools.cache
def grid(*terms: str) -> tuple[Recording, ...]:
    """Two loads, two gains, the four trajectories."""
    return tuple(
        record(truth(*terms), name, mass=mass, kp=kp, seed=place)
        for mass in (0.5, 1.5)
        for kp in (8.0, 32.0)
        for place, name in enumerate(PAPER_TRAJECTORIES)
    )


def test_a_planted_trade_off_is_found() -> None:
    """While the duty cycle does not saturate, (ρ, k_t, R) and (a·ρ, a·k_t, a²·R) move alike (seed 004, eq. 13)."""
    model = truth("error_gain_ratio")
    model = model.with_parameters(model.parameters.frozen_at({"friction_viscous": model.values["friction_viscous"]}))
    recordings = [record(model, "sin_sin", mass=mass, kp=4.0) for mass in (0.5, 1.0)]
    evidence = judge(model, model.parameters, recordings)
    for name, others in (("kt", {"R", "ρ"}), ("R", {"k_t", "ρ"}), ("error_gain_ratio", {"k_t", "R"})):
        assert math.isinf(evidence.of(name).standard_error), name
        assert others <= set(evidence.of(name).traded_with), name
    assert any("k_t" in text and "R" in text and "only the combined effect" in text for text in evidence.warnings)
    known = model.with_parameters(model.parameters.frozen_at({"R": model.values["R"]}))
    freed = judge(known, known.parameters, recordings)
    assert freed.of("kt").determined
    assert freed.of("error_gain_ratio").determined
    assert freed.of("kt").half_width < 0.05 * model.values["kt"]
    assert math.isnan(freed.of("R").standard_error)


def test_intervals_agree_with_the_covariance_of_white_noise() -> None:
    """σ²·(JᵀJ)⁻¹ with the noise that was added, by differences of its own."""
    model = replace(truth(), substeps=8, control=replace(truth().control, control_period=0.0025))
    runs = [record(model, run.trajectory, mass=run.bench.mass, kp=run.settings.kp) for run in grid()]
    columns = []
    for p in model.parameters.free:
        step = 1e-4 * (p.upper - p.lower)
        moved = [model.with_values({p.name: p.value + s}) for s in (step, -step)]
        high, low = (np.concatenate([simulate_recording(m, r).position for r in runs]) for m in moved)
        columns.append((high - low) / (2.0 * step))
    jacobian = np.transpose(columns)
    expected = NOISE * np.sqrt(np.diag(np.linalg.inv(jacobian.T @ jacobian)))
    evidence = judge(model, model.parameters, runs)
    assert evidence.noise == pytest.approx(NOISE, rel=0.05)
    assert evidence.independent == pytest.approx(evidence.samples, rel=0.1)
    for p, error in zip(model.parameters.free, expected, strict=True):
        assert evidence.of(p.name).standard_error == pytest.approx(error, rel=0.1), p.name
        assert evidence.of(p.name).half_width == pytest.approx(NORMAL_95 * error, rel=0.1)


@pytest.mark.parametrize(("memory", "length"), [(0.0, 1.0), (0.5, 3.0), (0.9, 19.0)])
def test_correlation_length_of_a_known_process(memory: float, length: float) -> None:
    """An autoregressive process x_k = φ·x_{k−1} + ε: (1 + φ)/(1 − φ)."""
    randomness = np.random.default_rng(1)
    runs = []
    for _ in range(8):
        x = randomness.normal(size=4000)
        for k in range(1, len(x)):
            x[k] += memory * x[k - 1]
        runs.append(x)
    assert correlation_length(runs) == pytest.approx(length, rel=0.15)


def parameter(**changes: object) -> ParameterEvidence:
    values = {
        "name": "kt", "symbol": "k_t", "unit": "N·m/A", "value": 1.0, "initial": 0.5, "lower": 0.1, "upper": 1.0,
        "frozen": False, "at_bound": "upper", "standard_error": 0.01,
    }  # fmt: skip
    return ParameterEvidence(**{**values, **changes})  # type: ignore[arg-type]


def test_a_bound_is_named_with_its_remedy() -> None:
    assert parameter().bound_warning.startswith("k_t lies at its upper bound, 1 N·m/A: check the load, the supply")
    at_zero = parameter(name="friction_viscous", symbol="K_v", at_bound="lower", lower=0.0, value=0.0)
    assert at_zero.at_limit
    assert at_zero.bound_warning == "K_v is 0 N·m/A, its minimum; these runs show no such effect"
    traded = replace(at_zero, traded_with=("k_t", "R"))
    assert traded.bound_warning == "K_v is 0 N·m/A, its minimum; these runs cannot separate it from k_t and R"
    assert parameter(at_bound="").bound_warning == ""


def evidence_of(*parameters: ParameterEvidence) -> Evidence:
    return Evidence(parameters=parameters, conditions=(), noise=1e-3, samples=100, independent=50.0)


def test_parameters_that_trade_with_each_other_are_named_once() -> None:
    """k_t with R and R with K_v are one trade-off; K_c and α are another."""
    parameters = [
        replace(parameter(), name=name, symbol=symbol, standard_error=math.inf, traded_with=(other,))
        for name, symbol, other in (
            ("kt", "k_t", "R"),
            ("R", "R", "K_v"),
            ("friction_viscous", "K_v", "R"),
            ("friction_base", "K_c", "α"),
            ("alpha", "α", "K_c"),
        )
    ]
    told = [text.partition("the combined effect of ")[2] for text in evidence_of(*parameters).warnings]
    assert [text.partition(":")[0] for text in told if text] == ["k_t, R and K_v", "K_c and α"]


def test_values_at_zero_are_named_together_by_what_they_mean() -> None:
    at_zero = parameter(at_bound="lower", lower=0.0, value=0.0)
    found = evidence_of(
        replace(at_zero, name="friction_viscous", symbol="K_v", traded_with=("k_t", "R")),
        replace(at_zero, name="load_friction_motor_quad", symbol="K_m^q"),
        replace(at_zero, name="load_friction_external_quad", symbol="K_e^q"),
        replace(at_zero, name="friction_base", symbol="K_c", traded_with=("α",)),
        replace(at_zero, name="friction_stribeck", symbol="K_c^s", traded_with=("α",)),
    )
    assert found.warnings == (
        "K_v is 0 N·m/A, its minimum; these runs cannot separate it from k_t and R",
        "K_m^q and K_e^q are 0, the end of their range; these runs show no such effect",
        "K_c and K_c^s are 0, the end of their range; these runs cannot separate them from α",
    )


def test_a_stribeck_effect_that_was_not_seen_is_said_once_and_first() -> None:
    speed = parameter(name="dtheta_stribeck", symbol="v_s", value=9.3, upper=9.3)
    found = evidence_of(parameter(), speed, replace(speed, name="alpha", symbol="α", standard_error=math.inf))
    assert found.warnings[0].startswith("v_s and α lie at their bounds, so these runs do not show the Stribeck effect")
    assert "M1" in found.warnings[0]
    assert sum("v_s" in text for text in found.warnings) == 1
    assert evidence_of(replace(speed, at_bound="")).warnings == ()


def test_missing_conditions_are_named_with_what_they_are_for() -> None:
    model = build_model(SERVO, "m4", command_path=("release_braking",))
    few = [record(truth(), "sin_sin", mass=1.0, kp=16.0)]
    text = " ".join(missing_conditions(model, few))
    for part in ("only 1 run", "length, for J_m, K_l, K_l^s", "another kp, for k_t, R", "lift_and_drop, for β"):
        assert part in text, part
    assert missing_conditions(model, grid()) == ()


def test_slow_runs_are_named() -> None:
    slow = grid()[0]
    crawling = replace(slow, channels={**slow.channels, "position": 0.01 * slow.position})
    assert any("% of the no-load speed" in text for text in missing_conditions(truth(), [crawling] * 3))
    assert not any("% of the no-load speed" in text for text in missing_conditions(truth(), [crawling] * 3 + [slow]))


def test_runs_that_no_fit_can_use_are_named() -> None:
    good = grid()[0]
    check_runs(grid())
    short, enough = (
        replace(good, id="short", channels={name: values[:count] for name, values in good.channels.items()})
        for count in (FEWEST_SAMPLES - 1, FEWEST_SAMPLES)
    )
    check_runs([enough])
    jumping = good.position.copy()
    jumping[300:] += 2.0 * math.pi
    wrapped = replace(good, id="wrapped", channels={**good.channels, "position": jumping})
    with pytest.raises(UnusableRuns, match="run short has 19 samples") as caught:
        check_runs([good, short])
    assert caught.value.runs == ("short",)
    with pytest.raises(UnusableRuns, match=r"run wrapped jumps by 6\.28 rad within 5 ms") as caught:
        identify(IdentificationRequest(servo=SERVO, models=("m1",)), [good, wrapped])
    assert caught.value.runs == ("wrapped",)


def test_standard_errors_by_hand() -> None:
    """Columns at right angles of lengths 4, 2 and 0.5: σ over the length, in shares of the catalogue's interval.

    With σ = 0.128 the last is 0.256, of which a 95 % interval is wider than the catalogue's: 2·1.96·0.256 > 1.
    """
    parameters = truth().parameters.free[:3]
    widths = np.array([10.0, 3.0, 7.0])
    jacobian = np.vstack([np.diag([4.0, 2.0, 0.5]), np.zeros((5, 3))])
    seen = Sensitivity(parameters=parameters, widths=widths, jacobian=jacobian, residuals=(np.zeros(8),))

    errors, partners = standard_errors(seen, 0.127**2)
    assert errors == pytest.approx([10.0 * 0.127 / 4.0, 3.0 * 0.127 / 2.0, 7.0 * 0.127 / 0.5])
    assert partners == [(), (), ()]
    assert standard_errors(seen, 0.128**2)[0] == [pytest.approx(0.32), pytest.approx(0.192), math.inf]


def test_correlations_by_hand() -> None:
    """Of the estimates, from the inverse of JᵀJ; a column without effect has none."""
    parameters = truth().parameters.free[:4]
    jacobian = np.array([[3.0, 1.0, 0.0, 0.5], [0.0, 2.0, 0.0, 1.0], [0.0, 0.0, 0.0, 0.2]])
    seen = Sensitivity(parameters=parameters, widths=np.ones(4), jacobian=jacobian, residuals=(np.zeros(3),))
    found = correlations(seen)
    used = [0, 1, 3]
    covariance = np.linalg.inv(jacobian[:, used].T @ jacobian[:, used])
    spread = np.sqrt(np.diag(covariance))
    assert found.matrix[np.ix_(used, used)] == pytest.approx(covariance / np.outer(spread, spread))
    assert np.isnan(found.matrix[2]).all()
    assert found.idle == (parameters[2].symbol,)
    assert found.pairs[0][:2] == (parameters[1].symbol, parameters[3].symbol)


def missed_with_rounding(noise: float, number: int) -> Array:
    """Distances of a least-squares fit from the truth, in half widths; noise in encoder steps."""
    model, chance = replace(truth(), substeps=10), np.random.default_rng(number)
    step, zero, runs = model.spec.encoder_step, chance.uniform(), []
    for run in grid():
        exact = simulate_recording(model, run).position / step + zero
        read = step * (np.round(exact + noise * chance.normal(size=len(exact))) - zero)
        runs.append(replace(run, channels={**run.channels, "position": read}))
    found = sensitivity(model, runs)
    residuals = np.concatenate(found.residuals)
    away = np.linalg.lstsq(found.jacobian, residuals, rcond=None)[0]
    ends = np.cumsum([len(residual) for residual in found.residuals])
    left = tuple(np.split(residuals - found.jacobian @ away, ends[:-1]))
    errors, _ = standard_errors(found, correlation_length(left) * np.concatenate(left).var())
    whole = np.hypot(errors, errors_of_rounding(replace(found, residuals=left), step))
    return np.abs(away) * found.widths / (NORMAL_95 * whole)


def test_intervals_hold_the_truth_of_readings_in_whole_steps() -> None:
    """Without noise to noise of half a step, in runs that rest for much of the time."""
    missed = np.concatenate(
        [missed_with_rounding(noise, number) for noise in (0.0, 0.1, 0.2, 0.5) for number in (0, 1)]
    )
    assert np.mean(missed < 1.0) >= 0.9
    assert missed.max() < 2.0


@pytest.mark.parametrize(("steps", "period", "place"), [(2, 0.0, 0), (10, 1e-3, 1)])
def test_the_intervals_hold_what_time_step_and_control_period_cost(steps, period, place) -> None:
    """Without noise, only the longer step or the continuous law separates the optimum from the truth."""
    fine = replace(truth(), substeps=50, control=replace(truth().control, control_period=period))
    runs = [recorded(fine, name, Bench(mass=1.0, length=0.15), 16.0) for name in PAPER_TRAJECTORIES]
    fitted = replace(truth(), substeps=steps)
    for _ in range(3):  # Gauss and Newton's way to the optimum
        found = sensitivity(fitted, runs)
        step = np.linalg.lstsq(found.jacobian, np.concatenate(found.residuals), rcond=None)[0]
        fitted = fitted.with_vector(fitted.parameters.vector() - found.widths * step)
    away = fitted.parameters.vector() - fine.parameters.vector()
    shift = shift_of_optimum(sensitivity(fitted, runs), variants(fitted)[place], runs)
    assert shift == pytest.approx(-away, rel=0.3, abs=1e-3 * np.abs(away).max())
    evidence = judge(fitted, fitted.parameters, runs)
    for p, missed in zip(fitted.parameters.free, away, strict=True):
        assert abs(missed) < 1.1 * evidence.of(p.name).half_width, p.name


@pytest.mark.parametrize(("excess", "widened"), [(3.83, True), (3.85, False)])
def test_another_optimum_widens_intervals_while_runs_do_not_tell_it_apart(monkeypatch, excess, widened) -> None:
    """Up to χ² = 3.84, where nothing but the distance is left: the interval just holds the other value."""
    monkeypatch.setattr(sensitivities, "correlation_length", lambda residuals: 1.0)
    monkeypatch.setattr(sensitivities, "_excess", lambda found, other, scale: excess)
    model, runs = truth(), grid()
    kt = model.parameters["kt"]
    other = model.parameters.with_values({"kt": 1.05 * kt.value}).vector()
    alone, both = (
        judge(model, model.parameters, runs, threads=1, others=others).of("kt").half_width for others in ((), (other,))
    )
    assert alone < 0.04 * kt.value
    assert both == (pytest.approx(0.05 * kt.value, rel=0.1) if widened else alone)


def identification(**changes) -> Identification:
    """One model was found that errs by 2 mrad on both sides of the split and has no doubts."""
    made = {"held": 2e-3, "maes": (), "step_cost": 1e-4, "stopped": False, "substeps": None, **changes}
    result = unit("a", mae=2e-3, held=made["held"]).results["m1"]
    repeats = tuple(Repeat(seed, mae, None, None, 1, result.model.parameters) for seed, mae in enumerate(made["maes"]))
    model = replace(result.model, integrator="leapfrog", provenance={"discretisation_error": made["step_cost"]})
    return Identification(
        request=IdentificationRequest(servo=SERVO, models=("m1",), substeps=made["substeps"]),
        split=Split("25%", ("a", "b"), ("c",)),
        results=(replace(result, model=model, repeats=repeats),),
        stopped=made["stopped"],
    )


def warned(found: Identification) -> list[Finding]:
    """Return the warnings and errors; that these runs were not examined is a note."""
    return [caution for caution in cautions(found) if caution.severity != "note"]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({}, ""),
        ({"stopped": True}, "the search was stopped before its end: resume the identification"),
        ({"held": None}, "no run was held out"),
        ({"held": 2.99e-3}, ""),
        ({"held": 3.01e-3}, "the error on held-out runs is 1.5 times that on training runs"),
        ({"held": math.inf}, "the simulation of a held-out run diverges"),
        ({"step_cost": 1.99e-4}, ""),
        ({"step_cost": 2.01e-4}, "the time step costs 0.20 mrad, more than a tenth of the error"),
        ({"step_cost": 4e-4, "substeps": 3}, "leave the substeps automatic"),
        ({"maes": (2e-3, 2.099e-3)}, ""),
        (
            {"maes": (2e-3, 2.101e-3, 2.05e-3)},
            "repeated searches of M1 end 0.10 mrad apart: identify with more evaluations",
        ),
    ],
)
def test_doubts_begin_where_they_should(changes, told) -> None:
    """1.5 times the training error, a tenth of the error for the step, a twentieth between repeats."""
    found = [str(caution) for caution in warned(identification(**changes))]
    assert len(found) == bool(told)
    assert told in "".join(found)


@pytest.mark.parametrize(
    ("held_out", "models", "told"),
    [
        (1, 2, "1 held-out run is too few to choose a model: cross-validate"),
        (4, 2, "4 held-out runs are too few to choose a model: cross-validate"),
        (5, 2, ""),
        (1, 1, ""),
    ],
)
def test_few_held_out_runs_do_not_choose_between_models(held_out, models, told) -> None:
    found = identification()
    (first,) = found.results
    second = replace(unit("a", friction="m4", mae=2e-3, held=2e-3).results["m4"])
    second = replace(second, model=replace(second.model, provenance=first.model.provenance))
    split = Split("25%", ("a", "b"), tuple(f"h{k}" for k in range(held_out)))
    doubts = [str(caution) for caution in warned(replace(found, split=split, results=(first, second)[:models]))]
    assert [doubt.startswith(told) for doubt in doubts] == [True] * bool(told)


@pytest.mark.parametrize(
    ("changes", "held_out", "strength", "error", "step"),
    [
        ({}, 2, "weak", 2e-3, "Export the model: there are no objections."),
        ({}, 6, "fair", 2e-3, "Export the model: there are no objections."),
        (
            {"held": None},
            0,
            "weak",
            2e-3,
            "Hold out 25 % of the runs and identify again, because no run was held out, so the error on unseen motion "
            "is unknown.",
        ),
        (
            {"held": 5e-3},
            6,
            "fair",
            5e-3,
            "Record more conditions, or use a simpler model, because the error on held-out runs is 2.5 times that on "
            "training runs.",
        ),
        (
            {"held": 5e-3, "stopped": True},
            6,
            "fair",
            5e-3,
            "Resume the identification, because the search was stopped before its end.",
        ),
    ],
)
def test_a_verdict_names_error_strength_and_the_most_costly_doubt_s_remedy(
    changes, held_out, strength, error, step
) -> None:
    found = identification(**changes)
    found = replace(found, split=Split("25%", ("a", "b"), tuple(f"h{k}" for k in range(held_out))))
    told = found.answer()
    assert (told.verdict.friction, told.verdict.strength, told.verdict.error) == ("m1", strength, error)
    assert told.next_step == step


@pytest.mark.parametrize(
    ("held_out", "by", "on", "evidence"),
    [
        (1, VALIDATION, "held-out runs", "Weak evidence: only 1 held-out run."),
        (5, VALIDATION, "held-out runs", "Fair evidence: 5 held-out runs."),
        (0, TRAINING, "the runs it was fitted to", "Weak evidence: no run was held out."),
        (1, CROSS_VALIDATION, "held-out runs", "Good evidence: cross-validated on held-out conditions."),
    ],
)
def test_a_verdict_says_which_model_how_good_and_how_sure(held_out, by, on, evidence) -> None:
    told = Verdict(friction="m1", error=0.0025, held_out=held_out, by=by)
    assert told.headline == f"M1 · 2.50 mrad on {on}"
    assert told.evidence == evidence


SUBJECTS = {HOLD_OUT: "kp=400", FREEZE: "load_friction_external=0.02", SEARCH: "2000", BOUNDS: "R", RECORD: "3"}


@pytest.mark.parametrize("action", LABELS)
def test_each_action_has_a_button_and_one_sentence(action) -> None:
    doubt = Finding(
        kind="gap", severity="warning", text="M6: k_t is open", remedy="k_t needs a run", action=action,
        subject=SUBJECTS.get(action, ""),
    )  # fmt: skip
    step = step_of(doubt, build_model(SERVO, "m6"))
    why = "" if action in ("", BOUNDS) else ", because k_t is open"
    assert step.text == f"k_t needs a run{why}.", "a symbol keeps its case"
    special = {HOLD_OUT: "Hold out kp = 400", RECORD: "Record 3 more"}
    special[FREEZE] = "Freeze external load-dependent friction at 0.02000"
    assert step.label == special.get(action, LABELS[action])
    assert step_of(replace(doubt, remedy="record it"), build_model(SERVO, "m6")).text.startswith("Record it")


@pytest.mark.parametrize(("error", "told"), [(5.99e-3, False), (6.01e-3, True)])
def test_placed_points_contradict_the_runs_from_three_times_their_error_on(error, told) -> None:
    found = identification()
    (result,) = found.results
    provenance = {**result.model.provenance, "placed_points": {"count": 4, "mean_error": error}}
    found = replace(found, results=(replace(result, model=replace(result.model, provenance=provenance)),))
    assert [str(caution) for caution in warned(found)] == [
        "the 4 placed points are off by 6.01 mrad, the runs by 2.00 mrad: measure the points again, or fit without them"
    ] * told


def test_doubts_are_ordered_by_what_they_can_cost() -> None:
    """An error first; then what spoils the result, a header, what is not known of other motion, runs, single values."""
    kinds = ("evidence", "residual_speed", "choice", "split", "stopped", "gap", "header_mass")
    made = [Finding(kind=kind, severity="warning", text=kind, remedy="") for kind in kinds]
    error = Finding(kind="gap", severity="error", text="an error", remedy="")
    told = [finding.text for finding in by_cost([*made, error])]
    assert told == ["an error", "stopped", "header_mass", "choice", "split", "gap", "evidence", "residual_speed"]


def test_jitter_of_the_clock_is_no_jump() -> None:
    good = grid()[0]
    time = good.time.copy()
    time[200] = time[199] + 1e-6
    check_runs([replace(good, channels={**good.channels, "time": time})])


def test_runs_are_ordered_by_their_error_and_drawn_with_it() -> None:
    """One run is shifted by 50 mrad, the others by 10 and 12."""
    recordings = []
    for run, shift in zip(grid()[:3], (0.01, 0.05, 0.012), strict=True):
        recordings.append(replace(run, channels={**run.channels, "position": run.position + shift}))
        recordings[-1].channels["position"][0] -= shift
    judged = worst_first(truth(), recordings)
    assert [run.id for run in judged] == [grid()[place].id for place in (1, 2, 0)]
    assert judged[0].mae == pytest.approx(0.05, rel=0.02)
    assert judged[0].trajectory == grid()[1].trajectory
    drawn = overlay(truth(), recordings[1])
    assert (drawn.time[0], drawn.initial) == (0.0, None)
    assert judged[0].mae == pytest.approx(np.abs(drawn.simulated - drawn.measured).mean())
    later = replace(recordings[1], channels={**recordings[1].channels, "time": recordings[1].time + 7.0})
    drawn = overlay(truth(), later, initial=truth())
    assert drawn.time[0] == 0.0
    np.testing.assert_array_equal(drawn.initial, drawn.simulated)


def test_a_search_that_was_not_confirmed_is_told() -> None:
    found = identify(
        IdentificationRequest(servo=SERVO, models=("m1",), trials=100, validation="none"), grid()[:2]
    ).results[0]
    assert "1 independent search did not reach this fit" in found.evidence.warnings[0]
    evidence = replace(found.evidence, parameters=(*found.evidence.parameters[1:], parameter(standard_error=math.inf)))
    assert Evidence.from_json(json.loads(json.dumps(evidence.to_json(), allow_nan=False))) == evidence
    with pytest.raises(IdentificationError, match="cannot be read"):
        Evidence.from_json({"parameters": 3})


@pytest.mark.parametrize(
    ("error", "repeated", "told"),
    [
        (0.7e-3, math.nan, "1.8 times the 0.38 mrad of the encoder's rounding: nothing is left to explain."),
        (1.8e-3, math.nan, "4.7 times the 0.38 mrad of the encoder's rounding: good."),
        (13e-3, math.nan, "34 times the 0.38 mrad of the encoder's rounding; how well the servo repeats a motion is "
         "unknown."),
        (13e-3, 2.5e-3, "5.2 times the 2.50 mrad by which repetitions differ: the model leaves something unexplained."),
        (13e-3, 5e-3, "2.6 times the 5.00 mrad by which repetitions differ: good."),
    ],
)  # fmt: skip
def test_an_error_is_good_as_a_multiple_of_what_the_runs_allow(error, repeated, told) -> None:
    """13 mrad are poor for a servo that repeats to 2.5 mrad, and good for one that repeats to 5."""
    rounding = load_servo(SERVO).rounding_error
    assert rounding == pytest.approx(2.0 * math.pi / 4096 / 4)
    runs = Diagnosis(friction="m1", findings=(), hold_out="", rounding=rounding, noise=math.nan, repeatability=repeated)
    verdict = Verdict(friction="m1", error=error, held_out=5, by=VALIDATION, diagnosis=runs)
    assert verdict.quality == told


@pytest.mark.parametrize(("noise", "step"), [(0.0, 1e-3), (2e-3, 1e-9), (1e-3, 1e-3)])
def test_the_noise_of_readings_is_seen_through_the_motion(noise, step) -> None:
    """White noise σ errs by σ·√(2/π) on average, rounding to steps s by s/4; the motion counts as neither."""
    time = 0.005 * np.arange(2000)
    random = np.random.default_rng(0)
    angle = 0.8 * np.sin(4.0 * time) + 0.3 * np.sin(11.0 * time) + noise * random.normal(size=len(time))
    channels = {**grid()[0].channels, "time": time, "position": step * np.round(angle / step)}
    channels |= {name: np.resize(values, len(time)) for name, values in channels.items()}
    spread = math.hypot(noise, step / math.sqrt(12.0))
    expected = spread * math.sqrt(2.0 / math.pi)
    assert noise_of(replace(grid()[0], channels=channels)) == pytest.approx(expected, rel=0.1)


def test_a_result_carries_its_diagnosis_into_its_folder_and_back(tmp_path) -> None:
    runs = grid()[:3]
    request = IdentificationRequest(servo=SERVO, models=("m1",), trials=20, polish=False, validation="none")
    found = identify(request, runs)
    found = diagnosed(found, runs, threads=1)
    assert found.diagnosis is not None
    assert found.diagnosis.hold_out == condition_to_hold_out(runs) != ""
    save_identification(found, tmp_path)
    assert load_identification(tmp_path).diagnosis == found.diagnosis
    save_identification(replace(found, diagnosis=None), tmp_path)
    assert load_identification(tmp_path).diagnosis is None
