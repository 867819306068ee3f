"""The choice of a model: paired errors and their standard errors, one wording, and the evidence that counts."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from core.base.errors import IdentificationError
from core.identification.choice.model_choice import CrossValidation, FoldFit, Variant
from core.identification.choice.recommendation import CROSS_VALIDATION, TRAINING, VALIDATION, recommend
from core.identification.choice.rule import Contender, Judged, choice_in_words, clustered_mean, in_words, recommended
from core.identification.runs.folds import Fold
from core.servo.model import build_model

SERVO = "mx106"
M1, M3, M6 = (Variant(friction=name) for name in ("m1", "m3", "m6"))
M1_PATH = Variant(friction="m1", command_path=("command_delay",))


def test_the_standard_error_is_that_of_clusters() -> None:
    """G/(G−1)·Σ(Σ deviations)²/N² by hand: x̄ = 4, cluster sums −4 and +4, so √(2·32)/4 = 2."""
    assert clustered_mean([[1.0, 3.0], [5.0, 7.0]]) == pytest.approx((4.0, 2.0))
    # Clusters with equal means say nothing of themselves; the independent values' s/√N stays.
    assert clustered_mean([[1.0, 3.0], [1.0, 3.0]]) == pytest.approx((2.0, math.sqrt(4.0 / 3.0 / 4.0)))
    assert clustered_mean([[1.0], [math.inf]]) == (math.inf, math.inf)
    assert clustered_mean([[1.0]]) == (1.0, math.inf)


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
                    model=build_model(
                        SERVO, variant.friction, command_path=variant.command_path, contact=variant.contact
                    ),
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
    assert found.choice.text == (
        "M1 is recommended: its error with gain kp held out is as good as that of M6, which has more parameters "
        "(16.2 ± 3.6 against 16.0 ± 2.9 mrad)."
    )


def test_a_small_difference_in_every_run_counts_although_runs_differ_by_more() -> None:
    found = judged({M6: [[10.0, 20.0], [12.0, 22.0]], M1: [[11.0, 21.2], [13.2, 23.0]]})
    assert found.error(M1).standard_error > found.difference(M1, M6).mean
    assert found.choice.chosen == M6
    assert found.choice.text.startswith("M6 is recommended: lowest error with gain kp held out, 16.0 ± 2.9 mrad.")
    assert "M1 is closest, worse by 1.1 ± 0.1 mrad run by run" in found.choice.text


def test_what_the_command_path_buys_is_said() -> None:
    found = judged({M1: [[30.0, 31.0], [32.0, 33.0]], M1_PATH: [[10.0, 11.0], [12.0, 13.5]]})
    assert found.choice.chosen == M1_PATH
    assert "With M1 the command path lowers the error by 19.9 ± 0.1 mrad." in found.choice.text


@pytest.mark.parametrize(
    ("errors", "bought"),
    [
        ([[6.0, 7.0], [10.0, 10.95]], False),  # 2.01 better on average, standard error 1.99, at one value alone
        ([[6.0, 7.0], [9.0, 10.0]], True),
        ([[math.inf, 7.0], [9.0, 10.0]], False),
    ],
)
def test_an_addition_must_be_better_at_every_held_out_value(errors: list[list[float]], bought: bool) -> None:
    more = replace(M1_PATH, command_path=("command_delay", "output_offset"))
    elastic = replace(M1_PATH, contact="elastoplastic_rational")
    for addition in (more, elastic):
        found = judged({M1_PATH: [[10.0, 11.0], [10.0, 11.0]], addition: errors})
        assert found.choice.chosen == (addition if bought else M1_PATH)
        others = judged({M1: [[10.0, 11.0], [10.0, 11.0]], M6: errors})
        assert others.wins(M6, M1) == found.wins(addition, M1_PATH)


def test_an_addition_may_fail_at_one_of_many_held_out_values() -> None:
    more = replace(M1_PATH, command_path=("command_delay", "output_offset"))
    usual, better = [[10.0]] * 6, [[9.0], [9.2], [8.9], [9.1], [9.0], [10.1]]
    assert judged({M1_PATH: usual, more: better}).choice.chosen == more
    fluke = judged({M1_PATH: usual, more: [[4.0], [5.0], [10.0], [10.0], [9.0], [10.1]]}).choice
    assert fluke.chosen == M1_PATH
    assert fluke.best == more
    assert "offset of the output is better at only 3 of 6 held-out values." in fluke.text


def test_a_diverging_model_is_never_chosen() -> None:
    found = judged({M1: [[1.0, math.inf], [1.0, 1.0]], M6: [[50.0, 60.0], [55.0, 58.0]]})
    assert found.choice.chosen == M6
    assert found.to_json()["variants"][0]["error"]["mean"] is None
    with pytest.raises(IdentificationError, match="diverges with every model"):
        _ = judged({M1: [[math.inf], [1.0]]}).choice


def test_what_is_read_back_is_what_was_written() -> None:
    """An infinite error and a fold that one variant was not judged on are kept."""
    fits = judged({M1: [[1.0, math.inf], [2.0]], M1_PATH: [[3.0, 4.0], [5.0]]}).fits[:-1]
    found = CrossValidation(fits=fits, skipped=(("mass", "every run has 0.5 kg"),), stopped=True)
    data = json.loads(json.dumps({**found.to_json(), "transfer": []}, allow_nan=False))
    again = CrossValidation.from_json(data)
    assert again == found
    assert again.to_json() == found.to_json()
    assert again.choice.text == found.choice.text


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data.pop("folds"),
        lambda data: data["folds"].pop(),
        lambda data: data["folds"][0].update(held_out="0/0"),
        lambda data: data["fits"].clear(),
        lambda data: data["fits"][0].update(errors=[1.0]),
        lambda data: data["fits"][0]["errors"].clear(),
        lambda data: data["fits"][0]["errors"].update(other=0.1),
        lambda data: data["fits"][0]["errors"].update({"0/0": "much"}),
        lambda data: data["fits"][0]["model"].update(friction="m9"),
        lambda data: data["fits"][0].update(friction="m6"),
        lambda data: data["fits"][0].update(command_path=[["goal_slew"]]),
        lambda data: data.update(skipped=3),
    ],
)
def test_damaged_data_is_refused(damage: Callable[[dict[str, Any]], object]) -> None:
    data = judged({M1: [[1.0], [2.0]]}).to_json()
    damage(data)
    with pytest.raises(IdentificationError, match="cross-validate these runs again"):
        CrossValidation.from_json(data)


def test_every_condition_counts_the_same() -> None:
    """Three gains and one pair of masses: the mean of the two means, not of five folds."""
    fits = [replace(f, fold=replace(f.fold, condition="mass")) for f in judged({M1: [[40.0], [60.0]]}).fits]
    both = CrossValidation(fits=(*judged({M1: [[10.0], [20.0], [30.0]]}).fits, *fits))
    assert both.error(M1).mean == pytest.approx(35e-3)


def contender(friction: str, train: float, *servos: list[float]) -> Contender:
    """Errors in mrad; servos: those of the held-out runs of each."""
    errors = tuple(tuple(1e-3 * error for error in runs) for runs in servos)
    mean = float(np.mean([error for runs in errors for error in runs])) if errors else None
    size = {"m1": 6, "m3": 7, "m2": 9, "m4": 11, "m5": 13, "m6": 15}[friction]
    return Contender(friction=friction, parameters=size, train_mae=1e-3 * train, held_out=errors, validation_mae=mean)


def contenders(**errors: tuple[float, float | None]) -> list[Contender]:
    """Friction model to training error and that of each of four held-out runs [mrad]."""
    return [contender(name, train, *([] if held is None else [[held] * 4])) for name, (train, held) in errors.items()]


def test_the_simplest_within_one_standard_error_is_recommended() -> None:
    """M1 − M2 by run: 1, −0.5, 0.5 mrad, mean 0.33 ± 0.44; one more on each is 1.33 ± 0.44."""
    m2 = contender("m2", 8, [9.0, 12.5, 13.5])
    close, apart = contender("m1", 11, [10.0, 12.0, 14.0]), contender("m1", 11, [11.0, 13.0, 15.0])
    assert recommended([close, m2]) is close
    assert recommended([apart, m2]) is m2
    assert choice_in_words([close, m2]) == (
        "M1 is recommended: its validation error on 3 held-out runs is as good as that of M2, which has more "
        "parameters (12 against 11.7 mrad)."
    )


def test_few_held_out_runs_do_not_excuse_a_model_that_is_much_worse() -> None:
    """M1 − M2 is 0 or 6 mrad by run, half of M2's error, with a standard error of 3: of two runs that is not enough."""
    few = [contender("m1", 9, [6.0, 12.0]), contender("m2", 9, [6.0, 6.0])]
    assert recommended(few).friction == "m2"
    many = [contender("m1", 9, [6.0, 6.0, 6.0, 6.0, 12.0]), contender("m2", 9, [6.0] * 5)]
    assert recommended(many).friction == "m1"


