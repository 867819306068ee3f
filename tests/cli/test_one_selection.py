"""The window's Compare and `bench evaluate` judge the same runs of a session, with the same mean."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QCoreApplication

from bench_gui.compare.comparison import Comparison
from bench_gui.state.library import Library
from bench_gui.state.models import CATALOGUE, ModelList
from sessions import Annotation, Session
from sessions.folders import example_session

RUNS = ("0001_lift_and_drop_kp100", "0002_lift_and_drop_kp400")


class Now:
    """Does at once what the window does in threads and in its compute process."""

    closed = False

    def submit(self, lane, work, *arguments, done=lambda result: None, failed=None):
        done(work(*arguments))

    def call(self, task, *arguments):
        return task(*arguments)


@pytest.fixture(scope="module")
def session(tmp_path_factory) -> Path:
    """Two complete runs of the example, one excluded, one aborted half-way and one simulated."""
    place = tmp_path_factory.mktemp("lab") / "session"
    example = Session.open(example_session(tmp_path_factory.mktemp("home")))
    session = Session.create(place)
    first, second = (example.load(run) for run in RUNS)
    session.add_all([first, second])
    session.annotate(session.add(example.load("0003_sin_sin_kp100")), Annotation(excluded=True))
    session.add(replace(first, channels={n: v[:300] for n, v in first.channels.items()}), "abort")
    with pytest.MonkeyPatch.context() as patch:  # as earlier versions did
        patch.setattr("sessions.store.require_one_kind", lambda *_: None)
        session.add(replace(second, provenance={**second.provenance, "servo_address": "simulated:xl330"}))
    return place


def judged_by_the_window(path: Path) -> tuple[dict[str, float], str]:
    """Errors of the shipped M1 on what Compare shows without a selection [rad], and what it says of the others."""
    QCoreApplication.instance() or QCoreApplication([])
    now, model_list = Now(), ModelList()
    library = Library(now)
    model_list.set_servo("xl330")
    comparison = Comparison(library, model_list, now, now)
    library.open(path)
    comparison.choose((f"{CATALOGUE}:xl330:m1",))
    comparison.judge()
    (entry,) = comparison.entries
    return dict(comparison.book.of(entry)), library.selection(comparison.runs).brief


def test_window_and_command_average_the_same_runs(session, bench):
    errors, brief = judged_by_the_window(session)
    said = bench("evaluate", session, "--model", "xl330:m1", "--json").data
    assert {run["id"]: run["mae"] for run in said["runs"]} == pytest.approx(errors)
    assert said["mean_mae"] == pytest.approx(np.mean(list(errors.values())))
    assert brief == said["selection"]["brief"] == "2 of 5 runs (1 excluded, 1 not complete, 1 simulated)"
    assert "2 of 5 runs" in bench("evaluate", session, "--model", "xl330:m1").out


def test_simulated_runs_are_used_where_they_are_named(session, bench):
    made = Session.open(session).runs()[-1]
    assert made.simulated
    said = bench("evaluate", session, "--model", "xl330:m1", "--runs", f"0001_lift_and_drop_kp100,{made.id}")
    assert "1 of them simulated" in said.err
