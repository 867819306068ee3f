"""Splits: seed 004 trains on 75 % and judges on 25 %; transfer is judged by conditions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from core.base.errors import IdentificationError
from core.identification.runs.folds import folds
from core.identification.runs.split import equal_runs, split_recordings
from core.motion.recording import Recording
from core.servo.bench import Bench
from core.servo.settings import ServoSettings


def run(number: int, trajectory: str, kp: float, mass: float) -> Recording:
    # Each with content of its own.
    channels = {
        "time": np.array([0.0, 0.005]),
        "goal_position": np.zeros(2),
        "torque_enable": np.ones(2),
        "position": np.full(2, float(number)),
    }
    return Recording(
        id=str(number),
        trajectory=trajectory,
        bench=Bench(mass=mass, length=0.1),
        settings=ServoSettings(servo="mx106", kp=kp, supply_voltage=15.0),
        channels=channels,
    )


RUNS = [
    run(i, trajectory, kp, mass)
    for i, (trajectory, kp, mass) in enumerate(
        (t, kp, mass) for t in ("sin_sin", "up_and_down") for kp in (8.0, 16.0) for mass in (0.5, 0.741)
    )
]


def test_a_quarter_is_held_out_by_seed() -> None:
    split = split_recordings(RUNS, "25%", seed=1)
    assert len(split.train) == 6
    assert len(split.validation) == 2
    assert set(split.train) | set(split.validation) == {r.id for r in RUNS}
    assert split == split_recordings(RUNS, "25%", seed=1)
    assert any(split != split_recordings(RUNS, "25%", seed=s) for s in range(2, 6))


@pytest.mark.parametrize(("rule", "count"), [("5%", 1), ("25%", 2), ("30%", 2), ("35%", 3), ("0.5", 4), ("95%", 7)])
def test_a_share_is_rounded_and_leaves_runs_on_both_sides(rule: str, count: int) -> None:
    split = split_recordings(RUNS, rule)
    assert (len(split.validation), len(split.train)) == (count, 8 - count)
    assert not set(split.validation) & set(split.train)


@pytest.mark.parametrize(
    ("rule", "held"),
    [
        ("kp=16", {"2", "3", "6", "7"}),
        ("mass=0.741", {"1", "3", "5", "7"}),
        ("trajectory=sin_sin", {"0", "1", "2", "3"}),
        ("trajectory=raise_and_lower", {"4", "5", "6", "7"}),
    ],
)
def test_a_condition_is_held_out(rule: str, held: set[str]) -> None:
    assert set(split_recordings(RUNS, rule).validation) == held


def test_several_values_of_a_condition_are_held_out_together() -> None:
    more = [*RUNS, run(8, "triangle", 4.0, 0.5)]
    assert set(split_recordings(more, "kp=4; 16").validation) == {"2", "3", "6", "7", "8"}
    with pytest.raises(IdentificationError, match="matches no recording"):
        split_recordings(more, "kp=4;17")


def test_none_trains_on_all() -> None:
    for rule in ("none", "0%", " "):
        split = split_recordings(RUNS, rule)
        assert split.train == tuple(r.id for r in RUNS)
        assert split.validation == ()


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("kp=17", "matches no recording; kp takes 16.0, 8.0"),
        ("kp=16.001", "matches no recording; kp takes 16.0, 8.0"),
        ("colour=red", "no condition 'colour'"),
        ("kp=high", "not a number"),
        ("half", "neither a share"),
        ("150%", "neither a share"),
        ("vin=15", "leaves none to be trained on"),
    ],
)
def test_rules_that_make_no_sense_say_why(rule: str, message: str) -> None:
    with pytest.raises(IdentificationError, match=message):
        split_recordings(RUNS, rule)


def test_one_recording_cannot_be_split() -> None:
    with pytest.raises(IdentificationError, match="leaves none"):
        split_recordings(RUNS[:1], "25%")


def test_equal_recordings_stay_on_one_side_and_others_are_split_as_ever() -> None:
    """Copies under other names, whatever the seed; without copies each run is a group, and the split is the old one."""
    copies = [*RUNS, replace(RUNS[2], id="8"), replace(RUNS[2], id="9"), replace(RUNS[5], id="10")]
    assert equal_runs(copies) == (("2", "8", "9"), ("5", "10"))
    assert equal_runs(RUNS) == ()
    for seed in range(20):
        split = split_recordings(copies, "25%", seed=seed)
        assert len(split.validation) >= 3
        assert len(split.train) + len(split.validation) == len(copies)
        for group in equal_runs(copies):
            assert set(group) <= set(split.train) or set(group) <= set(split.validation)
        order = np.random.default_rng(seed).permutation(len(RUNS))
        assert set(split_recordings(RUNS, "25%", seed=seed).validation) == {str(i) for i in order[:2]}
    with pytest.raises(IdentificationError, match="leaves none"):
        split_recordings([RUNS[0], replace(RUNS[0], id="copy")], "25%")


def test_a_copy_said_to_be_of_another_unit_is_not_trained_on_where_the_original_is_held_out() -> None:
    units = [replace(run, provenance={"unit": "ab"[place % 2]}) for place, run in enumerate(RUNS)]
    copy = replace(units[0], id="copy", provenance={"unit": "b"})
    first, second = folds([*units, copy], ["unit"]).folds
    assert "copy" in second.held_out
    assert "copy" not in first.train
    assert "0" not in second.train