def test_simpler_means_fewer_parameters() -> None:
    """M2 has two more than M3."""
    held = [[9.0, 12.5, 13.5]]
    equal = [contender("m2", 8, *held), contender("m3", 8, *held)]
    assert recommended(equal).friction == "m3"


def test_runs_of_one_servo_count_together() -> None:
    """M1 − M2 is 0 on one servo and 1 mrad on the other: 0.5 ± 0.5, however many runs say so."""
    m1, m2 = contender("m1", 9, [5.0] * 9, [10.0] * 9), contender("m2", 9, [5.0] * 9, [9.0] * 9)
    assert recommended([m1, m2]) is m1
    one_servo = [contender(name, 9, [5.0] * 9 + [after] * 9) for name, after in (("m1", 10.0), ("m2", 9.0))]
    assert recommended(one_servo).friction == "m2"


def test_one_held_out_run_has_no_standard_error() -> None:
    """Nor has a result of an earlier version, which does not tell the errors of the runs: equal to 1 % is equal."""
    for held in ((), ((2e-3,),)):
        richer = Contender(friction="m6", parameters=15, train_mae=1e-3, held_out=held, validation_mae=2.0e-3)
        equal = Contender(friction="m5", parameters=13, train_mae=1e-3, held_out=held, validation_mae=2.015e-3)
        worse = Contender(friction="m4", parameters=11, train_mae=1e-3, held_out=held, validation_mae=2.03e-3)
        assert recommended([worse, equal, richer]) is equal
        assert recommended([worse, richer]) is richer


