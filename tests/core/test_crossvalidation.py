"""Cross-validation by conditions: what is held out is never trained on, and the choice follows from paired errors."""

from __future__ import annotations

import functools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.bench import Bench
from core.catalogue import load_model
from core.errors import IdentificationError, InputError
from core.identification.crossvalidation import all_variants, cross_validate
from core.identification.folds import Fold, balanced_subset, folds
from core.identification.identify import IdentificationRequest
from core.identification.model_choice import CrossValidation, FoldFit, Variant, clustered_mean
from core.model import build_model
from core.recording import Recording
from core.simulation import simulate_trajectory
from core.trajectories import make_trajectory

SERVO = "mx106"
M1, M6 = Variant(friction="m1"), Variant(friction="m6")
M1_PATH = Variant(friction="m1", command_path=("command_delay",))


@functools.cache
def grid() -> tuple[Recording, ...]:
    """Two trajectories × two masses × two gains of a servo with load-dependent friction, 4 s at 200 Hz."""
    truth = replace(load_model(SERVO, "m6"), integrator="algorithm1", quadratic_gate="larger_torque")
    found = []
    for trajectory in ("sin_sin", "lift_and_drop"):
        path = make_trajectory(trajectory)
        for mass in (0.5, 1.5):
            for kp in (8.0, 32.0):
                bench, settings = Bench(mass=mass, length=0.15), truth.default_settings(kp)
                motion = simulate_trajectory(truth, path, bench, settings, 0.005)
                channels = {
                    "time": motion.time,
                    "goal_position": motion.goal_position,
                    "torque_enable": path.torque_enable(motion.time),
                    "position": motion.position,
                }
                name = f"{trajectory}_{mass}_{kp:g}"
                found.append(
                    Recording(id=name, trajectory=trajectory, bench=bench, settings=settings, channels=channels)
                )
    return tuple(found)


def request(**changes: object) -> IdentificationRequest:
    return IdentificationRequest(**{"servo": SERVO, "trials": 60, "threads": 1, **changes})  # type: ignore[arg-type]


def test_every_value_is_held_out_once_and_the_rest_is_trained_on() -> None:
    divided = folds(grid(), ("mass", "kp"))
    assert [(f.condition, f.value) for f in divided.folds] == [("mass", 0.5), ("mass", 1.5), ("kp", 8.0), ("kp", 32.0)]
    everything = {recording.id for recording in grid()}
    for fold in divided.folds:
        assert set(fold.train) | set(fold.held_out) == everything
        assert not set(fold.train) & set(fold.held_out)
    of = {recording.id: recording for recording in grid()}
    assert {of[run].bench.mass for run in divided.folds[1].held_out} == {1.5}
    assert divided.folds[1].label == "1.5 kg"


def test_a_condition_with_one_value_is_skipped_with_the_remedy() -> None:
    divided = folds(grid(), ("length", "unit", "kp"))
    assert divided.conditions == ("kp",)
    reasons = dict(divided.skipped)
    assert "every run has length 0.15 m: record with another length" in reasons["length"]
    assert "do not say which unit" in reasons["unit"]


def test_units_are_told_by_the_provenance() -> None:
    runs = [replace(r, provenance={"servo_serial": "A" if i % 2 else "B"}) for i, r in enumerate(grid())]
    assert [(f.value, len(f.held_out)) for f in folds(runs, ("unit",)).folds] == [("A", 4), ("B", 4)]


def test_what_cannot_be_held_out_is_refused() -> None:
    with pytest.raises(IdentificationError, match="nothing can be held out"):
        folds(grid(), ("length", "supply"))
    with pytest.raises(InputError, match="colour"):
        folds(grid(), ("colour",))


def test_a_selection_keeps_every_condition() -> None:
    """Half of a full factorial: each trajectory, mass and gain as often as the other."""
    for seed in range(5):
        chosen = balanced_subset(grid(), 4, seed)
        assert len({r.id for r in chosen}) == 4
        for value in (lambda r: r.trajectory, lambda r: r.bench.mass, lambda r: r.settings.kp):
            counts = [sum(value(r) == v for r in chosen) for v in {value(r) for r in grid()}]
            assert counts == [2, 2]
        assert [r.id for r in balanced_subset(grid(), 4, seed)] == [r.id for r in chosen]
    assert len({tuple(r.id for r in balanced_subset(grid(), 4, seed)) for seed in range(5)}) > 1
    assert balanced_subset(grid(), None) == list(grid())


def test_the_standard_error_is_that_of_clusters() -> None:
    """G/(G−1)·Σ(Σ deviations)²/N² by hand: x̄ = 4, cluster sums −4 and +4, so √(2·32)/4 = 2."""
    assert clustered_mean([[1.0, 3.0], [5.0, 7.0]]) == pytest.approx((4.0, 2.0))
    # Clusters with equal means say nothing of themselves; the independent values' s/√N stays.
    assert clustered_mean([[1.0, 3.0], [1.0, 3.0]]) == pytest.approx((2.0, math.sqrt(4.0 / 3.0 / 4.0)))
    assert clustered_mean([[1.0], [math.inf]]) == (math.inf, math.inf)
    assert clustered_mean([[1.0]]) == (1.0, math.inf)


@given(
    st.lists(st.floats(-10, 10), min_size=2, max_size=8).filter(lambda x: np.ptp(x) > 0.1),
    st.integers(2, 5),
)
def test_repeating_a_run_within_its_fold_adds_no_certainty(means: list[float], times: int) -> None:
    once = clustered_mean([[x] for x in means])
    again = clustered_mean([[x] * times for x in means])
    assert again == pytest.approx(once)


