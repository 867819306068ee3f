"""Identify the servos of an assembled robot from motions of all its joints, and evaluate the result.

The motions come from bench import --joints. The load on each joint is computed from the robot's URDF or MJCF file and
the measured motion of the other joints.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Container, Mapping
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from bench_gui.cli.arguments import add_recordings, add_task, comma_list, positive_int
from bench_gui.cli.commands.model.identify import add_fit, request_from
from bench_gui.cli.session_runs import recordings_from
from bench_gui.cli.terminal import ProgressBar, add_json, add_progress, milliradians, print_json, print_table
from core.base.errors import InputError
from core.base.interrupt import Interrupt
from core.base.words import counted
from core.export.targets import TARGETS
from core.robot.defaults import FIT, KEPT, kept_robot
from core.servo.terms import RICHEST

if TYPE_CHECKING:
    from core.robot.next import NextMotions
    from core.robot.runs import RobotRuns
    from sessions import Session
    from sessions.results.robot import RobotIdentification, RobotModel

OR_KEPT = " or ".join(KEPT)

EXAMPLES = """\
examples:
  bench robot identify example-so101 -o result
  bench import motions/ --joints all --servo sts3215 --kp 16 -o arm
  bench robot identify arm --urdf so101.urdf -o result
  bench robot evaluate result arm --whole
  bench robot next arm --urdf so101.urdf --result result -o planned
  bench robot export result --to mujoco-hook -o exported"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `bench robot`."""
    tasks = parser.add_subparsers(dest="task", metavar="TASK", required=True)
    identify = add_task(tasks, "identify", "identify the servo of each joint")
    add_recordings(identify)
    _add_kept_robot(identify)
    _add_joints(identify)
    add_fit(identify, **FIT)
    identify.set_defaults(command_path=True)
    identify.add_argument(
        "--share",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="fit one model to the motions of all joints first, from which each joint starts (default: yes)",
    )
    identify.add_argument(
        "-o", "--output", required=True, metavar="RESULT", help="folder for robot.json and a folder for each joint"
    )
    add_json(identify)
    add_progress(identify)
    identify.set_defaults(run_task=_identify)

    evaluate = add_task(tasks, "evaluate", "evaluate the identified servos on motions of the robot")
    _add_result(evaluate)
    evaluate.add_argument(
        "--whole",
        action="store_true",
        help="also simulate the whole robot in MuJoCo, all joints by their models, in the held-out motions (without "
        "any, in all)",
    )
    add_json(evaluate)
    evaluate.set_defaults(run_task=_evaluate)

    _add_next(tasks)

    report = add_task(tasks, "report", "write the HTML report of each joint")
    _add_result(report)
    report.set_defaults(run_task=_report)

    export = add_task(tasks, "export", "export the robot with its servos")
    _add_robot(export)
    targets = dict.fromkeys(TARGETS)
    export.add_argument("--to", required=True, choices=targets, metavar="TARGET", help=", ".join(targets))
    export.add_argument("-o", "--output", required=True, metavar="DIR", help="folder for the files")
    export.add_argument("--force", action="store_true", help="overwrite existing files that differ")
    add_json(export)
    export.set_defaults(run_task=_export)


def _add_next(tasks: Any) -> None:
    following = add_task(tasks, "next", "suggest the motions that would help most")
    add_recordings(following)
    _add_kept_robot(following)
    _add_joints(following)
    following.add_argument(
        "--result", metavar="RESULT", help="folder of bench robot identify (default: the servo's shipped model)"
    )
    following.add_argument(
        "--count",
        type=positive_int,
        default=3,
        metavar="N",
        help="number of motions of each joint (default: %(default)s)",
    )
    following.add_argument(
        "--range",
        action="append",
        default=[],
        metavar="JOINT=LOW:HIGH",
        help="range in degrees in which a joint may move (default: that of the motions)",
    )
    following.add_argument("-o", "--output", metavar="DIR", help="folder for the goals of each motion, as CSV files")
    add_json(following)
    following.set_defaults(run_task=_next)


def _add_result(parser: argparse.ArgumentParser) -> None:
    """Add a result and the motions to use with it."""
    _add_robot(parser)
    add_recordings(parser)


