"""Validate friction models on an arm of two servos, simulated or measured (Duclusaud et al., section VI-B).

--arm selects the servos of one of the paper's arms. The paper gives neither link parameters nor path sizes; the ones
used here give gravity torques of 10 to 25 % of the servos' peak torque. --joint1, --joint2 and --links replace them.

The joints' models are the truth, simulated at a tenth of the time step. The compared models replace them.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from bench_gui.cli.arguments import add_task, comma_list, friction_models, model_from, positive_float
from bench_gui.cli.commands.studies import arm_identify
from bench_gui.cli.files import by_joint, write_table
from bench_gui.cli.terminal import ProgressBar, add_json, add_progress, print_json, print_table
from core.base.errors import InputError
from core.base.words import counted
from core.servo.terms import RICHEST

if TYPE_CHECKING:
    from core.servo.model import ServoModel
    from core.studies.arm.links import ArmLinks
    from core.studies.arm.validation import ArmValidation

ARM_CHOICES = ("dynamixel", "erob")
ASSUMED_LINKS = (
    "the paper gives only the servos: links and path sizes are ServoBench's; --links FILE replaces the links"
)
NOT_REPEATED = (
    "the paper's Fig. 5 and its factors 2.93, 2.02, 2.34 and 1.51 cannot be repeated: they belong to logs of single "
    "servos that are not public"
)
TRUTH = RICHEST
"""Default friction model of the joints."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `bench arm`."""
    tasks = parser.add_subparsers(dest="task", metavar="TASK", required=True)
    validate = add_task(
        tasks,
        "validate",
        "compare friction models with the true or measured motion of an arm",
        description=f"Compare friction models with the true or measured motion of an arm. Note: {NOT_REPEATED}.",
    )
    _add_arm(validate)
    validate.add_argument(
        "--paths", type=comma_list, metavar="P,…", help="circle, square, square_wave, triangular_wave (default: all)"
    )
    validate.add_argument(
        "--gains",
        type=comma_list,
        metavar="G,…",
        help="gains of both servos: low (half the catalogue's), high (twice) or numbers (default: low,high)",
    )
    validate.add_argument(
        "--models",
        type=friction_models,
        default="all",
        metavar="M,…",
        help="friction models to compare (default: %(default)s)",
    )
    validate.add_argument("--recording", metavar="CSV", help="compare with a measured arm's goals and positions")
    validate.add_argument("-o", "--output", metavar="DIR", help="folder for table, motions and figures")
    add_json(validate)
    add_progress(validate)
    validate.set_defaults(run_task=_validate)

    simulate = add_task(tasks, "simulate", "simulate one path and write it as CSV")
    _add_arm(simulate)
    simulate.add_argument("--path", default="circle", metavar="P", help="path of the tip (default: %(default)s)")
    simulate.add_argument("--gain", default="high", metavar="G", help="low, high, or a number (default: %(default)s)")
    simulate.add_argument("-o", "--output", required=True, metavar="FILE.csv", help="file to write")
    add_json(simulate)
    simulate.set_defaults(run_task=_simulate)

    identify = add_task(tasks, "identify", "identify friction of both joints from recordings of an arm")
    arm_identify.add_arguments(identify)
    identify.set_defaults(run_task=arm_identify.run)


def run(arguments: argparse.Namespace) -> int:
    """Run the task."""
    return int(arguments.run_task(arguments) or 0)


def _add_arm(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--arm",
        choices=ARM_CHOICES,
        help="servos of one of the paper's arms (default: dynamixel, unless --links is given)",
    )
    parser.add_argument(
        "--links", metavar="FILE", help='file with lines such as "m1: 0.5": m, l, r, I of both links [kg, m, kg·m²]'
    )
    for number, joint in enumerate(("shoulder", "elbow"), start=1):
        parser.add_argument(f"--joint{number}", metavar="MODEL", help=f"model of the {joint}")
    parser.add_argument("--period", type=positive_float, metavar="S", help="time once around the path (default: 4)")
    parser.add_argument(
        "--timestep", type=positive_float, metavar="S", help="time step of the simulation (default: 0.001)"
    )


def _arm_from(arguments: argparse.Namespace) -> tuple[ArmLinks, tuple[ServoModel, ServoModel]]:
    """Return the links and the true models; raise ServoBenchError if they do not fit together."""
    from core.studies.arm.links import read_arm_parameters
    from core.studies.arm.scene import published_arm
    from core.studies.arm.validation import published_models

    if arguments.links and arguments.arm:
        raise InputError("--arm and --links both give the links; leave one of them out")
    if arguments.links and not (arguments.joint1 and arguments.joint2):
        raise InputError("--links needs the models of both joints; add --joint1 and --joint2")
    arm = published_arm(arguments.arm or ARM_CHOICES[0])
    links = read_arm_parameters(arguments.links).links if arguments.links else arm.links
    shoulder, elbow = published_models(arm.servos, TRUTH)
    return links, (
        model_from(arguments.joint1) if arguments.joint1 else shoulder,
        model_from(arguments.joint2) if arguments.joint2 else elbow,
    )


