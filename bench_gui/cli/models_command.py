"""List the servo catalogue with the models that come with it, or show one model's parameters."""

from __future__ import annotations

import argparse

from bench_gui.cli.arguments import model_from
from bench_gui.cli.terminal import add_json, print_json, print_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `bench models`."""
    parser.add_argument("model", nargs="?", metavar="FILE|SERVO:VARIANT", help="show this one")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the list or the model."""
    if arguments.model:
        return _show(arguments)
    from core.catalogue import published_originals, servos, shipped_models

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
                    "models": list(shipped_models(spec.name)),
                    "published": list(published_originals(spec.name)),
                }
                for spec in servos().values()
            ]
        )
        return 0
    print_table(
        ["servo", "title", "law", "supply/V", "stall torque/N·m", "models"],
        [
            [
                s.name,
                s.title,
                s.control.law,
                s.supply_voltage,
                s.stall_torque,
                " ".join(shipped_models(s.name)) or "none",
            ]
            for s in servos().values()
        ],
    )
    print("mx106:m6-published and so on: the same as published, with the integrator and step they were fitted with")
    return 0


def _show(arguments: argparse.Namespace) -> int:
    model = model_from(arguments.model)
    if arguments.json:
        print_json(model.to_json())
        return 0
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
    return 0
