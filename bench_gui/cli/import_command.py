"""Import recordings into a session: Rhoban/bam logs (.json, .json.gz), CSV files of ours, whole folders."""

from __future__ import annotations

import argparse

from bench_gui.cli.terminal import ProgressBar, add_json, add_progress, print_json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `bench import`."""
    parser.add_argument("paths", nargs="+", metavar="PATH", help="files or folders")
    parser.add_argument(
        "-o", "--output", required=True, metavar="SESSION", help="session folder, made if it is not there"
    )
    add_json(parser)
    add_progress(parser)


def run(arguments: argparse.Namespace) -> int:
    """Import and say what came in."""
    from sessions import Session
    from sessions.importers import ImportEvent, import_paths

    bar = ProgressBar(arguments.quiet or arguments.json)
    skipped: list[str] = []

    def progress(event: ImportEvent) -> None:
        bar.show(event.done / max(event.total, 1), event.file)
        if event.skipped:
            skipped.append(f"{event.file}: {event.skipped}")

    ids = import_paths(arguments.paths, arguments.output, progress)
    bar.clear()
    if arguments.json:
        print_json({"session": arguments.output, "runs": ids, "skipped": skipped})
        return 0
    print(f"{len(ids)} runs imported into {arguments.output}, {len(Session.open(arguments.output).runs())} in all")
    for line in skipped:
        print(f"skipped {line}")
    return 0
