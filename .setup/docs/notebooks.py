"""Hook: the notebooks of `docs/notebooks` as pages, with the outputs that are stored in them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs.structure.files import File

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

MARK = "NOTEBOOKS"


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the notebooks into the navigation; without any, there is no entry."""
    found = [f"notebooks/{path.stem}.md" for path in _notebooks(config)]
    entries = ((title, found if item == MARK else item) for entry in config.nav for title, item in entry.items())
    config.nav = [{title: item} for title, item in entries if item]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add a page and the pictures of each notebook."""
    for path in _notebooks(config):
        text, pictures = converted(path)
        files.append(File.generated(config, f"notebooks/{path.stem}.md", content=text))
        for name, data in pictures.items():
            files.append(File.generated(config, f"notebooks/{name}", content=data))
    return files


def converted(path: Path) -> tuple[str, dict[str, bytes]]:
    """Return a notebook as Markdown, and its pictures by file name."""
    from nbconvert import MarkdownExporter

    text, resources = MarkdownExporter().from_filename(
        str(path), {"unique_key": path.stem, "output_files_dir": path.stem}
    )
    download = f"\n\n[Download the notebook]({path.name})\n"
    return text + download, dict(resources["outputs"])


def _notebooks(config: MkDocsConfig) -> list[Path]:
    return sorted((Path(config.docs_dir) / "notebooks").glob("*.ipynb"))
