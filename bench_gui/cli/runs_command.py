"""List the runs of a session."""

from __future__ import annotations

import argparse

from bench_gui.cli.terminal import add_json, print_json, print_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `bench runs`."""
    parser.add_argument("session", metavar="SESSION", help="session folder or exported session file")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the list."""
    from sessions import Session

    session = Session.open(arguments.session)
    runs = session.runs()
    if arguments.json:
        print_json([run.to_json() for run in runs])
        return 0
    print_table(
        ["id", "trajectory", "kp", "mass/kg", "length/m", "supply/V", "duration/s", "samples", "status"],
        [
            [r.id, r.trajectory, r.kp, r.mass, r.length, r.supply_voltage, r.duration, r.samples, r.exit_status]
            for r in runs
        ],
    )
    for problem in session.problems():
        print(f"note: {problem}")
    return 0
