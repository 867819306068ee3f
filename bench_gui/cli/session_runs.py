"""Runs of a session that a command uses, chosen by --runs, --tag and --sample, and what it says of the others."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Container
from shlex import quote
from typing import TYPE_CHECKING

from core.base.errors import InputError
from sessions.errors import shown

if TYPE_CHECKING:
    from core.motion.recording import Recording
    from sessions import Selection, Session


def recordings_from(
    session: Session, arguments: argparse.Namespace, channels: Container[str] | None = None
) -> tuple[list[Recording], Selection]:
    """Load the runs of `runs_from`, trimmed, and describe which runs of the session are used.

    Unless every run is used, one line on standard error says so. Damaged runs are skipped, see `say_damage`.

    Args:
        session: The session.
        arguments: Parsed options of `add_recordings`.
        channels: As in `Session.load_for_fit`.

    Raises:
        SessionError: A run of --runs is damaged.
        InputError: No run is left.
    """
    load = session.load_for_fit if arguments.runs else session.load_readable
    recordings = load(runs_from(session, arguments), channels)
    asked = arguments.runs or (_tagged(session, arguments.tag) if arguments.tag else None)
    selection = session.selection(recordings, asked)
    if not recordings:
        raise _nothing_usable(session, selection)
    say_selection("" if selection.complete else selection.text)
    say_damage(arguments, selection.damage)
    return recordings, selection


def say_damage(arguments: argparse.Namespace, *sentences: str) -> None:
    """Print on standard error which damaged runs were skipped, and make the command exit with `DAMAGED`.

    sentences: as `Selection.damage`; empty ones are ignored.
    """
    for text in filter(None, dict.fromkeys(sentences)):
        print(f"warning: {text}", file=sys.stderr)
        arguments.damage = True


def say_selection(text: str) -> None:
    """Print a selection's sentence on standard error, unless it is empty."""
    if text:
        print(f"note: {text}", file=sys.stderr)


def runs_from(session: Session, arguments: argparse.Namespace) -> list[str]:
    """Return the ids of the runs that --runs, --tag and --sample select.

    Failed runs, and simulated runs beside real ones, are used only if named. Excluded runs are never used.

    Raises:
        InputError: No run is left, or --runs names an excluded run.
    """
    chosen = _usable(session, arguments.runs, arguments.tag)
    if arguments.sample is None:
        return chosen
    from sessions.sampling import sample_of

    wanted = set(chosen)
    runs = [run for run in session.runs() if run.id in wanted]
    return [run.id for run in sample_of(runs, arguments.sample, arguments.sample_seed)]


def _usable(session: Session, ids: list[str] | None, tags: list[str] | None) -> list[str]:
    from sessions import fit_runs

    place, annotations = session.path, session.annotations()
    usable = session.fit_ids(ids or None)
    for identity in ids or ():
        if identity not in usable:
            raise InputError(
                f"{place}: run {identity} is excluded{_because(annotations[identity].reason)}; "
                f"to use it: bench annotate {quote(str(place))} {identity} --include"
            )
    if not usable and any(run.exit_status == "success" for run in session.runs()):
        raise InputError(f"{place}: all finished runs are excluded; to use some: bench annotate SESSION RUN… --include")
    if not usable:
        raise _nothing_usable(session, session.selection(()))
    if not tags:
        return usable
    tagged = _tagged(session, tags)
    if not ids:
        # A tag selects simulated runs too if no real run has it.
        usable = fit_runs([run for run in session.runs() if run.id in tagged], annotations)
    chosen = [identity for identity in usable if identity in tagged]
    if not chosen:
        raise InputError(
            f"{place}: none of the runs has the tag {' or '.join(tags)}; see bench runs {quote(str(place))}"
        )
    return chosen


def _tagged(session: Session, tags: list[str]) -> set[str]:
    return {identity for identity, note in session.annotations().items() if not set(tags).isdisjoint(note.tags)}


def _nothing_usable(session: Session, selection: Selection) -> InputError:
    others = "" if selection.complete else f" ({selection.damage or selection.text})"
    return InputError(f"{session.path}: the session has no finished runs{others}; record or import some")


def _because(reason: str) -> str:
    return f" ({shown(reason)})" if reason else ""
