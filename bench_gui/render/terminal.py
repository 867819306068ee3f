"""Documents on the terminal: text or JSON, and the files of --csv and --figure."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from bench_gui.cli.files import print_written, write_outputs
from bench_gui.cli.terminal import print_json, print_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from core.document.document import Document


def show(document: Document, arguments: argparse.Namespace) -> None:
    """Write the files of --csv and --figure, then print the document."""
    print_document(document, write_outputs(arguments, document.columns, lambda: _figure(document)), arguments.json)


def print_document(document: Document, files: Sequence[object], as_json: bool) -> None:
    """Print title, tables and sentences, or the data as JSON, and the files that were written."""
    if as_json:
        print_json({**document.data, "files": [str(file) for file in files]})
        return
    if document.title:
        print(document.title)
    for table in document.tables:
        print_table(table.headings, table.rows)
    for sentence in document.sentences:
        print(sentence)
    print_written(files)


def _figure(document: Document) -> Figure:
    from bench_gui.render.paper import plot_figure

    return plot_figure(document.plot())
