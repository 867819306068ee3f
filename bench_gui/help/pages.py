"""Help files: pages, their order, and the named places in them."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from pathlib import Path

FOLDER = Path(str(files("resources") / "help")).resolve()
FIRST = "index"
COOKBOOK = "cookbook"
"""Folder of the recipes."""
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_BEGINNING = re.compile(r"^(?:#+\s+(?P<heading>.+)|(?:[-*]\s+|\d+\.\s+)?\*\*(?P<bold>[^*]+)\*\*.*)$")


def page_file(name: str) -> Path:
    """File of a page by its name, e.g. "recording" or "cookbook/dynamixel"."""
    return FOLDER / f"{name}.md"


@cache
def pages() -> dict[str, str]:
    """Title by page name: the first page, then pages in the order of its links, then the rest."""
    found = {_name(path): _title(path) for path in sorted(FOLDER.glob("*.md"))}
    found |= {_name(path): _title(path) for path in sorted((FOLDER / COOKBOOK).glob("*.md"))}
    order = [FIRST, *(name for name, _ in links(FIRST)), *found]
    return {name: found[name] for name in dict.fromkeys(order) if name in found}


def links(name: str) -> list[tuple[str, str]]:
    """Pages that a page links to, each with the place in it; empty for its beginning."""
    found = []
    for target in _LINK.findall(page_file(name).read_text("utf-8")):
        path, _, place = target.partition("#")
        if "://" not in target and (path.endswith(".md") or not path):
            found.append((followed(name, path), place))
    return found


def followed(name: str, path: str) -> str:
    """Name of the page that a link leads to; path: as written on page `name`, empty for the page itself."""
    return _name((page_file(name).parent / path).resolve()) if path else name


def places(name: str) -> list[str]:
    """Names of the places in a page: its headings, and bold words at the start of paragraphs."""
    lines = re.sub(r"```.*?```", "", page_file(name).read_text("utf-8"), flags=re.DOTALL).splitlines()
    found = (match for match in map(_BEGINNING.match, lines) if match)
    return [place_name(match["heading"] or match["bold"]) for match in found]


def place_name(words: str) -> str:
    """Convert a heading to its form in a link: "Points, by hand" becomes "points-by-hand"."""
    kept = "".join(c for c in words.lower() if c.isalnum() or c in " -_")
    return "-".join(kept.split())


def _name(path: Path) -> str:
    page = path.with_suffix("")
    return (page.relative_to(FOLDER) if page.is_relative_to(FOLDER) else page).as_posix()


def _title(path: Path) -> str:
    for line in path.read_text("utf-8").splitlines():
        if line.startswith("# "):
            return line[2:].strip()
    return path.stem.replace("_", " ").capitalize()
