"""Drive and backdrive torques of a model over motor torque, as numbers or as a picture."""

from __future__ import annotations

import argparse
import math

from bench_gui.cli.arguments import add_model, add_several, model_from, positive_float, positive_int
from bench_gui.cli.terminal import add_json, print_json, print_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `bench drive-backdrive`."""
    add_model(parser)
    add_several(parser, "--velocity", float, default=[0.0], metavar="RAD/S,…", help="speeds (default: 0)")
    parser.add_argument(
        "--torque-max",
        type=positive_float,
        metavar="N·M",
        help="largest motor torque; default: what the servo can reach",
    )
    parser.add_argument(
        "--points", type=positive_int, default=21, metavar="N", help="motor torques between the extremes (%(default)s)"
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="picture: .svg, .png or .pdf")
    add_json(parser)


def run(arguments: argparse.Namespace) -> None:
    """Solve, print and draw."""
    import numpy as np

    from core.diagram import drive_backdrive_diagram, reachable_torque, torque_range

    model = model_from(arguments.model)
    largest = arguments.torque_max or reachable_torque(model)
    diagram = drive_backdrive_diagram(model, torque_range(largest, arguments.points), arguments.velocity)
    if arguments.output:
        from bench_gui.headless.report.figures import diagram_figure, save_figure

        curves = drive_backdrive_diagram(model, torque_range(largest), arguments.velocity)
        save_figure(diagram_figure({model.title: curves}), arguments.output)
    if arguments.json:
        print_json(
            {
                "model": model.title,
                "motor_torque": diagram.motor_torque.tolist(),
                "velocity": diagram.velocity.tolist(),
                "drive": diagram.drive.T.tolist(),
                "backdrive": diagram.backdrive.T.tolist(),
                "self_locking": diagram.self_locking.tolist(),
                "unit": "N·m",
            }
        )
        return
    columns = [f"{kind} at {v:g} rad/s" for v in diagram.velocity for kind in ("drive", "backdrive")]
    both = np.stack((diagram.drive, diagram.backdrive), axis=2).reshape(len(diagram.motor_torque), -1)
    rows = [
        [torque, *(None if math.isnan(value) else value for value in row)]
        for torque, row in zip(diagram.motor_torque.tolist(), both.tolist(), strict=True)
    ]
    print_table(["motor torque/N·m", *columns], rows)
    if diagram.self_locking.any():
        print("self-locking: no external torque moves it back")
    if arguments.output:
        print(f"picture written to {arguments.output}")
