"""`bench certainty`: a table for people, JSON for machines, kept beside the models and shown in the report."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from bench_gui.cli import main
from core.base.errors import IdentificationError
from core.base.sealed import parse_sealed
from sessions.results.certifying import CertaintyQuestion, read_certainty, run_certainty
from sessions.results.identification import load_identification

RUNS = ("0002_lift_and_drop_kp400", "0003_sin_sin_kp100", "0008_up_and_down_kp400")


@pytest.fixture(scope="module")
def identified(example, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """M1 and M2 of three runs."""
    folder = tmp_path_factory.mktemp("identified")
    words = ["--models", "m1,m2", "--runs", ",".join(RUNS), "--trials", "100", "--validation", "none", "--threads", "1",
             "--no-command-path"]  # fmt: skip
    assert main(["identify", str(example), *words, "--quiet", "-o", str(folder)]) == 0
    return folder


@pytest.fixture
def result(identified, tmp_path) -> Path:
    return Path(shutil.copytree(identified, tmp_path / "result"))


def test_everything_for_a_person_and_for_machines(bench, example, result) -> None:
    common = ["certainty", example, "--result", result, "--friction-model", "M1", "--bootstrap", "2", "--threads", "1"]
    text = bench(*common, "--profile", "q_offset").out
    for words in ("± 95 %", "profile 95 %", "bootstrap, 2 draws", "q_offset", "remarks", "certainty.json"):
        assert words in text
    data = bench(*common, "--profile", "q_offset", "--json").data
    assert parse_sealed((result / "certainty.json").read_text()) == data
    model = load_identification(result).results[0].model
    kept = read_certainty(result, model)
    profiled = {p.name for p in kept.parameters if p.profile is not None}
    assert (kept.friction, profiled, kept.draws, kept.stopped) == ("m1", {"q_offset"}, 2, False)
    assert kept.runs == RUNS
    assert all(p.spread is not None for p in kept.parameters)
    offset = next(p for p in kept.parameters if p.name == "q_offset")
    assert offset.profile is not None
    assert offset.profile.text in text
    assert "stopped" not in text


def test_what_is_of_another_model_is_not_taken_for_it(bench, example, result) -> None:
    first, second = load_identification(result).results
    common = ["certainty", example, "--result", result, "--profile", "q_offset", "--bootstrap", "0", "--threads", "1"]
    bench(*common, "--friction-model", "m1")
    assert read_certainty(result, first.model).friction == "m1"
    with pytest.raises(IdentificationError, match=r"certainty\.json belongs to another M1 or to another fit"):
        read_certainty(result, second.model)
    moved = first.model.parameters.with_values({"kt": 1.01 * first.model.values["kt"]})
    with pytest.raises(IdentificationError, match="to another fit"):
        read_certainty(result, first.model.with_parameters(moved))


def test_a_stop_keeps_what_is_complete(example, result) -> None:
    asked: list[bool] = []

    def later() -> bool:
        asked.append(True)
        return len(asked) > 16

    question = CertaintyQuestion(session=example, folder=result, friction="m1", profiled=("all",), draws=3, threads=1)
    made = run_certainty(question, should_stop=later)
    profiled = [p for p in made.parameters if p.profile is not None]
    assert 0 < len(profiled) < len(made.parameters)
    assert made.stopped
    assert made.draws == 0
    with pytest.raises(IdentificationError, match="nothing was kept"):
        run_certainty(question, should_stop=lambda: True)
    assert json.loads((result / "certainty.json").read_text())["stopped"]


def test_what_cannot_be_is_one_clear_line(fails, capsys, example, result) -> None:
    common = ["certainty", example, "--result", result]
    assert "M6 was not identified there; choose one of M1, M2" in fails(*common, "--friction-model", "m6")
    assert "no parameter 'colour'" in fails(*common, "--profile", "colour")
    assert "no identification found" in fails("certainty", example)
    assert "no result of an identification" in fails("certainty", example, "--result", "nowhere")
    with pytest.raises(SystemExit, match="2"):
        main([*map(str, common), "--bootstrap", "1"])
    assert "give at least 2, or 0 for none" in capsys.readouterr().err
    assert not (result / "certainty.json").exists()


def test_runs_that_have_changed_are_told(bench, fails, example, result, tmp_path) -> None:
    copy = Path(shutil.copytree(example, tmp_path / "copy"))
    common = ["--result", result, "--bootstrap", "0", "--threads", "1"]
    common += ["--friction-model", "m1", "--profile", "q_offset"]
    bench("annotate", copy, RUNS[0], "--trim", "0.5:")
    assert "the runs have changed since the fit" in bench("certainty", copy, *common).out
    (copy / "runs" / f"{RUNS[1]}.h5").unlink()
    assert f"run {RUNS[1]} is gone" in fails("certainty", copy, *common)


def test_a_damaged_file_is_told(result) -> None:
    model = load_identification(result).results[0].model
    with pytest.raises(IdentificationError, match=r"there is no certainty\.json beside"):
        read_certainty(result, model)
    for broken in ("{", "[]", '{"servo": 1}'):
        (result / "certainty.json").write_text(broken)
        with pytest.raises(IdentificationError, match="cannot be read"):
            read_certainty(result, model)
