"""Learn the input that makes a soft arm follow a motion, by iterative learning control (Fig. 15)."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from bench_gui.cli.arguments import not_negative, numbers, positive_float, positive_int
from bench_gui.cli.compliant_files import (
    ACTUATOR_CHOICES,
    actuator_name,
    add_outputs,
    drawing,
    pair_of,
    say_written,
    unit_named,
)
from bench_gui.cli.files import by_joint, write_outputs
from bench_gui.cli.terminal import ProgressBar, add_progress, print_json, print_table

if TYPE_CHECKING:
    from core.studies.compliant.learning import Learned, Reference


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `bench compliant learn`."""
    parser.add_argument(
        "--goal", type=numbers, default=(0.8, 0.8), metavar="RAD,RAD", help="goals of both joints (default: 0.8,0.8)"
    )
    parser.add_argument(
        "--duration",
        type=positive_float,
        default=20.0,
        metavar="S",
        help="duration of the motion (default: %(default)g)",
    )
    parser.add_argument("--reference", metavar="CSV", help="motion to follow, columns time, q1, q2 [s, rad]")
    parser.add_argument(
        "--gain", type=positive_float, default=0.5, metavar="K", help="learning gain K (default: %(default)s)"
    )
    parser.add_argument(
        "--decay",
        type=positive_float,
        default=10.0,
        metavar="N",
        help="decay of the gain: K·exp(−n/N) in iteration n (default: %(default)g)",
    )
    parser.add_argument(
        "--tolerance",
        type=positive_float,
        default=0.08,
        metavar="RAD",
        help="largest allowed error (default: %(default)s)",
    )
    parser.add_argument(
        "--iterations",
        type=positive_int,
        default=11,
        metavar="N",
        help="maximum number of iterations (default: %(default)s)",
    )
    parser.add_argument(
        "--presets",
        type=numbers,
        default=(0.2, 0.2),
        metavar="P,P",
        help="stiffness presets of both joints (default: 0.2,0.2)",
    )
    parser.add_argument(
        "--actuator",
        type=actuator_name,
        metavar="ACTUATOR",
        help=f"actuator of both joints: {', '.join(ACTUATOR_CHOICES)} or a file (default: the paper's qbMoves)",
    )
    parser.add_argument(
        "--load",
        type=positive_float,
        metavar="KG",
        default=0.2,
        help="mass on the second link (default: %(default)g, as in the paper)",
    )
    parser.add_argument(
        "--load-distance",
        type=not_negative,
        metavar="M",
        default=0.04,
        help="distance of the load from joint 2 (default: %(default)g)",
    )
    parser.add_argument(
        "--gravity",
        type=not_negative,
        default=9.81,
        metavar="M/S2",
        help="gravitational acceleration (default: %(default)s)",
    )
    parser.add_argument(
        "--input", metavar="CSV", help="write the learned input: columns time, equilibrium_1, equilibrium_2"
    )
    add_outputs(parser, "input and motion of every iteration")
    add_progress(parser)


def run(arguments: argparse.Namespace) -> None:
    """Learn the input, print and write the result."""
    from core.studies.compliant.arm import IDENTIFIED, CompliantArm, two_joints
    from core.studies.compliant.learning import LearningLaw, in_words, learn, write_input

    law = LearningLaw(
        gain=arguments.gain, decay=arguments.decay, tolerance=arguments.tolerance, iterations=arguments.iterations
    )
    first, second = IDENTIFIED if arguments.actuator is None else (unit_named(arguments.actuator).actuator,) * 2
    arm = CompliantArm(
        links=two_joints(arguments.load, arguments.load_distance),
        actuators=(first, second),
        presets=pair_of(arguments.presets, "--presets"),
    )
    reference = _reference(arguments)
    with ProgressBar(arguments.quiet or arguments.json) as bar:
        found = learn(
            arm.with_gravity(arguments.gravity),
            reference,
            law,
            lambda each: bar.show(each.number / law.iterations, in_words(float(each.worst.max()))),
        )
    numbers = [
        {
            "iteration": each.number,
            "worst_error": each.worst.tolist(),
            "rms_error": each.root_mean_square.tolist(),
            "largest_norm": float(each.error_norm.max()),
        }
        for each in found.iterations
    ]
    files = write_outputs(arguments, _columns(found, reference), lambda: drawing().learning_figure(found))
    if arguments.input:
        files.append(str(write_input(reference.time, found.best.equilibrium, arguments.input)))
    if arguments.json:
        print_json(
            {
                "converged": found.converged,
                "warning": found.warning,
                "best": found.best.number,
                "iterations": numbers,
                "files": files,
            }
        )
        return
    print_table(
        ["iteration", "joint 1: largest/mrad", "rms/mrad", "joint 2: largest/mrad", "rms/mrad", "largest ‖q̂−q‖₂/mrad"],
        [
            [
                each.number,
                *(1e3 * float(v[joint]) for joint in range(2) for v in (each.worst, each.root_mean_square)),
                1e3 * float(each.error_norm.max()),
            ]
            for each in found.iterations
        ],
    )
    print(f"within {in_words(law.tolerance)}" if found.converged else f"warning: {found.warning}")
    say_written(files)


def _columns(found: Learned, reference: Reference) -> dict[str, Any]:
    columns: dict[str, Any] = {"time": reference.time, **by_joint("wanted_", reference.angles)}
    for each in found.iterations:
        columns |= by_joint(f"input of iteration {each.number}, joint ", each.equilibrium)
        columns |= by_joint(f"link equilibrium of iteration {each.number}, joint ", each.link_equilibrium)
        columns |= by_joint(f"link of iteration {each.number}, joint ", each.position)
        columns[f"error norm of iteration {each.number}"] = each.error_norm
    return columns


def _reference(arguments: argparse.Namespace) -> Reference:
    from core.studies.compliant.learning import minimum_jerk, read_reference

    if arguments.reference:
        return read_reference(arguments.reference)
    return minimum_jerk(pair_of(arguments.goal, "--goal"), arguments.duration)
