"""Run the whole workflow without hardware.

Record a simulated MX-106 on a small version of the paper's grid, identify M1 to M6, export the best model and write a
report with figures.
"""

from __future__ import annotations

import argparse

from bench_gui.cli.arguments import any_int
from bench_gui.cli.terminal import ProgressBar, add_json, add_progress, duration, print_json, print_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `bench demo`."""
    parser.add_argument(
        "-o", "--output", required=True, metavar="DIR", help="folder for session, models, exports and report"
    )
    parser.add_argument("--fast", action="store_true", help="use a smaller grid and fewer evaluations")
    parser.add_argument("--seed", type=any_int, default=0, metavar="S", help="random seed (default: %(default)s)")
    add_json(parser)
    add_progress(parser)


def run(arguments: argparse.Namespace) -> None:
    """Run the demo and print its results."""
    from bench_gui.headless.demo import run_demo

    with ProgressBar(arguments.quiet or arguments.json) as bar:
        outcome = run_demo(arguments.output, fast=arguments.fast, seed=arguments.seed, show=bar.show)
    if arguments.json:
        print_json(outcome.to_json())
        return
    print_table(
        ["model", "training/mrad", "validation/mrad", "against the truth/mrad"],
        [[row.model.upper(), row.train_mrad, row.validation_mrad, row.truth_mrad] for row in outcome.rows],
    )
    print("against the truth: mean error against the exact motion of the simulated servo (an M6)")
    print(outcome.choice)
    print(f"report: {outcome.report} ({duration(outcome.seconds)} in all)")
