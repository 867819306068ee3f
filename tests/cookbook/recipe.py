"""A recipe as a program: the blocks of its page, run in order as a person would, their output held to what it shows.

```sh       commands, which end the recipe if they fail
```python   statements, which share their names with the other blocks of the page
```toml and ```python that begin with "# folder/file" are written into that file
```text     is what the block before it prints, among other lines: words are equal, numbers within a factor of two
            or 0.02 of each other, and "…" stands for anything
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bench_gui.cli import main

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_FILE = re.compile(r"# ([\w/]+\.\w+)\n")
_NUMBER = re.compile(r"(?<![\w.])[-+−]?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?!\w)")
FACTOR, FLOOR = 2.0, 0.02
SHORTER = re.compile(r"\btrials([ =])400\b")
"""A person searches longer, with the same outcome."""
_END = "=== end of block"


@dataclass(frozen=True)
class Block:
    """One fenced block of a page."""

    language: str
    text: str

    @property
    def file(self) -> str:
        """Where it is written; empty for one that runs."""
        found = _FILE.match(self.text) if self.language in ("toml", "python") else None
        return found[1] if found else ""


def blocks(page: Path) -> list[Block]:
    """All fenced blocks of a page to follow, in order; those of "console" name what only a reader has."""
    found = [Block(*found) for found in _BLOCK.findall(SHORTER.sub(r"trials\g<1>40", page.read_text("utf-8")))]
    return [block for block in found if block.language != "console"]


def follow(page: Path) -> None:
    """Do what a page says, in the working folder and in this process.

    Raises AssertionError with what was printed when a block fails or prints something else.
    """
    names = {"__name__": "recipe"}
    printed = ""
    for block in blocks(page):
        if block.language == "text":
            hold_to(printed, block.text)
            continue
        with contextlib.redirect_stdout(io.StringIO()) as out:
            if block.language == "python":
                exec(compile(block.text, page.name, "exec"), names)
            else:
                _run_commands(block.text)
        printed = out.getvalue()


def _run_commands(text: str) -> None:
    """Commands of `bench` run in this process, everything else in a shell."""
    lines = text.replace("\\\n", "").splitlines() if "bench " in text else [text]
    for line in lines:
        if line.startswith("bench "):
            assert main(shlex.split(line)[1:]) == 0, line
        else:
            print(subprocess.run(["sh", "-e", "-c", line], stdout=subprocess.PIPE, text=True, check=True).stdout)


def follow_in_a_shell(page: Path, folder: Path, environment: Mapping[str, str]) -> None:
    """Do what a page says, in a folder, in one shell that starts every program anew."""
    script, ran = ["set -e"], []
    for number, block in enumerate(blocks(page)):
        if block.file:
            target = folder / block.file
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(block.text, "utf-8")
        elif block.language != "text":
            path = folder / f".block{number}"
            path.write_text(block.text, "utf-8")
            command = f". ./{path.name}" if block.language == "sh" else f"'{sys.executable}' {path.name}"
            script += [command, f"echo; echo '{_END}'"]
            ran.append(block)
    done = subprocess.run(
        ["sh", "-c", "\n".join(script)],
        cwd=folder,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    *printed, rest = done.stdout.split(f"{_END}\n")
    assert (done.returncode, len(printed)) == (0, len(ran)), done.stdout
    assert rest == ""
    answers = iter(printed)
    shown = ""
    for block in blocks(page):
        if block.language == "text":
            hold_to(shown, block.text)
        elif not block.file:
            shown = next(answers)


def hold_to(printed: str, shown: str) -> None:
    """Assert that each line a page shows was printed, in their order."""
    lines = iter(printed.splitlines())
    for wanted in filter(None, map(str.strip, shown.splitlines())):
        assert any(_alike(line, wanted) for line in lines), f"the page shows {wanted!r}; printed was\n{printed}"


def _alike(line: str, wanted: str) -> bool:
    pattern, numbers, rest = "", [], " ".join(wanted.split())
    for part in re.split(f"(…|{_NUMBER.pattern})", rest):
        if part == "…":
            pattern += ".*"
        elif _NUMBER.fullmatch(part):
            numbers.append(float(part.replace("−", "-")))
            pattern += f"({_NUMBER.pattern})"
        else:
            pattern += re.escape(part)
    found = re.search(f"(?<![\\w.]){pattern}(?![\\w])", " ".join(line.split()))
    actual = [float(text.replace("−", "-")) for text in found.groups()] if found else []
    return found is not None and all(_near(one, other) for one, other in zip(actual, numbers, strict=True))


def _near(one: float, other: float) -> bool:
    if abs(one - other) <= FLOOR:
        return True
    return one * other > 0.0 and 1.0 / FACTOR <= one / other <= FACTOR
