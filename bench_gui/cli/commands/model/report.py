"""Write the report of an identification as a self-contained HTML file."""

from __future__ import annotations

import argparse
from pathlib import Path

from bench_gui.cli.arguments import add_session
from bench_gui.cli.session_runs import say_damage, say_selection

EXAMPLES = """\
examples:
  bench report session
  bench report session result -o report.html"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `bench report`."""
    add_session(parser, "session that was identified")
    parser.add_argument(
        "result", metavar="RESULT", nargs="?", help="folder of the identification (default: the newest of the session)"
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="file to write (default: report.html in RESULT)")


def run(arguments: argparse.Namespace) -> None:
    """Write the report and print its path."""
    from bench_gui.headless.report.of_session import report_of
    from sessions import selection_damage, selection_note
    from sessions.results.folder import result_folder
    from sessions.results.identification import load_identification

    session = Path(arguments.session)
    folder = result_folder(session, arguments.result)
    path = Path(arguments.output) if arguments.output else folder / "report.html"
    print(report_of(session, folder, path))
    origin = load_identification(folder).recommended.model.provenance
    say_selection(selection_note(origin))
    say_damage(arguments, selection_damage(origin))
