"""Identify the friction of both joints of an arm from CSV files of its torques and positions."""

from __future__ import annotations

import argparse
import csv
import io
import json
from pathlib import Path
from typing import TYPE_CHECKING

from bench_gui.cli.arguments import any_int, any_number, comma_list, positive_float, positive_int, positive_numbers
from bench_gui.cli.terminal import ProgressBar, add_json, add_progress, print_json, print_table
from core.base.atomic import write_atomically
from core.base.errors import InputError
from core.base.interrupt import Interrupt
from core.studies.arm import DEFAULT_MODELS

if TYPE_CHECKING:
    from core.studies.arm.identification import ArmIdentification


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `bench arm identify`."""
    parser.add_argument(
        "recordings",
        nargs="+",
        metavar="FILE",
        help="CSV or CSV.gz file with columns time, q1, q2, tau1, tau2 [s, rad, N·m], or DFKI's columns",
    )
    parser.add_argument(
        "--links", required=True, metavar="FILE.yml", help='links of the arm, lines such as "m1: 0.56" (DFKI format)'
    )
    parser.add_argument(
        "--models",
        type=comma_list,
        default=list(DEFAULT_MODELS),
        metavar="M,…",
        help=f"none, m1 … m6 (default: {','.join(DEFAULT_MODELS)})",
    )
    parser.add_argument(
        "--groups",
        type=comma_list,
        default=["motor", "links"],
        metavar="GROUP,…",
        help='identify besides friction: motor, links, or "" for nothing (default: motor,links)',
    )
    parser.add_argument(
        "--windows",
        type=_lengths,
        default=(0.1, 0.25, 0.5, 1.0),
        metavar="S,…",
        help="window lengths of the errors (default: 0.1,0.25,0.5,1)",
    )
    parser.add_argument(
        "--fit-window", type=positive_float, default=0.5, metavar="S", help="window length of the fit (default: 0.5)"
    )
    parser.add_argument(
        "--held-out",
        type=any_number,
        default=0.25,
        metavar="SHARE",
        help="share of the recordings held out, 0 for none (default: %(default)s)",
    )
    parser.add_argument("--trials", type=positive_int, metavar="N", help="evaluations per model")
    parser.add_argument("--seed", type=any_int, default=0, metavar="S", help="random seed (default: %(default)s)")
    parser.add_argument("-o", "--output", metavar="DIR", help="folder for result.json and errors.csv")
    add_json(parser)
    add_progress(parser)


def run(arguments: argparse.Namespace) -> None:
    """Identify the friction, save and print the result."""
    from core.studies.arm.identification import DEFAULT_BUDGET, ArmRequest, identify_arm
    from core.studies.arm.links import read_arm_parameters
    from core.studies.arm.recording import read_arm_csv

    request = ArmRequest(
        models=tuple(name.lower() for name in arguments.models),
        terms=tuple(arguments.groups),
        fitted=arguments.fit_window,
        windows=arguments.windows,
        held_out=arguments.held_out,
        budget=arguments.trials or DEFAULT_BUDGET,
        seed=arguments.seed,
    )
    source = read_arm_parameters(arguments.links)
    recordings = [read_arm_csv(file) for file in arguments.recordings]
    with Interrupt() as interrupt, ProgressBar(arguments.quiet or arguments.json) as bar:
        found = identify_arm(
            recordings,
            source,
            request,
            on_progress=lambda model, share: bar.show(share, f"{model} (Ctrl+C keeps the best)"),
            should_stop=lambda: interrupt.asked,
        )
    if arguments.output:
        _save(Path(arguments.output), found)
    if arguments.json:
        print_json(found.to_json())
        return
    print_table([found.headings[0], *(f"{name}/mrad" for name in found.headings[1:])], found.table)
    for fit in found.fits[1:]:
        print(f"{fit.model}: {', '.join(f'{p.name} {p.value:.4g}' for p in fit.parameters.values())}")
        if fit.at_bounds:
            print(f"  at a bound (zero, or not determined by these recordings): {', '.join(fit.at_bounds)}")
    if found.stopped:
        print("stopped early; the best result so far is kept")


def _lengths(text: str) -> tuple[float, ...]:
    return tuple(sorted({*positive_numbers(text)}))


def _save(folder: Path, found: ArmIdentification) -> None:
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow([found.headings[0], *(f"{name} [mrad]" for name in found.headings[1:])])
    writer.writerows(found.table)
    result = json.dumps(found.to_json(), indent=2, allow_nan=False) + "\n"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(folder / "result.json", result.encode())
        write_atomically(folder / "errors.csv", table.getvalue().encode())
    except OSError as error:
        raise InputError(f"{folder}: cannot write the result: {error}") from None
