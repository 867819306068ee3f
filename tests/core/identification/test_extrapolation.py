"""Warnings about a model where its runs do not reach: other loads and gains, and saturation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from core.identification.evidence import extrapolation
from core.identification.evidence.extrapolation import disagreement, saturated_beyond, saturated_share, used_beyond
from core.motion.recording import Recording
from core.practice.reach import REACH, beyond_reach, reach_of
from core.servo.bench import Bench
from core.servo.model import ServoModel, build_model
from core.servo.shipped import load_model
from tests.core.conftest import recorded

RIPPLE = 1e-3
"""Amplitude of what no model explains [rad]: a mean error of 0.64 mrad."""


def known_model() -> ServoModel:
    """An M1 with a gain ratio: while the duty cycle does not saturate, (ρ, k_t, R) moves like (a·ρ, a·k_t, a²·R)."""
    model = build_model("mx106", "m1", command_path=("error_gain_ratio",))
    values = {**load_model("mx106", "m1").values, "error_gain_ratio": 1.0}
    return replace(model.with_values(values), dt=0.005)


def traded(model: ServoModel, a: float) -> np.ndarray:
    values = model.values
    other = {"error_gain_ratio": a, "kt": a * values["kt"], "R": a * a * values["R"]}
    return model.parameters.with_values(other).vector()


def run(model: ServoModel, kp: float, trajectory: str = "sin_time_square") -> Recording:
    """The model's motion and a ripple."""
    made = recorded(model, trajectory, kp=kp, name=f"kp{kp:g}", duration=4.0)
    made.channels["position"] += RIPPLE * np.sin(50.0 * made.time)
    return made


def with_temperature(recording: Recording, degrees: float) -> Recording:
    return replace(recording, channels={**recording.channels, "temperature": np.full(recording.samples, degrees)})


def test_where_fits_that_are_as_good_here_move_apart_is_told() -> None:
    """At kp 8 the duty cycle just stays below its limit, at twice that gain it does not."""
    model = known_model()
    text = disagreement(model, [traded(model, 1.1)], [run(model, 8.0)], threads=1)
    assert text.startswith(
        "other fits of these runs, as good within 5 %, move 3.1 mrad apart at kp 16: record such runs"
    )


def test_fits_that_are_worse_here_or_agree_elsewhere_are_not_told() -> None:
    model = known_model()
    worse, equal = traded(model, 1.3), traded(model, 1.1)
    assert disagreement(model, [worse], [run(model, 8.0)], threads=1) == ""
    assert disagreement(model, [equal], [run(model, 8.0, "up_and_down")], threads=1) == ""
    assert disagreement(model, [model.parameters.vector()], [run(model, 8.0)], threads=1) == ""


def test_motions_that_run_away_are_no_distance(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where one of two fits is unstable, the others' distance is told, or nothing."""
    model = known_model()
    runs = [run(model, 8.0)]
    assert "at kp 16" in disagreement(model, [traded(model, 1.1)], runs, threads=1)
    monkeypatch.setattr(extrapolation, "AWAY", 3e-3)
    assert disagreement(model, [traded(model, 1.1)], runs, threads=1) == ""


def test_runs_that_saturate_more_than_the_fit_are_told() -> None:
    model = known_model()
    calm, strong = run(model, 8.0), run(model, 64.0)
    share = saturated_share([calm])
    assert share == 0.0
    fitted = replace(model, provenance={"saturated_share": share})
    assert saturated_beyond(fitted, [calm]) == ""
    percent = round(100 * saturated_share([strong]))
    assert percent > 10
    assert f"for up to {percent} % of run kp64, for at most 0 % of any run of the fit" in saturated_beyond(
        fitted, [calm, strong]
    )
    assert saturated_beyond(model, [strong]) == ""


def test_a_model_knows_motions_as_fast_as_heavy_and_as_stiff_as_those_of_its_fit() -> None:
    model = load_model("mx106", "m1")
    reach = reach_of([run(model, 8.0), run(model, 16.0)])
    load = Bench(mass=0.5, length=0.15)
    assert reach["load"] == [load.gravity_torque] * 2
    assert reach["kp"] == [8.0, 16.0]
    assert not reach["released"]
    fitted = replace(model, provenance={REACH: reach})
    assert beyond_reach(fitted, load, 16.0, reach["speed"], False) == ""
    assert "N·m" in beyond_reach(fitted, Bench(mass=1.5, length=0.15), 16.0, 0.0, False)
    assert "kp 8 to 16" in beyond_reach(fitted, load, 32.0, 0.0, False)
    assert "rad/s" in beyond_reach(fitted, load, 8.0, 1.5 * reach["speed"], False)
    assert "without a release" in beyond_reach(fitted, load, 8.0, 0.0, True)


def test_an_evaluation_names_every_kind_of_run_that_the_fit_had_not() -> None:
    model = load_model("mx106", "m1")
    calm = with_temperature(run(model, 8.0), 30.0)
    fitted = replace(model, provenance={REACH: reach_of([calm]), "train": [calm.id], "saturated_share": 0.0})
    assert used_beyond(fitted, [calm, with_temperature(calm, 38.0)]) == used_beyond(model, [calm]) == ""
    stiff = replace(calm, id="stiff", settings=replace(calm.settings, kp=32.0))
    hot = replace(with_temperature(calm, 45.0), id="hot")
    heavy = replace(calm, id="heavy", bench=Bench(mass=1.5, length=0.15))
    enable = np.r_[np.ones(calm.samples - 1), 0.0]
    released = replace(calm, id="released", channels={**calm.channels, "torque_enable": enable})
    fast = replace(calm, id="fast", channels={**calm.channels, "time": 0.5 * calm.time})
    for seen, words in {
        stiff: "at kp 8, and run stiff is at kp 32",
        hot: "at 30 °C, and run hot is at 45 °C",
        heavy: "at 0.74 N·m, and run heavy is at 2.2 N·m",
        released: "without a release, and run released has a release",
        fast: "and run fast is at",
    }.items():
        assert f"M1 was fitted to 1 run {words}" in used_beyond(fitted, [calm, seen]).replace(
            f"at up to {reach_of([calm])['speed']:.2g} rad/s, ", ""
        )
    together = used_beyond(fitted, [stiff, hot, heavy, released, calm])
    assert all(word in together for word in ("at kp 8,", "at 30 °C", "N·m", "without a release"))
    assert together.count("M1 was fitted to") == 1


@pytest.mark.parametrize("provenance", [{}, {REACH: {"speed": "fast"}}, {REACH: 3}])
def test_a_model_that_does_not_say_what_it_was_fitted_to_knows_nothing(provenance) -> None:
    model = replace(known_model(), provenance=provenance)
    assert "does not say" in beyond_reach(model, Bench(mass=0.5, length=0.15), 8.0, 0.0, False)