def _validate(arguments: argparse.Namespace) -> None:
    from core.export.programs import mujoco_engine
    from core.studies.arm.paths import PATHS
    from core.studies.arm.simulate import TIMESTEP
    from core.studies.arm.validation import (
        GAINS,
        PERIOD,
        ArmValidation,
        arm_candidates,
        arm_servos,
        gains_of,
        validate_arm,
        validate_recording,
    )

    mujoco_engine()
    links, truth = _arm_from(arguments)
    gains = arguments.gains or list(GAINS)
    timestep = arguments.timestep or TIMESTEP
    if arguments.recording is None:
        with ProgressBar(arguments.quiet or arguments.json) as bar:
            bar.show(0.0, "fitted M1")
            candidates = arm_candidates(truth, arguments.models)
            found = validate_arm(
                links, truth, candidates, arguments.paths or tuple(PATHS), gains, arguments.period or PERIOD, timestep,
                bar.show,
            )  # fmt: skip
    else:
        from core.studies.arm.recording import read_arm_csv

        if arguments.paths or arguments.gains is None or len(gains) != 1:
            raise InputError(
                "--recording needs its one gain and has its own path; give --gains with one value, without --paths"
            )
        run, kp = read_arm_csv(arguments.recording), gains_of(truth, gains[0])
        candidates = arm_candidates(truth, arguments.models)
        case = validate_recording(run, links, {c.name: arm_servos(c.models, kp) for c in candidates}, timestep)
        found = ArmValidation(truth=truth, candidates=candidates, cases=(case,))
    files = [] if arguments.output is None else _write(Path(arguments.output), links, found)
    if arguments.json:
        print_json({"joints": [m.title for m in truth], "cases": found.rows(), "files": [str(file) for file in files]})
        return
    print(f"mean absolute error of both joints / mrad, {truth[0].title} and {truth[1].title}")
    print_table(
        ["case", *(c.name for c in found.candidates)],
        [[case.title, *(case.errors[c.name].mae_mrad for c in found.candidates)] for case in found.cases],
    )
    if not arguments.links:
        print(ASSUMED_LINKS)
    print(NOT_REPEATED)
    if files:
        print(f"{counted(len(files), 'file')} written to {arguments.output}")


def _simulate(arguments: argparse.Namespace) -> None:
    from core.studies.arm.kinematics import tip_positions
    from core.studies.arm.paths import arm_path
    from core.studies.arm.simulate import COMMAND_STEP, TIMESTEP, simulate_arm
    from core.studies.arm.validation import PERIOD, arm_servos, gains_of

    links, truth = _arm_from(arguments)
    path = arm_path(arguments.path, links, arguments.period or PERIOD, COMMAND_STEP)
    servos = arm_servos(truth, gains_of(truth, arguments.gain))
    motion = simulate_arm(links, servos, path.goals, timestep=arguments.timestep or TIMESTEP)
    columns = {
        "time": motion.time,
        **by_joint("goal", motion.goal),
        **by_joint("q", motion.position),
        **by_joint("v", motion.velocity),
        **by_joint("tau", motion.motor_torque),
        **dict(zip(("x", "z"), tip_positions(links, motion.position).T, strict=True)),
    }
    file = write_table(arguments.output, columns, zip(*columns.values(), strict=True), digits="")
    if arguments.json:
        print_json({"file": str(file), "samples": len(motion.time), "joints": [m.title for m in truth]})
    else:
        print(f"{counted(len(motion.time), 'sample')} of {truth[0].title} and {truth[1].title} written to {file}")


def _write(folder: Path, links: ArmLinks, found: ArmValidation) -> list[Path]:
    """Write the table, and each case's figure and motions; the true motion's columns make the file a recording."""
    from bench_gui.headless.report.arm import case_figure, errors_figure
    from bench_gui.headless.report.figures import save_figure
    from core.export.files import slug

    rows = found.rows()
    files = [
        write_table(folder / "errors.csv", rows[0], (row.values() for row in rows), digits=""),
        save_figure(errors_figure(found), folder / "errors.svg"),
    ]
    for case in found.cases:
        name = slug(f"{case.path}-{case.gain}")
        columns = {"time": case.time, **by_joint("goal", case.goal), **by_joint("q", case.reference)}
        for candidate in found.candidates:
            columns |= by_joint(f"{slug(candidate.name)}_", case.motions[candidate.name].position)
        files.append(write_table(folder / f"{name}.csv", columns, zip(*columns.values(), strict=True), digits=""))
        shown = list(dict.fromkeys((found.candidates[0], found.candidates[-1])))
        files.append(save_figure(case_figure(case, links, shown), folder / f"{name}.svg"))
    return files
