"""Run a Webots controller on the bench, or fit a Servo node (Webots before version 7).

run executes a controller program unchanged, in its own process and with your permissions. It provides the module
controller and a simulated servo on the bench's pendulum, or several in series.

fit finds the Servo node closest to a model or to recordings, and its loss of accuracy against M1 to M6 on the same
runs. show repeats the experiments of the help pages.
"""

from __future__ import annotations

import argparse
import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench_gui.cli.arguments import (
    OR_EXAMPLE,
    add_pendulum,
    add_sample,
    add_tag,
    add_task,
    bench_from,
    comma_list,
    model_from,
    named_list,
    positive_float,
    positive_int,
    session_place,
)
from bench_gui.cli.files import write_file
from bench_gui.cli.session_runs import recordings_from
from bench_gui.cli.terminal import ProgressBar, add_json, add_progress
from bench_gui.render.terminal import print_document, show
from core.base.numbers import parse_number
from core.servo.terms import FRICTION_MODELS

if TYPE_CHECKING:
    from bench_gui.cli.webots_program import ProgramEnd
    from core.servo.bench import Bench
    from core.studies.webots.fields import Load, ServoFields
    from core.studies.webots.robot import MountedServo
    from core.studies.webots.trace import Trace

DURATION = 30.0
"""Default duration of a simulation [s]."""
EXPERIMENT_CHOICES = ("position", "modes", "limits", "forces", "series")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `bench webots`."""
    tasks = parser.add_subparsers(dest="task", metavar="TASK", required=True)
    _add_run(tasks)
    _add_fit(tasks)
    again = add_task(tasks, "show", "repeat an experiment of the help pages")
    again.add_argument("experiment", choices=EXPERIMENT_CHOICES, help="experiment to repeat")
    again.add_argument("-o", "--output", metavar="FILE.csv", help="write the motion")
    again.add_argument("--figure", metavar="FILE", help="write a figure (.svg, .png, .pdf)")
    add_json(again)
    again.set_defaults(run_task=_show)


def _add_run(tasks: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    program = add_task(tasks, "run", "run a controller program on simulated servos")
    program.add_argument(
        "program", type=Path, metavar="CONTROLLER.py", help="controller program, run in its own process"
    )
    program.add_argument("arguments", nargs="*", metavar="ARGUMENT", help="arguments of the program, after --")
    program.add_argument(
        "--servo",
        action="append",
        default=[],
        metavar="NAME[:FIELD=VALUE,…]",
        help="servo and its fields, e.g. motor:maxForce=5,controlP=20; node=FILE reads a Servo node. inertia=KGM2 "
        "(mass [kg] for a linear servo) and gravity=NM describe its body. Several servos are mounted in series, "
        "unless on=base or on=NAME is given (default: one servo, with the name the program asks for)",
    )
    program.add_argument(
        "--world", type=Path, metavar="FILE", help="use the Servo nodes and bodies of a .wbt or .wrl file instead"
    )
    program.add_argument(
        "--timestep", type=positive_int, metavar="MS", help="basicTimeStep (default: the world's, or 8)"
    )
    program.add_argument(
        "--duration", type=positive_float, default=DURATION, metavar="S", help="simulated time (default: %(default)g)"
    )
    _add_pendulum(program)
    program.add_argument("-o", "--output", metavar="FILE.csv", help="write the motion of the servos")
    program.add_argument(
        "--recording",
        metavar="FILE.csv",
        help="write a recording for bench import (a single servo under position control)",
    )
    program.add_argument("--figure", metavar="FILE", help="write a figure (.svg, .png, .pdf)")
    add_json(program)
    program.set_defaults(run_task=_run)


def _add_fit(tasks: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    fit = add_task(tasks, "fit", "fit a Servo node to a model or a session and compare it with M1 to M6")
    fit.add_argument(
        "source",
        metavar="MODEL|SESSION",
        type=session_place,
        help=f"model file, shipped model, or session{OR_EXAMPLE}",
    )
    fit.add_argument(
        "--models",
        type=comma_list,
        metavar="M,…",
        help="models to compare with: model files, shipped models, or m1 … m6 (default: m1 … m6)",
    )
    fit.add_argument("--runs", type=comma_list, metavar="ID,…", help="use only these runs of the session")
    add_tag(fit)
    add_sample(fit)
    fit.add_argument(
        "--validation", default="25%", metavar="V", help="runs to hold out, as in bench identify (default: %(default)s)"
    )
    fit.add_argument(
        "--dt",
        type=positive_float,
        metavar="S",
        help="basicTimeStep (default: sample time of the recordings, 0.005 for a model)",
    )
    fit.add_argument("-o", "--output", metavar="FILE.wrl", help="write the Servo node")
    fit.add_argument("--figure", metavar="FILE", help="write a figure of the errors (.svg, .png, .pdf)")
    add_json(fit)
    add_progress(fit)
    fit.set_defaults(run_task=_fit)


def run(arguments: argparse.Namespace) -> int:
    """Run the task."""
    return int(arguments.run_task(arguments) or 0)


def _add_pendulum(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group(
        "pendulum", "Load of each servo that carries no other body; a linear servo moves the mass horizontally."
    )
    add_pendulum(group)


def _run(arguments: argparse.Namespace) -> int:
    from bench_gui.cli.webots_program import ProgramJob, run_in_process
    from core.base.errors import InputError
    from core.studies.webots.documents import motion_document, motion_plot
    from core.studies.webots.robot import BASIC_TIME_STEP

    bench = bench_from(arguments)
    servos, notes, step = _mounted(arguments, bench)
    job = ProgramJob(
        program=arguments.program,
        arguments=tuple(arguments.arguments),
        servos=servos,
        basic_time_step=arguments.timestep or step or BASIC_TIME_STEP,
        duration=arguments.duration,
    )
    end = run_in_process(job)
    files = []
    if arguments.output:
        files.append(write_file(arguments.output, traces_csv(end.traces)))
    if arguments.recording and not end.problem:
        if servos[0].load.gravity_torque != bench.gravity_torque:
            raise InputError("--recording: this servo does not move the pendulum; omit --recording or the servo's body")
        files.append(write_file(arguments.recording, _recording_text(arguments, end, bench)))
    if arguments.figure and end.traces and len(end.traces[0].time):
        from bench_gui.render.paper import write_figure

        title = f"{arguments.program.name} on {'a servo' if len(end.traces) == 1 else f'{len(end.traces)} servos'}"
        files.append(write_figure(motion_plot(title, end.traces), arguments.figure))
    if end.problem:
        raise InputError(f"{arguments.program}: the program ended with an error: {end.problem}")
    print_document(motion_document(end.traces, {"exit_code": end.code}, notes=notes), files, arguments.json)
    return end.code


def _mounted(
    arguments: argparse.Namespace, bench: Bench
) -> tuple[tuple[MountedServo, ...], tuple[str, ...], int | None]:
    """Return the requested servos, notes on them, and the basicTimeStep of their world."""
    from core.base.errors import InputError
    from core.studies.webots.fields import ServoFields
    from core.studies.webots.nodes import read_servo_tree
    from core.studies.webots.robot import MountedServo

    if arguments.world is not None:
        if arguments.servo:
            raise InputError("--world and --servo both give servos; give one of them")
        tree = read_servo_tree(arguments.world, lambda fields: _end_load(fields, bench, 0.0))
        return tree.servos, tree.notes, tree.basic_time_step
    if not arguments.servo:
        fields = ServoFields()
        return (MountedServo(name="", fields=fields, load=_end_load(fields, bench, 0.0)),), (), None
    servos = [_ServoText(text) for text in arguments.servo]
    names = [servo.name for servo in servos]
    parents = [servo.parent(names[:place]) for place, servo in enumerate(servos)]
    mounted = []
    for place, (servo, parent) in enumerate(zip(servos, parents, strict=True)):
        load = servo.load(bench, carries=place in parents)
        mounted.append(MountedServo(name=servo.name, fields=servo.fields, load=load, parent=parent))
    return tuple(mounted), (), None


class _ServoText:
    """One `--servo NAME:FIELD=VALUE,…`: fields, body and mounting; raises InputError if it is not valid."""

    def __init__(self, text: str) -> None:
        from core.base.errors import InputError
        from core.studies.webots.fields import ServoFields
        from core.studies.webots.nodes import SEED_NAMES, read_servo_node

        self.name, _, rest = text.partition(":")
        self._on = ""
        body: dict[str, float] = {}
        values: dict[str, Any] = {}
        for part in named_list(rest):
            field, equals, value = part.partition("=")
            try:
                if field == "node" and equals:
                    values = vars(read_servo_node(Path(value))) | values
                elif field in ("inertia", "gravity") and equals:
                    body[field] = parse_number(value)
                elif field == "on" and value:
                    self._on = value
                elif field == "type" and equals:
                    values["type"] = value
                else:
                    values[SEED_NAMES[field]] = parse_number(value if equals else "")
            except (KeyError, ValueError):
                known = ", ".join((*SEED_NAMES, "node", "on", "inertia", "gravity"))
                raise InputError(f"--servo {text}: {part!r} is not FIELD=VALUE; fields: {known}") from None
        if not self.name:
            raise InputError(f"--servo {text}: the name is missing; give NAME:FIELD=VALUE")
        self.fields = ServoFields(**values)
        self._inertia, self._gravity = body.get("inertia"), body.get("gravity")

    def parent(self, before: Sequence[str]) -> int | None:
        """Return the index of the servo it is mounted on, None for the base."""
        from core.base.errors import InputError

        if self._on == "base" or not before:
            return None
        if self._on and self._on not in before:
            raise InputError(f"--servo {self.name}: on={self._on} is neither base nor an earlier servo")
        return before.index(self._on) if self._on else len(before) - 1

    def load(self, bench: Bench, *, carries: bool) -> Load:
        """Return its own body, or the pendulum if it carries no other servo."""
        from core.base.errors import InputError
        from core.studies.webots.fields import Load

        if carries or self._gravity is not None:
            if self._inertia is None:
                raise InputError(f"--servo {self.name}: the inertia of its body is missing; add inertia=KGM2")
            return Load(inertia=self._inertia, gravity_torque=self._gravity or 0.0)
        return _end_load(self.fields, bench, self._inertia or 0.0)


def _end_load(fields: ServoFields, bench: Bench, armature: float) -> Load:
    """Return the pendulum, or the horizontally moved mass of a linear servo; armature: of the servo [kg·m²]."""
    from core.studies.webots.fields import LINEAR, Load, load_of

    return Load(inertia=bench.mass) if fields.type == LINEAR else load_of(bench, armature)


def _recording_text(arguments: argparse.Namespace, end: ProgramEnd, bench: Bench) -> str:
    """Return a recording for `bench import`; raise InputError if the motion cannot be expressed as one."""
    import numpy as np

    from core.base.errors import InputError
    from core.motion.recording import Recording
    from core.servo.settings import ServoSettings
    from sessions.exporters import csv_text

    trace = end.traces[0]
    if len(end.traces) > 1 or not len(trace.time) or not np.isfinite(trace.target).all():
        raise InputError("--recording needs a single servo under position control from the start; omit it, or use -o")
    return csv_text(
        Recording(
            id=arguments.program.stem,
            trajectory=arguments.program.stem,
            bench=bench,
            settings=ServoSettings(servo="webots", kp=trace.fields.control_p, supply_voltage=1.0),
            channels={
                "time": trace.time,
                "goal_position": trace.target,
                "torque_enable": (trace.available_force > 0.0).astype(np.uint8),
                "position": trace.position,
                "velocity": trace.velocity,
            },
            provenance={"creator": "bench webots run", "node": dict(vars(trace.fields))},
        )
    )


def _fit(arguments: argparse.Namespace) -> None:
    from core.studies.webots.documents import loss_document
    from core.studies.webots.export.target import node_text
    from core.studies.webots.loss import loss_on_model, loss_on_recordings
    from sessions import Session

    used: dict[str, Any] = {}
    with ProgressBar(arguments.quiet or arguments.json) as bar:
        if _is_session(arguments.source):
            recordings, selection = recordings_from(Session.open(arguments.source), arguments)
            used = {"selection": selection.to_json()}
            found = loss_on_recordings(
                recordings,
                _models(arguments.models, recordings[0].settings.servo),
                validation=arguments.validation,
                dt=arguments.dt,
                progress=bar.show,
            )
        else:
            model = model_from(arguments.source)
            step = {} if arguments.dt is None else {"step": arguments.dt}
            found = loss_on_model(model, _models(arguments.models, model.servo), progress=bar.show, **step)
    text = node_text(f"Servo of the {found.title}", found.fit.node)
    files = [write_file(arguments.output, text)] if arguments.output else []
    show(loss_document(found, found.to_json() | used), arguments, files)


def _is_session(source: str) -> bool:
    path = Path(source)
    return path.is_dir() or path.suffix == ".h5"


def _models(texts: list[str] | None, servo: str) -> Any:
    """Load the models by name; None stands for all of the catalogue."""
    if texts is None:
        return None
    published = {text: f"{servo}:{text}" for text in texts if text.lower() in FRICTION_MODELS}
    return {text.upper() if text in published else text: model_from(published.get(text, text)) for text in texts}


def _show(arguments: argparse.Namespace) -> None:
    from core.studies.webots.documents import motion_document
    from core.studies.webots.experiments import EXPERIMENTS

    title, experiment = EXPERIMENTS[arguments.experiment]
    traces = experiment()
    files = [write_file(arguments.output, traces_csv(traces))] if arguments.output else []
    show(motion_document(traces, {"title": title}, title), arguments, files)


def traces_csv(traces: Sequence[Trace]) -> str:
    """Format traces with common times as CSV; columns carry servo and unit, values without meaning are nan."""
    from core.studies.webots.trace import COLUMNS

    kinds = {"target": "position", "position": "position", "velocity": "velocity", "wanted_velocity": "velocity"}
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    names = [(trace, name) for trace in traces for name in COLUMNS if name != "time"]
    heads = [f"{trace.name}.{name} [{trace.fields.units[kinds.get(name, 'force')]}]" for trace, name in names]
    writer.writerow(["time [s]", *heads])
    columns = [traces[0].time.tolist(), *(getattr(trace, name).tolist() for trace, name in names)]
    writer.writerows([repr(value) for value in row] for row in zip(*columns, strict=True))
    return text.getvalue()
