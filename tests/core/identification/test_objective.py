"""Populations on recordings: residuals, selections and pieces."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from core.base.errors import IdentificationError
from core.identification import evaluate as judging
from core.identification.evaluate import evaluate
from core.identification.evidence.sensitivity import Differences
from core.identification.search.objective import VELOCITY_WEIGHT, Batch, Scores
from core.motion.recording import Recording
from core.servo.bench import Bench
from core.servo.model import ServoModel, build_model
from tests.core.conftest import recorded

BENCH = Bench(mass=0.5, length=0.1)


def servo(*path: str) -> ServoModel:
    return build_model("xl330", "m4", command_path=path)


def recording(name: str, model: ServoModel, offset: float = 0.0) -> Recording:
    """Two seconds of a model's motion, moved by `offset` [rad]."""
    made = recorded(model, name, BENCH, name=name, duration=2.0)
    made.channels["position"] += offset
    return made


def recordings(*path: str) -> list[Recording]:
    return [
        recording(name, servo(*path), 0.01 * i) for i, name in enumerate(("sin_sin", "lift_and_drop", "up_and_down"))
    ]


def missed(name: str, misses: tuple[float, ...]) -> Recording:
    """The model's own motion, the measured angle off by each of these in turn [rad]."""
    run = recording(name, servo())
    off = np.resize(np.array(misses), run.samples)
    off[0] = 0.0
    return replace(run, channels={**run.channels, "position": run.position + off})


def test_errors_by_hand() -> None:
    """1, −1, 1 and 5 mrad: a mean of 2, √7 as root mean square; 3 mrad all the time; means over runs of both."""
    runs = [missed("sin_sin", (1e-3, -1e-3, 1e-3, 5e-3)), missed("up_and_down", (3e-3,))]
    found = evaluate(servo(), runs)

    first, second = found.runs
    assert (first.id, second.id, first.samples) == ("sin_sin", "up_and_down", runs[0].samples)
    assert (first.mae, first.rmse) == (pytest.approx(2e-3, rel=0.01), pytest.approx(7.0**0.5 * 1e-3, rel=0.01))
    assert (second.mae, second.rmse) == (pytest.approx(3e-3, rel=0.01), pytest.approx(3e-3, rel=0.01))
    assert found.mean_mae == pytest.approx(0.5 * (first.mae + second.mae), rel=1e-12)
    assert found.mean_rmse == pytest.approx(0.5 * (first.rmse + second.rmse), rel=1e-12)
    assert {name: list(column) for name, column in found.columns().items()} == {
        "run": [r.id for r in found.runs],
        "MAE [mrad]": [1e3 * r.mae for r in found.runs],
        "RMSE [mrad]": [1e3 * r.rmse for r in found.runs],
        "samples": [r.samples for r in found.runs],
    }
    means = f"MAE {1e3 * found.mean_mae:.2f} mrad, RMSE {1e3 * found.mean_rmse:.2f} mrad"
    assert found.heading() == f"{means}, mean over 2 runs"
    assert found.to_json() == {
        "mean_mae": found.mean_mae,
        "mean_rmse": found.mean_rmse,
        "runs": [{"id": r.id, "mae": r.mae, "rmse": r.rmse, "samples": r.samples} for r in found.runs],
    }


def test_many_runs_are_judged_in_portions_each_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two at a time, and one that is longer than a portion alone."""
    runs = [replace(missed("sin_sin", (1e-3 * k,)), id=str(k)) for k in range(5)]
    whole = evaluate(servo(), runs)
    sizes: list[int] = []

    def counted(model: ServoModel, some: list[Recording], **options: object) -> Batch:
        sizes.append(len(some))
        return Batch(model, some, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(judging, "Batch", counted)
    for most, expected in ((2 * runs[0].samples, [2, 2, 1]), (runs[0].samples // 2, [1] * 5)):
        sizes.clear()
        monkeypatch.setattr(judging, "MOST_SAMPLES", most)
        assert evaluate(servo(), runs) == whole
        assert sizes == expected


def test_each_metric_by_hand() -> None:
    """Over two runs: the mean, the root of the mean square, the mean with the velocity's share."""
    scores = Scores(np.array([[1.0], [3.0]]), np.array([[3.0], [4.0]]), np.array([[2.0], [6.0]]))
    assert scores.combined("mae") == pytest.approx([2.0])
    assert scores.combined("rmse") == pytest.approx([12.5**0.5])
    assert scores.combined("mae_velocity") == pytest.approx([2.0 + 4.0 * VELOCITY_WEIGHT])
    with pytest.raises(IdentificationError, match="no metric 'worst'"):
        scores.combined("worst")


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
