"""List the runs of a session and their annotations."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from bench_gui.cli.arguments import add_session, add_tag
from bench_gui.cli.session_runs import say_damage
from bench_gui.cli.terminal import add_json, print_json, print_table
from sessions.errors import shown

if TYPE_CHECKING:
    from sessions import Annotation, RunSummary

NOTE_WIDTH = 48
"""Longest note in the table, in characters."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `bench runs`."""
    add_session(parser)
    add_tag(parser)
    add_json(parser)


def run(arguments: argparse.Namespace) -> None:
    """Print the list."""
    from sessions import Session, SessionError

    session = Session.open(arguments.session)
    runs = session.runs()
    try:
        annotations = session.annotations()
    except SessionError:
        # The list is still useful, and the problem is printed below; only a selection by tags is impossible.
        if arguments.tag:
            raise
        annotations = {}
    if arguments.tag:
        tagged = {identity for identity, note in annotations.items() if not set(arguments.tag).isdisjoint(note.tags)}
        runs = [summary for summary in runs if summary.id in tagged]
    if arguments.json:
        print_json(runs_json(runs, annotations))
    else:
        print_runs(runs, annotations)
    say_damage(arguments, session.damage())
    for problem in session.document_problems():
        print(f"note: {problem}", file=sys.stderr if arguments.json else sys.stdout)


def runs_json(runs: Sequence[RunSummary], annotations: Mapping[str, Annotation]) -> list[dict[str, Any]]:
    """Return runs as plain data, with the annotation of each under "annotation"."""
    from sessions import Annotation

    return [{**run.to_json(), "annotation": asdict(annotations.get(run.id, Annotation()))} for run in runs]


def print_runs(runs: Sequence[RunSummary], annotations: Mapping[str, Annotation]) -> None:
    """Print a table; columns of joints and annotations appear only if a run has one."""
    from sessions import Annotation

    headings = ["id", "trajectory", "kp", "mass/kg", "length/m", "supply/V", "duration/s", "samples", "status"]
    rows: list[list[Any]] = [
        [r.id, r.trajectory, r.kp, r.mass, r.length, r.supply_voltage, r.duration, r.samples, r.exit_status]
        for r in runs
    ]
    notes = [annotations.get(run.id, Annotation()) for run in runs]
    columns = {
        "joint": [run.joint for run in runs],
        "tags": [", ".join(note.tags) for note in notes],
        "use": [_use(note) for note in notes],
        "note": [_short(note.note) for note in notes],
    }
    for heading, column in columns.items():
        if any(column):
            headings.append(heading)
            for row, text in zip(rows, column, strict=True):
                row.append(text)
    print_table(headings, rows)


def _use(note: Annotation) -> str:
    """Return the used part of a run, empty if all of it is used."""
    if note.excluded:
        return f"excluded: {_short(note.reason)}" if note.reason else "excluded"
    if not note.trimmed:
        return ""
    begin = f"from {note.trim_begin:g} s" if note.trim_begin is not None else ""
    end = f"to {note.trim_end:g} s" if note.trim_end is not None else ""
    return " ".join(text for text in (begin, end) if text)


def _short(text: str) -> str:
    """Return the beginning of a text as one printable line."""
    line = shown(" ".join(text.split()))
    return line if len(line) <= NOTE_WIDTH else line[: NOTE_WIDTH - 1] + "…"
