"""One changed digit in a file: what a command says, and with which status it ends."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from core.identification.cautions import cautions
from core.identification.request import IdentificationRequest
from core.identification.result import Identification, Repeat
from core.servo.model import ServoModel
from core.servo.shipped import load_model
from sessions import Annotation, Session
from sessions.folders import example_session
from sessions.results.folder import FOLDER, RESULT
from sessions.results.identification import load_identification, save_identification
from tests.core.fleet.specimens import unit

RUN = "0001_lift_and_drop_kp100"


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """The example with a trimmed run and one result, whose fit is given."""
    session = example_session(tmp_path_factory.mktemp("home"))
    Session.open(session).annotate(RUN, Annotation(trim_begin=0.5, trim_end=2.5))
    given = unit("one")
    facts = {"split": "none", "train": [RUN], "validation": [], "seed": 0, "metric": "mae", "supply": "logged"}
    result = given.results["m1"]
    model = ServoModel.from_json({**result.model.to_json(), "provenance": {**facts, "data_hash": ""}})
    repeat = Repeat(0, result.train_mae, None, None, 1, model.parameters)
    fitted = replace(result, model=model, repeats=(repeat,))
    asked = IdentificationRequest(servo="mx106", models=("m1",), validation="none")
    save_identification(
        Identification(asked, given.split, (fitted,), stopped=False), session / FOLDER / "2026-01-01T00-00-00"
    )
    return session


@pytest.fixture
def session(made, tmp_path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "lab"))


def change(file: Path, old: str, new: str) -> None:
    text = file.read_text("utf-8")
    assert old in text
    file.write_text(text.replace(old, new, 1), "utf-8")


def test_a_trim_edited_by_hand_is_used_with_a_warning(session, bench, caplog):
    before = Session.open(session).data_hash()
    change(session / "annotations.json", "2.5", "2.7")
    bench("evaluate", session, "--model", "xl330:m1", "--runs", RUN, "--json")
    assert f"{session / 'annotations.json'}: edited by hand, or damaged" in caplog.text
    assert Session.open(session).data_hash() != before


def test_a_damaged_result_ends_a_command_in_one_line(session, fails):
    file = session / FOLDER / "2026-01-01T00-00-00" / RESULT
    assert load_identification(file.parent).results[0].train_mae == 0.003
    change(file, '"train_mae": 0.003', '"train_mae": 0.002')
    said = fails("report", session, "-o", session / "report.html")
    assert str(file.parent) in said
    assert "differ from those that were written" in said


def test_an_edited_model_is_named_in_json_and_words(tmp_path, made, bench, caplog):
    file = tmp_path / "mine.json"
    model = load_model("xl330", "m1")
    file.write_text(model.to_json_text(), "utf-8")
    words = ["evaluate", made, "--model", file, "--runs", RUN, "--json"]
    assert "edited" not in bench(*words).data["warning"]
    assert not caplog.records
    change(file, repr(model.values["kt"]), "0.25")
    assert "the model was edited by hand, or damaged" in bench(*words).data["warning"]
    assert str(file) in caplog.text


def test_the_report_warns_of_an_edited_model(session, caplog):
    folder = session / FOLDER / "2026-01-01T00-00-00"
    assert "edited" not in {finding.kind for finding in cautions(load_identification(folder))}
    change(folder / "m1.json", '"lower": 0.0', '"lower": 0.001')
    assert "edited" in {finding.kind for finding in cautions(load_identification(folder))}
    assert str(folder / "m1.json") in caplog.text


def test_a_damaged_index_is_made_again(session):
    runs = Session.open(session).runs()
    change(session / "index.json", '"kp": 100', '"kp": 900')
    assert Session.open(session).runs() == runs
