"""Export a model to a simulator or to firmware, or the recordings of a session.

Sessions are exported to csv, bam (Rhoban/bam) or h5 (one file with everything), models to all other targets.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench_gui.cli.arguments import OR_EXAMPLE, any_number, model_from, positive_float, session_place
from bench_gui.cli.session_runs import say_damage
from bench_gui.cli.terminal import add_json, print_json
from core.base.errors import ExportError, NotChecked
from core.base.numbers import parse_number
from core.base.words import counted
from core.export.targets import TARGETS
from core.servo.terms import FRICTION_MODELS

if TYPE_CHECKING:
    from core.servo.model import ServoModel

SESSION_TARGETS = ("csv", "bam", "h5")
WORDS = ("syntax", "friction", "drive", "missing")
"""Options of targets with a word as value; all others are numbers."""

OWN = {"bench": "--mass and --length", "name": "--name", "force": "--force"}
"""Options with their own arguments."""

EXAMPLES = """\
examples:
  bench export xl330:m6 --to mujoco --check -o exported
  bench export result/m6.json --to c --kp 400 -o firmware
  bench export shoulder_lift=a.json elbow_flex=b.json --to mujoco -o arm
  bench export session --to csv -o recordings"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `bench export`."""
    parser.add_argument(
        "source",
        nargs="+",
        metavar="MODEL|SESSION",
        type=session_place,
        help=f"model file, shipped model, or session{OR_EXAMPLE}; several models as NAME=MODEL, e.g. one per joint",
    )
    targets = dict.fromkeys((*TARGETS, *SESSION_TARGETS))
    parser.add_argument("--to", required=True, choices=targets, metavar="TARGET", help=", ".join(targets))
    parser.add_argument(
        "--kp", type=any_number, metavar="P", help="gain of the exported actuator (default: the catalogue's)"
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        type=_setting,
        metavar="NAME=VALUE",
        help="set an option of the target: ki, damping, supply_voltage [V], timestep [s] and others (an unknown name "
        "lists them); may be repeated. For mujoco: syntax 3.12 (MuJoCo 3.12 and later; default), 3.7 "
        "(3.7 to 3.11, mjlab 1.6) or 3.1 (3.1 and later, MJX), and friction coulomb (default) or lugre",
    )
    parser.add_argument(
        "--mass", type=positive_float, metavar="KG", help="mass of the example's pendulum; requires --length"
    )
    parser.add_argument(
        "--length", type=positive_float, metavar="M", help="length of the example's pendulum; requires --mass"
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="run the exported files in their engine, or in a built-in copy of its rules, and report the error",
    )
    parser.add_argument("-o", "--output", required=True, metavar="DIR", help="folder for the files")
    parser.add_argument(
        "--name",
        metavar="NAME",
        help="name of files, symbols, classes and nodes (default: the model's name, with gains and supply that differ "
        "from the catalogue's)",
    )
    parser.add_argument("--force", action="store_true", help="overwrite existing files that differ")
    add_json(parser)


def _setting(text: str) -> tuple[str, float | str]:
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    if name in OWN:
        raise argparse.ArgumentTypeError(f"{name} has its own option; give {OWN[name]}")
    try:
        return name, value if name in WORDS else parse_number(value)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{name} = {value!r} is not a number") from None


def run(arguments: argparse.Namespace) -> None:
    """Export and print the written files."""
    sources: list[str] = arguments.source
    if len(sources) == 1 and _is_session(sources[0]):
        _export_session(arguments, sources[0])
        return
    named = [_named(text) for text in sources]
    if arguments.name and len(named) > 1:
        raise ExportError("--name names one model; for several, write NAME=MODEL")
    if arguments.to not in TARGETS:
        raise ExportError(f"a model cannot be exported to {arguments.to}; there are {', '.join(TARGETS)}")
    models = [(name or arguments.name, model_from(source)) for name, source in named]
    rows = [_export_model(arguments, model, name) for name, model in models]
    if arguments.json:
        print_json(rows if len(rows) > 1 else rows[0])


def _named(text: str) -> tuple[str | None, str]:
    """Split NAME=MODEL; the name of a lone MODEL is None."""
    name, equals, source = text.partition("=")
    return (name, source) if equals and name.isidentifier() and not Path(text).exists() else (None, text)


def _is_session(source: str) -> bool:
    path = Path(source)
    servo, _, variant = source.partition(":")
    shipped = bool(servo) and variant.lower() in FRICTION_MODELS
    return path.is_dir() or (path.suffix == ".h5" and not shipped)


def _export_session(arguments: argparse.Namespace, source: str) -> None:
    from sessions import Session, export_bam, export_csv, export_single

    session = Session.open(source)
    output = Path(arguments.output)
    if arguments.to == "csv":
        files = export_csv(session, None, output)
    elif arguments.to == "bam":
        files = export_bam(session, None, output)
    elif arguments.to == "h5":
        output.mkdir(parents=True, exist_ok=True)
        target = output / f"{Path(source).resolve().stem}.h5"
        export_single(session, target)
        files = [target]
    else:
        raise ExportError(f"a session cannot be exported to {arguments.to}; there are {', '.join(SESSION_TARGETS)}")
    damage = session.damage()
    say_damage(arguments, damage)
    if arguments.json:
        print_json({"files": [str(file) for file in files], "damage": damage})
    else:
        print(f"{counted(len(files), 'file')} written to {output}")


def _export_model(arguments: argparse.Namespace, model: ServoModel, name: str | None) -> dict[str, Any]:
    """Export one model, print what was written unless JSON is asked for, and return it as JSON."""
    from bench_gui.headless.exporting import check_files
    from core.export import export_model

    options = _options(arguments)
    folder = Path(arguments.output)
    result = export_model(model, arguments.to, arguments.output, name=name, force=arguments.force, **options)
    if not arguments.json:
        for file in result.files:
            print(file)
        for note in result.notes:
            print(f"note: {note}")
    checked, not_checked = None, "how far the exported motion is from the model's is measured by --check"
    if arguments.check:
        try:
            checked = check_files(model, arguments.to, folder, options, name)
        except NotChecked as error:
            not_checked = str(error)
    if not arguments.json:
        print(f"not checked: {not_checked}" if checked is None else checked.statement)
    return {
        "files": [str(file) for file in result.files],
        "notes": list(result.notes),
        "checked_mrad": None if checked is None else checked.mean_mrad,
        "checked": None
        if checked is None
        else {"how": checked.statement, "worst_mrad": checked.worst_mrad, "mrad": dict(checked.errors)},
        "not_checked": not_checked if checked is None else None,
    }


def _options(arguments: argparse.Namespace) -> dict[str, Any]:
    from core.servo.bench import Bench

    options: dict[str, Any] = dict(arguments.set)
    if arguments.kp is not None and arguments.to not in ("json", "bam"):
        options["kp"] = arguments.kp
    if (arguments.mass is None) != (arguments.length is None):
        raise ExportError("a pendulum needs both --mass and --length")
    if arguments.mass is not None:
        options["bench"] = Bench(mass=arguments.mass, length=arguments.length)
    return options
