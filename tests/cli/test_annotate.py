"""Notes, tags, exclusion and trims by the command line, and what the other commands make of them."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from bench_gui.cli import main
from sessions import Session

FIRST, SECOND, THIRD = "0001_lift_and_drop_kp100", "0002_lift_and_drop_kp400", "0003_sin_sin_kp100"
QUICK = ("--models", "m1", "--trials", "12", "--no-polish", "--no-command-path", "--threads", "1")


@pytest.fixture
def session(lab) -> str:
    return str(lab)


def noted(bench, session: str) -> dict[str, dict]:
    return {run["id"]: run["annotation"] for run in bench("runs", session, "--json").data}


def test_every_option_changes_what_it_names_and_nothing_else(bench, session) -> None:
    empty = {"note": "", "tags": [], "excluded": False, "reason": "", "trim_begin": None, "trim_end": None}
    assert noted(bench, session)[FIRST] == empty
    steps = [
        (["--note", "größer"], {"note": "größer"}),
        (["--tag", "a, b"], {"tags": ["a", "b"]}),
        (["--tag", "b,c", "--untag", "a"], {"tags": ["b", "c"]}),
        (["--trim", "0.5:4"], {"trim_begin": 0.5, "trim_end": 4.0}),
        (["--trim", ":4"], {"trim_begin": None, "trim_end": 4.0}),
        (["--trim", "1:"], {"trim_begin": 1.0, "trim_end": None}),
        (["--exclude", "slipped"], {"excluded": True, "reason": "slipped"}),
        (["--exclude"], {"excluded": True, "reason": "slipped"}),
        (["--include", "--no-trim"], {"excluded": False, "reason": "", "trim_begin": None, "trim_end": None}),
        (["--note", ""], {"note": ""}),
        (["--untag", "b,c,d"], {"tags": []}),
    ]
    expected = dict(empty)
    for options, change in steps:
        expected |= change
        answer = bench("annotate", session, FIRST, *options, "--json").data
        assert [(run["id"], run["annotation"]) for run in answer] == [(FIRST, expected)]
        assert noted(bench, session) == {**dict.fromkeys(noted(bench, session), empty), FIRST: expected}
    assert not Path(session, "annotations.json").exists()


def test_several_runs_get_the_same_and_without_an_option_nothing_changes(bench, session) -> None:
    bench("annotate", session, FIRST, SECOND, "--tag", "clamp", "--note", "x" * 100)
    before = Path(session, "annotations.json").read_bytes()
    table = bench("annotate", session, SECOND).out.splitlines()
    assert table[0].split()[-2:] == ["tags", "note"]
    assert SECOND in table[1]
    assert "clamp" in table[1]
    assert table[1].endswith("x…")
    assert len(table) == 2
    assert Path(session, "annotations.json").read_bytes() == before


def test_the_list_shows_what_is_noted_only_where_something_is(bench, session) -> None:
    assert bench("runs", session).out.splitlines()[0].endswith("status")
    bench("annotate", session, FIRST, "--exclude", "slipped\x1b[2J")
    bench("annotate", session, SECOND, "--trim", "0.5:4")
    table = bench("runs", session).out
    assert table.splitlines()[0].endswith("use")
    assert "excluded: slipped\\x1b[2J" in table
    assert "from 0.5 s to 4 s" in table


def test_tags_choose_runs(bench, fails, session, tmp_path) -> None:
    bench("annotate", session, FIRST, "--tag", "clamp")
    bench("annotate", session, SECOND, THIRD, "--tag", "table")
    assert [run["id"] for run in bench("runs", session, "--tag", "clamp,table", "--json").data] == [
        FIRST, SECOND, THIRD
    ]  # fmt: skip
    assert THIRD not in bench("runs", session, "--tag", "clamp").out
    model = ["--model", "xl330:m6"]
    judged = bench("evaluate", session, *model, "--tag", "table", "--runs", f"{FIRST},{THIRD}", "--json").data
    assert [run["id"] for run in judged["runs"]] == [THIRD]
    assert "none of the runs has the tag nothing" in fails("evaluate", session, *model, "--tag", "nothing")
    out = tmp_path / "out.npz"
    assert bench("simulate", session, *model, "--tag", "clamp", "-o", out, "--json").data["runs"] == [FIRST]


def test_excluded_runs_are_left_out_and_naming_one_says_how_to_bring_it_back(bench, fails, session, tmp_path) -> None:
    bench("annotate", session, FIRST, "--exclude", "slipped")
    model = ["--model", "xl330:m6"]
    judged = bench("evaluate", session, *model, "--json").data
    assert len(judged["runs"]) == 7
    assert FIRST not in [run["id"] for run in judged["runs"]]
    for command in (
        ["evaluate", *model],
        ["simulate", *model, "-o", tmp_path / "x"],
        ["identify", "-o", tmp_path / "x"],
    ):
        message = fails(command[0], session, *command[1:], "--runs", f"{SECOND},{FIRST}")
        assert f"{FIRST} is excluded (slipped)" in message
    remedy = shlex.split(message.split("use it: bench ")[1])
    bench(*remedy)
    assert len(bench("evaluate", session, *model, "--runs", FIRST, "--json").data["runs"]) == 1

    bench("annotate", session, *noted(bench, session), "--exclude")
    assert "all finished runs are excluded" in fails("evaluate", session, *model)
    assert not (tmp_path / "x").exists()


def test_commands_see_the_part_a_run_is_trimmed_to(bench, session, tmp_path) -> None:
    model = ["--model", "xl330:m6"]
    whole = bench("evaluate", session, *model, "--json").data["runs"][0]
    bench("annotate", session, FIRST, "--trim", "1:3")
    part = bench("evaluate", session, *model, "--json").data["runs"][0]
    # Irregular recordings are judged on a grid of 5 ms.
    assert (whole["samples"], part["samples"]) == (1200, 400)
    assert part["mae"] != whole["mae"]
    results = {}
    for name, trim in (("trimmed", ["--trim", "1:3"]), ("whole", ["--no-trim"])):
        bench("annotate", session, FIRST, *trim)
        [found] = bench("identify", session, *QUICK, "-o", tmp_path / name, "--json").data
        results[name] = json.loads(Path(found["file"]).read_text())["provenance"]["data_hash"]
    assert results["whole"] == Session.open(session).data_hash()
    assert results["trimmed"] != results["whole"]


def test_what_cannot_be_is_said_in_one_line_and_nothing_is_noted(bench, fails, capsys, session, tmp_path) -> None:
    assert "lasts 5.99809 s" in fails("annotate", session, FIRST, "--trim", "1:60")
    assert "3 s to 1 s leaves nothing" in fails("annotate", session, FIRST, "--trim", "3:1")
    assert "no run 0099_x" in fails("annotate", session, FIRST, "0099_x", "--note", "n")
    assert "no run 0099_x" in fails("annotate", session, "0099_x")
    assert "without commas" in fails("annotate", session, FIRST, "--tag", "x" * 41)
    bench("export", session, "--to", "h5", "-o", tmp_path / "out")
    [exported] = (tmp_path / "out").iterdir()
    assert "read-only" in fails("annotate", exported, FIRST, "--note", "n")
    for options in (["--trim", "3"], ["--trim", ":"], ["--trim", "a:b"], ["--exclude", "x", "--include"]):
        with pytest.raises(SystemExit) as exit_:
            main(["annotate", session, FIRST, *options])
        assert exit_.value.code == 2
        capsys.readouterr()
    assert not Path(session, "annotations.json").exists()


def test_a_damaged_file_of_notes_never_hides_the_runs(bench, fails, session) -> None:
    Path(session, "annotations.json").write_text("{")
    assert FIRST in bench("runs", session).out
    listed = bench("runs", session, "--json")
    assert len(listed.data) == 8
    assert "annotations.json: damaged" in listed.err
    for command in (["runs", session, "--tag", "a"], ["evaluate", session, "--model", "xl330:m6"]):
        assert "annotations.json: damaged" in fails(*command)
    bench("annotate", session, FIRST, "--note", "again")
    assert Path(session, "annotations.json.damaged").read_text() == "{"
    assert "again" in bench("runs", session).out


def test_a_whole_file_carries_the_notes_and_an_import_brings_them(bench, session, tmp_path) -> None:
    bench("annotate", session, SECOND, "--tag", "clamp", "--trim", "1:2")
    bench("export", session, "--to", "h5", "-o", tmp_path / "out")
    [exported] = (tmp_path / "out").iterdir()
    assert noted(bench, exported) == noted(bench, session)
    bench("import", exported, "-o", tmp_path / "again")
    assert noted(bench, tmp_path / "again")[SECOND] == noted(bench, session)[SECOND]
