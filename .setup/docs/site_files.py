"""Hook: style sheet and icon of the site, which are kept outside `docs`, and the pages about the project."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs.structure.files import File

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

HERE = Path(__file__).resolve().parent
ASSETS = (HERE / "site.css", HERE.parents[1] / "resources" / "icons" / "servobench.svg")
MARK = "PROJECT"


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put every page at the top of `docs` that the navigation does not name under the mark."""
    named = str(config.nav)
    pages = (path.name for path in sorted(Path(config.docs_dir).glob("*.md")))
    left = [name for name in pages if f"'{name}'" not in named]
    config.nav = [{title: left if item == MARK else item} for entry in config.nav for title, item in entry.items()]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the assets at the site's top."""
    for path in ASSETS:
        files.append(File.generated(config, path.name, abs_src_path=str(path)))
    return files
