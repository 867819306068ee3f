"""What recordings can tell and what is wrong with them: planted faults are named, sound sessions are not accused.

Simulated sessions, many servos, fits of every fault: `python -m tests.bench.planted`.
"""

from __future__ import annotations

import functools
import json
import math
import re
import tempfile
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

from core.base.errors import IdentificationError
from core.identification.choice.repeatability import repeatability
from core.identification.coverage.audit import audit
from core.identification.coverage.doubts import REMEDIES, Fact, HeaderDoubt, Suspect, doubt_of
from core.identification.coverage.excitation import Excitation, excitation_of, excitation_of_all
from core.identification.coverage.grid import grid_of_conditions
from core.identification.coverage.outliers import freezes, position_steps, spikes
from core.identification.coverage.plausibility import gain_findings
from core.identification.coverage.problem import CorrectedRun, Correction
from core.identification.coverage.repeats import odd_repetitions, rest_angles
from core.identification.coverage.report import Coverage, coverage
from core.identification.coverage.signals import lagged_correlation
from core.identification.coverage.terms import SCALE, SCALED
from core.identification.coverage.timing import encoder_step, timing_findings, timing_of
from core.identification.search.objective import Batch
from core.motion.recording import Recording
from core.motion.simulation import simulate_recording
from core.servo.bench import Bench
from core.servo.model import ServoModel, build_model
from core.servo.settings import ServoSettings
from sessions import Session
from sessions.folders import example_session
from tests.bench.planted import RIGS, Run, negated, plan, plant, record, servo, session, without

GRID = 0.01
"""Of the audits' simulations: coarse, to be quick [s]."""

STEP = 2.0 * math.pi / 4096


@functools.cache
def sound(name: str = "mx106", seed: int = 0) -> tuple[Recording, ...]:
    return tuple(session(servo(name, seed), plan(name), seed))


@functools.cache
def example() -> tuple[Recording, ...]:
    with tempfile.TemporaryDirectory() as folder:
        return tuple(Session.open(example_session(Path(folder))).load_all())


def with_channels(recording: Recording, **channels: np.ndarray) -> Recording:
    return replace(recording, channels={**recording.channels, **channels})


def kinds(seen: Coverage) -> set[str]:
    return {finding.kind for finding in seen.findings if finding.severity != "note"}


@pytest.mark.parametrize("name", RIGS)
def test_a_sound_session_is_not_accused(name: str) -> None:
    seen = coverage(sound(name))
    assert kinds(seen) == set()
    assert {term.verdict for term in seen.terms} <= {"good", "weak"}


def test_the_real_example_lacks_a_second_load_and_nothing_else() -> None:
    """XL330, one mass at one length; its velocity channel lags 20 ms; the encoder has 4096 counts a turn."""
    seen = coverage(example())
    assert kinds(seen) == {"conditions"}
    late = next(finding for finding in seen.findings if finding.kind == "velocity_lag")
    assert "20 ms" in late.text
    assert all(timing.encoder_step == pytest.approx(STEP, rel=1e-3) for timing in seen.timing)
    silent = {term.name for term in seen.terms if term.verdict == "none"}
    assert silent == {term.name for term in seen.terms if term.name.startswith("load_friction")}
    assert any("1 load" in finding.text for finding in seen.findings)


def test_the_grid_counts_conditions() -> None:
    grid = coverage(sound()).grid
    assert grid.loads == ((1.0, 0.15), (2.0, 0.15))
    assert grid.gains == (8.0, 32.0)
    assert grid.possible == len(grid.cells) == 12
    assert {cell.count for cell in grid.cells} == {1}
    lower = replace(sound()[0], settings=replace(sound()[0].settings, supply_voltage=11.0))
    more = grid_of_conditions([*sound(), sound()[1], lower])
    assert (more.supplies, more.possible, len(more.cells)) == ((11.0, 15.0), 24, 13)
    assert sorted(cell.count for cell in more.cells)[-2:] == [1, 2]


