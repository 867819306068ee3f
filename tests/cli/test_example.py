"""The example session by its name, and the README's commands on it."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import pytest

from bench_gui.cli import main
from bench_gui.cli.arguments import session_place
from sessions import Session
from sessions.folders import HOME_VARIABLE
from sessions.results.identification import load_identification

README = Path(__file__).parents[2] / "README.md"


@pytest.fixture(autouse=True)
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home and a working directory of one's own."""
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path / "home"))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path


def readme_commands() -> list[list[str]]:
    """Arguments of the commands under "Try it without hardware"."""
    block = (
        README.read_text("utf-8").partition("Try it without hardware")[2].partition("```sh\n")[2].partition("```")[0]
    )
    return [shlex.split(line, comments=True)[1:] for line in block.splitlines() if line.startswith("bench ")]


@pytest.mark.exhaustive("the README's commands one after the other; each has tests of its own")
def test_the_commands_of_the_readme_run_in_their_order(bench) -> None:
    commands = readme_commands()
    assert [command[0] for command in commands] == ["coverage", "identify", "evaluate", "report", "export"]
    commands[1] += ["--trials", "40", "--no-polish"]  # a person searches longer, with the same outcome
    for command in commands:
        bench(*command)
    assert Path("result/report.html").stat().st_size > 10_000
    assert Path("out/README.md").exists()


def test_the_name_is_a_copy_that_stays_and_a_folder_of_that_name_comes_first(capsys, person) -> None:
    copy = Path(session_place("example"))
    assert copy.parent == person / "home"
    (copy / "mine").touch()
    assert session_place("example") == str(copy)
    assert (copy / "mine").exists()
    assert session_place("lab") == "lab"
    shutil.copytree(copy, "example")
    (Path("example") / "runs" / "0001_lift_and_drop_kp100.h5").unlink()
    assert session_place("example") == "example"
    assert main(["runs", "example"]) == 0
    assert "0001_lift" not in capsys.readouterr().out


def test_a_home_that_cannot_be_written_is_one_clear_line(capsys, person) -> None:
    (person / "home").write_text("a file")
    assert main(["runs", "example"]) == 1
    assert capsys.readouterr().err.count("\n") == 1


def test_the_demo_records_identifies_exports_and_reports(bench, monkeypatch, person) -> None:
    """With a search that is shorter than a person's."""
    from bench_gui.headless import demo

    asked = demo.IdentificationRequest
    monkeypatch.setattr(
        demo, "IdentificationRequest", lambda **facts: asked(**{**facts, "trials": 50, "models": ("m1", "m2")})
    )
    folder = person / "demo"
    outcome = bench("demo", "--fast", "--seed", "3", "-o", folder, "--json").data
    assert {run.kp for run in Session.open(folder / "session").runs()} == {8.0, 16.0}
    found = load_identification(folder / "results")
    assert found.request.seed == 3
    for row, result in zip(outcome["models"], found.results, strict=True):
        assert row["model"] == result.model.friction
        assert row["train_mrad"] == pytest.approx(1e3 * result.train_mae)
        assert row["validation_mrad"] == pytest.approx(1e3 * result.validation_mae)
        assert 0.0 < row["truth_mrad"] < 100.0
    assert outcome["recommended"] == found.recommended.model.friction
    assert "<th>truth</th>" in Path(outcome["report"]).read_text("utf-8")
    assert {path.name for path in (folder / "export").iterdir()} == {"json", "bam", "mujoco", "mujoco-hook"}
    assert all(Path(file).is_file() for file in outcome["files"])
