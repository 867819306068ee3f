"""An identification that is stopped and continued again and again: no error that is shown rises from stop to stop."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench_gui.identify.fit.messages import FitResult
from core.base.errors import IdentificationError
from core.identification.identify import IdentificationRequest, identify
from core.identification.result import Identification
from core.motion.recording import Recording
from core.servo.bench import Bench
from core.servo.model import build_model
from core.servo.shipped import load_model
from core.servo.terms import COMMAND_PATH_TERMS
from sessions import Session
from sessions.folders import example_session
from sessions.results.folder import RESULT
from sessions.results.identification import load_identification, load_latest
from sessions.results.identifying import Watch, run_identification
from tests.core.conftest import recorded
from tests.independent_servo import with_noise

SERVO = "mx106"
REQUEST = IdentificationRequest(
    servo=SERVO,
    models=("m1", "m2"),
    command_path=("command_delay",),
    command_path_if_better=True,
    trials=60,
    substeps=1,
    polish=False,
    threads=1,
)
STOPS = (2, 3, 2, 3, 2)
"""Generations from each stop to the next: during both trials of the command path, M1 and M2."""


def late_runs() -> list[Recording]:
    """Four noisy recordings of an M2 whose goals arrive 17.5 ms late."""
    template = build_model(SERVO, "m2", command_path=("command_delay",))
    model = template.with_values({**load_model(SERVO, "m2").values, "command_delay": 0.0175})
    return [
        with_noise(recorded(model, trajectory, Bench(mass=1.0, length=0.15), kp, step=0.02, duration=2.0), [number])
        for number, (kp, trajectory) in enumerate(itertools.product((8.0, 32.0), ("sin_time_square", "lift_and_drop")))
    ]


def stopped_after(
    generations: Iterable[int],
    recordings: Sequence[Recording],
    request: IdentificationRequest,
    folder: Path,
    resume: bool = False,
) -> Iterator[Identification]:
    """Stop and continue an identification; yields each result, the finished one last if it gets there."""
    for few in generations:
        asked = itertools.count()
        watch = Watch(should_stop=lambda asked=asked, few=few: next(asked) >= few)
        found = run_identification(recordings, request, folder, watch, resume=resume).identification
        resume = True
        yield found
        if not found.stopped:
            return


def shown_errors(found: Identification) -> dict[str, float]:
    """Errors in the ladder by model and kind, and that of the verdict [rad]."""
    rows = {f"{each.friction} training": each.train_mae for each in found.contenders}
    judged = {each.friction: each.error for each in found.contenders}
    return rows | judged | {"verdict": judged[found.recommended.model.friction]}


def assert_no_error_rises(steps: Iterable[Identification], folder: Path) -> list[Identification]:
    """Check each stop's result, its file, the list of models and the window's rows; returns the results."""
    least: dict[str, float] = {}
    seen: list[Identification] = []
    for found in steps:
        seen.append(found)
        if not found.stopped:
            break
        kept = load_identification(folder)
        shown = shown_errors(found)
        assert kept.stopped
        assert shown_errors(kept) == shown
        assert [m.values for m in load_latest(folder.parents[1])] == [r.model.values for r in found.results]
        window, stored = FitResult.of(found, folder), FitResult.of(kept, folder)
        assert (window.title, window.choice, window.request) == (stored.title, stored.choice, stored.request)
        assert least.keys() <= shown.keys()
        assert {name: shown[name] for name in least if shown[name] > least[name]} == {}
        least = shown
    return seen


@pytest.mark.parametrize(
    "validation", ["25%", pytest.param("none", marks=pytest.mark.exhaustive("only the trials hold runs out"))]
)
def test_a_later_stop_is_never_worse_than_an_earlier_one(validation: str, tmp_path: Path) -> None:
    recordings, request = late_runs(), replace(REQUEST, validation=validation)
    folder = tmp_path / "results" / "one"
    seen = assert_no_error_rises(stopped_after(STOPS, recordings, request, folder), folder)
    # M2 of the trials stays while M1, which the ladder fits first, is searched.
    assert "m2" in {result.model.friction for result in seen[-1].results}
    assert {result.model.friction for found in seen for result in found.results} == {"m1", "m2"}


def test_a_continued_identification_ends_as_one_that_was_never_stopped(tmp_path: Path) -> None:
    recordings = late_runs()
    *stops, finished = stopped_after((2, 4, 1000), recordings, REQUEST, tmp_path / "results" / "one")
    through = identify(REQUEST, recordings)
    assert all(found.stopped for found in stops)
    assert [r.model.values for r in finished.results] == [r.model.values for r in through.results]
    assert load_identification(tmp_path / "results" / "one").choice == through.choice


@pytest.mark.parametrize("changes", [{"models": ("m1",)}, {"trials": 99}, {"seed": 1}, {"validation": "none"}])
def test_other_settings_are_refused_and_leave_the_stopped_result_as_it_is(
    changes: dict[str, Any], tmp_path: Path
) -> None:
    recordings, folder = late_runs(), tmp_path / "results" / "one"
    [found] = stopped_after([2], recordings, REQUEST, folder)
    files = {path.name: path.read_bytes() for path in folder.glob("*.json")}
    with pytest.raises(IdentificationError, match=rf"other settings \({next(iter(changes))}\)"):
        run_identification(recordings, replace(REQUEST, **changes), folder, Watch(), resume=True)
    assert {path.name: path.read_bytes() for path in folder.glob("*.json")} == files
    assert shown_errors(load_identification(folder)) == shown_errors(found)


def test_a_stopped_result_that_cannot_be_read_does_not_prevent_resuming(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    recordings, folder = late_runs(), tmp_path / "results" / "one"
    list(stopped_after([2], recordings, REQUEST, folder))
    (folder / RESULT).write_text("[")
    [found] = stopped_after([0], recordings, REQUEST, folder, resume=True)
    assert [result.model.friction for result in found.results] == ["m2"]
    assert "the models of the earlier stop are left out" in caplog.text


def test_a_stop_recommends_the_lowest_error_and_the_end_the_simplest_that_is_as_good() -> None:
    found = identify(
        replace(REQUEST, models=("m1", "m2"), command_path=(), command_path_if_better=False, trials=16), late_runs()
    )
    m1, m2 = found.results
    held_out = {run: 0.999 * error for run, error in m1.held_out.items()}
    better = replace(m2, validation_mae=0.999 * (m1.validation_mae or 0.0), held_out=held_out)
    ended = replace(found, results=(m1, better))
    stopped = replace(ended, stopped=True)
    assert (ended.recommended, stopped.recommended) == (m1, better)
    assert stopped.choice.startswith("M2 is recommended: lowest validation error")
    assert "M1 is simpler and within" in stopped.choice


@pytest.mark.exhaustive("the example with every model and the usual command path, stopped at random times")
@pytest.mark.parametrize(("seed", "validation"), [(0, "25%"), (1, "25%"), (2, "25%"), (0, "none")])
def test_no_error_of_the_example_rises_over_stops(seed: int, validation: str, tmp_path: Path) -> None:
    session = Session.open(example_session(tmp_path))
    recordings = session.load_for_fit([run.id for run in session.runs()])
    request = IdentificationRequest(
        servo="xl330",
        command_path=COMMAND_PATH_TERMS,
        command_path_if_better=True,
        trials=200,
        seed=seed,
        validation=validation,
    )
    folder = tmp_path / "results" / "one"
    times = np.random.default_rng(seed).integers(1, 12, size=10).tolist()
    seen = assert_no_error_rises(stopped_after(times, recordings, request, folder), folder)
    assert len(seen) > 5, "the identification ended too early to show anything"