def test_json_round_trip() -> None:
    seen = coverage([with_channels(sound()[0], velocity=np.zeros(sound()[0].samples)), sound()[1]])
    again = Coverage.from_json(json.loads(json.dumps(seen.to_json(), allow_nan=False)))
    assert again.to_json() == seen.to_json()
    with pytest.raises(IdentificationError, match="cannot be read"):
        Coverage.from_json({"grid": []})


def test_what_cannot_be_looked_at_is_refused() -> None:
    with pytest.raises(IdentificationError, match="no recordings"):
        coverage([])
    with pytest.raises(IdentificationError, match="one servo at a time"):
        coverage([sound()[0], sound("xl330")[0]])


def test_excitation_of_a_known_motion() -> None:
    """θ = A·sin(ωt) with A·ω of 2 rad/s: its 99th percentile speed, its reversals and gravity's extremes."""
    time = np.arange(0.0, 10.0, 0.005)
    position = np.sin(2.0 * time)
    run = with_channels(
        sound()[0], time=time, position=position, goal_position=position, torque_enable=np.ones(len(time))
    )
    seen = excitation_of(replace(run, bench=Bench(mass=1.0, length=0.1)))
    assert seen.speed == pytest.approx(2.0 * math.cos(0.01 * math.pi / 2), rel=0.01)
    assert seen.reversals == 6
    assert seen.load_high == pytest.approx(9.80665 * 0.1 * math.sin(1.0), rel=0.02)
    assert seen.saturated_share == 0.0
    assert seen.released_share == 0.0


def test_runs_together_have_the_extremes_the_sums_and_the_means_by_duration() -> None:
    """Run a lasts 3 s and b 1 s; field number n has n/10 in a and (n + 1)²/10 in b, counts ten times that."""
    names = [field.name for field in fields(Excitation) if field.name not in ("run", "duration")]
    counts = [field.name for field in fields(Excitation) if field.type == "int"]
    a, b = (
        {n: round(10 * value(k)) if n in counts else value(k) for k, n in enumerate(names, 1)}
        for value in (lambda k: 0.1 * k, lambda k: 0.1 * (k + 1) ** 2)
    )
    found = excitation_of_all([Excitation(run="a", duration=3.0, **a), Excitation(run="b", duration=1.0, **b)])
    assert (found.run, found.duration) == ("", 4.0)
    for name in names:
        mean = name in ("slow_share", "saturated_share", "released_share")
        expected = a[name] + b[name] if name in counts else (3.0 * a[name] + b[name]) / 4.0 if mean else b[name]
        assert getattr(found, name) == pytest.approx(a[name] if name == "load_low" else expected), name


def test_stops_are_told_from_breakaways_and_small_errors_at_rest() -> None:
    """Rests of a second with motion between them: after two it breaks away, and in two the error is below 0.03 rad."""
    time = np.arange(0.0, 5.0, 0.005)
    position = np.interp(time, [0, 1, 2, 3, 4, 5], [0, 0, 1, 1, 0, 0])
    goal = position + np.where(time < 3.9, 0.02, 0.05)
    run = with_channels(sound()[0], time=time, position=position, goal_position=goal, torque_enable=np.ones(len(time)))
    seen = excitation_of(run)
    assert (seen.breakaways, seen.resting_errors, seen.reversals, seen.releases) == (2, 2, 0, 0)


def test_saturation_and_release_are_seen() -> None:
    """mx106: 0.158·kp·e reaches 0.9625 at e = 0.19 rad for kp = 32."""
    steps = record(servo("mx106", 0), Run("steps", 1.0, 32.0, 15.0), "steps", 0)
    assert excitation_of(steps).saturated_share > 0.01
    drop = record(servo("mx106", 0), Run("lift_and_drop", 1.0, 32.0, 15.0), "drop", 0)
    seen = excitation_of(drop)
    assert seen.released_share == pytest.approx(2.0 / 3.0, abs=0.01)
    assert seen.releases == 1


