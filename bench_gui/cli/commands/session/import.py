"""Import recordings into a session: Rhoban/bam logs, ServoBench files, and CSV, TSV, NPZ or Parquet tables."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from bench_gui.cli.arguments import any_int, any_number
from bench_gui.cli.session_runs import say_damage
from bench_gui.cli.terminal import ProgressBar, add_json, add_progress, print_json
from core.base.errors import InputError, shown
from core.base.words import counted

if TYPE_CHECKING:
    from sessions.importers import TableImport

FACTS = ("servo", "mass", "length", "arm_mass", "angle_offset", "kp", "ki", "kd", "supply_voltage", "trajectory")
"""Options that apply to all tables of an import."""

EXAMPLES = """\
examples:
  bench import logs/ -o session
  bench import run.csv --columns time=t:ms,goal=target:deg,position=angle:deg \\
      --servo xl330 --mass 0.5 --length 0.15 --kp 400 -o session
  bench import arm/ --joints Rotation=shoulder_pan,Pitch=shoulder_lift --servo sts3215 --kp 16 -o arm"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `bench import`."""
    parser.add_argument("paths", nargs="+", metavar="PATH", help="files or folders to import")
    parser.add_argument("-o", "--output", required=True, metavar="SESSION", help="session folder, created if needed")
    table = parser.add_argument_group(
        "tables", "Without --columns, the error message lists the columns found and a command to copy."
    )
    table.add_argument(
        "--columns",
        metavar="CHANNEL=COLUMN[:UNIT],…",
        help="mapping of columns, e.g. time=t:ms,goal=target:deg,position=angle:deg (default unit: SI)",
    )
    table.add_argument(
        "--from-name",
        default="",
        metavar="PATTERN",
        help="take conditions from file names, e.g. {trajectory}_m{mass}_l{length}_kp{kp}; {} is any text",
    )
    table.add_argument(
        "--where",
        action="append",
        default=[],
        metavar="COLUMN=VALUE",
        help="take only rows with this value, e.g. id=3; may be repeated",
    )
    table.add_argument(
        "--joints",
        metavar="NAME[=NEW],…",
        help="import these joints of a robot, named as in its file, or all, for bench robot identify; --columns has "
        "{joint} where the names of their columns differ, as in goal=goal.{joint},position=position.{joint}:deg",
    )
    table.add_argument("--split-by", default="", metavar="COLUMN", help="make a run of each value of this column")
    table.add_argument(
        "--goal-shift",
        type=_rows,
        default=0,
        metavar="ROWS",
        help="move goals by rows, e.g. -1 if each goal is logged one row late; auto takes the shift of -2 to 2 rows "
        "that clearly explains more than none (default: 0)",
    )
    table.add_argument(
        "--calibration",
        metavar="FILE",
        help="LeRobot's calibration file, for goals and positions from -100 to 100; replaces their units",
    )
    _add_facts(table)
    add_json(parser)
    add_progress(parser)


def _add_facts(table: Any) -> None:
    """Add FACTS to a group of arguments."""
    table.add_argument(
        "--servo", metavar="SERVO", help="catalogue name (see bench models) or servo file; for a BAM log, its variant"
    )
    table.add_argument("--mass", type=any_number, metavar="KG", help="mass of the load")
    table.add_argument("--length", type=any_number, metavar="M", help="distance from the shaft to the load")
    table.add_argument("--arm-mass", type=any_number, metavar="KG", help="mass of the uniform rod (default: 0)")
    table.add_argument(
        "--angle-offset",
        type=any_number,
        metavar="RAD",
        help="offset added to the angle; 0 must point down (default: 0)",
    )
    table.add_argument("--kp", type=any_number, metavar="P", help="proportional gain in the servo's unit")
    table.add_argument("--ki", type=any_number, metavar="I", help="integral gain in the servo's unit (default: 0)")
    table.add_argument("--kd", type=any_number, metavar="D", help="derivative gain in the servo's unit (default: 0)")
    table.add_argument(
        "--supply-voltage", type=any_number, metavar="V", help="nominal supply voltage (default: the catalogue's)"
    )
    table.add_argument("--trajectory", metavar="NAME", help="name of the trajectory (default: the file's name)")


def run(arguments: argparse.Namespace) -> None:
    """Import the files and print a summary."""
    from sessions import Session
    from sessions.importers import ImportEvent, import_paths

    skipped: dict[str, list[str]] = {}
    notes: dict[str, list[str]] = {}
    damage: list[str] = []
    with ProgressBar(arguments.quiet or arguments.json) as bar:

        def progress(event: ImportEvent) -> None:
            bar.show(event.done / max(event.total, 1), event.file)
            if event.skipped:
                skipped.setdefault(event.skipped, []).append(event.file)
            if event.note:
                notes.setdefault(event.note, []).append(event.file)
            damage.append(event.damage)

        ids = import_paths(arguments.paths, arguments.output, progress, _tables(arguments))
    say_damage(arguments, *damage)
    if arguments.json:
        lines = [f"{file}: {reason}" for reason, files in skipped.items() for file in files]
        lost = [text for text in damage if text]
        said = [f"{file}: {note}" for note, files in notes.items() for file in files]
        print_json({"session": arguments.output, "runs": ids, "skipped": lines, "damage": lost, "notes": said})
        return
    total = len(Session.open(arguments.output).runs())
    print(f"{counted(len(ids), 'run')} imported into {arguments.output}, {total} in all")
    for reason, files in skipped.items():
        print(f"skipped {shown(files[0])}: {reason}" if len(files) == 1 else f"{len(files)} files skipped: {reason}")
    for note, files in notes.items():
        print(f"{shown(files[0])}: {note}" if len(files) == 1 else f"{len(files)} files: {note}")


def _tables(arguments: argparse.Namespace) -> TableImport:
    from sessions.importers import TableImport
    from sessions.importers.columns import parse_columns
    from sessions.importers.datasets import read_calibration
    from sessions.importers.joints import parse_joints

    return TableImport(
        columns=parse_columns(arguments.columns or ""),
        facts={fact: value for fact in FACTS if (value := getattr(arguments, fact)) is not None},
        name_pattern=arguments.from_name,
        where=dict(map(_condition, arguments.where)),
        split_by=arguments.split_by,
        joints=None if arguments.joints is None else parse_joints(arguments.joints),
        goal_shift=arguments.goal_shift,
        calibration=read_calibration(Path(arguments.calibration)) if arguments.calibration else {},
    )


def _rows(text: str) -> int | Literal["auto"]:
    return "auto" if text == "auto" else any_int(text)


def _condition(text: str) -> tuple[str, str]:
    name, equals, value = text.rpartition("=")
    if not equals or not name:
        raise InputError(f"--where {shown(text)}: not COLUMN=VALUE, e.g. id=3")
    return name, value