def _add_kept_robot(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--urdf", metavar="FILE", help=f"the robot, URDF or MJCF (default: {OR_KEPT} in the session's folder)"
    )


def _add_robot(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("result", metavar="RESULT", help="folder of bench robot identify")
    parser.add_argument("--urdf", metavar="FILE", help="the robot, URDF or MJCF (default: that of RESULT)")
    _add_joints(parser)


def _add_joints(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--joints", type=comma_list, default=(), metavar="NAME,…", help="only these joints (default: all that move)"
    )


def run(arguments: argparse.Namespace) -> None:
    """Run the task."""
    arguments.run_task(arguments)


def _identify(arguments: argparse.Namespace) -> None:
    from sessions import Session
    from sessions.results.robot import identify_robot, shipped_start

    session = Session.open(arguments.session)
    robot = Path(arguments.urdf or _kept(arguments.session))
    runs = _runs(arguments, session, robot)
    servo = next(iter(runs.joints.values()))[0].settings.servo
    request = request_from(arguments, servo, "")
    if not arguments.start and (start := shipped_start(request.servo)):
        request = replace(request, start=start)
        near = f"{request.servo}:{RICHEST}"
        print(f"note: what the motions do not determine stays near the model {near}", file=sys.stderr)
    if not arguments.json:
        _print_coverage(runs)
    with Interrupt() as interrupt, ProgressBar(arguments.quiet or arguments.json) as bar:
        found = identify_robot(
            session,
            runs,
            robot,
            request,
            Path(arguments.output),
            lambda done, text: bar.show(done, f"{text} (Ctrl+C keeps the best)"),
            should_stop=lambda: interrupt.asked,
            share=arguments.share,
        )
    _print_found(arguments, runs, found)


def _print_found(arguments: argparse.Namespace, runs: RobotRuns, found: RobotIdentification) -> None:
    from sessions.results.robot import JointRow

    if arguments.json:
        joints = {joint: each.row(each.recommended.model.friction) for joint, each in found.joints.items()}
        print_json(
            {
                "training": found.split.train,
                "held_out": found.split.validation,
                "joints": {name: {**row, "motions": found.errors[name]} for name, row in joints.items()},
                "failed": found.failed,
                "stopped": found.stopped,
                "not_reached": found.not_reached,
                "notes": runs.notes,
                "warnings": runs.warnings,
            }
        )
        return
    rows = [JointRow.of(joint, each.recommended, found.errors[joint]) for joint, each in found.joints.items()]
    print_table(
        ["joint", "model", "training/mrad", "held out/mrad", "values determined", "worst motion", "its error/mrad"],
        [
            [
                row.joint,
                row.friction.upper(),
                milliradians(row.train_mae),
                milliradians(row.validation_mae),
                f"{row.determined} of {row.parameters}",
                *_worst(row.errors),
            ]
            for row in rows
        ],
    )
    for joint, reason in found.failed.items():
        print(f"{joint}: {reason}")
    if found.stopped:
        complete = ", ".join(joint for joint in found.joints if joint != found.stopped) or "none"
        print(
            f"stopped during {found.stopped}, which keeps the best so far; complete: {complete}; "
            f"not reached: {', '.join(found.not_reached) or 'none'}"
        )
    if held := found.split.validation:
        print(f"held out: {', '.join(held)} ({len(held)} of {len(runs.motions)} motions)")
    folder = arguments.output
    print(f"models and warnings are in {folder}, in a folder for each joint")
    print(f"next: bench robot evaluate {quote(folder)} {quote(arguments.session)}")


def _evaluate(arguments: argparse.Namespace) -> None:
    from sessions.results.robot import errors_by_motion, whole_robot_errors

    known, runs = _identified(arguments)
    options = {"dt": arguments.dt, "supply": arguments.supply, "threads": arguments.threads}
    models = {joint: known.model(joint) for joint in runs.joints}
    errors = {joint: errors_by_motion(runs, joint, model, **options) for joint, model in models.items()}
    whole = whole_robot_errors(known, runs, arguments.urdf or known.file) if arguments.whole else {}
    if arguments.json:
        rows = {
            joint: {"model": str(known.joints[joint]), "motions": row, "whole_robot": whole.get(joint, {})}
            for joint, row in errors.items()
        }
        print_json({"joints": rows, "held_out": known.held_out, "notes": runs.notes, "warnings": runs.warnings})
        return

    def mean(row: Mapping[str, float], motions: Container[str]) -> str:
        some = [error for motion, error in row.items() if motion in motions]
        return milliradians(sum(some) / len(some) if some else None)

    print_table(
        [
            "joint",
            "model",
            "MAE/mrad",
            "held out/mrad",
            *(["whole robot/mrad"] if whole else []),
            "worst motion",
            "its error/mrad",
        ],
        [
            [
                joint,
                models[joint].friction.upper(),
                mean(row, row),
                mean(row, known.held_out),
                *([mean(whole[joint], whole[joint])] if whole else []),
                *_worst(row),
            ]
            for joint, row in errors.items()
        ],
    )
    print(f"{counted(len(runs.motions), 'motion')}, the other joints as measured")
    if whole:
        print(f"whole robot: {', '.join(next(iter(whole.values())))}, all joints of the table simulated at once")


def _next(arguments: argparse.Namespace) -> None:
    from core.robot.next import next_motions, parse_range
    from core.servo.shipped import load_model, shipped_models
    from sessions import Session
    from sessions.results.robot import read_robot

    ranges = dict(map(parse_range, arguments.range))
    known = None if arguments.result is None else read_robot(Path(arguments.result))
    robot = Path(arguments.urdf or (_kept(arguments.session) if known is None else known.file))
    if known is not None:
        arguments.joints = arguments.joints or list(known.joints)
    runs = _runs(arguments, Session.open(arguments.session), robot)
    found: dict[str, NextMotions] = {}
    for joint, recordings in runs.joints.items():
        servo = recordings[0].settings.servo
        if known is None and RICHEST not in shipped_models(servo):
            raise InputError(f"{servo} has no shipped model: identify the joints, and give --result RESULT")
        model = load_model(servo, RICHEST) if known is None else known.model(joint)
        found[joint] = next_motions(model, runs, joint, arguments.count, ranges, threads=arguments.threads)
    written = [] if arguments.output is None else _write_goals(found, Path(arguments.output))
    if arguments.json:
        print_json({"joints": {joint: each.to_json() for joint, each in found.items()}, "files": written})
        return
    print_table(
        ["joint", "motion", "kp", "other joints/deg", "volume", "effect"],
        [
            [
                joint,
                motion.kind,
                motion.run.settings.kp,
                " ".join(f"{math.degrees(angle):.0f}" for angle in motion.pose.values()),
                f"÷ {benefit.factor:.2g}",
                benefit.words,
            ]
            for joint, each in found.items()
            for motion, benefit in each.proposals
        ],
    )
    for joint, each in found.items():
        if each.undetermined:
            left = f"; not narrowed by these motions: {', '.join(each.left_open)}" if each.left_open else ""
            print(f"{joint}: not determined so far: {', '.join(each.undetermined)}{left}")
    held = {name for each in found.values() for motion, _ in each.proposals for name in motion.goals}
    print(f"joints: {', '.join(name for name in runs.motions[0].runs if name in held)}; the others hold a pose")
    for file in written:
        print(file)


def _write_goals(found: Mapping[str, NextMotions], folder: Path) -> list[str]:
    """Write the goals of each proposed motion as CSV and return the files."""
    import numpy as np

    from sessions.results.robot import joint_folder

    folder.mkdir(parents=True, exist_ok=True)
    files: list[str] = []
    for joint, each in found.items():
        for number, (motion, _) in enumerate(each.proposals, 1):
            goals, file = motion.goals, folder / f"{joint_folder(joint)}_{number}.csv"
            head = ",".join(["time", *(f"goal.{name}" for name in goals)])
            rows = np.column_stack([motion.run.time, *goals.values()])
            np.savetxt(file, rows, delimiter=",", header=head, comments="", fmt="%.6g")
            files.append(str(file))
    return files


def _kept(session: str) -> Path:
    """Return the robot's file in the folder of a session; raises InputError if there is none."""
    if (file := kept_robot(Path(session))) is not None:
        return file
    raise InputError(f"give the robot's file as --urdf FILE, or put it into the session's folder as {OR_KEPT}")


def _known(arguments: argparse.Namespace) -> RobotModel:
    """Return the models of the result; the joints asked for are all of them by default."""
    from core.robot.motions import meant
    from sessions.results.robot import read_robot

    known = read_robot(Path(arguments.result))
    arguments.joints = arguments.joints or list(known.joints)
    if unknown := [joint for joint in arguments.joints if joint not in known.joints]:
        hint = meant(unknown[0], list(known.joints))
        raise InputError(f"{arguments.result}: no model of {unknown[0]}{hint}; there are {', '.join(known.joints)}")
    return known


def _export(arguments: argparse.Namespace) -> None:
    from core.robot.exporting import export_robot

    known = _known(arguments)
    robot = arguments.urdf or known.file
    files = export_robot(robot, known.servos(arguments.joints), arguments.to, arguments.output, force=arguments.force)
    if arguments.json:
        print_json({"files": [str(file) for file in files]})
    for file in () if arguments.json else files:
        print(file)


def _report(arguments: argparse.Namespace) -> None:
    from bench_gui.headless.report.of_session import report_of

    known, runs = _identified(arguments)
    for joint, recordings in runs.joints.items():
        folder = known.joints[joint].parent
        print(report_of(Path(arguments.session), folder, folder / "report.html", recordings, known.file))


def _identified(arguments: argparse.Namespace) -> tuple[RobotModel, RobotRuns]:
    """Return the models of RESULT and the runs of their joints."""
    from sessions import Session

    known = _known(arguments)
    return known, _runs(arguments, Session.open(arguments.session), arguments.urdf or known.file)


def _runs(arguments: argparse.Namespace, session: Session, robot: str | Path) -> RobotRuns:
    """Return the runs of the robot's joints; print what is doubtful or left out."""
    from core.motion.recording import READ_CHANNELS
    from core.robot.chain import Chain
    from core.robot.runs import robot_runs

    chain = Chain(robot)
    recordings, _ = recordings_from(session, arguments, READ_CHANNELS)
    runs = robot_runs(chain, recordings, arguments.joints)
    for kind, sentences in (("note", runs.notes), ("warning", runs.warnings)):
        for text in sentences:
            print(f"{kind}: {text}", file=sys.stderr)
    return runs


def _print_coverage(runs: RobotRuns) -> None:
    """Print what the motions excite, before anything is fitted."""
    print_table(
        ["joint", "range/deg", "speed/(rad/s)", "gravity/(N·m)", "inertia/(kg·m²)", "reversals"],
        [each.figures() for each in runs.coverage],
    )


def _worst(errors: Mapping[str, float]) -> tuple[str, str]:
    motion = max(errors, key=errors.__getitem__)
    return motion, milliradians(errors[motion])
