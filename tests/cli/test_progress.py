"""Progress of a command: a bar on a terminal, one line a minute elsewhere, and announcements of compilations."""

from __future__ import annotations

import io

import pytest

from bench_gui.cli import main
from bench_gui.cli.terminal import ProgressBar
from core.base.announcements import announce


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def thirteen_minutes(quiet: bool = False) -> None:
    """Two shares a second at a steady pace, the text of a search."""
    now = [0.0]
    bar = ProgressBar(quiet, clock=lambda: now[0])
    for step in range(2 * 780):
        now[0] = step / 2.0
        bar.show(now[0] / 780.0, "M6 25.60 mrad")
    bar.clear()


def test_without_a_terminal_there_is_one_line_a_minute(capsys: pytest.CaptureFixture[str]) -> None:
    thirteen_minutes()
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 12
    assert (lines[0], lines[11]) == (
        "8 % about 12 min left: M6 25.60 mrad",
        "92 % about 60 s left: M6 25.60 mrad",
    )


def test_what_was_done_before_is_no_basis_for_the_time_left(capsys: pytest.CaptureFixture[str]) -> None:
    now = [0.0]
    bar = ProgressBar(clock=lambda: now[0])
    bar.show(0.5, "M6", recorded=True)
    now[0] = 60.0
    bar.show(0.6, "M6")
    assert capsys.readouterr().err == "60 % about 4 min left: M6\n"


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
    announce("compiling the kernels (once)")
    assert capsys.readouterr().err == "compiling the kernels (once)\n"
    monkeypatch.setattr("sys.stderr", terminal := Terminal())
    bar = ProgressBar()
    bar.show(0.4, "M1")
    announce("compiling the kernels (once)")
    assert terminal.getvalue().endswith("40 % compiling the kernels (once)")


@pytest.mark.parametrize(("options", "shown"), [([], "compiling\n"), (["--json"], "")])
def test_every_command_shows_announcements_and_none_outlives_it(
    options: list[str], shown: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bench_gui.cli.commands.models.run", lambda _: announce("compiling"))
    assert main(["models", *options]) == 0
    announce("later")
    assert capsys.readouterr().err == shown
