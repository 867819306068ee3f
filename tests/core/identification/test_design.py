"""The next best recording: gains agree with theory, the choice with what physics demands, and the words with both."""

from __future__ import annotations

import functools
import math
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from core.base.errors import IdentificationError
from core.identification.evidence.model import NORMAL_95
from core.identification.next.design import (
    PRIOR_INFORMATION,
    _truncated_normal,
    candidate_cells,
    commands,
    next_best,
)
from core.identification.next.proposal import Narrowing, Proposal
from core.motion.recording import Recording
from core.motion.simulation import simulate_recording
from core.practice.plan import Cell, GridPlan, dynamixel_plan
from core.servo.bench import Bench
from core.servo.catalogue import load_servo
from core.servo.model import ServoModel, build_model
from core.servo.settings import ServoSettings
from core.servo.shipped import load_model

SERVO = "mx106"
GRID = GridPlan(masses=(0.5, 1.5), lengths=(0.1, 0.2), kps=(8.0, 32.0), duration=3.0)
SMALL = replace(GRID, lengths=(0.2,), trajectories=("sin_sin", "lift_and_drop"))


@functools.cache
def servo(friction: str = "m1", *terms: str) -> ServoModel:
    """A model of the MX-106 at the catalogue's values, with command path terms at their start."""
    template = build_model(SERVO, friction, command_path=terms)
    return template.with_values(load_model(SERVO, friction).values)


def record(cell: Cell, model: ServoModel | None = None, noise: float = 1e-3) -> Recording:
    """A recording of a cell with white noise [rad] on its angle."""
    model = model or servo()
    planned = commands(GRID.trajectory(cell), Bench(mass=cell.mass, length=cell.length), settings(model, cell), 0.005)
    position = simulate_recording(model, planned).position
    position[1:] += noise * np.random.default_rng(round(100 * cell.mass)).normal(size=planned.samples - 1)
    return replace(planned, id=str(cell.condition), channels={**planned.channels, "position": position})


def settings(model: ServoModel, cell: Cell) -> ServoSettings:
    return model.default_settings(cell.kp)


def jacobian(model: ServoModel, cell: Cell) -> np.ndarray:
    """By differences of its own, (n, p) rad per catalogue interval."""
    planned = commands(GRID.trajectory(cell), Bench(mass=cell.mass, length=cell.length), settings(model, cell), 0.005)
    columns = []
    for p in model.parameters.free:
        step = 1e-6 * (p.upper - p.lower)
        moved = [model.with_values({p.name: p.value + s}) for s in (step, -step)]
        high, low = (simulate_recording(m, planned).position for m in moved)
        columns.append((high - low) / 2e-6)
    return np.transpose(columns)


def test_the_gain_is_that_of_linear_gaussian_theory() -> None:
    """½·log det(I + Jᵀ·J/(12·σ²)) for a uniform's variance 1/12 and the encoder's σ² = step²/12, by brute force."""
    model, cells = servo(), candidate_cells(GRID)
    scale = load_servo(SERVO).encoder_step ** 2 / 12.0
    prior = PRIOR_INFORMATION * np.eye(len(model.parameters.free))
    informations = [prior + (j := jacobian(model, cell)).T @ j / scale for cell in cells]
    gains = [0.5 * (np.linalg.slogdet(m)[1] - np.linalg.slogdet(prior)[1]) for m in informations]
    best = int(np.argmax(gains))
    [found] = next_best(model, [], cells, 1, members=1, duration=GRID.duration)
    assert found.cell == cells[best]
    assert found.nats == pytest.approx(gains[best], abs=0.02)
    assert math.log(found.factor) == pytest.approx(found.nats)
    widths = NORMAL_95 * np.sqrt(np.diag(np.linalg.inv(informations[best])))
    for p, share, n in zip(model.parameters.free, widths, found.narrowings, strict=True):
        assert n.before == pytest.approx(0.5 * (p.upper - p.lower))
        assert n.after == pytest.approx(share * (p.upper - p.lower), rel=0.05), p.name


def test_gains_diminish_and_nothing_is_chosen_twice() -> None:
    """The determinant is submodular: what is known cannot be learnt again."""
    found = next_best(servo(), [], candidate_cells(GRID), 5, duration=GRID.duration)
    gains = [proposal.nats for proposal in found]
    assert gains == sorted(gains, reverse=True)
    assert gains[-1] > 0.0
    assert len({proposal.cell for proposal in found}) == 5
    for earlier, later in pairwise(found):
        assert [n.before for n in later.narrowings] == [n.after for n in earlier.narrowings]


def test_noise_is_what_the_recordings_leave_unexplained() -> None:
    """Ten times the noise, ten times the predicted intervals."""
    cells = candidate_cells(GRID)
    widths = []
    for noise in (2e-3, 2e-2):
        recordings = [record(cell, noise=noise) for cell in cells[:6]]
        [found] = next_best(servo(), recordings, cells[-1:], 1, members=1, duration=GRID.duration)
        widths.append(np.array([n.before for n in found.narrowings]))
    assert widths[1] / widths[0] == pytest.approx(np.full(len(widths[0]), 10.0), rel=0.25)


