"""Hook: the pages of the window's help (`resources/help`) as the site's how-to pages, in the order of their index.

The site shows the same files, not copies. A new page appears by itself, and a link to any heading that works in the
window works here, since both name a place by the same function.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mkdocs.structure.files import File

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from bench_gui.help.pages import FIRST, FOLDER, followed, pages, place_name  # noqa: E402

MARK = "HELP"
PREFIX = "help/"
_INDEX_LINK = re.compile(r"\]\(([^)\s#]+\.md)[^)]*\)")
_TO_HELP = re.compile(r"\]\(((?:\.\./)*)\.\./resources/help/")
_RUN_IN = re.compile(r"^((?:[-*]|\d+\.)\s+)?\*\*([^*]+)\*\*")
_ITEM = re.compile(r"^\s*(?:[-*]|\d+\.)\s+")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the pages into the navigation, and name places as the window does."""
    config.mdx_configs["toc"]["slugify"] = lambda words, _separator: place_name(words)
    config.nav = [
        {title: navigation() if item == MARK else item} for entry in config.nav for title, item in entry.items()
    ]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add pages and pictures."""
    for path in sorted(FOLDER.rglob("*")):
        if path.is_file():
            uri = PREFIX + path.relative_to(FOLDER).as_posix()
            files.append(File.generated(config, uri, abs_src_path=str(path)))
    return files


def navigation() -> list[Any]:
    """Index, then its links below the headings they stand under, then the pages it forgets."""
    shown: list[Any] = [f"{PREFIX}{FIRST}.md"]
    group = shown
    left = [name for name in pages() if name != FIRST]
    for line in (FOLDER / f"{FIRST}.md").read_text("utf-8").splitlines():
        if line.startswith("## "):
            group = []
            shown.append({line[3:].strip(): group})
        for target in _INDEX_LINK.findall(line):
            name = followed(FIRST, target)
            if name in left:
                left.remove(name)
                group.append(f"{PREFIX}{name}.md")
    if left:
        shown.append({"More": [f"{PREFIX}{name}.md" for name in left]})
    return [item for item in shown if not isinstance(item, dict) or any(item.values())]


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Prepare a page: anchors for help pages, links into `resources/help` for the others."""
    if not page.file.src_uri.startswith(PREFIX):
        return _TO_HELP.sub(r"](\1help/", markdown)
    return "\n".join(_prepared(markdown.splitlines()))


def _prepared(lines: list[str]) -> list[str]:
    """Add what Python-Markdown needs beyond CommonMark: a blank line before a list, and anchors at run-in headings."""
    out: list[str] = []
    fenced = False
    for line in lines:
        if line.lstrip().startswith("```"):
            fenced = not fenced
        if not fenced:
            before = out[-1] if out else ""
            if _ITEM.match(line) and before.strip() and not _ITEM.match(before) and not before.startswith(" "):
                out.append("")
            if match := _RUN_IN.match(line):
                anchor = f'<a id="{place_name(match[2])}"></a>'
                line = f"{match[1] or ''}{anchor}{line[len(match[1] or '') :]}"
        out.append(line)
    return out
