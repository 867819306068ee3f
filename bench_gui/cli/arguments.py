"""Arguments shared by several sub-commands, and the parsing of their values."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.base.errors import IdentificationError
from core.base.numbers import is_pair, number_parts, parse_number, parse_whole
from core.identification.options import CHOICES, IdentificationOptions, options_of
from core.servo.terms import FRICTION_MODELS, Integrator

if TYPE_CHECKING:
    from core.servo.bench import Bench
    from core.servo.model import ServoModel
    from core.servo.servo_spec import ServoSpec

OPTIONS = options_of(IdentificationOptions)
SERVO_ARGUMENTS = ("servo", "emulator")
"""Arguments of any command that hold a servo's name or address."""
EXAMPLE_NAME = "example"
OR_EXAMPLE = f', or "{EXAMPLE_NAME}" for your copy of the example session (unless ./{EXAMPLE_NAME} exists)'


class HelpFormatter(argparse.HelpFormatter):
    """Help formatter that keeps paragraphs, and leaves paragraphs with indented lines as they are."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        wrapped = super()._fill_text
        paragraphs = text.strip("\n").split("\n\n")
        return "\n\n".join(each if "\n " in f"\n{each}" else wrapped(each, width, indent) for each in paragraphs)


class CommandParser(argparse.ArgumentParser):
    """Parser of a command; takes numbers with a decimal comma."""

    def __init__(self, *arguments: Any, **how: Any) -> None:
        super().__init__(*arguments, **{"formatter_class": HelpFormatter, **how})
        # argparse takes -0.5 for a value but -0,5, -1e-3 and -1,2 for unknown options.
        self._negative_number_matcher = re.compile(r"-[.,]?\d")


def add_task(tasks: Any, name: str, summary: str, **how: Any) -> argparse.ArgumentParser:
    """Add the parser of one task of a command, with its summary as description; how: as `add_parser`."""
    return tasks.add_parser(name, help=summary, **{"description": f"{summary[0].upper()}{summary[1:]}.", **how})


def any_number(text: str) -> float:
    """Parse a finite number, see `core.base.numbers`."""
    try:
        return parse_number(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def any_int(text: str) -> int:
    """Parse a whole number, see `core.base.numbers`."""
    try:
        return parse_whole(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def not_negative(text: str) -> float:
    """Parse a finite number of at least 0."""
    value = any_number(text)
    if value < 0.0:
        raise argparse.ArgumentTypeError(f"{text} is negative; give 0 or more")
    return value


def positive_int(text: str) -> int:
    """Parse a whole number of at least 1."""
    value = any_int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is less than 1; give 1 or more")
    return value


def positive_float(text: str) -> float:
    """Parse a finite number above 0."""
    value = any_number(text)
    if value <= 0.0:
        raise argparse.ArgumentTypeError(f"{text} is not a positive number")
    return value


def comma_list(text: str) -> list[str]:
    """Split comma-separated values."""
    return [part.strip() for part in text.split(",") if part.strip()]


def named_list(text: str) -> list[str]:
    """Split comma-separated NAME=VALUE; a comma before a digit is the decimal sign of a value."""
    return [part.strip() for part in re.split(r",(?!\d)", text) if part.strip()]


def list_of_numbers(text: str) -> str:
    """Return a list of numbers with semicolons if it is a pair such as 1,5; the terminal shows how it is read."""
    if not is_pair(text):
        return text
    first, _, second = text.strip().partition(",")
    print(f"note: {text} is read as {first} and {second}; write {first}.{second} for one number", file=sys.stderr)
    return f"{first}; {second}"


def numbers(text: str, item: Callable[[str], float] = any_number) -> tuple[float, ...]:
    """Parse numbers separated by commas or semicolons; item: parses one of them."""
    try:
        return tuple(item(part) for part in number_parts(list_of_numbers(text)))
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def positive_numbers(text: str) -> tuple[float, ...]:
    """Parse positive numbers separated by commas or semicolons."""
    return numbers(text, positive_float)


class _Flat(argparse.Action):
    """Concatenate lists of values into one list."""

    def __call__(
        self, parser: Any, namespace: argparse.Namespace, values: Any, option_string: str | None = None
    ) -> None:
        setattr(namespace, self.dest, [value for part in values for value in part])


def add_several(parser: Any, flag: str, values: Callable[[str], Iterable[Any]] = comma_list, **how: Any) -> None:
    """Add an option with several values, separated by commas or spaces.

    Args:
        parser: A parser or a group of arguments.
        flag: The option.
        values: Parses a text with one or more values.
        how: As `add_argument`.
    """
    parser.add_argument(flag, nargs="+", type=values, action=_Flat, **how)


RECORDING_OPTIONS = ("dt", "supply", "threads")
"""Options of `add_recordings`."""


def add_options(parser: argparse.ArgumentParser, *names: str, **defaults: Any) -> None:
    """Add options of an identification by the names of their fields, see `core.identification.options`.

    Args:
        parser: The parser.
        names: Names of the fields.
        defaults: Defaults that differ from those of the fields, as text.
    """
    for name in names:
        field, option = OPTIONS[name]
        default: Any = defaults.get(name, field.default)
        shown = (option.automatic if name not in defaults else "") or (
            default if isinstance(default, str | int | float) else ""
        )
        text = option.tip[0].lower() + option.tip[1:]
        how: dict[str, Any] = {"default": default, "help": text.replace("%", "%%")}
        if isinstance(default, bool):
            how["action"] = argparse.BooleanOptionalAction
        else:
            how |= {"metavar": option.metavar, "type": _parser_of(name), "choices": CHOICES.get(name)}
            how["help"] += f" (default: {shown})".replace("%", "%%") if shown != "" else ""
        if default == ():
            how |= {"action": "append", "default": []}
        parser.add_argument(f"--{name.replace('_', '-')}", **how)


def options_from(arguments: argparse.Namespace, **instead: Any) -> dict[str, Any]:
    """Return the fields of a request that `add_options` has added, in SI units; instead: values that override them."""
    given: dict[str, Any] = {}
    for name, (_, option) in OPTIONS.items():
        if name in arguments:
            value = getattr(arguments, name)
            if isinstance(value, list):
                value = tuple(value)
            elif option.flag_scale != 1.0 and value is not None:
                value *= option.flag_scale
            given[name] = value
    return given | instead


def _parser_of(name: str) -> Callable[[str], Any]:
    """Return the parser of an option's text."""
    field, option = OPTIONS[name]
    special = {"models": friction_models, "frozen": frozen_value, "bounds": bounds_of}
    positive = field.default is None or option.lower > 0.0
    kinds = {"int": positive_int if positive else any_int, "float": positive_float if positive else not_negative}
    return special.get(name) or kinds.get(str(field.type).removesuffix(" | None"), str)