def test_a_drop_imported_without_the_torque_is_told_apart_from_none() -> None:
    """Its table has no column that says when the motor was off, so that it seems to be driven all the time."""
    drop = record(servo("mx106", 0), Run("lift_and_drop", 1.0, 32.0, 15.0), "drop", 0)
    driven = {**drop.channels, "torque_enable": np.ones(drop.samples, np.uint8)}
    drop = replace(drop, channels=driven, provenance={"format": "table", "columns": "time=t,position=q"})
    found = coverage([drop])
    told = [f for f in found.findings if "lift_and_drop" in f.text and "imported" in f.text]
    assert [f.kind for f in told] == ["conditions", "term"]
    assert all(f.remedy.startswith("import them again with a column torque_enable") for f in told)
    assert not any("record lift_and_drop" in f.remedy for f in found.findings)


def test_terms_that_nothing_is_known_of() -> None:
    """Slow motion to one side with one load, one gain and no release."""
    run = record(servo("mx106", 0), Run("up_and_down", 1.0, 8.0, 15.0), "slow", 0)
    terms = {t.name: t for t in coverage([run]).terms}
    assert terms["release_braking"].verdict == "none"
    assert "lift_and_drop" in terms["release_braking"].text
    assert terms["load_friction_motor"].verdict == "none"
    assert terms["friction_viscous"].verdict != "good"
    assert terms["goal_slew"].verdict != "good"
    assert terms["q_offset"].verdict == "weak"


SCALE_PATH = ("error_gain_ratio", "output_limit_ratio", "output_offset", "pulse_sag", "supply_sag")


def verdicts(runs: list[Recording], path: tuple[str, ...], **frozen: float) -> dict[str, str]:
    """Verdict of each term of M4 with these terms of the command path and frozen values."""
    model = build_model("mx106", "m4", command_path=path)
    model = model.with_parameters(model.parameters.frozen_at(frozen))
    return {term.name: term.verdict for term in coverage(runs, model=model).terms}


def test_motor_gain_and_output_compensate_each_other_exactly() -> None:
    """The same motion, at the limit of the output and below it, with another k_t, R, gain, limit and sag."""
    model = build_model("mx106", "m4", command_path=SCALE_PATH, dt=0.005)
    model = model.with_values({"output_limit_ratio": 0.8, "output_offset": 0.02, "pulse_sag": 0.3, "supply_sag": 0.2})
    powers = dict.fromkeys((*SCALE, *SCALED), 1) | {"R": 2, "output_offset": 0}
    scaled = model.with_values({name: 1.05**power * model.values[name] for name, power in powers.items()})
    run = record(servo("mx106", 0), Run("steps", 1.0, 32.0, 15.0), "steps", 0)
    assert excitation_of(run).saturated_share > 0.01
    ours, theirs = (simulate_recording(each, run).position for each in (model, scaled))
    assert np.ptp(ours) > 0.5
    np.testing.assert_allclose(theirs, ours, atol=1e-9)


@pytest.mark.parametrize("kp", [4.0, 32.0])
def test_what_compensates_the_motor_is_not_called_good(kp: float) -> None:
    """A known limit of the output fixes their scale where runs reach it; a free limit does not, a known motor does."""
    runs = [
        record(servo("mx106", 0), Run(name, mass, gain, 15.0), f"{name} {mass} {gain}", 0)
        for name in ("steps", "sin_time_square")
        for mass in (1.0, 2.0)
        for gain in (kp, 1.5 * kp)
    ]
    saturated = kp > 4.0
    scale = {*SCALE, *SCALED} & {*SCALE_PATH, "kt", "R"}
    path = tuple(name for name in SCALE_PATH if name != "output_limit_ratio")
    known = verdicts(runs, path)
    assert (known["error_gain_ratio"] == "good") == saturated
    assert (known["output_offset"] == "good") == saturated

    free = verdicts(runs, SCALE_PATH)
    assert "good" not in {free[name] for name in scale}

    measured = verdicts(runs, SCALE_PATH, R=2.0)
    assert measured["error_gain_ratio"] == "good"
    assert (measured["output_limit_ratio"] == "good") == saturated


