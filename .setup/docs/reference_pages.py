"""Hook: reference pages of `servobench`, with every public name; the text is that of the docstrings."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs.structure.files import File

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

import servobench  # noqa: E402

DATA = ("Session", "Recording", "Bench", "ServoSettings", "Trajectory", "ServoSpec", "ServoModel", "ServoBenchError")
"""Types that go into the functions; all others come out of them."""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add a page of functions and two of types."""
    public = servobench.__all__
    functions = sorted((name for name in public if not name[0].isupper()), key=_place)
    results = [name for name in public if name[0].isupper() and name not in DATA]
    introduction = "Import it as `import servobench as sb`. Angles are in rad, all other units are SI."
    pages = {
        "functions": page("Functions", introduction, functions),
        "types": page("Sessions, recordings and models", "What the functions take.", [n for n in DATA if n in public]),
        "results": page("Results", "What the functions return.", results),
    }
    for name, text in pages.items():
        files.append(File.generated(config, f"reference/{name}.md", content=text))
    return files


def _place(name: str) -> tuple[bool, int]:
    """Functions of `servobench` itself as they stand in its file, then those of other modules."""
    function = getattr(servobench, name)
    return function.__module__ != servobench.__name__, function.__code__.co_firstlineno


def page(title: str, introduction: str, names: list[str]) -> str:
    """Markdown of a page that documents public names."""
    return "\n\n".join([f"# {title}", introduction, *(f"::: servobench.{name}" for name in names)]) + "\n"
