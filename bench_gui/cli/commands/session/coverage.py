"""Check which model terms the recordings of a session can identify, and list problems of the recordings.

With a fitted model, also audit the recorded bench and settings of each run.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from bench_gui.cli.arguments import add_recordings, model_from
from bench_gui.cli.session_runs import recordings_from
from bench_gui.cli.terminal import ProgressBar, add_json, add_progress, print_json, print_table
from core.base.words import counted

if TYPE_CHECKING:
    from core.identification.coverage.headers import HeaderAudit
    from core.identification.coverage.report import Coverage


EXAMPLES = """\
examples:
  bench coverage example
  bench coverage session --model result/m6.json"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `bench coverage`."""
    add_recordings(parser)
    parser.add_argument(
        "--model",
        metavar="MODEL",
        help="fitted model: assess its terms, audit the headers with it, and diagnose its residuals",
    )
    add_json(parser)
    add_progress(parser)


def run(arguments: argparse.Namespace) -> None:
    """Examine the recordings and print the findings."""
    from core.identification.coverage.report import coverage
    from sessions import Session

    model = model_from(arguments.model) if arguments.model else None
    recordings, selection = recordings_from(Session.open(arguments.session), arguments)
    with ProgressBar(arguments.quiet or arguments.json) as bar:

        def looked(done: int) -> None:
            bar.show(done / len(recordings), f"{done} of {counted(len(recordings), 'run')}")

        seen = coverage(recordings, model=model, threads=arguments.threads, on_run=looked)
    audited: HeaderAudit | None = None
    if model is not None:
        from core.identification.coverage.headers import audit_headers

        audited = audit_headers(model, recordings, dt=arguments.dt, supply=arguments.supply, threads=arguments.threads)
    if arguments.json:
        print_json(seen.to_json() | {"selection": selection.to_json()} | ({} if audited is None else audited.to_json()))
        return
    _print(seen)
    if audited is not None:
        for finding in audited.findings:
            print(f"{finding.severity}: {finding}")
        print(audited.summary)


def _print(seen: Coverage) -> None:
    print_table(
        ["trajectory", "mass/kg", "length/m", "kp", "supply/V", "runs"],
        [[c.trajectory, c.mass, c.length, c.kp, c.supply_voltage, c.count] for c in seen.grid.cells],
    )
    print()
    print_table(
        ["run", "speed/%", "load/%", "reversals", "breakaways", "saturated/%", "released/%", "step/ms", "lag/ms"],
        [
            [
                e.run,
                round(100 * e.speed_share),
                round(100 * e.load_share),
                e.reversals,
                e.breakaways,
                round(100 * e.saturated_share, 1),
                round(100 * e.released_share),
                round(1e3 * t.step, 2),
                None if t.command_lag != t.command_lag else round(1e3 * t.command_lag),
            ]
            for e, t in zip(seen.excitation, seen.timing, strict=True)
        ],
    )
    print()
    print_table(["term", "verdict", "why"], [[t.symbol, t.verdict, t.text] for t in seen.terms])
    if seen.repeatability:
        print()
        rows = [[r.trajectory, r.repetitions, r.runs, 1e3 * r.floor] for r in seen.repeatability]
        print_table(["repeated", "sets", "runs", "floor/mrad"], rows)
    print()
    for finding in seen.findings:
        print(f"{finding.severity}: {finding}")
    if not seen.findings:
        print("no problems found in these recordings")