def test_a_gap_is_named_with_its_place() -> None:
    runs = [*sound()[:3], without(sound()[3], 2.0, 0.04)]
    finding = next(f for f in coverage(runs).findings if f.kind == "gap")
    assert finding.runs == (runs[3].id,)
    gap = timing_of(runs[3]).gaps[0]
    assert gap.duration == pytest.approx(0.045)
    assert gap.begin == pytest.approx(1.995)
    assert timing_of(without(sound()[3], 2.0, 0.01)).gaps == ()


def test_swapped_signs_are_named() -> None:
    runs = list(sound()[:6])
    runs[5] = negated(runs[5])
    seen = coverage(runs)
    assert [f.runs for f in seen.of("error")] == [(runs[5].id,)]
    every = coverage([negated(run) for run in sound()[:6]])
    assert len(every.of("error")[0].runs) == 6
    assert "all 6 runs" in every.of("error")[0].text
    assert audit(build_model("mx106", "m1"), [negated(run) for run in sound()[:2]])[0].fact == "sign"


def test_lag_of_a_delayed_signal() -> None:
    time = np.arange(0.0, 6.0, 0.005)
    leader = np.sin(time * time)
    follower = np.interp(time - 0.0365, time, leader)
    lag, agreement = lagged_correlation(follower, leader, 0.005)
    assert lag == pytest.approx(0.0365, abs=5e-4)
    assert agreement > 0.99


def test_the_encoder_as_seen() -> None:
    coarse = with_channels(sound()[0], position=4.0 * STEP * np.round(sound()[0].position / (4.0 * STEP)))
    assert encoder_step(coarse) == pytest.approx(4.0 * STEP, rel=1e-6)
    assert any(f.kind == "encoder" for f in coverage([coarse]).findings)
    smooth = with_channels(sound()[0], position=np.sin(sound()[0].time))
    assert math.isnan(encoder_step(smooth))


def test_the_written_supply_is_held_against_catalogue_and_log() -> None:
    high = [replace(r, settings=replace(r.settings, supply_voltage=15.0)) for r in sound("sts3215")[:2]]
    assert "header_supply_voltage" in kinds(coverage(high))
    logged = [with_channels(r, supply_voltage=np.full(r.samples, 12.0)) for r in sound()[:2]]
    finding = next(f for f in coverage(logged).findings if f.kind == "header_supply_voltage")
    assert "15 V is stated, 12 V was logged" in finding.text


@pytest.mark.parametrize(
    ("factor", "said"),
    [
        (1.0, ""),
        (0.65, ""),
        (1.55, ""),
        (0.4, "is 0.4 times kp × error_gain × error, which a fit holds: check kp of the runs and error_gain"),
        (2.5, "is 2.5 times kp × error_gain × error, which a fit holds: check kp"),
        (-1.0, "is -1 times .*: check the sign of the duty cycle"),
    ],
)
def test_a_gain_beyond_the_search_shows_in_the_duty_cycle(factor: float, said: str) -> None:
    """The logged duty cycle is scaled; positions determine the gain with k_t and R only."""
    runs = [with_channels(run, duty_cycle=factor * run.channels["duty_cycle"]) for run in example()]
    [*found] = [str(finding) for finding in coverage(runs).findings if finding.kind == "gain"]
    assert len(found) == bool(said)
    assert all(re.match(f"the duty cycle of (all 8 )?runs .*{said}", text) for text in found)


