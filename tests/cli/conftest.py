"""Parts that tests of commands share: commands that run in this process, and the example session."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from bench_gui.cli import main
from sessions.folders import example_session


class Said(NamedTuple):
    """The text that a command printed."""

    out: str
    err: str

    @property
    def data(self) -> Any:
        """Its output for machines."""
        return json.loads(self.out)


@pytest.fixture
def bench(capsys):
    """Runs a command that ends with this exit code and returns what it printed."""

    def run(*words: object, code: int = 0) -> Said:
        capsys.readouterr()
        ended = main([str(word) for word in words])
        said = Said(*capsys.readouterr())
        assert ended == code, said.err
        return said

    return run


@pytest.fixture
def fails(bench):
    """Runs a command that must fail, and returns the one line that it prints, on standard error."""

    def run(*words: object, code: int = 1) -> str:
        out, err = bench(*words, code=code)
        lines = [line for line in err.splitlines() if not line.startswith("note: ")]
        assert out == ""
        assert len(lines) == 1, err
        assert lines[0].startswith("bench: ")
        return lines[0]

    return run


@pytest.fixture(scope="session")
def example(tmp_path_factory) -> Path:
    """The example session, which no test changes."""
    return example_session(tmp_path_factory.mktemp("example"))


@pytest.fixture
def lab(tmp_path) -> Path:
    """An example session of one's own."""
    return example_session(tmp_path / "my home")
