"""Print or plot the drive and backdrive torques of a model over motor torque."""

from __future__ import annotations

import argparse
import math

from bench_gui.cli.arguments import add_model, add_several, model_from, numbers, positive_float, positive_int
from bench_gui.cli.terminal import add_json, print_json, print_table

EXAMPLES = """\
examples:
  bench drive-backdrive --model xl330:m6
  bench drive-backdrive --model result/m6.json --velocity 0 2 -o torques.svg"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `bench drive-backdrive`."""
    add_model(parser)
    add_several(parser, "--velocity", numbers, default=[0.0], metavar="RAD/S", help="velocities (default: 0)")
    parser.add_argument(
        "--torque-max",
        type=positive_float,
        metavar="N·M",
        help="largest motor torque (default: the servo's)",
    )
    parser.add_argument(
        "--points", type=positive_int, default=21, metavar="N", help="number of motor torques (default: %(default)s)"
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="write a figure (.svg, .png, .pdf)")
    add_json(parser)


def run(arguments: argparse.Namespace) -> None:
    """Compute, print and draw the torques."""
    import numpy as np

    from core.practice.diagram import drive_backdrive_diagram, reachable_torque, torque_range

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
        print("self-locking: no external torque backdrives it")
    if arguments.output:
        print(f"figure written to {arguments.output}")
