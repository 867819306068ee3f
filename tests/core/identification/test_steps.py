"""Damped steps on a smooth loss find minima that are known otherwise."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import lsq_linear

from core.identification.search.steps import Effort, damped_step, descend, normal_equations, smooth_loss

EFFORT = Effort(steps=30, enough=1e-12, dampings=(1e-3, 1e-1, 1e1, 1e3))


def solved(matrix: np.ndarray, target: np.ndarray, bounds: np.ndarray, scale: float, start: np.ndarray) -> np.ndarray:
    """Minimum of the smooth loss of matrix·x − target."""

    def losses(candidates: np.ndarray) -> np.ndarray:
        return smooth_loss(candidates @ matrix.T - target, scale).sum(axis=1)

    def equations(at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return normal_equations(matrix, matrix @ at - target, scale)

    end, loss = descend(start, bounds, losses, equations, EFFORT)
    assert loss == pytest.approx(float(losses(end[None])[0]))
    return end


def test_residuals_far_below_the_scale_are_least_squares_within_bounds() -> None:
    random = np.random.default_rng(3)
    matrix, target = random.normal(size=(40, 4)), random.normal(size=40)
    bounds = np.array([[-0.05, 0.05], [-1.0, 1.0], [0.1, 1.0], [-1.0, 1.0]])
    expected = lsq_linear(matrix, target, bounds=(bounds[:, 0], bounds[:, 1])).x
    assert np.isclose(expected, bounds.T).any()
    assert solved(matrix, target, bounds, 1e4, bounds.mean(axis=1)) == pytest.approx(expected, abs=1e-6)


def test_outliers_far_above_the_scale_do_not_decide() -> None:
    """The loss of a constant is least near the median, where squares would take the mean, 25."""
    target = np.array([0.0, 0.1, -0.1, 0.05, 124.95])
    found = solved(np.ones((5, 1)), target, np.array([[-200.0, 200.0]]), 1e-3, np.array([50.0]))
    assert found[0] == pytest.approx(0.05, abs=1e-3)


def test_a_parameter_that_nothing_answers_to_stays() -> None:
    matrix = np.array([[1.0, 0.0], [2.0, 0.0]])
    found = solved(matrix, np.array([1.0, 2.0]), np.tile([-3.0, 3.0], (2, 1)), 1.0, np.array([0.0, 0.7]))
    assert found == pytest.approx([1.0, 0.7], abs=1e-6)


def test_what_is_held_at_a_bound_lets_the_others_follow() -> None:
    """N = [[2, 1], [1, 2]], slope (3, 0): free, the first would go down and the second up; held, neither moves."""
    normal, slope = np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([3.0, 0.0])
    nowhere = np.zeros(2, dtype=bool)
    assert damped_step(normal, slope, 0.0, nowhere, nowhere) == pytest.approx([-2.0, 1.0])
    assert damped_step(normal, slope, 0.0, np.array([True, False]), nowhere) == pytest.approx([0.0, 0.0])


def test_nothing_better_leaves_the_start() -> None:
    start = np.array([0.3, 0.4])
    end, loss = descend(
        start,
        np.tile([0.0, 1.0], (2, 1)),
        lambda candidates: np.where((candidates == start).all(axis=1), 1.0, 2.0),
        lambda _: (np.eye(2), np.ones(2)),
        EFFORT,
    )
    assert end.tolist() == start.tolist()
    assert loss == 1.0
