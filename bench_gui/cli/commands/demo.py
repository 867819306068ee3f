"""The whole path without hardware: simulated MX-106, the paper's grid in small, M1–M6, export, report with pictures."""

from __future__ import annotations

import argparse

from bench_gui.cli.terminal import ProgressBar, add_json, add_progress, duration, print_json, print_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `bench demo`."""
    parser.add_argument(
        "-o", "--output", required=True, metavar="DIR", help="folder for session, models, exports and report"
    )
    parser.add_argument("--fast", action="store_true", help="smaller grid and budget")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="(%(default)s)")
    add_json(parser)
    add_progress(parser)


def run(arguments: argparse.Namespace) -> None:
    """Run the demo and say what to look at."""
    from bench_gui.headless.demo import run_demo

    bar = ProgressBar(arguments.quiet or arguments.json)
    outcome = run_demo(arguments.output, fast=arguments.fast, seed=arguments.seed, show=bar.show)
    bar.clear()
    if arguments.json:
        print_json(outcome.to_json())
        return
    print_table(
        ["model", "training/mrad", "validation/mrad", "against the truth/mrad"],
        [[row.model.upper(), row.train_mrad, row.validation_mrad, row.truth_mrad] for row in outcome.rows],
    )
    print("against the truth: mean distance from the exact motion of the simulated servo, which is an M6")
    print(outcome.choice)
    print(f"report: {outcome.report} ({duration(outcome.seconds)} in all)")