def frozen_value(text: str) -> tuple[str, float]:
    """Parse NAME=NUMBER; raise IdentificationError otherwise."""
    name, equals, value = text.partition("=")
    try:
        return name, parse_number(value if equals else "")
    except ValueError:
        raise IdentificationError(f"--frozen {text}: expected NAME=NUMBER") from None


def bounds_of(text: str) -> tuple[str, float, float]:
    """Parse NAME=LOW:HIGH; raise IdentificationError otherwise."""
    name, _, values = text.partition("=")
    low, _, high = values.partition(":")
    try:
        return name, parse_number(low), parse_number(high)
    except ValueError:
        raise IdentificationError(f"--bounds {text}: expected NAME=LOW:HIGH") from None


def friction_models(text: str) -> tuple[str, ...]:
    """Parse "all", or comma-separated friction models."""
    names = tuple(name.lower() for name in comma_list(text))
    if names == ("all",):
        return FRICTION_MODELS
    wrong = [name for name in names if name not in FRICTION_MODELS]
    if wrong or not names:
        raise argparse.ArgumentTypeError(f'{text!r} is neither "all" nor a list of {",".join(FRICTION_MODELS)}')
    return names


def add_servo_files(arguments: argparse.Namespace) -> None:
    """Replace servo files in the arguments that name a servo by the servo's name, see `servo_text`."""
    for name in SERVO_ARGUMENTS:
        value = getattr(arguments, name, None)
        if isinstance(value, str):
            setattr(arguments, name, servo_text(value))


def servo_text(text: str) -> str:
    """Return a servo's name or address without servo files, see `keep_servo_files`."""
    from core.servo.catalogue import keep_servo_files

    return keep_servo_files(text, _check_buses)


def _check_buses(spec: ServoSpec) -> None:
    from drivers.registry import check_buses

    check_buses(spec)


