"""Note, tag, exclude or trim runs of a session.

Without an option, print the annotations of the runs. The recordings themselves never change.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING

from bench_gui.cli.arguments import add_session, comma_list
from bench_gui.cli.commands.session.runs import print_runs, runs_json
from bench_gui.cli.terminal import add_json, print_json
from core.base.numbers import parse_number

if TYPE_CHECKING:
    from sessions import Annotation


EXAMPLES = """\
examples:
  bench annotate session 0003 --exclude "cable caught"
  bench annotate session 0004 --tag calibrated --trim 0.5:4"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `bench annotate`."""
    add_session(parser, "session folder")
    parser.add_argument("runs", nargs="+", metavar="RUN", help="ids of the runs to annotate")
    parser.add_argument("--note", metavar="TEXT", help='replace the note; "" removes it')
    parser.add_argument("--tag", type=comma_list, default=[], metavar="T,…", help="add tags")
    parser.add_argument("--untag", type=comma_list, default=[], metavar="T,…", help="remove tags")
    use = parser.add_mutually_exclusive_group()
    use.add_argument(
        "--exclude", nargs="?", const="", metavar="REASON", help="exclude the runs from fits and comparisons"
    )
    use.add_argument("--include", action="store_true", help="include the runs again")
    part = parser.add_mutually_exclusive_group()
    part.add_argument(
        "--trim",
        type=_times,
        metavar="BEGIN:END",
        help="use only this part, in seconds from the first sample; either side may be omitted",
    )
    part.add_argument("--no-trim", action="store_true", help="use the whole runs again")
    add_json(parser)


def run(arguments: argparse.Namespace) -> None:
    """Annotate the runs, then print them."""
    from sessions import Session

    session = Session.open(arguments.session)
    if _changes(arguments):
        session.revise(arguments.runs, lambda _, old: _changed(old, arguments))
    else:
        session.fit_ids(arguments.runs)
    annotations = session.annotations()
    shown = [summary for summary in session.runs() if summary.id in arguments.runs]
    if arguments.json:
        print_json(runs_json(shown, annotations))
    else:
        print_runs(shown, annotations)


def _changes(arguments: argparse.Namespace) -> bool:
    """Return whether any option requests a change."""
    given = (arguments.tag, arguments.untag, arguments.include, arguments.trim, arguments.no_trim)
    return any(given) or arguments.note is not None or arguments.exclude is not None


def _changed(old: Annotation, arguments: argparse.Namespace) -> Annotation:
    """Return an annotation with the requested changes."""
    new = replace(old, tags=(*(tag for tag in old.tags if tag not in arguments.untag), *arguments.tag))
    if arguments.note is not None:
        new = replace(new, note=arguments.note)
    if arguments.exclude is not None:
        new = replace(new, excluded=True, reason=arguments.exclude or old.reason)
    if arguments.include:
        new = replace(new, excluded=False, reason="")
    if arguments.trim:
        new = replace(new, trim_begin=arguments.trim[0], trim_end=arguments.trim[1])
    if arguments.no_trim:
        new = replace(new, trim_begin=None, trim_end=None)
    return new


def _times(text: str) -> tuple[float | None, float | None]:
    """Parse "0.5:4", "0.5:" or ":4"."""
    begin, colon, end = (part.strip() for part in text.partition(":"))
    if not colon or not (begin or end):
        raise argparse.ArgumentTypeError(f"{text!r} is not BEGIN:END in seconds, e.g. 0.5:4, 0.5: or :4")
    try:
        return parse_number(begin) if begin else None, parse_number(end) if end else None
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not BEGIN:END in seconds, e.g. 0.5:4, 0.5: or :4") from None
