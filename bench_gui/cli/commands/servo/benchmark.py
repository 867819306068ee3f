"""Measure this machine: simulation in ns per time step, threads, and the duration of an identification."""

from __future__ import annotations

import argparse

from bench_gui.cli.terminal import add_json, print_json, print_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `bench benchmark`."""
    add_json(parser)


def run(arguments: argparse.Namespace) -> None:
    """Run the measurements and print them."""
    from core.identification.benchmark import run_benchmark

    figures = run_benchmark()
    if arguments.json:
        print_json([figure.to_json() for figure in figures])
        return
    print_table(["figure", "value", "unit"], [[figure.name, figure.value, figure.unit] for figure in figures])
