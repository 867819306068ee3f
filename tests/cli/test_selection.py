"""Every result counts the runs it leaves out and names them; equal runs are never split."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench_gui.cli import DAMAGED, main
from core.base.sealed import parse_sealed
from sessions import Annotation, Session, selection_text
from sessions.folders import example_session
from sessions.results.identification import load_identification

SENTENCE = "6 of 9 runs: 0003 damaged, 0004 excluded (slipped), 0007 not chosen; 0009 repeats 0002 byte for byte"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example with one run damaged, one excluded, and 0002 once more as 0009."""
    path = example_session(tmp_path_factory.mktemp("home"))
    session = Session.open(path)
    session.annotate("0004_sin_sin_kp400", Annotation(excluded=True, reason="slipped"))
    session.annotate("0007_up_and_down_kp100", Annotation(note="not of interest"))
    for run in session.runs():
        if run.id != "0007_up_and_down_kp100":
            note = session.annotations().get(run.id, Annotation())
            session.annotate(run.id, Annotation(excluded=note.excluded, reason=note.reason, tags=("used",)))
    copy = session.add(session.load("0002_lift_and_drop_kp400"))
    session.annotate(copy, Annotation(tags=("used",)))
    damaged = path / "runs" / "0003_sin_sin_kp100.h5"
    damaged.write_bytes(damaged.read_bytes()[:3000])
    return path


@pytest.fixture(scope="module")
def result(place: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results") / "result"
    options = ("--tag", "used", *QUICK, "--no-command-path", "--validation", "40%", "-o", str(folder))
    assert main(["identify", str(place), *options]) == DAMAGED
    return folder


@pytest.fixture
def plain(monkeypatch):
    """Reports without pictures and audit, which say nothing of runs left out."""
    monkeypatch.setattr("bench_gui.headless.report.page.as_svg", lambda figure: "")
    monkeypatch.setattr("core.identification.diagnosis.AUDIT_MOST", 0.0)


QUICK = ("--models", "m1", "--trials", "32", "--threads", "1")
MODEL = ("--model", "xl330:m4")


@pytest.mark.parametrize("command", [("evaluate", *MODEL), ("coverage",), ("simulate", *MODEL, "-o", "out.npz")])
def test_people_and_scripts_read_which_runs_were_used(bench, tmp_path, monkeypatch, place, command) -> None:
    monkeypatch.chdir(tmp_path)
    name, *options = command
    said = bench(name, place, *options, "--tag", "used", code=DAMAGED)
    assert SENTENCE in said.err
    assert SENTENCE not in said.out
    selection = bench(name, place, *options, "--tag", "used", "--json", code=DAMAGED).data["selection"]
    assert SENTENCE in selection["text"]
    assert "1 of 9 runs cannot be read and is left out: " in selection["damage"]
    assert [run[:4] for run in selection["runs"]] == ["0001", "0002", "0005", "0006", "0008", "0009"]
    assert [(out["run"][:4], out["why"]) for out in selection["left_out"]] == [
        ("0003", "damaged"),
        ("0004", "excluded"),
    ]
    assert "truncated" in selection["left_out"][0]["reason"]
    assert [[run[:4] for run in runs] for runs in selection["equal"]] == [["0002", "0009"]]


def test_a_session_without_anything_to_say_says_nothing(bench, example) -> None:
    assert bench("evaluate", example, *MODEL).err == ""
    selection = bench("evaluate", example, *MODEL, "--json").data["selection"]
    assert (selection["text"], selection["left_out"], selection["equal"]) == ("all 8 runs", [], [])


def test_an_identification_keeps_it_with_every_model_and_in_the_report(bench, tmp_path, place, result, plain) -> None:
    rows = json.loads((result / "result.json").read_text())
    assert [SENTENCE in selection_text(row) for row in rows] == [True]
    found = load_identification(result)
    assert SENTENCE in selection_text(found.recommended.model.provenance)
    copies = {"0002_lift_and_drop_kp400", "0009_lift_and_drop_kp400"}
    assert copies <= set(found.split.train) or copies <= set(found.split.validation)
    page = tmp_path / "report.html"
    assert SENTENCE in bench("report", place, result, "-o", page, code=DAMAGED).err
    assert SENTENCE in page.read_text()
    asked = ("--result", result, "--bootstrap", "0", "--profile", "kt", "--json")
    assert SENTENCE in bench("certainty", place, *asked, code=DAMAGED).data["notes"][0]


def test_a_result_without_it_is_read_as_before(bench, tmp_path, place, result, plain) -> None:
    for file in result.iterdir():
        if file.suffix == ".json":
            (tmp_path / file.name).write_text(json.dumps(_without(parse_sealed(file.read_text()), "selection")))
    found = load_identification(tmp_path)
    assert selection_text(found.recommended.model.provenance) == ""
    assert bench("report", place, tmp_path).err == ""


def test_a_crossvalidation_keeps_it_and_holds_equal_runs_out_together(bench, tmp_path, place) -> None:
    common = ("crossvalidate", place, "--tag", "used", "--by", "kp", *QUICK, "--command-path", "off")
    said = bench(*common, "--json", "-o", tmp_path, code=DAMAGED)
    assert SENTENCE in said.err
    assert SENTENCE in selection_text(said.data)
    assert said.data == parse_sealed((tmp_path / "crossvalidation.json").read_text())
    for fold in said.data["folds"]:
        assert len({run in fold["held_out"] for run in ("0002_lift_and_drop_kp400", "0009_lift_and_drop_kp400")}) == 1


def _without(data: object, name: str) -> object:
    if isinstance(data, dict):
        return {key: _without(value, name) for key, value in data.items() if key != name}
    return [_without(value, name) for value in data] if isinstance(data, list) else data
