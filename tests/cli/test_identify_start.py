"""`bench identify --start`: an earlier unit's model, single values, and what is refused; what the text says of β."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench_gui.cli import main
from bench_gui.headless.examples import example_session
from core.shipped import load_model
from sessions.results.record import read_record

SMALL = ("--models", "m1", "--trials", "16", "--validation", "none", "--no-polish", "--threads", "1")


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(example_session(tmp_path_factory.mktemp("home")))


def identify(session: str, output: Path, *arguments: str) -> int:
    return main(["identify", session, "--runs", RUN, *SMALL, *arguments, "-o", str(output)])


RUN = "0003_sin_sin_kp100"


def test_a_model_and_single_values(capsys, tmp_path, session) -> None:
    """Later ones count; the start is on record, and one of another model is lifted."""
    known = load_model("xl330", "m6")
    file = tmp_path / "unit=1.json"
    file.write_text(known.to_json_text())
    assert identify(session, tmp_path / "r", "--start", str(file), "--start", "R=3.5", "--json") == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row["evidence"]["parameters"][1]["initial"] == 3.5
    start = dict(read_record(tmp_path / "r").request.start)
    assert start == {**known.values, "R": 3.5}
    initial = {p["name"]: p["initial"] for p in row["evidence"]["parameters"]}
    assert initial["friction_base"] == known.values["friction_base"]


def test_a_shipped_model(capsys, tmp_path, session) -> None:
    assert (
        identify(session, tmp_path / "r", "--start", "xl330:m1", "--command-path-terms", "release_braking", "--all")
        == 0
    )
    assert "torque off: not determined: record a torque-off phase" in capsys.readouterr().out
    assert dict(read_record(tmp_path / "r").request.start) == load_model("xl330", "m1").values


@pytest.mark.parametrize(
    ("start", "message"),
    [
        ("mx106:m1", "a model of mx106, the recordings are of xl330; give one of the same servo"),
        ("gamma=1", "no parameter 'gamma'"),
        ("R=many", "expected NAME=NUMBER, or a model"),
        ("nowhere.json", "cannot be read"),
    ],
)
def test_a_start_that_cannot_be_leaves_no_folder(capsys, tmp_path, session, start, message) -> None:
    assert identify(session, tmp_path / "r", "--start", start) == 1
    assert message in capsys.readouterr().err
    assert not (tmp_path / "r").exists()


def test_without_the_term_the_text_says_what_is_assumed(capsys, tmp_path, session) -> None:
    assert identify(session, tmp_path / "r", "--all") == 0
    assert "torque off: assumed open (β = 0)" in capsys.readouterr().out
