"""The text that a person reads is plain English: docstrings, comments, messages, help pages, README and CHANGELOG."""

import argparse
import ast
import inspect
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

import servobench
from bench_gui.cli import build_parser

ROOT = Path(__file__).parents[1]
ROOMS = ("core", "drivers", "sessions", "bench_gui")
PARTS = sorted(
    part.relative_to(ROOT).as_posix()
    for part in [ROOT / "servobench.py", *(path for room in ROOMS for path in (ROOT / room).iterdir())]
    if part.suffix == ".py" or (part.is_dir() and (part / "__init__.py").is_file())
)
HELP = sorted((ROOT / "resources/help").rglob("*.md"))
SITE = sorted((ROOT / "docs").rglob("*.md"))
PROSE = [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md", *HELP, *SITE]

# Words of an idiom that readers understand only at the second reading; the word to use instead.
BANNED = {
    r"told": "reported, stated",
    r"tells?": "reports, states, shows",
    r"nobody": "no one, or name the subject",
    r"anew": "again",
    r"whoever": "anyone who, the user",
    r"farther": "further, larger",
    r"from afar": "from random starts",
    r"in sight": "visible",
    r"surer": "more certain",
    r"what serves": "what is useful",
    r"led by": "guided by, multiple shooting",
    r"makes? up for": "compensates",
    r"dealt out": "distributed",
    r"by itself alone": "on its own",
    r"thereof|whereof|therein|wherein|whereby|hereby": "of it, in which, by which",
}
BAN = re.compile(rf"\b({'|'.join(BANNED)})\b", re.IGNORECASE)
FRAGMENT = re.compile(r"(What|Of|Whether|How)\b")
BEGINNING = re.compile(rf"[\"']\s*{FRAGMENT.pattern}")
"""A file without it has no docstring that begins with a fragment."""


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def sources(part: str) -> list[Path]:
    path = ROOT / part
    return [path] if path.is_file() else sorted(path.rglob("*.py"))


def docstrings(path: Path):
    """(line, docstring) of a module and of all its classes and functions."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            if text:
                yield getattr(node, "lineno", 1), text


def words_of_source(path: Path):
    """(line, text) of each comment and each string, docstrings and messages included."""
    for token in tokenize.generate_tokens(io.StringIO(path.read_text(encoding="utf-8")).readline):
        if token.type in (tokenize.COMMENT, tokenize.STRING) or "FSTRING_MIDDLE" in tokenize.tok_name[token.type]:
            for offset, line in enumerate(token.string.splitlines()):
                yield token.start[0] + offset, line


def sentences(text: str) -> list[str]:
    """Sentences of a page without its code, tables, headings and pictures; an item of a list ends one."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"!\[[^\]]*\]\([^)]*\)", "", text)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"`[^`]*`", "x", text)
    lines = [line for line in text.splitlines() if not line.lstrip().startswith(("|", "#"))]
    blocks = re.split(r"\n\s*\n|\n\s*(?:[-*]|\d+\.)\s", "\n".join(lines))
    return [one for block in blocks for one in re.split(r"(?<=[.!?:])\s+", block.strip()) if re.search(r"\w", one)]


@pytest.mark.parametrize("part", PARTS)
def test_source_is_plain_and_its_docstrings_stand_alone(part):
    """Only files that contain such words anywhere are parsed."""
    texts = {path: path.read_text(encoding="utf-8") for path in sources(part)}
    fragments = [
        f"{name(path)}:{line}: {words.splitlines()[0]}"
        for path in texts
        if BEGINNING.search(texts[path])
        for line, words in docstrings(path)
        if FRAGMENT.match(words)
    ]
    assert not fragments, "\n".join(["begin with a noun or an imperative:", *fragments])
    found = [
        f"{name(path)}:{line}: {words.strip()}"
        for path in texts
        if BAN.search(texts[path])
        for line, words in words_of_source(path)
        if BAN.search(words)
    ]
    assert not found, "\n".join(["see BANNED for the words to use:", *found])


@pytest.mark.parametrize("path", PROSE, ids=name)
def test_a_page_uses_plain_words(path):
    found = [
        f"{n}: {line}" for n, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1) if BAN.search(line)
    ]
    assert not found, "\n".join(["see BANNED for the words to use:", *found])


@pytest.mark.parametrize("path", HELP, ids=name)
def test_a_help_page_is_short_and_has_headings(path):
    text = path.read_text(encoding="utf-8")
    assert len(re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE).split()) <= 900
    assert re.search(r"^## ", text, re.MULTILINE)
    told = [len(one.split()) for one in sentences(text)]
    assert sum(told) / len(told) <= 18


PAPERS_NUMBER = re.compile(r"\bseed 00\d", re.IGNORECASE)
"""The project's own number of a paper."""


def helps(parser: argparse.ArgumentParser) -> Iterator[tuple[str, str]]:
    """(command, text) of `--help` of a command and of its tasks."""
    yield parser.prog, parser.format_help()
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for task in action.choices.values():
                yield from helps(task)


def strings(source: str, *, shown: bool) -> list[str]:
    """Texts of Python source that are shown (messages, labels), or those that are docstrings."""
    nodes = list(ast.walk(ast.parse(source)))
    alone = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    texts = [node for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return [str(node.value) for node in texts if (id(node) not in alone) == shown]


def test_papers_are_named_by_their_authors():
    """In `--help`, messages, servo files, help pages, and the docstrings of the library that the site shows."""
    public = [getattr(servobench, each) for each in servobench.__all__]
    modules = [path for part in PARTS for path in sources(part)]
    seen = [
        *helps(build_parser()),
        *((name(path), path.read_text("utf-8")) for path in [*PROSE, *(ROOT / "resources").rglob("*.toml")]),
        *((name(path), text) for path in modules for text in strings(path.read_text("utf-8"), shown=True)),
        *(
            (each.__name__, text)
            for each in public
            if inspect.isclass(each) or inspect.isfunction(each)
            for text in strings(inspect.cleandoc("\n" + inspect.getsource(each)), shown=False)
        ),
    ]  # fmt: skip
    assert [where for where, text in seen if PAPERS_NUMBER.search(text)] == []
