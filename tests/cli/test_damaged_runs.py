"""A damaged run is never left out in silence: every command says it, and ends with a status of its own."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from bench_gui.cli import DAMAGED, main
from bench_gui.headless.examples import example_session
from core.fleet.store import FleetStore
from sessions import Annotation, Session

RUN = "0003_sin_sin_kp100"
SENTENCE = "1 of 8 runs cannot be read and is left out: "
QUICK = ("--models", "m1", "--trials", "32", "--threads", "1")
FIT = (*QUICK, "--no-command-path", "--validation", "none")
MODEL = ("--model", "xl330:m4")


def flip(file: Path) -> None:
    """Change one byte of a file; size and time of modification stay, as on a disk that decays."""
    status = file.stat()
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))


def damaged_example(folder: Path) -> Path:
    """Return the example session with one byte of a run flipped after the runs were listed."""
    place = example_session(folder)
    assert len(Session.open(place).runs()) == 8
    flip(place / "runs" / f"{RUN}.h5")
    return place


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return damaged_example(tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="module")
def result(place: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results") / "result"
    assert main(["identify", str(place), *FIT, "-o", str(folder), "--quiet"]) == DAMAGED
    return folder


def bench(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    capsys.readouterr()
    code = main([str(argument) for argument in arguments])
    return (code, *capsys.readouterr())


def says(place: Path, err: str) -> bool:
    return SENTENCE in err and f"{place / 'runs' / RUN}.h5: the file is damaged" in err


@pytest.mark.parametrize(
    "command",
    [
        ("evaluate", *MODEL),
        ("coverage",),
        ("simulate", *MODEL, "-o", "out.npz"),
        ("next", *MODEL, "--count", "1"),
        ("identify", *FIT, "-o", "fitted"),
        ("crossvalidate", *QUICK, "--by", "kp", "--command-path", "off"),
    ],
    ids=lambda command: command[0],
)
def test_a_command_on_all_runs_works_with_the_readable_ones(capsys, tmp_path, monkeypatch, place, command) -> None:
    monkeypatch.chdir(tmp_path)
    name, *options = command
    code, out, err = bench(capsys, name, place, *options, "--json")
    assert code == DAMAGED
    assert says(place, err)
    found = json.loads(out)
    selection = (found[0] if isinstance(found, list) else found)["selection"]
    assert SENTENCE in selection["damage"]
    assert len(selection["runs"]) == 7


def test_a_run_that_is_named_and_damaged_is_an_error(capsys, place) -> None:
    code, out, err = bench(capsys, "evaluate", place, *MODEL, "--runs", f"0001_lift_and_drop_kp100,{RUN}")
    assert (code, out) == (1, "")
    assert f"{RUN}.h5: the file is damaged" in err


def test_runs_that_were_not_asked_for_make_no_damage(capsys, place) -> None:
    code, out, err = bench(capsys, "evaluate", place, *MODEL, "--runs", "0001_lift_and_drop_kp100", "--json")
    assert code == 0
    assert SENTENCE not in err
    selection = json.loads(out)["selection"]
    assert (selection["damage"], selection["left_out"], selection["not_chosen"]) == ("", [], 7)


def test_a_person_may_exclude_a_damaged_run(capsys, tmp_path) -> None:
    place = damaged_example(tmp_path)
    Session.open(place).annotate(RUN, Annotation(excluded=True, reason="lost"))
    code, _, err = bench(capsys, "evaluate", place, *MODEL)
    assert code == 0
    assert "7 of 8 runs: 0003 excluded (lost)" in err


def test_the_list_of_runs_says_it(capsys, tmp_path) -> None:
    place = damaged_example(tmp_path)
    assert bench(capsys, "evaluate", place, *MODEL)[0] == DAMAGED
    code, _, err = bench(capsys, "runs", place)
    assert code == DAMAGED
    assert says(place, err)


def test_results_say_what_they_were_made_without(capsys, tmp_path, monkeypatch, place, result) -> None:
    monkeypatch.setattr("bench_gui.headless.report.page.as_svg", lambda figure: "")
    monkeypatch.setattr("bench_gui.headless.report.examined.AUDIT_MOST", 0.0)
    page = tmp_path / "report.html"
    code, _, err = bench(capsys, "report", place, result, "-o", page)
    assert code == DAMAGED
    assert says(place, err)
    assert SENTENCE in page.read_text()
    code, out, err = bench(
        capsys, "certainty", place, "--result", result, "--bootstrap", "0", "--profile", "kt", "--json"
    )
    assert code == DAMAGED
    assert says(place, err)
    assert any(SENTENCE in note for note in json.loads(out)["notes"])


@pytest.mark.parametrize("command", ["report", "certainty", "identify"])
def test_a_run_of_a_result_that_became_damaged_is_not_called_gone(capsys, tmp_path, command) -> None:
    place = example_session(tmp_path)
    folder = tmp_path / "result"
    assert main(["identify", str(place), *FIT, "-o", str(folder), "--quiet"]) == 0
    flip(place / "runs" / f"{RUN}.h5")
    options = {
        "report": (place, folder),
        "certainty": (place, "--result", folder, "--bootstrap", "0", "--profile", "kt"),
        "identify": (place, *FIT, "-o", folder, "--resume"),
    }
    code, _, err = bench(capsys, command, *options[command])
    assert code == 1
    assert f"{RUN}.h5: the file is damaged" in err
    assert "gone" not in err


@pytest.mark.parametrize("target", ["csv", "bam", "h5"])
def test_an_export_holds_the_readable_runs(capsys, tmp_path, place, target) -> None:
    code, out, err = bench(capsys, "export", place, "--to", target, "-o", tmp_path / "out", "--json")
    assert code == DAMAGED
    assert says(place, err)
    assert SENTENCE in json.loads(out)["damage"]
    again = tmp_path / "again"
    assert bench(capsys, "import", tmp_path / "out", "-o", again)[0] == 0
    assert len(Session.open(again).runs()) == 7


def test_an_import_of_a_session_takes_the_readable_runs(capsys, tmp_path, place) -> None:
    code, out, err = bench(capsys, "import", place, "-o", tmp_path / "new", "--json")
    assert code == DAMAGED
    assert says(place, err)
    assert len(json.loads(out)["runs"]) == 7


def test_a_session_without_a_readable_run_is_an_error(capsys, tmp_path) -> None:
    place = damaged_example(tmp_path)
    for file in (place / "runs").glob("*.h5"):
        if RUN not in file.name:
            file.unlink()
    for command in (("evaluate", place, *MODEL), ("next", place, *MODEL), ("import", place, "-o", tmp_path / "new")):
        code, _, err = bench(capsys, *command)
        assert code == 1
        assert "damaged" in err
    assert not (tmp_path / "new").exists()


def test_a_fleet_says_which_units_lack_a_run(capsys, tmp_path, place) -> None:
    folder = tmp_path / "fleet"
    options = ("--models", "m1", "--trials", "32", "--workers", "1", "--validation", "none", "-o", folder)
    code, out, err = bench(capsys, "fleet", place, *options, "--json", "--quiet")
    assert code == DAMAGED
    assert says(place, err)
    assert SENTENCE in json.loads(out)["units"][0]["selection"]["damage"]
    code, _, err = bench(capsys, "fleet", "-o", folder)
    assert code == DAMAGED
    assert says(place, err)
    [unit] = FleetStore(folder).read_plan().units
    model = json.loads((folder / "units" / unit.name / "m1.json").read_text())
    assert SENTENCE in model["provenance"]["selection"]["damage"]


def test_a_fleet_is_not_computed_without_one_of_its_sessions(capsys, tmp_path, place) -> None:
    lost = damaged_example(tmp_path)
    for file in (lost / "runs").glob("*.h5"):
        if RUN not in file.name:
            file.unlink()
    code, _, err = bench(capsys, "fleet", place, lost, "--models", "m1", "-o", tmp_path / "fleet")
    assert code == 1
    assert f"{RUN}.h5: the file is damaged" in err


def test_help_documents_the_status(capsys) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    assert f"{DAMAGED} done without damaged runs" in " ".join(capsys.readouterr().out.split())
