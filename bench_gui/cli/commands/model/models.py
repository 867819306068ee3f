"""List the servo catalogue and its models, show one model, or add your own servo.

To add a servo, write a commented template with --new, fill it in, and pass the file to bench models.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from shlex import quote

from bench_gui.cli.arguments import model_from, servo_text
from bench_gui.cli.terminal import add_json, print_json, print_table
from core.base.atomic import write_atomically
from core.base.errors import InputError

EXAMPLES = """\
examples:
  bench models
  bench models xl330:m6
  bench models --new my.toml
  bench models my.toml"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `bench models`."""
    parser.add_argument(
        "model", nargs="?", metavar="MODEL", help="model file or shipped model to show, or servo file to add"
    )
    parser.add_argument("--new", metavar="FILE.toml", help="write a template for a servo file")
    add_json(parser)


def run(arguments: argparse.Namespace) -> None:
    """Print the list or the model."""
    if arguments.new:
        return _write_new(Path(arguments.new))
    if arguments.model:
        return _show(arguments)
    from core.servo.catalogue import broken_servos, own_folder, servos
    from core.servo.shipped import published_originals, shipped_models

    if arguments.json:
        print_json(
            [
                {
                    "servo": spec.name,
                    "title": spec.title,
                    "law": spec.control.law,
                    "error_gain": spec.control.error_gain,
                    "output_limit": spec.control.output_limit,
                    "supply_voltage": spec.supply_voltage,
                    "aliases": list(spec.aliases),
                    "own": bool(spec.file),
                    "models": list(shipped_models(spec.name)),
                    "published": list(published_originals(spec.name)),
                }
                for spec in servos().values()
            ]
        )
        return
    print_table(
        ["servo", "title", "law", "supply/V", "stall torque/N·m", "models"],
        [
            [
                s.name,
                s.title,
                s.control.law,
                s.supply_voltage,
                s.stall_torque,
                " ".join(shipped_models(s.name)) or ("your own" if s.file else "none"),
            ]
            for s in servos().values()
        ],
    )
    print("mx106:m6-published etc.: the model as published, with the integrator and time step of its fit")
    print(f"your own servos are kept in {own_folder()}; add one with bench models --new my.toml")
    for problem in broken_servos().values():
        print(f"not usable: {problem}")


def _write_new(path: Path) -> None:
    from core.servo.catalogue import new_servo_text, parse_servo

    if path.suffix != ".toml":
        raise InputError(f"{path}: a servo file ends in .toml; try {path.stem}.toml")
    text = new_servo_text(path.stem)
    name = parse_servo(text, f"{path}: the file's name becomes the servo's").name
    if path.exists():
        raise InputError(f"{path}: already exists; choose another name, or use it with bench models {path}")
    write_atomically(path, text.encode())
    print(
        f"{path} written; fill in the numbers of your servo, then\n"
        f"  bench models {quote(str(path))}    # check the file and add the servo {name}\n"
        f"  bench record --servo simulated:{name} --fast -o trial    # try it without hardware\n"
        f"  bench identify SESSION --servo {name} -o result    # fit it to your recordings"
    )


def _show(arguments: argparse.Namespace) -> None:
    text = servo_text(arguments.model)
    model = model_from(text if ":" in text or text == arguments.model else f"{text}:m6")
    if arguments.json:
        print_json(model.to_json())
        return
    print(
        f"{model.title}: {model.servo}, {model.friction.upper()}, {model.control.law} law, {model.supply_voltage:g} V"
    )
    print(f"integrator {model.integration}, quadratic term: {model.quadratic_gate}, contact: {model.contact}")
    print_table(
        ["parameter", "symbol", "value", "unit", "lower", "upper", "meaning"],
        [
            [p.name, p.symbol, p.value, p.unit, p.lower, p.upper, p.description + (" (at bound)" if p.at_bound else "")]
            for p in model.parameters.values()
        ],
    )
    source = model.provenance.get("source")
    if source:
        print(f"source: {source}")
    if model.carried_over:
        print(model.carried_over)
