"""Record trajectories with a servo into a session; the servo is released after every run and on Ctrl+C."""

from __future__ import annotations

import argparse

from bench_gui.cli.arguments import add_bench, bench_from, positive_float
from bench_gui.cli.terminal import ProgressBar, add_json, add_progress, print_json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `bench record`."""
    parser.add_argument(
        "--servo", default="simulated:mx106", metavar="ADDRESS", help="e.g. simulated:xl330 (%(default)s)"
    )
    parser.add_argument(
        "--trajectory",
        nargs="+",
        default=["paper"],
        metavar="T",
        help='names, or "paper" for the four of the paper (%(default)s)',
    )
    parser.add_argument(
        "--duration", type=positive_float, metavar="S", help="of each run; default: the trajectory's own"
    )
    parser.add_argument("--rate", type=positive_float, default=200.0, metavar="HZ", help="(%(default)s)")
    add_bench(parser)
    parser.add_argument(
        "--fast", action="store_true", help="simulated servo only: as fast as possible, not in real time"
    )
    parser.add_argument(
        "-o", "--output", required=True, metavar="SESSION", help="session folder, made if it is not there"
    )
    add_json(parser)
    add_progress(parser)


def run(arguments: argparse.Namespace) -> int:
    """Record and list the new runs."""
    from bench_gui.recording import RecordingPlan, record_plan
    from core.trajectories import PAPER_TRAJECTORIES, make_trajectory

    names = PAPER_TRAJECTORIES if arguments.trajectory == ["paper"] else arguments.trajectory
    plan = RecordingPlan(
        servo=arguments.servo,
        trajectories=tuple(make_trajectory(name, arguments.duration) for name in names),
        bench=bench_from(arguments),
        kp=arguments.kp,
        ki=arguments.ki,
        kd=arguments.kd,
        supply_voltage=arguments.vin,
        damping=arguments.damping,
        rate=arguments.rate,
        fast=arguments.fast,
    )
    bar = ProgressBar(arguments.quiet or arguments.json)
    results = record_plan(plan, arguments.output, bar.show)
    bar.clear()
    if arguments.json:
        print_json([result.to_json() for result in results])
    else:
        for result in results:
            print(f"{result.id}: {result.exit_status}" + (f", {result.reason}" if result.reason else ""))
    return 0 if all(result.exit_status == "success" for result in results) else 1
