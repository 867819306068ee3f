"""Shared parts of the tasks of `bench compliant`: parsing of numbers and actuators, output of tables and figures."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from bench_gui.cli.arguments import add_several, named_list
from bench_gui.cli.terminal import add_json
from core.base.errors import InputError
from core.base.numbers import parse_number

if TYPE_CHECKING:
    from core.studies.compliant.elastic import CompliantActuator
    from core.studies.compliant.files import CompliantUnit

ACTUATOR_CHOICES = ("sea", "awas2", "bavs", "qbmove", "coupled")
"""Names of `core.studies.compliant.elastic.ACTUATORS`."""


def add_outputs(parser: argparse.ArgumentParser, what: str) -> None:
    """Add --csv, --figure and --json; what: the columns of the table."""
    parser.add_argument("--csv", metavar="FILE", help=f"write {what} to a CSV file")
    parser.add_argument("--figure", metavar="FILE", help="write a figure (.svg, .png, .pdf)")
    add_json(parser)


def add_actuator(parser: argparse.ArgumentParser, default: str | None) -> None:
    """Add --actuator and --set; default: None for the paper's actuator."""
    said = default or "the paper's"
    parser.add_argument(
        "--actuator",
        type=actuator_name,
        default=default,
        metavar="ACTUATOR",
        help=f"{', '.join(ACTUATOR_CHOICES)}, or a file written by bench compliant identify (default: {said})",
    )
    add_several(
        parser,
        "--set",
        named_list,
        default=[],
        metavar="NAME=VALUE",
        help="change parameters of the actuator, e.g. k1=0.002,max_deflection=0.9",
    )


def actuator_name(text: str) -> str:
    """Check that a text is the name of an actuator or a .json file."""
    if text in ACTUATOR_CHOICES or text.endswith(".json"):
        return text
    raise argparse.ArgumentTypeError(
        f"{text!r} is neither one of {', '.join(ACTUATOR_CHOICES)} nor an actuator file (.json)"
    )


def actuator_of(arguments: argparse.Namespace) -> CompliantActuator | None:
    """Return the actuator of --actuator and --set, None if neither is given.

    Raises:
        ServoBenchError: --set without --actuator, or an unusable value or file.
    """
    if arguments.actuator is None:
        if arguments.set:
            raise InputError("--set changes the actuator of --actuator; add --actuator")
        return None
    values = {}
    for part in arguments.set:
        name, equals, value = part.partition("=")
        try:
            values[name] = parse_number(value)
        except ValueError:
            equals = ""
        if not equals:
            raise InputError(f"--set {part}: expected NAME=NUMBER, such as max_deflection=0.9")
    return unit_named(arguments.actuator).actuator.with_values(values)


def unit_named(text: str) -> CompliantUnit:
    """Load the actuator of a name or a file, with its motors; raise InputError if that fails."""
    from core.studies.compliant.elastic import ACTUATORS
    from core.studies.compliant.files import CompliantUnit, read_unit

    return CompliantUnit(actuator=ACTUATORS[text]()) if text in ACTUATOR_CHOICES else read_unit(text)


def pair_of(values: Sequence[float], option: str) -> tuple[float, float]:
    """Return the two numbers of an option; raise InputError for fewer or more."""
    if len(values) != 2:
        raise InputError(f"{option}: expected two comma-separated numbers, got {len(values)}")
    return values[0], values[1]


def drawing() -> Any:
    """Import the module of the figures, and with it matplotlib, only when a figure is drawn."""
    return import_module("bench_gui.headless.report.compliant")


def say_written(files: Sequence[str]) -> None:
    """Print the names of the files, if any."""
    if files:
        print(f"written: {', '.join(files)}")
