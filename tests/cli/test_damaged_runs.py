"""A damaged run is never left out in silence: every command says it, and ends with a status of its own."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from bench_gui.cli import DAMAGED, main
from core.fleet.store import FleetStore
from sessions import Annotation, Session
from sessions.folders import example_session

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


def says(place: Path, err: str) -> bool:
    return SENTENCE in err and f"{place / 'runs' / RUN}.h5: the file is damaged" in err


@pytest.mark.parametrize(
    "command",
    [
        ("next", *MODEL, "--count", "1"),
        ("identify", *FIT, "-o", "fitted"),
    ],
    ids=lambda command: command[0],
)
def test_a_command_on_all_runs_works_with_the_readable_ones(bench, tmp_path, monkeypatch, place, command) -> None:
    monkeypatch.chdir(tmp_path)
    name, *options = command
    said = bench(name, place, *options, "--json", code=DAMAGED)
    assert says(place, said.err)
    selection = (said.data[0] if isinstance(said.data, list) else said.data)["selection"]
    assert SENTENCE in selection["damage"]
    assert len(selection["runs"]) == 7


def test_a_run_that_is_named_and_damaged_is_an_error_and_one_that_is_not_is_no_damage(bench, fails, place) -> None:
    sound = "0001_lift_and_drop_kp100"
    assert f"{RUN}.h5: the file is damaged" in fails("evaluate", place, *MODEL, "--runs", f"{sound},{RUN}")
    said = bench("evaluate", place, *MODEL, "--runs", sound, "--json")
    assert SENTENCE not in said.err
    selection = said.data["selection"]
    assert (selection["damage"], selection["left_out"], selection["not_chosen"]) == ("", [], 7)


def test_the_list_of_runs_says_it_until_a_person_excludes_the_run(bench, tmp_path) -> None:
    place = damaged_example(tmp_path)
    bench("evaluate", place, *MODEL, code=DAMAGED)
    assert says(place, bench("runs", place, code=DAMAGED).err)
    Session.open(place).annotate(RUN, Annotation(excluded=True, reason="lost"))
    assert "7 of 8 runs: 0003 excluded (lost)" in bench("evaluate", place, *MODEL).err


def test_a_run_of_a_result_that_became_damaged_is_not_called_gone(bench, lab, tmp_path) -> None:
    folder = tmp_path / "result"
    bench("identify", lab, *FIT, "-o", folder, "--quiet")
    flip(lab / "runs" / f"{RUN}.h5")
    for command in (
        ("report", lab, folder),
        ("certainty", lab, "--result", folder, "--bootstrap", "0", "--profile", "kt"),
        ("identify", lab, *FIT, "-o", folder, "--resume"),
    ):
        err = bench(*command, code=1).err
        assert f"{RUN}.h5: the file is damaged" in err
        assert "gone" not in err


@pytest.mark.parametrize("target", ["csv", "bam", "h5"])
def test_an_export_holds_the_readable_runs(bench, tmp_path, place, target) -> None:
    said = bench("export", place, "--to", target, "-o", tmp_path / "out", "--json", code=DAMAGED)
    assert says(place, said.err)
    assert SENTENCE in said.data["damage"]
    again = tmp_path / "again"
    bench("import", tmp_path / "out", "-o", again)
    assert len(Session.open(again).runs()) == 7


def test_an_import_of_a_session_takes_the_readable_runs(bench, tmp_path, place) -> None:
    said = bench("import", place, "-o", tmp_path / "new", "--json", code=DAMAGED)
    assert says(place, said.err)
    assert len(said.data["runs"]) == 7


def test_a_session_without_a_readable_run_is_an_error_alone_and_in_a_fleet(bench, tmp_path, place) -> None:
    lost = damaged_example(tmp_path)
    for file in (lost / "runs").glob("*.h5"):
        if RUN not in file.name:
            file.unlink()
    new = tmp_path / "new"
    for command in (
        ("evaluate", lost, *MODEL),
        ("next", lost, *MODEL),
        ("import", lost, "-o", new),
        ("fleet", place, lost, "--models", "m1", "-o", tmp_path / "fleet"),
    ):
        assert "damaged" in bench(*command, code=1).err
    assert not new.exists()


def test_a_fleet_says_which_units_lack_a_run(bench, tmp_path, place) -> None:
    folder = tmp_path / "fleet"
    options = ("--models", "m1", "--trials", "32", "--workers", "1", "--validation", "none", "-o", folder)
    said = bench("fleet", place, *options, "--json", "--quiet", code=DAMAGED)
    assert says(place, said.err)
    assert SENTENCE in said.data["units"][0]["selection"]["damage"]
    assert says(place, bench("fleet", "-o", folder, code=DAMAGED).err)
    [unit] = FleetStore(folder).read_plan().units
    model = json.loads((folder / "units" / unit.name / "m1.json").read_text())
    assert SENTENCE in model["provenance"]["selection"]["damage"]


def test_help_documents_the_status(capsys) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    assert f"{DAMAGED} done without damaged runs" in " ".join(capsys.readouterr().out.split())