def add_model(parser: argparse.ArgumentParser) -> None:
    """Add --model."""
    parser.add_argument(
        "--model",
        required=True,
        metavar="MODEL",
        help="model file (ServoBench or Rhoban/bam), or a shipped model such as mx106:m6 or mx106:m6-published",
    )


def add_simulation(parser: argparse.ArgumentParser) -> None:
    """Add the options of a simulation."""
    parser.add_argument("--integrator", choices=CHOICES["integrator"], help="integrator (default: the model's)")
    parser.add_argument(
        "--substeps",
        type=positive_int,
        metavar="N",
        help="time steps per sample interval of the model's identification (default: the model's)",
    )


def session_place(text: str) -> str:
    """Return the path of a session; the name of an example stands for a copy of it.

    A file or folder of that name in the working directory takes precedence.
    """
    if not text.startswith(EXAMPLE_NAME) or Path(text).exists():
        return text
    from sessions.folders import EXAMPLES, example_session

    return str(example_session(name=text)) if text in EXAMPLES else text


def add_session(parser: argparse.ArgumentParser, what: str = "session folder or exported session file") -> None:
    """Add SESSION."""
    parser.add_argument("session", metavar="SESSION", type=session_place, help=f"{what}{OR_EXAMPLE}")


def add_recordings(parser: argparse.ArgumentParser) -> None:
    """Add a session and the options that select and resample its recordings."""
    add_session(parser)
    parser.add_argument(
        "--runs",
        type=comma_list,
        metavar="ID,…",
        help="use only these runs (default: all that succeeded and are not excluded)",
    )
    add_tag(parser)
    add_sample(parser)
    add_options(parser, *RECORDING_OPTIONS)


def add_tag(parser: argparse.ArgumentParser) -> None:
    """Add --tag."""
    parser.add_argument("--tag", type=comma_list, metavar="T,…", help="use only runs with at least one of these tags")


def add_sample(parser: argparse.ArgumentParser) -> None:
    """Add --sample and --sample-seed."""
    parser.add_argument(
        "--sample",
        type=positive_int,
        metavar="N",
        help="read only N of these runs, spread evenly over the conditions (default: all)",
    )
    parser.add_argument(
        "--sample-seed", type=any_int, default=0, metavar="S", help="random seed of the sample (default: %(default)s)"
    )


def add_bench(parser: argparse.ArgumentParser) -> None:
    """Add the bench and the servo's settings."""
    add_pendulum(parser)
    parser.add_argument(
        "--kp", type=any_number, metavar="P", help="proportional gain in the servo's unit (default: the catalogue's)"
    )
    parser.add_argument(
        "--ki",
        type=any_number,
        default=0.0,
        metavar="I",
        help="integral gain in the servo's unit (default: %(default)g)",
    )
    parser.add_argument(
        "--kd",
        type=any_number,
        default=0.0,
        metavar="D",
        help="derivative gain in the servo's unit (default: %(default)g)",
    )
    parser.add_argument(
        "--supply-voltage", type=positive_float, metavar="V", help="supply voltage (default: the model's)"
    )
    parser.add_argument(
        "--damping", type=any_number, metavar="D", help="velocity gain, for control laws with one (eRob)"
    )


def add_pendulum(parser: Any) -> None:
    """Add the pendulum's mass, rod and length to a parser or a group of arguments."""
    parser.add_argument(
        "--mass", type=positive_float, default=0.5, metavar="KG", help="mass of the load (default: %(default)g)"
    )
    parser.add_argument(
        "--arm-mass", type=any_number, default=0.0, metavar="KG", help="mass of the uniform rod (default: %(default)g)"
    )
    parser.add_argument(
        "--length",
        type=positive_float,
        default=0.15,
        metavar="M",
        help="distance from the shaft to the load (default: %(default)g)",
    )


def bench_from(arguments: argparse.Namespace) -> Bench:
    """Return the bench of `add_pendulum`'s options."""
    from core.servo.bench import Bench

    return Bench(mass=arguments.mass, length=arguments.length, arm_mass=arguments.arm_mass)


def model_from(text: str, integrator: Integrator | None = None, substeps: int | None = None) -> ServoModel:
    """Load a model as `open_model`, with another integrator or number of substeps if given."""
    from core.motion.simulation import with_integration
    from core.servo.shipped import open_model

    return with_integration(open_model(text, _check_buses), integrator, substeps)
