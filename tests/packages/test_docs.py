"""The documentation site: built without a warning, complete, and free of files from other hosts."""

import doctest
import os
import re
import subprocess
import sys
import tomllib
from html.parser import HTMLParser
from pathlib import Path

import pytest

import servobench
from bench_gui.cli import COMMANDS
from bench_gui.help.pages import pages
from core.motion.recording import CHANNELS
from sessions.folders import HOME_VARIABLE

REASON = "builds the site: pip install 'servobench[docs]'"
for _package in ("mkdocs", "material", "mkdocstrings", "latex2mathml", "nbconvert"):
    pytest.importorskip(_package, reason=REASON)

ROOT = Path(__file__).parents[2]
LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}
"""Elements whose file a browser fetches to show a page, and the attribute that names it."""

EXAMPLES = tomllib.loads((ROOT / ".setup" / "docs" / "type_examples.toml").read_text("utf-8"))
SEARCHING = re.compile(r"identify|cross_validate")
builds = pytest.mark.exhaustive("builds the site, which is no part of the program")


class Page(HTMLParser):
    """Ids, fetched files and example blocks of a page."""

    def __init__(self, path):
        super().__init__()
        self.ids, self.fetched = set(), []
        self.text = path.read_text("utf-8")
        self.feed(self.text)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        if "id" in given:
            self.ids.add(given["id"])
        if tag in LOADED and given.get(LOADED[tag]):
            self.fetched.append(given[LOADED[tag]])


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", ROOT / ".setup" / "docs" / "mkdocs.yml"]
    quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    built = subprocess.run([*command, "-d", folder], capture_output=True, text=True, env=quiet)
    assert built.returncode == 0, built.stderr
    assert "WARNING" not in built.stderr, built.stderr
    return folder


@builds
def test_every_public_name_has_a_reference(site):
    found = set().union(*(Page(path).ids for path in (site / "reference").glob("*.html")))
    assert [name for name in servobench.__all__ if f"servobench.{name}" not in found] == []


@builds
def test_every_public_name_has_an_example(site):
    text = "".join(
        (site / "reference" / f"{name}.html").read_text("utf-8") for name in ("functions", "types", "results")
    )
    parts = re.split(r'<h2 id="servobench\.(\w+)"', text)
    sections = dict(zip(parts[1::2], parts[2::2], strict=True))
    assert [name for name in servobench.__all__ if "&gt;&gt;&gt; " not in sections[name]] == []


@builds
def test_every_help_page_and_command_has_a_page(site):
    wanted = [f"help/{name}.html" for name in pages()] + [f"reference/cli/{name}.html" for name in COMMANDS]
    assert [name for name in wanted if not (site / name).is_file()] == []


@builds
def test_nothing_comes_from_another_host(site):
    pages_of_site = {path.relative_to(site): Page(path) for path in site.rglob("*.html")}
    fetched = {(page, file) for page, read in pages_of_site.items() for file in read.fetched}
    assert {(page, file) for page, file in fetched if re.match(r"(?:\w+:)?//", file)} == set()
    styles = {path.name: path.read_text("utf-8") for path in site.rglob("*.css")}
    assert [name for name, text in styles.items() if re.search(r"(?:url\(|@import )[\"']?(?:\w+:)?//", text)] == []


@builds
def test_formulas_are_set(site):
    friction = (site / "concepts" / "friction.html").read_text("utf-8")
    assert friction.count('<math xmlns="http://www.w3.org/1998/Math/MathML" display="block"') >= 7
    left = [path for path in site.rglob("*.html") if 'class="arithmatex"' in path.read_text("utf-8")]
    assert left == []


def test_every_channel_is_in_the_page_of_file_formats():
    text = (ROOT / "docs" / "reference" / "files.md").read_text("utf-8")
    rows = [
        f"| `{c.name}` | {c.unit} | {({'f8': 'float64', 'u1': 'uint8', 'u4': 'uint32'})[c.kind]} |" for c in CHANNELS
    ]
    assert [row for row in rows if row not in text] == []


@pytest.mark.parametrize("name", [name for name, text in EXAMPLES.items() if not SEARCHING.search(text)])
def test_examples_of_types_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path))
    test = doctest.DocTestParser().get_doctest(EXAMPLES[name], {"sb": servobench}, name, None, 0)
    assert doctest.DocTestRunner().run(test).failed == 0
