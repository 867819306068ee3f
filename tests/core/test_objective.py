"""Populations on recordings: residuals, selections and pieces."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from core.bench import Bench
from core.identification.objective import DIVERGED, Batch
from core.identification.sensitivity import Differences
from core.model import ServoModel, build_model
from core.recording import Recording
from core.simulation import simulate_recording, simulate_trajectory
from core.trajectories import make_trajectory

BENCH = Bench(mass=0.5, length=0.1)


def servo(*path: str) -> ServoModel:
    return build_model("xl330", "m4", command_path=path)


def recording(name: str, model: ServoModel, offset: float = 0.0) -> Recording:
    """Two seconds of a model's motion, moved by `offset` [rad]."""
    path, settings = make_trajectory(name, 2.0), model.default_settings()
    motion = simulate_trajectory(model, path, BENCH, settings, 0.005)
    channels = {
        "time": motion.time,
        "goal_position": motion.goal_position,
        "torque_enable": path.torque_enable(motion.time),
        "position": motion.position + offset,
    }
    return Recording(id=name, trajectory=name, bench=BENCH, settings=settings, channels=channels)


def recordings(*path: str) -> list[Recording]:
    return [
        recording(name, servo(*path), 0.01 * i) for i, name in enumerate(("sin_sin", "lift_and_drop", "up_and_down"))
    ]


def vectors(model: ServoModel, count: int) -> np.ndarray:
    low, high = model.parameters.bounds().T
    return np.random.default_rng(1).uniform(low, high, (count, len(low)))


@pytest.mark.parametrize("threads", [1, 3])
def test_residuals_are_those_of_simulations_one_by_one(threads: int) -> None:
    model, runs = servo("command_delay"), recordings()
    matrix = vectors(model, 19)
    found = Batch(model, runs, threads=threads).residuals(matrix, lambda run, r: (run, r))
    assert [run for run, _ in found] == [0, 1, 2]
    for (_, residuals), run in zip(found, runs, strict=True):
        for place in (0, 18):
            moved = model.with_parameters(model.parameters.with_vector(matrix[place]))
            expected = simulate_recording(moved, run).position - run.position
            np.testing.assert_allclose(residuals[:, place], expected, atol=1e-9)


def test_the_scores_are_the_residuals_means() -> None:
    model, runs = servo(), recordings()
    batch, matrix = Batch(model, runs), vectors(model, 5)
    means = batch.residuals(matrix, lambda _, r: np.abs(r).mean(axis=0))
    np.testing.assert_allclose(np.array(means), batch.scores(matrix).mae, rtol=1e-12)


def test_a_simulation_that_runs_away_is_a_number() -> None:
    model = replace(servo(), integrator="bam")
    wild = model.parameters.with_bounds({"armature": (1e-12, 1e-2)}).with_values({"armature": 1e-12, "R": 0.1})
    light = replace(BENCH, measured_inertia=1e-12, measured_gravity_torque=5.0)
    [residuals] = Batch(model.with_parameters(wild), [replace(recordings()[0], bench=light)], threads=1).residuals(
        None, lambda _, r: r
    )
    assert np.isfinite(residuals).all()
    assert np.abs(residuals).max() <= DIVERGED


def test_pieces_begin_where_the_motion_was() -> None:
    """The truth follows its own motion in pieces; a servo that cannot move falls behind no further than a piece."""
    truth = servo()
    runs = [recording("sin_sin", truth)]
    pieces = Batch(truth, runs).in_pieces(0.25)
    stuck = truth.parameters.with_bounds({"friction_base": (0.0, 10.0)}).with_values({"friction_base": 10.0})
    [[own, still]] = pieces.residuals(
        np.array([truth.parameters.vector(), stuck.vector()]), lambda _, r: np.abs(r).max(axis=0)
    )
    assert own < 2e-3
    far = np.abs(runs[0].position - runs[0].position[0]).max()
    speed = np.abs(np.gradient(runs[0].position, runs[0].time)).max()
    assert 0.0 < still < 0.26 * speed < far


def test_a_selection_holds_some_of_the_runs_and_scores_them_alike() -> None:
    model, runs = servo(), recordings()
    batch = Batch(model, runs)
    some = batch.selection(2 * runs[0].samples)
    assert len(some.ids) == 2
    places = [batch.ids.index(i) for i in some.ids]
    np.testing.assert_array_equal(some.scores().mae, batch.scores().mae[places])
    assert batch.selection(10**9).ids == batch.ids
    assert len(batch.selection(1).ids) == 1


def test_differences_stay_within_the_bounds() -> None:
    model = servo()
    low, high = model.parameters.bounds().T
    for vector in (low, high, 0.5 * (low + high)):
        found = Differences.at(model, vector, 1e-3)
        assert (found.matrix >= low).all()
        assert (found.matrix <= high).all()
        assert (found.spacing > 0).all()
