"""Progress of a command: a bar on a terminal, one line a minute elsewhere, and announcements of compilations."""

from __future__ import annotations

import io

import pytest

from bench_gui.cli import main
from bench_gui.cli.terminal import ProgressBar
from bench_gui.headless.pace import Pace
from core.base.announcements import announce
from core.base.units import about


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def thirteen_minutes(quiet: bool = False) -> None:
    """Two shares a second at a steady pace, the text of a search."""
    now = [0.0]
    with ProgressBar(quiet, clock=lambda: now[0]) as bar:
        for step in range(2 * 780):
            now[0] = step / 2.0
            bar.show(now[0] / 780.0, "M6 25.60 mrad")


def test_without_a_terminal_there_is_one_line_a_minute(capsys: pytest.CaptureFixture[str]) -> None:
    thirteen_minutes()
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 12
    assert (lines[0], lines[11]) == (
        "8 % 60 s of about 13 min: M6 25.60 mrad",
        "92 % 12 min 00 s of about 13 min: M6 25.60 mrad",
    )


def test_what_was_done_before_is_no_basis_for_the_expected_time(capsys: pytest.CaptureFixture[str]) -> None:
    now = [0.0]
    bar = ProgressBar(clock=lambda: now[0])
    bar.show(0.5, "M6", recorded=True)
    now[0] = 60.0
    bar.show(0.6, "M6")
    assert capsys.readouterr().err == "60 % 60 s of about 5 min: M6\n"


def test_a_second_stage_has_its_own_pace() -> None:
    """No estimate before 2 s and 1 %; a share smaller than the last begins another stage."""
    now = [0.0]
    pace = Pace(lambda: now[0])
    said = []
    for now[0], share in ((0.0, 0.0), (1.0, 0.1), (60.0, 0.1), (70.0, 0.0), (270.0, 0.005), (370.0, 0.5)):
        said.append(pace.in_words(share))
    assert said == ["", "", "60 s of about 10 min", "70 s so far", "4 min 30 s so far", "6 min 10 s of about 12 min"]


def test_a_compilation_does_not_make_a_job_look_slow() -> None:
    now = [0.0]
    pace = Pace(lambda: now[0])
    pace.in_words(0.0)
    now[0] = 5.0
    pace.interrupted()
    now[0] = 35.0
    pace.in_words(0.05)
    now[0] = 40.0
    assert pace.in_words(0.1) == "40 s of about 3 min"


def test_no_more_time_is_spent_than_expected() -> None:
    """An estimate is rounded up."""
    now = [0.0]
    pace = Pace(lambda: now[0])
    said = []
    for now[0], share in ((0.0, 0.0), (31.0, 0.99), (141.0, 0.99)):
        said.append(pace.in_words(share))
    assert said == ["", "31 s of about 35 s", "2 min 21 s of about 3 min"]


def test_an_estimate_is_said_no_finer_than_it_is() -> None:
    assert [about(s) for s in (3.0, 42.0, 150.0, 1490.0, 4000.0, 16_549_200.0)] == [
        "a few seconds", "about 45 s", "about 3 min", "about 25 min", "about 1 h 07 min", "about 4597 h",
    ]  # fmt: skip


def test_quiet_is_silent(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for stream in (None, Terminal()):
        if stream is not None:
            monkeypatch.setattr("sys.stderr", stream)
        thirteen_minutes(quiet=True)
        announce("compiling")
        assert (capsys.readouterr().err if stream is None else stream.getvalue()) == ""


def test_announcements_are_shown_with_the_progress(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ProgressBar()
    announce("compiling the simulation, about 30 s, once")
    assert capsys.readouterr().err == "compiling the simulation, about 30 s, once\n"
    monkeypatch.setattr("sys.stderr", terminal := Terminal())
    with ProgressBar() as bar:
        bar.show(0.4, "M1")
        announce("compiling the simulation, about 30 s, once")
        assert terminal.getvalue().endswith("40 % compiling the simulation, about 30 s, once")
    announce("compiling the simulation, about 30 s, once")
    assert terminal.getvalue().endswith("\rcompiling the simulation, about 30 s, once\n")


def test_a_command_that_fails_leaves_nothing_of_the_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", terminal := Terminal())

    def run(_: object) -> None:
        with ProgressBar() as bar:
            bar.show(0.4, "M1")
            raise KeyboardInterrupt

    monkeypatch.setattr("bench_gui.cli.commands.model.models.run", run)
    assert main(["models"]) == 130
    *_, drawn, erased, message = terminal.getvalue().split("\r")
    assert "40 % M1" in drawn
    assert (erased.strip(), message) == ("", "bench: stopped by the user\n")
    assert len(erased) >= len(drawn)


@pytest.mark.parametrize(("options", "shown"), [([], "compiling\n"), (["--json"], "")])
def test_every_command_shows_announcements_and_none_outlives_it(
    options: list[str], shown: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bench_gui.cli.commands.model.models.run", lambda _: announce("compiling"))
    assert main(["models", *options]) == 0
    announce("later")
    assert capsys.readouterr().err == shown
