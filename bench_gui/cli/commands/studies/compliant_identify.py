"""Identify a compliant actuator from a session: springs, losses of the link and, with --motor, the motors.

The recordings name their actuator and stiffness preset. Values are printed with 95 % intervals; values that the
recordings do not determine are marked. A servo model (M1) fitted to the same recordings is printed for comparison.

-o writes actuator.json, which the other tasks of bench compliant and addresses of simulated servos accept, and
result.json.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from bench_gui.cli.arguments import (
    add_options,
    add_sample,
    add_session,
    add_tag,
    any_int,
    comma_list,
    frozen_value,
    positive_float,
    positive_int,
)
from bench_gui.cli.compliant_files import ACTUATOR_CHOICES, actuator_name, unit_named
from bench_gui.cli.session_runs import recordings_from
from bench_gui.cli.terminal import ProgressBar, add_json, add_progress, milliradians, print_json, print_table
from core.base.atomic import write_atomically
from core.base.errors import InputError
from core.base.interrupt import Interrupt
from core.base.units import as_certain
from core.base.words import counted

if TYPE_CHECKING:
    from core.studies.compliant.files import CompliantUnit
    from core.studies.compliant.identification import CompliantIdentification

ACTUATOR_FILE, RESULT_FILE = "actuator.json", "result.json"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `bench compliant identify`."""
    add_session(parser)
    parser.add_argument(
        "--actuator",
        type=actuator_name,
        metavar="ACTUATOR",
        help=f"{', '.join(ACTUATOR_CHOICES)}, or a file to start from (default: the recordings' actuator)",
    )
    parser.add_argument("--motor", action="store_true", help="also identify the motors and their controllers")
    parser.add_argument(
        "--mode",
        type=any_int,
        choices=(3, 6),
        default=6,
        help="6: motors with dynamics, 3: ideal motors (default: %(default)s)",
    )
    parser.add_argument(
        "--frozen",
        type=frozen_value,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="hold a parameter at a value, e.g. motor_inertia=0.02; may be repeated",
    )
    parser.add_argument(
        "--free", type=comma_list, default=[], metavar="NAME,…", help="identify parameters that are fixed by default"
    )
    parser.add_argument(
        "--runs",
        type=comma_list,
        metavar="ID,…",
        help="use only these runs (default: all successful ones of the actuator)",
    )
    add_tag(parser)
    add_sample(parser)
    parser.add_argument(
        "--validation",
        default="25%",
        metavar="V",
        help='runs to hold out: a share ("25%%"), a condition ("preset=0.2") or "none" (default: %(default)s)',
    )
    parser.add_argument(
        "--trials", type=positive_int, metavar="N", help="evaluations (default: by the number of parameters)"
    )
    parser.add_argument("--dt", type=positive_float, metavar="S", help="sample time (default: that of the recordings)")
    add_options(parser, "seed", "threads")
    parser.add_argument("-o", "--output", metavar="DIR", help=f"folder for {ACTUATOR_FILE} and {RESULT_FILE}")
    add_json(parser)
    add_progress(parser)


def run(arguments: argparse.Namespace) -> None:
    """Identify the actuator, compare it with a servo model, save and print."""
    from core.studies.compliant.identification import CompliantRequest, identify_compliant, rigid_errors
    from core.studies.compliant.modes import Mode
    from core.studies.compliant.runs import LINK, MOTOR, SPRINGS
    from sessions import Session

    session = Session.open(arguments.session)
    recordings, selection = recordings_from(session, arguments)
    data_hash = session.data_hash(selection.runs)
    start = _start(arguments.actuator, recordings[0].settings.actuator)
    request = CompliantRequest(
        start=start,
        groups=(SPRINGS, LINK, MOTOR) if arguments.motor else (SPRINGS, LINK),
        mode=Mode(arguments.mode),
        fixed=tuple(arguments.frozen),
        freed=tuple(arguments.free),
        validation=arguments.validation,
        trials=arguments.trials,
        seed=arguments.seed,
        dt=arguments.dt,
        threads=arguments.threads,
    )
    with Interrupt() as interrupt, ProgressBar(arguments.quiet or arguments.json) as bar:
        found = identify_compliant(
            recordings,
            request,
            on_progress=lambda share, best: bar.show(share, f"{1e3 * best:.2f} mrad (Ctrl+C keeps the best)"),
            should_stop=lambda: interrupt.asked,
        )
        rigid = rigid_errors(recordings, found.split, arguments.seed)
    result = {
        **found.to_json(),
        "rigid_m1": {"train_mae": rigid[0], "validation_mae": rigid[1]},
        "data": data_hash,
        "selection": selection.to_json(),
    }
    files = _save(Path(arguments.output), found, result) if arguments.output else []
    if arguments.json:
        print_json({**result, "files": [str(file) for file in files]})
        return
    _print(found, rigid)
    if files:
        print(f"written: {', '.join(map(str, files))}")


def _start(asked: str | None, recorded: str | None) -> CompliantUnit:
    """Return the start of the search: the requested or the recordings' actuator; raise InputError if neither fits."""
    if asked is None and recorded not in ACTUATOR_CHOICES:
        other = (
            "a servo; use bench identify" if recorded is None else f"a {recorded.title()} Servo; use bench webots fit"
        )
        raise InputError(f"these recordings are not of a compliant actuator but of {other}")
    return unit_named(asked or str(recorded))


def _print(found: CompliantIdentification, rigid: tuple[float, float | None]) -> None:
    actuator = found.unit.actuator
    runs = counted(len(found.split.train), "run")
    print(f"{actuator.title}, mode {int(found.request.mode)}: {runs}, {found.evaluations} trials")
    print_table(
        ["parameter", "value", "± (95 %)", "unit", "start value", ""],
        [
            [
                p.symbol,
                p.grade.figure,
                "fixed" if p.frozen else p.grade.width,
                p.unit,
                as_certain(p.initial, p.half_width),
                p.name,
            ]
            for p in found.evidence.parameters
        ],
    )
    print_table(
        ["model", "training/mrad", "validation/mrad"],
        [
            [actuator.title, milliradians(found.train_mae), milliradians(found.validation_mae)],
            ["servo model M1", milliradians(rigid[0]), milliradians(rigid[1])],
        ],
    )
    if found.stopped:
        print("stopped early; the best result so far is kept")
    for warning in found.evidence.warnings:
        print(f"  {warning}")


def _save(folder: Path, found: CompliantIdentification, result: dict[str, object]) -> list[Path]:
    from core.studies.compliant.files import write_unit

    provenance = {
        "train": list(found.split.train),
        "validation": list(found.split.validation),
        "train_mae": found.train_mae,
        "validation_mae": found.validation_mae,
        "data": result["data"],
    }
    written = write_unit(folder / ACTUATOR_FILE, found.unit, provenance)
    place = folder / RESULT_FILE
    try:
        write_atomically(place, (json.dumps(result, indent=2, ensure_ascii=False) + "\n").encode())
    except OSError as error:
        raise InputError(f"{place}: cannot write the result: {error.strerror or error}") from None
    return [written, place]
