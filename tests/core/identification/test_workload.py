"""Share of an identification that is done: linear in the work, also when searches are longer or shorter than usual."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from core.identification.workload import FITTED, SEARCHED, Workload


def course(budgets: list[int], multiples: list[float], steps: int = 2) -> Iterator[tuple[float, float]]:
    """Yield work and share during fits that take these multiples of their budgets."""
    work, spent = Workload(), 0.0
    work.expect(budgets, 3.0)
    work.begin(steps, trial=False)
    for budget, multiple in zip(budgets, multiples, strict=True):
        total = budget * multiple * steps
        for tenth in range(1, 11):
            yield spent + total * tenth / 10, work.share(total * tenth / 10)
        work.search_ended(total)
        work.fit_ended()
        spent += total / SEARCHED


@pytest.mark.parametrize("multiples", [[3.0] * 8, [1.3, 3.1, 3.0, 3.0, 3.0, 3.0, 3.0, 3.1], [1.0] * 8])
def test_the_expected_total_is_near_the_true_one_from_early_on(multiples: list[float]) -> None:
    budgets = [15, 22, 13, 16, 14, 18, 20, 22]
    points = list(course(budgets, multiples))
    end = points[-1][0] / SEARCHED / FITTED
    expected = [work / share / end for work, share in points if work > 0.15 * end]
    assert min(expected) > 1 / 1.5
    assert max(expected) < (1.25 if multiples[-1] > 1.0 else 2.0)
    assert [share for _, share in points] == sorted(share for _, share in points)
    assert FITTED * SEARCHED < points[-1][1] < FITTED


def test_a_trial_with_a_long_delay_does_not_make_all_models_seem_slow() -> None:
    """Its time step is 32 times shorter; whether the models need it is decided afterwards."""
    work = Workload()
    work.expect([15, 23, 6, 9], 3.0)
    work.begin(2, trial=True)
    work.search_ended(15 * 2)
    work.fit_ended()
    work.begin(64, trial=True)
    half = work.share(23 * 64 / 2)
    assert half > 0.2
    work.search_ended(23 * 64)
    work.fit_ended()
    tried = work.share()
    work.expect([6, 9], 3.0)
    work.begin(64, trial=False)
    assert work.share() == tried > half