def test_a_motion_recorded_under_its_other_name_is_not_proposed_again() -> None:
    cells = candidate_cells(SMALL)
    slow = next(cell for cell in cells if cell.trajectory == "sin_sin")
    recorded = replace(record(slow), trajectory="slow_oscillations")
    assert candidate_cells(SMALL, [recorded]) == tuple(cell for cell in cells if cell != slow)


def test_small_widths_may_ask_for_another_recording_than_a_small_volume() -> None:
    """No first choice by volume has a smaller product of half widths than the first choice by widths."""
    cells = candidate_cells(SMALL)

    def product(objective: str) -> float:
        [found] = next_best(servo("m4"), [], cells, 1, objective=objective, members=2, duration=2.0)
        return sum(math.log(n.factor) for n in found.narrowings)

    assert product("widths") >= product("volume")


def test_draws_follow_the_gaussian_within_the_box() -> None:
    """In a wide box the covariance is the inverse of the information; in a narrow one a draw stays inside."""
    information = np.array([[4.0, 3.6], [3.6, 4.0]]) * 100.0
    mean = np.array([0.5, 0.4])
    drawn = np.array(_truncated_normal(mean, information, np.full(2, -9.0), np.full(2, 9.0), 300, 0))
    assert np.cov(drawn.T) == pytest.approx(np.linalg.inv(information), rel=0.25)
    assert drawn.mean(axis=0) == pytest.approx(mean, abs=0.02)
    low, high = np.array([0.5, 0.0]), np.array([1.0, 0.42])
    inside = np.array(_truncated_normal(mean, information, low, high, 100, 1))
    assert (inside >= low).all()
    assert (inside <= high).all()
    # Along the trade-off, not only about the mean: what the first gains the second loses.
    assert np.asarray(np.corrcoef(inside.T))[0, 1] < -0.5
    assert np.ptp(inside[:, 0]) > 0.1


def test_cells_are_the_plans_without_what_is_recorded() -> None:
    plan = replace(dynamixel_plan(), repetitions=3)
    cells = candidate_cells(plan)
    assert len(cells) == 3 * 3 * 4 * 4
    assert set(cells) <= set(plan.cells())
    run = record(cells[5])
    left = candidate_cells(plan, [run])
    assert len(left) == len(cells) - 1
    assert cells[5] not in left


def test_what_cannot_be_chosen_is_said_with_its_remedy() -> None:
    cells = candidate_cells(SMALL)
    model = servo()
    frozen = model.with_parameters(model.parameters.frozen_at(model.values))
    foreign = record(cells[0])
    foreign = replace(foreign, settings=replace(foreign.settings, servo="mx64"))
    usual: dict[str, Any] = {"model": model, "recordings": [], "cells": cells}
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"cells": []}, "name other masses, lengths, gains or trajectories"),
        ({"objective": "beauty"}, "there are volume, widths"),
        ({"count": 0}, "at least one"),
        ({"model": frozen}, "free one"),
        ({"recordings": [foreign]}, "recordings of mx64, the model is of mx106"),
    ]
    for changes, words in wrong:
        with pytest.raises(IdentificationError, match=words):
            next_best(**{**usual, **changes})


def narrowing(symbol: str, before: float, after: float) -> Narrowing:
    return Narrowing(name="kt", symbol=symbol, unit="1", widest=0.5, before=before, after=after)


@pytest.mark.parametrize(
    ("narrowings", "words"),
    [
        ([("a", 0.2, 0.1), ("b", 0.4, 0.2), ("c", 0.4, 0.38)], "halves the interval of a and b"),
        ([("a", 0.2, 0.02), ("b", 0.1, 0.1)], "cuts the interval of a to a tenth"),
        ([("a", 0.2, 0.001)], "cuts the interval of a to less than a tenth"),
        ([("a", 0.3, 0.2)], "narrows the interval of a by a third"),
        ([("a", 0.5, 0.01), ("b", 0.1, 0.02)], "pins down a, open so far"),
        ([("a", 0.5, 0.1), ("b", 0.1, 0.033)], "pins down a, open so far; cuts the interval of b to a third"),
        ([(s, 0.5, 0.1) for s in "abcdef"], "pins down 6 of 6 parameters, open so far, most of all a, b, c and d"),
        ([("a", 0.2, 0.05), ("b", 0.4, 0.2)], "cuts the interval of a to a quarter; halves that of b"),
        ([("a", 0.3, 0.29)], "hardly narrows any interval"),
    ],
)
def test_words(narrowings: list[tuple[str, float, float]], words: str) -> None:
    cell = Cell(0.1, 0.5, 8.0, "sin_sin", 1)
    proposal = Proposal(cell=cell, nats=1.0, narrowings=tuple(narrowing(*n) for n in narrowings))
    assert proposal.words == words
    assert proposal.to_json()["trajectory"] == "sin_sin"
    assert proposal.to_json()["words"] == words
