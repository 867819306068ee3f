"""Describe a fleet as one model with a spread: values over the units, outliers, and files for domain randomisation."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench_gui.cli.arguments import any_int, comma_list, positive_float, positive_int
from bench_gui.cli.terminal import ProgressBar, add_json, add_progress, print_json, print_table
from bench_gui.headless.fleet.spreading import FILE, JSON, TITLES, judged_spread, write_spread
from core.base.units import as_certain
from core.base.words import counted
from core.servo.terms import FRICTION_MODELS

if TYPE_CHECKING:
    from core.fleet.outliers import Outliers
    from core.fleet.randomisation.files import Randomisation
    from core.fleet.spread import Spread

TARGETS = tuple(TITLES)
SMALLEST_SHOWN = 0.1
"""Smallest printed correlation."""


EXAMPLES = """\
examples:
  bench spread fleet
  bench spread fleet --to mujoco,json --draws 500 -o randomisation"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `bench spread`."""
    parser.add_argument("fleet", metavar="FLEET", help="folder of a fleet, see bench fleet")
    parser.add_argument(
        "--friction-model",
        choices=FRICTION_MODELS,
        metavar="M",
        help="friction model m1 … m6 (default: the fleet's recommended one)",
    )
    parser.add_argument(
        "-t",
        "--to",
        type=targets,
        default=(JSON,),
        metavar="TARGET,…",
        help=f"formats: {', '.join(TARGETS)}; {JSON} is {FILE} with values, covariance and model (default: {JSON})",
    )
    parser.add_argument(
        "--draws", type=positive_int, default=1000, metavar="N", help="number of specimens (default: %(default)s)"
    )
    parser.add_argument(
        "--seed", type=any_int, default=0, metavar="S", help="random seed of the specimens (default: %(default)s)"
    )
    parser.add_argument(
        "--kp", type=positive_float, metavar="P", help="gain of the exported actuator (default: the catalogue's)"
    )
    parser.add_argument("-o", "--output", metavar="DIR", help="folder for the files (default: write none)")
    parser.add_argument("--force", action="store_true", help="overwrite existing files that differ")
    add_json(parser)
    add_progress(parser)


def targets(text: str) -> tuple[str, ...]:
    """Parse comma-separated targets."""
    names = tuple(dict.fromkeys(name.lower() for name in comma_list(text)))
    wrong = [name for name in names if name not in TARGETS]
    if wrong or not names:
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of {','.join(TARGETS)}")
    return names


def run(arguments: argparse.Namespace) -> None:
    """Describe the fleet, write the files and print their paths."""
    from core.fleet.outliers import find_outliers
    from core.fleet.store import FleetStore

    result = FleetStore(Path(arguments.fleet)).result()
    friction = arguments.friction_model or result.recommended
    spread, note = judged_spread(result, friction)
    transfer = result.transfer if result.transfer and result.transfer.friction == friction else None
    outliers = find_outliers(spread.population, result.having(friction), transfer)
    files, written = _write(spread, arguments) if arguments.output else ([], [])
    if arguments.json:
        print_json(_plain(spread, outliers, note, files, written))
    else:
        _print(spread, outliers, note)
        _print_written(files, written)


def _write(spread: Spread, arguments: argparse.Namespace) -> tuple[list[Path], list[Randomisation]]:
    from core.fleet.randomisation.files import RandomisationOptions

    options = RandomisationOptions(draws=arguments.draws, seed=arguments.seed, kp=arguments.kp)
    with ProgressBar(arguments.quiet or arguments.json) as bar:
        return write_spread(spread, arguments.to, Path(arguments.output), options, bar.show, force=arguments.force)


def _print(spread: Spread, outliers: Outliers, note: str) -> None:
    found = spread.population
    rows: list[list[Any]] = []
    for p in found.parameters:
        low, high = p.between_interval
        known = p.known
        rows.append(
            [
                p.name,
                as_certain(p.centre, p.half_width(p.centre_error)),
                p.unit,
                int(p.determined.sum()),
                " … ".join(
                    as_certain(value, p.half_width(p.uncertainty)) for value in (p.values.min(), p.values.max())
                ),
                p.in_words(p.between) if known else None,
                f"{p.in_words(low)} … {p.in_words(high)}" if known else None,
                p.in_words(p.uncertainty) if known else None,
                None if not known else "yes" if p.differs else "no",
            ]
        )
    headings = ["parameter", "centre", "unit", "units", "range", "between units", "95 %", "uncertainty", "differ"]
    print(f"{found.servo} {found.friction.upper()}, {counted(len(found.units), 'unit')}")
    print_table(headings, rows)
    strong = [pair for pair in found.strongest if abs(pair[2]) >= SMALLEST_SHOWN]
    pairs = ", ".join(f"{one} and {other} {value:+.2f}" for one, other, value in strong[:3])
    if pairs:
        print(f"vary together: {pairs}")
    print(note or (spread.errors.text if spread.errors else ""))
    for outlier in outliers.found:
        print(f"outlier: {outlier.text}")
    if not outliers.found:
        print(outliers.note or "no unit is an outlier")


def _print_written(files: list[Path], written: list[Randomisation]) -> None:
    for file in files:
        print(file)
    for result in written:
        print(f"{result.files[-1].parent}: {counted(len(result.files), 'file')}, {result.target}")
        for name, (low, high) in result.native.ranges.items():
            print(f"  {name} {low:.4g} … {high:.4g}, {100.0 * result.native.inside(name):.0f} % of the units inside")
    if written:
        print(written[0].agreement.text)


def _plain(
    spread: Spread, outliers: Outliers, note: str, files: list[Path], written: list[Randomisation]
) -> dict[str, Any]:
    return {
        "spread": spread.to_json(),
        "note": note,
        "outliers": [{**outlier.__dict__, "range": list(outlier.range)} for outlier in outliers.found],
        "outliers_note": outliers.note,
        "files": [str(file) for file in [*files, *(file for result in written for file in result.files)]],
        "written": [
            {
                "target": result.target,
                "ranges": {name: list(ends) for name, ends in result.native.ranges.items()},
                "inside": {name: result.native.inside(name) for name in result.native.names},
                "all_inside": result.native.all_inside,
                "agreement": dict(result.agreement.__dict__),
                "notes": list(result.notes),
            }
            for result in written
        ],
    }