def judged(errors: dict[Variant, list[list[float]]]) -> CrossValidation:
    """A cross-validation with these errors [mrad], one list per held-out gain."""
    fits = []
    for place in range(len(next(iter(errors.values())))):
        for variant, lists in errors.items():
            runs = {f"{place}/{i}": 1e-3 * error for i, error in enumerate(lists[place])}
            fold = Fold(condition="kp", value=8.0 * (place + 1), train=("other",), held_out=tuple(runs))
            fits.append(
                FoldFit(
                    variant=variant,
                    fold=fold,
                    model=build_model(SERVO, variant.friction, command_path=variant.command_path),
                    train_mae=0.01,
                    trained_on=("other",),
                    evaluations=1,
                    errors=runs,
                )
            )
    return CrossValidation(fits=tuple(fits))


def test_the_simplest_within_one_standard_error_is_chosen() -> None:
    """Differences −1, +2 and −1, +1 mrad: mean 0.25, clustered less than the independent 0.75; M1 stands."""
    found = judged({M6: [[10.0, 20.0], [12.0, 22.0]], M1: [[9.0, 22.0], [11.0, 23.0]]})
    assert found.difference(M1, M6).mean == pytest.approx(0.25e-3)
    assert found.difference(M1, M6).standard_error == pytest.approx(0.75e-3)
    assert found.choice.chosen == M1
    assert found.choice.best == M6
    assert found.choice.text == "M1 is as good as M6 here (16.2 ± 3.6 against 16.0 ± 2.9 mrad)."


def test_a_small_difference_in_every_run_counts_although_runs_differ_by_more() -> None:
    found = judged({M6: [[10.0, 20.0], [12.0, 22.0]], M1: [[11.0, 21.2], [13.2, 23.0]]})
    assert found.error(M1).standard_error > found.difference(M1, M6).mean
    assert found.choice.chosen == M6
    assert "M1 comes nearest, worse by 1.1 ± 0.1 mrad run by run" in found.choice.text


def test_what_the_command_path_buys_is_said() -> None:
    found = judged({M1: [[30.0, 31.0], [32.0, 33.0]], M1_PATH: [[10.0, 11.0], [12.0, 13.5]]})
    assert found.choice.chosen == M1_PATH
    assert "the command path buys 19.9 ± 0.1 mrad" in found.choice.text


def test_a_diverging_model_is_never_chosen() -> None:
    found = judged({M1: [[1.0, math.inf], [1.0, 1.0]], M6: [[50.0, 60.0], [55.0, 58.0]]})
    assert found.choice.chosen == M6
    assert found.to_json()["variants"][0]["error"]["mean"] is None
    with pytest.raises(IdentificationError, match="diverges with every model"):
        _ = judged({M1: [[math.inf], [1.0]]}).choice


def test_every_condition_counts_the_same() -> None:
    """Three gains and one pair of masses: the mean of the two means, not of five folds."""
    fits = [replace(f, fold=replace(f.fold, condition="mass")) for f in judged({M1: [[40.0], [60.0]]}).fits]
    both = CrossValidation(fits=(*judged({M1: [[10.0], [20.0], [30.0]]}).fits, *fits))
    assert both.error(M1).mean == pytest.approx(35e-3)


def test_held_out_runs_are_judged_whole_and_never_fitted_to(tmp_path) -> None:
    variants = (M1, M1_PATH, Variant(friction="m2"))
    heard = []
    found = cross_validate(
        request(), grid(), ("kp", "length"), variants=variants, most_training_runs=3, folder=tmp_path,
        on_progress=heard.append,
    )  # fmt: skip
    assert found.variants == variants
    assert dict(found.skipped).keys() == {"length"}
    for fit in found.fits:
        assert len(fit.trained_on) == 3
        assert not set(fit.trained_on) & set(fit.errors)
        assert set(fit.errors) == set(fit.fold.held_out)
    assert set(found.errors(M1)) == {recording.id for recording in grid()}
    assert heard[-1].number == heard[-1].folds == 2
    assert [step.done for step in heard] == sorted(step.done for step in heard)
    # Studies on record are not searched again, and end the same.
    again = cross_validate(
        request(), grid(), ("kp",), variants=variants, most_training_runs=3, folder=tmp_path,
        on_progress=lambda step: pytest.fail("searched again"),
    )  # fmt: skip
    assert again.error(M1_PATH) == found.error(M1_PATH)


def test_a_command_path_never_fits_worse_than_none() -> None:
    """Its terms are off at their neutral values, which are tried; budgets too small to find that out otherwise."""
    for seed in range(2):
        asked = request(trials=16, seed=seed)
        found = cross_validate(asked, grid(), ("kp",), variants=all_variants(asked, ("m1",)))
        for fold in found.folds:
            plain, path = (found.fit(variant, fold).train_mae for variant in found.variants)
            assert path <= plain * 1.001


def test_stopping_keeps_complete_folds() -> None:
    steps = []
    found = cross_validate(
        request(), grid(), ("kp", "mass"), variants=(M1,), on_progress=steps.append,
        should_stop=lambda: bool(steps) and steps[-1].number == 3,
    )  # fmt: skip
    assert found.stopped
    assert [fold.condition for fold in found.folds] == ["kp", "kp"]
    with pytest.raises(IdentificationError, match="stopped before"):
        cross_validate(request(), grid(), ("kp",), variants=(M1,), should_stop=lambda: True)