def test_without_held_out_runs_the_error_in_training_decides() -> None:
    fitted = contenders(m1=(20, None), m6=(10, None))
    assert recommended(fitted).friction == "m6"
    assert "No runs were held out" in choice_in_words(fitted)
    alone = choice_in_words(fitted[:1])
    assert "no other model" in alone
    assert "recommended" not in alone


def test_the_wording_names_simpler_equal_and_richer_ones() -> None:
    def model(name: str, error: float, parameters: int) -> Judged:
        return Judged(name=name, error=error, shown=f"{error:g}", parameters=parameters)

    chosen, best = model("B", 2.0, 4), model("D", 1.9, 8)
    others = [model("A", 2.1, 3), model("C", 2.1, 4), model("E", 2.1, 9), model("F", 2.1, 9), best]
    assert in_words(chosen, others, others, judged_by="error", margin="within 2 %") == (
        "B is recommended: its error is as good as that of D, which has more parameters (2 against 1.9 mrad). "
        "A is simpler and within 2 %. C comes within 2 % with as many parameters. "
        "E and F come within 2 % with more parameters."
    )
    assert in_words(chosen, [], [], judged_by="error", margin="") == (
        "B: error 2 mrad; no other model was identified to compare it with."
    )


def test_a_crossvalidation_counts_for_more_than_the_split() -> None:
    fitted = contenders(m1=(20, 22), m6=(10, 12))
    assert recommend(fitted).by == VALIDATION
    assert recommend(fitted).friction == "m6"
    assert recommend(contenders(m1=(20, None), m6=(10, None))).by == TRAINING
    found = judged({M6: [[10.0, 20.0], [12.0, 22.0]], M1: [[9.0, 22.0], [11.0, 23.0]]})
    chosen = recommend(fitted, found, runs=found.runs)
    assert (chosen.friction, chosen.by) == ("m1", CROSS_VALIDATION)
    assert chosen.text == f"By cross-validation {found.choice.text}"


def test_a_crossvalidation_of_other_models_leaves_the_choice_to_the_split() -> None:
    found = judged({M1: [[9.0], [8.0]], M6: [[10.0], [9.5]]})
    fitted = contenders(m1=(20, 22), m6=(10, 12))
    elsewhere = recommend(fitted, found, command_path=("command_delay",))
    assert (elsewhere.friction, elsewhere.by) == ("m6", VALIDATION)
    assert "includes none of these models: cross-validate them" in elsewhere.text
    diverging = recommend(fitted, judged({M1: [[math.inf]], M6: [[math.inf]]}))
    assert (diverging.friction, diverging.by) == ("m6", VALIDATION)
    assert "diverges with every model" in diverging.text


def test_what_a_crossvalidation_does_not_cover_is_said() -> None:
    """The command path is better still; M6 was not among what was cross-validated; other runs were."""
    found = judged({M1: [[9.0, 9.1], [8.8, 9.0]], M3: [[9.5, 9.9], [9.6, 9.7]], M1_PATH: [[1.0, 1.1], [1.2, 1.0]]})
    chosen = recommend(contenders(m1=(20, 22), m3=(11, 12), m6=(10, 11)), found, runs=("other",))
    assert (chosen.friction, chosen.by) == ("m1", CROSS_VALIDATION)
    assert "M1 + command path is the choice: identify it too" in chosen.text
    assert "M6 was not cross-validated" in chosen.text
    assert "used other runs" in chosen.text
    with_path = recommend(contenders(m1=(20, 22)), found, command_path=("command_delay",), runs=found.runs)
    assert "identify it too" not in with_path.text


def test_neither_the_choice_nor_the_coverage_loads_the_compiler() -> None:
    """The window shows both; its process must not wait for it."""
    program = (
        "import sys, core.identification.coverage.report, core.identification.choice.recommendation;"
        "sys.exit('numba' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