def test_a_gain_that_is_known_or_cannot_be_seen_is_not_accused() -> None:
    runs = [with_channels(run, duty_cycle=2.5 * run.channels["duty_cycle"]) for run in example()]
    model = build_model("xl330", "m1", command_path=("error_gain_ratio",))
    held, wider = (
        replace(model, parameters=parameters)
        for parameters in (
            model.parameters.frozen_at({"error_gain_ratio": 2.5}),
            model.parameters.with_bounds({"error_gain_ratio": (0.5, 5.0)}),
        )
    )
    with_integral = [replace(run, settings=replace(run.settings, ki=100.0)) for run in runs]
    noise = np.random.default_rng(0)
    unrelated = [with_channels(run, duty_cycle=noise.normal(0.0, 0.1, run.samples)) for run in runs]
    short = [replace(run, channels={name: values[:40] for name, values in run.channels.items()}) for run in runs]
    assert "gain" in kinds(coverage(runs, model=model))
    for seen in (coverage(runs, model=held), coverage(runs, model=wider), coverage(with_integral)):
        assert "gain" not in kinds(seen)
    assert gain_findings(model, unrelated) == gain_findings(model, short) == []


@pytest.mark.parametrize(("ratio", "said"), [(1.5, True), (0.7, True), (1.1, False)])
def test_a_fitted_gain_that_the_duty_cycle_contradicts(ratio: float, said: bool) -> None:
    model = build_model("xl330", "m1", command_path=("error_gain_ratio",)).with_values({"error_gain_ratio": ratio})
    fitted = replace(model, provenance={"source": "identified from recordings"})
    found = coverage(example(), model=fitted).findings
    assert any(f"the model has {ratio:.2f}" in finding.text for finding in found if finding.kind == "gain") == said
    assert "gain" not in kinds(coverage(example(), model=model))


def test_a_supply_that_alternates_with_the_bridge_is_named() -> None:
    """The XL330 reads it at any moment of a period; a battery that empties and a coarse reading do not alternate."""
    (found,) = [finding for finding in coverage(example()).findings if finding.kind == "alternating_supply"]
    assert {run.partition("_")[2] for run in found.runs} >= {"lift_and_drop_kp400", "sin_sin_kp100", "sin_sin_kp400"}
    for volts in (lambda t: 7.4 - 0.1 * t, lambda t: 7.4 + 0.1 * (np.arange(len(t)) % 2), lambda t: 7.4 + 0.0 * t):
        calm = [with_channels(run, supply_voltage=volts(run.time)) for run in example()]
        assert "alternating_supply" not in kinds(coverage(calm))


def test_spikes_freezes_and_steps_are_told_apart() -> None:
    run = sound()[0]
    fast = int(np.argmax(np.abs(np.diff(run.position)[100:-100]))) + 100
    spiked, frozen, stepped = (run.position.copy() for _ in range(3))
    spiked[500] += 0.06
    frozen[fast : fast + 8] = frozen[fast]
    stepped[600:] += 0.1
    assert spikes(with_channels(run, position=spiked)).tolist() == [500]
    assert len(freezes(with_channels(run, position=frozen))) == 1
    assert [round(t, 3) for t, _ in position_steps(with_channels(run, position=stepped))] == [3.0]
    assert position_steps(with_channels(run, position=spiked)) == []


def test_an_odd_repetition_is_named() -> None:
    """Three repetitions of two conditions; one run really had 30 % more load."""
    model = servo("mx106", 0)
    runs = [
        record(model, Run(t, 1.0, 8.0, 15.0), f"{t}_{i}", i) for t in ("sin_sin", "sin_time_square") for i in range(3)
    ]
    seen = coverage(runs)
    assert kinds(seen).isdisjoint({"repetition"})
    assert [(row.trajectory, row.runs, row.pairs) for row in seen.repeatability] == [
        ("sin_sin", 3, 3),
        ("sin_time_square", 3, 3),
    ]
    assert all(row.floor < STEP for row in seen.repeatability)
    odd = record(model, Run("sin_sin", 1.3, 8.0, 15.0), "sin_sin_1", 1)
    runs[1] = replace(odd, bench=runs[1].bench)
    assert [f.runs for f in odd_repetitions(repeatability(runs), runs)] == [("sin_sin_1",)]


def test_where_a_released_pendulum_rests() -> None:
    run = record(servo("xl330", 0), Run("lift_and_drop", 0.3, 400.0, 7.5, offset=0.3), "drop", 0)
    angle = rest_angles([run])["drop"]
    assert angle < 0.0
    assert rest_angles([sound()[0]]) == {}


