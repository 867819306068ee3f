"""Export compliant joints to Gazebo: a URDF with the plugins of the paper's toolbox, and its manager's configuration.

Every joint moves a pendulum with the given load.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from bench_gui.cli.arguments import any_int, comma_list, not_negative, positive_float
from bench_gui.cli.compliant_files import actuator_of, add_actuator, say_written
from bench_gui.cli.terminal import add_json, print_json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `bench compliant export`."""
    add_actuator(parser, "qbmove")
    parser.add_argument(
        "--mode", type=any_int, choices=range(7), default=6, metavar="0…6", help="operation mode (default: %(default)s)"
    )
    parser.add_argument(
        "--robot", default="compliant_bench", metavar="NAME", help="name of the robot (default: %(default)s)"
    )
    parser.add_argument(
        "--joints", type=comma_list, default=("joint",), metavar="NAME,…", help="names of the joints (default: joint)"
    )
    parser.add_argument(
        "--mass", type=positive_float, default=0.2, metavar="KG", help="mass of the load (default: %(default)s)"
    )
    parser.add_argument(
        "--length",
        type=positive_float,
        default=0.04,
        metavar="M",
        help="distance from the shaft to the load (default: %(default)s)",
    )
    parser.add_argument(
        "--damping",
        type=not_negative,
        default=0.065,
        metavar="N·m·s/rad",
        help="damping of the link (default: %(default)s)",
    )
    parser.add_argument(
        "--friction",
        type=not_negative,
        default=0.025,
        metavar="N·m",
        help="Coulomb friction of the link (default: %(default)s)",
    )
    parser.add_argument("-o", "--output", required=True, metavar="DIR", help="folder for the files")
    add_json(parser)


def run(arguments: argparse.Namespace) -> None:
    """Write the files and print their paths."""
    from core.servo.bench import Bench
    from core.studies.compliant.array import JointArray, NamedJoint
    from core.studies.compliant.elastic import QbMove
    from core.studies.compliant.gazebo import write_gazebo
    from core.studies.compliant.joint import CompliantJoint, CompliantLink
    from core.studies.compliant.modes import Mode

    load = Bench(mass=arguments.mass, length=arguments.length)
    link = CompliantLink.of_bench(load, damping=arguments.damping, friction=arguments.friction)
    joint = CompliantJoint(actuator=actuator_of(arguments) or QbMove(), link=link)
    joints = tuple(NamedJoint(name=name, joint=joint, mode=Mode(arguments.mode)) for name in arguments.joints)
    array = JointArray(name=arguments.robot, joints=joints)
    files = [str(path) for path in write_gazebo(Path(arguments.output), array)]
    if arguments.json:
        topics = {named.name: [f"{array.name}/{topic}" for topic in named.reference_topics] for named in joints}
        print_json({"files": files, "actuator": joint.actuator.name, "mode": arguments.mode, "references": topics})
        return
    say_written(files)
