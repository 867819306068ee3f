"""Say what the recordings of a session can tell and what is wrong with them; with a model, audit their headers."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from bench_gui.cli.arguments import add_recordings, model_from, recordings_from
from bench_gui.cli.terminal import add_json, print_json, print_table

if TYPE_CHECKING:
    from core.identification.coverage.doubts import HeaderDoubt
    from core.identification.coverage.report import Coverage
    from core.identification.residuals import ResidualDiagnosis


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `bench coverage`."""
    add_recordings(parser)
    parser.add_argument(
        "--model",
        metavar="FILE|SERVO:VARIANT",
        help="a fitted model: judge its terms, audit the headers with it and diagnose what it leaves unexplained",
    )
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Look and print."""
    from core.identification.coverage.report import coverage

    model = model_from(arguments.model) if arguments.model else None
    recordings, _ = recordings_from(arguments.session, arguments.runs, arguments.tag)
    seen = coverage(recordings, model=model, threads=arguments.jobs)
    doubts: tuple[HeaderDoubt, ...] = ()
    diagnosis: ResidualDiagnosis | None = None
    if model is not None:
        from core.identification.coverage.audit import audit
        from core.identification.residuals import diagnose_residuals

        simulation = {"dt": arguments.dt, "supply": arguments.supply, "threads": arguments.jobs}
        doubts = audit(model, recordings, **simulation)
        diagnosis = diagnose_residuals(model, recordings, **simulation)
    if arguments.json:
        after = {} if diagnosis is None else {"audit": [d.to_json() for d in doubts], "residuals": diagnosis.to_json()}
        print_json(seen.to_json() | after)
        return 0
    _print(seen)
    if diagnosis is not None:
        _print_after(doubts, diagnosis)
    return 0


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
        rows = [[r.trajectory, r.pairs, 1e3 * r.floor] for r in seen.repeatability]
        print_table(["repeated", "pairs", "floor/mrad"], rows)
    print()
    for finding in seen.findings:
        print(f"{finding.severity}: {finding}")
    if not seen.findings:
        print("nothing is wrong with these recordings")


def _print_after(doubts: tuple[HeaderDoubt, ...], diagnosis: ResidualDiagnosis) -> None:
    for doubt in doubts:
        print(f"{doubt.finding().severity}: {doubt}")
    if not doubts:
        print("the headers agree with the motion")
    print(f"left unexplained: {1e3 * diagnosis.position_rms:.2f} mrad, {1e3 * diagnosis.torque_rms:.3g} mN·m (RMS)")
    for hint in diagnosis.hints:
        print(f"{hint.severity}: {hint}")