@functools.cache
def near_truth(name: str) -> ServoModel:
    """The truth, 2 % off in everything: as a fit with sound headers would have it."""
    model = servo(name, 0, "m1")
    values = {p.name: p.value * (1.02 if i % 2 else 0.98) for i, p in enumerate(model.parameters.values())}
    return replace(model.with_values(values), substeps=1)


def accused(fault: str, name: str, model: ServoModel | None = None) -> tuple[tuple[HeaderDoubt, ...], tuple[str, ...]]:
    planted = plant(fault, servo(name, 0, "m1"))
    return audit(model or near_truth(name), planted.recordings, dt=GRID, threads=1), planted.runs


@pytest.mark.parametrize("dt", [None, GRID])
@pytest.mark.parametrize("name", RIGS)
def test_a_corrected_header_is_simulated_alike_by_both_kernels(name: str, dt: float | None) -> None:
    """Facts as factors for one candidate, as another header for many; a supply also where it was logged."""
    model, run = near_truth(name), sound(name)[0]
    logged = with_channels(run, supply_voltage=np.full(run.samples, 0.97 * run.settings.supply_voltage))
    correction = Correction(mass=0.1, kp=-0.2, supply_voltage=0.1, angle_offset=0.05)
    for recording in (run, logged):
        corrected = CorrectedRun(model, recording, dt, "logged")
        alone = corrected.alone(model.rows()[0], correction)
        batch = Batch(model, [corrected.corrected(correction)], dt=dt, threads=1)
        (together,) = batch.residuals(None, lambda _, residuals: residuals[:, 0])
        assert alone == pytest.approx(together, abs=1e-9)
        assert np.abs(alone - corrected.alone(model.rows()[0])).max() > 0.01


def test_sound_headers_are_not_accused() -> None:
    recordings = session(servo("sts3215", 0, "m1"), plan("sts3215"))
    assert audit(near_truth("sts3215"), recordings, dt=GRID, threads=1) == ()


def test_a_wrong_mass_is_named() -> None:
    """Only the ratio of two loads shows in positions: scaling every torque and inertia leaves the motion as it is."""
    doubts, runs = accused("mass", "xl330")
    assert doubts[0].fact == "mass"
    assert all(doubts[0].names("mass", run) for run in runs)
    assert max(doubts[0].factor, 1.0 / doubts[0].factor) == pytest.approx(1.1, abs=0.03)
    again = HeaderDoubt.from_json(json.loads(json.dumps(doubts[0].to_json(), allow_nan=False)))
    assert again.to_json() == doubts[0].to_json()


@pytest.mark.parametrize(
    ("fault", "servo", "fact", "factor", "begin"),
    [
        ("slip_swing", "sts3215", "angle_offset", pytest.approx(0.1, abs=0.02), pytest.approx(3.0, abs=0.01)),
        ("kp_all", "sts3215", "kp", pytest.approx(1.25, rel=0.1), 0.0),
    ],
)
def test_a_slip_in_a_run_and_a_wrong_gain_are_named(fault, servo, fact, factor, begin) -> None:
    doubts, runs = accused(fault, servo)
    assert (doubts[0].fact, doubts[0].runs, doubts[0].factor, doubts[0].begin) == (fact, runs, factor, begin)


def test_a_supply_that_is_wrong_everywhere_shows_in_the_motor_constants() -> None:
    """15 V written for 12 V: the fit makes k_t 1.25 and R 1.25² times what they are, and moves exactly as measured."""
    truth = near_truth("mx106")
    values = truth.values
    absorbed = truth.parameters.with_values({"kt": 1.25 * values["kt"], "R": 1.25**2 * values["R"]})
    doubts, runs = accused("supply_all", "mx106", truth.with_parameters(absorbed))
    assert [d.fact for d in doubts] == ["supply_voltage"]
    assert doubts[0].runs == runs
    assert doubts[0].factor == pytest.approx(0.8, abs=0.06)
    assert "the supply is more likely" in doubts[0].text


