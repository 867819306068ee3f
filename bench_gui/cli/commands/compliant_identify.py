"""Identify a compliant actuator from a session: its springs, what its link loses and, with --motor, its motors.

The recordings say which actuator made them and with which stiffness preset. Values come with 95 % intervals and with
what the recordings leave open; a servo model (M1) fitted to the same recordings stands beside them. -o writes
actuator.json, which the other tasks of bench compliant and a simulated servo's address take, and result.json.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from bench_gui.cli.arguments import (
    add_options,
    add_sample,
    add_session,
    add_tag,
    comma_list,
    frozen_value,
    positive_float,
    positive_int,
)
from bench_gui.cli.compliant_files import ACTUATOR_CHOICES, actuator_name, unit_named
from bench_gui.cli.terminal import ProgressBar, add_json, add_progress, milliradians, print_json, print_table
from core.words import counted

if TYPE_CHECKING:
    from pathlib import Path

    from core.studies.compliant.files import CompliantUnit
    from core.studies.compliant.identification import CompliantIdentification

ACTUATOR_FILE, RESULT_FILE = "actuator.json", "result.json"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `bench compliant identify`."""
    add_session(parser)
    parser.add_argument(
        "--actuator",
        type=actuator_name,
        metavar="NAME|FILE",
        help=f"{', '.join(ACTUATOR_CHOICES)}, or a file to begin at; default: the recordings' own",
    )
    parser.add_argument("--motor", action="store_true", help="identify the motors and their controllers too")
    parser.add_argument(
        "--mode", type=int, choices=(3, 6), default=6, help="6: motors with dynamics, 3: ideal ones (%(default)s)"
    )
    parser.add_argument(
        "--frozen",
        type=frozen_value,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="hold a number at a value, e.g. motor_inertia=0.02; may be repeated",
    )
    parser.add_argument(
        "--free", type=comma_list, default=[], metavar="NAME,…", help="identify numbers that are held otherwise"
    )
    parser.add_argument(
        "--runs", type=comma_list, metavar="ID,…", help="only these runs; default: all that ended well, of the actuator"
    )
    add_tag(parser)
    add_sample(parser)
    parser.add_argument(
        "--validation",
        default="25%",
        metavar="V",
        help='held out: a share ("25%%"), a condition ("preset=0.2"), "none" (%(default)s)',
    )
    parser.add_argument("--trials", type=positive_int, metavar="N", help="candidates simulated; default: by numbers")
    parser.add_argument(
        "--dt", type=positive_float, metavar="S", help="time between samples (default: a regular recording's own)"
    )
    add_options(parser, "seed", "threads")
    parser.add_argument("-o", "--output", metavar="DIR", help=f"folder for {ACTUATOR_FILE} and {RESULT_FILE}")
    add_json(parser)
    add_progress(parser)


def run(arguments: argparse.Namespace) -> None:
    """Identify, compare with a servo model, print and save."""
    from pathlib import Path

    from bench_gui.cli.arguments import recordings_from
    from bench_gui.headless.interrupt import Interrupt
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
    bar = ProgressBar(arguments.quiet or arguments.json)
    with Interrupt() as interrupt:
        found = identify_compliant(
            recordings,
            request,
            on_progress=lambda share, best: bar.show(share, f"{1e3 * best:.2f} mrad (Ctrl+C keeps the best)"),
            should_stop=lambda: interrupt.asked,
        )
        rigid = rigid_errors(recordings, found.split, arguments.seed)
    bar.clear()
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
    """Where the search begins: what is asked for, or the recordings' own actuator. Raises InputError."""
    from core.errors import InputError

    if asked is None and recorded not in ACTUATOR_CHOICES:
        other = (
            "a servo's own motor: use bench identify"
            if recorded is None
            else f"a {recorded.title()} Servo: use bench webots fit"
        )
        raise InputError(f"these recordings are of no compliant actuator but of {other}")
    return unit_named(asked or str(recorded))


def _print(found: CompliantIdentification, rigid: tuple[float, float | None]) -> None:
    actuator = found.unit.actuator
    runs = counted(len(found.split.train), "run")
    print(f"{actuator.title}, mode {int(found.request.mode)}: {runs}, {found.evaluations} trials")
    print_table(
        ["number", "value", "± (95 %)", "unit", "from", ""],
        [
            [
                p.symbol,
                f"{p.value:.5g}",
                "held" if p.frozen else f"{p.half_width:.2g}" if p.determined else "open",
                p.unit,
                f"{p.initial:.5g}",
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
        print("stopped before the end; the best found so far was kept")
    for warning in found.evidence.warnings:
        print(f"  {warning}")


def _save(folder: Path, found: CompliantIdentification, result: dict[str, object]) -> list[Path]:
    import json

    from core.atomic import write_atomically
    from core.errors import InputError
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
