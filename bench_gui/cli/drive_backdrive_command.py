"""Drive and backdrive torques of a model over motor torque, as numbers or as a picture."""

from __future__ import annotations

import argparse

from bench_gui.cli.arguments import add_model, model_from, positive_float, positive_int
from bench_gui.cli.terminal import add_json, print_json, print_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `bench drive-backdrive`."""
    add_model(parser)
    parser.add_argument(
        "--velocity", type=float, nargs="+", default=[0.0], metavar="RAD/S", help="speeds (%(default)s)"
    )
    parser.add_argument(
        "--torque-max", type=positive_float, metavar="N·M", help="largest motor torque; default: the servo's peak"
    )
    parser.add_argument(
        "--points", type=positive_int, default=21, metavar="N", help="motor torques between the extremes (%(default)s)"
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="picture: .svg, .png or .pdf")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Solve, print and draw."""
    import numpy as np

    from core.diagram import CURVE_POINTS, drive_backdrive_diagram, peak_torque

    model = model_from(arguments.model)
    largest = arguments.torque_max or peak_torque(model)
    torques = np.linspace(-largest, largest, arguments.points) if arguments.points > 1 else np.array([largest])
    diagram = drive_backdrive_diagram(model, torques, arguments.velocity)
    if arguments.output:
        from bench_gui.report.figures import diagram_figure, save_figure

        curves = drive_backdrive_diagram(model, np.linspace(-largest, largest, CURVE_POINTS), arguments.velocity)
        save_figure(diagram_figure({model.title: (model.friction, curves)}), arguments.output)
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
        return 0
    columns = [f"{kind} at {v:g} rad/s" for v in diagram.velocity for kind in ("drive", "backdrive")]
    rows = [
        [float(torque), *(float(x) for pair in zip(drive, backdrive, strict=True) for x in pair)]
        for torque, drive, backdrive in zip(diagram.motor_torque, diagram.drive, diagram.backdrive, strict=True)
    ]
    print_table(["motor torque/N·m", *columns], rows)
    if diagram.self_locking.any():
        print("self-locking: no external torque moves it back")
    if arguments.output:
        print(f"picture written to {arguments.output}")
    return 0
