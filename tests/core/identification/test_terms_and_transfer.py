"""What a term buys and how far a model transfers: planted effects are found, absent ones cost nothing."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import replace

import numpy as np
import pytest

from core.identification.choice.model_choice import Estimate, Variant
from core.identification.choice.terms import TERMS, TermCost, TermCosts, term_costs
from core.identification.choice.transfer import TransferTable, transfer_table
from core.identification.identify import IdentificationRequest
from core.identification.search.objective import Batch
from core.identification.search.warmstart import reduction, search_on
from core.motion.recording import Recording
from core.motion.simulation import simulate_recording
from core.servo.bench import Bench
from core.servo.model import ServoModel, build_model
from core.servo.shipped import load_model
from core.servo.terms import NEUTRAL
from tests.core.conftest import recorded

SERVO = "mx106"
DELAY = 0.03
"""[s]"""


def record(model: ServoModel, name: str, mass: float, kp: float = 16.0, seed: int | None = None) -> Recording:
    noise, bench = 0.0 if seed is None else 1e-3, Bench(mass=mass, length=0.15)
    return recorded(model, name, bench, kp, noise=noise, seed=seed)


def request(**changes: object) -> IdentificationRequest:
    return IdentificationRequest(**{"servo": SERVO, "threads": 1, **changes})  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def delayed() -> ServoModel:
    """Published M4 behind a delay, with a dead band it does not have."""
    template = build_model(SERVO, "m4", command_path=("command_delay", "dead_band"))
    values = {**load_model(SERVO, "m4").values, "command_delay": DELAY, "dead_band": 0.0}
    return template.with_values(values)


def term(name: str):
    return next(one for one in TERMS if one.name == name)


def test_a_planted_delay_is_dear_and_an_absent_dead_band_is_free(delayed) -> None:
    runs = [record(delayed, name, mass, seed=i) for i, (name, mass) in enumerate(
        [("sin_time_square", 0.5), ("sin_sin", 1.0), ("lift_and_drop", 1.0), ("sin_time_square", 1.0)])]  # fmt: skip
    costs = term_costs(delayed, request(), runs[:3], runs[3:], trials=200)
    assert TermCosts.from_json(json.loads(json.dumps(costs.to_json()))).to_json() == costs.to_json()
    by_name = {cost.term.name: cost for cost in costs.terms}
    assert set(by_name) == {"stribeck", "load_dependent", "command_delay", "dead_band"}
    assert costs.terms[0].term.name in ("command_delay", "load_dependent")
    assert by_name["command_delay"].training > 5e-3
    unseen = by_name["command_delay"].held_out
    assert unseen is not None
    assert unseen.mean > 5e-3
    assert abs(by_name["dead_band"].training) < 0.1e-3
    assert "delay of the command" in costs.text.split("do not need")[0]
    assert costs.train_mae == pytest.approx(1e-3 * np.sqrt(2 / np.pi), rel=0.1)


def test_a_stop_leaves_out_the_term_whose_search_it_ends(delayed) -> None:
    begun: list[str] = []
    costs = term_costs(
        delayed, request(), [record(delayed, "sin_sin", 1.0)], trials=32,
        on_progress=lambda term, _: begun.append(term.name), should_stop=lambda: len(begun) == 2,
    )  # fmt: skip
    assert costs.stopped
    assert [cost.term.name for cost in costs.terms] == begun[:1]


def test_a_term_left_out_is_the_model_without_it(delayed) -> None:
    """At its neutral value a term changes nothing: the motion is that of a model that never had it."""
    run = record(delayed, "sin_sin", 1.0)
    space = term("command_delay").without(delayed)
    full = space.full(space.reduced(delayed.parameters.vector()))
    off = delayed.with_vector(full)
    never = build_model(SERVO, "m4", command_path=("dead_band",))
    never = never.with_values({n: off.values[n] for n in never.parameters})
    np.testing.assert_array_equal(simulate_recording(off, run).position, simulate_recording(never, run).position)
    assert NEUTRAL["command_delay"] == off.values["command_delay"]


def test_without_stribeck_nothing_is_left_of_it() -> None:
    model = build_model(SERVO, "m4")
    assert set(term("stribeck").parameters(model)) == {
        "friction_stribeck", "load_friction_stribeck", "dtheta_stribeck", "alpha"}  # fmt: skip
    # M6's quadratic term acts at low speed too: velocity and exponent stay in the search.
    assert "dtheta_stribeck" not in term("stribeck").parameters(build_model(SERVO, "m6"))


def test_tied_parameters_move_together() -> None:
    model = build_model(SERVO, "m6")
    space = reduction(model, {"R": 2.0}, (("load_friction_motor", "load_friction_external"),))
    names = [p.name for p in model.parameters.free]
    vector = np.arange(float(space.spread.shape[1]))
    full = dict(zip(names, space.full(vector).tolist(), strict=True))
    assert full["R"] == 2.0
    assert full["load_friction_motor"] == full["load_friction_external"]
    assert len(vector) == len(names) - 2
    np.testing.assert_array_equal(space.full(np.array([vector, vector])), [list(full.values())] * 2)


def test_searching_on_never_ends_worse(delayed) -> None:
    runs = [record(delayed, "sin_sin", 1.0)]
    batch = Batch(delayed, runs, threads=1)
    moved = delayed.with_values({"command_delay": 0.02, "friction_base": 0.1})
    found = search_on(moved, batch, 100, 0)
    before, after = (batch.scores(m.parameters.vector()[None]).mae.mean() for m in (moved, found))
    assert after < 0.9 * before
    polled = itertools.count()
    yielding = search_on(moved, batch, 100, 0, should_yield=lambda: next(polled) % 3 < 2)
    assert yielding.values == found.values
    assert next(polled) > 0


def test_what_terms_buy_is_told_by_hand() -> None:
    """Worth is what exceeds its standard error on held-out runs, or 1 % of the error where there is none."""

    def cost(name: str, training: float, held_out: Estimate | None) -> TermCost:
        return TermCost(term=term(name), parameters=(), training=training, held_out=held_out)

    def seen(mean: float, error: float) -> Estimate:
        return Estimate(mean=mean, standard_error=error, runs=4, folds=2)

    model = build_model(SERVO, "m4")
    judged = TermCosts(
        model=model,
        train_mae=5e-3,
        held_out_mae=10e-3,
        terms=(
            cost("stribeck", 0.0, seen(2e-3, 1.9e-3)),
            cost("dead_band", 9e-3, seen(2e-3, 2.1e-3)),
            cost("command_delay", 9e-3, seen(0.11e-3, math.inf)),
            cost("pwm_lag", 9e-3, seen(0.09e-3, math.inf)),
        ),
    )
    assert judged.text == (
        "On held-out runs, these terms lower the error: Stribeck: more friction at rest (2.0 mrad), "
        "delay of the command (0.1 mrad). "
        "These runs do not need: dead band, lag of the duty cycle."
    )
    trained = TermCosts(
        model=model,
        train_mae=5e-3,
        held_out_mae=None,
        terms=(cost("stribeck", 0.06e-3, None), cost("dead_band", 0.04e-3, None)),
    )
    assert trained.text.startswith(
        "On training runs, these terms lower the error: Stribeck: more friction at rest (0.1 mrad). These runs"
    )


def test_a_transfer_table_is_told_by_hand() -> None:
    """Rows are what was fitted to, columns what was judged on: 0.5 kg on 2 kg is the worst way, 2 kg carries over best.

    Own (1 + 2 + 9)/3 = 4 mrad, elsewhere (4 + 12 + 5 + 7 + 6 + 2)/6 = 6 mrad.
    """
    table = TransferTable(
        condition="mass",
        variant="M1",
        values=(0.5, 1.0, 2.0),
        errors=1e-3 * np.array([[1.0, 4.0, 12.0], [5.0, 2.0, 7.0], [6.0, 2.0, 9.0]]),
        runs=(1, 2, 3),
    )
    assert (table.own, table.elsewhere) == (pytest.approx(4e-3), pytest.approx(6e-3))
    assert table.text == (
        "M1 fitted to one mass has an error of 4.0 mrad there and of 6.0 mrad on the others, 1.5 times as much. Worst: "
        "fitted to 0.5 kg, on 2 kg 12.0 mrad, where the fit to it has 9.0. The fit to 2 kg transfers best."
    )
    data = table.to_json()
    assert (data["own"], data["elsewhere"]) == (table.own, table.elsewhere)
    assert (data["values"], data["runs"], data["variant"]) == ([0.5, 1.0, 2.0], [1, 2, 3], "M1")
    assert data["errors"][0][2] == pytest.approx(12e-3)
    assert TransferTable.from_json(json.loads(json.dumps(data))).to_json() == data


@pytest.mark.exhaustive("transfer of real fits, whose table is told by hand above")
def test_a_model_without_the_load_s_friction_does_not_transfer_to_another_load() -> None:
    truth = replace(load_model(SERVO, "m4"), integrator="algorithm1")
    runs = [record(truth, name, mass) for mass in (0.3, 1.8) for name in ("sin_sin", "lift_and_drop")]
    table = transfer_table(request(trials=3000), runs, "mass", Variant(friction="m1"))
    assert table.values == (0.3, 1.8)
    assert table.runs == (2, 2)
    assert (np.diagonal(table.errors) < table.errors[::-1].diagonal()).all()
    assert table.elsewhere > 1.5 * table.own
    assert f"{1e3 * table.elsewhere:.1f} mrad on the others" in table.text
    assert table.to_json()["errors"] == table.errors.tolist()
