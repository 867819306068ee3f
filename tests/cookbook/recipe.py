"""A recipe as a program: the blocks of its page, run in order as a person would, their output held to what it shows.

```sh       runs in one POSIX shell of the page, which ends at the first command that fails
```python   runs in one Python process of the page
```toml and ```python that begin with "# folder/file" are written into that file
```text     is what the block before it prints, among other lines: words are equal, numbers within a factor of two
            or 0.02 of each other, and "…" stands for anything
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_FILE = re.compile(r"# ([\w/]+\.\w+)\n")
_NUMBER = re.compile(r"(?<![\w.])[-+−]?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?!\w)")
FACTOR, FLOOR = 2.0, 0.02
_END = "=== end of block"
_INTERPRETER = f"""
import sys
names = {{"__name__": "recipe"}}
for path in iter(sys.stdin.readline, ""):
    path = path.strip()
    exec(compile(open(path, encoding="utf-8").read(), path, "exec"), names)
    print("{_END}", flush=True)
"""


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
    """All fenced blocks of a page, in order."""
    return [Block(*found) for found in _BLOCK.findall(page.read_text("utf-8"))]


def follow(page: Path, folder: Path, environment: Mapping[str, str], around: Sequence[str] = ()) -> None:
    """Do what a page says, in a folder. around: a command that what runs is started by.

    Raises AssertionError with everything that was printed when a block fails or prints something else.
    """
    with _Follower(folder, environment, around) as follower:
        printed = ""
        for block in blocks(page):
            if block.language == "text":
                hold_to(printed, block.text)
            elif block.file:
                target = folder / block.file
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(block.text, "utf-8")
            else:
                printed = follower.run(block)


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


class _Follower:
    """A shell and an interpreter that live as long as the page."""

    def __init__(self, folder: Path, environment: Mapping[str, str], around: Sequence[str]) -> None:
        self._folder, self._count = folder, 0
        self._environment = {**os.environ, **environment}
        self._commands = {"sh": [*around, "sh", "-e"], "python": [*around, sys.executable, "-c", _INTERPRETER]}
        self._running: dict[str, subprocess.Popen[str]] = {}

    def __enter__(self) -> _Follower:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._running.values():
            assert process.stdin is not None
            process.stdin.close()
            process.terminate()
            process.wait(20.0)

    def run(self, block: Block) -> str:
        """Run a block and return what it printed."""
        assert block.language in self._commands, f"nobody can run a block of {block.language!r}"
        self._count += 1
        path = self._folder / f".block{self._count}"
        path.write_text(block.text, "utf-8")
        if block.language == "sh":
            # A command of the page reads nothing of the pages' own commands.
            return self._say("sh", f". ./{path.name} < /dev/null; echo; echo '{_END}'", block)
        return self._say("python", str(path), block)

    def _say(self, language: str, line: str, block: Block) -> str:
        if language not in self._running:
            self._running[language] = subprocess.Popen(
                self._commands[language],
                cwd=self._folder,
                env=self._environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
        process = self._running[language]
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"{line}\n")
        process.stdin.flush()
        printed = []
        for answer in process.stdout:
            if answer.rstrip("\n") == _END:
                return "".join(printed)
            printed.append(answer)
        raise AssertionError(f"this failed:\n{block.text}\nprinted was\n{''.join(printed)}")
