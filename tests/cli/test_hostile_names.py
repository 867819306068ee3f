"""Names from outside: bytes that are no text, escape sequences and line breaks, and files of newer versions."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path

import h5py
import pytest

from bench_gui.cli import main
from bench_gui.headless.report.of_session import report_of
from bench_gui.settings import Settings
from core.base.sealed import parse_sealed, sealed_text
from core.fleet.plan import UnitFacts
from core.fleet.store import FleetStore
from sessions import Annotation, Session
from sessions.folders import example_session
from sessions.results.identification import load_identification, save_identification

RED = "\x1b[31m"
FIT = ("--models", "m1", "--trials", "32", "--threads", "1", "--no-command-path", "--validation", "none")
MODEL = ("--model", "xl330:m4")


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A session and in it the folder of a fit."""
    place = example_session(tmp_path_factory.mktemp("home"))
    assert main(["identify", str(place), *FIT, "-o", str(place / "fit"), "--quiet"]) == 0
    return place


def test_a_path_that_is_no_text_is_refused_at_once(fails, lab) -> None:
    strange = os.fsdecode(bytes(lab.parent) + b"/r\xff")
    err = fails("identify", lab, *FIT, "-o", strange, code=2)
    assert "r\\udcff" in err
    assert "not valid UTF-8" in err
    assert not os.path.exists(strange)


def test_a_home_whose_path_is_no_text_keeps_results_settings_and_reports(tmp_path, fitted, monkeypatch) -> None:
    monkeypatch.setattr("bench_gui.headless.report.page.as_svg", lambda figure: "")
    monkeypatch.setattr("core.identification.diagnosis.AUDIT_MOST", 0.0)
    home = Path(os.fsdecode(bytes(tmp_path) + b"/h\xff"))
    found = load_identification(fitted / "fit")
    assert len(save_identification(found, home / "fit")) == 2
    again = load_identification(home / "fit")
    assert again.recommended.model == found.recommended.model
    session = Path(shutil.copytree(fitted, home / "lab"))
    assert report_of(session, home / "fit", home / "report.html").exists()
    facts = UnitFacts(name="a", servo="xl330", source=str(session), runs=("0001",), data_hash="")
    FleetStore(home / "fleet").put_problems({"a": facts.source})
    assert FleetStore(home / "fleet").get_problems() == {"a": str(session)}
    monkeypatch.setenv("SERVOBENCH_HOME", str(home))
    settings = Settings()
    settings.set("open_session", str(session))
    settings.save()
    assert Settings().values.open_session == str(session)


def test_a_strange_file_in_a_folder_is_named_visibly(bench, lab) -> None:
    logs = lab.parent / "logs"
    bench("export", lab, "--to", "csv", "-o", logs)
    first, *others = sorted(logs.iterdir())
    for file in others:
        file.unlink()
    shutil.copy(first, logs / f"{RED}a\nb.csv")
    shutil.copy(first, os.path.join(bytes(logs), b"c\xff.csv"))
    out = bench("import", logs, "-o", lab.parent / "new").out
    assert "\x1b" not in out
    assert len(Session.open(lab.parent / "new").runs()) == 1
    assert len(out.splitlines()) == 2
    assert "\\x1b[31ma\\nb.csv" in out


def test_what_a_session_says_cannot_steer_the_terminal(bench, lab) -> None:
    session = Session.open(lab)
    strange = replace(session.load("0001_lift_and_drop_kp100"), trajectory=f"{RED}a\nb")
    session.annotate(session.add(strange), Annotation(note=f"{RED}b\nc"))
    out, err = bench("runs", lab)
    assert "\x1b" not in out + err
    assert "\\x1b[31ma\\nb" in out
    # A table has a line for its headings and one for each run.
    assert len(out.splitlines()) == 10
    said = bench("runs", lab, "--json")
    assert "\x1b" not in said.out
    assert said.data[-1]["trajectory"] == f"{RED}a\nb"


def test_text_of_other_languages_is_printed_as_it_is(bench, lab) -> None:
    Session.open(lab).annotate("0001_lift_and_drop_kp100", Annotation(tags=("größe",)))
    assert "größe" in bench("runs", lab).out


@pytest.mark.parametrize(
    "change",
    [lambda data: data.update(version=99), lambda data: data["request"].update(novel=1)],
    ids=["version", "setting"],
)
def test_the_record_of_a_newer_version_says_so(bench, tmp_path, fitted, change) -> None:
    folder = tmp_path / "fit"
    shutil.copytree(fitted / "fit", folder)
    record = parse_sealed((folder / "identification.json").read_text())
    change(record)
    (folder / "identification.json").write_text(sealed_text(record))
    err = bench("report", fitted, folder, code=1).err
    assert "identification.json" in err
    assert "written by a newer ServoBench" in err
    assert "update ServoBench" in err


def test_a_run_with_a_channel_of_a_newer_version_says_so(bench, lab) -> None:
    file = lab / "runs" / "0001_lift_and_drop_kp100.h5"
    with h5py.File(file, "r+") as run:
        run["channels"].create_dataset("torque", data=run["channels/position"][()])
        run.attrs["sha256"] = "0" * 64
    err = bench("evaluate", lab, *MODEL, "--runs", "0001_lift_and_drop_kp100", code=1).err
    assert "written by a newer ServoBench (channel torque): update ServoBench" in err


def test_a_fleet_of_a_newer_version_is_shown(bench, tmp_path, lab) -> None:
    folder = tmp_path / "fleet"
    bench("fleet", lab, "--models", "m1", "--trials", "32", "--workers", "1", "-o", folder)
    plan = parse_sealed((folder / "fleet.json").read_text())
    plan["units"][0]["novel"] = 1
    (folder / "fleet.json").write_text(sealed_text(plan))
    bench("fleet", "-o", folder)
