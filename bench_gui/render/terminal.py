"""Documents on the terminal: text or JSON, and the files of --csv and --figure."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING

from bench_gui.cli.files import print_written, write_table
from bench_gui.cli.terminal import print_json, print_table

if TYPE_CHECKING:
    from pathlib import Path

    from core.document.document import Document


def show(document: Document, arguments: argparse.Namespace, files: Sequence[Path] = ()) -> None:
    """Write the files of --csv and --figure, then print the document; files: already written."""
    written = list(files)
    if document.columns and arguments.csv:
        columns = document.columns.values()
        written.append(write_table(arguments.csv, document.columns, zip_longest(*columns, fillvalue="")))
    if arguments.figure:
        from bench_gui.render.paper import write_figure

        written.append(write_figure(document.plot(), arguments.figure))
    print_document(document, written, arguments.json)


def print_document(document: Document, files: Sequence[Path], as_json: bool) -> None:
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
