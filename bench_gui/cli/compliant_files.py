"""What the tasks of `bench compliant` share: how they take numbers, and the tables and pictures they write."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from bench_gui.cli.arguments import add_several, comma_list
from bench_gui.cli.terminal import add_json

if TYPE_CHECKING:
    from core.studies.compliant.elastic import CompliantActuator
    from core.studies.compliant.files import CompliantUnit

ACTUATOR_CHOICES = ("sea", "awas2", "bavs", "qbmove", "coupled")
"""Names of `core.studies.compliant.elastic.ACTUATORS`."""


def add_outputs(parser: argparse.ArgumentParser, what: str) -> None:
    """Offer --csv, --figure and --json; what: the columns of the table."""
    parser.add_argument("--csv", metavar="FILE", help=f"write {what}")
    parser.add_argument("--figure", metavar="FILE", help="draw it: .svg, .png or .pdf")
    add_json(parser)


def add_actuator(parser: argparse.ArgumentParser, default: str | None) -> None:
    """Offer --actuator and --set; default: None for that of the paper."""
    said = default or "that of the paper"
    parser.add_argument(
        "--actuator",
        type=actuator_name,
        default=default,
        metavar="NAME|FILE",
        help=f"{', '.join(ACTUATOR_CHOICES)}, or the springs of a file of bench compliant identify; default: {said}",
    )
    add_several(
        parser, "--set", default=[], metavar="NAME=VALUE,…", help="its parameters, e.g. k1=0.002,max_deflection=0.9"
    )


def numbers_of(text: str) -> tuple[float, ...]:
    """Numbers with commas between them, in one argument."""
    return tuple(float(part) for part in comma_list(text))


def actuator_name(text: str) -> str:
    """The name of an actuator, or a file of one; raises argparse.ArgumentTypeError on others."""
    if text in ACTUATOR_CHOICES or text.endswith(".json"):
        return text
    raise argparse.ArgumentTypeError(f"{text!r} is none of {', '.join(ACTUATOR_CHOICES)} and no file of one (.json)")


def actuator_of(arguments: argparse.Namespace) -> CompliantActuator | None:
    """What --actuator and --set say; None for neither. Raises ServoBenchError."""
    from core.errors import InputError

    if arguments.actuator is None:
        if arguments.set:
            raise InputError("--set changes the actuator of --actuator; name one")
        return None
    values = {}
    for part in arguments.set:
        name, equals, number = part.partition("=")
        try:
            values[name] = float(number)
        except ValueError:
            equals = ""
        if not equals:
            raise InputError(f"--set {part}: give NAME=VALUE with a number, such as max_deflection=0.9")
    return unit_named(arguments.actuator).actuator.with_values(values)


def unit_named(text: str) -> CompliantUnit:
    """The actuator behind `actuator_name`, with its motors; raises InputError."""
    from core.studies.compliant.elastic import ACTUATORS
    from core.studies.compliant.files import CompliantUnit, read_unit

    return CompliantUnit(actuator=ACTUATORS[text]()) if text in ACTUATOR_CHOICES else read_unit(text)


def pair_of(values: Sequence[float], option: str) -> tuple[float, float]:
    """Two numbers of an option; raises InputError for fewer or more."""
    from core.errors import InputError

    if len(values) != 2:
        raise InputError(f"{option}: two numbers with a comma between them are needed, not {len(values)}")
    return values[0], values[1]


def drawing() -> Any:
    """Pictures; matplotlib is imported only where one is asked for."""
    return import_module("bench_gui.headless.report.compliant")


def say_written(files: Sequence[str]) -> None:
    """Name the files, where there are any."""
    if files:
        print(f"written: {', '.join(files)}")
