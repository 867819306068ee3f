"""`bench crossvalidate`: tables for people, JSON for machines, files that are not made twice."""

from __future__ import annotations

import json

from core.base.sealed import parse_sealed
from core.identification.choice.recommendation import VALIDATION
from core.identification.choice.terms import TermCosts
from core.identification.runs.folds import folds
from sessions import Session
from sessions.results import crossvalidating
from sessions.results.folder import CROSSVALIDATION_REQUEST
from sessions.results.identification import load_identification

RUNS = "0001_lift_and_drop_kp100,0002_lift_and_drop_kp400,0003_sin_sin_kp100,0004_sin_sin_kp400"
FEW = ("--runs", RUNS, "--dt", "0.01", "--threads", "1")


def test_everything_for_a_person_and_for_machines(bench, tmp_path, example) -> None:
    result = tmp_path / "result"
    common = ["crossvalidate", example, "--by", "kp,mass", "--models", "m1,m3", "--trials", "32", *FEW]
    text = bench(*common, "--command-path", "both", "--command-path-terms", "command_delay", "-o", result).out
    # What --json prints is that file, see below.
    for words in ("M1 + command path", "kp 100", "kp 400", "the command path", "mass was not held out", "repetitions"):
        assert words in text
    data = json.loads((result / "crossvalidation.json").read_text())
    assert data["chosen"] in text
    assert data["choice"] in text
    assert {v["name"] for v in data["variants"]} == {"M1", "M3", "M1 + command path", "M3 + command path"}
    for fit in data["fits"]:
        assert not set(fit["trained_on"]) & set(fit["errors"])
        assert len(fit["errors"]) == 2
    assert data["skipped"].keys() == {"mass"}


def test_transfer_and_terms_are_made_on_request_and_once(bench, tmp_path, example, monkeypatch) -> None:
    """Asked for again, or not, what is kept of the same searches stays; of others it is made anew."""
    common = [
        "crossvalidate", example, "--by", "kp", "--models", "m1", "--command-path", "on",
        "--command-path-terms", "command_delay", "--most-training-runs", "2", *FEW, "-o", tmp_path / "r",
    ]  # fmt: skip
    text = bench(*common, "--trials", "32", "--transfer", "--term-costs").out
    assert "fitted to \\ on, kp" in text
    assert "delay of the command" in text
    kept = parse_sealed((tmp_path / "r" / "crossvalidation.json").read_text())

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("made again")

    monkeypatch.setattr(crossvalidating, "transfer_table", refuse)
    monkeypatch.setattr(crossvalidating, "term_costs", refuse)
    assert bench(*common, "--trials", "32", "--transfer", "--term-costs", "--json").data == kept
    assert bench(*common, "--trials", "32", "--json").data == kept
    elsewhere = [*common[:-1], tmp_path / "other", "--runs", "0003_sin_sin_kp100,0004_sin_sin_kp400"]
    assert "made again" in bench(*elsewhere, "--trials", "32", "--term-costs", code=1).err


def test_what_other_searches_left_is_not_taken_over(bench, tmp_path, example) -> None:
    common = ["crossvalidate", example, "--by", "kp", "--models", "m1", "--command-path", "off", *FEW, "--json"]
    made = bench(*common, "--trials", "32", "-o", tmp_path).data
    assert made["terms"] is None
    kept = TermCosts(train_mae=0.0123, held_out_mae=None, terms=()).to_json()
    (tmp_path / "crossvalidation.json").write_text(json.dumps({**made, "terms": kept}))
    assert bench(*common, "--trials", "32", "-o", tmp_path).data["terms"] == kept
    asked = json.loads((tmp_path / CROSSVALIDATION_REQUEST).read_text())
    (tmp_path / CROSSVALIDATION_REQUEST).write_text(json.dumps({**asked, "data_hash": "of other runs"}))
    assert bench(*common, "--trials", "32", "-o", tmp_path).data["terms"] is None


def test_what_cannot_be_held_out_is_one_clear_line(fails, example) -> None:
    message = fails("crossvalidate", example, "--by", "mass")
    assert "every run has mass 0.49 kg: record with another mass" in message
    assert "no condition colour" in fails("crossvalidate", example, "--by", "colour")


def test_own_recordings_tell_their_unit(bench, tmp_path) -> None:
    """Two servos recorded into one session, each held out in turn: the recorder kept their serial numbers."""
    for seed in (1, 2):
        bench(
            "record", "--servo", f"simulated:xl330?seed={seed}", "--fast", "--trajectory", "sin_sin",
            "--mass", "0.1", "--length", "0.1", "-o", tmp_path / "pair", "--quiet",
        )  # fmt: skip
    divided = folds(Session.open(tmp_path / "pair").load_all(), ("unit",))
    assert [(fold.value, len(fold.held_out)) for fold in divided.folds] == [("seed 1", 1), ("seed 2", 1)]


def test_a_crossvalidation_decides_between_the_models_identified_beside_it(bench, tmp_path, example) -> None:
    """In the report and in what `bench identify` says; of another folder nothing is known."""
    common = ["--models", "m1,m3", "--trials", "32", *FEW, "--quiet"]
    bench("crossvalidate", example, "--by", "kp", "--command-path", "off", "-o", tmp_path / "r", *common)
    judged = json.loads((tmp_path / "r" / "crossvalidation.json").read_text())["choice"]
    common.append("--no-command-path")
    assert f"By cross-validation {judged}" in bench("identify", example, "-o", tmp_path / "r", *common).out
    assert "By cross-validation" not in bench("identify", example, "-o", tmp_path / "alone", *common).out
    found = load_identification(tmp_path / "r")
    assert found.choice == f"By cross-validation {judged}"
    (tmp_path / "r" / "crossvalidation.json").write_text("{}")
    assert load_identification(tmp_path / "r").recommendation.by == VALIDATION