def resting(name: str, mass: float = 0.5) -> Recording:
    """Twenty samples at 0 with kp 32 at 12 V."""
    time, still = 0.005 * np.arange(20), np.zeros(20)
    return Recording(
        id=name,
        trajectory="x",
        bench=Bench(mass=mass, length=0.15),
        settings=ServoSettings(servo="mx106", kp=32.0, supply_voltage=12.0),
        channels={"time": time, "goal_position": still, "torque_enable": np.ones(20), "position": still},
    )


@pytest.mark.parametrize(
    ("fact", "value", "said"),
    [
        (Fact("mass", (0,)), math.log(1.2), "load should be about 0.6 kg instead of 0.5 kg"),
        (Fact("mass", (0, 1)), math.log(1.2), "load should be about 1.2 times the stated value"),
        (Fact("kp", (0, 1)), math.log(0.5), "gain kp should be about 16 instead of 32"),
        (Fact("supply_voltage", (1,)), math.log(0.8), "supply voltage should be about 9.6 V instead of 12 V"),
        (Fact("angle_offset", (0,)), -0.05, "angle of the load lies off by -0.05 rad"),
        (Fact("angle_offset", (0,), 0.05), 0.1, "angle of the load slips by +0.1 rad"),
    ],
)
def test_a_doubt_says_what_a_header_should_say(fact: Fact, value: float, said: str) -> None:
    runs = [resting("a"), resting("b", 1.0)]
    doubt = doubt_of(Suspect(fact, "somewhere", 1), value, 0.4, [], runs)
    assert doubt.text == f"somewhere: {said}; that explains 40 % of the error"
    assert doubt.remedy == REMEDIES[fact.name]
    assert doubt.runs == tuple(runs[i].id for i in fact.runs)


@pytest.mark.parametrize("rows", [2, 20])
def test_goals_and_positions_that_are_refreshed_seldom_are_noted(rows: int) -> None:
    time = 0.005 * np.arange(1000)
    motion = np.sin(2.0 * time)
    channels = {"time": time, "goal_position": motion, "torque_enable": np.ones(1000), "position": np.roll(motion, 20)}
    seldom = np.arange(1000) // rows * rows
    settings = ServoSettings(servo="mx106", kp=32.0, supply_voltage=12.0)
    run = Recording(id="x", trajectory="x", bench=Bench(mass=0.5, length=0.15), settings=settings, channels=channels)
    held = with_channels(run, **{name: channels[name][seldom] for name in ("goal_position", "position")})
    timed = with_channels(held, command_time=time)
    said = [
        [str(finding) for finding in timing_findings([each], [timing_of(each)]) if finding.kind == "refresh"]
        for each in (run, timed, held)
    ]
    read = f"run x: the position is read once in {rows} rows only, at {200 / rows:g} Hz"
    goal = "run x: the goal changes once in 20 rows only, at 10 Hz: if the servo was given finer goals, log those"
    assert said == [[], [read], [read, goal] if rows == 20 else [read]]


@pytest.mark.parametrize(("late", "jitter"), [(4, 0.0), (6, 0.002), (12, 0.002)])
def test_jitter_is_what_one_step_in_twenty_is_off_by(late: int, jitter: float) -> None:
    """Of a hundred steps of 5 ms so many last 2 ms longer."""
    steps = np.full(100, 0.005)
    steps[: 8 * late : 8] += 0.002
    time = np.append(0.0, steps.cumsum())
    channels = {"time": time, "goal_position": np.sin(time), "torque_enable": np.ones(101), "position": np.sin(time)}
    settings = ServoSettings(servo="mx106", kp=32.0, supply_voltage=12.0)
    bench = Bench(mass=0.5, length=0.15)
    found = timing_of(Recording(id="x", trajectory="x", bench=bench, settings=settings, channels=channels))
    assert found.step == pytest.approx(0.005)
    assert found.jitter == pytest.approx(jitter, abs=1e-9)
