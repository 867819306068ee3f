"""The global search on functions whose minimum is known."""

from __future__ import annotations

import numpy as np
import pytest

from core.identification.search.search import Generation, Surrogate, confirmed, search

BOUNDS = np.array([[-3.0, 3.0]] * 4)
START = np.array([2.5, -2.5, 2.5, -2.5])


def sphere(x: np.ndarray) -> np.ndarray:
    return ((x - 0.7) ** 2).sum(axis=1) + 1.0


def rastrigin(x: np.ndarray) -> np.ndarray:
    """Ten local minima along each axis, the global one at 0."""
    return 1.0 + (x**2 + 2.0 * (1.0 - np.cos(2.0 * np.pi * x))).sum(axis=1)


def test_finds_the_minimum() -> None:
    found = search(sphere, BOUNDS, [START], 3000, seed=0)
    assert found.best == pytest.approx(np.full(4, 0.7), abs=1e-3)
    assert not found.stopped


def test_finds_a_minimum_at_a_bound() -> None:
    found = search(lambda x: 10.0 + (x + 5.0).sum(axis=1), BOUNDS, [np.zeros(4)], 4000, seed=0)
    assert found.best == pytest.approx(np.full(4, -3.0), abs=0.02)


def test_restarts_leave_local_minima() -> None:
    found = search(rastrigin, BOUNDS, [START], 30000, seed=1)
    assert found.descents > 1
    assert found.value == pytest.approx(1.0, abs=1e-3)


def test_never_worse_than_any_start() -> None:
    starts = [START, np.full(4, 0.7), np.zeros(4)]
    assert search(sphere, BOUNDS, starts, 3, seed=0).value == 1.0


def test_ends_when_descents_agree() -> None:
    assert search(sphere, BOUNDS, [START], 10**6, seed=0).evaluations < 10**5


def test_the_record_replays_to_the_same_search() -> None:
    generations: list[Generation] = []
    whole = search(rastrigin, BOUNDS, [START], 2000, seed=3, on_generation=generations.append)
    calls = []

    def counted(x: np.ndarray) -> np.ndarray:
        calls.append(len(x))
        return rastrigin(x)

    recorded = [generation.values for generation in generations[:50]]
    again = search(counted, BOUNDS, [START], 2000, seed=3, recorded=recorded)
    assert np.array_equal(again.best, whole.best)
    assert again.evaluations == whole.evaluations
    assert sum(calls) == whole.evaluations - sum(len(values) for values in recorded)


def test_stops_between_generations() -> None:
    generations: list[Generation] = []
    found = search(
        sphere,
        BOUNDS,
        [START],
        10**6,
        seed=0,
        on_generation=generations.append,
        should_stop=lambda: len(generations) == 5,
    )
    assert found.stopped
    assert len(generations) == 5
    assert found.value == generations[-1].overall_best_value


def descended(x: np.ndarray) -> tuple[np.ndarray, int]:
    """Steps to the middle of the dent of `rastrigin` a point lies in."""
    return np.round(x), 7


def test_steps_take_the_place_of_cma_and_are_counted() -> None:
    generations: list[Generation] = []
    found = search(rastrigin, BOUNDS, [START], 5000, seed=0, refine=descended, on_generation=generations.append)
    assert found.value == pytest.approx(1.0, abs=1e-3)
    assert found.evaluations > sum(len(generation.values) for generation in generations)
    assert all(np.array_equal(end, np.round(end)) for end in found.ends[1:])


def test_a_surrogate_leads_descents_from_afar() -> None:
    """A bowl without dents leads to the one that is deepest."""
    generations: list[Generation] = []
    led = Surrogate(lambda x: (x**2).sum(axis=1) + 1.0, lambda x: (0.1 * x, 3))
    found = search(
        rastrigin, BOUNDS, [START], 3000, seed=0, surrogate=led, refine=descended, on_generation=generations.append
    )
    assert {generation.surrogate for generation in generations} == {True, False}
    assert found.random_ends
    assert min(end.value for end in found.random_ends) == found.value == 1.0
    assert confirmed(found.random_ends, found.value)


def test_a_best_that_is_not_confirmed_takes_more() -> None:
    """Of descents that end everywhere none confirms another."""
    runs = [
        search(rastrigin, BOUNDS, [START], 300, seed=2, most=most, refine=lambda x: (x, 50)) for most in (None, 2000)
    ]
    assert 300 <= runs[0].evaluations < 2000 <= runs[1].evaluations
    assert not confirmed(runs[0].random_ends, runs[0].value)
    easy = search(sphere, BOUNDS, [START], 300, seed=2, most=10**6, refine=lambda x: (np.full(4, 0.7), 50))
    assert easy.evaluations < 5000
    assert confirmed(easy.random_ends, easy.value)
