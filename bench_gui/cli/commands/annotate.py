"""Note, tag, exclude or trim runs of a session; without an option: show what is noted. Runs themselves never change."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from bench_gui.cli.arguments import add_session, comma_list
from bench_gui.cli.commands.runs import print_runs, runs_json
from bench_gui.cli.terminal import add_json, print_json

if TYPE_CHECKING:
    from sessions import Annotation


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `bench annotate`."""
    add_session(parser, "session folder")
    parser.add_argument("runs", nargs="+", metavar="RUN", help="run id; several get the same annotation")
    parser.add_argument("--note", metavar="TEXT", help='replace the note; "" removes it')
    parser.add_argument("--tag", type=comma_list, default=[], metavar="T,…", help="add these tags")
    parser.add_argument("--untag", type=comma_list, default=[], metavar="T,…", help="take these tags off")
    use = parser.add_mutually_exclusive_group()
    use.add_argument(
        "--exclude", nargs="?", const="", metavar="REASON", help="leave the runs out of fits and comparisons"
    )
    use.add_argument("--include", action="store_true", help="use the runs again")
    part = parser.add_mutually_exclusive_group()
    part.add_argument(
        "--trim",
        type=_times,
        metavar="BEGIN:END",
        help="use only this part, in seconds from the first sample; one side may be left open",
    )
    part.add_argument("--no-trim", action="store_true", help="use the whole runs again")
    add_json(parser)


def run(arguments: argparse.Namespace) -> None:
    """Annotate and print the runs as they are noted now."""
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
    """Whether any option asks for a change."""
    given = (arguments.tag, arguments.untag, arguments.include, arguments.trim, arguments.no_trim)
    return any(given) or arguments.note is not None or arguments.exclude is not None


def _changed(old: Annotation, arguments: argparse.Namespace) -> Annotation:
    """An annotation with the changes the options ask for."""
    from dataclasses import replace

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
    """ "0.5:4", "0.5:" or ":4" """
    begin, colon, end = (part.strip() for part in text.partition(":"))
    if not colon or not (begin or end):
        raise argparse.ArgumentTypeError(f"{text!r} is not BEGIN:END in seconds, e.g. 0.5:4, 0.5: or :4")
    try:
        return float(begin) if begin else None, float(end) if end else None
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not BEGIN:END in seconds, e.g. 0.5:4, 0.5: or :4") from None
